# SPDX-License-Identifier: MIT
"""Wrong command lines: one clear line, a hint, and the right status."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, Bigleaf, one_line

WRONG = [
    ((), "bigleaf: no command given"),
    (("runn",), "bigleaf: unknown command 'runn' (did you mean run?)"),
    (("xyzzy",), "bigleaf: unknown command 'xyzzy'"),
    (("../run",), "bigleaf: '../run' is no name of a command"),
    (("--frob",), "bigleaf: unknown option '--frob'"),
    (("run",), "bigleaf run: no program given"),
    (("run", "--"), "bigleaf run: no program given"),
    (
        ("run", "--reprt", "true"),
        "bigleaf run: unknown option '--reprt' (did you mean --report?)",
    ),
    (("run", "-q", "true"), "bigleaf run: unknown option '-q'"),
    (
        ("run", "--pages=giant", "true"),
        "bigleaf run: wrong value 'giant' for --pages: "
        "one of auto|thp|hugetlb|base",
    ),
    (
        ("run", "--pages=auto|thp", "true"),
        "bigleaf run: wrong value 'auto|thp' for --pages: "
        "one of auto|thp|hugetlb|base",
    ),
    (
        ("run", "--heap=libc", "true"),
        "bigleaf run: wrong value 'libc' for --heap: one of bigleaf|glibc|injected|none",
    ),
    (
        ("run", "--purge-delay-ms=soon", "true"),
        "bigleaf run: wrong value 'soon' for --purge-delay-ms: "
        "a number from 0 to 3600000",
    ),
    (
        ("run", "--shadow-dir=/no/such", "true"),
        "bigleaf run: wrong value '/no/such' for --shadow-dir: "
        "No such file or directory",
    ),
    (
        ("run", "--shadow-dir=/dev/null", "true"),
        "bigleaf run: wrong value '/dev/null' for --shadow-dir: Not a directory",
    ),
    (
        ("run", "--pages"),
        "bigleaf run: option '--pages' needs a value: auto|thp|hugetlb|base",
    ),
    (
        ("run", "--json=x", "true"),
        "bigleaf run: option '--json=x' takes no value",
    ),
    (
        ("compare", "--json=", "true"),
        "bigleaf compare: --json= needs the name of a file",
    ),
    (
        ("run", "--report=", "true"),
        "bigleaf run: --report= needs the name of a file",
    ),
    (
        ("compare", "-n", "0", "true"),
        "bigleaf compare: wrong value '0' for --runs: a number from 1 to 1000",
    ),
    (
        ("compare", "--ignore=(", "true"),
        "bigleaf compare: wrong pattern '(' for --ignore: Unmatched ( or \\(",
    ),
    (
        ("compare", "--ignore=", "true"),
        "bigleaf compare: --ignore= needs a pattern",
    ),
    (
        ("compare", "--variant=x", "true"),
        "bigleaf compare: wrong value 'x' for --variant: NAME:VAR=VALUE,...",
    ),
    (("compare",), "bigleaf compare: no program given"),
    (
        ("compare", "--variant=base:X=1", "true"),
        "bigleaf compare: --variant base: that name is taken",
    ),
    (
        ("compare", "--variant=j:X=1", "--variant=j:Y=1", "true"),
        "bigleaf compare: --variant j: that name is taken",
    ),
    (
        ("doctor", "true", "false"),
        "bigleaf doctor: one program at a time, behind the options",
    ),
    (
        ("doctor", "--clean", "true"),
        "bigleaf doctor: --clean goes with nothing else",
    ),
    (
        ("doctor", "--clean", "--json"),
        "bigleaf doctor: --clean goes with nothing else",
    ),
    (
        ("doctor", "--root=/no/such"),
        "bigleaf doctor: --root=/no/such: no folder",
    ),
    (
        ("doctor", "--root=/", "true"),
        "bigleaf doctor: --root looks at a machine, not at a program",
    ),
    (
        ("attach", "1", "--watch"),
        "bigleaf attach: one PID is needed, behind the options, or --all",
    ),
    (
        ("align", "true", "--undo"),
        "bigleaf align: one FILE is needed, behind all options",
    ),
    (
        ("align", "--output=", "true"),
        "bigleaf align: --output= needs the name of a file",
    ),
    (
        ("tlb", "--json=", "true"),
        "bigleaf tlb: wrong value '' for --json: the name of a file",
    ),
    (
        ("tlb", "--json=x", "--flame=x", "true"),
        "bigleaf tlb: --json and --flame both write to x: name two files",
    ),
    (
        ("tlb", "--json=-", "--flame=-", "true"),
        "bigleaf tlb: --json and --flame both write to -: name two files",
    ),
    (
        ("attach", "--all", "--user", "nobody"),
        "bigleaf attach: --all takes no PID, and no other word; "
        "as a user's name: --user=nobody",
    ),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_wrong_usage_is_2_with_a_hint(
    bigleaf: Bigleaf, words: tuple[str, ...], said: str
) -> None:
    ended = bigleaf(*words)
    assert ended.status == 2
    assert ended.out == ""
    command = said.split(":")[0]
    assert ended.err == f"{said}\ntry: {command} --help\n"


@pytest.mark.parametrize("command", ["run", "compare"])
def test_program_not_found_is_127(bigleaf: Bigleaf, command: str) -> None:
    ended = bigleaf(command, "no-such-program")
    assert ended.status == 127
    assert (
        one_line(ended.err)
        == f"bigleaf {command}: no-such-program: not found on PATH"
    )
    ended = bigleaf(command, "/no/such/program")
    assert ended.status == 127
    assert "No such file or directory" in one_line(ended.err)


def test_a_report_s_file_that_stands_apart_is_told_of(bigleaf: Bigleaf) -> None:
    """Taken for the program, since the option's value may be left out."""
    ended = bigleaf("run", "--report", "r.json", "true")
    assert ended.status == 127
    assert ended.err == (
        "bigleaf run: r.json: not found on PATH\n"
        "as the report's file: --report=r.json\n"
    )
    one_line(bigleaf("run", "--report", "--", "r.json", "true").err)


@pytest.mark.parametrize("options", [(), ("--report",), ("--heap=none",)])
def test_empty_name_is_not_found(
    bigleaf: Bigleaf, options: tuple[str, ...]
) -> None:
    ended = bigleaf("run", *options, "--", "")
    assert ended.status == 127
    one_line(ended.err)


def test_not_executable_is_126(bigleaf: Bigleaf, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text\n")
    for target in (plain, tmp_path):
        ended = bigleaf("run", str(target))
        assert ended.status == 126
        assert "Permission denied" in one_line(ended.err)


def test_broken_file_is_126(bigleaf: Bigleaf, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.write_text("#!/no/such/interpreter\n")
    bad.chmod(bad.stat().st_mode | stat.S_IXUSR)
    for options in ((), ("--report",)):
        ended = bigleaf("run", "--heap=none", *options, str(bad))
        assert ended.status == 127, ended.err
        said = one_line(ended.err)
        assert said.endswith("its interpreter /no/such/interpreter is not there")


@pytest.mark.parametrize("options", [(), ("--report=/dev/null",)])
def test_no_shell_reads_what_is_no_text(
    bigleaf: Bigleaf, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """A program for another machine, and something else with zero bytes."""
    foreign, other = tmp_path / "foreign", tmp_path / "other"
    aarch64 = bytearray(Path("/bin/true").read_bytes())
    aarch64[18:20] = b"\xb7\0" if os.uname().machine == "x86_64" else b"\x3e\0"
    foreign.write_bytes(aarch64)
    other.write_bytes(b"echo \0 read\n")
    for file, reason in (
        (foreign, ", this machine is "), (other, "Exec format error"),
    ):
        file.chmod(0o755)
        try:
            subprocess.run([file], check=False)
        except OSError:
            pass
        else:
            pytest.skip("this kernel executes it")
        ended = bigleaf("run", "--heap=none", *options, str(file))
        assert ended.status == 126, ended.err
        assert reason in one_line(ended.err)


def test_a_missing_interpreter_of_a_program_is_named(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    """As of a 32-bit program, or one of musl, on a machine without these."""
    program = tmp_path / "program"
    elf = Path("/bin/true").read_bytes()
    loader = elf[elf.index(b"/lib"):].split(b"\0")[0]
    program.write_bytes(elf.replace(loader, b"/no" + loader[3:]))
    program.chmod(0o755)
    ended = bigleaf("run", "--heap=none", str(program))
    assert ended.status == 127
    missing = f"its interpreter /no{loader[3:].decode()} is not there"
    assert one_line(ended.err).endswith(missing)


@pytest.mark.parametrize("command", ["run", "compare"])
def test_unwritable_report_stops_before_the_program(
    bigleaf: Bigleaf, tmp_path: Path, command: str
) -> None:
    ran = tmp_path / "ran"
    option = "--report" if command == "run" else "--json"
    ended = bigleaf(
        command, f"{option}={tmp_path}/no/report", "touch", str(ran)
    )
    assert ended.status == 3
    assert "cannot write the report" in one_line(ended.err)
    assert not ran.exists()


def test_missing_library_is_3(bigleaf: Bigleaf, tmp_path: Path) -> None:
    ended = bigleaf(
        "run", "true", env={"BIGLEAF_LIB": str(tmp_path / "libbigleaf.so")}
    )
    assert ended.status == 3
    assert "cannot be read; install Bigleaf" in one_line(ended.err)


def test_library_for_another_machine_is_3(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    library = tmp_path / "lib32.so"
    library.write_bytes(elf32_header())
    ended = bigleaf("run", "true", env={"BIGLEAF_LIB": str(library)})
    assert ended.status == 3
    assert "is for 32-bit i386" in one_line(ended.err)


def test_library_that_is_none_is_3(bigleaf: Bigleaf, tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_text("hello, this is no library at all\n")
    ended = bigleaf("run", "true", env={"BIGLEAF_LIB": str(library)})
    assert ended.status == 3
    assert "is no ELF shared library" in one_line(ended.err)


def test_library_path_with_a_colon_is_3(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    folder = tmp_path / "a:b"
    folder.mkdir()
    copy = folder / "libbigleaf.so"
    copy.write_bytes(Path(library).read_bytes())
    ended = bigleaf("run", "true", env={"BIGLEAF_LIB": str(copy)})
    assert ended.status == 3
    assert "no path with a space or colon" in one_line(ended.err)


def elf32_header() -> bytes:
    """The first 20 bytes of an i386 ELF file, which is all that is read."""
    return b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x03\x00\x03\x00"


def test_version(bigleaf: Bigleaf) -> None:
    for word in ("--version", "-V"):
        ended = bigleaf(word)
        assert ended.status == 0
        assert ended.out == f"bigleaf {os.environ['BIGLEAF_VERSION']}\n"


def test_external_command_runs_from_path(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    tool = tmp_path / "bigleaf-hello"
    tool.write_text('#!/bin/sh\necho "hello $*"\nexit 5\n')
    tool.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    ended = bigleaf("hello", "a", "b", env={"PATH": path})
    assert (ended.status, ended.out) == (5, "hello a b\n")


def test_commands_of_its_folder_need_no_path(bigleaf: Bigleaf) -> None:
    ended = bigleaf("thp-libc", "--help", env={"PATH": "/usr/bin:/bin"})
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("usage: bigleaf thp-libc ")


def test_full_standard_output_is_an_error() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" --help >/dev/full', COMMAND],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "cannot write to standard output" in one_line(done.stderr)


def test_full_disk_is_said_and_the_status_is_the_program_s(
    bigleaf: Bigleaf,
) -> None:
    ended = bigleaf(
        "run", "--heap=none", "--report=/dev/full", "sh", "-c", "exit 9"
    )
    assert ended.status == 9
    assert "the report in /dev/full is not whole" in one_line(ended.err)
    ended = bigleaf(
        "compare", "--heap=none", "-n1", "--json=/dev/full", "true"
    )
    assert ended.status == 3
    assert "the report in /dev/full is not whole" in ended.err
