# SPDX-License-Identifier: MIT
"""Links small programs statically with libbigleaf.a and runs them bare.

Each is linked with -static and, where the compiler can, as a static PIE;
run as it is, with BIGLEAF=off, and - as root - in an empty root folder where
there is no /proc, no /sys and no /dev.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# source, compiler, what it prints when the runtime serves it
PROGRAMS = [
    ("small.c", "CC", "ours 1, child 0, arena counted"),
    ("small.cc", "CXX", "ours 1, caught 2, aligned 1, 10000"),
]


def run(command: list[str], root: str | None = None,
        **env: str) -> tuple[int, str]:
    def enter() -> None:
        if root is not None:
            os.chroot(root)
            os.chdir("/")
    done = subprocess.run(command, env=env, capture_output=True, text=True,
                          timeout=60, preexec_fn=enter, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def check(compiler: str, source: str, expected: str, library: str,
          mode: str, folder: Path) -> list[str]:
    program = folder / f"{source}{mode}".replace(".", "_")
    link = [compiler, "-O1", "-fno-builtin-malloc", mode, "-pthread",
            "-o", str(program), str(HERE / source), library]
    done = subprocess.run(link, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"the link fails: {done.stderr[-600:]}"]
    wrong = []
    if (got := run([str(program)])) != (0, expected):
        wrong.append(f"got {got}")
    off = run([str(program)], BIGLEAF="off")
    if off[0] != 0:
        wrong.append(f"with BIGLEAF=off: {off}")
    if os.geteuid() == 0:
        if (got := run([f"/{program.name}"], str(folder))) != (0, expected):
            wrong.append(f"without /proc: {got}")
    else:
        print("not root: the run without /proc is left out")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--cxx", default="g++")
    args = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="bigleaf-static-") as name:
        for source, kind, expected in PROGRAMS:
            compiler = args.cc if kind == "CC" else args.cxx
            for mode in ("-static", "-static-pie"):
                wrong = check(compiler, source, expected, args.library, mode,
                              Path(name))
                print(f"{source} {mode}: {'; '.join(wrong) or 'passed'}")
                bad += len(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
