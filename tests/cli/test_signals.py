# SPDX-License-Identifier: MIT
"""Signals and job control: as if nothing stood in between."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import COMMAND, Bigleaf

WATCHED = ("--heap=none", "--report=/dev/null")
DIRECT = ("--heap=none",)
PATIENCE = 60  # seconds, for what a busy machine does late


def start(
    bigleaf: Bigleaf, options: tuple[str, ...], *words: str | Path
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "run", *options, *words],
        env=bigleaf.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=os.setpgrp,  # as from a shell
    )


def state_of(pid: int) -> str:
    text = Path(f"/proc/{pid}/stat").read_text()
    return text.rpartition(")")[2].split()[0]


def wait_for_state(pid: int, wanted: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if state_of(pid) == wanted:
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is in state {state_of(pid)}, not {wanted}")


def waits_of(pid: int) -> int:
    """How often the process has waited for something so far."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.M)
    assert found
    return int(found[1])


def wait_for_looks(pid: int) -> None:
    """Until the command has looked at its program anew, however busy the
    machine is: it waits between one look and the next."""
    seen = waits_of(pid)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if waits_of(pid) >= seen + 20:
            return
        time.sleep(0.02)
    pytest.fail("the command looks no more")


def child_of(pid: int) -> int:
    """The program that the command runs."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            name, _, stat = (entry / "stat").read_text().rpartition(")")
            if int(stat.split()[1]) == pid and "bystander" not in name:
                return int(entry.name)
    pytest.fail(f"process {pid} has no child")


def wait_for_program(pid: int, name: str) -> None:
    """Until the command has started the program, and watches it."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for child in children.read_text().split():
            if Path(f"/proc/{child}/comm").read_text() == name + "\n":
                return
        time.sleep(0.001)
    pytest.fail(f"process {pid} has not started {name}")


@pytest.mark.parametrize("options", [WATCHED, DIRECT])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_ends_by_the_program_s_signal(
    bigleaf: Bigleaf, options: tuple[str, ...], number: signal.Signals
) -> None:
    ended = bigleaf("run", *options, "sh", "-c", f"kill -{int(number)} $$")
    assert ended.status == -number
    shell = subprocess.run(
        [
            "sh",
            "-c",
            '"$@"; echo "status $?"',
            "sh",
            COMMAND,
            "run",
            *options,
            "sh",
            "-c",
            f"kill -{int(number)} $$",
        ],
        env=bigleaf.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"status {128 + number}" in shell.stdout


@pytest.mark.parametrize("options", [WATCHED, DIRECT])
def test_a_signal_sent_to_the_command_reaches_the_program(
    bigleaf: Bigleaf, options: tuple[str, ...]
) -> None:
    script = (
        'trap "echo got; exit 9" TERM; echo up; '
        "while :; do sleep 0.05; done"
    )
    process = start(bigleaf, options, "sh", "-c", script)
    assert process.stdout and process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=PATIENCE)
    assert out == "got\n"
    assert process.returncode == 9


ODD = [signal.SIGABRT, signal.SIGPIPE, signal.SIGSYS, signal.SIGRTMIN + 3]


@pytest.mark.parametrize("to_group", [False, True])
@pytest.mark.parametrize("number", ODD)
def test_no_signal_ends_the_command_without_its_program(
    bigleaf: Bigleaf, tmp_path: Path, number: int, to_group: bool
) -> None:
    """As timeout -s ABRT sends it, or a scheduler a real-time signal."""
    report = tmp_path / "report"
    options = ("--heap=none", f"--report={report}")
    process = start(bigleaf, options, "sh", "-c", "echo up; exec sleep 1000")
    assert process.stdout and process.stdout.readline() == "up\n"
    (os.killpg if to_group else os.kill)(process.pid, number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -number
    assert f"(signal {int(number)}, " in report.read_text()


def test_a_signal_keeps_its_value(bigleaf: Bigleaf) -> None:
    python = shutil.which("python3", path="/usr/bin:/bin")
    if not python:
        pytest.skip("no python3 of the system's")
    script = (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [40]); "
        "print('up', flush=True); info = signal.sigwaitinfo([40]); "
        "print(info.si_code)"
    )
    process = start(bigleaf, WATCHED, python, "-c", script)
    assert process.stdout and process.stdout.readline() == "up\n"
    queue = ctypes.CDLL(None, use_errno=True).sigqueue
    assert queue(process.pid, 40, ctypes.c_void_p(7)) == 0
    out, _ = process.communicate(timeout=PATIENCE)
    assert (out, process.returncode) == ("-1\n", 0)  # SI_QUEUE


@pytest.mark.parametrize("options", [WATCHED, DIRECT])
@pytest.mark.parametrize("to_group", [False, True])
def test_a_signal_comes_once(
    bigleaf: Bigleaf, options: tuple[str, ...], to_group: bool
) -> None:
    """Each is sent when the one before it was taken: two that wait are one."""
    script = (
        'n=0; trap "n=\\$((n+1)); echo got" USR1; trap "echo \\$n; exit 0" USR2; '
        "echo up; while :; do sleep 0.05; done"
    )
    process = start(bigleaf, options, "sh", "-c", script)
    assert process.stdout and process.stdout.readline() == "up\n"
    for _ in range(3):
        (os.killpg if to_group else os.kill)(process.pid, signal.SIGUSR1)
        assert process.stdout.readline() == "got\n"
    time.sleep(0.3)  # for a second copy of the last, if there is one
    os.kill(process.pid, signal.SIGUSR2)
    out, _ = process.communicate(timeout=PATIENCE)
    assert out == "3\n"
    assert process.returncode == 0


@pytest.mark.parametrize("options", [WATCHED, DIRECT])
@pytest.mark.parametrize("to_group", [False, True])
def test_a_stop_is_the_program_s(
    bigleaf: Bigleaf, options: tuple[str, ...], to_group: bool
) -> None:
    # One process: a shell that has just forked by vfork cannot stop before its
    # child has called exec, and the child would be stopped as well.
    process = start(bigleaf, options, "sh", "-c", "echo up; exec sleep 1000")
    assert process.stdout and process.stdout.readline() == "up\n"
    program = process.pid if options is DIRECT else child_of(process.pid)
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGTSTP)
    pid, status = os.waitpid(process.pid, os.WUNTRACED)
    assert (pid, os.WSTOPSIG(status)) == (process.pid, signal.SIGTSTP)
    wait_for_state(program, "T")
    (os.killpg if to_group else os.kill)(process.pid, signal.SIGCONT)
    os.kill(process.pid, signal.SIGUSR1)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGUSR1


def test_a_program_that_takes_ctrl_z_stops_nobody(bigleaf: Bigleaf) -> None:
    script = 'trap "echo taken; exit 5" TSTP; echo up; while :; do sleep 0.05; done'
    process = start(bigleaf, WATCHED, "sh", "-c", script)
    assert process.stdout and process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGTSTP)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (out, process.returncode) == ("taken\n", 5)


@pytest.mark.usefixtures("unsanitized")
def test_the_bystander_stands_before_the_program_starts(
    bigleaf: Bigleaf, programs: Path
) -> None:
    """However late it runs: who looks for the command finds only that."""
    slow = {"LD_PRELOAD": str(programs / "libcli_slow_name.so")}
    script = "cat /proc/$PPID/task/$PPID/children | xargs -n1 sh -c 'cat /proc/$0/comm'"
    ended = bigleaf("run", *WATCHED, "sh", "-c", script, env=slow)
    assert sorted(ended.out.split()) == ["bystander", "sh"], ended.err


def report_of_a_killed_program(
    bigleaf: Bigleaf, programs: Path, report: Path, patience: float
) -> str:
    process = start(
        bigleaf,
        ("--heap=none", f"--report={report}"),
        programs / "cli_grow",
        "32",
        "hang",
    )
    assert process.stdout and process.stdout.readline() == "grown\n"
    wait_for_looks(process.pid)
    time.sleep(patience)
    os.kill(child_of(process.pid), signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    return report.read_text()


def test_a_killed_program_is_still_reported(
    bigleaf: Bigleaf, programs: Path, tmp_path: Path
) -> None:
    # Looking may take a share of the time, no more: where it costs much, what
    # was there at the end is seen later.
    for patience in (0, 2, 8):
        text = report_of_a_killed_program(
            bigleaf, programs, tmp_path / "report", patience
        )
        assert "exit status  137 (signal 9, Killed)" in text
        heap = next(
            line for line in text.splitlines() if line.startswith("  heap  ")
        )
        if float(heap.split()[1]) >= 32:
            return
    pytest.fail(f"the heap was not seen: {heap}")


def test_a_stopped_program_stops_the_command_and_goes_on(
    bigleaf: Bigleaf, programs: Path
) -> None:
    process = start(bigleaf, WATCHED, programs / "cli_grow", "4", "stop")
    assert process.stdout and process.stdout.readline() == "grown\n"
    child = child_of(process.pid)
    wait_for_state(child, "T")
    wait_for_state(process.pid, "T")
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 7


@contextlib.contextmanager
def on_a_terminal(
    bigleaf: Bigleaf, *words: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The command in the foreground of a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, *words],
        env=bigleaf.environment({"TERM": "xterm"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: __import__("fcntl").ioctl(0, 0x540E, 0),  # TIOCSCTTY
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


def read_until(terminal: int, wanted: str) -> str:
    text = ""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.05)
        if ready:
            try:
                text += os.read(terminal, 4096).decode()
            except OSError:
                break
        if wanted in text:
            return text
    pytest.fail(f"no {wanted!r} in {text!r}")


@pytest.mark.parametrize("options", [WATCHED, DIRECT])
def test_ctrl_c_is_the_program_s(
    bigleaf: Bigleaf, options: tuple[str, ...]
) -> None:
    # The program outlives Ctrl-C; so must what watches it.
    script = (
        'trap "echo caught; sleep 0.2; echo done; exit 4" INT; echo up; '
        "while :; do sleep 0.05; done"
    )
    with on_a_terminal(bigleaf, "run", *options, "sh", "-c", script) as (
        process,
        terminal,
    ):
        read_until(terminal, "up")
        os.write(terminal, b"\x03")
        text = read_until(terminal, "done")
        assert text.count("caught") == 1
        assert process.wait(timeout=PATIENCE) == 4


@pytest.mark.parametrize("options", [WATCHED, DIRECT])
def test_ctrl_c_ends_both(
    bigleaf: Bigleaf, options: tuple[str, ...]
) -> None:
    with on_a_terminal(
        bigleaf, "run", *options, "sh", "-c", "echo up; exec sleep 1000"
    ) as (process, terminal):
        read_until(terminal, "up")
        os.write(terminal, b"\x03")
        assert process.wait(timeout=PATIENCE) == -signal.SIGINT


@pytest.mark.parametrize("attempt", range(8))
def test_ctrl_c_ends_a_comparison(bigleaf: Bigleaf, attempt: int) -> None:
    # The program may be gone before the command has taken its own signal.
    with on_a_terminal(
        bigleaf, "compare", "--heap=none", "-n", "50", "sleep", "1000"
    ) as (process, terminal):
        read_until(terminal, "run 1 of 102")
        wait_for_program(process.pid, "sleep")
        os.write(terminal, b"\x03")
        read_until(terminal, "stopped by signal 2")
        assert process.wait(timeout=PATIENCE) == 130


def test_ignored_signals_stay_ignored(bigleaf: Bigleaf) -> None:
    done = subprocess.run(
        [
            "sh",
            "-c",
            'trap "" INT; exec "$@"',
            "sh",
            COMMAND,
            "run",
            *WATCHED,
            "grep",
            "SigIgn",
            "/proc/self/status",
        ],
        env=bigleaf.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout.split()[1], 16) & 1 << (signal.SIGINT - 1)


def test_signal_mask_and_children_are_as_before(bigleaf: Bigleaf) -> None:
    plain = subprocess.run(
        ["grep", "^Sig[BIC]", "/proc/self/status"],
        capture_output=True,
        text=True,
        check=True,
    )
    for options in (WATCHED, DIRECT):
        ended = bigleaf(
            "run", *options, "grep", "^Sig[BIC]", "/proc/self/status"
        )
        assert ended.out == plain.stdout
