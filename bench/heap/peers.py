#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares allocators on the programs of micro.c, or on heap traces.

    peers.py --micro=heap-micro [--replay=heap-replay --trace=T...]
             [--rounds=7] [--scenario=NAME...] NAME=LIBRARY[,VAR=VALUE...]...

Allocators run in turn, A B ... B A, after one round that is not counted; each
row is a program, each allocator has its processor time and its peak memory as
ratios to glibc's, the median over the rounds with their spread (the middle
half). An empty LIBRARY is glibc; it need not be named.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

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


def rounds(text):
    if not text.isdigit() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text}: a spread takes 2 rounds")
    return int(text)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--micro", help="the program heap-micro")
    parser.add_argument("--replay", help="the program heap-replay")
    parser.add_argument("--trace", action="append", default=[])
    parser.add_argument("--scenario", action="append", default=[],
                        choices=SCENARIOS)
    parser.add_argument("--rounds", type=rounds, default=7)
    parser.add_argument("allocators", nargs="+", type=allocator)
    return parser.parse_args()


def programs(args):
    if args.micro:
        for name in args.scenario or SCENARIOS:
            yield name, [args.micro, name]
    for trace in args.trace:
        yield os.path.basename(trace), [args.replay, trace]


def run(command, environment):
    done = subprocess.run(command, env={**os.environ, **environment},
                          stdout=subprocess.PIPE, check=True, text=True)
    figures = json.loads(done.stdout)
    return (figures["user_seconds"] + figures["system_seconds"],
            figures["peak_kib"])


def measure(command, allocators, rounds):
    """(processor time, peak) of each allocator in each counted round."""
    results = {name: [] for name, _ in allocators}
    for turn in range(rounds + 1):
        order = allocators if turn % 2 == 0 else allocators[::-1]
        for name, environment in order:
            figures = run(command, environment)
            if turn > 0:
                results[name].append(figures)
    return results


def ratios(results, base, column):
    return [mine[column] / its[column]
            for mine, its in zip(results, base)]


def cell(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.2f} [{low:.2f} {high:.2f}]"


def main():
    args = arguments()
    allocators = [("glibc", {})] + [a for a in args.allocators
                                    if a[0] != "glibc"]
    names = [name for name, _ in allocators[1:]]
    print("| program | glibc CPU s | MiB | "
          + " | ".join(f"{n} CPU | {n} memory" for n in names) + " |")
    print("|---|--:|--:|" + "--:|--:|" * len(names))
    for program, command in programs(args):
        results = measure(command, allocators, args.rounds)
        base = results["glibc"]
        cells = [cell(ratios(results[n], base, column))
                 for n in names for column in (0, 1)]
        print(f"| {program} | {statistics.median(b[0] for b in base):.2f} | "
              f"{statistics.median(b[1] for b in base) / 1024:.0f} | "
              + " | ".join(cells) + " |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
