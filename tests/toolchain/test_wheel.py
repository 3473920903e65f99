# SPDX-License-Identifier: MIT
"""The wheel: installed by pip into an environment of its own, and used."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import BUILD, SOURCE, doctor, run


def test_pip_gives_the_command(source: Path, tmp_path: Path) -> None:
    made = run(sys.executable, SOURCE / "packaging/wheel/build.py", BUILD, tmp_path / "new")
    if made.status == 3:
        pytest.skip(made.err.strip())
    assert made.status == 0, made
    wheel = Path(made.out.strip())
    home = tmp_path / "environment"
    if run(sys.executable, "-m", "venv", home).status != 0:
        pytest.skip("no venv here: install python3-venv")
    pip = run(home / "bin/pip", "install", "--no-index", "--quiet", wheel)
    assert pip.status == 0, pip
    ended = run(home / "bin/bigleaf", "run", "--dry-run", "true")
    assert ended.out == f"env LD_PRELOAD={home}/lib/libbigleaf.so true\n"
    for command in ("bigleaf", "leaflog"):  # its tag promises no other library
        assert doctor(home / "bin" / command)["static"]
    assert run(home / "bin/leaflog", "-g", "true").status == 0
    assert (home / "share/man/man1/bigleaf-run.1").exists()
    asked = run(home / "bin/python", "-c", "from importlib import metadata\n"
                "print(*metadata.requires('bigleaf'), sep='\\n')")  # fmt: skip
    for line in (SOURCE / "bench/requirements.txt").read_text().splitlines():
        need = re.match(r"[\w-]+|#", line)[0]
        found = re.search(rf'^{need}\b.*; extra == "bench"$', asked.out, re.M)
        assert found or need == "#", line
    recipes = run(home / "bin/bigleaf-bench", "build", "--list")
    if sys.version_info >= (3, 11):
        assert (recipes.status, recipes.err) == (0, "")
        assert "minisat " in recipes.out
    if shutil.which("cc"):
        program = tmp_path / "program"
        linked = run(home / "bin/bigleaf", "cc", "-static", source, "-o", program)
        assert linked.status == 0, linked
        assert doctor(program)["bigleaf_version"]


def test_a_folder_that_is_no_built_tree_is_told(tmp_path: Path) -> None:
    script = SOURCE / "packaging/wheel/build.py"
    ended = run(sys.executable, script, tmp_path, tmp_path / "new")
    assert ended.status == 2
    assert ended.err == f"build.py: {tmp_path}: is no built tree, as ./dev build makes it\n"
    assert not (tmp_path / "new").exists()
