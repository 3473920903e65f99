# SPDX-License-Identifier: MIT
"""Campaigns from the file to the report, and what can go wrong on the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import SAT, UNSAT, VARIANTS

HEAD = '[limits]\nseconds = 3\nmemory = "256 MiB"\n[[instances]]\nname = "all"\nfiles = ["*.cnf"]\n'
BASE = '[[variants]]\nname = "base"\n'


def real(name: str) -> str:
    if not shutil.which(name):
        pytest.skip(f"{name} is not here")
    return f'[[tools]]\nuse = "{name}"\nsets = ["all"]\n'


def test_from_the_file_to_the_report(bench):
    bench.write("sat.cnf", SAT)
    bench.write("unsat.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + real("minisat") + real("cadical") + VARIANTS)
    ended = bench.run(report=True)
    assert ended.status == 0, ended.err
    records = bench.records()
    assert len(records) == 8
    assert all(r["status"] == "ok" and r["valid"] for r in records), records
    assert {r["answer"] for r in records if r["instance"] == "sat.cnf"} == {"sat"}
    assert all(r["checked"] == "model" for r in records if r["answer"] == "sat")
    assert all(r["backing"]["heap"] == {"base": "none", "thp": "bigleaf"}[r["variant"]]
               for r in records)
    assert "Table 2" in ended.out and "Table 3" in ended.out
    assert (bench.results / "report.html").read_text(encoding="utf-8").count("<svg") == 4
    notes = json.loads((bench.results / "notes.json").read_text(encoding="utf-8"))
    assert {"before", "after", "warnings", "tools", "machine"} <= set(notes)
    again = bench.run()
    assert again.status == 0 and bench.records() == records, "nothing runs twice"


def test_statuses(bench):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + "".join((
        bench.tool("right", "exit 20"),
        bench.tool("crashes", "kill -SEGV $$"),
        bench.tool("fails", "echo no such option; exit 1"),
        bench.tool("silent", "exit 0"),
        bench.tool("slow", "while :; do :; done"),
        bench.tool("greedy", "tail -c 1G /dev/zero | tail; exit 20"),
        '[[tools]]\nuse = "cadical"\nname = "missing"\nsets = ["all"]\nexecutable = "nowhere"\n',
    )) + BASE)
    ended = bench.run(report=True)
    assert ended.status == 0, ended.err
    found = bench.statuses()
    assert found["right"] == "ok"
    assert found["crashes"] == "crash (signal 11)"
    assert found["fails"] == "error (exit status 1)"
    assert found["silent"] == "no answer"
    assert found["slow"] == "timeout"
    notes = json.loads((bench.results / "notes.json").read_text(encoding="utf-8"))
    if notes["machine"]["memory_limit"]:
        assert found["greedy"] == "out of memory"
    assert found["missing"] == "missing tool (nowhere)"
    assert "Runs that do not count" in (bench.results / "report.html").read_text(encoding="utf-8")


def test_broken_instances_are_not_run(bench):
    bench.write("good.cnf", UNSAT)
    bench.write("bad.cnf", "p cnf 2 9\n1 0\n")
    bench.write("empty.cnf", "")
    (bench.folder / "torn.cnf.xz").write_bytes(b"\xfd7zXZ\x00rest")
    bench.write("campaign.toml", HEAD.replace('"*.cnf"', '"*.cnf", "*.xz"')
                + bench.tool("right", "exit 20") + BASE)
    assert bench.run().status == 0
    assert {r["instance"]: r["status"] for r in bench.records()} == {
        "good.cnf": "ok", "empty.cnf": "broken instance (is empty)",
        "bad.cnf": "broken instance (1 clauses, but the header says 9)",
        "torn.cnf.xz": "broken instance (cannot be unpacked as .xz)"}


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
    assert page.index("Wrong answers") < page.index("Table 2")


def test_a_contradiction_is_a_status(bench):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + bench.tool("yes", "exit 10") + bench.tool("no", "exit 20")
                + BASE)
    assert bench.run().status == 0
    assert all(s.startswith("contradiction (") for s in bench.statuses().values())


def test_a_checked_answer_refutes_one_that_is_not(bench):
    bench.write("a.cnf", SAT)
    bench.write("campaign.toml", HEAD + bench.tool("no", "exit 20") + real("minisat") + BASE)
    ended = bench.run()
    assert ended.status == 1
    assert bench.statuses()["no"].startswith("wrong answer")
    assert bench.statuses().get("minisat", "ok") == "ok"


def test_a_run_that_is_not_what_its_label_says_is_not_counted(bench):
    bench.write("a.cnf", UNSAT)
    program = bench.write("large.py", "import time\nx = b'x' * (1 << 25)\ntime.sleep(0.5)\n")
    bench.write("campaign.toml", HEAD + bench.tool("large", f"python3 {program}; exit 20") + BASE
                + '[[variants]]\nname = "claims"\nkind = "other"\nleast = 0.5\n')
    assert bench.run().status == 0
    by = {r["variant"]: r for r in bench.records()}
    assert by["base"]["valid"]
    assert not by["claims"]["valid"] and "less than 50%" in by["claims"]["objection"]
    assert "1 runs were not backed as labelled" in bench("tables", "paper", bench.results).out


PROOFS = "[checks]\nproofs = true\n"


def test_proofs_are_checked(bench):
    if not shutil.which("drat-trim"):
        pytest.skip("drat-trim is not here")
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + PROOFS + real("cadical") + VARIANTS)
    ended = bench.run()
    assert ended.status == 0, ended.err
    proofs = [r for r in bench.records() if r["purpose"] == "proof"]
    assert [(r["status"], r["checked"]) for r in proofs] == [("ok", "proof")] * 2


def test_a_proof_that_does_not_hold_is_a_wrong_answer(bench):
    if not shutil.which("drat-trim"):
        pytest.skip("drat-trim is not here")
    bench.write("a.cnf", SAT)
    # Called with a proof it is given five words, the last of them the file.
    liar = bench.tool("liar", 'if [ $# = 5 ]; then echo 0 > "$5"; fi; exit 20')
    bench.write("campaign.toml", HEAD + PROOFS + liar + BASE)
    ended = bench.run()
    assert ended.status == 1 and "the proof does not hold" in ended.err


def test_without_a_checker_that_is_a_status(bench):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + PROOFS + bench.tool("right", "exit 20") + BASE)
    nowhere = f"{os.path.dirname(os.environ['BIGLEAF_COMMAND'])}:/usr/bin:/bin"
    if shutil.which("drat-trim", path=nowhere):
        pytest.skip("drat-trim is in the system's folders")
    assert bench.run(env={"PATH": nowhere}).status == 0
    assert [r["status"] for r in bench.records() if r["purpose"] == "proof"] == [
        "missing tool (drat-trim)"]


def slow_campaign(bench, count: int) -> None:
    for i in range(count):
        bench.write(f"{i}.cnf", UNSAT)
    body = "echo x >> {}; sleep 0.4; exit 20".format(bench.folder / "results" / "started")
    bench.write("campaign.toml", 'isolation = "none"\n' + HEAD + bench.tool("slow", body) + BASE)


def test_kill_9_loses_nothing_and_runs_nothing_twice(bench):
    slow_campaign(bench, 6)
    kept = 0
    for _ in range(2):
        process = bench.start()
        wait_for(lambda: lines(bench.results / "runs.jsonl") >= kept + 2)
        bench.kill(process)
        kept = lines(bench.results / "runs.jsonl")
    with (bench.results / "runs.jsonl").open("a", encoding="ascii") as file:
        file.write('{"key": "torn')
    assert bench.run().status == 0
    keys = [r["key"] for r in bench.records()]
    assert len(keys) == len(set(keys)) == 6
    # Only what was under way when the campaign was killed began twice.
    assert lines(bench.results / "started") <= 6 + 2
    assert not subprocess.run(["pgrep", "-f", str(bench.folder)], stdout=subprocess.PIPE,
                              check=False).stdout, "nothing is left running"


def test_interrupted_and_two_at_once(bench):
    slow_campaign(bench, 4)
    process = bench.start()
    wait_for(lambda: lines(bench.results / "runs.jsonl") >= 1)
    other = bench.run()
    assert other.status == 2 and "another campaign writes here" in other.err
    process.terminate()
    said = process.communicate(timeout=30)[0]
    assert process.returncode == 130 and "goes on from here" in said
    assert bench.run().status == 0 and len(bench.records()) == 4


def test_another_campaign_does_not_mix_in(bench):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + bench.tool("right", "exit 20") + BASE)
    assert bench.run().status == 0
    bench.write("campaign.toml", "seed = 9\n" + HEAD + bench.tool("right", "exit 20") + BASE)
    ended = bench.run()
    assert ended.status == 2 and "holds results of another campaign" in ended.err


def test_a_full_disk_is_a_status_and_mends_itself(bench):
    bench.results.mkdir()
    if os.geteuid() or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", bench.results],
            stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no right to mount a small tmpfs")
    try:
        for i in range(3):
            bench.write(f"{i}.cnf", UNSAT)
        room = bench.folder / "no-room"
        room.touch()
        body = f"if [ -e {room} ]; then cat /dev/zero; fi; exit 20"
        bench.write("campaign.toml", 'isolation = "none"\n' + HEAD + bench.tool("talks", body)
                    + BASE)
        ended = bench.run()
        assert {r["status"] for r in bench.records()} == {"disk full"}, ended.err
        room.unlink()
        assert bench.run().status == 0
        assert bench.statuses() == {"talks": "ok"}
    finally:
        subprocess.run(["umount", "-l", bench.results], check=False)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(holds, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
