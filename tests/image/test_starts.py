# SPDX-License-Identifier: MIT
"""How `bigleaf run` is started makes no difference to the program: closed
standard streams, process 1 of a namespace, a process that adopts orphans."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path

from image_kit import Checks, built, environment, refusing, run_command, shadow_root, shadows

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


def seen(command: list[str], root: Path, out: Path, **more: str) -> tuple[int, str, str]:
    """Status, what the program saw, and what was said."""
    out.unlink(missing_ok=True)
    done = subprocess.run(command, env=environment(root, **more), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)
    return done.returncode, out.read_text() if out.exists() else "", done.stderr.decode()


def closed_streams(checks: Checks, program: Path, *options: str) -> None:
    out = program.with_name("out")
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


# As what follows is executed, it is a subreaper (PR_SET_CHILD_SUBREAPER).
SUBREAPER = """import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])"""
NAMESPACE = ["unshare", "-pf", "--mount-proc"]


def adopting(checks: Checks, program: Path, what: str, start: list[str]) -> None:
    """Orphans come to the program: none of ours may be among them."""
    out = program.with_name("out")
    for options in ((), ("--heap=injected",), ("--heap=injected", "--image=off"), ("--report",)):
        with shadow_root() as root:
            command = [*start, *run_command(*options), str(program), str(out), "late"]
            status, look, said = seen(command, root, out, BIGLEAF_VERBOSE="1")
        told = options == ("--report",) or "as process 1 or a subreaper" in said
        good = (status, look) == (0, "0 1 2 own") and told
        checks.expect(good, f"{program.name}, {what} {' '.join(options)}: "
                      f"{look} {'' if good else said}")


def reasons(checks: Checks, program: Path, directory: Path) -> None:
    out = program.with_name("out")
    run = [*run_command("--heap=injected"), str(program), str(out)]
    # The program's folder is on no tmpfs.
    _, look, said = seen(run, directory, out, BIGLEAF_VERBOSE="1")
    checks.expect(bool(look) and said.count("left where it is: the shadow dir") == 1,
                  f"{program.name}: why the text has no shadow, once: {said!r}")
    with shadow_root() as root:
        blind = refusing(directory, "SYS_ptrace")
        _, look, said = seen([str(blind), *run], root, out, BIGLEAF_VERBOSE="1")
        for told in ("text of ", "heap left "):
            checks.expect(bool(look) and any(line.startswith(f"bigleaf: {told}") and
                                             line.endswith("cannot be traced")
                                             for line in said.splitlines()),
                          f"{program.name} may not be traced: {told}: {said!r}")


def no_ranges(checks: Checks, directory: Path) -> None:
    """Before Linux 5.9 descriptors are closed one by one: what serves the
    program keeps none for which this command waits."""
    program = built(directory, "pauses", '#include <unistd.h>\n'
                    'int main(void) { write(1, "!", 1); pause(); return 0; }\n', "-static")
    command = [refusing(directory, "SYS_close_range"),
               *run_command("--heap=injected", "--report=/dev/null"), program]
    with shadow_root() as root, \
            subprocess.Popen(command, env=environment(root), stdout=subprocess.PIPE,
                             stdin=subprocess.DEVNULL, start_new_session=True) as process:
        process.stdout.read(1)
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        checks.expect(process.returncode == -signal.SIGTERM,
                      f"{program.name}: ended by a signal to the command: {process.returncode}")
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    checks = Checks()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        pie, static, static_pie = (
            built(scratch, name, LOOK, *flags)
            for name, flags in (("pie", ("-pie", "-fPIE")), ("static", ("-static",)),
                                ("static-pie", ("-static-pie", "-fPIE"))))
        for program in (pie, static, static_pie):
            closed_streams(checks, program)
        for option in ("--heap=injected", "--report=/dev/null"):
            closed_streams(checks, pie, option)
        for program in (pie, static):
            adopting(checks, program, "subreaper", [sys.executable, "-c", SUBREAPER])
            if subprocess.run([*NAMESPACE, "true"], check=False).returncode == 0:
                adopting(checks, program, "process 1", NAMESPACE)
        reasons(checks, static, scratch)
        no_ranges(checks, scratch)
    checks.finish()


if __name__ == "__main__":
    main()
