#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long `bigleaf attach` stops a program: percentiles over many attaches.

Each attach is to a fresh program that works on SIZE mebibytes of base pages, by
turns from outside and without CAP_SYS_NICE, where the visitor does it all. What
the machine does besides counts: on a machine with nothing else to do,

    stops.py --count 200 --size 2000 --threads 1

takes about twelve minutes. Exit status: 1 where a program's answer was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from soak import print_times, without_nice


def attach(words: list[str], program: list[str]) -> dict[str, object]:
    """One attach to one program, which must then give the right answer."""
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True)
    assert process.stdin and process.stdout
    process.stdout.readline()
    done = subprocess.run([*words, "attach", "--json", str(process.pid)],
                          capture_output=True, text=True, check=False)
    out, _ = process.communicate(timeout=300)
    if process.returncode != 0 or out != "right\n":
        sys.exit(f"FAIL: status {process.returncode}, {out!r}")
    if done.returncode not in (0, 3):
        sys.exit(f"FAIL: attach ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["processes"][0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="attaches in all")
    parser.add_argument("--size", default="2000", help="MiB of each program")
    parser.add_argument("--threads", default="1", help="of each program")
    parser.add_argument("--command", default=os.environ.get("BIGLEAF_COMMAND", "bigleaf"))
    parser.add_argument("--steady", default=os.environ.get("BIGLEAF_STEADY"),
                        help="the test program steady", required=False)
    arguments = parser.parse_args()
    program = [arguments.steady, arguments.threads, arguments.size, "0"]
    stops: list[float] = []
    covered: list[float] = []
    collapses: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(arguments.count):
        words = [arguments.command]
        found = attach(without_nice(words) if turn % 2 else words, program)
        stops.append(found["longest_stop_seconds"] * 1000)
        covered.append(found["huge_coverage_after"] * 100)
        collapses[found["from_outside"]].append(found["longest_collapse_seconds"] * 1000)
    load = os.getloadavg()[1]
    print(f"{arguments.threads} threads, {arguments.size} MiB, load {load:.1f}, least "
          f"coverage {min(covered):.1f} %")
    print_times("longest stop of an attach", stops)
    print_times("longest collapse of a huge page, from outside", collapses[True])
    print_times("longest collapse of a huge page, by the visitor", collapses[False])
    return 0


if __name__ == "__main__":
    sys.exit(main())
