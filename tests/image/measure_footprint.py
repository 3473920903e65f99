# SPDX-License-Identifier: MIT
"""Time per call against instruction footprint.

Programs with 1 to 64 MiB of text, one function per base page, called in a
shuffled order that visits each once per round. Variants, in turn:
  base       the program as it is, its file in the page cache in base pages
  anonymous  a private copy on huge pages (what iodlr and others make)
  hugetlbfs  libhugetlbfs, HUGETLB_ELFMAP=R, linked as it asks; where it is
             installed, a hugetlbfs is mounted and the pool has free pages
  shadow     the shared copy on huge pages
Each line says what the kernel mapped huge in the very runs that were timed.
Not a test: it prints figures, for a quiet machine, and draws them.

  BIGLEAF_COMMAND=bin/bigleaf BIGLEAF_LIBRARY=lib/libbigleaf.so \\
      python3 tests/image/measure_footprint.py [--figure FILE.svg] [MiB...]
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from image_kit import environment, forget_cache, run_command, shadow_root

RUNS = 7
CALLS = 4_000_000
NAMES = ("base", "anonymous", "hugetlbfs", "shadow")

MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
typedef int function(int);
extern function *const table[];
extern const unsigned count;
static long huge(void) {
    char line[4096]; long sum = 0, x; FILE *f = fopen("/proc/self/smaps", "r");
    int text = 0;
    while (fgets(line, sizeof line, f)) {
        unsigned long a, b; char p[8];
        if (sscanf(line, "%lx-%lx %7s", &a, &b, p) == 3) text = p[2] == 'x';
        else if (text && (sscanf(line, "AnonHugePages: %ld", &x) == 1 ||
                          sscanf(line, "ShmemPmdMapped: %ld", &x) == 1 ||
                          sscanf(line, "Private_Hugetlb: %ld", &x) == 1 ||
                          sscanf(line, "Shared_Hugetlb: %ld", &x) == 1 ||
                          sscanf(line, "FilePmdMapped: %ld", &x) == 1)) sum += x; }
    return sum; }
int main(int argc, char **argv) {
    long calls = atol(argv[argc - 1]); int x = 1; struct timespec a, b;
    for (unsigned i = 0; i < count; i++) x = table[i](x);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (long n = 0; n < calls; n += count)
        for (unsigned i = 0; i < count; i++) x = table[i](x);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double ns = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
    printf("%.4f %ld %d\n", ns / (double)((calls + count - 1) / count * count), huge(), x);
    return 0; }
"""


def build(scratch: Path, mebibytes: int) -> Path:
    """Assembly: a function in each base page, at varying offsets so that all
    sets of the instruction cache are used."""
    count = mebibytes * 256
    order = list(range(count))
    random.Random(1).shuffle(order)
    lines = [".text", ".balign 2097152"]
    for n in range(count):
        lines.append(f".balign 4096\n.skip {n % 60 * 64}\n"
                     f"f{n}: lea {n % 100}(%rdi,%rdi,2), %eax\n ret")
    lines.append(".balign 2097152\n.section .data.rel.ro,\"aw\"\n.globl table\ntable:")
    lines += [f".quad f{n}" for n in order]
    lines.append(f".section .rodata\n.globl count\ncount: .long {count}\n"
                 ".section .note.GNU-stack,\"\",@progbits")
    (scratch / "text.s").write_text("\n".join(lines) + "\n")
    (scratch / "main.c").write_text(MAIN)
    program = scratch / f"footprint-{mebibytes}"
    link(scratch, program)
    return program


def link(scratch: Path, program: Path, *flags: str) -> None:
    subprocess.run(["gcc", "-O2", "-w", "-no-pie", "-o", program, scratch / "main.c",
                    scratch / "text.s", *flags], check=True)
    forget_cache(program)


def has_pool(mebibytes: int) -> bool:
    """For libhugetlbfs: its library, a mount, and free pages."""
    facts = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return (int(facts.get("HugePages_Free", "0")) >= mebibytes // 2 + 8
            and " hugetlbfs rw" in Path("/proc/mounts").read_text()
            and any(Path("/usr/lib").glob("*/libhugetlbfs.so")))


def variants_of(scratch: Path, root: Path, size: int) -> dict[str, tuple[list[str],
                                                                          dict[str, str]]]:
    program = build(scratch, size)
    plain = dict(os.environ)
    found = {
        "base": ([str(program)], plain),
        "anonymous": ([*run_command("--heap=bigleaf"), str(program)],
                      environment(Path("/nowhere"))),
        "shadow": ([*run_command(), str(program)], environment(root)),
    }
    if has_pool(size):
        pool = scratch / "hugetlbfs"
        link(scratch, pool, "-Wl,-z,common-page-size=0x200000", "-Wl,-z,max-page-size=0x200000",
             "-Wl,--no-as-needed", "-lhugetlbfs")
        found["hugetlbfs"] = ([str(pool)], plain | {"HUGETLB_ELFMAP": "R"})
    return found


Figures = dict[str, float]


def measure(scratch: Path, root: Path, size: int) -> tuple[Figures, dict[str, int]]:
    variants = variants_of(scratch, root, size)
    times: dict[str, list[float]] = {name: [] for name in variants}
    huge: dict[str, int] = {}
    for run in range(RUNS + 1):
        for name, (command, env) in variants.items():
            words = subprocess.run([*command, str(CALLS)], env=env, check=True,
                                   capture_output=True, text=True).stdout.split()
            huge[name] = int(words[1]) >> 10
            if run:
                times[name].append(float(words[0]))
    return {name: statistics.median(values) for name, values in times.items()}, huge


def draw(path: Path, rows: dict[int, Figures]) -> None:
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "bigleaf"
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    styles = {"base": "o-", "anonymous": "s--", "hugetlbfs": "^:", "shadow": "D-"}
    for name in NAMES:
        points = [(size, row[name]) for size, row in rows.items() if name in row]
        if points:
            axes.plot(*zip(*points), styles[name], label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(rows), [str(size) for size in rows])
    axes.set(xlabel="MiB of text", ylabel="ns per call")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--figure", type=Path)
    parser.add_argument("sizes", type=int, nargs="*", default=[1, 2, 4, 8, 16, 32, 64])
    arguments = parser.parse_args()
    rows: dict[int, Figures] = {}
    print(f"# {platform.release()} {platform.machine()}, median of {RUNS} runs, ns per call "
          "(MiB of text huge)")
    print(f"{'MiB':>4} " + " ".join(f"{name:>16}" for name in NAMES) + "  base/shadow")
    for size in arguments.sizes:
        with tempfile.TemporaryDirectory() as directory, shadow_root() as root:
            row, huge = measure(Path(directory), root, size)
        cells = [f"{row[n]:>9.2f} ({huge[n]:>3}) " if n in row else f"{'-':>15} " for n in NAMES]
        print(f"{size:>4} " + " ".join(cells) + f"  {row['base'] / row['shadow']:.2f}", flush=True)
        rows[size] = row
    if arguments.figure:
        draw(arguments.figure, rows)


if __name__ == "__main__":
    main()
