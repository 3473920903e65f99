# SPDX-License-Identifier: MIT
"""Every kind of program: on huge pages, or left alone with a reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from image_kit import (Checks, coverage_of, environment, forget_cache, preloaded, run_command,
                       shadow_root, waiting)

GAP = 'static void gap(void) { __asm__ volatile("jmp 1f\\n.skip 8388608,0x90\\n1:"); }\n'
WAIT = "#include <stdio.h>\n#include <unistd.h>\n" \
       "static void end(void) { char c; fflush(stdout); while (read(0, &c, 1) > 0); }\n"

PLAIN = WAIT + GAP + 'int main(void) { gap(); puts("plain"); end(); return 3; }\n'

IFUNC = WAIT + GAP + """
static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));
int main(void) { gap(); printf("ifunc %d\\n", chosen()); end(); return 3; }
"""

# An absolute address inside the text: the loader writes there.
TEXT_RELOCATION = WAIT + GAP + """
int number = 42;
__asm__(".text\\n.balign 8\\n.globl address_in_text\\naddress_in_text: .quad number\\n");
extern int *const address_in_text;
int main(void) { gap(); printf("textrel %d\\n", *address_in_text); end(); return 3; }
"""

THREADS = WAIT + GAP + """
#include <pthread.h>
static void *run(void *p) { gap(); return p; }
__attribute__((constructor)) static void early(void) {
    pthread_t t; static int x; pthread_create(&t, NULL, run, &x); pthread_join(t, NULL); }
int main(void) { gap(); puts("threads"); end(); return 3; }
"""

BSS = WAIT + GAP + """
static char zeros[9 << 20]; static int filled[1 << 20] = {7};
int main(int argc, char **argv, char **env) {
    long sum = 0; gap(); (void)argv;
    for (unsigned i = 0; i < sizeof zeros; i++) sum += zeros[i];
    for (unsigned i = 0; i < 1 << 20; i++) sum += filled[i];
    printf("bss %ld %d %d\\n", sum, argc, env[0] != NULL); end(); return 3; }
"""

# What it is told of itself must agree with where it is.
SELF = "#define _GNU_SOURCE\n" + WAIT + GAP + """
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
static int seen; int main(void);
static int look(struct dl_phdr_info *i, size_t n, void *p) {
    (void)n; (void)p;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        const char *a = (const char *)i->dlpi_addr + i->dlpi_phdr[k].p_vaddr;
        if (i->dlpi_phdr[k].p_type == PT_LOAD && (char *)main >= a &&
            (char *)main < a + i->dlpi_phdr[k].p_memsz) seen++; }
    return 0; }
extern char __ehdr_start;
int main(void) {
    gap(); dl_iterate_phdr(look, NULL);
    char link[512]; long n = readlink("/proc/self/exe", link, 511); link[n > 0 ? n : 0] = 0;
    unsigned long vector[64]; FILE *f = fopen("/proc/self/auxv", "r");
    unsigned long phdr = 0; size_t got = fread(vector, 16, 32, f);
    for (size_t i = 0; i < got; i++) if (vector[2 * i] == AT_PHDR) phdr = vector[2 * i + 1];
    printf("self %d %d %d %s\\n", seen, (char *)getauxval(AT_PHDR) == &__ehdr_start + 64,
           phdr == getauxval(AT_PHDR), strrchr(link, '/'));
    end(); return 3; }
"""

C_KINDS = [
    ("pie", PLAIN, ["-pie", "-fPIE"], True),
    ("no-pie", PLAIN, ["-no-pie"], True),
    ("static", PLAIN, ["-static", "-no-pie"], True),
    ("static-pie", PLAIN, ["-static-pie", "-fPIE"], True),
    ("stripped", PLAIN, ["-pie", "-fPIE", "-s"], True),
    ("one text segment", PLAIN, ["-pie", "-fPIE", "-Wl,-z,noseparate-code"], True),
    ("gold", PLAIN, ["-pie", "-fPIE", "-fuse-ld=gold"], True),
    ("2 MiB pages", PLAIN, ["-pie", "-fPIE", "-Wl,-z,max-page-size=0x200000"], True),
    ("no build-id", PLAIN, ["-pie", "-fPIE", "-Wl,--build-id=none"], True),
    ("prelinked", PLAIN, ["-pie", "-fPIE", "-Wl,-Ttext-segment=0x30000000"], True),
    ("no relro", PLAIN, ["-pie", "-fPIE", "-Wl,-z,norelro"], True),
    ("IFUNC", IFUNC, ["-pie", "-fPIE"], True),
    ("IFUNC, static", IFUNC, ["-static-pie", "-fPIE"], True),
    ("text relocations", TEXT_RELOCATION, ["-pie", "-fPIE", "-Wl,-z,notext"], False),
    ("threads before main", THREADS, ["-pie", "-fPIE", "-pthread"], True),
    (".bss and .data", BSS, ["-pie", "-fPIE"], True),
    (".bss and .data, static", BSS, ["-static-pie", "-fPIE"], True),
    ("what it knows of itself", SELF, ["-pie", "-fPIE"], True),
    ("what it knows of itself, static", SELF, ["-static-pie", "-fPIE"], True),
    ("what it knows of itself, fixed", SELF, ["-no-pie"], True),
    ("32-bit", PLAIN, ["-m32"], False),
]


def outcome(command: list[str], env: dict[str, str] | None = None) -> tuple[int, bytes]:
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    return done.returncode, done.stdout


def look(name: str, program: list[str], env: dict[str, str]) -> tuple[bool, str]:
    with waiting(run_command() + program, env) as process:
        covered = coverage_of(process.pid)
        return (covered.share == 1.0 and covered.units > 0,
                f"{name}: {covered.huge >> 20} of {covered.units >> 20} MiB huge")


def check(checks: Checks, name: str, program: list[str], huge: bool) -> None:
    expected = outcome(program)
    with shadow_root() as root:
        env = environment(root)
        for how, command in (("run", run_command()), ("no heap", run_command("--heap=none"))):
            for _ in range(2):
                result = outcome(command + program, env)
            checks.expect(result == expected, f"{name}, {how}: {result} as without")
        if huge:
            checks.expect_huge(lambda: look(name, program, env))
        result = outcome(program, preloaded(root))
        checks.expect(result == expected, f"{name}, preloaded: {result} as without")


def compiled(checks: Checks, scratch: Path) -> None:
    for name, text, flags, huge in C_KINDS:
        source = scratch / "kind.c"
        source.write_text(text)
        program = scratch / "kind"
        program.unlink(missing_ok=True)
        built = subprocess.run(["gcc", "-O1", "-w", "-o", program, source, *flags],
                               capture_output=True, check=False)
        if built.returncode:
            print(f"      {name}: cannot be built here")
            continue
        forget_cache(program)
        check(checks, name, [str(program)], huge)


def script(checks: Checks, scratch: Path) -> None:
    shell = scratch / "script"
    shell.write_text("#!/bin/sh\necho script; exec cat\n")
    shell.chmod(0o755)
    check(checks, "script", [str(shell)], False)


def other_languages(checks: Checks, scratch: Path) -> None:
    if shutil.which("rustc"):
        source = scratch / "kind.rs"
        source.write_text('fn main() { println!("rust {}", (1..10).sum::<i32>()); }\n')
        check(checks, "rustc", ["rustc", "--version", "--verbose"], False)
        if subprocess.run(["rustc", "-o", scratch / "rust", source], check=False,
                          capture_output=True).returncode == 0:
            check(checks, "Rust program", [str(scratch / "rust")], False)
    if shutil.which("go"):
        source = scratch / "kind.go"
        source.write_text('package main\nimport "fmt"\nfunc main() { fmt.Println("go") }\n')
        env = dict(os.environ, GOCACHE=str(scratch / "gocache"), GOFLAGS="-mod=mod")
        if subprocess.run(["go", "build", "-o", scratch / "go", source], check=False, env=env,
                          capture_output=True).returncode == 0:
            check(checks, "Go program", [str(scratch / "go")], False)
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    if loader.exists() and shutil.which("z3"):
        check(checks, "z3 by its loader",
              [str(loader), shutil.which("z3") or "", "--version"], False)
    if shutil.which("node"):
        check(checks, "node", ["node", "-p", "[1, 2, 3].map(x => x * 2).join()"], False)


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        compiled(checks, scratch)
        script(checks, scratch)
        other_languages(checks, scratch)
    checks.finish()


if __name__ == "__main__":
    main()
