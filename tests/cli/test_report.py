# SPDX-License-Identifier: MIT
"""`bigleaf run --report`: what it tells, of whom, and where it goes."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import (
    COMMAND,
    Bigleaf,
    one_line,
    report_of,
    thp_can_be_had,
    while_huge_pages_last,
)


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


def test_no_message_goes_into_the_report(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    """Where standard error is closed and the file could take its place."""
    report, program = tmp_path / "report", tmp_path / "program"
    report.write_text("old")
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    ended = bigleaf(
        "run", "--heap=none", f"--report={report}", program,
        before=("sh", "-c", 'exec "$0" "$@" 2>&-'),
    )
    assert ended.status == 127
    assert report.read_text() == "old"


@pytest.mark.parametrize("stream", [1, 2])
def test_a_socket_takes_the_report(bigleaf: Bigleaf, stream: int) -> None:
    ours, theirs = socket.socketpair()
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    name = "stdout" if stream == 1 else "stderr"
    streams[name] = theirs
    done = subprocess.run(
        [COMMAND, "run", "--heap=none", f"--report=/dev/{name}", "true"],
        env=bigleaf.environment(), check=False, **streams,
    )
    theirs.close()
    with ours, ours.makefile() as said:
        assert said.readline() == "bigleaf: true\n"
    assert done.returncode == 0


def test_a_descriptor_takes_the_report_behind_what_it_holds(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    line = f'exec "$0" run --heap=none --report=/dev/fd/5 true 5>>{log}'
    subprocess.run(
        ["sh", "-c", line, COMMAND], env=bigleaf.environment(), check=True
    )
    assert log.read_text().startswith("before\nbigleaf: true\n")
    ended = bigleaf("run", "--heap=none", "--report=/dev/fd/77", "true")
    assert ended.status == 3
    assert one_line(ended.err).endswith("/dev/fd/77: Bad file descriptor")


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


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to join groups")
def test_a_user_may_be_in_many_groups(
    bigleaf: Bigleaf, programs: Path, tmp_path: Path
) -> None:
    groups = ",".join(str(i) for i in range(100000, 102000))
    report = report_of(
        bigleaf, tmp_path, "--heap=none", str(programs / "cli_grow"), "48",
        "linger", before=("setpriv", f"--groups={groups}"),
    )
    assert report["regions"]["heap"]["bytes"] >= 48 << 20


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


def test_a_path_counts_from_the_folder_of_the_start(
    library: str, tmp_path: Path
) -> None:
    (tmp_path / "lower").mkdir()
    subprocess.run(
        ["sh", "-c", "cd lower"], cwd=tmp_path, check=True,
        env={**os.environ, "LD_PRELOAD": library, "BIGLEAF_REPORT": "lines"},
    )
    assert json.loads((tmp_path / "lines").read_text())["pid"]
    assert list((tmp_path / "lower").iterdir()) == []


def test_a_folder_may_have_a_long_name(library: str, tmp_path: Path) -> None:
    """Too long for a path that begins with it."""
    deep = tmp_path.joinpath(*(["d" * 250] * 15))
    deep.mkdir(parents=True)
    name = "./" * 200 + "lines"
    subprocess.run(
        ["true"], cwd=deep, check=True,
        env={**os.environ, "LD_PRELOAD": library, "BIGLEAF_REPORT": name},
    )
    assert json.loads((deep / "lines").read_text())["pid"]


def test_a_program_may_run_in_another_folder(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    """Than the one that TMPDIR is told from."""
    report = tmp_path / "report"
    (tmp_path / "here").mkdir()
    ended = bigleaf(
        "run", "--json", f"--report={report}", "sh", "-c", "cd / && true",
        env={"TMPDIR": "here"}, cwd=tmp_path,
    )
    assert ended.status == 0, ended.err
    assert len(json.loads(report.read_text())["processes"]) == 1
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "env"),
    [(("--pages=base",), {}), ((), {"BIGLEAF_PAGES": "base"})],
)
def test_base_pages_say_so(
    bigleaf: Bigleaf,
    library: str,
    programs: Path,
    tmp_path: Path,
    words: tuple[str, ...],
    env: dict[str, str],
) -> None:
    grow = (str(programs / "cli_grow"), "16", "exit")
    report = report_of(bigleaf, tmp_path, *words, *grow, env=env)
    assert report["regions"]["heap"]["huge_bytes"] == 0
    reasons = {
        part["reason"]
        for part in report["fallbacks"]
        if part["region"] == "heap"
    }
    assert "asked for by --pages=base or BIGLEAF_PAGES" in reasons


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


@pytest.mark.parametrize("heap", ["bigleaf", "none"])
def test_what_lies_where_a_heap_may_is_not_taken_for_one(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path, heap: str
) -> None:
    """As with an unlimited stack, the kernel maps among the heap's places."""
    legacy = ("setarch", "-L")
    words = (f"--heap={heap}", str(programs / "cli_grow"), "24", "map")
    ended = bigleaf("run", *words, before=legacy)
    at = re.search(r"at (0x[0-9a-f]+)", ended.out)
    if not at or int(at.group(1), 16) >= 0x500000000000:
        pytest.skip("no mapping there: setarch -L is refused")
    report = report_of(bigleaf, tmp_path, *words, before=legacy)
    assert "bigleaf heap" not in {
        part["object"]
        for part in report["fallbacks"]
        if part["bytes"] >= 16 << 20
    }
    if heap == "bigleaf":
        assert report["regions"]["heap"]["bytes"] < 16 << 20
        assert report["regions"]["other"]["bytes"] >= 24 << 20


@pytest.mark.parametrize("layout", [(), ("setarch", "-L")])
@pytest.mark.parametrize("heap", ["bigleaf", "none"])
def test_zeroed_memory_is_data_wherever_the_program_lies(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path,
    heap: str, layout: tuple[str, ...],
) -> None:  # fmt: skip
    """As with an unlimited stack, the loader and libraries may lie before it."""
    report = report_of(
        bigleaf, tmp_path, f"--heap={heap}", str(programs / "cli_grow"), "8",
        "bss", before=layout,
    )  # fmt: skip
    assert report["exit_status"] == 7
    data = report["regions"]["data"]["bytes"]
    assert 24 << 20 <= data < 32 << 20


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


def test_report_on_standard_output(bigleaf: Bigleaf, tmp_path: Path) -> None:
    ended = bigleaf(
        "run", "--heap=none", "--json", "--report=-", "true", cwd=tmp_path
    )
    assert json.loads(ended.out)["exit_status"] == 0
    assert list(tmp_path.iterdir()) == []


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


def test_what_a_killed_command_left_goes_with_the_next(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    own = dict(bigleaf.environment(), TMPDIR=str(tmp_path))
    words = (COMMAND, "run", "--heap=none", "--report=/dev/null", "--", "sleep", "60")

    def folders() -> set[Path]:
        return set(tmp_path.iterdir())

    def started() -> tuple[subprocess.Popen[bytes], Path]:
        before = folders()
        process = subprocess.Popen(words, env=own, start_new_session=True)
        until = time.monotonic() + 30
        while not any((new := f) and (f / "lines").exists() for f in folders() - before):
            assert time.monotonic() < until
            time.sleep(0.01)
        return process, new

    def report() -> None:
        bigleaf("run", "--heap=none", "--report=/dev/null", "true", env={"TMPDIR": str(tmp_path)})

    killed, left = started()
    killed.kill()
    killed.wait()
    os.killpg(killed.pid, signal.SIGKILL)
    alive, kept = started()
    other = tmp_path / "bigleaf-run-others"
    other.mkdir()
    report()
    assert folders() == {left, kept, other}  # may yet be locked
    for folder in folders():
        os.utime(folder, (1e9, 1e9))
    until = time.monotonic() + 30
    while folders() != {kept} and time.monotonic() < until:  # it may be dying
        report()
    assert folders() == {kept}
    os.killpg(alive.pid, signal.SIGKILL)
    alive.wait()


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


def start_end_twice(
    library: str, programs: Path, fifo: Path, how: str
) -> subprocess.Popen:
    """The line has nobody to read it yet: a program's end waits for him."""
    os.mkfifo(fifo)
    return subprocess.Popen(
        [programs / "cli_end_twice", how],
        env=os.environ | {"LD_PRELOAD": library, "BIGLEAF_REPORT": str(fifo)},
    )


@pytest.mark.parametrize(("how", "processes"), [("thread", 1), ("fork", 2)])
def test_each_process_reports_once_whatever_happens_as_it_ends(
    library: str, programs: Path, tmp_path: Path, how: str, processes: int
) -> None:
    fifo = tmp_path / "fifo"
    program = start_end_twice(library, programs, fifo, how)
    time.sleep(1)
    assert program.poll() is None
    lines = fifo.read_text().splitlines()
    assert program.wait(timeout=10) == 7
    assert len({json.loads(line)["pid"] for line in lines}) == processes
    assert len(lines) == processes


def test_a_handler_may_end_what_waits_to_report(
    library: str, programs: Path, tmp_path: Path
) -> None:
    program = start_end_twice(library, programs, tmp_path / "fifo", "handler")
    assert program.wait(timeout=10) == 7
