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

from peers import middle, ratios, spread


def whole_rounds(runs):
    """The rounds of one program in which all allocators ran: a campaign that
    was interrupted leaves one in which some did not."""
    rounds = []
    for run in runs:
        last = rounds[-1] if rounds else {}
        if run["allocator"] in last or any(run["round"] != other["round"]
                                           for other in last.values()):
            last = {}
        if not last:
            rounds.append(last)
        last[run["allocator"]] = run
    return [one for one in rounds if len(one) == max(map(len, rounds))]


def load(paths):
    """{program: {allocator: runs by round}}, without the uncounted rounds."""
    found = defaultdict(lambda: defaultdict(list))
    for path in paths:
        saved = defaultdict(list)
        with open(path, encoding="utf-8") as lines:
            for run in map(json.loads, lines):
                run["user"] = run["cpu"] - run["system"]
                saved[run["program"]].append(run)
        for program, runs in saved.items():
            for one in whole_rounds(runs):
                for name, run in one.items():
                    if run["round"] > 0:
                        found[program][name].append(run)
    return found


def figures(mine, base):
    """What one program gives to the means."""
    found = {figure: statistics.median(ratios(mine, base, figure))
             for figure in ("cpu", "user", "kib")}
    found["best"] = (min(run["cpu"] for run in mine)
                     / min(run["cpu"] for run in base))
    return found


def cell(mine, base, of):
    return (f"{spread(ratios(mine, base, 'cpu'))}, "
            f"{middle(mine, 'system'):.2f}, {of['kib']:.2f}")


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
        print_row(f"{program} ({len(base)})", f"{middle(base, 'cpu'):.2f}",
                  *(cell(runs[name], base, columns[name][-1])
                    for name in names))

    def mean(name, figure):
        return statistics.geometric_mean(of[figure] for of in columns[name])
    print_row("geometric mean, CPU / memory", "",
              *(f"{mean(n, 'cpu'):.3f} / {mean(n, 'kib'):.2f}" for n in names))
    print_row("user time alone", "", *(f"{mean(n, 'user'):.3f}" for n in names))
    print_row("best to best", "", *(f"{mean(n, 'best'):.3f}" for n in names))


if __name__ == "__main__":
    main()
