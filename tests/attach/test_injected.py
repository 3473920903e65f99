#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`bigleaf run` on programs that no preload reaches: the same answers, huge
pages, and a life as it would have been without a keeper."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path

import sandbox
import terminal
from huge_pages import FAULT, FILE, refused
from sandbox import NOBODY, freezer, wait_for

COMMAND = os.environ["BIGLEAF_COMMAND"]
CALLS = os.environ["BIGLEAF_CALLS"]
HOARD = os.environ["BIGLEAF_HOARD"]
ROOT = os.geteuid() == 0

WITHOUT_TUNABLE = (b"glibc.malloc.hugetlb", b"glibc.malloc.hugexxx")
GROW_C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    unsigned long sum = 0; size_t n = 0;
    static char *small[40000];
    for (int i = 0; i < 40000; i++) { small[i] = malloc(1000); memset(small[i], 1, 1000); }
    char *large = NULL;
    for (size_t want = 1 << 20; want <= 100u << 20; want += want / 2) {
        large = realloc(large, want); memset(large + n, 2, want - n); n = want; }
    for (int i = 0; i < 40000; i++) sum += small[i][999];
    for (size_t i = 0; i < n; i++) sum += large[i];
    printf("%lu\\n", sum); fflush(stdout);
    char c; while (read(0, &c, 1) > 0); return 3; }
"""
THREADS_C = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *grow(void *list) {
    for (int i = 0; i < 40000; i++) {
        void **n = malloc(1000); memset(n, 1, 1000); *n = list; list = n; }
    return list; }
int main(void) {
    pthread_t thread[2]; unsigned long sum = 0;
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, grow, NULL);
    for (int i = 0; i < 2; i++) {
        void *list; pthread_join(thread[i], &list);
        for (; list; list = *(void **)list) sum += ((char *)list)[999]; }
    printf("%lu\\n", sum); fflush(stdout);
    char c; while (read(0, &c, 1) > 0); return 3; }
"""
GROW_GO = """
package main
import ("fmt"; "os")
type node struct { next *node; value [6]int }
func main() {
    var list *node
    for i := 0; i < 2000000; i++ { list = &node{list, [6]int{i}} }
    sum := 0
    for n := list; n != nil; n = n.next { sum += n.value[0] }
    fmt.Println(sum)
    b := make([]byte, 1)
    for { if n, _ := os.Stdin.Read(b); n == 0 { break } }
    fmt.Fprintln(os.Stderr, list.value[0])
    os.Exit(3)
}
"""
GROW_RUST = """
use std::io::Read;
fn main() {
    let mut lists: Vec<Vec<u64>> = Vec::new();
    for i in 0..64u64 {
        let mut v = Vec::new();
        for k in 0..200_000u64 { v.push(i ^ k); }
        lists.push(v);
    }
    let sum: u64 = lists.iter().map(|v| v.iter().sum::<u64>()).sum();
    println!("{}", sum);
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).unwrap();
    std::process::exit(if lists.len() == 64 { 3 } else { 4 });
}
"""


# Becomes another program, whose environment is one setting or, without, its own.
START_C = """
#include <unistd.h>
int main(int argc, char **argv, char **environment) {
    char *other[] = {argv[1], 0};
    execve(argv[2], argv + 2, *argv[1] ? other : environment);
    return 1; }
"""

# The second thread ends the program, while the first one makes calls of memory.
ENDS_C = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *idle(void *unused) { for (;;) pause(); return unused; }
static void *end(void *us) { usleep((long)us); syscall(SYS_exit_group, 7); return 0; }
int main(int argc, char **argv) {
    pthread_t t;
    pthread_create(&t, 0, idle, 0);
    pthread_create(&t, 0, end, (void *)atol(argv[1]));
    for (;;) {
        char *p = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *p = argc;
        munmap(p, 4 << 20); } }
"""

# For a second, mappings that must move to grow: each takes several calls.
MOVES_C = """
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
static char *map(char *at, size_t n, int flags) {
    return mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0); }
int main(void) {
    const size_t n = 2 << 20;
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    puts("ready"); fflush(stdout);
    do {
        char *p = map(NULL, n, 0);
        map(p + n, 4096, MAP_FIXED);
        char *q = mremap(p, n, 3 * n, MREMAP_MAYMOVE);
        if (q == MAP_FAILED || p == MAP_FAILED) { printf("%d\\n", errno); return 1; }
        munmap(q, 3 * n); munmap(p + n, 4096);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec == begin.tv_sec || now.tv_nsec < begin.tv_nsec);
    puts("right"); return 0; }
"""

# Ends itself by a filter where it makes a call of memory that it does not make
# by itself; then becomes another program under that filter.
FILTER_C = """
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void install(int by_prctl) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        (by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                  : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)))
        _exit(77); }
int main(int argc, char **argv) {
    const size_t n = 8 << 20;
    char *word[] = {argv[0], "2", "3", NULL};
    char *before = sbrk(n);
    memset(before, 1, n);
    if (argc < 3)
        install(argc == 2);
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *after = sbrk(n);
    if (p == MAP_FAILED || after != before + n)
        return 1;
    memset(p, 2, n);
    memset(after, 3, n);
    munmap(p, n);
    if (argc < 3)
        execv(argv[0], word);
    puts("right"); return 0; }
"""

# Leaves a child behind, of which the program's reader knows nothing but the number.
LEAVES_C = """
#include <stdio.h>
#include <unistd.h>
int main(void) {
    const int child = fork();
    if (child) { printf("%d\\n", child); return 0; }
    for (int i = 0; i < 3; i++) close(i);
    alarm(60);
    for (;;) pause(); }
"""

# Forks while a thread moves the break, or maps a piece and gives it back. Each
# child takes memory of its own and finds whole what it was born with.
FORKS_C = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
enum { PIECE = 64 << 10, STEP = 4 << 20 };
static char *_Atomic held;
static char *map(void) {
    return mmap(0, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
static void *move(void *at) {
    for (;;) {
        syscall(SYS_brk, (char *)at + STEP);
        syscall(SYS_brk, at); }
    return 0; }
static void *hold(void *unused) {
    for (;;) {
        char *p = map();
        *p = 1;
        held = p;
        held = 0;
        munmap(p, PIECE); }
    return unused; }
static int child(char *at) {
    const char *born = held;
    if (syscall(SYS_brk, at + STEP / 2) != (long)at + STEP / 2)
        return 1;
    memset(at, 2, STEP / 2);
    for (int i = 0; i < 64; i++) memset(map(), 2, PIECE);
    return born && *born != 1 ? 2 : 0; }
int main(int argc, char **argv) {
    pthread_t t;
    char *at = (char *)syscall(SYS_brk, 0) + STEP;
    syscall(SYS_brk, at);
    pthread_create(&t, 0, argc > 1 ? move : hold, at);
    for (int i = 0; i < 300; i++) {
        int status;
        const int pid = fork();
        if (pid == 0) _exit(child(at));
        if (waitpid(pid, &status, 0) != pid || status) {
            printf("child %d: status %#x\\n", i, status);
            return 1; } }
    puts("right"); return 0; }
"""

# Makes children that no tracer is to have, by each call that can say so.
UNTRACED_C = """
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 2; i++) {
        struct clone_args a = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};
        int status = 0;
        const long pid = i ? syscall(SYS_clone3, &a, sizeof a)
                           : syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) {
            char *p = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (p == MAP_FAILED) _exit(1);
            memset(p, 1, 4 << 20);
            _exit(0); }
        if (waitpid(pid, &status, 0) != pid || status || a.flags != CLONE_UNTRACED) {
            printf("%d: status %#x, flags %#llx\\n", i, status, a.flags);
            return 1; } }
    puts("right"); return 0; }
"""

# Asks for filters that the kernel refuses, then takes memory.
PROBE_C = """
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0)
        return 1;
    char *all = malloc(64 << 20);
    memset(all, 1, 64 << 20);
    usleep(200000);
    puts(all[getpid()] ? "right" : "wrong"); return 0; }
"""

# The child takes memory all the time, the program whenever it is asked to.
FROZEN_C = """
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static void take(void) {
    const size_t n = 4 << 20;
    char *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *p = 1;
    munmap(p, n); }
int main(void) {
    const int child = fork();
    for (; child == 0 && getppid() != 1; take()) ;
    printf("%d\\n", child); fflush(stdout);
    char c;
    while (read(0, &c, 1) == 1) { take(); puts("right"); fflush(stdout); }
    return 0; }
"""

# 8 MiB of text and as much .bss, in a program without any libc.
TEXT_C = """
static volatile char zeros[8 << 20];
__attribute__((noinline, used)) static void gap(void) {
    __asm__ volatile("jmp 1f\\n.skip 8388608,0x90\\n1:"); }
__attribute__((used)) static void begin(void) {
    char c; long got;
    gap();
    for (unsigned i = 0; i < sizeof zeros; i += 4096) zeros[i] = 1;
    __asm__ volatile("syscall" : "=a"(got) : "0"(1), "D"(1), "S"("right\\n"), "d"(6)
                     : "rcx", "r11", "memory");
    do __asm__ volatile("syscall" : "=a"(got) : "0"(0), "D"(0), "S"(&c), "d"(1)
                        : "rcx", "r11", "memory"); while (got > 0);
    __asm__ volatile("syscall" : : "a"(60), "D"(5) : "rcx", "r11"); }
__asm__(".globl _start\\n_start: and $-16, %rsp\\n call begin\\n");
"""


def run(*words: str | Path, options: tuple[str, ...] = (), before: list[str] | None = None,
        env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*(before or []), COMMAND, "run", *options, "--", *words],
                          capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))


def report(*words: str | Path, options: tuple[str, ...] = (),
           **rest: object) -> dict[str, object]:
    with tempfile.NamedTemporaryFile("r") as file:
        os.chmod(file.name, 0o666)
        done = run(*words, options=(*options, "--json", f"--report={file.name}"), **rest)
        found = json.loads(file.read())
    found["output"] = done.stdout
    return found


def field(pid: int, name: str) -> str:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1].strip()
    return ""


@contextlib.contextmanager
def waiting(*words: str | Path, options: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """A program under `run` that has said its first line.

    It gets a process group of its own, as from a shell: SIGTSTP stops nobody in a group whose
    parents are all of another session, which ours may be where CI started it.
    """
    process = subprocess.Popen([COMMAND, "run", *options, "--", *words],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               preexec_fn=os.setpgrp)
    assert process.stdin and process.stdout
    try:
        process.first_line = process.stdout.readline()
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


@contextlib.contextmanager
def compiled(source: str, *words: str) -> Iterator[Path]:
    """A program in C; without gcc the test is skipped."""
    if not shutil.which("gcc"):
        raise unittest.SkipTest("no gcc")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "source.c"
        file.write_text(source)
        program = Path(folder) / "program"
        subprocess.run(["gcc", "-O1", *words, "-o", program, file], check=True)
        yield program


def heap_share(pid: int) -> tuple[int, float]:
    """Bytes of private anonymous memory, and how much of it is huge."""
    size = huge = 0
    counted = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            counted = words[1].startswith("rw") and words[4] == "0" and \
                (len(words) < 6 or words[5] == "[heap]")
        elif counted and words[0] == "Rss:":
            size += int(words[1]) << 10
        elif counted and words[0] == "AnonHugePages:":
            huge += int(words[1]) << 10
    return size, huge / size if size else 0


@unittest.skipUnless(platform.machine() == "x86_64", "x86-64 only")
class Calls(unittest.TestCase):
    """A program that checks what the kernel promises of each call."""

    def test_promises_are_kept(self) -> None:
        done = run(CALLS)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "right\n", ""))

    def test_report(self) -> None:
        shortages = refused(FAULT)
        found = report(CALLS)
        self.assertEqual(found["output"], "right\n")
        self.assertEqual(found["mechanisms"]["heap"], "injected")
        self.assertGreater(found["keeper_seconds"], 0)
        if refused(FAULT) == shortages:  # the kernel had huge pages to give
            self.assertGreater(found["regions"]["heap"]["huge_bytes"], 32 << 20)

    def test_without_privilege(self) -> None:
        if not ROOT or not shutil.which("setpriv"):
            self.skipTest("needs root, to give up rights")
        if run(CALLS, before=[*NOBODY]).returncode == 126:
            self.skipTest("nobody may not run the command where it lies")
        found = report(CALLS, before=NOBODY)
        self.assertEqual(found["output"], "right\n")
        self.assertEqual(found["mechanisms"]["heap"], "injected")

    def test_in_a_sandbox(self) -> None:
        found = report(CALLS, before=sandbox.words(COMMAND))
        self.assertEqual(found["output"], "right\n")
        self.assertEqual(found["mechanisms"]["heap"], "injected")

    def test_break_is_on_huge_pages(self) -> None:
        before = refused(FAULT)
        with waiting(CALLS, "wait") as process:
            self.assertEqual(process.first_line, "right\n")
            size, share = heap_share(process.pid)
            self.assertGreater(size, 40 << 20)
            if refused(FAULT) == before:  # the kernel had them to give
                self.assertGreater(share, 0.9)

    def test_text_and_data(self) -> None:
        for kind in ("-static", "-static-pie"):
            shortages = refused(FAULT, FILE)
            with compiled(TEXT_C, "-nostdlib", "-fno-stack-protector", "-fpie", kind) as program, \
                    tempfile.TemporaryDirectory(dir="/dev/shm") as shadows:
                options = ("--image=on", "--data=on", f"--shadow-dir={shadows}")
                with waiting(program, options=options) as process:
                    self.assertEqual(process.first_line, "right\n")
                    smaps = Path(f"/proc/{process.pid}/smaps").read_text()
                    assert process.stdin
                    process.stdin.close()
                    self.assertEqual(process.wait(timeout=60), 5)
            for name in ("ShmemPmdMapped", "AnonHugePages"):
                huge = sum(int(line.split()[1]) for line in smaps.splitlines()
                           if line.startswith(name))
                if refused(FAULT, FILE) == shortages:  # the kernel had them to give
                    self.assertGreaterEqual(huge, 6 << 10, (kind, name))

    def test_asked_for(self) -> None:
        """A dynamic program, and what it starts without our LD_PRELOAD."""
        for words in ((HOARD, "48"), ("env", "-i", HOARD, "48")):
            before = refused(FAULT)
            with waiting(*words, options=("--heap=injected",)) as process:
                self.assertEqual(process.first_line, "ready\n")
                self.assertNotEqual(field(process.pid, "TracerPid"), "0")
                _, share = heap_share(process.pid)
                out, _ = process.communicate(timeout=60)
                self.assertEqual((out, process.returncode), ("right\n", 0))
            if refused(FAULT) == before:  # the kernel had them to give
                self.assertGreater(share, 0.9)

    def test_asked_for_nothing(self) -> None:
        for options, env in ((("--pages=base",), {}), (("--heap=none",), {}),
                             ((), {"BIGLEAF": "off"}), ((), {"BIGLEAF": "0"})):
            with tempfile.NamedTemporaryFile("r") as file:
                done = run(CALLS, options=(*options, "--json", f"--report={file.name}"),
                           env=env)
                found = json.loads(file.read())
            self.assertEqual(done.stdout, "right\n")
            self.assertEqual(found["mechanisms"]["heap"], "none", options)


@unittest.skipUnless(platform.machine() == "x86_64", "x86-64 only")
class Life(unittest.TestCase):
    def test_ends_by_its_signal(self) -> None:
        for number in (signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL):
            with waiting(CALLS, "wait") as process:
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), -number)

    def test_ended_by_another_thread(self) -> None:
        """The first thread's end is told only after that of all others."""
        with compiled(ENDS_C, "-static", "-pthread") as program:
            for step in range(40):
                done = run(program, str(1000 + 300 * step), options=("--heap=injected",))
                self.assertEqual(done.returncode, 7, done.stderr)

    def test_keeper_ends_with_the_program(self) -> None:
        with waiting(CALLS, "wait") as process:
            keeper = int(field(process.pid, "TracerPid"))
            self.assertNotEqual(keeper, 0)
            assert process.stdin
            process.stdin.close()
            self.assertEqual(process.wait(timeout=60), 0)
            wait_for(lambda: not Path(f"/proc/{keeper}").exists())

    def test_program_ends_with_the_keeper(self) -> None:
        with waiting(CALLS, "wait") as process:
            os.kill(int(field(process.pid, "TracerPid")), signal.SIGKILL)
            self.assertEqual(process.wait(timeout=60), -signal.SIGKILL)

    def test_killed_at_every_stage(self) -> None:
        """Nothing is left of a command that is killed while it starts a program."""
        mark = f"BL_TEST_MARK={os.getpid()}"

        def left() -> list[str]:
            found = []
            for folder in Path("/proc").iterdir():
                with contextlib.suppress(OSError):
                    if mark.encode() in (folder / "environ").read_bytes():
                        found.append(folder.name)
            return found

        for options, steps in (((), 10), (("--report=/dev/null",), 4)):
            for step in range(steps):
                process = subprocess.Popen(["env", mark, COMMAND, "run", *options, "--", CALLS],
                                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                           text=True)
                time.sleep(0.008 * step / steps)
                process.kill()
                out, _ = process.communicate(timeout=60)
                self.assertIn(out, ("", "right\n"))
                wait_for(lambda: not left())

    def test_watcher_killed(self) -> None:
        """The program goes on where only the command that reports is killed."""
        with waiting(CALLS, "wait", options=("--report=/dev/null",)) as process:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            child = next(int(c) for c in children.read_text().split()
                         if field(int(c), "Name") != "bystander")
            process.kill()
            process.wait()
            time.sleep(0.1)
            self.assertIn(field(child, "State")[0], "SR")
            os.kill(child, signal.SIGKILL)

    def test_forks_while_memory_changes(self) -> None:
        """A child's memory is what it was when it was made. Of the break that is more than the
        kernel promises, which copies it before the rest."""
        with compiled(FORKS_C, "-static", "-pthread") as program:
            for words in ([], ["break"]):
                done = run(program, *words, options=("--heap=injected",))
                self.assertEqual((done.returncode, done.stdout), (0, "right\n"), words)

    def test_children_that_no_tracer_is_to_have(self) -> None:
        """They are kept all the same: no call of memory could be made without the keeper."""
        with compiled(UNTRACED_C, "-static") as program:
            done = run(program, options=("--heap=injected",))
            self.assertEqual((done.returncode, done.stdout), (0, "right\n"))

    def test_reader_waits_for_nobody_of_ours(self) -> None:
        """Who reads its messages to their end is done when the program is."""
        with compiled(LEAVES_C, "-static") as program:
            words = [COMMAND, "run", "--heap=injected", "--", program]
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       text=True)
            out, _ = process.communicate(timeout=20)
            self.assertNotEqual(field(int(out), "TracerPid"), "0")  # it is kept on
            os.kill(int(out), signal.SIGKILL)

    def test_stops_and_continues(self) -> None:
        for number in (signal.SIGSTOP, signal.SIGTSTP):
            with waiting(CALLS, "wait") as process:
                process.send_signal(number)
                pid, status = os.waitpid(process.pid, os.WUNTRACED)
                self.assertEqual(pid, process.pid)
                self.assertEqual(os.WSTOPSIG(status), number)
                process.send_signal(signal.SIGCONT)
                wait_for(lambda: field(process.pid, "State")[0] == "S")
                assert process.stdin
                process.stdin.close()
                self.assertEqual(process.wait(timeout=60), 0)

    def test_stopped_between_the_calls_of_one(self) -> None:
        """The call that took several begins anew, and none fails with EINTR."""
        with compiled(MOVES_C, "-static") as program, \
                waiting(program, options=("--heap=injected",)) as process:
            self.assertEqual(process.first_line, "ready\n")
            while process.poll() is None and field(process.pid, "State")[0] not in ("Z", "X"):
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.001)
                process.send_signal(signal.SIGCONT)
                time.sleep(0.002)
            self.assertEqual((process.stdout.read(), process.wait()), ("right\n", 0))

    def test_child_frozen_between_the_calls_of_one(self) -> None:
        """The others are served all the same."""
        with compiled(FROZEN_C, "-static") as program, \
                waiting(program, options=("--heap=injected",)) as process:
            child = int(process.first_line)
            try:
                with freezer(child) as freeze:
                    for _ in range(12):
                        freeze(True)
                        process.stdin.write("g")
                        process.stdin.flush()
                        ready, _, _ = select.select([process.stdout], [], [], 20)
                        self.assertTrue(ready)
                        self.assertEqual(process.stdout.readline(), "right\n")
                        freeze(False)
                        time.sleep(0.02)
            finally:
                os.kill(child, signal.SIGKILL)

    def test_under_a_filter_of_its_own(self) -> None:
        """It is served no more, since the filter may not know our calls, and that is told."""
        with compiled(FILTER_C, "-static") as program:
            for words in ([], ["by prctl"]):
                found = report(program, *words, options=("--heap=injected",))
                self.assertEqual((found["exit_status"], found["output"]), (0, "right\n"), words)
                self.assertEqual(found["mechanisms"]["heap"], "injected")
                self.assertIn("seccomp filter", str(found["fallbacks"]))

    def test_under_no_filter_after_all(self) -> None:
        """One that the kernel refuses changes nothing; so libraries ask what it knows."""
        with compiled(PROBE_C, "-static") as program:
            shortages = refused(FAULT)
            found = report(program, options=("--heap=injected",))
        self.assertEqual(found["output"], "right\n")
        self.assertNotIn("seccomp filter", str(found["fallbacks"]))
        if refused(FAULT) == shortages:  # the kernel had them to give
            self.assertGreater(found["regions"]["heap"]["huge_bytes"], 56 << 20)

    def test_terminal_and_shell(self) -> None:
        """Ctrl-Z, fg, another window size and Ctrl-C, under a shell."""
        if not shutil.which("bash"):
            self.skipTest("no bash")
        for options in ("", "--report=/dev/null"):
            with terminal.shell() as screen:
                screen.type(f"{COMMAND} run {options} {CALLS} wait\n", "right")
                screen.resize(30, 70)
                screen.type("\x1a", "Stopped")
                screen.type("fg\n", "wait")
                screen.await_job()
                screen.type("\x03", "$ ")
                screen.type("echo status $?\n", f"status {128 + signal.SIGINT}")

    def test_child_that_dropped_the_preload(self) -> None:
        """What a served program starts is served, but where the runtime is in it."""
        with compiled(START_C, "-static") as program:
            program.write_bytes(program.read_bytes().replace(*WITHOUT_TUNABLE))
            for setting, served in (("A=1", True), ("BIGLEAF=off", False),
                                    ("BIGLEAF=0", False), ("", True)):
                before = refused(FAULT)
                with waiting(program, setting, HOARD, "48",
                             options=("--pages=thp",)) as process:
                    self.assertEqual(process.first_line, "ready\n")
                    size, share = heap_share(process.pid)
                    runtime = "libbigleaf" in Path(f"/proc/{process.pid}/maps").read_text()
                    out, _ = process.communicate(timeout=60)
                    self.assertEqual((out, process.returncode), ("right\n", 0))
                self.assertEqual(runtime, setting == "")
                if refused(FAULT) == before:  # the kernel had them to give
                    self.assertEqual(share > 0.9, served, (setting, size, share))

    def test_no_ptrace_to_be_had(self) -> None:
        """Under another tracer it runs plainly, and the report says so."""
        if not shutil.which("strace"):
            self.skipTest("no strace")
        found = report(CALLS, before=["strace", "-f", "-qq", "-o", "/dev/null",
                                      "-e", "trace=none"])
        self.assertEqual(found["output"], "right\n")
        self.assertEqual(found["mechanisms"]["heap"], "none")
        self.assertIn("traced", found["mechanisms"]["heap_reason"])


@unittest.skipUnless(platform.machine() == "x86_64", "x86-64 only")
class Languages(unittest.TestCase):
    """Static programs as compilers and libcs make them."""

    def check(self, source: str, name: str, compile_words: list[str],
              change: tuple[bytes, bytes] | None = None, injected: bool = True) -> None:
        if not shutil.which(compile_words[0]):
            self.skipTest(f"no {compile_words[0]}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / name
            file.write_text(source)
            program = Path(folder) / "grow"
            built = subprocess.run([*compile_words, "-o", program, file], cwd=folder,
                                   capture_output=True, text=True, check=False,
                                   env=dict(os.environ, CGO_ENABLED="0"))
            if built.returncode:
                self.skipTest(built.stderr[-300:])
            if not injected and WITHOUT_TUNABLE[0] not in program.read_bytes():
                self.skipTest("its libc has no tunable for huge pages")
            if change:
                program.write_bytes(program.read_bytes().replace(*change))
            plain = subprocess.run([program], capture_output=True, text=True, check=False,
                                   stdin=subprocess.DEVNULL)
            before = refused(FAULT)
            with waiting(program) as process:
                self.assertEqual(process.first_line, plain.stdout)
                self.assertEqual(field(process.pid, "TracerPid") != "0", injected)
                size, share = heap_share(process.pid)
                assert process.stdin
                process.stdin.close()
                self.assertEqual(process.wait(timeout=60), 3)
            self.assertEqual(plain.returncode, 3)
            print(f"{name}: {size >> 20} MiB, {100 * share:.1f} % huge", flush=True)
            self.assertGreater(size, 60 << 20)
            if refused(FAULT) == before:  # the kernel had them to give
                self.assertGreater(share, 0.9)

    def test_old_glibc(self) -> None:
        """A glibc without the tunable, which no compiler here has: this one's,
        with the tunable by another name."""
        self.check(GROW_C, "grow.c", ["gcc", "-O1", "-static"], WITHOUT_TUNABLE)

    def test_threads_of_old_glibc(self) -> None:
        """Each thread has an arena, which glibc opens a few base pages at a time."""
        self.check(THREADS_C, "threads.c", ["gcc", "-O1", "-static", "-pthread"],
                   WITHOUT_TUNABLE)

    def test_threads_are_told_of(self) -> None:
        """What glibc's tunable does not reach is named in the report, with the remedy."""
        with compiled(THREADS_C, "-static", "-pthread") as program:
            if WITHOUT_TUNABLE[0] not in program.read_bytes():
                self.skipTest("its libc has no tunable for huge pages")
            found = report(program)
        self.assertEqual(found["mechanisms"]["heap"], "glibc-tunable")
        if found["regions"]["heap"]["bytes"] > 16 << 20:  # it was seen in time
            self.assertIn("--heap=injected", str(found["fallbacks"]))

    def test_glibc_with_the_tunable(self) -> None:
        self.check(GROW_C, "grow.c", ["gcc", "-O1", "-static"], injected=False)

    def test_musl(self) -> None:
        self.check(GROW_C, "grow.c", ["musl-gcc", "-O1", "-static"])

    def test_go(self) -> None:
        self.check(GROW_GO, "grow.go", ["go", "build"])

    def test_rust(self) -> None:
        self.check(GROW_RUST, "grow.rs", ["rustc", "-O", "-C", "target-feature=+crt-static"],
                   WITHOUT_TUNABLE)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
