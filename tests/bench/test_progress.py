# SPDX-License-Identifier: MIT
"""What a campaign says of itself: a line per run, and how long it will take."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from bigleaf_bench import progress
from bigleaf_bench.instances import Instance
from bigleaf_bench.schedule import PROOF, TLB, Job


@pytest.fixture
def job(tmp_path) -> Job:
    return Job(SimpleNamespace(name="solver"), Instance("all", "a.cnf", tmp_path, "cnf", "f"),
               None, 0)


def record(seconds: float, instance="a.cnf", **more) -> dict:
    return {"tool": "solver", "set": "all", "instance": instance, "variant": "base",
            "purpose": "measure", "status": "ok", "answer": "sat", "cpu_seconds": seconds,
            "wall_seconds": seconds, **more}


def test_the_remaining_time_is_by_what_is_known(job):
    estimate = progress.Estimate(90)
    assert estimate.of(job) == 30
    estimate.learn(record(8, "b.cnf"))
    assert estimate.of(job) == 8, "the tool elsewhere"
    estimate.learn(record(2))
    assert estimate.of(job) == 2, "the tool here"
    assert estimate.of(replace(job, purpose=TLB)) == 20
    assert estimate.of(replace(job, purpose=PROOF)) == 4
    estimate.learn(record(11, "b.cnf", purpose="tlb"))
    assert estimate.of(replace(job, purpose=TLB)) == 11, "another of its kind"
    assert estimate.of(job) == 2


def test_a_run_is_a_line():
    backing = {"heap_bytes": 8 << 20, "heap_huge_bytes": 6 << 20}
    assert progress.line(record(1.5, backing=backing)) == (
        "solver  a.cnf  base  sat  1.50 s  75% of 8 MiB huge")
    assert progress.line(record(2, status="timeout", answer="", purpose="proof")) == (
        "solver  a.cnf  base  proof  timeout  2.00 s")
    assert progress.line(record(1, objection="why")).endswith("INVALID: why")


@pytest.mark.parametrize(("seconds", "text"), [(89, "89 s"), (600, "10 min"), (7200, "2.0 h")])
def test_durations(seconds, text):
    assert progress.duration(seconds) == text
