#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Built reasoners as an old cluster would run them: alone in an empty root, on
the system calls of Linux 3.10.

    bigleaf-bench build minisat cadical drat-trim --into bin
    tests/toolchain/check_solvers.py [--seconds=N] bin FILE.cnf...
    tests/toolchain/check_solvers.py bin

Without a file every program in the folder of which a recipe has smoke tests
answers them there, in all variants, switched on and off.

With files every variant of every SAT solver in the folder runs on every file,
switched on and off. Its answer must be the one of the plain variant outside,
exit status and model or core alike. The proofs of those that write some are
checked by drat-trim, the same proof once. A file on which the plain variant
takes more CPU time than N seconds (without the option: 300) is left out for
that solver, and said; a proof on which drat-trim runs ten times as long is said
too.

Needs root, for chroot. Exit status: 0 all agree; 1 one does not; 2 wrong usage;
3 the machine lacks something.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECIPES = HERE.parents[1] / "solvers"
SWITCHES = {
    "plain": ({},),
    "bigleaf": ({}, {"BIGLEAF": "off"}, {"BIGLEAF_PAGES": "base"}),
    "thp": ({}, {"GLIBC_THP_ALWAYS": "1"}),
}
ANSWER = re.compile(r"^(?:[sv] .*|SATISFIABLE|UNSATISFIABLE|SAT|UNSAT)$", re.M)


def from_frat(line: str) -> str:
    """A step of a FRAT proof as one of DRAT, which has neither the formula's
    clauses in it nor their numbers."""
    kind, *words = line.split()
    if kind not in ("a", "d"):
        return ""
    clause = " ".join(words[1 : words.index("0", 1) + 1])
    return f"{clause}\n" if kind == "a" else f"d {clause}\n"


def from_rup(line: str) -> str:
    """PicoSAT's steps are those of DRAT, under a line of its own."""
    return "" if line.startswith("%") else line


@dataclass(frozen=True)
class Solver:
    """A solver's words, and those by which it writes a proof."""

    quiet: tuple[str, ...]
    proof: tuple[str, ...] = ()  # before the file
    proof_after: tuple[str, ...] = ()
    as_drat: Callable[[str], str] | None = None  # a line of its proofs

    @property
    def proves(self) -> bool:
        return bool(self.proof or self.proof_after)

    def words(self, file: str) -> tuple[str, ...]:
        return (*self.quiet, *self.proof, file, *self.proof_after)


DRUP = ("-drup", "-drup-file=proof")
SOLVERS = {
    "minisat": Solver(("-verb=0",)),
    "cadical": Solver(("-q",), ("--no-binary",), ("proof",)),
    "kissat": Solver(("-q",), ("--no-binary",), ("proof",)),
    "glucose": Solver(("-verb=0", "-model"),
                      ("-certified", "-certified-output=proof")),
    "lingeling": Solver(("-q",)),  # its proofs need a build of their own
    "mergesat": Solver(("-verb=0", "-model"), DRUP),
    "maplelcm": Solver(("-verb=0",), DRUP),
    "maplecm": Solver(("-verb=0",), DRUP),
    "picosat": Solver((), ("-r", "proof"), as_drat=from_rup),
    "cryptominisat5": Solver(
        ("--verb=0",), proof_after=("proof",), as_drat=from_frat),
    "clasp": Solver(()),
}  # fmt: skip


class Cage:
    """An empty root, and what puts a program into it."""

    def __init__(self, folder: Path) -> None:
        self.root, self.gate = folder / "root", folder / "old_kernel"
        (self.root / "dev").mkdir(parents=True)
        (self.root / "dev/null").touch()  # which minisat+ cannot do without
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

    def end(
        self, program: Path, words: tuple[str, ...], env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        line = [self.gate, "-r", self.root, f"/{program.name}", *words]
        return subprocess.run(line, env=env, capture_output=True, text=True)

    def run(
        self, program: Path, words: tuple[str, ...], env: dict[str, str]
    ) -> tuple[int, list[str]] | int:
        done = self.end(program, words, env)
        if done.returncode == 77:
            return 77
        return done.returncode, ANSWER.findall(done.stdout)


def outside(
    program: Path, words: tuple[str, ...], seconds: int
) -> tuple[int, list[str]] | None:
    """What the plain variant says without cage and proof; None: too long."""
    done = subprocess.run(
        ["prlimit", f"--cpu={seconds}", program, *words],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    return done.returncode, ANSWER.findall(done.stdout)


class Checker:
    """drat-trim, and what it was asked already."""

    def __init__(self, program: Path, seconds: int) -> None:
        self.program, self.seconds = program, seconds
        self.known: dict[tuple[Path, str], str] = {}

    def verdict(self, solver: Solver, formula: Path, proof: Path) -> str:
        if not proof.exists():
            return "proof REFUSED: there is none"
        if solver.as_drat:
            steps = proof.with_suffix(".drat")
            with proof.open() as source, steps.open("w") as out:
                out.writelines(map(solver.as_drat, source))
            steps.rename(proof)
        with proof.open("rb") as stream:
            key = formula, hashlib.file_digest(stream, "sha256").hexdigest()
        if key not in self.known:
            done = subprocess.run(
                [self.program, formula, proof, "-t", str(self.seconds)],
                capture_output=True, text=True,
            )  # fmt: skip
            if "s VERIFIED" in done.stdout:
                self.known[key] = "proof verified"
            elif "TIMEOUT" in done.stdout:
                self.known[key] = "proof takes too long to check"
            else:
                self.known[key] = "proof REFUSED"
        return self.known[key]


@dataclass
class Bench:
    """Where the solvers run, and what came of it."""

    folder: Path
    cage: Cage
    checker: Checker
    seconds: int
    counts: Counter[str]

    def say(self, outcome: str, what: str) -> None:
        self.counts[outcome] += 1
        print(f"{outcome}: {what}", flush=True)

    def try_one(
        self, name: str, variant: str, env: dict[str, str], formula: Path,
        wanted: tuple[int, list[str]],
    ) -> None:  # fmt: skip
        cage, program = self.cage, self.folder / f"{name}-{variant}"
        solver = SOLVERS[name]
        cage.put(program)
        proof = cage.root / "proof"
        found = cage.run(program, solver.words(cage.put(formula)), env)
        good = found == wanted and wanted[0] in (10, 20)
        verdict = ""
        if good and wanted[0] == 20 and solver.proves:
            verdict = self.checker.verdict(solver, formula, proof)
            self.counts[verdict] += 1
            good = "REFUSED" not in verdict
        proof.unlink(missing_ok=True)
        status = found if isinstance(found, int) else found[0]
        what = f"{name} {variant} {env or ''} {formula.name}: {status} {verdict}"
        self.say("good" if good else "WRONG", what)

    def smoke(self, test: dict) -> None:
        """A smoke test of a recipe, by all variants of its program."""
        name, *rest = test["words"]
        for variant, switches in SWITCHES.items():
            program = self.folder / f"{name}-{variant}"
            if not program.exists():
                continue
            self.cage.put(program)
            words = [re.sub(r"\{([\w.+-]+)\}", self.place, word) for word in rest]
            for env in switches:
                ended = self.cage.end(program, tuple(words), env)
                good = ended.returncode == test["status"] and re.search(
                    test["says"], ended.stdout, re.M)  # fmt: skip
                self.say("good" if good else "WRONG",
                         f"{name} {variant} {env or ''} {' '.join(rest)}: "
                         f"{ended.returncode} {ended.stderr.strip()[:200]}")  # fmt: skip

    def place(self, found: re.Match[str]) -> str:
        return self.cage.put(RECIPES / "smoke" / found[1])

    def check(self, name: str, formula: Path) -> None:
        """All variants of one solver on one file."""
        plain = self.folder / f"{name}-plain"
        words = (*SOLVERS[name].quiet, str(formula))
        wanted = outside(plain, words, self.seconds)
        if wanted is None:
            self.say("left out", f"{name} {formula.name}: {self.seconds} s")
            return
        for variant, switches in SWITCHES.items():
            if (self.folder / f"{name}-{variant}").exists():
                for env in switches:
                    self.try_one(name, variant, env, formula, wanted)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=300, metavar="N")
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE")
    own = parser.parse_args()
    names = [n for n in SOLVERS if (own.folder / f"{n}-plain").exists()]
    trim = own.folder / "drat-trim-plain"
    if own.files and not trim.exists() and any(SOLVERS[n].proves for n in names):
        print(f"check_solvers.py: no {trim}: bigleaf-bench build drat-trim "
              f"--into {own.folder}", file=sys.stderr)  # fmt: skip
        return 3
    with tempfile.TemporaryDirectory() as scratch:
        checker = Checker(trim, 10 * own.seconds)
        cage = Cage(Path(scratch))
        bench = Bench(own.folder, cage, checker, own.seconds, Counter())
        if not own.files:
            for recipe in sorted(RECIPES.glob("*.toml")):
                for test in tomllib.loads(recipe.read_text())["smoke"]:
                    bench.smoke(test)
        for file in own.files:
            for name in names:
                bench.check(name, file)
    print(", ".join(f"{n} {what}" for what, n in sorted(bench.counts.items())))
    return bool(bench.counts["WRONG"])


if __name__ == "__main__":
    sys.exit(main())
