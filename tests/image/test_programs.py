# SPDX-License-Identifier: MIT
"""At least 95 % of the whole 2 MiB units of text and read-only data are huge,
and the output is what it was."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from image_kit import (Checks, coverage_of, environment, generate_program, run_command,
                       shadow_root, waiting)

SMT = "(declare-const x Int)(assert (> (* x x) 50))(check-sat)(get-model)\n"
CNF = "p cnf 3 2\n1 2 0\n-1 3 0\n"
CXX = "template<int n> int f(){return f<n-1>()+n;}template<>int f<0>(){return 0;}\n" \
      "int main(){return f<50>();}\n"
PYTHON = "import re, sys; print(sys.stdin.read().upper())"


def cc1plus() -> str | None:
    if not shutil.which("g++"):
        return None
    path = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True,
                          text=True, check=False).stdout.strip()
    return path if Path(path).is_file() else None


def known_programs() -> list[tuple[str, list[str], str]]:
    """Name, command, input."""
    wanted = [
        ("z3", ["z3", "-in"], SMT),
        ("cvc5", ["cvc5", "--lang=smt2", "--produce-models", "-"], "(set-logic ALL)" + SMT),
        ("python3", ["/usr/bin/python3", "-c", PYTHON], "abc\n"),
        ("python3 of these tests", [sys.executable, "-c", PYTHON], "abc\n"),
        ("swipl", ["swipl", "-q", "-g", "read(X),read(_),print(X),nl", "-t", "halt"], "f(x).\n"),
        ("cadical", ["cadical", "-q", "-"], CNF),
        ("clang", ["clang", "-x", "c++", "-S", "-o", "-", "-"], CXX),
    ]
    found = [(n, [shutil.which(c[0]) or "", *c[1:]], t) for n, c, t in wanted
             if shutil.which(c[0])]
    compiler = cc1plus()
    if compiler:
        found.append(("cc1plus", [compiler, "-quiet", "-O2", "-o", "-"], CXX))
    return found


def plain_output(command: list[str], text: str) -> tuple[int, bytes]:
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
    return done.returncode, done.stdout


def check(checks: Checks, root: Path, name: str, command: list[str], text: str) -> None:
    expected = plain_output(command, text)
    results = []

    def look() -> tuple[bool, str]:
        with waiting(run_command() + command, environment(root, BIGLEAF_VERBOSE="1"),
                     text) as process:
            covered = coverage_of(process.pid)
            process.stdin.close()
            output = process.stdout.read()
            said = process.stderr.read().decode() if covered.share < 0.95 else ""
            results.append((process.wait(), output))
        return covered.share >= 0.95, (
            f"{name}: {covered.huge >> 20} of {covered.units >> 20} MiB huge {said}".rstrip())

    checks.expect_huge(look)
    checks.expect(all(result == expected for result in results),
                  f"{name}: output and status unchanged")


def main() -> None:
    checks = Checks()
    with shadow_root() as root, tempfile.TemporaryDirectory() as scratch:
        for name, command, text in known_programs():
            check(checks, root, name, command, text)
        for name, flags in (("pie", ["-pie", "-fPIE"]), ("fixed", ["-no-pie"]),
                            ("static", ["-static", "-no-pie"]),
                            ("static-pie", ["-static-pie", "-fPIE"])):
            program = generate_program(Path(scratch), name, 64, flags)
            check(checks, root, f"64 MiB of text, {name}", [str(program)], "")
            program.unlink()
    checks.finish()


if __name__ == "__main__":
    main()
