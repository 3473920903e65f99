# SPDX-License-Identifier: MIT
"""Campaigns that are killed, interrupted, started twice, or out of disk."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
import time

import pytest
from bigleaf_bench import measure, stop
from bigleaf_bench.campaign import Limits
from bigleaf_bench.failure import Lacking
from bigleaf_bench.journal import Journal
from conftest import BASE, HEAD, PATIENCE, UNSAT, lines, wait_for


def slow_campaign(bench, count: int) -> None:
    """While there is a file `hold`, its second run waits."""
    for i in range(count):
        bench.write(f"{i}.cnf", UNSAT)
    started, hold = bench.folder / "results" / "started", bench.folder / "hold"
    body = (f"[ ! -e {hold} ] || [ ! -e {started} ] || sleep 300\n"
            f"echo x >> {started}; sleep 0.4; exit 20")
    bench.write("campaign.toml", 'isolation = "none"\n' + HEAD + bench.tool("slow", body) + BASE)


def test_kill_9_loses_nothing_and_runs_nothing_twice(bench):
    slow_campaign(bench, 6)
    kept = 0
    for _ in range(2):
        process = bench.start()
        wait_for(lambda wanted=min(kept + 2, 6): lines(bench.results / "runs.jsonl") >= wanted)
        process.kill()
        assert "Traceback" not in process.communicate(timeout=PATIENCE)[0], "it ends in silence"
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_interrupted_and_two_at_once(bench, number):
    slow_campaign(bench, 4)
    (bench.folder / "hold").touch()
    process = bench.start()
    wait_for(lambda: lines(bench.results / "runs.jsonl") >= 1)
    other = bench.run()
    assert other.status == 2 and "another campaign writes here" in other.err
    process.send_signal(number)
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130 and "goes on from here" in said
    (bench.folder / "hold").unlink()
    assert bench.run().status == 0 and len(bench.records()) == 4


def test_a_folder_that_cannot_be_locked_is_not_called_busy(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("bigleaf_bench.journal.fcntl.flock", refuse)
    with pytest.raises(Lacking, match=r"runs.jsonl: cannot be locked \(No locks available\)"):
        Journal(tmp_path)


def test_a_run_is_stopped_however_early_that_is_asked(tmp_path):
    """BenchExec kills what it has started, and no more than that."""
    machine = measure.Machine(False, False, False, False, "none")
    for milliseconds in range(0, 20, 2):
        runner = measure.Runner(machine, Limits(), None, tmp_path)
        runner.run(["/bin/true"], tmp_path / "out", 1, {})
        ended = []
        thread = threading.Thread(target=lambda runner=runner, ended=ended: ended.append(
            runner.run(["/bin/sleep", "300"], tmp_path / "out", 300, {})))
        thread.start()
        time.sleep(milliseconds / 1000)
        runner.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive(), f"stopped {milliseconds} ms after it was asked for"
        runner.close()
        assert ended[0].termination == "killed"


def test_nohup_keeps_a_campaign(monkeypatch):
    assert signal.SIGHUP in stop.signals()
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    assert signal.SIGHUP not in stop.signals()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_before_the_first_run(bench, number):
    os.mkfifo(bench.folder / "a.cnf.xz")  # it waits to be unpacked
    bench.write("campaign.toml", HEAD.replace("*.cnf", "*.xz") + bench.tool("right", "exit 20")
                + BASE)
    process = bench.start()
    wait_for((bench.results / "instances" / "all").exists)
    process.send_signal(number)
    said = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130
    assert said.splitlines()[-1] == "bigleaf-bench: stopped; the same command goes on from here"
    assert "Traceback" not in said


def test_an_instance_that_was_mended_is_run(bench):
    bench.write("a.cnf", UNSAT[:-4])
    bench.write("b.cnf", "p cnf 1 2\n1 0\n")
    bench.write("campaign.toml", HEAD + bench.tool("right", "exit 20") + BASE)
    assert bench.run().status == 3
    bench.write("a.cnf", UNSAT)
    assert bench.run().status == 0
    assert [(r["instance"], r["status"].split(" (")[0]) for r in bench.records()[2:]] == [
        ("a.cnf", "ok")], "of the other nothing is new"


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
