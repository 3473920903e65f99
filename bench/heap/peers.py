#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares allocators on the programs of micro.c, on heap traces, or on any
commands, such as reasoners.

    peers.py [--micro=heap-micro [--scenario=NAME...]]
             [--replay=heap-replay --trace=T...]
             [--program=NAME=COMMAND... [--same=PATTERN]]
             [--rounds=7] [--time=cpu|wall] [--warm=MIB] [--save=FILE]
             NAME=LIBRARY[,VAR=VALUE...]...

Allocators run in turn, after one round that is not counted; each row is a
program, each allocator has its time and its peak memory as ratios to glibc's,
the median over the rounds with their spread (the middle half), and the system
time in seconds. An empty LIBRARY is glibc; it need not be named. What a COMMAND
takes from a hugetlb pool counts as its memory. Runs of one COMMAND must end
alike: the same exit status, which no signal brought about, and the same lines
that match PATTERN. --save appends every run as a line of JSON.

A virtual machine may give free huge pages back to its host, and what ran before
decides whether a run has to wait for them (docs/design/heap.md). So each
allocator follows each other one equally often, in as many rounds as there are
allocators or, where that is odd, twice as many [Williams-1949]; and --warm has
a process touch so much memory on huge pages before each run.
"""

import argparse
import json
import mmap
import multiprocessing
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

MICRO = ("small", "threads", "remote", "growth", "lifetimes", "fragments",
         "footprint")
SUITES = ("pareto", "larson", "mstress", "batches", "exchange", "runs",
          "inverse", "shelves", "large", "leavers", "scratch")
SCENARIOS = MICRO + SUITES


def allocator(text):
    name, _, rest = text.partition("=")
    library, *settings = rest.split(",")
    if library and not os.path.exists(library):
        raise argparse.ArgumentTypeError(f"{library}: there is no such library")
    environment = dict(setting.split("=", 1) for setting in settings)
    if library:
        environment["LD_PRELOAD"] = library
    return name, environment


def program(text):
    name, _, command = text.partition("=")
    if not shlex.split(command):
        raise argparse.ArgumentTypeError(f"{text}: wants NAME=COMMAND")
    return name, shlex.split(command)


def rounds(text):
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text}: a spread takes 2 rounds")
    return int(text)


def mebibytes(text):
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text}: wants a number of MiB")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--micro", help="the program heap-micro")
    parser.add_argument("--replay", help="the program heap-replay")
    parser.add_argument("--trace", action="append", default=[])
    parser.add_argument("--scenario", action="append", default=[],
                        choices=SCENARIOS)
    parser.add_argument("--program", action="append", default=[], type=program)
    parser.add_argument("--same", default="^s |^(un)?sat|SATISFIABLE")
    parser.add_argument("--rounds", type=rounds, default=7)
    parser.add_argument("--time", choices=("cpu", "wall"), default="cpu")
    parser.add_argument("--warm", type=mebibytes, default=0, metavar="MIB")
    parser.add_argument("--save", help="file for every run")
    parser.add_argument("allocators", nargs="+", type=allocator)
    return parser.parse_args()


def programs(args):
    if args.micro:
        for name in args.scenario or SCENARIOS:
            yield name, lambda env, name=name: run_micro([args.micro, name], env)
    for trace in args.trace:
        yield os.path.basename(trace), lambda env, trace=trace: run_micro(
            [args.replay, trace], env)
    for name, command in args.program:
        ending = Ending(name, args.same)
        yield name, lambda env, command=command, ending=ending: run_command(
            command, env, ending)


def run_micro(command, environment):
    """A program that says itself what it took."""
    started = time.monotonic()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                          check=True, text=True)
    figures = json.loads(done.stdout)
    return {"cpu": figures["user_seconds"] + figures["system_seconds"],
            "system": figures["system_seconds"],
            "wall": time.monotonic() - started, "kib": figures["peak_kib"]}


class Ending:
    """How all runs of a program must end, as the first did."""

    def __init__(self, name, pattern):
        self.name, self.pattern, self.seen = name, re.compile(pattern), None

    def check(self, status, text):
        if status < 0:
            sys.exit(f"peers.py: {self.name} was ended by signal {-status}, "
                     "which is no measurement")
        lines = [line for line in text.splitlines() if self.pattern.search(line)]
        self.seen = self.seen or (status, lines)
        if (status, lines) != self.seen:
            sys.exit(f"peers.py: {self.name} ended with {status}, {lines}; "
                     f"before with {self.seen[0]}, {self.seen[1]}")


def pool_kib(pid):
    """What the process holds of a hugetlb pool now: no peak is to be had."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            return next((int(line.split()[1]) for line in status
                         if line.startswith("HugetlbPages:")), 0)
    except (OSError, ValueError):
        return 0


def run_command(command, environment, ending):
    most = 0
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        pid = os.posix_spawnp(command[0], command, environment, file_actions=[
            (os.POSIX_SPAWN_DUP2, said.fileno(), 1)])
        ended = 0
        while ended == 0:
            ended, status, used = os.wait4(pid, os.WNOHANG)
            most = max(most, pool_kib(pid)) if ended == 0 else most
            time.sleep(0.01 if ended == 0 else 0)
        wall = time.monotonic() - started
        said.seek(0)
        ending.check(os.waitstatus_to_exitcode(status), said.read())
    return {"cpu": used.ru_utime + used.ru_stime, "system": used.ru_stime,
            "wall": wall, "kib": used.ru_maxrss + most}


def touch(mib):
    memory = mmap.mmap(-1, mib << 20)
    memory.madvise(mmap.MADV_HUGEPAGE)
    for at in range(0, mib << 20, mmap.PAGESIZE):
        memory[at] = 1


def warm_up(mib):
    """Leaves so much free memory backed by the host, in huge pages."""
    if mib == 0:
        return
    child = multiprocessing.Process(target=touch, args=(mib,))
    child.start()
    child.join()
    if child.exitcode != 0:
        sys.exit(f"peers.py: --warm={mib}: cannot touch so much on huge pages; "
                 "ask for less, or leave it out")


def order(count, turn):
    """The row of a Latin square in which each follows each other equally often
    over `count` rows, or twice as many where that is odd [Williams-1949]."""
    first = [i // 2 if i % 2 == 0 else count - 1 - i // 2 for i in range(count)]
    row = [(place + turn) % count for place in first]
    return row[::-1] if count % 2 == 1 and turn // count % 2 == 1 else row


def save(args, program, name, turn, figures):
    if args.save:
        with open(args.save, "a", encoding="utf-8") as out:
            out.write(json.dumps({"program": program, "allocator": name,
                                  "round": turn, **figures}) + "\n")


def measure(args, program, run, allocators):
    """What each allocator took in each counted round."""
    results = {name: [] for name, _ in allocators}
    for turn in range(args.rounds + 1):
        for i in order(len(allocators), turn):
            name, settings = allocators[i]
            warm_up(args.warm)
            figures = run({**os.environ, **settings})
            save(args, program, name, turn, figures)
            if turn > 0:
                results[name].append(figures)
    return results


def ratios(results, base, figure):
    return [mine[figure] / its[figure]
            for mine, its in zip(results, base)]


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3f} [{low:.3f} {high:.3f}]"


def middle(results, figure):
    return statistics.median(run[figure] for run in results)


def cells(args, mine, base):
    return (f"{spread(ratios(mine, base, args.time))} | "
            f"{middle(mine, 'system'):.2f} | "
            f"{statistics.median(ratios(mine, base, 'kib')):.2f}")


def main():
    args = arguments()
    allocators = [("glibc", {})] + [a for a in args.allocators
                                    if a[0] != "glibc"]
    names = [name for name, _ in allocators[1:]]
    print(f"| program | glibc {args.time} s | system | MiB | "
          + " | ".join(f"{n} {args.time} | system | memory" for n in names) + " |")
    print("|---|--:|--:|--:|" + "--:|--:|--:|" * len(names))
    for program, run in programs(args):
        results = measure(args, program, run, allocators)
        base = results["glibc"]
        print(f"| {program} | {middle(base, args.time):.2f} | "
              f"{middle(base, 'system'):.2f} | {middle(base, 'kib') / 1024:.0f} | "
              + " | ".join(cells(args, results[n], base) for n in names) + " |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
