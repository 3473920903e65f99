#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Built reasoners as an old cluster would run them: alone in an empty root, on
the system calls of Linux 3.10.

    bigleaf-bench build minisat cadical drat-trim --into bin
    tests/toolchain/check_solvers.py bin FILE.cnf...

Every variant of minisat, cadical, kissat, glucose, lingeling, mergesat,
maplelcm and maplecm in the folder runs on every file, switched on and off. Its
answer must be the one of the plain variant outside, exit status and model or
core alike. What cadical and kissat prove is checked by drat-trim, the same
proof once.

Needs root, for chroot. Exit status: 0 all agree; 1 one does not; 2 wrong usage;
3 the machine lacks something.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 900
QUIET = {
    "minisat": ("-verb=0",),
    "cadical": ("-q",),
    "kissat": ("-q",),
    "glucose": ("-verb=0", "-model"),
    "lingeling": ("-q",),
    "mergesat": ("-verb=0", "-model"),
    "maplelcm": ("-verb=0",),
    "maplecm": ("-verb=0",),
}
PROVERS = {"cadical": ("--no-binary",), "kissat": ("--no-binary",)}
SWITCHES = {
    "plain": ({},),
    "bigleaf": ({}, {"BIGLEAF": "off"}, {"BIGLEAF_PAGES": "base"}),
    "thp": ({}, {"GLIBC_THP_ALWAYS": "1"}),
}
ANSWER = re.compile(r"^(?:[sv] .*|SATISFIABLE|UNSATISFIABLE|SAT|UNSAT)$", re.M)


class Cage:
    """An empty root, and what puts a program into it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.gate = folder / "root", folder / "old_kernel"
        self.root.mkdir()
        subprocess.run(
            ["cc", HERE / "old_kernel.c", "-o", self.gate], check=True
        )
        if self.run(self.root / "missing", (), {}) == 77:
            print("check_solvers.py: needs root and seccomp", file=sys.stderr)
            sys.exit(3)

    def put(self, file: Path) -> str:
        """The file's name in the root."""
        place = self.root / file.name
        if not place.exists():
            shutil.copy2(file, place)
        return f"/{file.name}"

    def run(
        self, program: Path, words: tuple[str, ...], env: dict[str, str]
    ) -> tuple[int, list[str]] | int:
        line = [self.gate, "-r", self.root, f"/{program.name}", *words]
        done = subprocess.run(
            line, env=env, capture_output=True, text=True, timeout=SECONDS
        )
        if done.returncode == 77:
            return 77
        return done.returncode, ANSWER.findall(done.stdout)


def outside(program: Path, words: tuple[str, ...]) -> tuple[int, list[str]]:
    done = subprocess.run(
        [program, *words], capture_output=True, text=True, timeout=SECONDS
    )
    return done.returncode, ANSWER.findall(done.stdout)


class Checker:
    """drat-trim, and what it was asked already."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.known: dict[tuple[Path, str], bool] = {}

    def holds(self, formula: Path, proof: Path) -> bool:
        with proof.open("rb") as stream:
            key = formula, hashlib.file_digest(stream, "sha256").hexdigest()
        if key not in self.known:
            done = subprocess.run(
                [self.program, formula, proof, "-t", str(SECONDS)],
                capture_output=True, text=True,
            )  # fmt: skip
            self.known[key] = "s VERIFIED" in done.stdout
        return self.known[key]


def check(
    cage: Cage, checker: Checker, folder: Path, name: str, formula: Path
) -> list[str]:
    """What went wrong with one solver on one file."""
    wanted = outside(folder / f"{name}-plain", (*QUIET[name], str(formula)))
    wrong = []
    for variant, switches in SWITCHES.items():
        program = folder / f"{name}-{variant}"
        if not program.exists():
            continue
        cage.put(program)
        for env in switches:
            words = (*QUIET[name], cage.put(formula))
            proof = cage.root / "proof"
            if name in PROVERS:
                words = (*PROVERS[name], *words, "proof")
            found = cage.run(program, words, env)
            good = found == wanted and wanted[0] in (10, 20)
            verified = ""
            if good and name in PROVERS and wanted[0] == 20:
                good = checker.holds(formula, proof)
                verified = ", proof verified" if good else ", proof refused"
            proof.unlink(missing_ok=True)
            what = f"{name} {variant} {env or ''} {formula.name}"
            print(f"{'good' if good else 'WRONG'}: {what}: {found[0]}{verified}",
                  flush=True)  # fmt: skip
            if not good:
                wrong.append(what)
    return wrong


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    names = [n for n in QUIET if (folder / f"{n}-plain").exists()]
    with tempfile.TemporaryDirectory() as scratch:
        cage = Cage(Path(scratch))
        checker = Checker(folder / "drat-trim-plain")
        wrong = [
            line
            for file in sys.argv[2:]
            for name in names
            for line in check(cage, checker, folder, name, Path(file))
        ]
    print(f"{len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
