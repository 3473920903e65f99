# SPDX-License-Identifier: MIT
"""Is an answer true? Models, costs and cores against the formula, proofs by a
checker, and answers against each other and against what is known.

Three outcomes: checked, wrong (proven so: the campaign ends), or nothing could
be said. Two answers that differ without either being proven wrong are a
contradiction, which is a status and no end.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bigleaf_bench import formulas
from bigleaf_bench.answers import Answer
from bigleaf_bench.instances import Instance
from bigleaf_bench.tools import PLAIN, on_path, search_path

CHECKER = "drat-trim"
SOLVERS = ("cadical", "minisat")  # any of them decides a core
# Decides a formula in DIMACS: the exit status of a solver, None where there is none.
Decide = Callable[[str], int | None]


@dataclass(frozen=True)
class Judged:
    """`checked` says by what; `wrong` says what is wrong, if anything is."""

    checked: str = ""
    wrong: str = ""


@functools.lru_cache(maxsize=2)
def formula(path: Path) -> formulas.Formula:
    return formulas.read(path)


def judge(answer: Answer, instance: Instance, decide: Decide) -> Judged:
    """The answer against its own witness, else against what is known."""
    if instance.expected and answer.text and not agree(answer.text, instance.expected):
        return Judged(wrong=f"the known answer is {instance.expected}")
    if instance.format in ("cnf", "wcnf") and answer.witness is not None:
        return witnessed(answer, formula(instance.path), decide)
    if instance.expected and answer.text:
        return Judged("known answer")
    return Judged()


def witnessed(answer: Answer, against: formulas.Formula, decide: Decide) -> Judged:
    if answer.text == "core":
        return core(answer, against, decide)
    if contradictory(answer.witness):
        return Judged(wrong="the model has a variable both ways")
    if answer.cost is not None:
        cost = formulas.cost(against, answer.witness)
        if cost is None:
            return Judged(wrong="the model leaves a hard clause unsatisfied")
        if cost != answer.cost:
            return Judged(wrong=f"the model costs {cost}, not {answer.cost}")
        return Judged("cost of the model")
    left = int((~against.satisfied(answer.witness)).sum())
    if left:
        return Judged(wrong=f"the model leaves {left} clauses unsatisfied")
    return Judged("model")


def contradictory(model) -> bool:
    return bool(len(set(model.tolist()) & set((-model).tolist())))


def core(answer: Answer, against: formulas.Formula, decide: Decide) -> Judged:
    """A core must be unsatisfiable, by any solver."""
    clauses = answer.witness
    if len(clauses) and (clauses.min() < 1 or clauses.max() > len(against)):
        return Judged(wrong="the core names clauses that are not there")
    text = "".join(" ".join(map(str, c)) + " 0\n" for c in against.subset(clauses))
    status = decide(f"p cnf {against.variables} {len(clauses)}\n{text}")
    if status == 10:
        return Judged(wrong="the core is satisfiable")
    return Judged("core" if status == 20 else "")


def agree(answer: str, known: str) -> bool:
    """ "sat in frame 35" agrees with "sat", "true: 42" with "true"; what has a
    core is unsatisfiable."""
    return (answer == known or {answer, known} == {"core", "unsat"}
            or answer.split()[:1] in ([known], [f"{known}:"]))


def contradict(one: str, other: str) -> bool:
    """Of a model: bounds may be reached or not, and not all say in which frame
    it fails; those that do must say the same, and of none that another looked at."""
    frames = re.fullmatch(r"sat in frame (\d+) unsat (\d+) frames", " ".join(sorted((one, other))))
    if frames:
        return int(frames[1]) < int(frames[2])
    said = [re.sub(r"^unsat \d+ frames$", "unsat", a) for a in (one, other)]
    if "sat" in said:
        said = [re.sub(r"^sat in frame \d+$", "sat", a) for a in said]
    return said[0] != said[1]


def contradictions(records: list[dict], record: dict) -> list[dict]:
    """All earlier runs of the same instance and category that say otherwise,
    but for those that are refuted: they say nothing any more."""
    same = ("set", "purpose", "category")
    if not record["answer"] or record["purpose"] != "measure":
        return []
    return [other for other in records  # the instance first, for there are many
            if other["instance"] == record["instance"] and other["answer"]
            and all(other[key] == record[key] for key in same)
            and not other["status"].startswith("wrong answer")
            and contradict(other["answer"], record["answer"])]


def first_of(*names: str) -> str | None:
    """The first of these programs that is here."""
    return next(filter(None, (on_path(name, search_path(())) for name in names)), None)


def checker() -> str | None:
    return first_of(CHECKER, CHECKER + PLAIN)


def solver() -> str | None:
    return first_of(*SOLVERS)


def proof(said: str) -> tuple[str, Judged]:
    """Status and judgement by what the checker said; no status: it said neither."""
    if "s VERIFIED" in said:
        return "ok", Judged("proof")
    if "s NOT VERIFIED" in said:
        return "wrong answer", Judged(wrong="the proof does not hold")
    timeout = "s TIMEOUT" in said or "time out" in said.lower()
    return "timeout" if timeout else "", Judged()
