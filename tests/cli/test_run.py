# SPDX-License-Identifier: MIT
"""`bigleaf run`: environment, reports, and every kind of program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, Bigleaf, one_line, while_huge_pages_last
from test_usage import elf32_header

REGIONS = {"heap", "text", "data", "stack", "other"}
KEYS = {
    "schema",
    "command",
    "exit_status",
    "wall_seconds",
    "user_seconds",
    "system_seconds",
    "peak_rss_kib",
    "minor_faults",
    "huge_coverage",
    "regions",
    "mechanisms",
    "fallbacks",
}


def report_of(
    bigleaf: Bigleaf,
    tmp_path: Path,
    *words: str | Path,
    env: dict[str, str] | None = None,
    before: tuple[str, ...] = (),
) -> dict:
    """The JSON report of one run, whose form is checked on the way."""
    file = tmp_path / "report.json"
    bigleaf("run", f"--report={file}", "--json", *words, env=env, before=before)
    report = json.loads(file.read_text())
    assert report.keys() >= KEYS
    assert report["schema"] == "bigleaf.run/1"
    assert report["regions"].keys() == REGIONS
    for region in report["regions"].values():
        assert 0 <= region["huge_bytes"] <= region["bytes"]
    assert report["mechanisms"]["heap"] in (
        "bigleaf",
        "glibc-tunable",
        "injected",
        "none",
    )
    assert report["mechanisms"]["text"] in (
        "shadow",
        "anonymous",
        "file",
        "none",
    )
    for part in report["fallbacks"]:
        assert part["region"] in REGIONS
        assert part["object"]
        assert part["reason"]
    return report


def thp_can_be_had(bigleaf: Bigleaf) -> bool:
    return bigleaf("doctor").status == 0


def test_program_keeps_output_status_and_arguments(
    bigleaf: Bigleaf, library: str
) -> None:
    script = 'printf "%s|" "$@"; echo err >&2; exit 10'
    words = ("sh", "-c", script, "sh", "a b", "--report", "", "-x")
    for options in ((), ("--report=/dev/null",), ("--heap=glibc",), ("--",)):
        ended = bigleaf("run", *options, *words)
        assert ended.status == 10
        assert ended.out == "a b|--report||-x|"
        assert ended.err == "err\n"


def test_program_reads_standard_input(bigleaf: Bigleaf, library: str) -> None:
    for options in ((), ("--report=/dev/null",)):
        assert bigleaf("run", *options, "cat", stdin="text\n").out == "text\n"


def test_dry_run_prints_a_line_for_a_shell(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    ran = tmp_path / "ran it"
    ended = bigleaf(
        "run", "--pages=thp", "--dry-run", "--report", "touch", str(ran)
    )
    assert ended.status == 0
    assert not ran.exists()
    line = one_line(ended.out)
    assert line.startswith("env BIGLEAF_PAGES=thp LD_PRELOAD=")
    assert line.endswith(f"touch '{ran}'")
    subprocess.run(["sh", "-c", line], check=True)
    assert ran.exists()


def test_preload_of_the_user_stays_behind_ours(
    bigleaf: Bigleaf, library: str
) -> None:
    ended = bigleaf(
        "run",
        "--dry-run",
        "true",
        env={"LD_PRELOAD": "/lib/libfirst.so:/lib/libsecond.so"},
    )
    assert (
        f"LD_PRELOAD={library}:/lib/libfirst.so:/lib/libsecond.so "
        in ended.out
    )
    ended = bigleaf("run", "--dry-run", "true", env={"LD_PRELOAD": library})
    assert f"LD_PRELOAD={library} " in ended.out


def test_tunables_of_the_user_are_kept(bigleaf: Bigleaf) -> None:
    mine = "glibc.malloc.check=1:glibc.malloc.hugetlb=0:glibc.malloc.mxfast=9"
    for pages, value in (("auto", 1), ("thp", 1), ("hugetlb", 2), ("base", 0)):
        ended = bigleaf(
            "run",
            "--heap=glibc",
            f"--pages={pages}",
            "--dry-run",
            "true",
            env={"GLIBC_TUNABLES": mine},
        )
        assert (
            "GLIBC_TUNABLES=glibc.malloc.check=1:glibc.malloc.mxfast=9:"
            f"glibc.malloc.hugetlb={value} " in ended.out
        )


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
    for pages in ("hugetlb", "base"):
        ended = bigleaf("run", f"--pages={pages}", "--dry-run", static)
        assert threshold not in ended.out
    ended = bigleaf(
        "run",
        "--dry-run",
        static,
        env={"GLIBC_TUNABLES": f"{threshold}4096"},
    )
    assert f"GLIBC_TUNABLES={threshold}4096:glibc.malloc.hugetlb=1" in ended.out


def test_heap_none_changes_nothing(bigleaf: Bigleaf) -> None:
    ended = bigleaf("run", "--heap=none", "env")
    inside = set(ended.out.splitlines())
    outside = {f"{k}={v}" for k, v in bigleaf.environment().items()}
    assert {line for line in inside if not line.startswith("_=")} == {
        line for line in outside if not line.startswith("_=")
    }


def test_library_is_found_beside_the_command(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").mkdir()
    command = tmp_path / "bin" / "bigleaf"
    shutil.copy(COMMAND, command)
    shutil.copy(library, tmp_path / "lib" / "libbigleaf.so")
    env = bigleaf.environment()
    env.pop("BIGLEAF_LIB")
    done = subprocess.run(
        [command, "run", "--dry-run", "true"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"LD_PRELOAD={tmp_path}/lib/libbigleaf.so " in done.stdout


def test_report_covers_the_heap(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    report = while_huge_pages_last(
        lambda: report_of(
            bigleaf, tmp_path, str(programs / "cli_grow"), "64", "exit"
        )
    )
    assert report["exit_status"] == 7
    assert report["mechanisms"]["heap"] == "bigleaf"
    heap = report["regions"]["heap"]
    assert heap["bytes"] >= 64 << 20
    assert report["peak_rss_kib"] >= 64 << 10
    assert report["command"][1:] == ["64", "exit"]
    assert report["wall_seconds"] > 0.1
    if thp_can_be_had(bigleaf):
        assert heap["huge_bytes"] >= 0.9 * heap["bytes"]


@pytest.mark.parametrize("end", ["exit", "_exit", "abort", "drop"])
def test_peak_is_known_however_the_program_ends(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path, end: str
) -> None:
    report = report_of(
        bigleaf, tmp_path, str(programs / "cli_grow"), "48", end
    )
    assert report["regions"]["heap"]["bytes"] >= 40 << 20
    assert report["exit_status"] == (128 + 6 if end == "abort" else 7)
    assert report.get("signal") == (6 if end == "abort" else None)


def test_children_are_covered_and_summed(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    report = report_of(
        bigleaf, tmp_path, str(programs / "cli_grow"), "48", "fork"
    )
    assert len(report["processes"]) == 2
    for process in report["processes"]:
        assert process["exe"].endswith("cli_grow")
        assert process["peak"]["heap"]["bytes"] >= 40 << 20


def test_base_pages_say_so(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    report = report_of(
        bigleaf,
        tmp_path,
        "--pages=base",
        str(programs / "cli_grow"),
        "16",
        "exit",
    )
    assert report["regions"]["heap"]["huge_bytes"] == 0
    reasons = {
        part["reason"]
        for part in report["fallbacks"]
        if part["region"] == "heap"
    }
    assert "asked for by --pages=base" in reasons


def test_an_empty_pool_is_named(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    doctor = json.loads(bigleaf("doctor", "--json").out)
    if doctor["hugetlb_free"] or doctor["hugetlb_overcommit"]:
        pytest.skip("this machine has a hugetlb pool")
    report = report_of(
        bigleaf,
        tmp_path,
        "--pages=hugetlb",
        str(programs / "cli_grow"),
        "16",
        "exit",
    )
    assert report["exit_status"] == 7
    assert any(
        part["object"] == "hugetlb pool" for part in report["fallbacks"]
    )


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


@pytest.mark.parametrize("word", ["off", "0"])
def test_runtime_switched_off_says_so(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path, word: str
) -> None:
    report = report_of(
        bigleaf,
        tmp_path,
        str(programs / "cli_grow"),
        "4",
        "exit",
        env={"BIGLEAF": word},
    )
    assert report["mechanisms"]["heap"] == "none"
    assert f"BIGLEAF={word}" in report["mechanisms"]["heap_reason"]


def test_a_runtime_that_never_came_is_not_claimed(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    report = report_of(
        bigleaf, tmp_path, "env", "-i", str(programs / "cli_grow"), "16", "exit"
    )
    assert report["mechanisms"]["heap"] == "none"
    assert "was not seen" in report["mechanisms"]["heap_reason"]
    assert report["regions"]["heap"]["huge_bytes"] == 0


def test_reports_nest(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "inner.json"
    report = report_of(
        bigleaf,
        tmp_path,
        str(COMMAND),
        "run",
        f"--report={inner}",
        "--json",
        str(programs / "cli_grow"),
        "8",
        "exit",
    )
    assert json.loads(inner.read_text())["exit_status"] == 7
    assert any(p["exe"].endswith("cli_grow") for p in report["processes"])


def test_text_report_goes_to_standard_error(
    bigleaf: Bigleaf, library: str, programs: Path
) -> None:
    ended = bigleaf("run", "--report", str(programs / "cli_grow"), "8", "exit")
    assert ended.out == "grown\n"
    for word in (
        "exit status  7",
        "peak memory",
        "page faults",
        "heap by      bigleaf: preloaded",
        "not on huge pages, and why:",
    ):
        assert word in ended.err


def test_no_temporary_file_is_left(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    env = {"TMPDIR": str(folder)}
    bigleaf("run", "--report", "true", env=env)
    bigleaf("compare", "-n", "1", "true", env=env)
    bigleaf("run", "--report", "no-such-program", env=env)
    assert list(folder.iterdir()) == []
