# SPDX-License-Identifier: MIT
"""Every kind of program: on huge pages, or left alone with a reason."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from image_kit import (Checks, coverage_of, environment, forget_cache, preloaded, run_command,
                       shadow_root, skip_case, waiting)

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

MUSL_KINDS = [
    ("musl", PLAIN, ["-pie", "-fPIE"], True),
    ("musl, fixed", PLAIN, ["-no-pie"], True),
    ("musl, static", PLAIN, ["-static", "-no-pie"], True),
    ("musl, static-pie", PLAIN, ["-static-pie", "-fPIE"], True),
]

RUST = r"""
use std::io::Read;
#[inline(never)]
fn gap() { unsafe { std::arch::asm!("jmp 2f", ".skip 8388608,0x90", "2:") } }
fn main() {
    gap();
    println!("rust {}", (1..10).sum::<i32>());
    let mut rest = String::new();
    std::io::stdin().read_to_string(&mut rest).unwrap();
    std::process::exit(3);
}
"""

GO = r"""
package main
import (
    _ "embed"
    "fmt"
    "io"
    "os"
)
//go:embed filler
var filler string
func main() {
    fmt.Println("go", len(filler), filler[5<<20])
    io.ReadAll(os.Stdin)
    os.Exit(3)
}
"""


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


def compiled(checks: Checks, scratch: Path, compiler: str,
             kinds: list[tuple[str, str, list[str], bool]]) -> None:
    for name, text, flags, huge in kinds:
        source = scratch / "kind.c"
        source.write_text(text)
        program = scratch / "kind"
        program.unlink(missing_ok=True)
        built = subprocess.run([compiler, "-O1", "-w", "-o", program, source, *flags],
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


def narrow(checks: Checks, scratch: Path) -> None:
    """A 32-bit program of 6 MiB, made by hand: few machines have the compiler's
    part for it. It says hello, reads to the end and ends with 3."""
    at = 0x08000000
    text = b"32 bits\n"
    header = struct.pack("<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 2, 3, 1, at + 84 + len(text),
                         52, 0, 0, 52, 32, 1, 0, 0, 0)
    size = 6 << 20
    load = struct.pack("<IIIIIIII", 1, 0, at, at, size, size, 5, 1 << 12)

    def call(number: int, *arguments: int) -> bytes:
        code = b"".join(bytes([opcode]) + struct.pack("<I", value) for opcode, value in
                        zip((0xb8, 0xbb, 0xb9, 0xba), (number, *arguments)))
        return code + b"\xcd\x80"

    # read(0, stack, 1) until it brings nothing, then exit.
    read = b"\xb8\x03\0\0\0\x31\xdb\x89\xe1\xba\x01\0\0\0\xcd\x80\x85\xc0\x7f\xec"
    code = call(4, 1, at + 84, len(text)) + read + call(1, 3)
    program = scratch / "narrow"
    program.write_bytes((header + load + text + code).ljust(size, b"\xcc"))
    program.chmod(0o755)
    try:
        expected = outcome([str(program)])
    except OSError as error:
        skip_case(f"32-bit: cannot be run here: {error}")
        return
    checks.expect(expected == (3, text), f"32-bit, by hand: {expected}")
    with shadow_root() as root:
        done = subprocess.run([*run_command("--report"), str(program)], check=False,
                              capture_output=True, stdin=subprocess.DEVNULL,
                              env=environment(root))
        checks.expect((done.returncode, done.stdout) == expected, "32-bit, by hand: as without")
        checks.expect(b"the program is for 32-bit" in done.stderr,
                      f"32-bit, by hand: left alone with the reason: {done.stderr.decode()!r}")


def trap_ignored(checks: Checks, scratch: Path) -> None:
    """The companion stops the program by traps where nobody can tell, and
    without them where the program ignores or blocks them."""
    source = scratch / "kind.c"
    source.write_text(PLAIN)
    program = scratch / "kind"
    subprocess.run(["gcc", "-O1", "-w", "-o", program, source, "-pie", "-fPIE"], check=True)
    forget_cache(program)

    def mask(process: int) -> list[str]:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return [line for line in lines if line.startswith("Sig") and "SigQ" not in line]

    def look(how: str, prefix: list[str]) -> tuple[bool, str]:
        with waiting([*prefix, str(program)], environment(Path("/nowhere"))) as process:
            expected = mask(process.pid)
        with shadow_root() as root, waiting([*prefix, *run_command("--heap=none"), str(program)],
                                            environment(root)) as process:
            covered = coverage_of(process.pid)
            return (covered.share == 1.0 and mask(process.pid) == expected,
                    f"SIGTRAP {how}: {covered.huge >> 20} of {covered.units >> 20} MiB huge")

    checks.expect_huge(lambda: look("as usual", []))
    checks.expect_huge(lambda: look("ignored", ["sh", "-c", 'trap "" TRAP; exec "$@"', "-"]))


def other_languages(checks: Checks, scratch: Path) -> None:
    if shutil.which("rustc"):
        source = scratch / "kind.rs"
        source.write_text(RUST)
        check(checks, "rustc", ["rustc", "--version", "--verbose"], False)
        if subprocess.run(["rustc", "-o", scratch / "rust", source], check=False,
                          capture_output=True).returncode == 0:
            forget_cache(scratch / "rust")
            check(checks, "Rust program", [str(scratch / "rust")], True)
    if shutil.which("go"):
        place = scratch / "module"
        place.mkdir()
        (place / "go.mod").write_text("module kind\ngo 1.18\n")
        (place / "filler").write_bytes(b"x" * (8 << 20))
        (place / "kind.go").write_text(GO)
        env = dict(os.environ, GOCACHE=str(scratch / "gocache"), GOFLAGS="-mod=mod")
        if subprocess.run(["go", "build", "-o", scratch / "go"], check=False, env=env, cwd=place,
                          capture_output=True).returncode == 0:
            forget_cache(scratch / "go")
            check(checks, "Go program", [str(scratch / "go")], True)
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
        compiled(checks, scratch, "gcc", C_KINDS)
        if shutil.which("musl-gcc"):
            compiled(checks, scratch, "musl-gcc", MUSL_KINDS)
        narrow(checks, scratch)
        trap_ignored(checks, scratch)
        script(checks, scratch)
        other_languages(checks, scratch)
    checks.finish()


if __name__ == "__main__":
    main()
