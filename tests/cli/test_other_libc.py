# SPDX-License-Identifier: MIT
"""A dynamic program of another C library than glibc, started by a program that
`bigleaf run` started: it inherits the preload library, and must run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Bigleaf

SOURCE = Path(__file__).parent / "programs" / "other_libc.c"
SAYS = "child 3\nlarge 7, dlsym 1\nend\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if not shutil.which("musl-gcc"):
        pytest.skip("musl-gcc is not installed")
    file = tmp_path_factory.mktemp("musl") / "other_libc"
    subprocess.run(["musl-gcc", "-O1", "-pthread", "-o", file, SOURCE], check=True)
    return str(file)


@pytest.mark.parametrize("more", [
    {}, {"BIGLEAF": "off"}, {"BIGLEAF_PAGES": "base"}, {"BIGLEAF_STACK": "on"},
    {"BIGLEAF_IMAGE": "on"}], ids=str)
def test_it_runs_as_a_child(bigleaf: Bigleaf, library: str, program: str,
                            more: dict[str, str]) -> None:
    """The shell is there so that the launcher does not see what is started."""
    env = {"BIGLEAF_LIB": library} | more
    ended = bigleaf("run", "--", "/bin/sh", "-c", f"{program}; exit $?", env=env)
    assert (ended.status, ended.out, ended.err) == (5, SAYS, "")


def test_the_runtime_serves_it(program: str, library: str, tmp_path: Path) -> None:
    report = tmp_path / "lines"
    env = os.environ | {"LD_PRELOAD": library, "BIGLEAF_REPORT": str(report)}
    ended = subprocess.run([program], env=env, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (5, SAYS, "")
    assert program in report.read_text()
