# SPDX-License-Identifier: MIT
"""`bigleaf tlb` on small programs whose misses can be told beforehand."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

COMMAND = Path(os.environ["BIGLEAF_COMMAND"])
WALKER = Path(os.environ["BIGLEAF_PROGRAMS"]) / "tlb_walker"
SOURCE = Path(__file__).parent / "programs" / "walker.c"
PAGES = 8192  # more than any second level holds
PATIENCE = 60  # seconds, for what a busy machine does late
SVG = "{http://www.w3.org/2000/svg}"



def why_no_emulator() -> str:
    """Ubuntu 22.04, for one, has an emulator without plug-ins."""
    name = f"qemu-{os.uname().machine}"
    if not shutil.which(name):
        return "no emulator: install the package qemu-user"
    usage = subprocess.run([name, "-h"], capture_output=True, text=True, check=False)
    return "" if "-plugin" in usage.stdout else f"{name} takes no plug-ins"


emulated = pytest.mark.skipif(bool(why_no_emulator()), reason=why_no_emulator())


def run(
    *words: str | Path, env: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith("BIGLEAF")}
    return subprocess.run(
        [COMMAND, "tlb", *words],
        env=own | (env or {}),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        **({"stdin": subprocess.DEVNULL} | more),
    )


def measure(
    tmp_path: Path, *words: str | Path, status: int = 0
) -> dict[str, Any]:
    """The JSON of a run of the walker, or of the program behind "--"."""
    file = tmp_path / "tlb.json"
    program = [] if "--" in words else ["--", WALKER]
    options = [w for w in words if str(w).startswith("--") and w != "--"]
    rest = [w for w in words if w not in options]
    done = run(f"--json={file}", "--by=emulator", *options, *program, *rest)
    assert done.returncode == status, done.stderr
    report = json.loads(file.read_text())
    assert report["schema"] == "bigleaf.tlb/1"
    assert report["by"] == "emulator"
    assert report["exit_status"] == status
    return report


def walks(report: dict[str, Any], name: str) -> dict[str, int]:
    """The walks in a function, by policy."""
    found = [f for f in report["functions"] if f["function"] == name]
    assert len(found) <= 1
    if not found:
        return {"base": 0, "huge": 0, "backed": 0}
    return {k: v["walks"] for k, v in found[0]["misses"].items()}


def line_of_sweep() -> int:
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if "the line of every miss" in line:
            return number
    raise AssertionError


def flame_stacks(file: Path) -> str:
    """The names in a flame graph."""
    tree = ElementTree.parse(file)
    titles = [t.text or "" for t in tree.iter(f"{SVG}title")]
    return "\n".join(t.partition(": ")[2] for t in titles)


@emulated
def test_a_sweep_misses_once_per_page_and_round(tmp_path: Path) -> None:
    report = measure(tmp_path, "sweep", str(PAGES), "5")
    sweep = walks(report, "sweep")
    # Least recently used entries go first, so every access of a sweep over
    # more pages than there are entries is a miss. Reading and writing a byte
    # are one miss. Huge, 32 MiB are 17 pages.
    assert 5 * PAGES <= sweep["base"] <= 5 * PAGES + 20
    assert sweep["huge"] <= 20
    assert sweep["backed"] <= 40
    (function,) = [f for f in report["functions"] if f["function"] == "sweep"]
    top = function["lines"][0]
    assert (top["file"], top["line"]) == ("walker.c", line_of_sweep())
    assert top["misses"]["base"]["walks"] >= 5 * PAGES
    assert report["functions"][0] == function


@emulated
def test_what_fits_does_not_miss(tmp_path: Path) -> None:
    # 1000 pages fit the second level of 1536 entries, not the first of 64.
    report = measure(tmp_path, "sweep", "1000", "50")
    (function,) = [f for f in report["functions"] if f["function"] == "sweep"]
    base = function["misses"]["base"]
    assert base["walks"] < 1200
    assert base["first_level_misses"] >= 49 * 1000
    # Seven cycles each, and walks.
    assert 49 * 1000 * 7 <= base["cycles"] <= 51 * 1000 * 7 + 1200 * 900


@emulated
def test_geometries_differ(tmp_path: Path) -> None:
    # 3500 pages fit the second level of Zen 5, and no other.
    small = measure(tmp_path, "--geometry=zen4", "sweep", "3500", "10")
    large = measure(tmp_path, "--geometry=zen5", "sweep", "3500", "10")
    assert walks(small, "sweep")["base"] >= 35000
    assert walks(large, "sweep")["base"] <= 3700
    assert large["geometry"]["name"] == "zen5"
    file = tmp_path / "geometry"
    file.write_text("tlb 1 both any 8192 full # all of it\nmemory 9\n")
    own = measure(tmp_path, f"--geometry={file}", "sweep", "3500", "10")
    assert walks(own, "sweep")["base"] <= 3600
    assert len(own["geometry"]["tables"]) == 1


@emulated
def test_sums_agree(tmp_path: Path) -> None:
    report = measure(tmp_path, "sweep", "4000", "3")
    for policy in ("base", "huge", "backed"):
        for figure in ("first_level_misses", "walks", "cycles"):
            total = sum(
                report["total"][side][policy][figure]
                for side in ("data", "code")
            )
            functions = [
                f["misses"][policy][figure] for f in report["functions"]
            ]
            lines = [
                line["misses"][policy][figure]
                for f in report["functions"]
                for line in f["lines"]
            ]
            processes = [
                p[side][policy][figure]
                for p in report["processes"]
                for side in ("data", "code")
            ]
            assert total == sum(functions) == sum(lines) == sum(processes)
    assert report["total"]["lost"] == 0
    assert (
        report["total"]["data_accesses"]
        > report["total"]["data"]["base"]["first_level_misses"]
    )


@emulated
def test_threads_have_cores_of_their_own(tmp_path: Path) -> None:
    report = measure(tmp_path, "threads", "4", str(PAGES))
    assert report["total"]["threads"] == 5
    assert len(report["processes"]) == 1
    base = walks(report, "sweep")["base"]
    assert 4 * 4 * PAGES <= base <= 4 * 4 * PAGES + 200


@emulated
def test_forks_are_followed(tmp_path: Path) -> None:
    report = measure(tmp_path, "fork", str(PAGES), status=7)
    first, second = report["processes"]
    assert second["parent"] == first["pid"]
    assert second["data"]["base"]["walks"] >= 4 * PAGES
    assert first["data"]["base"]["walks"] < PAGES
    assert walks(report, "sweep")["base"] >= 4 * PAGES


@emulated
def test_threads_and_forks_do_not_wait_for_each_other(tmp_path: Path) -> None:
    report = measure(tmp_path, "forks", "20", "2000")
    assert len(report["processes"]) == 21
    assert report["processes"][0]["data"]["base"]["walks"] >= 2000


@emulated
def test_started_programs_are_followed(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        f'#!/bin/sh -e\n"$1" sweep {PAGES} 1\nexec "$1" sweep {PAGES} 2\n'
    )
    script.chmod(0o755)
    report = measure(tmp_path, "--", script, WALKER)
    assert walks(report, "sweep")["base"] >= 3 * PAGES
    programs = {Path(p["program"]).name for p in report["processes"]}
    assert WALKER.name in programs
    env = measure(tmp_path, "--", "env", script, WALKER)
    assert walks(env, "sweep")["base"] >= 3 * PAGES


@emulated
def test_programs_see_nothing_of_it(tmp_path: Path) -> None:
    for words in (["end", "status"], ["sweep", "10", "1"]):
        plain = subprocess.run(
            [WALKER, *words], capture_output=True, text=True, check=False
        )
        done = run("--by=emulator", "--", WALKER, *words)
        assert done.stdout == plain.stdout
        assert done.returncode == plain.returncode
        assert done.stderr.startswith("bigleaf tlb: ")
    done = run("--by=emulator", WALKER, "end", "signal")
    assert done.returncode == -signal.SIGABRT
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\necho "$0" "$@"; cat; env | grep BIGLEAF_R\n')
    script.chmod(0o755)
    with WALKER.parent.joinpath("..").resolve().joinpath(
        "CTestTestfile.cmake"
    ).open() as stdin:
        done = run("--", script, "a b", "", "c,d", stdin=stdin)
        stdin.seek(0)
        assert done.stdout == f"{script} a b  c,d\n" + stdin.read()
    assert done.returncode == 1


@emulated
def test_a_killed_program_leaves_its_misses(tmp_path: Path) -> None:
    file = tmp_path / "tlb.json"
    done = run(
        f"--json={file}",
        "--by=emulator",
        "sh",
        "-c",
        f"{WALKER} killed {PAGES}; exit 5",
    )
    assert done.returncode == 5
    report = json.loads(file.read_text())
    assert walks(report, "sweep")["base"] >= 20 * PAGES


@emulated
def test_calls_are_known(tmp_path: Path) -> None:
    flame = tmp_path / "flame.svg"
    measure(tmp_path, f"--flame={flame}", "deep", str(PAGES))
    # Recursion is one frame, and stands under main.
    names = flame_stacks(flame).split("\n")
    order = [names.index(n) for n in ("main", "deep", "sweep")]
    assert order == sorted(order)
    assert names.count("deep") == 1
    assert f"walker.c:{line_of_sweep()}" in names
    measure(tmp_path, f"--flame={flame}", "jump", str(PAGES))
    # What the longjmp left is no caller of the sweep.
    names = flame_stacks(flame).split("\n")
    order = [names.index(n) for n in ("main", "after_jump", "sweep")]
    assert order == sorted(order)
    assert "leave" not in names[order[1] : order[2] + 1]


@emulated
def test_samples_estimate_the_whole(tmp_path: Path) -> None:
    words = ("sweep", str(PAGES), "10000")
    report = measure(tmp_path, "--sample=1/4", *words)
    total = report["total"]
    part = total["measured_instructions"] / total["instructions"]
    assert 0.1 < part < 0.4
    expected = 10000 * PAGES
    assert walks(report, "sweep")["base"] == pytest.approx(expected, rel=0.05)


@emulated
def test_stripped_programs_have_functions(tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, WALKER], check=True)
    report = measure(tmp_path, "--", stripped, "sweep", str(PAGES), "5")
    top = report["functions"][0]
    assert re.fullmatch(r"stripped\+0x[0-9a-f]+", top["function"])
    assert top["misses"]["base"]["walks"] >= 5 * PAGES
    page = run("--by=emulator", stripped, "sweep", str(PAGES), "5").stderr
    assert re.search(r"^ +\d+\.\d %.*  stripped\+0x[0-9a-f]+$", page, re.M)


@emulated
def test_the_report_names_function_and_line() -> None:
    done = run("--by=emulator", WALKER, "sweep", str(PAGES), "50")
    assert re.search(r"^ 9\d\.\d %.*  sweep  \(tlb_walker\)$", done.stderr, re.M)
    assert f"walker.c:{line_of_sweep()}\n" in done.stderr
    assert "1 process, 1 thread, " in done.stderr
    page = done.stderr.replace(str(SOURCE.parent), "programs")
    assert max(map(len, page.splitlines()[3:])) <= 100


def test_page_faults_are_counted(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.write_text("# of the kernel\npage-faults software 2\n")
    file = tmp_path / "tlb.json"
    flame = tmp_path / "flame.svg"
    words = ["--by=counters", f"--events={events}", f"--json={file}"]
    done = run(*words, f"--flame={flame}", WALKER, "sweep", str(PAGES), "1")
    if done.returncode == 3:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "sweep\n"
    report = json.loads(file.read_text())
    assert report["by"] == "counters"
    (event,) = report["events"]
    assert event["name"] == "page-faults"
    assert event["base"] >= PAGES / 16  # the kernel may fault around
    assert [r["variant"] for r in report["runs"]] == ["base", "bigleaf"]
    assert report["functions"][0]["samples"]["base"] > 0
    assert "counted by the processor" in done.stderr
    assert ElementTree.parse(flame).getroot().tag == f"{SVG}svg"


@pytest.fixture
def counted(tmp_path: Path) -> list[str]:
    """Words that count page faults; skips where there are no counters."""
    events = tmp_path / "events"
    events.write_text("page-faults software 2\n")
    words = ["--by=counters", f"--events={events}", f"--json={tmp_path / 'tlb.json'}"]
    done = run(*words, "true")
    if done.returncode == 3:
        pytest.skip(done.stderr)
    return words


def wait_for_sleeper(pid: int) -> None:
    """Until the command has started `sleep`, and that sleeps."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for child in children.read_text().split():
            with contextlib.suppress(OSError):
                if "(sleep) S" in Path(f"/proc/{child}/stat").read_text():
                    return
        time.sleep(0.001)
    pytest.fail("no sleep was started")


def test_what_was_stopped_is_not_run_again(counted: list[str], tmp_path: Path) -> None:
    """If it were, it would sleep for longer than anybody waits."""
    with subprocess.Popen(
        [COMMAND, "tlb", *counted, "sleep", "600"],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_for_sleeper(process.pid)
            os.killpg(process.pid, signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGINT
    assert "stopped by signal 2" in said
    report = json.loads((tmp_path / "tlb.json").read_text())
    assert report["events"][0]["base"] > 0
    assert report["events"][0]["bigleaf"] is None
    assert report["wall_seconds"] == report["runs"][0]["wall_seconds"]
    assert report["runs"][1]["wall_seconds"] is None


@pytest.mark.parametrize("program", ["cat", "true"])
def test_a_pipe_is_told_of(counted: list[str], program: str) -> None:
    """Whether the first run reads it or not."""
    told = "standard input is no file, so the second run finds it empty"
    done = run(*counted, program, stdin=None, input="text\n")
    assert done.stdout == ("text\n" if program == "cat" else "")
    assert done.stderr.count(told) == 1
    assert told not in run(*counted, program).stderr


def test_faults_of_users_are_one_line(tmp_path: Path) -> None:
    geometry = tmp_path / "geometry"
    geometry.write_text("tlb 1 data any 4 full\ntlb 1 code any 12 5\n")
    cases = [
        (["--geometry=pentium"], "a file, or one of haswell skylake", 2),
        ([f"--geometry={geometry}"], f"{geometry}:2: entries over ways", 2),
        (["--geometry=/no/file"], "No such file", 2),
        (["--sample=7"], "1/N, with N from 1 to 10000", 2),
        (["--sample=1/0"], "1/N", 2),
        (["--by=magic"], "one of auto|counters|emulator", 2),
        (["--pages=giant"], "one of base|huge|backed", 2),
        (["--functions=0"], "a number from 1", 2),
        (["--json=/no/folder/x"], "cannot write /no/folder/x", 3),
        (["--flame=/no/folder/x"], "cannot write /no/folder/x", 3),
        (["--by=counters", "--events=/no/file"], "No such file", 2),
        (["--by=emulator", "--events=/no/file"], "--events goes with counters", 2),
    ]
    for words, text, status in cases:
        by = [] if "--by" in words[0] else ["--by=emulator"]
        done = run(*by, *words, WALKER, "sweep", "1", "1")
        assert done.returncode == status, (words, done.stderr)
        first = done.stderr.splitlines()[0]
        assert first.startswith("bigleaf tlb: ")
        assert text in first
        assert done.stdout == ""
    assert run().returncode == 2
    assert run("/no/program").returncode == 127


def test_a_missing_emulator_is_named(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.svg"
    old.write_text("old")
    files = (f"--json={old}", f"--flame={new}")
    words = ("--by=emulator", *files, WALKER, "sweep", "1", "1")
    done = run(*words, env={"PATH": "/no"})
    assert (old.read_text(), new.exists()) == ("old", False)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "install the package qemu-user" in done.stderr


def test_an_emulator_without_plugins_is_named(tmp_path: Path) -> None:
    # As Debian 13 has it: one static file, which loads nothing.
    emulator = tmp_path / f"qemu-{os.uname().machine}"
    shutil.copy("/bin/true", emulator)
    done = run("--by=emulator", WALKER, env={"PATH": str(tmp_path)})
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert f"{emulator} takes no plug-ins" in done.stderr


@emulated
def test_a_script_of_the_working_folder_is_no_option(tmp_path: Path) -> None:
    """Where PATH finds it there, as an empty part of it says."""
    script = tmp_path / "-c"
    script.write_text('#!/bin/sh\necho "$0" "$@"\n')
    script.chmod(0o755)
    path = {"PATH": f":{os.environ['PATH']}"}
    done = run("--by=emulator", "--", "-c", "exit 5", env=path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "./-c exit 5\n")


@emulated
def test_what_cannot_be_emulated_is_told(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x7fELF\x01\x01\x01" + bytes(57))
    odd.chmod(0o755)
    done = run("--by=emulator", odd)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "cannot be emulated" in done.stderr


@emulated
def test_nothing_is_left_behind(tmp_path: Path) -> None:
    done = run(
        "--by=emulator", WALKER, "fork", "10", env={"TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 7
    assert list(tmp_path.iterdir()) == []


@emulated
def test_a_reader_that_has_gone_changes_no_status(tmp_path: Path) -> None:
    """As of a pager that was left."""
    reader, stream = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [COMMAND, "tlb", "--by=emulator", WALKER, "fork", "10"],
        env=dict(os.environ, TMPDIR=str(tmp_path)), stdout=subprocess.DEVNULL,
        stderr=stream, check=False,
    )
    os.close(stream)
    assert done.returncode == 7
    assert list(tmp_path.iterdir()) == []


@emulated
def test_closed_standard_error_leaves_the_files(tmp_path: Path) -> None:
    file = tmp_path / "tlb.json"
    line = 'exec "$0" tlb --by=emulator --json="$1" "$2" fork 10 2>&-'
    done = subprocess.run(["sh", "-c", line, COMMAND, file, WALKER], check=False)
    assert done.returncode == 7
    assert json.loads(file.read_text())["exit_status"] == 7


@emulated
def test_no_room_is_told_from_no_plug_in(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 32; exec "$0" tlb --by=emulator true', COMMAND],
        env=dict(os.environ, TMPDIR=str(tmp_path)), capture_output=True, text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert f"no room for what is counted in {tmp_path}/" in done.stderr
    assert list(tmp_path.iterdir()) == []


@emulated
def test_a_full_folder_loses_figures_only(tmp_path: Path) -> None:
    done = run(
        "--by=emulator",
        "sh",
        "-c",
        f"ulimit -f 64; {WALKER} sweep {PAGES} 1",
    )
    assert done.returncode == 0
    assert done.stdout == "sweep\n"
