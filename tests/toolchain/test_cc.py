# SPDX-License-Identifier: MIT
"""`bigleaf cc` and `bigleaf c++`: what they add, and what they leave alone."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from conftest import BUILD, COMMAND, WORK, doctor, heap_of, run

SHAPES = [(), ("-static",), ("-static-pie",), ("--static-pie",), ("-no-pie",),
          ("-flto", "-O2")]  # fmt: skip
OURS = {"libbigleaf.a", "bigleaf-huge.o"}


@pytest.fixture
def compiler(tmp_path: Path) -> dict[str, str]:
    """An environment whose compiler prints its words, one a line."""
    script = tmp_path / "print-words"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    script.chmod(0o755)
    return {"BIGLEAF_CC": str(script), "BIGLEAF_CXX": str(script)}


def words_of(compiler: dict[str, str], *words: str) -> list[str]:
    ended = run(COMMAND, "cc", *words, env=compiler)
    assert ended.status == 0, ended
    return ended.out.splitlines()


def added(compiler: dict[str, str], *words: str) -> set[str]:
    """The names of our files that a line gets."""
    return {Path(w).name for w in words_of(compiler, *words)} & OURS


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_a_program_has_bigleaf_inside(
    shape: tuple[str, ...], source: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    ended = run(COMMAND, "cc", *shape, source, "-o", program)
    assert (ended.status, ended.err) == (0, "")
    facts = doctor(program)
    assert re.fullmatch(r"\d+\.\d+\.\d+", facts["bigleaf_version"])
    assert facts["text_align"] == 2 << 20
    if facts["huge_pages_here"]:
        assert heap_of(program) >= 8 << 20
        assert heap_of(program, env={"BIGLEAF": "off"}) == 0


# Says which malloc serves it: glibc's blocks have room for 24 bytes at least,
# Bigleaf's of 16 bytes exactly those.
WHICH = WORK + """
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 20; i++) {
        int status = 1;
        if (fork() == 0) {
            work(NULL);
            _exit(0);
        }
        wait(&status);
        if (status)
            return 1;
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    char *p = calloc(1, 16);
    char *grown = realloc(memcpy(realloc(NULL, 9), "contents", 9), 32 << 20);
    char *aligned = aligned_alloc(4096, 4096);
    puts(malloc_usable_size(p) == 16 ? "bigleaf" : "libc");
    free(p);
    int good = !strcmp(grown, "contents") && (unsigned long)aligned % 4096 == 0;
    free(grown);
    free(aligned);
    return !good;
}
"""


def which(shape: tuple[str, ...], tmp_path: Path) -> Path:
    """The program of WHICH, with Bigleaf and the libc's malloc inside."""
    (tmp_path / "which.c").write_text(WHICH)
    program = tmp_path / "which"
    ended = run(COMMAND, "cc", *shape, "-fno-builtin", "-pthread",
                tmp_path / "which.c", "-o", program)  # fmt: skip
    assert (ended.status, ended.err) == (0, "")
    if not doctor(program)["libc_malloc"]:
        pytest.skip("the libc here is not glibc")
    return program


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_off_runs_on_the_malloc_of_the_libc(
    shape: tuple[str, ...], tmp_path: Path
) -> None:
    program = which(shape, tmp_path)
    assert (run(program).status, run(program).out) == (0, "bigleaf\n")
    for off in ("off", "0"):
        ended = run(program, env={"BIGLEAF": off})
        assert (ended.status, ended.out) == (0, "libc\n")
        said = run(COMMAND, "doctor", program, env={"BIGLEAF": off}).out
        assert "BIGLEAF=off switches it off now" in said


def test_the_report_names_the_program_and_no_copy(tmp_path: Path) -> None:
    """Its text may be mapped from a copy that another folder has."""
    program = which((), tmp_path)
    lines = tmp_path / "lines"
    run(program, env={"BIGLEAF_REPORT": str(lines)})
    (line,) = lines.read_text().splitlines()
    assert json.loads(line)["exe"] == str(program)
    report = tmp_path / "report"
    run(COMMAND, "run", f"--report={report}", "--json", program)
    (process,) = json.loads(report.read_text())["processes"]
    assert process["exe"] == str(program)


@pytest.mark.parametrize("shape", SHAPES, ids=" ".join)
def test_none_and_base_are_without_what_is_inside(
    shape: tuple[str, ...], tmp_path: Path
) -> None:
    program = which(shape, tmp_path)
    ended = run(COMMAND, "run", "--heap=none", "--report", program)
    assert ended.out == "libc\n"
    assert "the runtime in the program is switched off" in ended.err
    assert run(COMMAND, "run", "--heap=glibc", program).out == "libc\n"
    ended = run(COMMAND, "compare", "-n1", program)
    assert "base has the runtime in the program switched off" in ended.out
    assert "output: differs" in ended.out


def test_no_call_asks_whether_it_is_off(source: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    ended = run(COMMAND, "cc", "-static", source, "-o", program)
    assert (ended.status, ended.err) == (0, "")
    if not doctor(program)["libc_malloc"]:
        pytest.skip("the libc here is not glibc")
    kinds = {
        words[2]: words[1]
        for words in map(str.split, run("nm", program).out.splitlines())
        if len(words) == 3
    }
    for name in ("malloc", "calloc", "realloc", "free"):
        assert kinds[name] == "i", "not resolved at the start"


def test_the_runtime_has_no_stack_protector() -> None:
    """Its first code runs before there is a canary."""
    flags = run("grep", "-c", "stack_chk", BUILD / "lib/bigleaf-switch.o")
    assert flags.out == "0\n"


# The last word of the environment counts, and one heap serves all functions:
# what aligned_alloc gives (asked at each call) free takes (resolved at start).
@pytest.mark.parametrize(
    ("words", "served_by"),
    [
        ("BIGLEAF=0", "libc"),
        ("BIGLEAF=off GLIBC_THP_ALWAYS=1", "bigleaf"),
        ("GLIBC_THP_ALWAYS=1 BIGLEAF=off", "libc"),
        ("GLIBC_THP_ALWAYS=0", "bigleaf"),
        ("BIGLEAF=wrong", "bigleaf"),
    ],
)
def test_the_environment_is_read_alike(
    words: str, served_by: str, tmp_path: Path
) -> None:
    (tmp_path / "which.c").write_text(WHICH)
    program = tmp_path / "which"
    ended = run(COMMAND, "cc", "-static", "-fno-builtin", "-pthread",
                tmp_path / "which.c", "-o", program)  # fmt: skip
    assert (ended.status, ended.err) == (0, "")
    if not doctor(program)["libc_malloc"]:
        pytest.skip("the libc here is not glibc")
    ended = run("env", "-i", *words.split(), program)
    assert (ended.status, ended.out) == (0, f"{served_by}\n"), ended


def test_a_libc_without_that_malloc_is_left_alone(
    source: Path, tmp_path: Path
) -> None:
    if not shutil.which("musl-gcc"):
        pytest.skip("no musl-gcc")
    program = tmp_path / "program"
    ended = run(COMMAND, "cc", "-static", source, "-o", program,
                env={"BIGLEAF_CC": "musl-gcc"})  # fmt: skip
    assert "malloc.o" not in ended.err
    if ended.status != 0:
        pytest.skip("the runtime here does not link with musl")
    assert not doctor(program)["libc_malloc"]
    assert run(program, env={"BIGLEAF": "off"}).out == "done\n"


def test_cxx_links_its_library(tmp_path: Path) -> None:
    source = tmp_path / "program.cc"
    source.write_text(
        "#include <cstdio>\n#include <thread>\n#include <vector>\n"
        "int main() { std::vector<int> v(1 << 22, 1);\n"
        "std::thread([&] { v.clear(); v.shrink_to_fit(); }).join();\n"
        'std::puts("done"); }\n'
    )
    for shape in ("-O1", "-static"):
        program = tmp_path / "program"
        ended = run(COMMAND, "c++", shape, source, "-o", program)
        assert (ended.status, ended.err) == (0, "")
        assert run(program).out == "done\n"
        assert doctor(program)["bigleaf_version"]


def test_clang_takes_the_same_words(source: Path, tmp_path: Path) -> None:
    if not shutil.which("clang"):
        pytest.skip("no clang")
    program = tmp_path / "program"
    ended = run(
        COMMAND, "cc", "-static", source, "-o", program, "-Wall", "-Werror",
        env={"BIGLEAF_CC": "clang"},
    )
    assert (ended.status, ended.err) == (0, "")
    assert doctor(program)["bigleaf_version"]


@pytest.mark.parametrize(
    "line",
    [
        "-r a.o b.o -o c.o", "--version", "-v", "-dumpmachine", "-print-file-name=libc.a",
        "a.h", "-x c-header a", "-xc++-header a",
        "-o out -I include", "-###  a.c", "", "-c a.s",
        "-Wl,-r a.o -o b.o", "-Wl,-dT,script,--relocatable a.o", "-cc1 a.c",
        "-Xlinker -r a.o -o b.o", "--analyze a.c",
    ],
)  # fmt: skip
def test_a_line_that_makes_no_program_is_left_alone(
    line: str, compiler: dict[str, str]
) -> None:
    expected = line.split() if line else [""]
    assert words_of(compiler, *line.split()) == expected


@pytest.mark.parametrize(
    "line",
    [
        "-c a.c", "-S a.c -o -", "-E a.c", "-M a.c", "-fsyntax-only a.c",
        "-MJ a.json -E a.c", "-nostdlib a.c",
    ],
)  # fmt: skip
def test_a_line_that_only_compiles_gets_the_headers(
    line: str, compiler: dict[str, str]
) -> None:
    option, folder, *words = words_of(compiler, *line.split())
    assert option == "-idirafter"
    assert (Path(folder) / "bigleaf/pool.h").exists()
    assert words == line.split()


def test_the_public_headers_are_found_behind_all_others(
    compiler: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "pool.c").write_text(
        "#include <bigleaf/pool.h>\n"
        "int main(void) {\n"
        "    struct bl_pool_spec spec = {\"name\", 24, 0, BL_POOL_PRIVATE};\n"
        "    struct bl_pool *pool = bl_pool_new(&spec);\n"
        "    return !bl_pool_alloc(pool);\n}\n"
    )
    for compile_with in ("cc", "c++"):
        ended = run(COMMAND, compile_with, tmp_path / "pool.c",
                    "-o", tmp_path / "pool")  # fmt: skip
        assert (ended.status, ended.err) == (0, "")
        assert run(tmp_path / "pool").status == 0


@pytest.mark.parametrize(
    "line",
    [
        "a.c", "a.o b.o -o prog", "-MD -MF a.d a.c", "-x c -", "-lfoo",
        "a.c -I -c", "-o a.o a.c", "-v a.c", "-D X -static a.o",
        "-Wl,-rpath,-r.so a.o", "-Xlinker -rpath -Xlinker /x a.o",
    ],
)  # fmt: skip
def test_a_line_that_links_keeps_its_words(
    line: str, compiler: dict[str, str]
) -> None:
    words = words_of(compiler, *line.split())
    assert {Path(w).name for w in words} >= OURS
    n = len(line.split())
    assert words[-n - 1 :] == [*line.split(), "-lpthread"]


@pytest.mark.parametrize("word", ["-shared", "--shared", "-Wl,-z,now,-shared",
                                  "-Xlinker -Bshareable"])  # fmt: skip
def test_shared_libraries_get_no_malloc(
    word: str, compiler: dict[str, str]
) -> None:
    assert added(compiler, *word.split(), "a.o") == {"bigleaf-huge.o"}


@pytest.mark.parametrize(
    ("option", "files"),
    [("-m32", set()), ("-shared", {"bigleaf-huge.o"}), ("-O2", OURS), ("-c", set())],
)
def test_options_may_be_the_compiler_s_own(
    option: str, files: set[str], compiler: dict[str, str]
) -> None:
    """As build systems have them: CC="ccache gcc -m32"."""
    words = {"BIGLEAF_CC": f"env {compiler['BIGLEAF_CC']} {option} -B x"}
    assert added(words, "a.o") == files


def test_sanitizers_keep_their_malloc(compiler: dict[str, str]) -> None:
    ended = run(COMMAND, "cc", "-fno-sanitize=address",
                "-fsanitize=undefined,address", "a.c", env=compiler)  # fmt: skip
    assert "libbigleaf.a" not in ended.out
    assert ended.err == (
        "bigleaf cc: linked without Bigleaf: -fsanitize=address brings a "
        "malloc of its own\n"
    )
    for words in ("-fsanitize=undefined", "-fsanitize=kernel-address",
                  "-fsanitize=thread,leak -fno-sanitize=leak,thread",
                  "-fsanitize=address -fno-sanitize=all"):  # fmt: skip
        ended = run(COMMAND, "cc", *words.split(), "a.c", env=compiler)
        assert "libbigleaf.a" in ended.out and not ended.err


def test_response_files_are_read(
    compiler: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "words"
    file.write_text("'a b.o' \"c\\\"d.o\"\n-shared\n")
    assert added(compiler, f"@{file}") == {"bigleaf-huge.o"}
    file.write_text("-c a\\ b.c")
    assert added(compiler, f"@{file}") == set()
    assert added(compiler, "@missing") == OURS


def test_names_of_one_word(source: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    ended = run(COMMAND.with_name("bigleaf-cc"), source, "-o", program)
    assert ended.status == 0
    assert doctor(program)["bigleaf_version"]


def test_status_and_text_are_the_compilers(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int main(void) { return missing; }\n")
    ended = run(COMMAND, "cc", source, "-o", tmp_path / "program")
    assert ended.status == 1
    assert "missing" in ended.err


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        ("BIGLEAF_CACHE", "thp"),
        ("XDG_CACHE_HOME", "bigleaf/thp"),
        ("HOME", ".cache/bigleaf/thp"),
    ],
)
def test_the_patched_libc_is_found_where_it_is_made(
    compiler: dict[str, str], tmp_path: Path, variable: str, place: str
) -> None:
    env = compiler | {"HOME": "/none", "XDG_CACHE_HOME": ""} | {variable: str(tmp_path)}
    words = (COMMAND, "cc", "--libc=thp", "-static", "a.o")
    ended = run(*words, env=env)
    assert ended.status == 3
    assert f"{tmp_path / place}/libc.a: cannot be read" in ended.err
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "libc.a").touch()
    ended = run(*words, env=env)
    assert ended.status == 0, ended
    assert str(tmp_path / place) in ended.out.splitlines()


@pytest.mark.parametrize(
    ("words", "env", "status", "text"),
    [
        (["--libc=musl", "a.c"], {}, 2, "one of system|thp"),
        (["--libc=thp", "a.c"], {}, 2, "needs -static"),
        (["--libc=thp", "-static", "a.c"],
         {"BIGLEAF_LIBC_THP": "/nonexistent"}, 3, "thp-libc"),
        (["a.c"], {"BIGLEAF_CC": "no-such-compiler"}, 127, "BIGLEAF_CC"),
        (["a.c"], {"BIGLEAF_CC": str(COMMAND)}, 2, "is this wrapper itself"),
        (["a.c"], {"BIGLEAF_LIB": "/bin/sh"}, 3, "cannot be read"),
        (["a.c"], {"BIGLEAF_LIB": "/no/such.so"}, 3, "cc: /no/bigleaf-huge.o: cannot be read"),
    ],
)  # fmt: skip
def test_faults_are_named(
    words: list[str], env: dict[str, str], status: int, text: str
) -> None:
    ended = run(COMMAND, "cc", *words, env=env)
    assert ended.status == status
    first, *rest = ended.err.splitlines()
    assert first.startswith("bigleaf cc: ") and text in first
    assert rest in ([], ["try: bigleaf cc --help"])


def test_exceptions_pass_in_static_programs(tmp_path: Path) -> None:
    source = tmp_path / "throws.cc"
    source.write_text(
        "#include <cstdio>\n#include <new>\n#include <stdexcept>\n"
        "#include <string>\n"
        "static void fall(int n) { std::string s(n, 'x');\n"
        '    if (!n) throw std::runtime_error("thrown"); fall(n - 1); }\n'
        "int main() {\n"
        "    try { fall(30); } catch (std::exception &e) {\n"
        "        std::puts(e.what()); }\n"
        "    volatile size_t much = size_t(1) << 60;\n"
        "    try { new char[much]; } catch (std::bad_alloc &e) {\n"
        "        std::puts(e.what()); } }\n"
    )
    for shape in ("-static", "-static-pie"):
        program = tmp_path / "throws"
        ended = run(COMMAND, "c++", shape, source, "-o", program)
        assert (ended.status, ended.err) == (0, "")
        for env in ({}, {"BIGLEAF": "off"}):
            assert run(program, env=env).out == "thrown\nstd::bad_alloc\n"


def test_a_library_brought_by_dlopen_shares_the_heap(tmp_path: Path) -> None:
    (tmp_path / "lib.c").write_text(
        "#include <stdlib.h>\nvoid *make(void) { return malloc(3 << 20); }\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(int count, char **words) {\n"
        "    void *library = dlopen(words[1], RTLD_NOW);\n"
        "    if (!library) return 1;\n"
        '    void *(*make)(void) = (void *(*)(void))dlsym(library, "make");\n'
        '    free(realloc(make(), 9 << 20)); puts("done"); return count - 2; }\n'
    )
    library, program = tmp_path / "libmake.so", tmp_path / "main"
    assert run(COMMAND, "cc", "-shared", "-fPIC", tmp_path / "lib.c",
               "-o", library).status == 0  # fmt: skip
    assert run(COMMAND, "cc", tmp_path / "main.c", "-o", program).status == 0
    for env in ({}, {"BIGLEAF": "off"}):
        ended = run(program, library, env=env)
        assert (ended.status, ended.out) == (0, "done\n"), ended


def test_a_shared_runtime_is_recognised(source: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    libraries = BUILD / "lib"
    assert run("cc", source, "-o", program, f"-L{libraries}",
               "-Wl,--no-as-needed", "-lbigleaf").status == 0  # fmt: skip
    assert doctor(program)["bigleaf_library"] is True
    ended = run(COMMAND, "doctor", "program", cwd=tmp_path)
    assert "by libbigleaf.so, on unless BIGLEAF=off" in ended.out


def test_a_static_program_runs_in_an_empty_root(
    source: Path, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    root = tmp_path / "root"
    root.mkdir()
    run(COMMAND, "cc", "-static", source, "-o", root / "program")
    for env in ({}, {"BIGLEAF": "off"}, {"BIGLEAF_IMAGE": "on"}):
        ended = run("chroot", root, "/program", env=env)
        assert (ended.status, ended.out, ended.err) == (0, "done\n", "")
