# SPDX-License-Identifier: MIT
"""Wrong answers, contradictions and proofs, in campaigns."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from conftest import BASE, HEAD, PATIENCE, SAT, UNSAT, VARIANTS, real, wait_for

from bigleaf_bench import checks, execute


@pytest.mark.parametrize("liar", [
    "echo s SATISFIABLE; echo v -1 -2 0; exit 10",  # a model that is none
    "exit 10",  # against the known answer
])
def test_a_wrong_answer_ends_the_campaign(bench, liar):
    bench.write("a.cnf", UNSAT)
    head = HEAD + 'answers = {"a.cnf" = "unsat"}\n'
    bench.write("campaign.toml", head + bench.tool("liar", liar) + BASE)
    ended = bench.run()
    assert ended.status == 1
    assert "liar on a.cnf, base: wrong answer" in ended.err.splitlines()[-1]
    assert bench.run().status == 1, "and it stays so"
    ended = bench.run("--keep-going", report=True)
    assert ended.status == 0 and "WRONG ANSWER: liar" in ended.out
    page = (bench.results / "report.html").read_text(encoding="utf-8")
    assert page.index("Wrong answers") < page.index("the only variant")


def test_a_contradiction_is_a_status(bench):
    """Of every run of both tools: nobody knows who is right."""
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + bench.tool("yes", "exit 10") + bench.tool("no", "exit 20")
                + VARIANTS)
    ended = bench.run(report=True)
    assert ended.status == 0
    last = {r["key"]: r for r in bench.records()}.values()
    assert len(last) == 4
    assert all(r["status"].startswith("contradiction (") and not r["valid"] for r in last), last
    assert "4 runs contradict one another and are not counted" in ended.out


def said(tool: str, answer: str, checked: str = "", status: str = "ok") -> dict:
    return {"tool": tool, "answer": answer, "checked": checked, "status": status,
            "purpose": "measure", "category": "SAT", "set": "all", "instance": "a.cnf",
            "variant": "base", "valid": status == "ok"}


def test_a_checked_answer_refutes_every_other():
    others = [said("no", "unsat"), said("yes", "sat"), said("not", "unsat"),
              said("never", "unsat", status="contradiction (...)")]
    record, refuted = execute.held_against(said("right", "sat", "model"), others)
    assert record["status"] == "ok"
    assert [r["tool"] for r in refuted] == ["no", "not", "never"]
    assert all(r["status"] == f"wrong answer ({r['tool']}, base: unsat; right, base: sat, checked "
               "by model)" for r in refuted)
    record, refuted = execute.held_against(said("no", "unsat"), [*others, record])
    assert record["status"].startswith("wrong answer (no, base: unsat; right") and not refuted


def test_a_refuted_answer_contradicts_nobody():
    wrong = said("liar", "sat", status="wrong answer (sat: the model leaves 1 clauses unsatisfied)")
    record = said("right", "unsat")
    assert execute.held_against(record, [wrong]) == (record, [])


@pytest.mark.parametrize(("one", "other", "wanted"), [
    ("sat", "unsat", True), ("sat", "sat", False), ("optimum 3", "optimum 4", True),
    # Of aigbmc and of ABC's bmc3.
    ("sat", "sat in frame 35", False), ("sat in frame 3", "sat in frame 35", True),
    ("unsat", "unsat 17 frames", False), ("unsat 16 frames", "unsat 17 frames", False),
    ("sat", "unsat 17 frames", True), ("sat in frame 16", "unsat 17 frames", True),
    ("sat in frame 17", "unsat 17 frames", False)])
def test_which_answers_contradict(one, other, wanted):
    assert checks.contradict(one, other) == checks.contradict(other, one) == wanted


def test_a_checked_answer_refutes_one_that_is_not(bench):
    bench.write("a.cnf", SAT)
    bench.write("campaign.toml", HEAD + bench.tool("no", "exit 20") + real("minisat") + BASE)
    ended = bench.run()
    assert ended.status == 1
    assert bench.statuses()["no"].startswith("wrong answer")
    assert bench.statuses().get("minisat", "ok") == "ok"


PROOFS = "[checks]\nproofs = true\n"


def needs_checker() -> None:
    if not checks.checker():
        pytest.skip("no drat-trim: ./dev builds it where there is no package of it")


def test_proofs_are_checked(bench):
    needs_checker()
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + PROOFS + real("cadical") + VARIANTS)
    ended = bench.run()
    assert ended.status == 0, ended.err
    proofs = [r for r in bench.records() if r["purpose"] == "proof"]
    assert [(r["status"], r["checked"]) for r in proofs] == [("ok", "proof")] * 2


def test_a_proof_that_does_not_hold_is_a_wrong_answer(bench):
    needs_checker()
    bench.write("a.cnf", SAT)
    # Called with a proof it is given five words, the last of them the file.
    liar = bench.tool("liar", 'if [ $# = 5 ]; then echo 0 > "$5"; fi; exit 20')
    bench.write("campaign.toml", HEAD + PROOFS + liar + BASE)
    ended = bench.run()
    assert ended.status == 1 and "the proof does not hold" in ended.err


def checker_that(bench, monkeypatch, body: str, name: str = "drat-trim") -> None:
    """Stands for drat-trim, or for the solver that decides a core."""
    folder = bench.folder / "checkers"
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("BIGLEAF_BENCH_PATH", str(folder))


def finder_of_cores(bench) -> str:
    """Says that all four clauses are needed."""
    tool = bench.tool("finder", "echo s UNSATISFIABLE; echo v 1 2 3 4 0; exit 20")
    return tool.replace('"cadical"', '"picomus"')


@pytest.mark.parametrize("checked", ["proof", "core"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_check_that_is_stopped_is_made_again(bench, monkeypatch, number, checked):
    bench.write("a.cnf", UNSAT)
    head = 'isolation = "none"\n' + HEAD
    program, verdict, text, wanted = {
        "proof": ("drat-trim", "echo s VERIFIED", PROOFS + bench.tool("right", "exit 20"),
                  [("measure", "ok", ""), ("proof", "ok", "proof")]),
        "core": ("cadical", "exit 20", finder_of_cores(bench), [("measure", "ok", "core")]),
    }[checked]
    bench.write("campaign.toml", head + text + BASE)
    checking = bench.folder / "results" / "checking"
    checker_that(bench, monkeypatch, f"touch {checking}; sleep 60", program)
    process = bench.start()
    wait_for(checking.exists)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    wait_for(lambda: not subprocess.run(["pgrep", "-f", bench.folder / "checkers"],
                                        stdout=subprocess.PIPE, check=False).stdout)
    checker_that(bench, monkeypatch, verdict, program)
    assert bench.run().status == 0
    assert [(r["purpose"], r["status"], r["checked"]) for r in bench.records()] == wanted


@pytest.mark.parametrize(("body", "checked"), [("exit 20", "core"), ("kill -SEGV $$", ""),
                                               ("while :; do :; done", "")])
def test_cores_are_checked_within_the_limits(bench, monkeypatch, body, checked):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + finder_of_cores(bench) + BASE)
    checker_that(bench, monkeypatch, body, "cadical")
    ended = bench.run()
    assert ended.status == 0, ended.err
    record, = bench.records()
    assert (record["status"], record["answer"], record["checked"]) == ("ok", "core", checked)


def test_a_core_that_is_satisfiable_is_a_wrong_answer(bench):
    if not checks.solver():
        pytest.skip("neither cadical nor minisat is here")
    bench.write("a.cnf", SAT)
    bench.write("campaign.toml", HEAD + finder_of_cores(bench).replace("4 0;", "0;") + BASE)
    ended = bench.run()
    assert ended.status == 1
    assert "wrong answer" in ended.err


def test_a_checker_that_fails_is_a_status(bench, monkeypatch):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + PROOFS + bench.tool("right", "exit 20") + BASE)
    checker_that(bench, monkeypatch, "echo no such proof; kill -SEGV $$")
    assert bench.run().status == 0
    proof = bench.records()[-1]
    assert proof["status"] == "crash (signal 11)" and not proof["valid"]
    assert "no such proof" in proof["tail"]


def test_without_a_checker_that_is_a_status(bench, monkeypatch):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + PROOFS + bench.tool("right", "exit 20") + BASE)
    nowhere = {"PATH": f"{os.path.dirname(os.environ['BIGLEAF_COMMAND'])}:/usr/bin:/bin",
               "BIGLEAF_BENCH_PATH": ""}
    for name, value in nowhere.items():
        monkeypatch.setenv(name, value)
    if checks.checker():
        pytest.skip("drat-trim is in the system's folders")
    assert bench.run(env=nowhere).status == 0
    assert [r["status"] for r in bench.records() if r["purpose"] == "proof"] == [
        "missing tool (drat-trim)"]
