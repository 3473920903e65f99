# SPDX-License-Identifier: MIT
"""glibc with our patch: made by `bigleaf thp-libc`, linked by --libc=thp.

The library takes a minute to make, so that these tests need one that was made:
BIGLEAF_LIBC_THP names its folder, else the cache is looked at.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import COMMAND, SOURCE, doctor, run

SCRIPT = SOURCE / "packaging/glibc/thp-libc.sh"
TOOLS = ("gawk", "bison", "make", "cc", "patch", "xz")
# Says how much of its memory is on huge pages, in KiB: all, then huge.
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define BLOCKS 20000
static void *work(void *unused) {
    static _Thread_local char *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        memset(blocks[i] = malloc(1000), 1, 1000);
    for (int i = 0; i < BLOCKS; i += 2)
        free(blocks[i]);
    for (int i = 0; i < BLOCKS; i += 2)
        memset(blocks[i] = malloc(2000), 1, 2000);
    return unused;
}
int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    char *grown = NULL;
    for (size_t size = 1 << 16; size <= 64 << 20; size *= 2) {
        grown = realloc(grown, size);
        memset(grown + size / 2, 2, size / 2);
    }
    for (size_t i = 1 << 16; i < 64 << 20; i++)
        if (grown[i] != 2)
            return 1;
    grown = realloc(grown, 3 << 20);
    grown = realloc(grown, 64 << 20);
    memset(grown, 3, 64 << 20);
    work(NULL);
    char line[200];
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    while (file && fgets(line, sizeof line, file))
        if (strstr(line, "Rss:") || strstr(line, "AnonHugePages:"))
            fputs(line, stdout);
    return 0;
}
"""


@pytest.fixture(scope="module")
def folder() -> Path:
    named = os.environ.get("BIGLEAF_LIBC_THP")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("BIGLEAF_CACHE") or user / "bigleaf")
    place = Path(named) if named else cache / "thp"
    if not (place / "libc.a").exists():
        pytest.skip(f"no {place}/libc.a; 'bigleaf thp-libc' makes it")
    return place


@pytest.fixture(scope="module")
def program(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("thp")
    (place / "program.c").write_text(PROGRAM)
    ended = run(COMMAND, "cc", "--libc=thp", "-static", "-O1", "-pthread",
                place / "program.c", "-o", place / "program",
                env={"BIGLEAF_LIBC_THP": str(folder)})  # fmt: skip
    assert (ended.status, ended.err) == (0, "")
    return place / "program"


def share(program: Path, **env: str) -> float:
    ended = run(program, env=env)
    assert ended.status == 0, ended
    total, huge = map(int, re.findall(r"(\d+) kB", ended.out))
    return huge / total


def test_the_switch_puts_all_arenas_on_huge_pages(program: Path) -> None:
    facts = doctor(program)
    assert facts["patched_glibc_malloc"] and not facts["bigleaf_version"]
    if not facts["huge_pages_here"]:
        pytest.skip("no huge pages here")
    assert share(program, GLIBC_THP_ALWAYS="1") > 0.95


@pytest.mark.parametrize("value", ["", "0", "on"])
def test_any_other_value_is_off(program: Path, value: str) -> None:
    if "[always]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
        pytest.skip("this machine gives huge pages to those who do not ask")
    assert share(program, GLIBC_THP_ALWAYS=value) == 0


def test_an_unknown_option_is_named() -> None:
    ended = run("sh", SCRIPT, "--bad")
    assert ended.status == 2
    assert ended.err.splitlines()[0] == "bigleaf thp-libc: unknown option '--bad'"


def test_a_missing_value_and_a_file_of_another_name_are_told(tmp_path: Path) -> None:
    """Before anything is installed or compiled."""
    source = tmp_path / "glibc.zip"
    source.touch()
    for word, said in (
        ("--into", "option '--into' needs a value: --into=DIR"),
        ("--source=", "option '--source' needs a value: --source=FILE"),
        (f"--source={source}",
         f"--source={source}: is no file named glibc-VERSION.tar.xz"),
    ):
        ended = run("sh", SCRIPT, word, env={"BIGLEAF_CACHE": str(tmp_path)})
        assert ended.status == 2
        assert ended.err == f"bigleaf thp-libc: {said}\ntry: bigleaf thp-libc --help\n"


def test_a_folder_that_cannot_be_made_is_told_before_the_build(tmp_path: Path) -> None:
    for tool in TOOLS:
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    version = os.confstr("CS_GNU_LIBC_VERSION").replace(" ", "-")
    source = tmp_path / f"{version}.tar.xz"
    source.touch()
    ended = run("sh", SCRIPT, f"--source={source}", f"--into={source}/x",
                env={"BIGLEAF_CACHE": str(tmp_path)})  # fmt: skip
    if "no static libc" in ended.err:
        pytest.skip(ended.err)
    assert ended.status == 3
    assert ended.err == f"bigleaf thp-libc: {source}/x: cannot be made (Not a directory)\n"


def test_sources_of_another_glibc_are_refused(tmp_path: Path) -> None:
    for tool in TOOLS:
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    source = tmp_path / "glibc-1.0.tar.xz"
    source.touch()
    ended = run("sh", SCRIPT, f"--source={source}",
                env={"BIGLEAF_CACHE": str(tmp_path)})  # fmt: skip
    assert ended.status == 3
    assert "is of 1.0, this machine's glibc is " in ended.err
    assert not list(tmp_path.glob("thp*"))


@pytest.fixture
def root_of(tmp_path: Path) -> dict[str, str]:
    """Whoever runs it seems to be root, and apt-get says that it was asked."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, line in (("id", "echo 0"), ("apt-get", f"touch '{tmp_path}/asked'")):
        (programs / name).write_text(f"#!/bin/sh\n{line}\nexit 1\n")
        (programs / name).chmod(0o755)
    for name in ("sh", "dirname", "readlink", "mkdir", "touch", *TOOLS):
        if found := shutil.which(name):
            (programs / name).symlink_to(found)
    return {"PATH": str(programs), "BIGLEAF_CACHE": str(tmp_path)}


def test_a_named_source_is_taken_or_refused(
    root_of: dict[str, str], tmp_path: Path
) -> None:
    source = tmp_path / "glibc-1.0.tar.xz"
    ended = run("sh", SCRIPT, f"--source={source}", env=root_of)
    assert (ended.status, ended.err) == (
        3, f"bigleaf thp-libc: {source}: cannot be read\n")  # fmt: skip
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_is_looked_for(
    tool: str, root_of: dict[str, str], tmp_path: Path
) -> None:
    source = tmp_path / "glibc-1.0.tar.xz"
    source.touch()
    for name in TOOLS:
        (tmp_path / "programs" / name).unlink(missing_ok=True)
        if name != tool:
            (tmp_path / "programs" / name).symlink_to("/bin/true")
    ended = run("sh", SCRIPT, f"--source={source}", env=root_of)
    assert ended.status == 3
    assert ended.err.startswith("== installing ")
    assert (tmp_path / "asked").exists()


def test_lists_of_packages_are_fetched_where_there_are_none(
    root_of: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "programs/apt-get").write_text(
        f'#!/bin/sh\necho "$1" >>{tmp_path}/told\n[ "$1" = update ]\n')
    for tool in TOOLS:  # what the machine has: all but the first
        (tmp_path / "programs" / tool).unlink(missing_ok=True)
        if tool != TOOLS[0]:
            (tmp_path / "programs" / tool).symlink_to("/bin/true")
    ended = run("sh", SCRIPT, env=root_of)
    assert ended.status == 3
    assert "apt-get install glibc-source" in ended.err.splitlines()[-1]
    assert (tmp_path / "told").read_text().split() == ["install", "update", "install"]


def test_help_needs_no_home() -> None:
    ended = run("env", "-u", "HOME", "-u", "XDG_CACHE_HOME", "sh", SCRIPT, "--help")
    assert (ended.status, ended.err) == (0, "")


def test_help_is_one_screen() -> None:
    ended = run("sh", SCRIPT, "--help")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("usage: bigleaf thp-libc ")
