# SPDX-License-Identifier: MIT
"""--executor=slurm where Slurm does not answer; heavy_slurm.py has a real one."""

from __future__ import annotations

import os
import re
from types import SimpleNamespace

import pytest

from bigleaf_bench.campaign import parse
from bigleaf_bench.failure import Lacking, WrongUse
from bigleaf_bench.instances import Instance
from bigleaf_bench.schedule import MEASURE, PROOF, TLB, Job

BLOCKS = [[SimpleNamespace(key="a"), SimpleNamespace(key="b")], [SimpleNamespace(key="c")]]


def squeue(folder, monkeypatch, text: str) -> None:
    program = folder / "squeue"
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.fixture
def mine(tmp_path):
    """A campaign that announced its first block before it was killed."""
    pytest.importorskip("submitit")
    from bigleaf_bench import cluster

    result = cluster.Cluster(SimpleNamespace(folder=tmp_path), None, None, None)
    result.announce("mine", BLOCKS[:1])
    os.utime(result.list, (0, 0))  # long ago: no sbatch of it is at work
    return result


def test_what_was_submitted_is_taken_over(mine, tmp_path, monkeypatch):
    with mine.list.open("a", encoding="ascii") as file:
        file.write('{"name": "torn", "ta')  # killed while it wrote
    squeue(tmp_path, monkeypatch, "echo 7 mine; echo 8 another job; echo 9_3 theirs")
    assert mine.adopt(BLOCKS) == BLOCKS[1:]
    assert [(task.id, task.block) for task in mine.tasks] == [("7", BLOCKS[0])]
    mine.announce("both", BLOCKS)
    os.utime(mine.list, (0, 0))
    squeue(tmp_path, monkeypatch, "echo 8_1 both")
    mine.tasks = []
    assert mine.adopt(BLOCKS) == BLOCKS[:1]
    assert [(task.id, task.block) for task in mine.tasks] == [("8_1", BLOCKS[1])]


def test_an_sbatch_that_is_still_at_work_is_waited_for(mine, tmp_path, monkeypatch):
    os.utime(mine.list)
    monkeypatch.setattr("bigleaf_bench.cluster.LOST_SECONDS", 1000.0)
    squeue(tmp_path, monkeypatch, f"test ! -e {tmp_path}/submitted || echo 7 mine")
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        (tmp_path / "submitted").touch()

    monkeypatch.setattr("bigleaf_bench.cluster.time.sleep", sleep)
    assert mine.adopt(BLOCKS) == BLOCKS[1:]
    assert 0 < slept[0] <= 1000


@pytest.mark.parametrize("text", ["exit 1", "exec sleep 30"])
def test_nothing_is_submitted_again_on_a_guess(mine, tmp_path, monkeypatch, text):
    monkeypatch.setattr("bigleaf_bench.cluster.ASK_SECONDS", 0.3)
    squeue(tmp_path, monkeypatch, text)
    with pytest.raises(Lacking, match="squeue does not answer"):
        mine.adopt(BLOCKS)
    mine.list.unlink()
    assert mine.adopt(BLOCKS) == BLOCKS, "nobody needs to ask for the first"


def test_what_is_lost_says_why(mine, tmp_path, monkeypatch):
    from bigleaf_bench import cluster

    kept = []
    monkeypatch.setattr(cluster, "keep", lambda record, *_: kept.append(record["status"]))
    monkeypatch.setattr(cluster.execute, "identity", lambda *_: {})
    mine.journal, mine.voice = SimpleNamespace(keys=set()), None
    (tmp_path / "slurm").mkdir()
    (tmp_path / "slurm/8_1_0_log.err").write_text("Traceback:\n  x\nLacking: no container\n\n",
                                                  encoding="ascii")
    for id_ in ("8_1", "8_2"):
        mine.give_up(cluster.Task(id_, BLOCKS[1]))
    assert kept == ["lost (3 times; last as task 8_1: Lacking: no container)",
                    "lost (3 times; last as task 8_2)"]


CAMPAIGN = """
name = "mine-2.0+x"
[limits]
seconds = 60
[checks]
proofs = true
proof_seconds = 1000
[tlb]
seconds = 3600
[[instances]]
name = "all"
files = ["*.cnf"]
[[tools]]
use = "cadical"
sets = ["all"]
[[tools]]
use = "musx"
sets = ["all"]
[[variants]]
name = "base"
"""


@pytest.fixture
def submits(tmp_path, monkeypatch):
    """A campaign, a program that stands for sbatch, and what it was given."""
    pytest.importorskip("submitit")
    (tmp_path / "programs").mkdir()
    for name, text in (("srun", ""), ("sbatch", f"cat $1 >> {tmp_path}/given\n"
                                      f"echo job $(grep -c '^#!' {tmp_path}/given)")):
        (tmp_path / "programs" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        (tmp_path / "programs" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/programs", prepend=":")
    campaign = parse(tmp_path / "mine.toml", CAMPAIGN)
    instance = Instance("all", "a.cnf", tmp_path, "cnf", "f")

    def submit(*slurm: str, tool: int = 0, purpose: str = MEASURE, count: int = 1) -> list[str]:
        from bigleaf_bench import cluster, execute

        blocks = [[Job(campaign.tools[tool], instance, v, i, purpose) for v in campaign.variants]
                  for i in range(count)]
        options = SimpleNamespace(workers=3, slurm=slurm)
        mine = cluster.Cluster(execute.Context(campaign, tmp_path, "bigleaf"), None, None, options)
        mine.submit(blocks)
        text = (tmp_path / "given").read_text(encoding="utf-8")
        (tmp_path / "given").unlink()
        names = list(mine.announced())
        assert [line.split("=")[1] for line in text.splitlines()
                if line.startswith("#SBATCH --job-name=")] == names[-text.count("#!"):]
        # In others submitit, until 1.5, puts another letter.
        assert all(re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*", name) for name in names)
        return text.splitlines()

    return submit


def test_tasks_have_the_name_that_was_announced(submits):
    lines = submits("partition=long", "mail-user=x")
    assert {"#SBATCH --partition=long", "#SBATCH --mail-user=x"} <= set(lines)
    for name in ("job-name", "array"):
        with pytest.raises(WrongUse, match=f"--slurm: {name} is set by this command"):
            submits(f"{name}=x")


@pytest.mark.parametrize(("tool", "purpose", "runs", "seconds"), [
    (0, MEASURE, 1, 60), (0, PROOF, 2, 1000), (0, TLB, 1, 3600),
    (1, MEASURE, 2, 60)])  # a core is decided by another run
def test_tasks_have_the_time_of_what_they_do(submits, tool, purpose, runs, seconds):
    lines = submits(tool=tool, purpose=purpose)
    assert f"#SBATCH --time={runs * (2 * seconds + 30) // 60 + 5}" in lines


def test_arrays_take_turns(submits, monkeypatch):
    monkeypatch.setattr("bigleaf_bench.cluster.MOST_TASKS", 2)
    lines = submits(count=6)
    assert [line for line in lines if "--array=" in line] == ["#SBATCH --array=0-1%2"] * 3
    assert [line for line in lines if "--dependency=" in line] == [
        "#SBATCH --dependency=afterany:1", "#SBATCH --dependency=afterany:2"]
