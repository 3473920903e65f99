# SPDX-License-Identifier: MIT
"""What a machine may do to a program: a plain container (nobody as root of a user namespace of its
own, without any right outside it, under a seccomp filter that this command did not install), and
a cgroup that is frozen."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
PYTHON = "/usr/bin/python3"  # which nobody may run

# Puts itself under a filter that allows everything, as a container's runtime does with one that
# allows most, and becomes its arguments.
FILTERED = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
rules = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, ctypes.addressof(rules)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(77)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def words(command: str) -> list[str]:
    """What stands before a command that is to run in there; skips where there is no such thing."""
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
        raise unittest.SkipTest("needs root, setpriv and unshare")
    space = [*NOBODY, "unshare", "--user", "--map-root-user"]
    if subprocess.run([*space, command, "--version"], capture_output=True,
                      check=False).returncode:
        raise unittest.SkipTest("no user namespaces, or nobody may not run the command")
    inside = [*space, PYTHON, "-c", FILTERED]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode == 77:
        raise unittest.SkipTest("no seccomp filters")
    return inside


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come about")
        time.sleep(0.01)


@contextlib.contextmanager
def freezer(pid: int, old: bool = False) -> Iterator[Callable[[bool], None]]:
    """Freezes the process with a cgroup of its own, by version 2 or, `old`, 1."""
    words = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    roots = [word[1] for word in words if (word[2] == "cgroup" and "freezer" in word[3]
                                           if old else word[2] == "cgroup2")]
    group = Path(roots[0] if roots else "/nowhere") / f"bigleaf-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise unittest.SkipTest(f"no cgroup to be had: {error}") from error

    def freeze(on: bool) -> None:
        if old:
            (group / "freezer.state").write_text("FROZEN" if on else "THAWED")
            wait_for(lambda: (group / "freezer.state").read_text() != "FREEZING\n")
        else:
            (group / "cgroup.freeze").write_text(str(int(on)))
            wait_for(lambda: f"frozen {int(on)}" in (group / "cgroup.events").read_text())

    try:
        (group / "cgroup.procs").write_text(str(pid))
        yield freeze
    finally:
        freeze(False)
        (group.parent / "cgroup.procs").write_text(str(pid))
        group.rmdir()
