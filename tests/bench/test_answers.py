# SPDX-License-Identifier: MIT
"""Answers of each dialect, formulas, and models held against them."""

from __future__ import annotations

import random

import numpy
import pytest

from bigleaf_bench import answers, checks, formulas
from bigleaf_bench.answers import Answer, Ended
from bigleaf_bench.instances import Instance


@pytest.mark.parametrize(("reader", "status", "text", "wanted"), [
    ("competition", 10, "s SATISFIABLE\nv 1 -2\nv 3 0\n", "sat"),
    ("competition", 20, "c x\ns UNSATISFIABLE\n", "unsat"),
    ("competition", 20, "", "unsat"),
    ("competition", 0, "s UNKNOWN\n", ""),
    ("competition", 139, "s SATISFIABLE\n", ""),
    ("competition", 10, "s UNSATISFIABLE\n", ""),
    ("asp", 30, "Optimization : 7\nOPTIMUM FOUND\n", "optimum 7"),
    ("asp", 10, "Answer: 1\na b\nSATISFIABLE\n", "sat"),
    ("asp", 20, "UNSATISFIABLE\n", "unsat"),
    ("maxsat", 30, "o 9\no 4\ns OPTIMUM FOUND\nv 1 2 0\n", "optimum 4"),
    ("maxsat", 0, "o 9\n", ""),
    ("mus", 20, "s UNSATISFIABLE\nv 1 3 0\n", "core"),
    ("abc", 0, "Output 0 of miter x was asserted in frame 35. Time =\n", "sat in frame 35"),
    ("abc", 0, "No output asserted in 17 frames. Resource limit reached\n", "unsat 17 frames"),
    ("smt", 0, "unsat\n", "unsat"),
    ("smt", 0, "sat\nunsat\n", "sat unsat"),
    ("smt", 0, "unknown\n", ""),
    ("btor", 0, "sat\nb0\n", "sat"),
    ("btor", 0, "", "unsat"),
    ("cbmc", 10, "VERIFICATION FAILED\n", "sat"),
    ("cbmc", 10, "[main.unwind.0] loop 0: FAILURE\nVERIFICATION FAILED\n", ""),
    ("cbmc", 10, "[main.unwind.0] loop 0: FAILURE\n[main.assertion.1] x: FAILURE\n"
     "VERIFICATION FAILED\n", "sat"),
    ("goal", 0, "42\n", "true: 42"),
    ("goal", 1, "", "false"),
    ("goal", 2, "error\n", ""),
])
def test_dialects(reader, status, text, wanted):
    assert answers.READERS[reader](Ended(status, text)).text == wanted


@pytest.mark.parametrize(("said", "kind", "wanted"), [
    ("true", "smt2", "sat"), ("false", "cnf", "unsat"), ("unknown", "cnf", ""),
    ("true", "c", "unsat"), ("false(unreach-call)", "i", "sat"), ("OUT OF MEMORY", "c", "")])
def test_verdicts_of_benchexec(said, kind, wanted):
    assert answers.of_benchexec(said, kind).text == wanted


def test_models_from_both_places(tmp_path):
    path = tmp_path / "answer"
    path.write_text("SAT\n1 -2 0\n", encoding="ascii")
    assert answers.competition(Ended(10, "SATISFIABLE\n", path)).witness.tolist() == [1, -2]
    said = answers.competition(Ended(10, "s SATISFIABLE\nv 1\nv -2 0\n"))
    assert said.witness.tolist() == [1, -2]


def test_models_of_digits():
    """As the MaxSAT evaluation has them since 2022: one for each variable."""
    for word in ("0110", "01" * 40):
        said = answers.maxsat(Ended(30, f"o 4\ns OPTIMUM FOUND\nv {word}\n"))
        assert said.witness.tolist() == [i if bit == "1" else -i
                                         for i, bit in enumerate(word, 1)]


@pytest.mark.parametrize("word", [2**63, -2**63 - 1, -2**63])
def test_numbers_that_are_no_literals(tmp_path, word):
    said = answers.competition(Ended(10, f"s SATISFIABLE\nv {word} 0\n"))
    assert checks.judge(said, instance(tmp_path, "p cnf 1 1\n1 0\n"), lambda _: None).wrong
    path = tmp_path / "answer"
    path.write_text(f"SAT\n{word} 0\n", encoding="ascii")
    assert answers.competition(Ended(10, "", path)).text == "sat"


def formula(tmp_path, text, name="f.cnf"):
    path = tmp_path / name
    path.write_text(text, encoding="ascii")
    return formulas.read(path)


@pytest.mark.parametrize(("text", "said"), [
    ("1 2 0\n", "no line 'p cnf"),
    ("p cnf 2 2\n1 2 0\n", "1 clauses, but the header says 2"),
    ("p cnf 1 1\n1 2 0\n", "variable 2, but the header says 1"),
    ("p cnf 2 1\n1 x 0\n", "no number"),
    ("p cnf 2 1\n1 -", "no number"),
    ("p cnf 2 1\n1 - 2 0\n", "no number"),
    ("p cnf 2 1\n1 2\n", "no closing 0"),
    ("p cnf a b\n", "no numbers"),
    (f"p cnf 1 1\n{-2**63} 0\n", "variable 9223372036854775808, but the header says 1"),
])
def test_broken_formulas_are_named(tmp_path, text, said):
    with pytest.raises(formulas.Broken, match=said):
        formula(tmp_path, text)


@pytest.mark.parametrize(("text", "said"), [
    ("p wcnf 1 2 10\n10 1 0\n0\n", "a clause has no weight"),
    ("p wcnf 1 2 10\n0\n10 1 0\n", "a clause has no weight"),
    ("h 1 0\n0\n", "a clause has no weight"),
    ("p wcnf 2 1 x\n1 1 2 0\n", "no numbers"),
])
def test_broken_weighted_formulas_are_named(tmp_path, text, said):
    with pytest.raises(formulas.Broken, match=said):
        formula(tmp_path, text, "f.wcnf")


def test_comments_and_ends_of_lines(tmp_path):
    found = formula(tmp_path, "c of\r\nc cats\r\n\np cnf 2 2\r\nc between\r\n"
                    "1 -2\n 0\nc\n+2 0\n%\n0\n")
    assert found.literals.tolist() == [1, -2, 2] and found.starts.tolist() == [0, 2]
    assert len(formula(tmp_path, "p cnf 3 0\n")) == len(formula(tmp_path, "p cnf 3 0")) == 0


def test_satisfied_clauses_against_a_plain_loop(tmp_path):
    chance = random.Random(7)
    for _ in range(50):
        n = chance.randint(1, 9)
        clauses = [[chance.choice((1, -1)) * chance.randint(1, n)
                    for _ in range(chance.randint(0, 4))] for _ in range(chance.randint(0, 12))]
        body = "".join(" ".join(map(str, [*c, 0])) + "\n" for c in clauses)
        found = formula(tmp_path, f"p cnf {n} {len(clauses)}\n{body}")
        model = [chance.choice((1, -1)) * v for v in range(1, n + 1)]
        wanted = [any(lit in model for lit in c) for c in clauses]
        assert found.satisfied(numpy.array(model)).tolist() == wanted


def test_costs_of_both_weighted_forms(tmp_path):
    old = formula(tmp_path, "p wcnf 2 3 10\n10 1 2 0\n3 -1 0\n4 -2 0\n", "o.wcnf")
    new = formula(tmp_path, "c x\nh 1 2 0\n3 -1 0\n4 -2 0\n", "n.wcnf")
    for found in (old, new):
        assert formulas.cost(found, numpy.array([1, -2])) == 3
        assert formulas.cost(found, numpy.array([1, 2])) == 7
        assert formulas.cost(found, numpy.array([-1, -2])) is None


def instance(tmp_path, text, expected=""):
    path = tmp_path / "i.cnf"
    path.write_text(text, encoding="ascii")
    checks.formula.cache_clear()
    return Instance("s", "i.cnf", path, "cnf", "f", expected)


@pytest.mark.parametrize(("answer", "expected", "checked", "wrong"), [
    (Answer("sat", numpy.array([1, 2])), "", "model", ""),
    (Answer("sat", numpy.array([-1, -2])), "", "", "leaves 1 clauses"),
    (Answer("sat", numpy.array([1, -1, 2])), "", "", "both ways"),
    (Answer("unsat"), "sat", "", "known answer is sat"),
    (Answer("unsat"), "unsat", "known answer", ""),
    (Answer("unsat"), "", "", ""),
    (Answer("optimum 0", numpy.array([1, 2]), 0), "", "cost of the model", ""),
    (Answer("optimum 2", numpy.array([1, 2]), 2), "", "", "costs 0, not 2"),
])
def test_judgements(tmp_path, answer, expected, checked, wrong):
    found = checks.judge(answer, instance(tmp_path, "p cnf 2 2\n1 2 0\n-1 2 0\n", expected),
                         nobody)
    assert found.checked == checked
    assert (wrong in found.wrong) if wrong else not found.wrong


@pytest.mark.parametrize(("answer", "known", "wanted"), [
    ("core", "unsat", True), ("unsat", "core", True), ("sat", "core", False),
    ("core", "sat", False), ("true: 42", "true", True), ("sat in frame 3", "sat", True)])
def test_what_agrees_with_the_known_answer(answer, known, wanted):
    assert checks.agree(answer, known) == wanted


def nobody(text: str) -> None:
    """No solver is here."""


@pytest.mark.parametrize(("core", "status", "wrong"), [
    ([1, 2, 3, 4], 20, ""), ([1, 2, 3], 10, "satisfiable"), ([9], None, "not there")])
def test_cores(tmp_path, core, status, wrong):
    text = "p cnf 2 5\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n1 0\n"
    asked = []

    def decide(of: str) -> int:
        asked.append(of)
        return status

    found = checks.judge(Answer("core", numpy.array(core)), instance(tmp_path, text), decide)
    assert (wrong in found.wrong) if wrong else found == checks.Judged("core")
    lines = text.splitlines()
    assert asked == ([] if status is None else
                     ["\n".join([f"p cnf 2 {len(core)}", *(lines[c] for c in core), ""])])
    unsaid = checks.judge(Answer("core", numpy.array([1])), instance(tmp_path, text), nobody)
    assert unsaid == checks.Judged()
