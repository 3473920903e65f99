# SPDX-License-Identifier: MIT
"""What a reasoner answered, read from its exit status and its output.

An answer is a short text that can be compared: "sat", "unsat", "optimum 12",
"unsat 100 frames". Each dialect is one function of the table `READERS`. A
witness (a model, a core, a cost) goes along for `checks`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy

UNKNOWN = ""
# What a campaign may say of an instance: the words of the readers below.
KNOWN = ("sat", "unsat", "core", "optimum", "true", "false")
EXPECTED = re.compile(r"core|optimum( .+)?|sat in frame \d+|unsat \d+ frames|(true|false)(:.*)?"
                      r"|(sat|unsat)( (sat|unsat))*")
FORMULAS = ("cnf", "smt2")
ANSWERS = {"SATISFIABLE": "sat", "UNSATISFIABLE": "unsat"}


@dataclass(frozen=True)
class Ended:
    """How a run ended, as far as its answer is concerned."""

    exit_status: int | None
    text: str
    answer_file: Path | None = None


@dataclass(frozen=True)
class Answer:
    """An answer, and its witness: literals of a model, clauses of a core."""

    text: str = UNKNOWN
    witness: numpy.ndarray | None = None
    cost: int | None = None


def numbers(lines) -> numpy.ndarray:
    """All whole numbers of these lines, without the closing zero."""
    values = numpy.array(" ".join(lines).split(), dtype=numpy.int64)
    return values[values != 0]


def witness(lines: list[str]) -> numpy.ndarray | None:
    found = [line[2:] for line in lines if line.startswith("v ")]
    try:
        return numbers(found) if found else None
    except (ValueError, OverflowError):
        return numpy.empty(0, dtype=numpy.int64)


def digits(lines: list[str]) -> numpy.ndarray | None:
    """The model of a single v line that has a digit, 0 or 1, for each variable."""
    found = [line[2:].strip() for line in lines if line.startswith("v ")]
    if len(found) != 1 or not re.fullmatch("[01]+", found[0]):
        return None
    variables = numpy.arange(1, len(found[0]) + 1)
    return numpy.where(numpy.array(list(found[0])) == "1", variables, -variables)


def from_file(path: Path | None) -> numpy.ndarray | None:
    """MiniSat's result file: SAT, and the literals in the next line."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines() if path else []
        return numbers(lines[1:]) if lines and lines[0] == "SAT" else None
    except (OSError, ValueError, OverflowError):
        return None


def competition(ended: Ended) -> Answer:
    """SAT competition: exit status 10 and 20, and s and v lines."""
    lines = ended.text.splitlines()
    said = next((found for line in reversed(lines)
                 if (found := line.removeprefix("s ")) in ANSWERS), "")
    status = ended.exit_status
    answer = ANSWERS[said] if said else {10: "sat", 20: "unsat"}.get(status, UNKNOWN)
    if not answer or status not in (0, {"sat": 10, "unsat": 20}[answer]):
        return Answer()
    if answer == "unsat":
        return Answer(answer)
    model = witness(lines)
    return Answer(answer, from_file(ended.answer_file) if model is None else model)


def asp(ended: Ended) -> Answer:
    """clasp and clingo."""
    lines = set(ended.text.splitlines())
    if "OPTIMUM FOUND" in lines:
        costs = re.findall(r"^Optimization\s*: (.*)$", ended.text, re.MULTILINE)
        return Answer("optimum " + (costs[-1].strip() if costs else "?"))
    if "UNSATISFIABLE" in lines:
        return Answer("unsat")
    return Answer("sat") if "SATISFIABLE" in lines else Answer()


def maxsat(ended: Ended) -> Answer:
    """MaxSAT evaluation: s OPTIMUM FOUND, o COST, v LITERALS, or v DIGITS since 2022."""
    lines = ended.text.splitlines()
    if "s OPTIMUM FOUND" in lines:
        costs = [line[2:].strip() for line in lines if line.startswith("o ")]
        if costs and costs[-1].isdigit():
            model = digits(lines)
            return Answer(f"optimum {costs[-1]}", witness(lines) if model is None else model,
                          int(costs[-1]))
    return Answer("unsat") if "s UNSATISFIABLE" in lines else Answer()


def mus(ended: Ended) -> Answer:
    """Clause numbers of a minimal core in v lines; cores may well differ."""
    lines = ended.text.splitlines()
    if "s SATISFIABLE" in lines:
        return Answer("sat")
    core = witness(lines)
    return Answer("core", core) if core is not None and ended.exit_status in (0, 20) else Answer()


def abc(ended: Ended) -> Answer:
    """bmc3 of ABC: a counterexample, or none up to a frame."""
    found = re.findall(r"was asserted in frame (\d+)", ended.text)
    if found:
        return Answer(f"sat in frame {found[-1]}")
    none = re.findall(r"No output (?:was )?asserted in (\d+) frames", ended.text)
    return Answer(f"unsat {none[-1]} frames") if none else Answer()


def aiger(ended: Ended) -> Answer:
    """aigbmc: 1 a counterexample, 2 none up to the bound; or ABC for it."""
    lines = ended.text.splitlines()
    if "1" in lines:
        return Answer("sat")
    return Answer("unsat") if "2" in lines else abc(ended)


def btor(ended: Ended) -> Answer:
    """btormc: a witness begins with sat; no output at all means none found."""
    if ended.text.lstrip().startswith("sat"):
        return Answer("sat")
    return Answer("unsat") if ended.exit_status == 0 else Answer()


def cbmc(ended: Ended) -> Answer:
    """A loop that goes on beyond the bound (cbmc 6 looks for them) says nothing
    of the program."""
    failed = [line for line in ended.text.splitlines() if line.endswith(": FAILURE")]
    if failed and all(".unwind." in line for line in failed):
        return Answer()
    if "VERIFICATION FAILED" in ended.text:
        return Answer("sat")
    return Answer("unsat") if "VERIFICATION SUCCESSFUL" in ended.text else Answer()


def smt(ended: Ended) -> Answer:
    """SMT-LIB: the answers to all (check-sat), in their order."""
    said = [line for line in ended.text.splitlines() if line in ("sat", "unsat", "unknown")]
    return Answer(" ".join(said)) if said and "unknown" not in said else Answer()


def goal(ended: Ended) -> Answer:
    """Prolog: the goal's outcome and what it printed last."""
    if ended.exit_status not in (0, 1):
        return Answer()
    lines = [line.strip() for line in ended.text.splitlines() if line.strip()]
    said = f": {lines[-1][:60]}" if lines else ""
    return Answer(("true" if ended.exit_status == 0 else "false") + said)


def of_benchexec(said: str, kind: str) -> Answer:
    """What a tool-info module makes of a run: of a formula "true" means that it
    is satisfiable, of a program or a circuit that its property holds."""
    word = said.lower().partition("(")[0]
    holds = {"true": "sat", "false": "unsat"} if kind in FORMULAS else {
        "true": "unsat", "false": "sat"}
    return Answer(holds.get(word, UNKNOWN))


READERS = {f.__name__: f for f in (
    competition, asp, maxsat, mus, abc, aiger, btor, cbmc, smt, goal)}
