# SPDX-License-Identifier: MIT
"""`bigleaf run`: the environment it makes, and the program it leaves alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import COMMAND, Bigleaf, one_line, report_of


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


def test_a_folder_is_told_by_its_full_path(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    words = ("run", "--heap=none", "--shadow-dir=.", "--dry-run", "true")
    ended = bigleaf(*words, cwd=tmp_path)
    assert ended.out == f"env BIGLEAF_SHADOW_DIR={tmp_path.resolve()} true\n"
    ended = bigleaf("run", "--heap=none", "--shadow-dir=", "--dry-run", "true")
    assert ended.out == "env BIGLEAF_SHADOW_DIR='' true\n"


def test_two_runtimes_do_not_meet_in_a_program(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    """One of another build is in LD_PRELOAD, as of an installed Bigleaf."""
    other = tmp_path / "libbigleaf.so.0"
    shutil.copy(library, other)
    report = report_of(bigleaf, tmp_path, "true", env={"LD_PRELOAD": str(other)})
    assert len(report["processes"]) == 1
    ended = bigleaf(
        "run", "--dry-run", "true",
        env={"LD_PRELOAD": f"libfirst.so:{other} libsecond.so"},
    )
    assert f"LD_PRELOAD={library}:libfirst.so:libsecond.so " in ended.out


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
