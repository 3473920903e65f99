# SPDX-License-Identifier: MIT
"""An installed tree that was moved: CMake, pkg-config and the wrappers."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import BUILD, PROGRAM, SOURCE, doctor, heap_of, run

LISTS = """
cmake_minimum_required(VERSION 3.18)
project(consumer C CXX)
find_package(bigleaf 0.1 REQUIRED)
add_executable(with_static program.c)
target_link_libraries(with_static PRIVATE bigleaf::static)
add_executable(all_static program.c)
target_link_libraries(all_static PRIVATE bigleaf::static)
target_link_options(all_static PRIVATE -static)
add_executable(with_shared program.c)
target_link_libraries(with_shared PRIVATE bigleaf::shared)
add_executable(engine engine.c)
target_link_libraries(engine PRIVATE bigleaf::table)
add_executable(engine_static engine.c)
target_link_libraries(engine_static PRIVATE bigleaf::table bigleaf::static)
"""
PLAIN_LISTS = """
cmake_minimum_required(VERSION 3.18)
project(consumer C CXX)
add_executable(program program.c)
"""


def example(title: str) -> str:
    """The program under a heading of the guide."""
    section = (SOURCE / "docs/guide.md").read_text().split(f"\n## {title}\n")[1]
    return re.findall(r"^```c\n(.*?)^```", section, re.DOTALL | re.MULTILINE)[0]


ANSWERS = "".join(f"{x} {x + 1}\n" for x in range(10))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed to one folder, then moved to another with a space."""
    base = tmp_path_factory.mktemp("install")
    ended = run("cmake", "--install", BUILD, "--prefix", base / "first")
    assert ended.status == 0, ended
    return shutil.move(base / "first", base / "moved away")


def libraries(tree: Path) -> Path:
    return next(tree.glob("lib*/**/libbigleaf.a")).parent


def configured(tree: Path, folder: Path, lists: str, *words: str) -> Path:
    """A consumer's build folder, built."""
    (folder / "program.c").write_text(PROGRAM)
    (folder / "engine.c").write_text(example("Tables"))
    (folder / "CMakeLists.txt").write_text(lists)
    for step in (["-G", "Ninja", "-S", ".", "-B", "out", *words], ["--build", "out"]):
        ended = run("cmake", *step, cwd=folder)
        assert ended.status == 0, ended
    return folder / "out"


def test_cmake_finds_the_package(tree: Path, tmp_path: Path) -> None:
    out = configured(tree, tmp_path, LISTS, f"-DCMAKE_PREFIX_PATH={tree}")
    for name in ("with_static", "all_static"):
        assert doctor(out / name)["bigleaf_version"]
    assert doctor(out / "with_shared")["bigleaf_library"]
    assert doctor(out / "engine_static")["bigleaf_version"]
    for name in ("engine", "engine_static"):
        assert run(out / name).out == ANSWERS
    if doctor(out / "all_static")["huge_pages_here"]:
        for name in ("with_static", "all_static", "with_shared"):
            assert heap_of(out / name) >= 8 << 20


def test_a_cmake_that_is_too_old_is_told(tree: Path, tmp_path: Path) -> None:
    """It would leave out what puts malloc into a program."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.10)\nproject(old NONE)\n"
        "set(CMAKE_VERSION 3.12.4)\nfind_package(bigleaf REQUIRED)\n")
    ended = run("cmake", "-G", "Ninja", "-S", tmp_path, "-B", tmp_path / "out",
                f"-DCMAKE_PREFIX_PATH={tree}")
    assert ended.status == 1 and "it takes CMake 3.13 or later" in " ".join(ended.err.split())


def test_cmake_takes_the_toolchain(tree: Path, tmp_path: Path) -> None:
    file = libraries(tree) / "cmake/bigleaf/toolchain.cmake"
    out = configured(tree, tmp_path, PLAIN_LISTS, f"-DCMAKE_TOOLCHAIN_FILE={file}")
    assert doctor(out / "program")["bigleaf_version"]


def test_pkg_config_gives_the_words(
    tree: Path, source: Path, tmp_path: Path
) -> None:
    if not shutil.which("pkg-config"):
        pytest.skip("no pkg-config")
    # Its words are split at spaces.
    plain = tmp_path / "plain"
    plain.symlink_to(tree)
    folder = libraries(plain) / "pkgconfig"
    env = {"PKG_CONFIG_PATH": str(folder), "SOURCE": str(source)}
    # It names nothing of the library, which is dropped where linkers drop such.
    source.write_text('#include <stdio.h>\nint main(void) { return !fopen("/", "r"); }\n')
    script = 'eval "$4" "$SOURCE" $(pkg-config --cflags --libs "$1") $2 -o "$3"'
    for name, flag in (("bigleaf", ""), ("bigleaf-static", "-static")):
        program = tmp_path / name
        ended = run("sh", "-c", script, "sh", name, flag, program, "cc -Wl,--as-needed", env=env)
        assert ended.status == 0, ended
    assert doctor(tmp_path / "bigleaf")["bigleaf_library"]
    assert doctor(tmp_path / "bigleaf-static")["bigleaf_version"]
    source.write_text(example("Tables"))
    for compiler in ("cc", plain / "bin/bigleaf-cc"):
        ended = run("sh", "-c", script, "sh", "bigleaf-table", "", tmp_path / "engine",
                    compiler, env=env)  # fmt: skip
        assert ended.status == 0, ended
        assert run(tmp_path / "engine").out == ANSWERS
    ended = run("pkg-config", "--variable=toolchain", "bigleaf", env=env)
    assert Path(ended.out.strip().replace("\\", "")).exists()


def test_the_moved_command_finds_its_files(
    tree: Path, source: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    ended = run(tree / "bin/bigleaf-cc", "-static", source, "-o", program)
    assert (ended.status, ended.err) == (0, "")
    assert doctor(program)["bigleaf_version"]


def test_the_moved_command_finds_the_headers(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "pool.c").write_text(example("Typed pools"))
    ended = run(tree / "bin/bigleaf-cc", "-Wall", "-Werror", tmp_path / "pool.c",
                "-o", tmp_path / "pool")  # fmt: skip
    assert (ended.status, ended.err) == (0, "")
    assert run(tmp_path / "pool").status == 0


def test_what_is_built_can_be_installed() -> None:
    """`./dev build` makes the manual pages too, which are installed."""
    if not (BUILD / "build.ninja").exists():
        pytest.skip("not built by ninja")
    ended = run("ninja", "-C", BUILD, "-t", "query", "products")
    assert re.search(r"^ +docs/man/man$", ended.out, re.MULTILINE), ended.out


def test_what_the_manual_pages_refer_to_is_there(tree: Path) -> None:
    pages = "".join(f.read_text() for f in (tree / "share/man").glob("*/*"))
    named = set(re.findall(r"share/doc/bigleaf/\S+\.md", pages))
    assert named and all((tree / name).exists() for name in named)


def test_links_of_the_documents_lead_somewhere(tree: Path) -> None:
    links = [(file.parent, link) for file in (tree / "share/doc/bigleaf").rglob("*.md")
             for link in re.findall(r"\]\(([^)#:]+)[)#]", file.read_text())]
    assert len(links) > 5
    assert [link for folder, link in links if not (folder / link).exists()] == []


def test_bash_finds_the_completions_by_name(tree: Path) -> None:
    folder = tree / "share/bash-completion/completions"
    for name in ("bigleaf", "bigleaf-bench"):
        assert f"\ncomplete -F _{name.replace('-', '_')} {name}\n" in (
            folder / name
        ).read_text()


def test_the_moved_bench_finds_its_files(tree: Path) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("bigleaf-bench needs Python 3.11 or later")
    ended = run(tree / "bin/bigleaf-bench", "build", "--list")
    assert (ended.status, ended.err) == (0, "")
    assert "minisat " in ended.out


def test_the_moved_bench_names_its_list(tree: Path, tmp_path: Path) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("bigleaf-bench needs Python 3.11 or later")
    bare = tmp_path / "python"  # without any module but its own
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    ended = run(tree / "bin/bigleaf-bench", "tables", "runs", tmp_path,
                env={"BIGLEAF_BENCH_PYTHON": str(bare)})  # fmt: skip
    needs = (tree / "share/bigleaf/bench/requirements.txt").resolve(strict=True)
    assert ended.status == 3
    assert f" is missing: pip install -r {needs}, " in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("python", ["", "#!/bin/sh\nexit 1\n"], ids=["no", "old"])
def test_bench_asks_for_a_python(python: str, tree: Path, tmp_path: Path) -> None:
    for name in ("sh", "dirname", "readlink"):
        (tmp_path / name).symlink_to(shutil.which(name))
    if python:
        (tmp_path / "python3").write_text(python)
        (tmp_path / "python3").chmod(0o755)
    ended = run(tree / "bin/bigleaf-bench", "build", "--list", env={"PATH": str(tmp_path)})
    assert ended.status == 3
    assert ended.err.startswith("bigleaf-bench: needs Python 3.11")
    assert ended.err.count("\n") == 1


def test_the_bench_of_sources_in_a_folder_with_a_space(tmp_path: Path) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("bigleaf-bench needs Python 3.11 or later")
    (tmp_path / "my sources").symlink_to(SOURCE)
    (tmp_path / "script.cmake").write_text(
        f'set(BL_BENCH_PYTHON "{sys.executable}")\n'
        f'set(BL_BENCH_PACKAGE "{tmp_path}/my sources/bench")\n'
        f'configure_file("{SOURCE}/bench/launcher.sh.in" launcher @ONLY)\n')
    assert run("cmake", "-P", "script.cmake", cwd=tmp_path).status == 0
    ended = run("sh", tmp_path / "launcher", "--version")
    assert (ended.status, ended.err) == (0, "")


def test_nothing_of_the_runtime_is_left_to_a_linker(tmp_path: Path) -> None:
    """Distributions add -flto, with which its parts cannot be joined."""
    flags = "-flto=auto -ffat-lto-objects"
    ended = run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", tmp_path, "-DBL_TESTS=OFF",
                *(f"-DCMAKE_{language}_FLAGS={flags}" for language in ("C", "CXX")))  # fmt: skip
    assert ended.status == 0, ended
    commands = json.loads((tmp_path / "compile_commands.json").read_text())
    assert len(commands) > 100
    for command in (one["command"] for one in commands):
        assert command.index("-fno-lto") > command.index("-flto=auto"), command


def test_folders_of_the_install_are_relative(tmp_path: Path) -> None:
    """Else what is installed would look for the rest in places that are none."""
    ended = run("cmake", "-G", "Ninja", "-S", SOURCE, "-B", tmp_path,
                "-DCMAKE_INSTALL_LIBDIR=/opt/lib")
    assert ended.status == 1
    assert "CMAKE_INSTALL_LIBDIR=/opt/lib: must be relative" in " ".join(ended.err.split())


def test_make_builds_what_is_joined_before_it_is_joined(tmp_path: Path) -> None:
    """Its rules for an object are those of the object's own target."""
    ended = run("cmake", "-G", "Unix Makefiles", "-S", SOURCE, "-B", tmp_path, "-DBL_TESTS=OFF")
    assert ended.status == 0, ended
    order = (tmp_path / "CMakeFiles/Makefile2").read_text()
    for target in ("src/table/CMakeFiles/bigleaf_table.dir",
                   "src/runtime/CMakeFiles/bigleaf_static.dir"):  # fmt: skip
        rules = (tmp_path / target / "build.make").read_text()
        joined = set(re.findall(r": (src/\S+\.dir)/\S+\.o$", rules, re.MULTILINE)) - {target}
        assert len(joined) > 5
        assert [of for of in joined if f"\n{target}/all: {of}/all\n" not in order] == []
