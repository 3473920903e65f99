# SPDX-License-Identifier: MIT
"""--executor=slurm where Slurm does not answer; heavy_slurm.py has a real one."""

from __future__ import annotations

import json
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
    """A campaign that submitted its first block before it was killed."""
    pytest.importorskip("submitit")
    from bigleaf_bench import cluster

    result = cluster.Cluster(SimpleNamespace(folder=tmp_path), None, None, None)
    result.list.write_text(json.dumps({"id": "7_0", "keys": ["a", "b"]}) + "\n",
                           encoding="ascii")
    return result


def test_what_was_submitted_is_taken_over(mine, tmp_path, monkeypatch):
    with mine.list.open("a", encoding="ascii") as file:
        file.write('{"id": "7_1", "ke')  # killed while it wrote
    squeue(tmp_path, monkeypatch, "echo 7_0; echo 8")
    assert mine.adopt(BLOCKS) == BLOCKS[1:]
    assert [(task.id, task.block) for task in mine.tasks] == [("7_0", BLOCKS[0])]


@pytest.mark.parametrize("text", ["exit 1", "exec sleep 30"])
def test_nothing_is_submitted_again_on_a_guess(mine, tmp_path, monkeypatch, text):
    monkeypatch.setattr("bigleaf_bench.cluster.ASK_SECONDS", 0.3)
    squeue(tmp_path, monkeypatch, text)
    with pytest.raises(Lacking, match="squeue does not answer"):
        mine.adopt(BLOCKS)
    mine.list.unlink()
    assert mine.adopt(BLOCKS) == BLOCKS, "nobody needs to ask for the first"
