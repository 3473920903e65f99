# SPDX-License-Identifier: MIT
"""What the tests of the program image share.

Programs run under `bigleaf run --image=on` (or with the preload library
alone) in a shadow directory of the test's own, wait on standard input, and
are looked at through /proc/PID/smaps while they wait: what is huge is what
the kernel says, and what should be follows from the ELF files.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from huge_pages import COLLAPSE, FAULT, FILE, refused

UNIT = 2 << 20
BASE = 4096
SKIPPED = 77


def is_tmpfs(folder: str) -> bool:
    done = subprocess.run(["stat", "-f", "-c", "%T", folder],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() == "tmpfs"


# Programs on a tmpfs need no shadow copy: what is tested here lies elsewhere.
if is_tmpfs(tempfile.gettempdir()):
    tempfile.tempdir = "/var/tmp"


@dataclass(frozen=True)
class Segment:
    vaddr: int
    offset: int
    file_bytes: int
    memory_bytes: int
    flags: int

    @property
    def read_only(self) -> bool:
        return bool(self.flags & 4) and not self.flags & 2


def segments_of(path: str) -> list[Segment]:
    """The PT_LOADs of a 64-bit little-endian ELF file."""
    with open(path, "rb") as file:
        header = file.read(64)
        if header[:5] != b"\x7fELF\x02":
            return []
        start, = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        file.seek(start)
        table = file.read(size * count)
    found = []
    for i in range(count):
        kind, flags, offset, vaddr, _, filesz, memsz, _ = struct.unpack_from(
            "<IIQQQQQQ", table, i * size)
        if kind == 1:
            found.append(Segment(vaddr, offset, filesz, memsz, flags))
    return found


@dataclass
class Mapping:
    start: int
    end: int
    permissions: str
    offset: int
    path: str
    fields: dict[str, int] = field(default_factory=dict)

    @property
    def huge(self) -> int:
        names = ("AnonHugePages", "ShmemPmdMapped", "FilePmdMapped",
                 "Private_Hugetlb", "Shared_Hugetlb")
        return sum(self.fields.get(name, 0) for name in names)


def read_smaps(pid: int) -> list[Mapping]:
    mappings: list[Mapping] = []
    head = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) \S+ \d+ *(.*)$")
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        match = head.match(line)
        if match:
            mappings.append(Mapping(int(match[1], 16), int(match[2], 16), match[3],
                                    int(match[4], 16), match[5]))
        elif line.endswith(" kB"):
            name, value = line[:-3].split(":")
            mappings[-1].fields[name] = int(value) * 1024
    return mappings


@dataclass
class Coverage:
    """Whole 2 MiB units of text and read-only data, and how much is huge."""
    units: int = 0
    huge: int = 0

    @property
    def share(self) -> float:
        return self.huge / self.units if self.units else 1.0


def is_shadow(path: str) -> bool:
    return "/bigleaf-" in path


def load_biases(mappings: list[Mapping]) -> dict[str, int]:
    """Path of each object that is mapped, and its load bias."""
    biases: dict[str, int] = {}
    for mapping in mappings:
        path = mapping.path
        if not path.startswith("/") or is_shadow(path) or path in biases:
            continue
        if not os.path.isfile(path):
            continue
        for segment in segments_of(path):
            if segment.offset // BASE * BASE == mapping.offset:
                biases[path] = mapping.start - segment.vaddr // BASE * BASE
                break
    return biases


def coverage_of(pid: int) -> Coverage:
    mappings = read_smaps(pid)
    total = Coverage()
    for path, bias in load_biases(mappings).items():
        for segment in segments_of(path):
            if not segment.read_only:
                continue
            first = (segment.vaddr + bias) // BASE * BASE
            last = -(-(segment.vaddr + segment.file_bytes + bias) // BASE) * BASE
            start = -(-first // UNIT) * UNIT
            end = last // UNIT * UNIT
            if start >= end:
                continue
            total.units += end - start
            total.huge += sum(m.huge for m in mappings
                              if m.start < end and m.end > start)
    return total


def bigleaf() -> str:
    return os.environ["BIGLEAF_COMMAND"]


def runtime() -> str:
    return os.environ["BIGLEAF_LIBRARY"]


@contextlib.contextmanager
def shadow_root() -> Iterator[Path]:
    """A tmpfs directory of the test's own."""
    path = Path(tempfile.mkdtemp(prefix="bigleaf-test-", dir="/dev/shm"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def environment(root: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("BIGLEAF")}
    return kept | {"BIGLEAF_IMAGE": "on", "BIGLEAF_SHADOW_DIR": str(root)} | more


def preloaded(root: Path, **more: str) -> dict[str, str]:
    return environment(root, LD_PRELOAD=runtime(), **more)


def run_command(*options: str) -> list[str]:
    return [bigleaf(), "run", "--image=on", *options, "--"]


@contextlib.contextmanager
def waiting(command: list[str], env: dict[str, str], text: str = "",
            settle: float = 0.3) -> Iterator[subprocess.Popen[bytes]]:
    """Starts the command with its standard input held open."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=env)
    assert process.stdin
    try:
        process.stdin.write(text.encode())
        process.stdin.flush()
        deadline = time.monotonic() + 60
        previous, same = -1.0, 0
        # Waits until it waits: no processor time used for a while.
        while time.monotonic() < deadline and process.poll() is None:
            time.sleep(settle)
            used = cpu_seconds(process.pid)
            same = same + 1 if used == previous and not is_ready(process.pid) else 0
            # One that is served from outside is traced for all its life.
            if same and (same >= 7 or not is_being_placed(process.pid)):
                break
            previous = used
        yield process
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def is_being_placed(pid: int) -> bool:
    """Held by the companion, or not yet the program at all."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        return "TracerPid:\t0\n" not in status or os.path.samefile(f"/proc/{pid}/exe", bigleaf())
    except OSError:
        return False


def is_ready(pid: int) -> bool:
    """To run, on a busy machine that gives it no processor yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "RD"
    except OSError:
        return False


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0
    return int(fields[11]) + int(fields[12])


def skip(reason: str) -> None:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def skip_case(reason: str) -> None:
    """Goes on without one; scripts/report-tests.py reads the line."""
    print(f"SKIPPED [1] {reason}", flush=True)


def need(*programs: str) -> None:
    for program in programs:
        if not shutil.which(program):
            skip(f"{program} is not installed")


class Checks:
    """Notes what fails and goes on."""

    def __init__(self) -> None:
        self.failed = 0
        self.done = 0
        self.unproven = 0

    def expect(self, good: bool, text: str) -> None:
        self.done += 1
        if not good:
            self.failed += 1
        print(("ok    " if good else "FAIL  ") + text, flush=True)

    def expect_huge(self, look: Callable[[], tuple[bool, str]]) -> None:
        """What holds only while the kernel has huge pages to give. Where it
        counts one that it did not have, `look` looks again, in the end for
        nothing: that is said, and no failure of ours. Without such a refusal
        it is one. `look` says whether all is well, and what was looked at."""
        for _ in range(1 if self.unproven else 5):
            before = refused(FAULT, FILE, COLLAPSE)
            good, text = look()
            if good or refused(FAULT, FILE, COLLAPSE) == before:
                self.expect(good, text)
                return
            time.sleep(1)
        self.unproven += 1
        print(f"none  the kernel had no huge page to give: {text}", flush=True)

    def finish(self) -> None:
        if self.done == 0:
            skip("nothing could be checked")
        print(f"{self.done - self.failed} of {self.done} checks passed")
        if self.unproven:
            print(f"{self.unproven} more need huge pages, of which the kernel had too few")
        sys.exit(1 if self.failed else 0)


def generate_program(directory: Path, name: str, mebibytes: int,
                     flags: list[str]) -> Path:
    """A program with that much text, all of it run when `x` is its argument."""
    functions = mebibytes * 16
    salt = name.encode()[-1]
    source = directory / f"{name}.c"
    lines = ["#include <stdio.h>", "#include <unistd.h>"]
    for n in range(functions):
        lines.append(
            f"__attribute__((noinline)) int function_{n}(int x) {{ "
            f'__asm__ volatile("jmp 1f\\n.skip 65400,0x90\\n1:"); '
            f"return x * 31 + {n * salt}; }}")
    lines.append("int (*const table[])(int) = {" +
                 ",".join(f"function_{n}" for n in range(functions)) + "};")
    lines.append(
        "int main(int argc, char **argv) { (void)argv; int x = 1; "
        f"for (int k = 0; k < argc * 3; k++) for (int i = 0; i < {functions}; i++) "
        "x = table[i](x); "
        'printf("%d\\n", x); fflush(stdout); char c; while (read(0, &c, 1) > 0); '
        "return 0; }")
    source.write_text("\n".join(lines) + "\n")
    program = directory / name
    subprocess.run(["gcc", "-O1", "-w", "-o", str(program), str(source), *flags],
                   check=True)
    forget_cache(program)
    return program


def forget_cache(path: Path) -> None:
    """A file just written may lie in the page cache in huge pages; one that
    was read from a disk long ago does not."""
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def shadows(root: Path) -> list[Path]:
    return [p for p in root.glob("bigleaf-*/*") if p.suffix != ".seal"]


# Executes a program to which the kernel refuses one call, or only where one of
# its arguments has a certain value.
REFUSE = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
#ifdef VALUE
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REFUSED, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16 + 8 * ARGUMENT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, VALUE, 0, 1),
#else
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REFUSED, 0, 1),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog all = {sizeof rules / sizeof rules[0], rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0) return 77;
    execv(argv[1], argv + 1);
    return 127; }
"""


def built(directory: Path, name: str, text: str, *flags: str) -> Path:
    source = directory / f"{name}.c"
    source.write_text(text)
    program = source.with_suffix("")
    subprocess.run(["gcc", "-O0", "-w", *flags, "-o", program, source], check=True)
    return program


def refusing(directory: Path, call: str, argument: int = 0, value: str = "") -> Path:
    """A program that executes its arguments where `call` is refused; with a
    `value`, where that argument of it has it."""
    only = [f"-DARGUMENT={argument}", f"-DVALUE={value}"] if value else []
    return built(directory, f"{call}{value}", REFUSE, f"-DREFUSED={call}", *only)
