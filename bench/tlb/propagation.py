#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: propagation.py MISSES.json SOURCE...

The question of [Fichte-2020], section 3.1: which share of a solver's TLB misses
falls into unit propagation, and within it into what. MISSES.json is from
`bigleaf tlb --json=...` on a solver of MiniSat's family that was compiled with
-g; SOURCE are the files that its propagation stands in (core/Solver.cc, and
core/lcm.cc of Glucose). Each line of these functions is told by its text.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

FUNCTIONS = {"propagation": re.compile(r"::propagate\("),
             "propagation while learnt clauses are minimized": re.compile(r"::simplePropagate\("),
             "writing down what follows": re.compile(r"::(unchecked|simpleUnCheck)Enqueue\(",
                                                     re.IGNORECASE)}
# The first that fits a line says what it does.
LINES = [
    (re.compile(r"wbin|watchesBin|\bimp\b"), "lists of binary clauses"),
    (re.compile(r"[Ee]nqueue\("), "writing down what follows"),
    (re.compile(r"c\[1\] = c\[k\]|c\[k\] = false_lit|\]\.push\("),
     "moving a watch to another list"),
    (re.compile(r"c\.size\(\)|value\(c\[k\]\)"), "looking through a clause for another watch"),
    (re.compile(r"c\[0\]|\bfirst\b|Clause ?& ?c\b"), "first literal of the next watched clause"),
    (re.compile(r"\bws\b|blocker|\bi->|\*j\+\+|watches\[p\]"),
     "next watcher, its blocking literal"),
]


def walks(thing: dict, policy: str = "base") -> int:
    return thing["misses"][policy]["walks"]


def what(text: str) -> str:
    return next((kind for pattern, kind in LINES if pattern.search(text)), "the rest of it")


def split(report: dict, sources: dict[str, list[str]]) -> tuple[Counter, Counter]:
    """Walks by function of propagation, and by what its lines do."""
    by_function: Counter = Counter()
    by_line: Counter = Counter()
    for function in report["functions"]:
        kind = next((k for k, p in FUNCTIONS.items() if p.search(function["function"])), None)
        if not kind:
            continue
        by_function[kind] += walks(function)
        for line in function["lines"]:
            text = sources.get(line["file"] or "", [])
            number = line["line"]
            if kind == "writing down what follows":
                by_line[kind] += walks(line)
            else:
                by_line[what(text[number - 1] if 0 < number <= len(text) else "")] += walks(line)
    return by_function, by_line


def total(report: dict, policy: str) -> int:
    return sum(report["total"][side][policy]["walks"] for side in ("data", "code"))


def show(counts: Counter, whole: int) -> None:
    for kind, count in counts.most_common():
        print(f"  {100 * count / whole:5.1f} %  {kind}")


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    sources = {Path(name).name: Path(name).read_text(encoding="utf-8").splitlines()
               for name in sys.argv[2:]}
    by_function, by_line = split(report, sources)
    base, inside = total(report, "base"), by_function.total()
    print("walks: base {:,}, huge {:,}, as backed {:,}".format(
        *(total(report, policy) for policy in ("base", "huge", "backed"))))
    print(f"of all on base pages {100 * inside / base:.1f} % are in propagation")
    show(by_function, base)
    print("of these:")
    show(by_line, inside)
    return 0


if __name__ == "__main__":
    sys.exit(main())
