# SPDX-License-Identifier: MIT
"""What the tests of the toolchain share: the command, programs, a clean run."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

COMMAND = Path(os.environ["BIGLEAF_COMMAND"])
BUILD = Path(os.environ["BIGLEAF_BUILD"])
SOURCE = Path(os.environ["BIGLEAF_SOURCE"])

# Its writes are volatile, so that no compiler leaves them out.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    volatile char *p = malloc(8 << 20);
    if (!p)
        return 1;
    for (int i = 0; i < 8 << 20; i += 4096)
        p[i] = 1;
    puts("done");
    free((void *)p);
    return 0;
}
"""


# Of programs that try a malloc: blocks of many sizes, written and freed.
WORK = """
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *unused) {
    char *blocks[2000];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 2000; i++)
            memset(blocks[i] = malloc(i + 1), i, i + 1);
        for (int i = 0; i < 2000; i++)
            free(blocks[i]);
    }
    return unused;
}
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """Ours without what would change the outcome, and `extra`."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BIGLEAF", "GLIBC_")) and name != "LD_PRELOAD"
    }
    return own | (extra or {})


def run(
    *words: str | Path,
    env: dict[str, str] | None = None,
    stdin: str | None = None,
    cwd: Path | None = None,
) -> Ended:
    done = subprocess.run(
        words,
        env=environment(env),
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        cwd=cwd,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def doctor(program: Path) -> dict:
    """What `bigleaf doctor` says of a program, once it ran well."""
    ended = run(COMMAND, "doctor", "--json", program)
    assert ended.status in (0, 3), ended
    return json.loads(ended.out)


def heap_of(program: Path, *, env: dict[str, str] | None = None) -> int:
    """Bytes of the heap that are on huge pages when the program has run, with
    all of it asked for at once, whatever a huge page costs here."""
    report = program.with_suffix(".report")
    report.unlink(missing_ok=True)
    own = {"BIGLEAF_REPORT": str(report), "BIGLEAF_PAGES": "thp"}
    ended = run(program, env=own | (env or {}))
    assert (ended.status, ended.out) == (0, "done\n"), ended
    if not report.exists():
        return 0
    return json.loads(report.read_text())["peak"]["heap"]["huge_bytes"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "program.c"
    file.write_text(PROGRAM)
    return file
