# SPDX-License-Identifier: MIT
"""`bigleaf run` on every kind of program, and the reasons it gives."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Bigleaf, report_of, thp_can_be_had, while_huge_pages_last
from test_usage import elf32_header


def test_static_glibc_takes_large_blocks_from_its_break(
    bigleaf: Bigleaf, programs: Path
) -> None:
    """But where the user says otherwise."""
    static = str(programs / "cli_grow_static")
    threshold = "glibc.malloc.mmap_threshold="
    ended = bigleaf("run", "--dry-run", static)
    if "GLIBC_TUNABLES" not in ended.out:
        pytest.skip("the static glibc here has no tunable for huge pages")
    assert f"GLIBC_TUNABLES={threshold}1073741824:glibc" in ended.out
    for pages, value in (("hugetlb", 2), ("base", 0)):
        ended = bigleaf("run", f"--pages={pages}", "--dry-run", static)
        assert threshold not in ended.out
        assert f"glibc.malloc.hugetlb={value} " in ended.out
        by_variable = {"BIGLEAF_PAGES": pages}
        ended = bigleaf("run", "--dry-run", static, env=by_variable)
        assert threshold not in ended.out
        assert f"glibc.malloc.hugetlb={value} " in ended.out
    ended = bigleaf("run", "--dry-run", static, env={"BIGLEAF_PAGES": "all"})
    assert "glibc.malloc.hugetlb=1 " in ended.out
    ended = bigleaf(
        "run",
        "--dry-run",
        static,
        env={"GLIBC_TUNABLES": f"{threshold}4096"},
    )
    assert f"GLIBC_TUNABLES={threshold}4096:glibc.malloc.hugetlb=1" in ended.out


def test_static_program_gets_the_tunable_or_a_reason(
    bigleaf: Bigleaf, programs: Path, tmp_path: Path
) -> None:
    static = str(programs / "cli_grow_static")
    report = while_huge_pages_last(
        lambda: report_of(bigleaf, tmp_path, static, "32", "exit")
    )
    assert report["exit_status"] == 7
    assert report["mechanisms"]["heap"] in ("glibc-tunable", "none")
    assert "static" in report["mechanisms"]["heap_reason"]
    if report["mechanisms"]["heap"] == "glibc-tunable" and thp_can_be_had(
        bigleaf
    ):
        assert report["regions"]["heap"]["huge_bytes"] > 16 << 20


def test_an_app_image_has_the_runtime_for_what_it_holds(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    image = tmp_path / "solver.AppImage"
    start = bytearray((programs / "cli_grow_static").read_bytes())
    start[8:11] = b"AI\x02"
    image.write_bytes(start)
    image.chmod(0o755)
    ended = bigleaf("run", "--dry-run", image)
    assert ended.out == f"env LD_PRELOAD={library} {image}\n"
    ended = bigleaf("doctor", image)
    assert ", AppImage\n" in ended.out
    assert "heap by      bigleaf: preloaded" in ended.out


def test_program_with_its_own_malloc_runs_as_it_is(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    own = str(programs / "cli_own_malloc")
    assert bigleaf("run", own).out == "own\n"
    report = report_of(bigleaf, tmp_path, own)
    assert report["mechanisms"]["heap"] == "none"
    assert "brings its own malloc" in report["mechanisms"]["heap_reason"]
    assert report["fallbacks"][0]["region"] == "heap"


@pytest.mark.parametrize("sanitizer", ["address", "thread", "leak"])
def test_program_with_a_sanitizer_runs_as_it_is(
    bigleaf: Bigleaf, tmp_path: Path, sanitizer: str
) -> None:
    source = tmp_path / "program.c"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(void) { free(malloc(9)); puts(\"own\"); return 0; }\n"
    )
    program = str(tmp_path / "program")
    command = ["cc", f"-fsanitize={sanitizer}", str(source), "-o", program]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip(f"no cc with -fsanitize={sanitizer}")
    if subprocess.run([program], capture_output=True).returncode != 0:
        pytest.skip(f"-fsanitize={sanitizer} does not run here")
    ended = bigleaf("run", program)
    assert (ended.status, ended.out) == (0, "own\n")


def test_script_is_judged_by_its_interpreter(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    script = tmp_path / "tool"
    script.write_text('#!/bin/sh\necho "$0 $1"\n')
    script.chmod(0o755)
    assert bigleaf("run", str(script), "x").out == f"{script} x\n"
    report = report_of(bigleaf, tmp_path, str(script), "x")
    assert report["mechanisms"]["heap"] == "bigleaf"
    bare = tmp_path / "bare"
    bare.write_text("echo bare\n")
    bare.chmod(0o755)
    assert bigleaf("run", str(bare)).out == "bare\n"


def test_program_for_another_machine_says_so(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_bytes(elf32_header() + bytes(32))
    foreign.chmod(0o755)
    ended = bigleaf("run", "--dry-run", str(foreign))
    assert "LD_PRELOAD" not in ended.out
    ended = bigleaf("doctor", str(foreign))
    assert ended.status == 3
    assert "the program is for 32-bit i386" in ended.out


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make one")
def test_setuid_program_says_so(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    program = tmp_path / "setuid"
    shutil.copy(programs / "cli_grow", program)
    os.chown(program, 12345, 12345)
    program.chmod(0o4755)
    tmp_path.chmod(0o755)
    report = report_of(bigleaf, tmp_path, str(program), "4", "exit")
    assert report["mechanisms"]["heap"] == "none"
    assert "setuid" in report["mechanisms"]["heap_reason"]


def test_a_glibc_that_is_too_old_is_not_preloaded(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    """Whose loader would end the program: told by a loader of its own, in which
    no newer version is named."""
    needs = b"GLIBC_2.34" in Path(library).read_bytes()
    if not needs or not shutil.which("cc"):
        pytest.skip("no cc, or this build of the runtime needs no newer glibc")
    loader, source, program = (tmp_path / n for n in ("loader", "program.c", "program"))
    system = Path("/lib64/ld-linux-x86-64.so.2")
    if not system.exists():
        pytest.skip(f"no {system}")
    old = system.read_bytes().replace(b"GLIBC_2.34", b"GLIBC_2.4x")
    loader.write_bytes(old.replace(b"malloc.hugetlb", b"malloc.hugexxx"))
    source.write_text("int main(void) { return 0; }")
    line = ("cc", source, "-o", program, f"-Wl,--dynamic-linker={loader}")
    subprocess.run(line, check=True)
    ended = bigleaf("run", "--dry-run", program)
    assert (ended.status, "LD_PRELOAD" in ended.out) == (0, False), ended
    assert "older than 2.34" in ended.out
    told = bigleaf("doctor", "--json", program).out
    assert '"heap":"injected"' in told or '"heap":"none"' in told
    assert "LD_PRELOAD" in bigleaf("run", "--dry-run", "sh").out
