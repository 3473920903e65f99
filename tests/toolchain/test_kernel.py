# SPDX-License-Identifier: MIT
"""Static programs on the system calls of Linux 3.10: old clusters have no more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import BUILD, COMMAND, SOURCE, WORK, run

# Threads, fork, growth and shrinking of large blocks; many small ones.
PROGRAM = WORK + """
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    char *big = NULL;
    for (size_t size = 1 << 20; size <= 64 << 20; size *= 2)
        memset(big = realloc(big, size), 1, size);
    big = realloc(big, 100);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("done %d %d\\n", WEXITSTATUS(status), big[99]);
    return 0;
}
"""


@pytest.fixture(scope="module")
def old_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("old") / "old_kernel"
    made = run("cc", SOURCE / "tests/toolchain/old_kernel.c", "-o", program)
    assert made.status == 0, made
    if run(program, "/bin/true").status == 77:
        pytest.skip("no seccomp here")
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    made = run(COMMAND, "cc", "-O1", "-static", folder / "program.c", "-o",
               folder / "program", "-pthread")  # fmt: skip
    assert made.status == 0, made
    return folder / "program"


def test_the_filter_bites(old_kernel: Path, tmp_path: Path) -> None:
    source = tmp_path / "probe.c"
    source.write_text(
        "#include <errno.h>\n#include <stdio.h>\n#include <sys/mman.h>\n"
        "#include <sys/syscall.h>\n#include <unistd.h>\n"
        "int main(void) { char b[1];\n"
        "int a = syscall(SYS_getrandom, b, 1, 0) < 0 ? errno : 0;\n"
        "int c = madvise(b, 0, 25) < 0 ? errno : 0;\n"
        'printf("%d %d\\n", a == ENOSYS, c == EINVAL); }\n'
    )
    assert run("cc", source, "-o", tmp_path / "probe").status == 0
    assert run(old_kernel, tmp_path / "probe").out == "1 1\n"


@pytest.mark.parametrize(
    "env",
    [
        {}, {"BIGLEAF": "off"}, {"BIGLEAF_PAGES": "base"},
        {"BIGLEAF_PAGES": "hugetlb"}, {"BIGLEAF_VERBOSE": "1"},
        {"BIGLEAF_IMAGE": "on", "BIGLEAF_DATA": "on", "BIGLEAF_STACK": "on"},
    ],
    ids=str,
)  # fmt: skip
def test_runs_as_on_a_new_kernel(
    env: dict[str, str], old_kernel: Path, program: Path
) -> None:
    ended = run(old_kernel, program, env=env)
    assert (ended.status, ended.out) == (0, "done 7 1\n"), ended


def test_the_preload_library_runs_too(
    old_kernel: Path, tmp_path: Path
) -> None:
    (tmp_path / "program.c").write_text(PROGRAM)
    program = tmp_path / "program"
    assert run("cc", tmp_path / "program.c", "-o", program).status == 0
    env = {"LD_PRELOAD": str(BUILD / "lib/libbigleaf.so")}
    ended = run(old_kernel, program, env=env)
    assert (ended.status, ended.out) == (0, "done 7 1\n"), ended


def test_an_installed_reasoner_answers(old_kernel: Path) -> None:
    minisat = shutil.which("minisat")
    if not minisat:
        pytest.skip("no minisat")
    env = {"LD_PRELOAD": str(BUILD / "lib/libbigleaf.so")}
    formula = SOURCE / "solvers/smoke/unsat.cnf"
    assert run(old_kernel, minisat, formula, env=env).status == 20
