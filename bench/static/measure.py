#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Static programs under `bigleaf run` and without it, in turn, as a table.

    measure.py [--command=bigleaf] [--runs=5] [--core=N] [NAME=COMMAND...]

Measures the hash table of table.c, table.go and table.rs, 500 MB of it, as
compiled here for glibc, musl, Go and Rust; and each COMMAND, such as
"minisat=./minisat -verb=0 large.cnf". A program whose glibc knows the tunable
is measured twice: with it, and as a program of an older glibc, which a copy
with the tunable under another name stands for. Each row is one `bigleaf
compare`: processor time and peak memory are ratios, the median of the runs,
with the interval of the first; coverage is the kernel's, at the peak; of text,
of whole units.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
UNIT = 2 << 20
TUNABLE = b"glibc.malloc.hugetlb"
COMPILERS = {
    "glibc": ["gcc", "-O2", "-static", "-o", "OUT", "table.c"],
    "musl": ["musl-gcc", "-O2", "-static", "-o", "OUT", "table.c"],
    "go": ["go", "build", "-o", "OUT", "table.go"],
    "rust": ["rustc", "-O", "-C", "target-feature=+crt-static", "-o", "OUT", "table.rs"],
}
HEAD = "| program | heap | CPU s | CPU ratio | MiB | memory ratio | heap | text | output |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--command", default=shutil.which("bigleaf"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--core", help="run on this processor only")
    parser.add_argument("--nodes", default="8000000", help="of the tables, 64 bytes each")
    parser.add_argument("--looks", default="8000000", help="chains that are walked")
    parser.add_argument("--only", help="names of programs, with commas")
    parser.add_argument("programs", nargs="*", metavar="NAME=COMMAND")
    found = parser.parse_args()
    if not found.command:
        parser.error("no bigleaf in PATH; name it by --command")
    return found


def tables(folder: Path, sizes: list[str]) -> Iterator[tuple[str, list[str]]]:
    for name, words in COMPILERS.items():
        program = folder / f"table-{name}"
        if not shutil.which(words[0]):
            print(f"table {name}: left out, no {words[0]}", file=sys.stderr)
            continue
        subprocess.run([str(program) if word == "OUT" else word for word in words], cwd=HERE,
                       env={**os.environ, "CGO_ENABLED": "0"}, check=True)
        yield f"table {name}", [str(program), *sizes]


def with_older_glibc(folder: Path, name: str,
                     words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The program, and, where its glibc knows the tunable, one that does not."""
    yield name, words
    contents = Path(words[0]).read_bytes()
    if TUNABLE in contents:
        older = folder / (Path(words[0]).name + "-older")
        older.write_bytes(contents.replace(TUNABLE, TUNABLE[:-3] + b"xxx"))
        older.chmod(0o755)
        yield f"{name} on an older glibc", [str(older), *words[1:]]


def whole_units(program: str) -> int:
    """Of segments that are not written."""
    listed = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True,
                            check=True).stdout
    units = 0
    for line in listed.splitlines():
        found = re.match(r"\s*LOAD\s+\S+\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s+([R E]+W?[ E]*) 0x", line)
        if found and "W" not in found[3]:
            start, size = int(found[1], 16), int(found[2], 16)
            units += max(0, (start + size) // UNIT - -(-start // UNIT))
    return units


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def compare(words: list[str], options: argparse.Namespace, folder: Path) -> dict | None:
    """What one `bigleaf compare` found; None, and why on standard error, where it
    measured nothing."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)  # that of the program before
    pinned = ["taskset", "-c", options.core] if options.core else []
    done = subprocess.run([*pinned, options.command, "compare", "-n", str(options.runs),
                           "--image=on", f"--json={result}", "--", *words], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not result.exists():
        print(f"measure.py: {done.stderr.strip() or 'bigleaf compare failed'}", file=sys.stderr)
        return None
    return json.loads(result.read_text())


def row(name: str, words: list[str], options: argparse.Namespace, folder: Path) -> str:
    found = compare(words, options, folder)
    if not found:
        return f"| {name}" + " | -" * 7 + " | FAILED |"
    ours = [run for run in found["runs"] if run["variant"] == "bigleaf"]
    base = [run for run in found["runs"] if run["variant"] == "base"]
    cpu, memory = found["ratio"]["cpu"], found["ratio"]["peak_rss"]
    heap, text = ours[-1]["regions"]["heap"], ours[-1]["regions"]["text"]
    seconds = base[-1]["user_seconds"] + base[-1]["system_seconds"]
    same = found["same_output"] and found["same_exit"]
    return " | ".join([
        f"| {name}", ours[-1]["mechanisms"]["heap"], f"{seconds:.1f}",
        f"{cpu['median']:.2f} ({cpu['low']:.2f} to {cpu['high']:.2f})",
        f"{base[-1]['peak_rss_kib'] / 1024:.0f}", f"{memory['median']:.2f}",
        percent(heap["huge_bytes"], heap["bytes"]),
        percent(text["huge_bytes"], whole_units(words[0]) * UNIT),
        "same |" if same else "DIFFERENT |"])


def main() -> int:
    options = arguments()
    named = [(name, shlex.split(words)) for name, _, words in
             (program.partition("=") for program in options.programs)]
    print(HEAD + "\n" + "|---" * 9 + "|", flush=True)
    faults = 0
    with tempfile.TemporaryDirectory(prefix="bigleaf-static-") as name:
        folder = Path(name)
        for program in [*named, *tables(folder, [options.nodes, options.looks])]:
            for one, words in with_older_glibc(folder, *program):
                if options.only and one not in options.only.split(","):
                    continue
                line = row(one, words, options, folder)
                faults += not line.endswith(" same |")
                print(line, flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
