# SPDX-License-Identifier: MIT
"""kill -9 at any moment: from the fetching of an archive to the last proof.

A campaign of instances from an archive, packed, and from a generator, with
proofs, is killed at moments drawn by lot until it has ended. What was recorded
before a kill must not run again, and in the end all is there once.
"""

from __future__ import annotations

import gzip
import hashlib
import random
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from conftest import UNSAT, wait_for

TEXT = """
isolation = "none"
[limits]
seconds = 5
memory = "256 MiB"
[checks]
proofs = true
[[instances]]
name = "archive"
url = "{url}"
sha256 = "{digest}"
member = "*.gz"
[[instances]]
name = "made"
generate = "multiplier"
arguments = ["2", "3"]
answers = {{ "*" = "unsat" }}
[[tools]]
use = "cadical"
name = "talks"
sets = ["archive", "made"]
executable = "{tool}"
[[variants]]
name = "one"
kind = "other"
environment = {{ V = "one" }}
[[variants]]
name = "two"
kind = "other"
environment = {{ V = "two" }}
"""
INSTANCES = ["19/a.cnf", "20/a.cnf", "b.cnf", "multiplier_2.cnf", "multiplier_3.cnf"]


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
    path.chmod(0o755)
    return path


@pytest.fixture
def campaign(bench, monkeypatch):
    """In its folder; the tool writes down what it was started on."""
    monkeypatch.setenv("BIGLEAF_CACHE", str(bench.folder / "cache"))
    monkeypatch.setenv("BIGLEAF_BENCH_PATH", str(bench.folder / "checkers"))
    script(bench.folder / "checkers" / "drat-trim", "sleep 0.1; echo s VERIFIED")
    archive = bench.folder / "set.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("19/a", "20/a", "20/b"):
            path = bench.folder / name
            path.parent.mkdir(exist_ok=True)
            path = path.with_suffix(".cnf.gz")
            path.write_bytes(gzip.compress(UNSAT.encode()))
            tar.add(path, f"{name}.cnf.gz")
    tool = script(bench.folder / "tool", '[ $1 != --version ] || exit\nfor file; do case $file in '
                  f'*.cnf) echo "$file $V $#" >> {bench.folder}/started;; esac; done\n'
                  "sleep 0.1; exit 20")
    bench.write("campaign.toml", TEXT.format(
        url=archive.as_uri(), tool=tool, digest=hashlib.sha256(archive.read_bytes()).hexdigest()))
    return bench


def started(bench) -> set[tuple[str, str, str]]:
    """Instance, variant and purpose of what began since the last call."""
    path = bench.folder / "started"
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    found = (line.split() for line in lines)
    return {(next(i for i in INSTANCES if file.endswith(i)), variant,
             "proof" if count == "5" else "measure") for file, variant, count in found}


def recorded(bench) -> list[tuple[str, str, str]]:
    path = bench.results / "runs.jsonl"
    if not path.exists() or not path.read_bytes().count(b"\n"):
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    path.write_bytes(whole + b"\n")
    return [(r["instance"], r["variant"], r["purpose"]) for r in bench.records()]


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_lost_or_run_twice(campaign, seed):
    chance = random.Random(seed)
    for _ in range(10):
        process = campaign.start()
        time.sleep(chance.uniform(0.2, 3))
        campaign.kill(process)
        wait_for(lambda: not subprocess.run(["pgrep", "-f", campaign.folder / "tool"],
                                            stdout=subprocess.PIPE, check=False).stdout)
        known = recorded(campaign)
        assert len(known) == len(set(known))
        started(campaign)
        process = campaign.start()
        time.sleep(chance.uniform(0.5, 3))
        campaign.kill(process)
        assert not started(campaign) & set(known), "what was recorded ran again"
    assert campaign.run().status == 0
    every = [(i, v, p) for i in INSTANCES for v in ("one", "two") for p in ("measure", "proof")]
    assert sorted(recorded(campaign)) == sorted(every)
    assert {r["status"] for r in campaign.records()} == {"ok"}
    assert not list(campaign.results.rglob(".unfinished-*"))
