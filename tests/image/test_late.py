# SPDX-License-Identifier: MIT
"""Libraries that dlopen brings: their text goes onto huge pages when their
first function is looked up; dlopen and dlsym do what they did for who calls."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from image_kit import (Checks, coverage_of, forget_cache, is_shadow, preloaded, read_smaps,
                       shadow_root, skip_case, waiting)

# 8 MiB of text, of which a function at either end answers.
LARGE = r"""
__attribute__((noinline)) int first(int x) { return x + 1; }
void gap(void) { __asm__ volatile("jmp 1f\n.skip 8388608,0x90\n1:"); }
int large(int x) { return first(x) * 3; }
"""

# Found by the search path of the library that asks, and by no other.
ASKER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
int which(void) { return 1; }
int next_of_asker(void) {
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "which");
    return next ? next() : -1; }
void *open_large(void) { return dlopen("liblarge.so", RTLD_NOW | RTLD_LOCAL); }
"""

NEXT = "int which(void) { return 2; }\n"

MAIN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int which(void); int next_of_asker(void); void *open_large(void);
static void *idle(void *p) { pause(); return p; }
/* As one that reads symbols does. */
static void look_into(const char *file) {
    const int fd = open(file, O_RDONLY);
    if (mmap(NULL, 8 << 20, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED) exit(1);
    close(fd); }
int main(int argc, char **argv) {
    pthread_t thread;
    look_into(argv[2]);
    if (argc > 1 && atoi(argv[1])) pthread_create(&thread, NULL, idle, NULL);
    printf("%d %d %s\n", which(), next_of_asker(), dlopen("liblarge.so", RTLD_NOW) ? "?" : "none");
    dlerror();
    for (int round = 0; round < 3; round++) {
        void *library = open_large();
        if (!library) { puts(dlerror()); return 1; }
        int (*large)(int) = (int (*)(int))dlsym(library, "large");
        void *missing = dlsym(library, "missing");
        printf("%d %d %d\n", large ? large(round) : -1, missing != NULL, dlerror() != NULL);
        if (round < 2) dlclose(library); }
    fflush(stdout);
    char c; while (read(0, &c, 1) > 0);
    return 0; }
"""


def compile_c(output: Path, text: str, *flags: str) -> Path:
    source = output.with_suffix(".c")
    source.write_text(text)
    subprocess.run(["gcc", "-O1", "-w", "-o", output, source, *flags], check=True)
    forget_cache(output)
    return output


def build(scratch: Path) -> tuple[str, str]:
    """The program, and a library that it reads as data."""
    inner = scratch / ("i" * 150) / ("j" * 150)  # more than many expect of a path
    inner.mkdir(parents=True)
    shared = ("-shared", "-fPIC")
    compile_c(inner / "liblarge.so", LARGE, *shared)
    data = compile_c(scratch / "data.so", LARGE, *shared)
    compile_c(scratch / "libnext.so", NEXT, *shared)
    search = f"-Wl,-rpath,$ORIGIN/{inner.relative_to(scratch)}"
    compile_c(scratch / "libasker.so", ASKER, *shared, search, "-ldl", f"-L{scratch}",
              "-Wl,--no-as-needed", "-lnext")
    program = compile_c(scratch / "program", MAIN, f"-L{scratch}", "-Wl,-rpath,$ORIGIN",
                        "-Wl,-rpath-link", f"-Wl,{scratch}", "-Wl,--no-as-needed", "-lasker",
                        "-lnext", "-ldl", "-pthread")
    return str(program), str(data)


def look(program: str, data: str, root: Path, threads: str) -> tuple[bool, str]:
    command = [program, threads, data]
    expected = subprocess.run(command, stdin=subprocess.DEVNULL, check=True,
                              capture_output=True).stdout
    with waiting(command, preloaded(root, BIGLEAF_VERBOSE="1")) as process:
        maps = read_smaps(process.pid)
        covered = coverage_of(process.pid)
        mapped = any(is_shadow(m.path) for m in maps)
        kept = [m.end - m.start for m in maps if m.path == data]
        process.stdin.close()
        output = process.stdout.read()
        said = process.stderr.read().decode()
    if threads == "0":
        good = mapped and 2 * covered.huge == covered.units  # the other half is data
    else:
        good = not mapped and "threads run" in said
    told = f"{threads} threads beside: {covered.huge >> 20} of {covered.units >> 20} MiB huge"
    good &= output == expected and kept == [8 << 20]
    return good, told if good else f"{told}: {output!r} {said!r}"


# One whose text is changed in memory, by nobody known, and whose data is not.
CHANGED = r"""
#include <fcntl.h>
#include <unistd.h>
__asm__(".section .rodata\nmany: .skip 8388608,1\n.text\n");
void gap(void) { __asm__ volatile("jmp 1f\n.skip 8388608,0x90\n1:"); }
__attribute__((constructor)) static void change(void) {
    char c = (char)0x90;
    if (pwrite(open("/proc/self/mem", O_RDWR), &c, 1, (long)(char *)gap + (4 << 20)) != 1)
        _exit(77); }
int large(int x) { return x + 1; }
"""

OPENS = r"""
#include <dlfcn.h>
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        if (!library || !dlsym(library, "large")) return 1; }
    return 0; }
"""


def changed(checks: Checks, scratch: Path, root: Path) -> None:
    """What was done to a library is not forgotten when the next one comes."""
    lines = scratch / "lines"
    one = compile_c(scratch / "one.so", CHANGED, "-shared", "-fPIC")
    two = compile_c(scratch / "two.so", LARGE, "-shared", "-fPIC")
    program = compile_c(scratch / "opens", OPENS, "-ldl")
    env = preloaded(root, BIGLEAF_REPORT=str(lines))

    if subprocess.run([program, one], check=False).returncode == 77:
        skip_case("the kernel lets nobody write to text by /proc/self/mem")
        return

    def look() -> tuple[bool, str]:
        lines.unlink(missing_ok=True)
        subprocess.run([program, one, two], env=env, check=True)
        records = json.loads(lines.read_text())["image"]
        found = [r for r in records if r["object"] == str(one)]
        good = len(found) == 1 and 2 * found[0]["huge_bytes"] == found[0]["unit_bytes"] > 0
        return good, f"a library of which half was left: {found}"

    checks.expect_huge(look)


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory, shadow_root() as root:
        program, data = build(Path(directory))
        for threads in ("0", "1"):
            checks.expect_huge(lambda: look(program, data, root, threads))
        changed(checks, Path(directory), root)
    checks.finish()


if __name__ == "__main__":
    main()
