#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The counts of the source's Table I, for the programs that are generated.

calls, nodes of call tries, unique answers, repeated ones, nodes of answer
tries: they follow from the programs and must come out exactly, under every
design, lock scheme and allocator; after runs in many threads, too.
"""
import json
import subprocess
import sys

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
KEYS = ("calls", "call_nodes", "unique", "repeated", "answer_nodes")

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


def main() -> int:
    binary = sys.argv[1]
    failures = 0
    for i, (program, want) in enumerate(TABLE1.items()):
        chosen = CONFIGURATIONS if program == "left-grid" else [
            CONFIGURATIONS[0], CONFIGURATIONS[1 + i % 5]]
        for tables, locks, alloc, threads in chosen:
            command = [binary, "bench", "run", f"--program={program}", f"--tables={tables}",
                       f"--locks={locks}", f"--alloc={alloc}", f"--threads={threads}"]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            have = tuple(json.loads(run.stdout)[k] for k in KEYS) if run.returncode == 0 else None
            if have != want:
                failures += 1
                print(f"{' '.join(command)}: {have}, not {want} {run.stderr}")
    print(f"{len(TABLE1)} programs, {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
