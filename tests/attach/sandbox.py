# SPDX-License-Identifier: MIT
"""A plain container: nobody as root of a user namespace of its own, without any right outside it,
under a seccomp filter that this command did not install."""

from __future__ import annotations

import os
import shutil
import subprocess
import unittest

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
