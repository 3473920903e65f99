# SPDX-License-Identifier: MIT
"""What the tests of bigleaf-bench share: campaigns to write, and to run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

SAT = "p cnf 3 3\n1 2 0\n-1 3 0\n-2 -3 0\n"
UNSAT = "p cnf 2 4\n1 2 0\n-1 2 0\n1 -2 0\n-1 -2 0\n"
HEAD = '[limits]\nseconds = 1\nmemory = "256 MiB"\n[[instances]]\nname = "all"\nfiles = ["*.cnf"]\n'
BASE = '[[variants]]\nname = "base"\n'
# Seconds until what must come is given up: a busy machine is slow.
PATIENCE = 100
VARIANTS = '[[variants]]\nname = "base"\n[[variants]]\nname = "thp"\n'


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str


class Bench:
    """A folder with a campaign in it, and the command."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.results = folder / "results"

    def __call__(self, *words: str | Path, timeout: float = 2 * PATIENCE,
                 env: dict[str, str] | None = None, cwd: Path | None = None) -> Ended:
        done = subprocess.run(self.command(*words), cwd=cwd or self.folder, capture_output=True,
                              text=True, errors="surrogateescape", timeout=timeout,
                              check=False,
                              env={**os.environ, **(env or {})})
        return Ended(done.returncode, done.stdout, done.stderr)

    @staticmethod
    def command(*words: str | Path) -> list[str]:
        return [sys.executable, "-B", "-m", "bigleaf_bench", *map(str, words)]

    def refuses(self, *words: str | Path, status: int, said: str) -> None:
        """Ends by one line, which ends with `said`, before it prints anything."""
        ended = self(*words)
        assert (ended.status, ended.out) == (status, ""), ended
        assert ended.err.startswith("bigleaf-bench") and ended.err.endswith(f"{said}\n"), ended.err
        assert "Traceback" not in ended.err and "a fault of ours" not in ended.err

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="ascii")
        return path

    def tool(self, name: str, text: str) -> str:
        """A stand-in for a solver: a shell script, as a [[tools]] table."""
        path = self.write(f"{name}.sh", f"#!/bin/sh\n[ $1 != --version ] || exit\n{text}\n")
        path.chmod(0o755)
        return (f'[[tools]]\nuse = "cadical"\nname = "{name}"\nsets = ["all"]\n'
                f'executable = "{path}"\n')

    def run(self, *words: str, report: bool = False, **options) -> Ended:
        silent = () if report else ("--no-report",)
        return self("run", "campaign.toml", "--plain", "--output", self.results, *silent, *words,
                    **options)

    def records(self) -> list[dict]:
        lines = (self.results / "runs.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def statuses(self) -> dict[str, str]:
        """Of each tool the status of its last record."""
        return {r["tool"]: r["status"] for r in self.records()}

    def start(self) -> subprocess.Popen:
        return subprocess.Popen(
            self.command("run", "campaign.toml", "--plain", "--no-report", "--output",
                         self.results),
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    @staticmethod
    def kill(process: subprocess.Popen) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(holds, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def real(name: str) -> str:
    """A reasoner of this machine, as a [[tools]] table."""
    if not shutil.which(name):
        pytest.skip(f"{name} is not here")
    return f'[[tools]]\nuse = "{name}"\nsets = ["all"]\n'
