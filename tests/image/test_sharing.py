# SPDX-License-Identifier: MIT
"""Physical pages of text are counted once, and a start costs little.

Two processes of one program at once: Pss of the shadow is half its Rss. Times
are of alternating runs; they are printed, and checked only where
BIGLEAF_TEST_QUIET is set: a busy machine says nothing about them.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from image_kit import (Checks, coverage_of, environment, is_shadow, preloaded, read_smaps,
                       run_command, shadow_root, shadows, waiting)

QUIET = "BIGLEAF_TEST_QUIET" in os.environ
RUNS = int(os.environ.get("BIGLEAF_TEST_RUNS", "15"))


def sharing(checks: Checks, root: Path, name: str, command: list[str]) -> None:
    env = environment(root)

    def look() -> tuple[bool, str]:
        good = True
        told = []
        with waiting(run_command() + command, env) as one, \
                waiting(run_command() + command, env) as two:
            for process in (one, two):
                mapped = [m for m in read_smaps(process.pid) if is_shadow(m.path)]
                rss = sum(m.fields["Rss"] for m in mapped)
                pss = sum(m.fields["Pss"] for m in mapped)
                good &= rss > 0 and abs(pss - rss / 2) <= rss * 0.02
                good &= coverage_of(process.pid).share == 1.0
                told.append(f"Rss of its text {rss >> 10} KiB, Pss {pss >> 10} KiB")
        return good, f"{name}: huge, " + "; ".join(told)

    checks.expect_huge(look)


def seconds(command: list[str], env: dict[str, str]) -> float:
    before = time.perf_counter()
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - before


def start_cost(checks: Checks, root: Path, name: str, command: list[str]) -> None:
    """Beside the same start with the runtime preloaded and its image off."""
    variants = {
        "preload": (command, preloaded(root)),
        "preload, image off": (command, preloaded(root, BIGLEAF_IMAGE="off")),
        "run": (run_command() + command, environment(root)),
        "run, image off": ([run_command()[0], "run", "--image=off", "--", *command],
                           environment(root)),
    }
    times: dict[str, list[float]] = {key: [] for key in variants}
    for wanted in variants.values():
        seconds(*wanted)
    for _ in range(RUNS):
        for key, wanted in variants.items():
            times[key].append(seconds(*wanted))
    for key in ("preload", "run"):
        plain = statistics.median(times[f"{key}, image off"])
        more = statistics.median(times[key]) - plain
        print(f"      {name}, {key}: {plain * 1e3:.2f} ms, image on {more * 1e3:+.2f} ms")
    key = "run" if name == "z3" else "preload"
    more = min(times[key]) - min(times[f"{key}, image off"])
    print(f"      {name}, {key}: {more * 1e3:+.2f} ms at best")
    if QUIET:
        checks.expect(more < 0.001, f"{name}: a later start costs under 1 ms more")


def no_second_copy(checks: Checks, root: Path, name: str, command: list[str]) -> None:
    before = [(p.name, p.stat().st_ino, p.stat().st_ctime_ns) for p in shadows(root)]
    for start in (command, run_command() + command):
        subprocess.run(start, env=environment(root), stdout=subprocess.DEVNULL, check=True)
    after = [(p.name, p.stat().st_ino, p.stat().st_ctime_ns) for p in shadows(root)]
    checks.expect(before == after != [], f"{name}: later starts make no copy")


def first_cost(checks: Checks, name: str, command: list[str]) -> None:
    times = []
    for _ in range(5):
        with shadow_root() as root:
            first = seconds(run_command() + command, environment(root))
            second = seconds(run_command() + command, environment(root))
            times.append(first - second)
    cost = statistics.median(times)
    print(f"      {name}: the first start costs {cost * 1e3:.0f} ms more")
    if QUIET:
        checks.expect(cost < 0.05, f"{name}: the first start costs under 50 ms more")


def main() -> None:
    checks = Checks()
    with shadow_root() as root:
        for name, command, version in (
                ("z3", ["z3", "-in"], ["z3", "--version"]),
                ("cvc5", ["cvc5", "--lang=smt2", "-"], ["cvc5", "--version"])):
            path = shutil.which(name)
            if not path:
                continue
            sharing(checks, root, name, [path, *command[1:]])
            start_cost(checks, root, name, [path, *version[1:]])
            no_second_copy(checks, root, name, [path, *version[1:]])
            first_cost(checks, name, [path, *version[1:]])
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
