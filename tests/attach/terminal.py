# SPDX-License-Identifier: MIT
"""A shell on a terminal of its own, and what a user types there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator


class Terminal:
    def __init__(self, handle: int, shell: int) -> None:
        self.handle = handle
        self.shell = shell

    def type(self, text: str, wanted: str) -> str:
        """Types, and reads until what is wanted has come; what was read."""
        os.write(self.handle, text.encode())
        seen = ""
        end = time.monotonic() + 60
        while wanted not in seen.replace(text.strip(), "", 1):
            left = max(0, end - time.monotonic())
            if not select.select([self.handle], [], [], left)[0]:
                raise AssertionError(f"no {wanted!r} in {seen!r}")
            seen += os.read(self.handle, 4096).decode()
        return seen

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.handle, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def await_job(self) -> None:
        """The shell says a job's name before it hands the terminal over."""
        end = time.monotonic() + 60
        while os.tcgetpgrp(self.handle) == self.shell:
            if time.monotonic() > end:
                raise AssertionError("the shell keeps the terminal")
            time.sleep(0.01)


@contextlib.contextmanager
def shell() -> Iterator[Terminal]:
    """An interactive bash, whose prompt is "$ "."""
    pid, handle = pty.fork()
    if pid == 0:
        os.environ["PS1"] = "$ "
        os.execlp("bash", "bash", "--norc", "--noprofile", "-i")
    try:
        yield Terminal(handle, pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(handle)
