# SPDX-License-Identifier: MIT
"""What was fetched and built, by content; fetched instances too.

An entry's name holds a digest of all that went into it: the recipe, the
compiler, the libraries linked in. An entry appears under its name by one
rename when it is whole, so there is never half of one, and two that build the
same at a time do no harm. Old entries may be removed at any moment.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path


def root() -> Path:
    """BIGLEAF_CACHE, else the user's cache folder."""
    named = os.environ.get("BIGLEAF_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bigleaf"


def sources() -> Path:
    return root() / "sources"


def key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def entry(name: str, variant: str, digest: str) -> Path:
    return root() / "solvers" / f"{name}-{variant}-{digest}"


def sweep() -> None:
    """Removes what builds left that were killed."""
    for folder in (root() / "work").glob("*-*"):
        maker = folder.name.rpartition("-")[2]
        if maker.isdecimal() and not is_running(int(maker)):
            shutil.rmtree(folder, ignore_errors=True)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def scratch(name: str, variant: str) -> Path:
    """A fresh folder beside the entries, on the same file system."""
    sweep()
    folder = root() / "work" / f"{name}-{variant}-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def log(name: str, variant: str) -> Path:
    folder = root() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name}-{variant}.log"


def keep(made: Path, place: Path) -> None:
    """Puts a whole result under its name; an older one of that name goes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    old = place.with_name(f".{place.name}.{os.getpid()}")
    if place.exists():
        place.rename(old)
    made.rename(place)
    shutil.rmtree(old, ignore_errors=True)
