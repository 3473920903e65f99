# SPDX-License-Identifier: MIT
"""Time per call against instruction footprint.

Programs with 1 to 64 MiB of text, one function per base page, called in a
shuffled order that visits each once per round. Variants, in turn:
  base       the program as it is, its file in the page cache in base pages
  anonymous  a private copy on huge pages (what iodlr and others make)
  shadow     the shared copy on huge pages
Each line says what the kernel mapped huge in the very runs that were timed.
Not a test: it prints figures, for a quiet machine.

  BIGLEAF_COMMAND=bin/bigleaf BIGLEAF_LIBRARY=lib/libbigleaf.so \\
      python3 tests/image/measure_footprint.py [MiB...]
"""

from __future__ import annotations

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
    subprocess.run(["gcc", "-O2", "-w", "-no-pie", "-o", program, scratch / "main.c",
                    scratch / "text.s"], check=True)
    forget_cache(program)
    return program


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or [1, 2, 4, 8, 16, 32, 64]
    print(f"# {platform.release()} {platform.machine()}, median of {RUNS} runs, ns per call "
          "(MiB of text huge)")
    print(f"{'MiB':>4} {'base':>16} {'anonymous':>16} {'shadow':>16}  base/shadow")
    with tempfile.TemporaryDirectory() as directory, shadow_root() as root:
        for size in sizes:
            program = build(Path(directory), size)
            variants = {
                "base": ([str(program)], dict(os.environ)),
                "anonymous": ([*run_command("--heap=bigleaf"), str(program)],
                              environment(Path("/nowhere"))),
                "shadow": ([*run_command(), str(program)], environment(root)),
            }
            times: dict[str, list[float]] = {name: [] for name in variants}
            huge: dict[str, int] = {}
            for run in range(RUNS + 1):
                for name, (command, env) in variants.items():
                    words = subprocess.run([*command, "40000000"], env=env, check=True,
                                           capture_output=True, text=True).stdout.split()
                    huge[name] = int(words[1]) >> 10
                    if run:
                        times[name].append(float(words[0]))
            median = {name: statistics.median(values) for name, values in times.items()}
            print(f"{size:>4} " + " ".join(f"{median[n]:>9.2f} ({huge[n]:>3}) " for n in variants) +
                  f"  {median['base'] / median['shadow']:.2f}", flush=True)
            program.unlink()


if __name__ == "__main__":
    main()
