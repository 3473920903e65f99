#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The counts of the source's Table I.

calls, nodes of call tries, unique answers, repeated ones, nodes of answer
tries: they follow from the programs and must come out exactly, under every
design, lock scheme and allocator; after runs in many threads, too.

With --full every thread of 1, 2, 8 and 24 counts what it sees itself, under
NS, SS and FS, and a table of the outcomes is printed. Under FS an answer that
another thread was first to find counts as repeated, so there repeated answers
are compared for one thread only. --programs is a folder that
bench/tabling/programs.py filled; with it WordNet's six are counted as well.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KEYS = ("calls", "call_nodes", "unique", "repeated", "answer_nodes")
TABLE1 = {
    "join2": (1, 6, 2476099, 0, 2613660),
    "left-btree": (1, 3, 1966082, 0, 2031618),
    "left-pyramid": (1, 3, 3374250, 1124250, 3377250),
    "left-cycle": (1, 3, 4000000, 2000, 4002001),
    "left-grid": (1, 3, 1500625, 4335135, 1501851),
    "right-btree": (131071, 262143, 3801094, 0, 3997700),
    "right-pyramid": (3000, 6001, 6745501, 2247001, 6751500),
    "right-cycle": (2001, 4003, 8000000, 4000, 8004001),
    "right-grid": (1226, 2453, 3001250, 8670270, 3003701),
}
# unique and repeated only: the source's calls include synsets of a file that
# the programs are made without
WORDNET = {
    "wordnet-clusters": (166877, 161853),
    "wordnet-hypo": (698472, 20341),
    "wordnet-holo": (74838, 54),
    "wordnet-hyper": (698472, 8658),
    "wordnet-tropo": (472, 0),
    "wordnet-mero": (74838, 13),
}

# every design, lock scheme and allocator at least once; threads of the runs
# that come before the one that is counted
CONFIGURATIONS = [
    ("ns", "node", "pages", 1),
    ("ns", "node", "malloc", 2),
    ("ss", "node", "pages", 2),
    ("ss", "array", "malloc", 1),
    ("fs", "node", "pages", 8),
    ("fs", "array", "pages", 2),
]

COUNTS = """
counts :- run, table_counts(%s, L), with_output_to(atom(A), (write(L), nl)), write(A).
"""


def bench_run(binary: str, program: str, tables: str, locks: str, alloc: str,
              threads: int) -> dict[str, int] | str:
    command = [binary, "bench", "run", f"--program={program}", f"--tables={tables}",
               f"--locks={locks}", f"--alloc={alloc}", f"--threads={threads}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(run.stdout) if run.returncode == 0 else " ".join(command) + run.stderr


def check_short(binary: str) -> int:
    failures = 0
    for i, (program, want) in enumerate(TABLE1.items()):
        chosen = CONFIGURATIONS if program == "left-grid" else [
            CONFIGURATIONS[0], CONFIGURATIONS[1 + i % 5]]
        for configuration in chosen:
            have = bench_run(binary, program, *configuration)
            if isinstance(have, str) or tuple(have[k] for k in KEYS) != want:
                failures += 1
                print(f"{program} {configuration}: {have}, not {want}")
    print(f"{len(TABLE1)} programs, {failures} differences")
    return failures


def check_backing(binary: str) -> int:
    """BIGLEAF_PAGES=base leaves no huge page below the tables."""
    os.environ["BIGLEAF_PAGES"] = "base"
    have = bench_run(binary, "left-grid", *CONFIGURATIONS[0])
    os.environ["BIGLEAF_PAGES"] = "none"
    refused = subprocess.run([binary, "-g", "true"], capture_output=True, check=False)
    del os.environ["BIGLEAF_PAGES"]
    if isinstance(have, str) or have["huge_share"] != 0:
        print(f"BIGLEAF_PAGES=base: {have}")
        return 1
    if refused.returncode != 2:
        print(f"BIGLEAF_PAGES=none: exit status {refused.returncode}, not 2")
        return 1
    return 0


@dataclasses.dataclass
class Full:
    """Every program, design and number of threads."""

    binary: str
    folder: pathlib.Path
    programs: pathlib.Path | None
    only: str

    def write_program(self, program: str) -> pathlib.Path:
        folder = [f"--programs={self.programs}"] if self.programs else []
        text = subprocess.run(
            [self.binary, "bench", "program", f"--only={program}", *folder],
            capture_output=True, text=True, check=True).stdout
        tabled = re.search(r":- table (\w+/\d+)", text)
        assert tabled, program
        path = self.folder / f"{program}.pl"
        path.write_text(text + COUNTS % tabled[1], encoding="utf-8")
        return path

    def outcome(self, path: pathlib.Path, want: dict[str, int], tables: str,
                threads: int) -> str:
        """"exact", or what differs."""
        run = subprocess.run(
            [self.binary, f"--tables={tables}", "-t", str(threads), "-g", "counts", str(path)],
            capture_output=True, text=True, check=False)
        lines = run.stdout.splitlines()
        if run.returncode != 0 or len(lines) != threads:
            return f"exit {run.returncode}, {len(lines)} lines"
        for line in lines:
            pairs = (pair.rsplit("-", 1) for pair in line.strip("[]").split(","))
            have = {key: int(value) for key, value in pairs}
            for key, value in want.items():
                shared = tables == "fs" and threads > 1 and key == "repeated"
                if have[key] != value and not shared:
                    return f"{key} {have[key]}, not {value}"
        return "exact"

    def check(self, threads: list[int]) -> int:
        programs = {name: dict(zip(KEYS, want, strict=True)) for name, want in TABLE1.items()}
        if self.programs:
            programs |= {name: {"unique": u, "repeated": r} for name, (u, r) in WORDNET.items()}
        programs = {name: want for name, want in programs.items() if self.only in name}
        failures = 0
        print(f"{'program':18} {'design':6} " + " ".join(f"{n:>8}" for n in threads))
        for name, want in programs.items():
            path = self.write_program(name)
            for tables in ("ns", "ss", "fs"):
                row = [self.outcome(path, want, tables, n) for n in threads]
                failures += sum(cell != "exact" for cell in row)
                print(f"{name:18} {tables:6} " + " ".join(f"{c:>8}" for c in row), flush=True)
        print(f"{len(programs)} programs, {failures} differences")
        return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaflog")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--threads", default="1,2,8,24", help="with --full")
    parser.add_argument("--programs", type=pathlib.Path, help="with --full")
    parser.add_argument("--only", default="", help="with --full: part of a program's name")
    args = parser.parse_args()
    if not args.full:
        return 1 if check_short(args.leaflog) + check_backing(args.leaflog) else 0
    with tempfile.TemporaryDirectory() as folder:
        full = Full(args.leaflog, pathlib.Path(folder), args.programs, args.only)
        return 1 if full.check([int(n) for n in args.threads.split(",")]) else 0


if __name__ == "__main__":
    sys.exit(main())
