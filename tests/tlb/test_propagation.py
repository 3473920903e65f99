# SPDX-License-Identifier: MIT
"""bench/tlb/propagation.py: what the lines of a propagation do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "bench" / "tlb" / "propagation.py"
# A line each, as a solver of MiniSat's family may have it; walks; what it is.
LINES = [
    ("Lit blocker = i->blocker;", 50, "next watcher, its blocking literal"),
    ("if (c[0] == false_lit)", 20, "first literal of the next watched clause"),
    ("watches[~c[1]].push(w);", 15, "moving a watch to another list"),
    ("uncheckedEnqueue(first, cr);", 10, "writing down what follows"),
    ("if (value(imp) == l_False)", 5, "lists of binary clauses"),
]


def misses(walks: int) -> dict[str, dict[str, int]]:
    return {name: {"walks": walks} for name in ("base", "huge", "backed")}


def test_lines_are_told_by_their_text(tmp_path: Path) -> None:
    source = tmp_path / "Solver.cc"
    source.write_text("".join(f"{text}\n" for text, _, _ in LINES))
    lines = [
        {"file": "Solver.cc", "line": number, "misses": misses(walks)}
        for number, (_, walks, _) in enumerate(LINES, 1)
    ]
    functions = [
        {"function": "S::propagate()", "misses": misses(100), "lines": lines},
        {"function": "S::analyze()", "misses": misses(100), "lines": []},
    ]
    total = {"data": misses(200), "code": misses(0)}
    report = tmp_path / "misses.json"
    report.write_text(json.dumps({"functions": functions, "total": total}))
    done = subprocess.run(
        [sys.executable, "-B", SCRIPT, report, source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "50.0 % are in propagation" in done.stdout
    for _, walks, what in LINES:
        assert f"{walks:5.1f} %  {what}\n" in done.stdout
