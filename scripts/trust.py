#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries to break the heap for as long as asked, and writes down what came of
it.

usage: trust.py --build FOLDER [--seconds N] [--out FILE]

The time is shared out among random traces against a model, changed fuzz
inputs under a simulated kernel whose calls fail, and storms of threads and
forks; what takes its own time (each call of the kernel failing in turn, misuse,
hostile kernels) runs once. Exit status 1 where anything failed, and then the
output of what failed is shown and FILE is left as it was.
"""

import argparse
import datetime
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HEAD = """\
# Trust

What was tried to break the heap, and what came of it. Written by one command,
`./dev trust --seconds={seconds}`, on {day}, at commit {commit}, Linux {kernel},
{cores} cores. Not a test of speed: every block's contents are checked.

| what was tried | how much | faults |
|---|---|--:|
"""


@dataclass
class Trial:
    """One program, run in each of the ways in which Bigleaf can be there."""
    what: str
    program: str  # in tests/bin; "_static" is its static twin
    arguments: list
    counted: str  # what the number that `pattern` finds counts
    pattern: str
    share: float  # of the time; 0: takes its own
    ways: tuple = ("preload", "static")


TRIALS = [
    Trial("random traces of the malloc family against a model that checks "
          "every answer and every byte", "model_random", ["--seconds", "{}"],
          "operations", r"(\d+) operations", 0.4, ("preload", "static", "base")),
    Trial("the same against the heap's inside, all invariants walked",
          "model_internal", ["--seconds", "{}"], "operations",
          r"(\d+) operations", 0.1, ("inside",)),
    Trial("changed copies of traces that coverage found, under a simulated "
          "kernel whose calls fail, all invariants walked", "fuzz_replay",
          ["--seconds", "{}", "CORPUS"], "traces", r"(\d+) inputs played", 0.2,
          ("inside",)),
    Trial("storms: 16 threads with remote frees, exchange, short threads, "
          "growth, forks at any moment", "stress_all",
          ["all", "--threads", "16", "--seconds", "{}"], "operations",
          r"(\d+) operations", 0.3),
    Trial("each call of the kernel failing in turn, once and for ever",
          "unit_heap_faults", [], "sets of failures", r"(\d+) passed", 0,
          ("inside",)),
]

# What ctest runs: label, what it is.
SUITES = [
    ("misuse", "bad pointers: double, foreign, interior and stale frees; each "
     "ends with one line that names the fault"),
    ("abi", "the C, POSIX and glibc contracts; hostile kernels: refused calls, "
     "tiny limits, no /proc, no /sys, seccomp"),
]


def environment(way, library):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("BIGLEAF")}
    if way in ("preload", "base"):
        kept["LD_PRELOAD"] = str(library)
    if way == "base":
        kept["BIGLEAF_PAGES"] = "base"
    return kept


def run(command, env):
    """(whether it was well, what it printed)"""
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        print(f"-- failed: {' '.join(map(str, command))}\n{done.stdout}")
    return done.returncode == 0, done.stdout


def expand(arguments, seconds, corpus):
    for argument in arguments:
        if argument == "CORPUS":
            yield from corpus
        else:
            yield argument.format(max(1, round(seconds)))


def carry_out(trial, build, seconds, corpus):
    """(number, runs that failed)"""
    total = failed = 0
    each = seconds * trial.share / len(trial.ways)
    for way in trial.ways:
        program = trial.program + ("_static" if way == "static" else "")
        print(f"== {program}, {way}: {each:.0f} s", flush=True)
        well, output = run(
            [build / "tests/bin" / program,
             *expand(trial.arguments, each, corpus)],
            environment(way, build / "lib/libbigleaf.so"))
        failed += not well
        total += sum(int(n) for n in re.findall(trial.pattern, output))
    return total, failed


def run_suite(label, build):
    print(f"== ctest -L {label}", flush=True)
    _, output = run(["ctest", "--test-dir", build, "-L", f"^{label}$", "-j",
                     str(os.cpu_count())], dict(os.environ))
    found = re.search(r"(\d+) tests failed out of (\d+)", output)
    if found is None:
        sys.exit(f"trust: ctest ran no test of the label {label}")
    return int(found[2]), int(found[1])


def rows(build, seconds):
    """(what, number, what it counts, faults)"""
    corpus = sorted(Path("tests/fuzz/corpus").iterdir())
    for trial in TRIALS:
        number, failed = carry_out(trial, build, seconds, corpus)
        ways = "" if trial.ways == ("inside",) else \
            f" ({', '.join(trial.ways)})"
        yield trial.what + ways, number, trial.counted, failed
    for label, what in SUITES:
        number, failed = run_suite(label, build)
        yield what, number, "tests", failed


def head(seconds):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], text=True,
                            stdout=subprocess.PIPE, check=False).stdout.strip()
    return HEAD.format(seconds=seconds, day=datetime.date.today(),
                       commit=commit or "unknown", cores=os.cpu_count(),
                       kernel=platform.release().split("-")[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("docs/TRUST.md"))
    options = parser.parse_args()
    if options.seconds < 1:
        parser.error(f"--seconds={options.seconds}: at least 1")
    text, faults = head(options.seconds), 0
    for what, number, counted, failed in rows(options.build.resolve(),
                                              options.seconds):
        text += f"| {what} | {number:,} {counted} | {failed} |\n"
        faults += failed + (number == 0)
    if faults:
        sys.exit(f"trust: {faults} of the runs failed; {options.out} is left "
                 "as it was")
    options.out.write_text(text, encoding="utf-8")
    print(f"== written: {options.out}")


if __name__ == "__main__":
    main()
