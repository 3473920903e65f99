# SPDX-License-Identifier: MIT
"""The model test must find every planted fault and shrink its trace."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# fault, text the report must hold, operations a shrunk trace may have
FAULTS = [
    ("same_block_twice", "slot", 110),
    ("calloc_not_zero", "not zero", 1),
    ("realloc_loses_bytes", "byte 999", 2),
    ("alignment_ignored", "not aligned", 4),
    ("crash_in_other_thread", "signal 6", 2),
    ("free_changes_errno", "errno", 2),
]


def operations(trace: Path) -> int:
    lines = trace.read_text().splitlines()
    return sum(1 for line in lines if line and not line.startswith("#"))


def check(program: str, fault: str, text: str, most: int) -> str | None:
    env = dict(os.environ, MODEL_FAULT=fault)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [program, "--seed", "1", "--traces", "30", "--out", folder],
            env=env, capture_output=True, text=True, timeout=100)
        traces = list(Path(folder).glob("*.trace"))
        if done.returncode != 1 or len(traces) != 1:
            return f"not found: status {done.returncode}\n{done.stdout}"
        if text not in done.stdout:
            return f"reported as something else:\n{done.stdout}"
        if operations(traces[0]) > most:
            return f"shrunk to {operations(traces[0])} operations only"
        again = subprocess.run([program, str(traces[0])], env=env,
                               capture_output=True, text=True, timeout=100)
        if again.returncode != 1:
            return f"the trace does not fail again:\n{again.stdout}"
        env["MODEL_FAULT"] = "none"
        sound = subprocess.run([program, str(traces[0])], env=env,
                               capture_output=True, text=True, timeout=100)
        if sound.returncode != 0:
            return f"the trace fails without the fault:\n{sound.stdout}"
    return None


def main() -> int:
    bad = 0
    for fault, text, most in FAULTS:
        wrong = check(sys.argv[1], fault, text, most)
        print(f"{fault}: {wrong or 'found'}")
        bad += wrong is not None
    print(f"{len(FAULTS)} faults, {bad} missed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
