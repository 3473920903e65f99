#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what an operation of malloc costs as the heap, or the threads, grow.

    curves.py live --micro=heap-micro --figure=F.svg [--rounds=5]
              [--at=1,16,256,4096] NAME=LIBRARY[,VAR=VALUE...]...
    curves.py threads --micro=heap-micro --figure=F.svg ...

`live`: processor time of one call beside a heap of so many MiB, while the heap
is built (first touch included), while short-lived blocks come and go, and
while random blocks of all the heap are replaced. `threads`: of one call in
each of so many threads. Allocators run in turn; the median of the rounds is
drawn and printed, with the spread (the middle half). glibc need not be named.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import matplotlib
from peers import allocator, rounds

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

SCENARIOS = {"live": ("build", "churn", "replace"), "threads": ("threads",)}
POINTS = {"live": (1, 4, 16, 64, 256, 1024, 4096),
          "threads": (1, 2, 4, 8, 16, 32, 64)}
AXES = {"live": "live heap, MiB", "threads": "threads"}


def points(text):
    return tuple(int(point) for point in text.split(","))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=SCENARIOS)
    parser.add_argument("--micro", required=True, help="the program heap-micro")
    parser.add_argument("--figure", required=True, help="the SVG file to write")
    parser.add_argument("--rounds", type=rounds, default=5)
    parser.add_argument("--at", type=points, help="points of the curve")
    parser.add_argument("allocators", nargs="+", type=allocator)
    return parser.parse_args()


def nanoseconds(command, environment):
    """Processor time of one operation."""
    done = subprocess.run(command, env={**os.environ, **environment},
                          stdout=subprocess.PIPE, check=True, text=True)
    found = json.loads(done.stdout)
    return (1e9 * (found["user_seconds"] + found["system_seconds"])
            / found["operations"])


def curve(args, scenario, allocators, at):
    """For each allocator the rounds of each point."""
    found = {name: {point: [] for point in at} for name, _ in allocators}
    for turn in range(args.rounds):
        order = allocators if turn % 2 == 0 else allocators[::-1]
        for point in at:
            for name, environment in order:
                command = [args.micro, scenario, f"--{args.what}={point}"]
                found[name][point].append(nanoseconds(command, environment))
    return found


def print_table(scenario, found, at):
    print(f"| {scenario}, ns | " + " | ".join(map(str, at)) + " |")
    print("|---|" + "--:|" * len(at))
    for name, figures in found.items():
        cells = []
        for point in at:
            low, middle, high = statistics.quantiles(figures[point], n=4,
                                                    method="inclusive")
            cells.append(f"{middle:.1f} [{low:.1f} {high:.1f}]")
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(flush=True)


def draw(axes, what, scenario, found, at):
    for name, figures in found.items():
        axes.plot(at, [statistics.median(figures[point]) for point in at],
                  label=name, marker=".",
                  linewidth=2.5 if name == "bigleaf" else 1.2)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_title(scenario)
    axes.set_xlabel(AXES[what])
    axes.grid(alpha=0.3)


def main():
    args = arguments()
    allocators = [("glibc", {})] + [a for a in args.allocators
                                    if a[0] != "glibc"]
    at = args.at or POINTS[args.what]
    scenarios = SCENARIOS[args.what]
    figure, axes = pyplot.subplots(1, len(scenarios), squeeze=False,
                                   figsize=(4.5 * len(scenarios), 3.6))
    for place, scenario in zip(axes[0], scenarios):
        found = curve(args, scenario, allocators, at)
        print_table(scenario, found, at)
        draw(place, args.what, scenario, found, at)
    axes[0][0].set_ylabel("ns an operation")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(args.figure, metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
