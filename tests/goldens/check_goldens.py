# SPDX-License-Identifier: MIT
"""Compares what must not drift with its golden text.

  exports     the symbols libbigleaf.so defines for others
  fast_path   instructions of malloc, free and the operators by kind
  sizes       sizes and offsets of the structs that the fast paths touch
  startup     memory that /bin/true touches more under the runtime: a bound

--refresh writes the goldens instead of comparing; the change then shows in
the same commit as its cause. fast_path depends on the compiler: its golden
bears the compiler's name, and where there is none for this one the check is
skipped. Exit status: 0 as golden, 1 not, 77 skipped.
"""

from __future__ import annotations

import argparse
import collections
import difflib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
STARTUP_KIB = 1024


class Skipped(Exception):
    """There is nothing to compare with here."""


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True,
                          check=True).stdout


# ------------------------------------------------------------- exports

def exports(args: argparse.Namespace) -> str:
    lines = output("nm", "-D", "--defined-only", args.library).splitlines()
    names = sorted({line.split()[2] for line in lines
                    if len(line.split()) == 3})
    return "\n".join(names) + "\n"


# ----------------------------------------------------------- fast path

FUNCTIONS = ["malloc", "free", "calloc", "_Znwm", "_ZdlPv", "_ZdlPvm"]


def kind_of(name: str, operands: str) -> list[str]:
    """The kinds of one x86-64 instruction in AT&T syntax."""
    if name.startswith("call"):
        return ["calls"]
    if name.startswith("j"):
        return ["jumps"]
    if name.startswith(("nop", "endbr", "xchg   %ax", "cs", "data16")):
        return []
    kinds = []
    memory = re.search(r"\([^)]*\)|%fs:|^0x", operands) is not None
    if memory and not name.startswith("lea"):
        target = re.split(r",(?![^()]*\))", operands)[-1]
        compares = name.startswith(("cmp", "test"))
        to_memory = re.search(r"\(|%fs:", target) is not None
        if to_memory and not compares:
            kinds.append("stores")
            if not name.startswith("mov"):
                kinds.append("loads")
        else:
            kinds.append("loads")
    if name.startswith("lock"):
        kinds.append("atomics")
    return [*kinds, "all"]


def address_and_size(library: str, function: str) -> tuple[int, int]:
    for line in output("nm", "-D", "-S", library).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[3] == function:
            return int(fields[0], 16), int(fields[1], 16)
    raise Skipped(f"{library} has no {function}")


def mix(library: str, function: str) -> str:
    start, size = address_and_size(library, function)
    text = output("objdump", "-d", "--no-show-raw-insn",
                  f"--start-address={start:#x}",
                  f"--stop-address={start + size:#x}", library)
    counts: collections.Counter[str] = collections.Counter()
    for line in text.splitlines():
        match = re.match(r"\s+[0-9a-f]+:\s+(\S+)\s*(.*)$", line)
        if match:
            operands = match.group(2).split("#")[0].strip()
            counts.update(kind_of(match.group(1), operands))
    kinds = ["all", "loads", "stores", "jumps", "calls", "atomics"]
    counts["all"] += counts["jumps"] + counts["calls"]
    return f"{function}: " + ", ".join(f"{k} {counts[k]}" for k in kinds)


def fast_path(args: argparse.Namespace) -> str:
    if platform.machine() != "x86_64":
        raise Skipped("the mix is read from x86-64 code")
    if args.build_type != "Release":
        raise Skipped("the mix is that of a release build")
    return "\n".join(mix(args.library, f) for f in FUNCTIONS) + "\n"


# ---------------------------------------------------- sizes and startup

def sizes(args: argparse.Namespace) -> str:
    if not args.sizes_program:
        raise Skipped("the program that prints them was not built")
    return output(args.sizes_program)


def touched_kib(env: dict[str, str]) -> int:
    """Memory that /bin/true touches, by its faults: median of nine runs."""
    faults = []
    for _ in range(9):
        pid = os.fork()
        if pid == 0:
            os.execve("/bin/true", ["true"], env)
        usage = os.wait4(pid, 0)[2]
        # A base page each. The peak itself would hold the pages that the
        # child had of this process before exec.
        faults.append(usage.ru_minflt * 4)
    return sorted(faults)[len(faults) // 2]


def startup(args: argparse.Namespace) -> str:
    plain = touched_kib({"LC_ALL": "C"})
    ours = touched_kib({"LC_ALL": "C", "LD_PRELOAD": args.library})
    print(f"/bin/true touches {plain} KiB, {ours} KiB under the runtime")
    within = "within" if ours - plain <= STARTUP_KIB else "over"
    return f"{within} {STARTUP_KIB} KiB more\n"


# -----------------------------------------------------------------------

CHECKS: dict[str, Callable[[argparse.Namespace], str]] = {
    "exports": exports, "fast_path": fast_path, "sizes": sizes,
    "startup": startup}


def golden_of(name: str, args: argparse.Namespace) -> Path:
    if name == "fast_path":
        return HERE / f"{name}.{args.compiler}.txt"
    return HERE / f"{name}.txt"


def check(name: str, args: argparse.Namespace) -> bool:
    text = CHECKS[name](args)
    golden = golden_of(name, args)
    if args.refresh:
        golden.write_text(text)
        print(f"written: {golden.name}")
        return True
    if not golden.exists():
        raise Skipped(f"no golden for this compiler ({golden.name})")
    expected = golden.read_text()
    if text == expected:
        return True
    sys.stdout.writelines(difflib.unified_diff(
        expected.splitlines(True), text.splitlines(True), golden.name, "now"))
    print("Where the change is meant: the target refresh_goldens.")
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--sizes-program", default="")
    parser.add_argument("--compiler", default="unknown")
    parser.add_argument("--build-type", default="Release")
    parser.add_argument("--refresh", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    verdicts = []
    for name in args.names or list(CHECKS):
        try:
            ok = check(name, args)
        except Skipped as why:
            print(f"skipped {name}: {why}")
            verdicts.append(77)
            continue
        print(f"{'passed ' if ok else 'FAILED '} {name}")
        verdicts.append(0 if ok else 1)
    if 1 in verdicts:
        return 1
    return 77 if set(verdicts) == {77} else 0


if __name__ == "__main__":
    sys.exit(main())
