# SPDX-License-Identifier: MIT
"""--executor=slurm against a real slurmctld and slurmd, started here.

All of Slurm's state lies in the test's own folder; its daemons listen on ports
of their own and end with the test.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from conftest import BASE, HEAD, UNSAT, lines, wait_for

DAEMONS = ("munged", "slurmctld", "slurmd")
CONFIGURATION = """\
ClusterName=bigleaf
SlurmctldHost={host}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={port}
SlurmdPort={next}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=3
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Slurm:
    """The three daemons and their client programs."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.processes: list[subprocess.Popen] = []
        self.env = {"SLURM_CONF": str(folder / "slurm.conf")}
        for name in ("state", "spool"):
            (folder / name).mkdir()
        port = free_port()
        (folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], folder=folder, port=port,
            next=free_port(), cpus=os.cpu_count()), encoding="ascii")
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)

    def start(self) -> None:
        self.daemon("munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                    f"--socket={self.folder}/munge.socket", f"--pid-file={self.folder}/munge.pid",
                    f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
        wait_for((self.folder / "munge.socket").exists)
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D")
        wait_for(lambda: "idle" in self("sinfo", "-h", "-o", "%T"), 60)

    def daemon(self, *words: str) -> None:
        log = (self.folder / f"{words[0]}.out").open("wb")
        self.processes.append(subprocess.Popen(
            words, env={**os.environ, **self.env}, stdout=log, stderr=log,
            stdin=subprocess.DEVNULL))
        log.close()

    def __call__(self, *words: str) -> str:
        return subprocess.run(words, env={**os.environ, **self.env}, capture_output=True,
                              text=True, check=False).stdout

    def running(self) -> list[str]:
        return self("squeue", "-h", "-r", "-t", "R", "-o", "%i").split()

    def stop(self) -> None:
        self("scancel", "--full", "--user=root")
        end = time.monotonic() + 20
        while self("squeue", "-h").strip() and time.monotonic() < end:
            time.sleep(0.5)
        for process in reversed(self.processes):
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    missing = [name for name in DAEMONS if not shutil.which(name, path="/usr/sbin:/usr/bin")]
    if missing or os.geteuid():
        pytest.skip(f"needs root and {', '.join(missing or DAEMONS)}: "
                    "apt-get install slurm-wlm munge")
    os.environ["PATH"] += ":/usr/sbin"
    found = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        found.start()
        yield found
    finally:
        found.stop()


def campaign(bench, count: int, seconds: float) -> list[str]:
    for i in range(count):
        bench.write(f"{i}.cnf", UNSAT)
    bench.results.mkdir()
    body = f"echo x >> {bench.results}/started; sleep {seconds}; exit 20"
    bench.write("campaign.toml", 'isolation = "none"\n' + HEAD + bench.tool("slow", body) + BASE
                + '[[variants]]\nname = "other"\n')
    return ["--executor=slurm", "--workers=2"]


def test_all_runs_come_back_in_pairs(bench, slurm):
    words = campaign(bench, 3, 0.1)
    ended = bench.run(*words, env=slurm.env, timeout=200)
    assert ended.status == 0, ended.err
    records = bench.records()
    assert len(records) == 6 and all(r["status"] == "ok" for r in records), records
    assert len({r["host"] for r in records}) == 1
    assert tasks(bench) == [3], "a pair is a task"
    assert lines(bench.results / "started") == 6


def test_what_is_lost_runs_again(bench, slurm):
    words = campaign(bench, 1, 6)
    process = start(bench, words, slurm)
    wait_for(lambda: lines(bench.results / "started") >= 1, 60)
    slurm("scancel", "--signal=KILL", "--full", slurm.running()[0])
    said = process.communicate(timeout=200)[0]
    assert process.returncode == 0, said
    assert "was lost: submitted again" in said
    assert [r["status"] for r in bench.records()] == ["ok", "ok"]


def test_a_preempted_task_goes_on(bench, slurm):
    words = campaign(bench, 1, 4)
    process = start(bench, words, slurm)
    wait_for(lambda: lines(bench.results / "started") >= 2, 60)
    slurm("scontrol", "requeue", slurm.running()[0])
    slurm_hold_is_over(slurm)
    said = process.communicate(timeout=300)[0]
    assert process.returncode == 0, said
    assert len(bench.records()) == 2
    assert lines(bench.results / "started") == 3, "the first of the pair is not run again"


def slurm_hold_is_over(slurm) -> None:
    """A task that was put back waits until two minutes have passed; not here."""
    for _ in range(20):
        for task in slurm("squeue", "-h", "-r", "-t", "PD", "-o", "%i").split():
            slurm("scontrol", "update", f"jobid={task}", "StartTime=now")
        time.sleep(0.5)


def test_a_killed_campaign_adopts_its_tasks(bench, slurm):
    words = campaign(bench, 3, 2)
    process = start(bench, words, slurm)
    wait_for(lambda: lines(bench.results / "started") >= 1, 60)
    bench.kill(process)
    ended = bench.run(*words, env=slurm.env, timeout=200)
    assert ended.status == 0, ended.err
    assert len(bench.records()) == 6
    assert lines(bench.results / "started") == 6, "nothing ran twice"
    # Tasks whose work submitit had not laid out yet are submitted again.
    assert tasks(bench)[0] == 3 and sum(tasks(bench)[1:]) <= 2


def test_a_campaign_killed_while_it_submits_runs_nothing_twice(bench, slurm):
    """Slurm has the tasks, the campaign was never told their numbers. They are
    adopted, and made again where submitit had not yet given them their work."""
    words = campaign(bench, 3, 2)
    folder = bench.folder / "programs"
    folder.mkdir()
    program = folder / "sbatch"
    program.write_text(f'#!/bin/sh\n{shutil.which("sbatch")} "$@"\nkill -9 $PPID\n',
                       encoding="ascii")
    program.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    killed = bench.run(*words, env={**slurm.env, "PATH": path}, timeout=200)
    assert killed.status == -signal.SIGKILL, killed.err
    ended = bench.run(*words, env=slurm.env, timeout=200)
    assert ended.status == 0, ended.err
    assert len(bench.records()) == lines(bench.results / "started") == 6, "nothing ran twice"
    assert tasks(bench)[0] == 3 and sum(tasks(bench)) <= 6


def tasks(bench) -> list[int]:
    """How many were in each array that was submitted."""
    text = (bench.results / "tasks.jsonl").read_text(encoding="utf-8")
    return [len(json.loads(line)["tasks"]) for line in text.splitlines() if line]


def start(bench, words: list[str], slurm) -> subprocess.Popen:
    return subprocess.Popen(
        bench.command("run", "campaign.toml", "--plain", "--no-report", "--output",
                      bench.results, *words),
        cwd=bench.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, **slurm.env})
