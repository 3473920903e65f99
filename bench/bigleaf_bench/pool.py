# SPDX-License-Identifier: MIT
"""The hugetlb pool, for runs of the kind hugetlb: set up before such a run,
and given back when it has ended.

Pages in the pool are missing everywhere else, so it holds some only while a
run needs them. What is lent stands in a file of the results' folder: a campaign
that was killed is given back when it is given again. Several workers add up;
the kernel's file is locked while one changes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
from pathlib import Path

PAGE = 2 << 20
POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
# A process leaves as many pages in the pool as it holds, for its children.
ROOM = 2.2
# Of the memory that is available; the rest is for the program's other memory.
MOST = 0.75


def why_not() -> str:
    """Why the pool cannot be set up from here; nothing when it can."""
    if not POOL.exists():
        return "this kernel has no pool of 2 MiB pages"
    if not os.access(POOL, os.W_OK):
        return f"only root sets the hugetlb pool up: echo PAGES > {POOL}"
    return ""


def add(pages: int, begin=lambda before: None) -> int:
    """Changes the pool by so many pages; the change that the kernel made.
    `begin` is told how many there were, before anything changes."""
    with POOL.open("r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        before = int(file.read())
        begin(before)
        file.seek(0)
        file.write(f"{max(0, before + pages)}\n")
        file.flush()
        file.seek(0)
        return int(file.read()) - before


def wanted(seen: int, limit: int | None, available: int) -> int:
    """Pages for a run: by what the tool was seen to need here, else by its limit."""
    room = int(ROOM * seen) if seen else limit or available
    return min(room, int(MOST * available)) // PAGE + 1


@contextlib.contextmanager
def lent(folder: Path, pages: int):
    """The pool is larger by `pages`, or by what the kernel found; as large as
    it was afterwards."""
    if not pages or why_not():
        yield 0
        return
    note = folder / "pool" / f"{socket.gethostname()}.{os.getpid()}.{threading.get_ident()}"
    note.parent.mkdir(exist_ok=True)
    # Before, lest pages stay behind where we are killed while the kernel looks.
    got = add(pages, lambda before: note.write_text(f"{before} {pages}", encoding="ascii"))
    try:
        yield got
    finally:
        add(-got)
        note.unlink(missing_ok=True)


def give_back(folder: Path) -> int:
    """What campaigns in `folder` had lent here and were killed over: pages."""
    notes = []
    for path in (folder / "pool").glob(f"{socket.gethostname()}.*"):
        pid = path.name.removeprefix(f"{socket.gethostname()}.").split(".")[0]
        if not Path("/proc", pid).exists() and not why_not():
            numbers = path.read_text(encoding="ascii").split()
            notes.append((*(int(n) for n in numbers), path) if len(numbers) == 2 else (0, 0, path))
    # The last to come first: each found the pool as those before it had made it.
    result = 0
    for before, pages, path in sorted(notes, reverse=True):
        now = int(POOL.read_text(encoding="ascii"))
        result -= add(-max(0, min(pages, now - before)))
        path.unlink()
    return result
