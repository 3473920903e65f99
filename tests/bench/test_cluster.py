# SPDX-License-Identifier: MIT
"""--executor=slurm where Slurm does not answer; heavy_slurm.py has a real one."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from bigleaf_bench.failure import Lacking

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
