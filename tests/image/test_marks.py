# SPDX-License-Identifier: MIT
"""Marks set by `bigleaf align` and by bigleaf/huge.h, and what they bring;
data and stack by THP."""

from __future__ import annotations

import filecmp
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from image_kit import (UNIT, Checks, bigleaf, coverage_of, environment, forget_cache,
                       generate_program, is_shadow, preloaded, read_smaps, run_command,
                       shadow_root, waiting)

INCLUDE = Path(__file__).resolve().parents[2] / "include"

SMALL = r"""
#ifdef MARK
#include <bigleaf/huge.h>
#endif
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int gap(int x) {
    __asm__ volatile("jmp 1f\n.skip 204800,0x90\n1:"); return x + 1; }
int main(int argc, char **argv) {
    (void)argv; printf("%d\n", gap(argc)); fflush(stdout);
    char c; while (read(0, &c, 1) > 0); return 0; }
"""

WRITTEN = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char zeros[16 << 20];
static int filled[2 << 20] = {7};
static int deep(int n) {
    volatile char frame[4096]; frame[0] = (char)n;
    if (n) return deep(n - 1) + (frame[0] != (char)n);
    printf("%d %d\n", zeros[5], filled[64]); fflush(stdout);
    char c; while (read(0, &c, 1) > 0);
    return 0; }
int main(void) {
    memset(zeros, 1, sizeof zeros);
    for (int i = 0; i < 2 << 20; i += 64) filled[i]++;
    return deep(1700); }
"""

LAYOUTS = {
    "pie": ["-pie", "-fPIE"], "fixed": ["-no-pie"], "static": ["-static", "-no-pie"],
    "static-pie": ["-static-pie", "-fPIE"], "gold": ["-pie", "-fPIE", "-fuse-ld=gold"],
}


def align(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([bigleaf(), "align", *map(str, arguments)], capture_output=True,
                          text=True, check=False)


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))


def look_shared(program: Path, env: dict[str, str]) -> tuple[bool, str]:
    good = True
    with waiting([str(program)], env) as one, waiting([str(program)], env) as two:
        for process in (one, two):
            mapped = [m for m in read_smaps(process.pid) if is_shadow(m.path)]
            rss = sum(m.fields["Rss"] for m in mapped)
            pss = sum(m.fields["Pss"] for m in mapped)
            good &= coverage_of(process.pid).share == 1.0 and pss * 2 == rss > 0
    return good, "align: huge and shared, by the mark alone"


def interrupt(checks: Checks, scratch: Path, original: Path) -> None:
    """A file that takes long: it is large, and all holes."""
    large = scratch / "large"
    shutil.copy2(original, large)
    os.truncate(large, 4 << 30)
    with subprocess.Popen([bigleaf(), "align", large]) as process:
        while process.poll() is None and not list(scratch.glob("large.*")):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
    left = [p.name for p in scratch.glob("large.*")]
    checks.expect(process.returncode == -signal.SIGINT and not left
                  and large.stat().st_size == 4 << 30,
                  f"align: Ctrl-C leaves nothing behind {left}")
    large.unlink()


def files(checks: Checks, scratch: Path) -> None:
    program = generate_program(scratch, "program", 8, ["-pie", "-fPIE"])
    if os.geteuid() == 0:
        os.chown(program, 12345, 54321)
    original = scratch / "original"
    shutil.copy2(program, original)
    owners = (program.stat().st_uid, program.stat().st_gid)
    expected = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True,
                              check=True).stdout
    checks.expect(align(program).returncode == 0, "align: in place")
    checks.expect(not filecmp.cmp(program, original, False), "align: something changed")
    checks.expect(program.stat().st_mode == original.stat().st_mode, "align: mode kept")
    checks.expect((program.stat().st_uid, program.stat().st_gid) == owners,
                  "align: owner and group kept")
    checks.expect("marked already" in align(program).stderr, "align: a second time is refused")
    output = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True,
                            check=True).stdout
    checks.expect(output == expected, "align: runs without Bigleaf as before")
    forget_cache(program)
    with shadow_root() as root:
        env = preloaded(root, BIGLEAF_IMAGE="auto")
        checks.expect_huge(lambda: look_shared(program, env))
        with waiting([str(program)], preloaded(root, BIGLEAF_IMAGE="off")) as process:
            checks.expect(not any(is_shadow(m.path) for m in read_smaps(process.pid)),
                          "align: BIGLEAF_IMAGE=off overrides the mark")
        with waiting([str(original)], env) as process:
            checks.expect(not any(is_shadow(m.path) for m in read_smaps(process.pid)),
                          "align: without a mark nothing is done")
    checks.expect(align("--undo", program).returncode == 0 and
                  filecmp.cmp(program, original, False), "align --undo: bit by bit as before")
    checks.expect(align("--undo", program).returncode == 2, "align --undo: not twice")
    checks.expect(align("-o", scratch / "copy", program).returncode == 0 and
                  filecmp.cmp(program, original, False), "align -o: the file stays")
    os.link(original, scratch / "second")
    checks.expect(align(original).returncode == 2, "align: a file with two names is refused")
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    refused = align("-o", fifo, program)
    checks.expect(refused.returncode == 2 and str(fifo) in refused.stderr and fifo.is_fifo(),
                  "align -o: what is no plain file stays")
    fifo.unlink()
    missing = scratch / "none" / "x"
    checks.expect(f"{missing}: cannot write" in align("-o", missing, program).stderr,
                  "align -o: names the file that cannot be written")
    for name in (scratch / "full", program):
        cut = subprocess.run([bigleaf(), "align", "-o", name, program], capture_output=True,
                             text=True, check=False, preexec_fn=limit_files)
        checks.expect(cut.returncode == 3 and f"{name}: cannot write: File too large" in cut.stderr
                      and filecmp.cmp(program, original, False),
                      "align: a limit on files' sizes is named, and all is as before")
    interrupt(checks, scratch, original)
    for path, what in ((Path(sys.executable).parent, "a directory"), (Path(__file__), "no ELF"),
                       (scratch / "none", "no file")):
        checks.expect(align(path).returncode == 2, f"align: {what} is refused")
    left = [p.name for p in scratch.iterdir() if "bigleaf-" in p.name]
    checks.expect(not left, f"align: nothing left behind {left}")


def linked(checks: Checks, scratch: Path) -> None:
    source = scratch / "small.c"
    source.write_text(SMALL)
    for name, flags in LAYOUTS.items():
        for mark in ([], ["-DMARK"]):
            program = scratch / "small"
            program.unlink(missing_ok=True)
            if subprocess.run(["gcc", "-O1", f"-I{INCLUDE}", *mark, "-o", program, source,
                               "-Wl,-z,max-page-size=0x200000", *flags], check=False,
                              capture_output=True).returncode:
                print(f"      {name}: cannot be built here")
                continue
            forget_cache(program)
            wish = "auto" if mark else "on"
            with shadow_root() as root:
                env = environment(root, BIGLEAF_IMAGE=wish)
                command = [*run_command(f"--image={wish}"), str(program)]
                checks.expect_huge(lambda: look_small(command, env, f"{name}, {wish}"))


def look_small(command: list[str], env: dict[str, str], name: str) -> tuple[bool, str]:
    with waiting(command, env) as process:
        text = [m for m in read_smaps(process.pid)
                if is_shadow(m.path) and "x" in m.permissions]
        process.stdin.close()
        good = len(text) == 1 and text[0].huge == UNIT and process.stdout.read() == b"2\n"
        return good, f"200 KiB of text, {name}: one huge page, output as it should"


def look_written(program: Path, root: Path, wanted: str) -> tuple[bool, str]:
    env = preloaded(root, BIGLEAF_IMAGE="off", BIGLEAF_DATA=wanted, BIGLEAF_STACK=wanted)
    with waiting([str(program)], env) as process:
        mappings = read_smaps(process.pid)
        first = next(i for i, m in enumerate(mappings) if m.path == str(program))
        last = next(i for i, m in enumerate(mappings[first:], first)
                    if m.end + UNIT < mappings[i + 1].start)
        data = sum(m.huge for m in mappings[first:last + 1])
        stack = sum(m.huge for m in mappings if m.path == "[stack]")
        process.stdin.close()
        good = (data >= 18 << 20 and stack >= 4 << 20 if wanted == "on"
                else data == stack == 0) and process.stdout.read() == b"1 1\n"
        return good, f"data and stack {wanted}: {data >> 20} and {stack >> 20} MiB huge, output"


def written(checks: Checks, scratch: Path) -> None:
    source = scratch / "written.c"
    source.write_text(WRITTEN)
    program = scratch / "written"
    subprocess.run(["gcc", "-O0", "-w", "-o", program, source], check=True)
    with shadow_root() as root:
        for wanted in ("on", "off"):
            checks.expect_huge(lambda: look_written(program, root, wanted))


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        files(checks, scratch)
        linked(checks, scratch)
        written(checks, scratch)
    checks.finish()


if __name__ == "__main__":
    main()
