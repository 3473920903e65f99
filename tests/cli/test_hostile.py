# SPDX-License-Identifier: MIT
"""Machines that refuse: the program gives its answer, the report the reason."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, Bigleaf, Ended, one_line, report_of

AS_ROOT = pytest.mark.skipif(
    os.geteuid() != 0, reason="needs root to unmount in a namespace"
)


def without(folder: str) -> tuple[str, ...]:
    """A command prefix: an empty file system in the place of `folder`."""
    prefix = (
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'mount -t tmpfs none {folder} && exec "$0" "$@"',
    )
    done = subprocess.run([*prefix, "true"], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{folder} cannot be hidden here")
    return prefix


def check_answer(ended: Ended) -> None:
    assert ended.out == "grown\n"
    assert ended.status == 7


def test_the_last_process_is_for_the_program(bigleaf: Bigleaf) -> None:
    alone = ("setpriv", "--reuid=64321", "--regid=64321", "--clear-groups")
    done = bigleaf("--version", before=(*alone, "env"))
    if os.geteuid() != 0 or done.status != 0:
        pytest.skip("needs root, and a command that every user may run")
    ended = bigleaf(
        "run", "--heap=none", "--report=/dev/null", "echo", "alive",
        before=(*alone, "prlimit", "--nproc=2"),
    )
    assert (ended.status, ended.out) == (0, "alive\n")
    assert "no process is left for a bystander" in ended.err


@AS_ROOT
@pytest.mark.parametrize("folder", ["/proc", "/sys", "/dev/shm"])
def test_missing_file_systems(
    bigleaf: Bigleaf,
    library: str,
    programs: Path,
    tmp_path: Path,
    folder: str,
) -> None:
    grow = (str(programs / "cli_grow"), "16", "exit")
    prefix = without(folder)
    for options in ((), ("--report",), ("--heap=glibc", "--report")):
        check_answer(bigleaf("run", *options, *grow, before=prefix))
    report = report_of(bigleaf, tmp_path, *grow, before=prefix)
    assert report["peak_rss_kib"] >= 16 << 10
    if folder == "/proc":
        assert "no /proc" in report["fallbacks"][0]["reason"]
    else:
        assert report["regions"]["heap"]["bytes"] >= 16 << 20
    assert bigleaf("doctor", before=prefix).status in (0, 3)


@AS_ROOT
@pytest.mark.usefixtures("unsanitized")
def test_doctor_judges_by_faults_without_proc(bigleaf: Bigleaf) -> None:
    plain = bigleaf("doctor")
    ended = bigleaf("doctor", before=without("/proc"))
    assert ended.status == plain.status
    assert "/proc is not mounted" in ended.out


@pytest.mark.parametrize("refusal", ["thp", "EPERM", "ENOSYS"])
def test_refusals_of_the_kernel(
    bigleaf: Bigleaf,
    library: str,
    programs: Path,
    tmp_path: Path,
    refusal: str,
) -> None:
    prefix = (str(programs / "cli_refuse"), refusal)
    grow = (str(programs / "cli_grow"), "16", "exit")
    ended = bigleaf("run", *grow, before=prefix)
    if ended.status == 77:
        pytest.skip("that cannot be refused here")
    check_answer(ended)
    report = report_of(bigleaf, tmp_path, *grow, before=prefix)
    heap = report["regions"]["heap"]
    assert heap["bytes"] >= 16 << 20
    if refusal != "thp":
        said = {"EPERM": "not permitted", "ENOSYS": "not implemented"}[refusal]
        assert heap["huge_bytes"] > 0 or any(
            f"{said}): a seccomp filter" in part["reason"]
            for part in report["fallbacks"]
        )
    if refusal == "thp":
        assert heap["huge_bytes"] == 0
        assert any(
            "PR_SET_THP_DISABLE" in part["reason"]
            for part in report["fallbacks"]
        )


def test_small_address_space(
    bigleaf: Bigleaf, library: str, programs: Path
) -> None:
    limit = ("sh", "-c", 'ulimit -v 65536; exec "$0" "$@"')
    for options in ((), ("--report",)):
        check_answer(
            bigleaf(
                "run",
                *options,
                str(programs / "cli_grow"),
                "8",
                "exit",
                before=limit,
            )
        )


def test_closed_standard_streams(bigleaf: Bigleaf, library: str) -> None:
    close = ("sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-')
    assert bigleaf("run", "sh", "-c", "exit 5", before=close).status == 5
    assert (
        bigleaf(
            "run", "--report=/dev/null", "sh", "-c", "exit 5", before=close
        ).status
        == 5
    )


@pytest.mark.parametrize(
    "name", [b"\xff", b"cut \xe2\x82", b"\xed\xa0\x80", b"\xe0\x80\x80", b'"\n\\']
)
def test_names_that_are_no_text(
    bigleaf: Bigleaf, library: str, tmp_path: Path, name: bytes
) -> None:
    program = os.fsencode(tmp_path) + b"/" + name
    os.symlink("/bin/true", program)
    lines = tmp_path / "lines"
    report = tmp_path / "report"
    subprocess.run(
        [COMMAND, "run", "--json", f"--report={report}", program, name],
        env=bigleaf.environment({"BIGLEAF_REPORT": str(lines)}), check=True,
    )
    words = json.loads(report.read_bytes().decode())["command"]
    assert words[1].rstrip("\ufffd") == name.decode(errors="ignore")
    shutil.copy("/bin/true", copy := program + b"copy")
    subprocess.run(
        [COMMAND, "run", copy],
        env=bigleaf.environment({"BIGLEAF_REPORT": str(lines)}), check=True,
    )
    for line in lines.read_bytes().splitlines():
        json.loads(line.decode())


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_comparison_with_closed_streams(
    bigleaf: Bigleaf, tmp_path: Path, closed: str
) -> None:
    """What it opens does not take their places, nor the program's output."""
    close = ("sh", "-c", f'exec "$0" "$@" {closed}')
    script = "cat && echo said && echo complained >&2"
    report = tmp_path / "report"
    ended = bigleaf(
        "compare", "--heap=none", "-n1", f"--json={report}", "sh", "-c", script,
        before=close,
    )
    assert ended.status == 0, ended
    found = json.loads(report.read_text())
    assert found["output"] == "identical"
    assert found["runs"][0]["exit_status"] == 0


@pytest.mark.parametrize("option", ["--report", "--json"])
def test_no_room_for_the_report(
    bigleaf: Bigleaf, tmp_path: Path, option: str
) -> None:
    """A limit on the size of files takes the report, not the exit status."""
    limit = ("sh", "-c", 'ulimit -f 0; exec "$0" "$@"')
    ended = bigleaf(
        "run", "--heap=none", option, f"--report={tmp_path}/report",
        "sh", "-c", "exit 5", before=limit,
    )
    assert ended.status == 5
    assert "is not whole: File too large" in one_line(ended.err)


def test_no_room_for_a_comparison(bigleaf: Bigleaf, tmp_path: Path) -> None:
    limit = ("sh", "-c", 'ulimit -f 0; exec "$0" "$@"')
    ended = bigleaf(
        "compare", "--heap=none", "-n1", f"--json={tmp_path}/json", "true",
        before=limit,
    )
    assert ended.status == 3
    assert "output: identical" in ended.out
    assert "is not whole: File too large" in ended.err


def test_no_room_for_a_line(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    """Nor does the runtime within the program end it over the limit."""
    lines = tmp_path / "lines"
    lines.write_text("x" * 512)
    limit = ("sh", "-c", 'ulimit -f 1; exec "$0" "$@"')
    for options in ((), ("--report",)):
        ended = bigleaf(
            "run", *options, "sh", "-c", "exit 5", before=limit,
            env={"BIGLEAF_REPORT": str(lines)},
        )
        assert ended.status == 5
    assert lines.read_text() == "x" * 512


def test_no_reader_for_the_report(bigleaf: Bigleaf, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [COMMAND, "run", "--heap=none", f"--report={pipe}", "sh", "-c",
         "echo up; read line; exit 5"],
        env=bigleaf.environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    assert process.stdout and process.stdout.readline() == "up\n"
    os.close(reader)
    _, err = process.communicate("go on\n", timeout=60)
    assert process.returncode == 5
    assert "is not whole: Broken pipe" in one_line(err)


def test_no_place_for_temporary_files(
    bigleaf: Bigleaf, library: str, programs: Path
) -> None:
    # Not even root may write below /proc/self; /tmp stays as a second choice.
    ended = bigleaf(
        "run",
        "--report",
        str(programs / "cli_grow"),
        "8",
        "exit",
        env={"TMPDIR": "/proc/self"},
    )
    check_answer(ended)
