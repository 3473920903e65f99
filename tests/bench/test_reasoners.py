# SPDX-License-Identifier: MIT
"""The reasoners made of Python-SAT answer as the competitions ask for."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy
import pytest
from conftest import SAT, UNSAT

from bigleaf_bench import answers, execute, formulas

pytest.importorskip("pysat")


def run(module: str, *words) -> answers.Ended:
    done = subprocess.run(
        [sys.executable, "-B", "-m", f"bigleaf_bench.reasoners.{module}", *map(str, words)],
        capture_output=True, text=True, check=False)
    return answers.Ended(done.returncode, done.stdout)


@pytest.mark.parametrize("solver", ["glucose42", "lingeling", "maplechrono", "mergesat3"])
def test_sat(tmp_path, solver):
    path = tmp_path / "a.cnf"
    path.write_text(SAT, encoding="ascii")
    found = answers.competition(run("sat", solver, path))
    assert found.text == "sat" and formulas.read(path).satisfied(found.witness).all()
    path.write_text(UNSAT, encoding="ascii")
    assert answers.competition(run("sat", solver, path)).text == "unsat"
    path.write_text("p cnf 1 5\n", encoding="ascii")
    assert run("sat", solver, path).exit_status == 1


def test_maxsat_and_mus(tmp_path):
    path = tmp_path / "a.wcnf"
    path.write_text("p wcnf 2 3 10\n10 1 2 0\n3 -1 0\n4 -2 0\n", encoding="ascii")
    found = answers.maxsat(run("maxsat", path))
    assert found.text == "optimum 3"
    assert formulas.cost(formulas.read(path), found.witness) == 3
    path = tmp_path / "a.cnf"
    path.write_text(UNSAT.replace("4\n", "5\n", 1) + "1 2 0\n", encoding="ascii")
    core = answers.mus(run("mus", path))
    assert core.text == "core" and len(numpy.unique(core.witness)) == 4


def test_smt(tmp_path):
    pytest.importorskip("bitwuzla")
    path = tmp_path / "a.smt2"
    path.write_text("(set-logic QF_BV)(declare-const a (_ BitVec 8))(assert (= a #x07))(check-sat)"
                    "(assert (bvult a #x07))(check-sat)\n", encoding="ascii")
    assert answers.smt(run("smt", path)).text == "sat unsat"
    path.write_text("(bad", encoding="ascii")
    ended = run("smt", path)
    assert ended.exit_status == 1 and answers.smt(ended).text == ""


def test_numpy_asks_for_no_huge_pages():
    code = ("import numpy, pathlib; x = numpy.ones(1 << 22); "
            "print(pathlib.Path('/proc/self/smaps').read_text())")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, **execute.OURS}, check=True)
    flags = [line for line in done.stdout.splitlines() if line.startswith("VmFlags")]
    assert flags and not any(" hg" in line for line in flags)
