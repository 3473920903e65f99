# SPDX-License-Identifier: MIT
"""What the tests of the command share: where things are, how to run them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest
from huge_pages import FAULT, refused

COMMAND = Path(os.environ["BIGLEAF_COMMAND"])
LIBRARY = os.environ.get("BIGLEAF_LIBRARY", "")
PROGRAMS = Path(os.environ["BIGLEAF_PROGRAMS"])
REGIONS = {"heap", "text", "data", "stack", "other"}
KEYS = {
    "schema",
    "command",
    "exit_status",
    "wall_seconds",
    "user_seconds",
    "system_seconds",
    "peak_rss_kib",
    "minor_faults",
    "huge_coverage",
    "regions",
    "mechanisms",
    "fallbacks",
}


T = TypeVar("T")


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str


class Bigleaf:
    """Runs the command; `env` adds to an environment without Bigleaf's own."""

    def __call__(
        self,
        *words: str | Path,
        env: dict[str, str] | None = None,
        stdin: str | None = None,
        before: tuple[str, ...] = (),
        cwd: Path | None = None,
        timeout: float = 60,
    ) -> Ended:
        done = subprocess.run(
            [*before, COMMAND, *words],
            env=self.environment(env),
            cwd=cwd,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    @staticmethod
    def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
        """Ours without what would change the outcome, and `extra`."""
        own = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("BIGLEAF")
            and name not in ("LD_PRELOAD", "GLIBC_TUNABLES")
        }
        if LIBRARY:
            own["BIGLEAF_LIB"] = LIBRARY
        # A command that ends on an error leaves its memory to the kernel.
        own["ASAN_OPTIONS"] = "detect_leaks=0"
        return own | (extra or {})


@pytest.fixture
def bigleaf() -> Bigleaf:
    return Bigleaf()


@pytest.fixture
def library() -> str:
    """The preload library; skips where this build has none."""
    if not LIBRARY:
        pytest.skip("this build has no preload library (sanitizers)")
    return LIBRARY


@pytest.fixture
def unsanitized() -> None:
    """Skips where a sanitizer needs what the test takes away."""
    if os.environ.get("BIGLEAF_SANITIZE"):
        pytest.skip("the sanitizer itself cannot live here")


@pytest.fixture
def programs() -> Path:
    return PROGRAMS


def while_huge_pages_last(measure: Callable[[], T]) -> T:
    """What `measure` finds, anew where free memory was in pieces meanwhile.

    In the end its last finding, whatever the kernel had: the test judges it.
    """
    for _ in range(10):
        before = refused(FAULT)
        found = measure()
        if refused(FAULT) == before:
            break
        time.sleep(1)
    return found


def one_line(text: str) -> str:
    """The text, which must be a single line."""
    assert text.endswith("\n") and text.count("\n") == 1, text
    return text[:-1]


def report_of(
    bigleaf: Bigleaf,
    tmp_path: Path,
    *words: str | Path,
    env: dict[str, str] | None = None,
    before: tuple[str, ...] = (),
) -> dict:
    """The JSON report of one run, whose form is checked on the way."""
    file = tmp_path / "report.json"
    bigleaf("run", f"--report={file}", "--json", *words, env=env, before=before)
    report = json.loads(file.read_text())
    assert report.keys() >= KEYS
    assert report["schema"] == "bigleaf.run/1"
    assert report["regions"].keys() == REGIONS
    for region in report["regions"].values():
        assert 0 <= region["huge_bytes"] <= region["bytes"]
    assert report["mechanisms"]["heap"] in (
        "bigleaf",
        "glibc-tunable",
        "injected",
        "none",
    )
    assert report["mechanisms"]["text"] in (
        "shadow",
        "anonymous",
        "file",
        "none",
    )
    for part in report["fallbacks"]:
        assert part["region"] in REGIONS
        assert part["object"]
        assert part["reason"]
    return report


def thp_can_be_had(bigleaf: Bigleaf) -> bool:
    return bigleaf("doctor").status == 0
