#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the runs that `peers.py --save` kept as one table.

    means.py FILE...

A row is a program: CPU as a ratio to glibc's in the same round, median
[middle half], median system seconds, peak memory to glibc's. Below are the
geometric means over all programs: of CPU and memory, of user time alone, and of
each allocator's best run to glibc's best.
"""

import json
import statistics
import sys
from collections import defaultdict


def load(paths):
    """{program: {allocator: {round: run}}}, without the uncounted rounds."""
    found = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for run in map(json.loads, lines):
                if run["round"] > 0:
                    found[run["program"]][run["allocator"]][run["round"]] = run
    return found


def user(run):
    return run["cpu"] - run["system"]


def ratios(mine, base, figure):
    return [figure(run) / figure(base[turn]) for turn, run in mine.items()]


def figures(mine, base):
    """What one program's cell says, and what goes into the means."""
    cpu = ratios(mine, base, lambda run: run["cpu"])
    low, middle, high = statistics.quantiles(cpu, n=4, method="inclusive")
    return {
        "cpu": middle, "low": low, "high": high,
        "memory": statistics.median(ratios(mine, base, lambda run: run["kib"])),
        "system": statistics.median(run["system"] for run in mine.values()),
        "user": statistics.median(ratios(mine, base, user)),
        "best": (min(run["cpu"] for run in mine.values())
                 / min(run["cpu"] for run in base.values()))}


def cell(of):
    return (f"{of['cpu']:.3f} [{of['low']:.3f} {of['high']:.3f}], "
            f"{of['system']:.2f}, {of['memory']:.2f}")


def print_row(*cells):
    print("| " + " | ".join(cells) + " |")


def main():
    if len(sys.argv) < 2:
        sys.exit("means.py: wants files that peers.py --save wrote")
    programs = load(sys.argv[1:])
    names = sorted({name for runs in programs.values() for name in runs}
                   - {"glibc"})
    print_row("", "glibc s", *names)
    print_row("---", *["--:"] * (len(names) + 1))
    columns = {name: [] for name in names}
    for program, runs in programs.items():
        base = runs["glibc"]
        for name in names:
            columns[name].append(figures(runs[name], base))
        seconds = statistics.median(run["cpu"] for run in base.values())
        print_row(f"{program} ({len(base)})", f"{seconds:.2f}",
                  *(cell(columns[name][-1]) for name in names))

    def mean(name, figure):
        return statistics.geometric_mean(of[figure] for of in columns[name])
    print_row("geometric mean, CPU / memory", "",
              *(f"{mean(n, 'cpu'):.3f} / {mean(n, 'memory'):.2f}" for n in names))
    print_row("user time alone", "", *(f"{mean(n, 'user'):.3f}" for n in names))
    print_row("best to best", "", *(f"{mean(n, 'best'):.3f}" for n in names))


if __name__ == "__main__":
    main()
