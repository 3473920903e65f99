# SPDX-License-Identifier: MIT
"""Campaigns from the file to the report, and what can go wrong on the way."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from conftest import BASE, HEAD, SAT, UNSAT, VARIANTS, real, wait_for

from bigleaf_bench import execute
from bigleaf_bench.campaign import Limits
from bigleaf_bench.failure import Lacking
from bigleaf_bench.measure import Machine, Measured, Runner


def undocumented(records: list[dict]) -> set[str]:
    """Members that bigleaf-report(5) does not name under bigleaf.bench/1."""
    page = Path(os.environ["BIGLEAF_SOURCE"]) / "docs/man/bigleaf-report.5"
    section = re.search(r"^\.SS bigleaf\.bench/1\n(.*?)^\.SS ", page.read_text(), re.M | re.S)[1]
    members = {name for r in records for part in (r, r["backing"]) for name in part}
    return {name for name in members - {"schema"} if not re.search(rf"\b{name}\b", section)}


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
    assert not undocumented(records)
    again = bench.run()
    assert again.status == 0 and bench.records() == records, "nothing runs twice"


SUM = """\
#include <assert.h>
unsigned any(void);
int main(void) {
    unsigned sum = 0, last = any() % 5;
    for (unsigned i = 0; i <= last; i++) sum += i;
    assert(sum == last * (last + 1) / 2);
}
"""


def test_programs_are_checked_by_cbmc(bench):
    bench.write("right.c", SUM)
    bench.write("wrong.c", SUM.replace("last + 1", "last"))
    head = HEAD.replace("*.cnf", "*.c") + 'answers = {"right.c" = "unsat", "wrong.c" = "sat"}\n'
    bench.write("campaign.toml", head + 'parameters = {bound = "6"}\n' + real("cbmc") + VARIANTS)
    ended = bench.run(report=True)
    assert ended.status == 0, ended.err
    found = [(r["instance"], r["status"], r["answer"], r["checked"]) for r in bench.records()]
    assert sorted(found) == sorted([("right.c", "ok", "unsat", "known answer"),
                                    ("wrong.c", "ok", "sat", "known answer")] * 2)
    assert "SWMC      cbmc" in ended.out


def test_workers_have_cores_of_their_own(bench):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core")
    for i in range(4):
        bench.write(f"{i}.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + bench.tool("right", "sleep 0.5; exit 20") + BASE)
    ended = bench.run("--workers=2")
    assert ended.status == 0, ended.err
    records = bench.records()
    assert [r["status"] for r in records] == ["ok"] * 4
    notes = json.loads((bench.results / "notes.json").read_text(encoding="utf-8"))
    if notes["machine"]["cores"]:
        assert len({tuple(r["cores"]) for r in records}) == 2


def test_workers_keep_to_the_cores_that_they_are_given(bench):
    ours = sorted(os.sched_getaffinity(0))
    if len(ours) < 2:
        pytest.skip("one core")
    bench.write("a.cnf", UNSAT)
    body = f"grep Cpus_allowed_list /proc/self/status >> {bench.folder}/results/cores; exit 20"
    bench.write("campaign.toml", 'isolation = "none"\n' + HEAD + bench.tool("right", body) + BASE)
    os.sched_setaffinity(0, ours[-1:])
    try:
        ended = bench.run()
    finally:
        os.sched_setaffinity(0, ours)
    assert ended.status == 0, ended.err
    said = (bench.results / "cores").read_text(encoding="ascii")
    assert said == f"Cpus_allowed_list:\t{ours[-1]}\n"


def test_a_library_named_for_the_command_is_named_for_runs(bench):
    bench.write("a.cnf", UNSAT)
    tool = bench.tool("asks", '[ "$BIGLEAF_LIB" = /named/lib.so ] && exit 20')
    bench.write("campaign.toml", HEAD + tool + BASE)
    assert bench.run(env={"BIGLEAF_LIB": "/named/lib.so"}).status == 0
    assert bench.statuses() == {"asks": "ok"}


def test_what_a_run_left_is_ended_with_it(bench):
    bench.write("a.cnf", UNSAT)
    body = f"sleep 600 & echo $! > {bench.folder}/results/left; exit 20"
    bench.write("campaign.toml", 'isolation = "none"\n' + HEAD + bench.tool("forks", body) + BASE)
    assert bench.run().status == 0
    left = (bench.results / "left").read_text(encoding="ascii").strip()
    wait_for(lambda: not os.path.exists(f"/proc/{left}"))  # buried by who took it in


@pytest.mark.parametrize(("limited", "status"), [
    (True, "stalled (it had 6.5 s of the processor)"), (False, "timeout")])
def test_a_machine_that_stood_still_is_no_timeout(tmp_path, limited, status):
    measured = Measured(6.5, 150.0, None, None, 15, "walltime", "", limited)
    assert execute.ended(measured, "", "", tmp_path) == status


COUNTS = "i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done; exit 20"


@pytest.mark.parametrize(("time", "seconds", "command", "termination"), [
    ("cpu", 0.1, COUNTS, "cputime"), ("cpu", 0.1, "sleep 0.5", ""),
    ("wall", 0.3, "sleep 60", "walltime"), ("wall", 30, "exit 20", "")])
def test_who_is_late_without_a_cgroup_is_late(tmp_path, time, seconds, command, termination):
    """It would count as solved, and its rival that was ended as faster."""
    runner = Runner(Machine(False, False, False, False, "none"), Limits(), None, tmp_path, time)
    measured = runner.run(["/bin/sh", "-c", command], tmp_path / "out", seconds, {})
    runner.close()
    assert measured.termination == termination and not measured.cpu_limited
    assert measured.wall_seconds < 60


@pytest.mark.parametrize(("exit_status", "number", "termination", "text", "status"), [
    (None, 9, "memory", "", "out of memory"),
    (134, None, "", "terminate called after throwing 'std::bad_alloc'", "out of memory"),
    (1, None, "", "c out of memory", "out of memory"),
    (None, 11, "", "", "crash (signal 11)"), (139, None, "", "", "crash (signal 11)"),
    (None, 15, "cputime-soft", "", "timeout"),
    (1, None, "", "cannot write: No space left on device", "disk full"),
    (127, None, "", "", "missing tool (it cannot start)")])
def test_how_a_run_without_an_answer_ended(tmp_path, exit_status, number, termination, text,
                                           status):
    measured = Measured(1.0, 1.0, None, exit_status, number, termination, "", True)
    assert execute.ended(measured, text, "", tmp_path) == status


def test_an_answer_of_a_program_that_crashed_is_none(tmp_path):
    """As a shell around it tells it; readers of some dialects ask for no status."""
    for status, number in ((139, None), (None, 11)):
        measured = Measured(1.0, 1.0, None, status, number, "", "", True)
        assert execute.ended(measured, "sat\n", "sat", tmp_path) == "crash (signal 11)"


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
        "torn.cnf": "broken instance (cannot be unpacked as .xz)"}


def test_a_campaign_of_which_nothing_can_run_fails(bench):
    bench.write("empty.cnf", "")
    bench.write("campaign.toml", HEAD + bench.tool("right", "exit 20") + BASE)
    ended = bench.run(report=True)
    assert (ended.status, "report: " in ended.out) == (3, True), ended.err
    assert ended.err.endswith("no run could begin; first: right on empty.cnf: broken instance "
                              "(is empty)\n")
    bench.write("empty.cnf", UNSAT)
    bench.results = bench.folder / "other"
    bench.write("campaign.toml", HEAD + BASE + '[[tools]]\nuse = "cadical"\nsets = ["all"]\n'
                'executable = "/no/such"\n')
    ended = bench.run()
    assert ended.status == 3 and ended.err.endswith("missing tool (/no/such)\n")


def test_a_run_that_is_not_what_its_label_says_is_not_counted(bench):
    bench.write("a.cnf", UNSAT)
    program = bench.write("large.py", "import time\nx = b'x' * (1 << 25)\ntime.sleep(1.5)\n")
    bench.write("campaign.toml", HEAD + bench.tool("large", f"python3 {program}; exit 20") + BASE
                + '[[variants]]\nname = "claims"\nkind = "other"\nleast = 0.5\n')
    assert bench.run().status == 0
    by = {r["variant"]: r for r in bench.records()}
    assert by["base"]["valid"]
    assert not by["claims"]["valid"] and "less than 50%" in by["claims"]["objection"]
    assert "1 runs were not backed as labelled" in bench("tables", "paper", bench.results).out
    ended = bench("tables", "paper", "--format=csv", bench.results)
    assert "1 runs were not backed" in ended.err and "backed" not in ended.out


def test_programs_built_for_a_variant(bench):
    bench.write("a.cnf", UNSAT)
    for name, status in (("cadical-plain", 20), ("cadical-thp", 20)):
        bench.write(name, f"#!/bin/sh\n[ $1 = --version ] || echo c {name}\nexit {status}\n"
                    ).chmod(0o755)
    variants = "".join(f'[[variants]]\nname = "{n}"\nkind = "other"\npath = ["."]\n'
                       f'suffix = "-{n}"\n' for n in ("plain", "thp", "none"))
    tool = '[[tools]]\nuse = "cadical"\nsets = ["all"]\n'
    bench.write("campaign.toml", HEAD + tool + variants)
    assert bench.run().status == 0
    found = {r["variant"]: r for r in bench.records()}
    assert found["none"]["status"] == "missing tool (cadical-none)"
    for name in ("plain", "thp"):
        assert found[name]["command"][0] == str(bench.folder / f"cadical-{name}")


MISSES = {"schema": "bigleaf.tlb/1", "by": "emulator", "geometry": {"name": "haswell"},
          "total": {"data": {"base": {"walks": 4000}, "huge": {"walks": 10},
                             "backed": {"walks": 30}}}}


@pytest.mark.parametrize(("number", "termination", "status"), [
    (None, "", "ok"), (15, "cputime-soft", "timeout"), (11, "", "crash (signal 11)"),
    (139, "", "crash (signal 11)"), (9, "memory", "out of memory")])
def test_misses_of_a_part_of_a_run_are_none(tmp_path, number, termination, status):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(MISSES), encoding="ascii")
    ended = (None, number) if (number or 128) < 128 else (number or 20, None)
    measured = Measured(6.5, 7.0, None, *ended, termination, "", True)
    found = execute.counted(measured, path, "")
    assert found["status"] == status and ("tlb" in found) == (status == "ok")


def test_misses_by_counters():
    # Those of AMD; null where the processor had no room to count.
    events = [{"name": "ls_l1_d_tlb_miss.all_l2_miss", "base": 90, "bigleaf": 30},
              {"name": "ls_l1_d_tlb_miss.all", "base": None, "bigleaf": None}]
    told = {"by": "counters", "events": events}
    assert execute.tlb_misses(told) == {"base": 90, "huge": 30,
                                        "by": "ls_l1_d_tlb_miss.all_l2_miss"}
    assert execute.tlb_misses({**told, "events": events[1:]}) is None


def test_misses_of_the_tlb_come_from_runs_of_their_own(bench):
    text = json.dumps(MISSES)
    # Stands for bigleaf: `tlb` writes a report, all else is the real one.
    stand_in = bench.write("bigleaf.py", f"""#!/usr/bin/env python3
import os, sys
if sys.argv[1] != "tlb":
    os.execv({os.environ["BIGLEAF_COMMAND"]!r}, ["bigleaf", *sys.argv[1:]])
open(sys.argv[2].removeprefix("--json="), "w").write({text!r})
assert sys.argv[3:5] == ["--sample=1/7", "--"]
""")
    stand_in.chmod(0o755)
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + '[tlb]\narguments = ["--sample=1/7"]\n'
                + bench.tool("right", "exit 20") + VARIANTS)
    ended = bench.run(report=True, env={"BIGLEAF_COMMAND": str(stand_in)})
    assert ended.status == 0, ended.err
    assert [r["tlb"] for r in bench.records() if r["purpose"] == "tlb"] == [
        {"base": 4000, "huge": 30, "by": "emulator, haswell"}]
    assert "4.0e+03  3.0e+01       0.75" in ended.out


def test_what_cannot_be_run_is_said(tmp_path):
    runner = Runner(Machine(False, False, False, False, "none"), Limits(), None, tmp_path)
    with pytest.raises(Lacking, match="runexec: .*Is a directory"):
        runner.run(["/bin/true"], tmp_path, 5, {})
    runner.close()


def test_programs_are_found_as_seen_from_the_campaign(bench):
    """Runs begin in a folder of their own; PATH may hold folders seen from here."""
    bench.write("a.cnf", UNSAT)
    for name in ("mine", "cadical"):
        (bench.folder / name).mkdir()
        bench.write(f"{name}/cadical", "#!/bin/sh\n[ $1 = --version ] || exit 20\n").chmod(0o755)
    tools = '[[tools]]\nuse = "cadical"\nsets = ["all"]\n'
    bench.write("campaign.toml", f'{HEAD}{tools}{tools}name = "mine"\n'
                f'executable = "mine/cadical"\n{BASE}')
    elsewhere = bench.folder / "elsewhere"
    elsewhere.mkdir()
    ended = bench("run", "../campaign.toml", "--output", bench.results, "--no-report",
                  env={"PATH": f"../cadical:{os.environ['PATH']}"}, cwd=elsewhere)
    assert ended.status == 0, ended.err
    assert {r["tool"]: (r["status"], r["command"][0]) for r in bench.records()} == {
        name: ("ok", f"{bench.folder}/{name}/cadical") for name in ("mine", "cadical")}


@pytest.mark.parametrize("name", ["kissat", "z3"])
def test_tools_of_benchexec(bench, monkeypatch, name):
    """A module of BenchExec's present interface, and one of the older."""
    text = {"kissat": "s UNSATISFIABLE", "z3": "unsat"}[name]
    bench.write(name, f"#!/bin/sh\n[ $1 != --version ] || exit\necho {text}\n").chmod(0o755)
    monkeypatch.setenv("PATH", str(bench.folder), prepend=":")
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + 'answers = {"*" = "unsat"}\n[[tools]]\n'
                f'use = "benchexec:{name}"\nsets = ["all"]\ncategory = "SAT"\n' + BASE)
    ended = bench.run()
    assert ended.status == 0, ended.err
    record, = bench.records()
    assert (record["tool"], record["status"], record["answer"]) == (name, "ok", "unsat")
    assert record["command"] == [str(bench.folder / name), str(bench.folder / "a.cnf")]


def test_glibc_s_own_tunable_is_a_variant(bench):
    bench.write("a.cnf", UNSAT)
    bench.write("campaign.toml", HEAD + real("minisat") + BASE + '[[variants]]\nname = "glibc"\n')
    assert bench.run().status == 0
    found = {r["variant"]: r for r in bench.records()}
    if "2.35" in (found["glibc"]["objection"] or ""):
        pytest.skip("this glibc has no such tunable")
    assert found["glibc"]["valid"] and found["glibc"]["backing"]["heap"] == "glibc-tunable"


def test_names_are_bytes(bench):
    name = os.fsdecode(b"a\xff.cnf")
    (bench.folder / name).write_text(UNSAT, encoding="ascii")
    bench.write("campaign.toml", HEAD + bench.tool("right", "exit 20") + BASE)
    ended = bench.run(report=True)
    assert ended.status == 0, ended.err
    record, = bench.records()
    assert record["instance"] == name and record["valid"]
    assert name in bench("tables", "runs", bench.results).out
    bench.refuses("run", "campaign.toml", os.fsdecode(b"--output=r\xfe"), status=2,
                  said="needs a folder whose name is text in UTF-8; give --output another")


def test_a_folder_of_results_that_cannot_be_is_no_fault_of_ours(bench):
    bench.write("campaign.toml", HEAD + bench.tool("right", "exit 20") + BASE)
    bench.results = bench.write("file", "")
    bench.refuses("run", "campaign.toml", "--output=file", status=3, said="file: File exists")
