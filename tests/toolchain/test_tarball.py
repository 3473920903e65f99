# SPDX-License-Identifier: MIT
"""The tarball of static programs: unpacked where there is nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from conftest import BUILD, SOURCE, run


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tarball")
    made = run(SOURCE / "packaging/tarball/build.sh", BUILD, folder / "new/folder")
    if made.status == 3:
        pytest.skip(made.err.strip())
    assert made.status == 0, made
    assert run("tar", "-xf", made.out.strip(), "-C", folder / "new").status == 0
    return next((folder / "new").glob("bigleaf-*"))


def test_the_commands_run_in_an_empty_root(
    tree: Path, source: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    program = tree / "program"
    assert run("cc", "-static", source, "-o", program).status == 0
    ended = run("chroot", tree, "/bin/bigleaf", "run", "--report", "/program")
    assert (ended.status, ended.out) == (0, "done\n"), ended
    assert "heap" in ended.err
    (tree / "facts.pl").write_text("p(a).\np(b).\n")
    ended = run("chroot", tree, "/bin/leaflog", "-g", "p(b)", "/facts.pl")
    assert ended.status == 0, ended


def test_it_links_from_where_it_was_unpacked(
    tree: Path, source: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    ended = run(tree / "bin/bigleaf-cc", "-static", source, "-o", program)
    assert (ended.status, ended.err) == (0, "")
    assert run(program).out == "done\n"
    assert (tree / "share/man/man1/bigleaf-cc.1").exists()


def test_a_folder_that_is_no_built_tree_is_told(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none/such"):
        ended = run(SOURCE / "packaging/tarball/build.sh", folder, tmp_path / "new")
        assert ended.status == 2
        assert ended.err == f"build.sh: {folder}: is no built tree, as ./dev build makes it\n"
    assert not (tmp_path / "new").exists()


def test_it_is_made_of_a_tree_whose_name_has_a_space(tmp_path: Path) -> None:
    """By a stand-in for cmake, which has nothing to build."""
    (tmp_path / "bin").mkdir()
    cmake = tmp_path / "bin/cmake"
    cmake.write_text("#!/bin/sh\n[ -d \"$2\" ] || exit 1\ncase $*:$3 in\n"
                     "*' help'*) echo static_commands ;;\n"
                     '*:--prefix) mkdir -p "$4/bin" ;;\nesac\n')
    cmake.chmod(0o755)
    programs = tmp_path / "my tree/bin/static"
    programs.mkdir(parents=True)
    (tmp_path / "my tree/CMakeCache.txt").touch()
    shutil.copy("/bin/true", programs / "leaflog")
    made = run(SOURCE / "packaging/tarball/build.sh", tmp_path / "my tree", tmp_path,
               env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})  # fmt: skip
    assert made.status == 0, made
    assert "/bin/leaflog\n" in run("tar", "-tf", made.out.strip()).out
