# SPDX-License-Identifier: MIT
"""Stacks of threads under --stack=on: deep ones huge, shallow ones as they
were, and pthread_create does what it did. The first thread's stack grows
where its limit alone counts."""

from __future__ import annotations

import resource
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from image_kit import (UNIT, Checks, built, environment, preloaded, read_smaps, refusing,
                       run_command, shadow_root, waiting)

# Two threads, one of which goes 6 MiB deep; their ends by return, by exit and
# by cancellation; a stack too small for a unit, one of the program's own, and
# one that no machine has.
THREADS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_barrier_t ready;
static int deep(int n) {
    volatile char frame[4096];
    memset((char *)frame, n, sizeof frame);
    int below = n ? deep(n - 1) : 0;
    return below + frame[100]; }
static void *stay(void *depth) {
    long sum = deep((int)(long)depth);
    fprintf(stderr, "%lx\n", (unsigned long)__builtin_frame_address(0));
    pthread_barrier_wait(&ready);
    pause();
    return (void *)sum; }
static void *leave(void *p) { pthread_exit(p); }
static void *answer(void *p) { return (void *)((long)p + 1); }
static long result_of(pthread_attr_t *a, void *(*f)(void *), long x) {
    pthread_t t; void *result = (void *)-1L;
    int error = pthread_create(&t, a, f, (void *)x);
    if (error) return -error;
    pthread_join(t, &result);
    return (long)result; }
int main(void) {
    pthread_t threads[2]; pthread_attr_t a; void *result; void *own;
    pthread_attr_init(&a);
    printf("%ld %ld\n", result_of(NULL, answer, 1), result_of(NULL, leave, 7));
    pthread_attr_setstacksize(&a, 65536);
    printf("%ld\n", result_of(&a, answer, 2));
    posix_memalign(&own, 4096, 4 << 20);
    pthread_attr_setstack(&a, own, 4 << 20);
    printf("%ld\n", result_of(&a, answer, 3));
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, (size_t)1 << 46);
    printf("%d\n", result_of(&a, answer, 4) == -EAGAIN);
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 8 << 20);
    pthread_barrier_init(&ready, NULL, 3);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], &a, stay, (void *)(i * 1500));
    pthread_barrier_wait(&ready);
    fputs("-\n", stderr);
    char c; while (read(0, &c, 1) > 0);
    for (int i = 0; i < 2; i++) {
        pthread_cancel(threads[i]);
        pthread_join(threads[i], &result);
        printf("%d\n", result == PTHREAD_CANCELED); }
    return 0; }
"""

# Says how large its stack's mapping is, in MiB.
FIRST = r"""
#include <stdio.h>
#include <string.h>
int main(void) {
    unsigned long from, to; char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            printf("%lu\n", (to - from) >> 20);
    return 0; }
"""


def first_stack(checks: Checks, directory: Path, root: Path) -> None:
    def limited(stack: int, addresses: int) -> Callable[[], None]:
        def limit() -> None:
            _, most = resource.getrlimit(resource.RLIMIT_STACK)
            resource.setrlimit(resource.RLIMIT_STACK, (stack, most))
            resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
        return limit

    none = resource.RLIM_INFINITY
    program = built(directory, "first", FIRST)
    blind = refusing(directory, "SYS_prlimit64")
    run = [*run_command("--stack=on"), str(program)]
    for what, command, limit, least, most in (
            ("no limit", run, limited(none, none), 60, 64),
            ("a limit of 16 MiB", run, limited(16 << 20, none), 12, 16),
            ("60 MiB of addresses", run, limited(none, 60 << 20), 0, 1),
            ("limits that cannot be read", [str(blind), *run], limited(8 << 20, none), 0, 1)):
        done = subprocess.run(command, env=environment(root), capture_output=True, check=False,
                              preexec_fn=limit)
        good = done.returncode == 0 and least <= int(done.stdout) <= most
        checks.expect(good, f"first stack, {what}: status {done.returncode}, "
                      f"{done.stdout.decode().strip()} MiB {done.stderr.decode()}")


def look(program: Path, root: Path, wanted: str) -> tuple[bool, str]:
    env = preloaded(root, BIGLEAF_IMAGE="off", BIGLEAF_STACK=wanted)
    with waiting([str(program)], env) as process:
        lines = iter(process.stderr.readline, b"-\n")
        frames = [int(line, 16) for line in lines]
        mappings = read_smaps(process.pid)
        stacks = [next(m for m in mappings if m.start <= f < m.end) for f in frames]
        process.stdin.close()
        output = process.stdout.read()
    huge = sorted(m.huge for m in stacks)
    resident = min(m.fields["Rss"] for m in stacks)
    # The kernel's own thread may have come by, and joins the pages of a unit.
    shallow = resident < 1 << 20 or (wanted == "on" and huge[0] == UNIT)
    good = output == b"2 7\n3\n4\n1\n1\n1\n" and len(huge) == 2 and shallow and (
        huge[1] >= 4 << 20 if wanted == "on" else huge == [0, 0])
    return good, (
        f"stacks {wanted}: {huge[0] >> 20} and {huge[1] >> 20} MiB huge, the shallow one "
        f"takes {resident >> 10} KiB; output {output!r}")


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory, shadow_root() as root:
        program = built(Path(directory), "threads", THREADS, "-pthread")
        first_stack(checks, Path(directory), root)
        for wanted in ("on", "off"):
            checks.expect_huge(lambda: look(program, root, wanted))
    checks.finish()


if __name__ == "__main__":
    main()
