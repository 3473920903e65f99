# SPDX-License-Identifier: MIT
"""How `bigleaf run` is started makes no difference to the program: closed
standard streams, process 1 of a namespace, a process that adopts orphans."""

from __future__ import annotations

import os
import subprocess
import tempfile
from itertools import combinations
from pathlib import Path

from image_kit import Checks, environment, run_command, shadow_root, shadows

# 5 MiB of text; what is open, and whether the first child that ends is the
# program's own.
LOOK = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__asm__(".text\n.rept 5000000\nnop\n.endr\n");
int main(int argc, char **argv) {
    char text[1024];
    int n = 0;
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            n += sprintf(text + n, "%d ", fd);
    usleep(argc > 2 ? 100000 : 0);
    const int child = fork();
    if (!child) {
        usleep(10000);
        _exit(0);
    }
    n += sprintf(text + n, wait(NULL) == child ? "own" : "stranger");
    const int out = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return write(out, text, n) != n;
}
"""


def built(directory: Path, name: str, *flags: str) -> Path:
    source = directory / "look.c"
    source.write_text(LOOK)
    program = directory / name
    subprocess.run(["gcc", "-O1", "-w", "-o", program, source, *flags], check=True)
    return program


def seen(command: list[str], root: Path, out: Path, **more: str) -> tuple[int, str, str]:
    """Status, what the program saw, and what was said."""
    out.unlink(missing_ok=True)
    done = subprocess.run(command, env=environment(root, **more), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)
    return done.returncode, out.read_text() if out.exists() else "", done.stderr.decode()


def closed_streams(checks: Checks, program: Path, *options: str) -> None:
    out = program.with_suffix(".out")
    for closed in (c for n in (1, 2, 3) for c in combinations((0, 1, 2), n)):
        shell = ["sh", "-c", 'exec "$@" ' + " ".join(f"{fd}>&-" for fd in closed), "sh"]
        plain = seen([*shell, str(program), str(out)], Path("/nowhere"), out)
        # No shadow at first, one later; and each a few times: two processes
        # had to be in step for the worst of it.
        with shadow_root() as root:
            for _ in range(3):
                got = seen([*shell, *run_command(*options), str(program), str(out)], root, out)
                if got != plain:
                    break
            checks.expect(len(shadows(root)) == 1, f"{program.name}: {closed} closed: a shadow")
        checks.expect(got == plain, f"{program.name} {' '.join(options)}: {closed} closed: "
                      f"{plain} became {got}")


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        programs = [built(Path(directory), "pie", "-pie", "-fPIE"),
                    built(Path(directory), "static", "-static"),
                    built(Path(directory), "static-pie", "-static-pie", "-fPIE")]
        for program in programs:
            closed_streams(checks, program)
        closed_streams(checks, programs[0], "--heap=injected")
    checks.finish()


if __name__ == "__main__":
    main()
