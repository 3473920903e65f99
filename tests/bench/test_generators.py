# SPDX-License-Identifier: MIT
"""The generators of instances: form, known answers, equal bytes."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from bigleaf_bench import formulas
from bigleaf_bench.instances import GENERATORS

# Two bits count up while the input holds; bad is both set, first in frame 3.
COUNTER_BTOR2 = """1 sort bitvec 2
2 sort bitvec 1
3 zero 1
4 state 1 count
5 init 1 4 3
6 input 2
7 one 1
8 add 1 4 7
9 ite 1 6 8 4
10 next 1 4 9
11 ones 1
12 eq 2 4 11
13 bad 12
"""


def generate(name: str, *words: str) -> str:
    done = subprocess.run([sys.executable, "-B", GENERATORS / f"{name}.py", *words],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def answer(solver: str, text: str, *options: str) -> str:
    if not shutil.which(solver):
        pytest.skip(f"{solver} is not here")
    done = subprocess.run([solver, *options], input=text, capture_output=True, text=True,
                          check=False)
    said = done.stdout.lower()
    return "unsat" if "unsat" in said else "sat" if "sat" in said else said


@pytest.mark.parametrize(("words", "wanted"), [
    ("quasigroup 8 --holes=0.5", "sat"),
    ("quasigroup 5 --holes=1 --seed=3", "sat"),
    ("multiplier 4", "unsat"),
    ("multiplier 4 --fault=3", "sat"),
    ("planning 4 3 9", "sat"),
    ("planning 6 2 1", "unsat"),
    ("datapath --frames=4 --check=2 --width=8", "unsat"),
])
def test_formulas(tmp_path, words, wanted):
    text = generate(*words.split())
    path = tmp_path / "f.cnf"
    path.write_text(text, encoding="ascii")
    formulas.read(path)
    assert answer("cadical", text, "-q") == wanted
    assert generate(*words.split()) == text


def test_answer_set_programs():
    for steps, wanted in (("9", "sat"), ("1", "unsat")):
        program = generate("planning", "5", "3", steps, "--asp")
        assert answer("clingo", program, "-V0") == wanted


def test_unrolled_aiger(tmp_path):
    # Bit 0: 4' = 4 xor 2; bit 1: 6' = 6 xor (4 and 2); bad: 4 and 6. The two
    # exclusive ors are written inverted (12, 20 hold when equal).
    path = tmp_path / "counter.aag"
    path.write_text("aag 10 1 2 1 7\n2\n4 12\n6 20\n14\n8 4 2\n10 5 3\n12 9 11\n14 4 6\n"
                    "16 6 8\n18 7 9\n20 17 19\n", encoding="ascii")
    assert answer("cadical", generate("bmc_aiger", str(path), "2"), "-q") == "unsat"
    assert answer("cadical", generate("bmc_aiger", str(path), "3"), "-q") == "sat"


def test_unrolled_btor2(tmp_path):
    path = tmp_path / "counter.btor2"
    path.write_text(COUNTER_BTOR2, encoding="ascii")
    for frames, wanted in (("2", "unsat"), ("3", "sat")):
        assert answer("z3", generate("bmc_btor2", str(path), frames), "-in") == wanted


def test_a_word_level_model(tmp_path):
    path = tmp_path / "datapath.btor2"
    path.write_text(generate("datapath_btor2", "--registers=2", "--width=4"), encoding="ascii")
    assert answer("z3", generate("bmc_btor2", str(path), "3"), "-in") == "unsat"


def test_wrong_files_in_one_line(tmp_path):
    path = tmp_path / "x.aig"
    path.write_text("nothing", encoding="ascii")
    for name in ("bmc_aiger", "bmc_btor2"):
        done = subprocess.run([sys.executable, "-B", GENERATORS / f"{name}.py", path, "2"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["datapath", "datapath_smt", "quasigroup"])
def test_a_reader_may_end_early(name):
    words = {"quasigroup": ["30"]}.get(name, [])
    with subprocess.Popen([sys.executable, "-B", GENERATORS / f"{name}.py", *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
