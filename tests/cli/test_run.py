# SPDX-License-Identifier: MIT
"""`bigleaf run`: environment, reports, and every kind of program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COMMAND, Bigleaf, one_line, while_huge_pages_last
from huge_pages import FAULT, refused
from test_usage import elf32_header

REGIONS = {"heap", "text", "data", "stack", "other"}
OWN_HEAP = "bigleaf heap"
DEAR_US = 1000  # of a fresh huge page: more than as many base pages take
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


def test_dry_run_of_a_name_like_an_assignment(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    program = tmp_path / "a=b"
    program.write_text('#!/bin/sh\necho "$BIGLEAF_DATA:$1"\n')
    program.chmod(0o755)
    for options, said in ((["--data=on"], "on:x\n"), ([], ":x\n")):
        words = ("run", "--heap=none", *options, "--dry-run", program, "x")
        line = one_line(bigleaf(*words).out)
        done = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, said)


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


def test_a_runtime_that_is_preloaded_already_is_switched_off(
    bigleaf: Bigleaf, library: str
) -> None:
    preload = {"LD_PRELOAD": f"/lib/libfirst.so:{library}"}
    for heap in ("none", "glibc"):
        ended = bigleaf(
            "run", f"--heap={heap}", "--dry-run", "true", env=preload
        )
        assert ended.out.startswith("env BIGLEAF=off ")
    other = {"LD_PRELOAD": "/libbigleaf.so/libfirst.so libsecond.so"}
    ended = bigleaf("run", "--heap=none", "--dry-run", "true", env=other)
    assert ended.out == "true\n"


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


def test_a_file_keeps_its_report_where_nothing_ran(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    for file in (old, new):
        ended = bigleaf(
            "run", f"--report={file}", "true", env={"BIGLEAF_LIB": "/no/lib"}
        )
        assert ended.status == 3
    assert old.read_text() == "old"
    assert not new.exists()
    assert bigleaf("run", f"--report={old}", "true").status == 0
    assert old.read_text().startswith("bigleaf: true\n")


@pytest.mark.parametrize("stream", [1, 2])
def test_report_does_not_write_over_the_program(
    bigleaf: Bigleaf, tmp_path: Path, stream: int
) -> None:
    """The program's output is the same file by another name."""
    log = tmp_path / "log"
    name = "/dev/stdout" if stream == 1 else "/dev/stderr"
    for report in (name, log):
        with log.open("w") as out:
            done = subprocess.run(
                [COMMAND, "run", "--heap=none", f"--report={report}",
                 "sh", "-c", f"echo before; echo said >&{stream}"],
                env=bigleaf.environment(),
                stdout=out if stream == 1 else subprocess.DEVNULL,
                stderr=out if stream == 2 else subprocess.DEVNULL,
                check=False,
            )  # fmt: skip
        assert done.returncode == 0
        first, _, rest = log.read_text().partition("said\n")
        assert first == ("before\n" if stream == 1 else "")
        assert rest.startswith("bigleaf: sh -c ")


def test_report_covers_the_heap(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    report = while_huge_pages_last(
        lambda: report_of(
            bigleaf,
            tmp_path,
            "--pages=thp",
            str(programs / "cli_grow"),
            "64",
            "exit",
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


def test_a_child_counts_from_its_beginning(
    library: str, programs: Path, tmp_path: Path
) -> None:
    """It has its parent's units, which it did not map, and maps as many."""
    lines = tmp_path / "lines"
    subprocess.run(
        [programs / "cli_grow", "48", "fork"],
        env={**os.environ, "LD_PRELOAD": library, "BIGLEAF_REPORT": str(lines)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    reports = [json.loads(line) for line in lines.read_text().splitlines()]
    child, parent = (report["statistics"] for report in reports)
    assert 20 <= parent["units_fresh"] <= 40
    assert child["units_fresh"] <= parent["units_fresh"] + 4
    assert child["units_max"] > parent["units_max"]


def test_a_program_may_write_over_its_environment(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    grow = str(programs / "cli_grow")
    report = report_of(bigleaf, tmp_path, grow, "16", "rename")
    assert report["mechanisms"]["heap"] == "bigleaf"
    assert report["regions"]["heap"]["bytes"] >= 16 << 20


def test_a_path_that_the_kernel_would_not_take_is_told(library: str) -> None:
    env = {**os.environ, "LD_PRELOAD": library, "BIGLEAF_REPORT": "x" * 4096}
    done = subprocess.run(["true"], env=env, capture_output=True, text=True)
    assert done.returncode == 0
    said = one_line(done.stderr)
    assert said.startswith("bigleaf: BIGLEAF_REPORT=xxx")
    assert said.endswith(
        " is not a path of less than 4096 bytes; the default is used"
    )


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


def test_no_stream_of_ours_outlives_the_command(bigleaf: Bigleaf) -> None:
    """A daemon that closes its streams does not keep the reader waiting."""
    began = time.monotonic()
    ended = bigleaf(
        "run", "--heap=none", "--report", "sh", "-c",
        "sleep 20 </dev/null >/dev/null 2>&1 & echo $!",
    )  # fmt: skip
    os.kill(int(ended.out), signal.SIGKILL)
    assert time.monotonic() - began < 15


def test_who_outlives_the_command_leaves_no_file(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    ended = bigleaf(
        "run", "--report=/dev/null", "sh", "-c",
        "sleep 0.2 </dev/null >/dev/null 2>&1 & echo $!",
        env={"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    while Path(f"/proc/{int(ended.out)}").exists():
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []


def test_an_alarm_set_before_is_the_program_s(bigleaf: Bigleaf) -> None:
    alarm = "import os, signal, sys; signal.alarm(1); "
    done = subprocess.run(
        [sys.executable, "-c", alarm + "os.execv(sys.argv[1], sys.argv[1:])",
         COMMAND, "run", "--heap=none", "--report=/dev/null", "sleep", "20"],
        env=bigleaf.environment(), timeout=15, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGALRM


def test_report_on_standard_output(bigleaf: Bigleaf, tmp_path: Path) -> None:
    ended = bigleaf(
        "run", "--heap=none", "--json", "--report=-", "true", cwd=tmp_path
    )
    assert json.loads(ended.out)["exit_status"] == 0
    assert list(tmp_path.iterdir()) == []


def process_line(pid: int, mib: int, cause: str, statistics: dict) -> str:
    """What a process of `mib` MiB of heap, all on base pages, writes."""
    empty = {"bytes": 0, "huge_bytes": 0, "hugetlb_bytes": 0, "pss_bytes": 0}
    regions = dict.fromkeys(REGIONS, empty) | {
        "heap": empty | {"bytes": mib << 20, "pss_bytes": mib << 20}
    }
    part = {"region": "heap", "object": OWN_HEAP, "cause": cause,
            "bytes": mib << 20}  # fmt: skip
    return json.dumps(
        {
            "schema": "bigleaf.process/1",
            "pid": pid,
            "ppid": 1,
            "exe": f"/bin/program{pid}",
            "thp_disabled": 0,
            "peak": regions,
            "end": regions,
            "parts": [part],
            "image": [],
            "statistics": statistics,
        }
    )


def deferral(now: int, bought: int, price_us: int) -> dict:
    return {
        "units_deferred": now + bought,
        "units_deferred_now": now,
        "units_bought": bought,
        "huge_price_us": price_us,
    }


def report_on_lines(
    bigleaf: Bigleaf, tmp_path: Path, *lines: str, options: tuple[str, ...] = (),
    env: dict[str, str] | None = None,
) -> dict:
    """The report of a program whose processes wrote these lines."""
    (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
    script = 'cat "$0" >>"$BIGLEAF_REPORT"'
    words = ("sh", "-c", script, str(tmp_path / "lines"))
    return report_of(bigleaf, tmp_path, *options, *words, env=env)


def reasons_of_own_heap(report: dict) -> set[str]:
    return {part["reason"] for part in report["fallbacks"]
            if part["object"] == OWN_HEAP}  # fmt: skip


def not_earned(milliseconds: str, percent: int) -> str:
    return (
        f"not earned yet: a fresh huge page takes {milliseconds} ms here, and "
        f"such pages may take {percent} % of the CPU time "
        "(BIGLEAF_HUGE_PERCENT); --pages=thp has them at once"
    )


@pytest.mark.parametrize(("now", "bought"), [(40, 0), (40, 3), (0, 60)])
def test_huge_pages_that_are_not_earned_say_so(
    bigleaf: Bigleaf, library: str, tmp_path: Path,
    now: int, bought: int,
) -> None:
    """Those that were bought after the peak had been plain at it."""
    if not thp_can_be_had(bigleaf):
        pytest.skip("no huge pages here: that is the reason then")
    line = process_line(71, 64 << 10, "refused", deferral(now, bought, 7123))
    report = report_on_lines(bigleaf, tmp_path, line)
    assert reasons_of_own_heap(report) == {not_earned("7.1", 10)}
    assert report["deferral"] == {
        "units_deferred": now,
        "units_bought": bought,
        "huge_page_seconds": 0.007123,
    }


def test_the_percent_is_the_one_in_force(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    if not thp_can_be_had(bigleaf):
        pytest.skip("no huge pages here: that is the reason then")
    line = process_line(71, 64 << 10, "refused", deferral(9, 0, 6000))
    for options, value, percent in (
        (("--huge-percent=5",), "7", 5),
        ((), "7", 7),
        ((), "none", 10),
    ):
        report = report_on_lines(
            bigleaf, tmp_path, line, options=options,
            env={"BIGLEAF_HUGE_PERCENT": value},
        )  # fmt: skip
        assert reasons_of_own_heap(report) == {not_earned("6.0", percent)}


def test_deferral_is_summed_and_told_of_the_process_at_the_peak(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    large = process_line(71, 64 << 10, "refused", deferral(0, 0, 9000))
    small = process_line(72, 64, "refused", deferral(12, 4, 6000))
    other = process_line(73, 32, "refused", deferral(3, 2, 8000))
    report = report_on_lines(bigleaf, tmp_path, large, small, other)
    assert report["deferral"] == {
        "units_deferred": 15,
        "units_bought": 6,
        "huge_page_seconds": 0.008,
    }
    assert not any("earned" in why for why in reasons_of_own_heap(report))
    told = {p["pid"]: "deferral" in p for p in report["processes"]}
    assert (told[71], told[72], told[73]) == (False, True, True)


def reports_free_pages() -> bool:
    """As the runtime asks: then the first huge page has to be earned, too."""
    order = Path("/sys/module/page_reporting/parameters/page_reporting_order")
    return order.exists() and int(order.read_text()) < 64


def report_and_statistics(
    bigleaf: Bigleaf, tmp_path: Path, program: Path, *words: str
) -> tuple[dict, dict]:
    """The report of one run, and what the program's own line counts."""
    script = '"$@"; cat "$BIGLEAF_REPORT" >"$0"'
    lines = tmp_path / "own_lines"
    report = report_of(
        bigleaf, tmp_path, "sh", "-c", script, lines, program, *words
    )
    for line in lines.read_text().splitlines():
        process = json.loads(line)
        if process["exe"] == str(program.resolve()):
            return report, process["statistics"]
    raise AssertionError(f"no line of {program}")


def test_a_heap_that_waits_for_huge_pages(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    """On the machine itself: what is asked goes by what the process measured.

    Behind a dear unit, those mapped with it wait: so short a run earns none.
    """
    if not thp_can_be_had(bigleaf):
        pytest.skip("no huge pages here: nothing can be measured")
    grow = programs / "cli_grow"
    before = refused(FAULT)
    report, own = report_and_statistics(  # first: the others leave some
        bigleaf, tmp_path, grow, "200", "exit"
    )
    if own["units_hugetlb"] == 0 and refused(FAULT) == before:
        assert own["huge_price_us"] > 0 or own["units_deferred"] > 0
    for option in ("--pages=thp", "--huge-percent=100"):
        words = (option, str(grow), "200", "exit")
        assert "deferral" not in report_of(bigleaf, tmp_path, *words)
    if own["units_hugetlb"] == 0 and reports_free_pages():
        assert own["units_deferred"] > 0
    if own["huge_price_us"] > 3 * DEAR_US:
        assert own["units_deferred"] > 0
    assert ("deferral" in report) == (own["units_deferred"] > 0)
    if own["units_deferred_now"] > 16:  # fewer may all be mapped ahead
        price = report["deferral"]["huge_page_seconds"]
        assert price == pytest.approx(own["huge_price_us"] / 1e6)
        heap = report["regions"]["heap"]
        assert heap["huge_bytes"] < heap["bytes"]
        assert any("not earned" in why for why in reasons_of_own_heap(report))


def test_who_is_killed_does_not_blame_the_kernel(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    """Its line with what was deferred is never written."""
    doctor = json.loads(bigleaf("doctor", "--json").out)
    before = refused(FAULT)
    script = '"$0" 200 hang & sleep 1; kill -9 $!'
    report = report_of(
        bigleaf, tmp_path, "sh", "-c", script, str(programs / "cli_grow")
    )
    blamed = any("no huge page" in why for why in reasons_of_own_heap(report))
    # Elsewhere nothing is deferred, and a shortage is one.
    short = doctor["page_reporting"] != 1 and refused(FAULT) != before
    assert short or not blamed


def test_text_report_counts_what_was_bought(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    line = process_line(71, 64 << 10, "refused", deferral(12, 34, 7000))
    (tmp_path / "lines").write_text(line + "\n")
    script = 'cat "$0" >>"$BIGLEAF_REPORT"'
    ended = bigleaf("run", "--report", "sh", "-c", script, tmp_path / "lines")
    assert (
        "  bought       34 huge pages, as they were earned; 12 units on base "
        "pages at the end\n" in ended.err
    )
    assert "bought" not in bigleaf("run", "--report", "--pages=base", "true").err


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


MAPPER = r"""
import ctypes, mmap, os, sys
kept = []
ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))  # there at the end
for i in range(32):
    name = os.path.join(sys.argv[1], str(i) + "\x01" * 240)
    with open(name, "w+b") as file:
        file.write(bytes(1 << 17))
        file.flush()
        kept.append(mmap.mmap(file.fileno(), 0))
    sum(kept[-1][::4096])
"""


def test_long_names_of_many_files_have_room(
    library: str, tmp_path: Path
) -> None:
    lines = tmp_path / "lines"
    env = {"LD_PRELOAD": library, "BIGLEAF_REPORT": str(lines)}
    folder = tmp_path / "folder"
    folder.mkdir()
    subprocess.run(
        [sys.executable, "-S", "-c", MAPPER, folder],
        env=os.environ | env,
        check=True,
    )
    parts = json.loads(lines.read_text())["parts"]
    assert sum(str(folder) in p["object"] for p in parts) > 20
