# SPDX-License-Identifier: MIT
"""perf and gdb show the function names that they show without Bigleaf.

`rooted` makes the directory of the shadows: on tmpfs here, elsewhere in
test_pool.py.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from image_kit import (Checks, environment, forget_cache, is_shadow, preloaded, read_smaps,
                       run_command, shadow_root, skip_case, waiting)

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define SKIP(n) __asm__ volatile("jmp 1f\n.skip " #n ",0x90\n1:")
__attribute__((noinline)) unsigned first_loop(unsigned n) {
    unsigned x = 1;
    for (unsigned i = 0; i < n; i++) x = x * 1664525u + 1013904223u + (x >> 7);
    return x; }
__attribute__((noinline)) int gap_one(int x) { SKIP(5242880); return x + 1; }
__attribute__((noinline)) unsigned hot_loop(unsigned n) {
    unsigned x = 1;
    for (unsigned i = 0; i < n; i++) x = x * 22695477u + 1u + (x >> 5);
    return x; }
__attribute__((noinline)) int gap_two(int x) { SKIP(4194304); return x + 1; }
__attribute__((noinline)) void last_words(int how) {
    char c;
    fflush(stdout);
    if (how == 1) abort();
    if (how == 2) while (read(0, &c, 1) > 0); }
int main(int argc, char **argv) {
    unsigned n = (unsigned)atoi(argv[1]) * 1000000u;
    unsigned x = hot_loop(n) + first_loop(n / 8);
    printf("%u\n", x + (unsigned)gap_one(argc) + (unsigned)gap_two(argc));
    last_words(atoi(argv[2]));
    return 0; }
"""

Rooted = Callable[[], AbstractContextManager[Path]]

KINDS = {"pie": ["-pie", "-fPIE"], "fixed": ["-no-pie"], "static": ["-static", "-no-pie"]}


def build(scratch: Path, name: str, flags: list[str]) -> str:
    source = scratch / "hot.c"
    source.write_text(SOURCE)
    program = scratch / f"hot-{name}"
    subprocess.run(["gcc", "-O1", "-g", "-w", "-o", program, source, *flags], check=True)
    forget_cache(program)
    return str(program)


def perf_works(scratch: Path) -> bool:
    return bool(shutil.which("perf")) and subprocess.run(
        ["perf", "record", "-q", "-e", "cpu-clock", "-o", scratch / "probe", "true"],
        capture_output=True, check=False).returncode == 0


def hottest(scratch: Path, command: list[str], env: dict[str, str]) -> tuple[str, bool]:
    """The symbol with most samples, and whether it was seen in a shadow."""
    data = str(scratch / "perf.data")
    perf = ["perf", "--buildid-dir", str(scratch / "buildids")]
    subprocess.run([*perf, "record", "-q", "-e", "cpu-clock", "-o", data, *command], env=env,
                   check=True, capture_output=True)
    lines = subprocess.run([*perf, "report", "-i", data, "--stdio", "--sort=dso,symbol"],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [line.split() for line in lines if re.match(r"^ +[0-9.]+%", line)]
    return rows[0][3], ".buildid_" in rows[0][1]


def profile(checks: Checks, scratch: Path, name: str, program: str, unrandom: bool,
            rooted: Rooted = shadow_root) -> None:
    prefix = ["setarch", "-R"] if unrandom else []
    with rooted() as root:
        plain, _ = hottest(scratch, [*prefix, program, "400", "0"], dict(os.environ))
        env = environment(root)
        symbol, shadowed = hottest(
            scratch, [*prefix, *run_command(), program, "400", "0"], env)
        how = ", not randomised" if unrandom else ""
        checks.expect(symbol == plain == "hot_loop", f"perf, {name}{how}: {symbol}")
        # What comes from a pool is moved there, which perf does not see.
        if name != "fixed" and rooted is shadow_root:
            checks.expect(shadowed, f"perf, {name}{how}: the samples lie in a shadow")


def gdb(*arguments: str, env: dict[str, str] | None = None) -> str:
    return subprocess.run(["gdb", "-q", "-nx", "-batch", "-iex", "set debuginfod enabled off",
                           *arguments], env=env, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL).stdout


def debug(checks: Checks, name: str, program: str, rooted: Rooted = shadow_root) -> None:
    with rooted() as root:
        # From the start, the breakpoint set before it.
        settings = [f"set environment {k} {v}" for k, v in preloaded(root).items()
                    if k.startswith("BIGLEAF") or k == "LD_PRELOAD"]
        arguments = [word for line in ["set breakpoint pending on", *settings, "break hot_loop",
                                       "run 1 0", "backtrace", "continue"]
                     for word in ("-ex", line)]
        told = gdb(*arguments, program)
        checks.expect("Breakpoint 1, hot_loop" in told and re.search(r"#1 .* main \(", told)
                      is not None and "exited normally" in told,
                      f"gdb, {name}: breakpoint by name, backtrace, end")
        # Attached to one that runs on its shadow.
        with waiting([*run_command(), program, "1", "2"], environment(root)) as process:
            if name != "fixed":
                checks.expect(any(is_shadow(m.path) for m in read_smaps(process.pid)),
                              f"gdb, {name}: attached to a shadow")
            told = gdb("-p", str(process.pid), "-ex", "backtrace", "-ex",
                       "info symbol hot_loop", "-ex", "x/i hot_loop")
            checks.expect(all(word in told for word in ("last_words", "main (", "<hot_loop>")),
                          f"gdb, {name}: backtrace of a running program")


def dump(checks: Checks, scratch: Path, name: str, program: str,
         rooted: Rooted = shadow_root) -> None:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith("|") or "/" in pattern:
        skip_case(f"core dumps go to {pattern}")
        return
    def allow() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    place = scratch / "dump"
    place.mkdir()
    with rooted() as root:
        subprocess.run([*run_command(), program, "1", "1"], cwd=place, env=environment(root),
                       preexec_fn=allow, check=False, capture_output=True)
    # The shadow is gone by now, as it may be when a dump is looked at.
    cores = list(place.iterdir())
    told = gdb(program, str(cores[0]), "-ex", "backtrace", "-ex", "x/i hot_loop") if cores else ""
    checks.expect(all(word in told for word in ("last_words", "main (", "<hot_loop>")),
                  f"gdb, {name}: core dump opened without its shadow")
    shutil.rmtree(place)


def names(checks: Checks, scratch: Path, rooted: Rooted = shadow_root) -> None:
    with_perf = perf_works(scratch)
    for name, flags in KINDS.items():
        program = build(scratch, name, flags)
        if with_perf:
            profile(checks, scratch, name, program, False, rooted)
            if name == "pie":
                profile(checks, scratch, name, program, True, rooted)
        if shutil.which("gdb"):
            if name != "static":
                debug(checks, name, program, rooted)
            dump(checks, scratch, name, program, rooted)


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        names(checks, Path(directory))
    checks.finish()


if __name__ == "__main__":
    main()
