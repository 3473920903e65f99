# SPDX-License-Identifier: MIT
"""Help, manual pages and completions name the same commands and options."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, Bigleaf

MAN = Path(os.environ["BIGLEAF_MAN"])
SOURCE = Path(os.environ["BIGLEAF_SOURCE"])
COMMANDS = re.findall(
    r'^    \{"([a-z+]+)", "\[',
    (SOURCE / "src/cli/commands.c").read_text(),
    re.MULTILINE,
)


def options_of(text: str) -> set[str]:
    """The long options at the beginnings of lines."""
    pattern = r"^ +(?:-\w,? ?\S*,? )?(--[a-z-]+)"
    return set(re.findall(pattern, text, re.MULTILINE))


def help_of(bigleaf: Bigleaf, command: str) -> str:
    ended = bigleaf(command, "--help")
    assert ended.status == 0
    assert ended.err == ""
    return ended.out


def runtime_variables() -> set[str]:
    text = (SOURCE / "src/base/options.def").read_text()
    return set(re.findall(r'^BL_\w+\(\w+, "(BIGLEAF\w*)"', text, re.MULTILINE))


def page(name: str) -> str:
    file = MAN / name
    if not file.exists():
        pytest.skip(f"{file} was not built")
    if not shutil.which("man"):
        pytest.skip("no man")
    done = subprocess.run(
        ["man", "--warnings", "-l", file],
        env=dict(os.environ, MANWIDTH="80", MANROFFOPT="-c", LC_ALL="C"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return re.sub(".\b", "", done.stdout)


def test_there_are_commands() -> None:
    assert {"run", "compare", "doctor"} <= set(COMMANDS)


def test_help_fits_a_terminal(bigleaf: Bigleaf) -> None:
    for words in ((), *((command,) for command in COMMANDS)):
        ended = bigleaf(*words, "--help")
        assert ended.status == 0
        assert max(map(len, ended.out.splitlines())) <= 80
        assert ended.out.startswith("usage: bigleaf ")
    assert bigleaf("help", "run").out == bigleaf("run", "-h").out


def test_runtime_options_are_offered(bigleaf: Bigleaf) -> None:
    offered = options_of(help_of(bigleaf, "run"))
    for variable in runtime_variables() - {"BIGLEAF", "BIGLEAF_REPORT"}:
        name = variable.removeprefix("BIGLEAF_").lower().replace("_", "-")
        assert f"--{name}" in offered


@pytest.mark.parametrize("command", COMMANDS)
def test_manual_page_names_the_options(bigleaf: Bigleaf, command: str) -> None:
    assert options_of(page(f"bigleaf-{command}.1")) == options_of(
        help_of(bigleaf, command)
    )


def test_manual_page_names_the_commands() -> None:
    text = page("bigleaf.1")
    for command in COMMANDS:
        assert f"bigleaf-{command}(1)" in text


@pytest.mark.parametrize("name", ["bench", "thp-libc"])
def test_help_knows_the_commands_beside_it(bigleaf: Bigleaf, name: str) -> None:
    assert f"\n  {name} " in bigleaf("--help").out
    assert f"bigleaf-{name}(1)" in page("bigleaf.1")
    assert bigleaf("help", name) == bigleaf(name, "--help")
    assert bigleaf("help", "no-such").err == bigleaf("no-such").err


def source_of(name: str) -> str:
    """The page as it is written, whose words are not hyphenated."""
    return re.sub(r"\\f.", " ", (MAN / name).read_text()).replace("\\-", "-")


def words_of(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


# Of a command beside it: what has a --help of its own, and options that are
# another's, or of what only our own tables run.
BESIDE = {
    "bigleaf-bench": (["run", "tables", "plot", "report", "export", "build", "tools"], set()),
    "bigleaf-thp-libc": ([], {"--libc"}),
    "leaflog": (["bench"], {"--program"}),
}


@pytest.mark.parametrize("name", BESIDE)
def test_manual_pages_beside_it_name_the_options(name: str) -> None:
    parts, others = BESIDE[name]
    helps = ""
    for words in ([], *([part] for part in parts)):
        done = subprocess.run([COMMAND.parent / name, *words, "--help"],
                              env=Bigleaf.environment(), capture_output=True, text=True,
                              check=False)  # fmt: skip
        if done.returncode == 3:
            pytest.skip(done.stderr)
        assert done.returncode == 0, done
        helps += done.stdout
    others = others | {"--help", "--version"}
    assert words_of(source_of(f"{name}.1")) - others == words_of(helps) - others


def test_manual_page_names_the_variables() -> None:
    text = page("libbigleaf.7")
    for variable in runtime_variables():
        assert re.search(rf"^ +{variable}=", text, re.MULTILINE), variable
    assert "BL_" not in text  # a default by its name in the source


def defaults() -> dict[str, str]:
    """Of those variables whose values are words or numbers."""
    text = (SOURCE / "src/base/options.def").read_text()
    delay = re.search(r"define BL_PURGE_DELAY_MS (\d+)", (SOURCE / "src/base/base.h").read_text())
    row = r'^BL_(\w+)\(\w+, "(\w+)",\s+(\w+),\s+(?:"([^"]*)",)?'
    found = {}
    for kind, name, value, words in re.findall(row, text, re.MULTILINE):
        value = value.replace("BL_PURGE_DELAY_MS", delay[1])
        if kind == "SWITCH":
            value = ["off", "on"][int(value)]
        if kind == "CHOICE":
            value = words.split("|")[int(value)]
        found[name] = value
    return found


def test_help_and_manual_pages_tell_the_defaults(bigleaf: Bigleaf) -> None:
    entries = re.split(r"\.TP\n", (MAN / "libbigleaf.7").read_text())
    given = re.split(r"\n {6}--", help_of(bigleaf, "run"))
    assert {"BIGLEAF", "BIGLEAF_PAGES", "BIGLEAF_PURGE_DELAY_MS"} <= set(defaults())
    for variable, value in defaults().items():
        name = variable.removeprefix("BIGLEAF_").lower().replace("_", "-")
        page, = (e for e in entries if e.startswith(f"\\fB{variable}\\fR="))
        assert f"({value} if not set)" in page, variable
        if variable != "BIGLEAF":
            option, = (g for g in given if g.startswith(f"{name}="))
            assert f"(default {value})" in " ".join(option.split()), variable


def completions(*words: str, cwd: Path | None = None) -> set[str]:
    """As after these words, of which the last is not yet whole."""
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_bigleaf; printf "%s\\n" "${COMPREPLY[@]-}"'
    )
    file = SOURCE / "packaging/completion/bigleaf.bash"
    done = subprocess.run(
        ["bash", "-c", script, "bash", file, "bigleaf", *words],
        env=dict(os.environ, PATH=f"{COMMAND.parent}:{os.environ['PATH']}"),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_completion_offers_commands_and_options(bigleaf: Bigleaf) -> None:
    assert completions("") >= {*COMMANDS, "bench", "thp-libc", "--help", "--version"}
    assert completions("do") == {"doctor"}
    for command in COMMANDS:
        offered = {word.rstrip("=") for word in completions(command, "--")}
        assert offered == options_of(help_of(bigleaf, command))


def test_completion_offers_values() -> None:
    assert completions("run", "--pages", "=") == {
        "auto",
        "thp",
        "hugetlb",
        "base",
    }
    assert completions("run", "--heap", "=", "gl") == {"glibc"}
    assert "--report" not in completions("run", "sh", "--re")


def test_completion_knows_values_that_stand_apart() -> None:
    assert completions("run", "--heap", "gl") == {"glibc"}
    assert completions("run", "--pages", "thp", "--js") == {"--json"}
    assert completions("align", "-o", "x", "--un") == {"--undo"}
    assert completions("compare", "-n", "") == set()
    assert completions("help", "do") == {"doctor"}
    variant = ("--variant", "=", "jemalloc", ":", "LD_PRELOAD", "=", "x,y")
    assert completions("compare", *variant, "--js") == {"--json="}


def test_completion_offers_files_where_files_are_meant(tmp_path: Path) -> None:
    (tmp_path / "solver.c").touch()
    for words in (("cc",), ("c++", "-c"), ("cc", "-o"), ("align",),
                  ("align", "--output"), ("tlb", "--json"),
                  ("run", "--report", "=")):  # fmt: skip
        assert completions(*words, "sol", cwd=tmp_path) == {"solver.c"}, words


def test_completion_knows_bigleaf_bench(bigleaf: Bigleaf) -> None:
    if bigleaf("bench", "--help").status:
        pytest.skip("bigleaf bench does not run here")
    commands = {"run", "tables", "plot", "report", "export", "tools"}
    assert completions("bench", "") >= {*commands, "--help", "--version"}
    assert completions("bench", "to") == {"tools"}
    for command in commands:
        said = bigleaf("bench", command, "--help").out
        assert completions("bench", command, "--") == options_of(said)
    paper = completions("bench", "tables", "")
    assert paper == {"paper", "variants", "runs"}
    latex = completions("bench", "tables", "runs", "r", "--format", "=", "la")
    assert latex == {"latex"}
    assert completions("bench", "run", "--executor", "") == {"local", "slurm"}
    assert completions("bench", "run", "--workers", "") == set()
    assert completions("bench", "run", f"{SOURCE}/bench/camp") == {
        f"{SOURCE}/bench/campaigns"
    }


def keys_of(value: object, inside: str = "") -> set[str]:
    """All member names but those that are themselves data."""
    found: set[str] = set()
    if isinstance(value, dict):
        for key, member in value.items():
            if inside not in ("ratios", "medians"):
                found.add(key)
            found |= keys_of(member, key)
    if isinstance(value, list):
        for member in value:
            found |= keys_of(member, inside)
    return found


def undocumented(report: dict, name: str) -> set[str]:
    """Its members that the page does not name under the heading of its schema,
    nor under those that this refers to."""
    parts = re.split(r"^\.S[SH] (.+)\n", source_of(name), flags=re.M)
    text = dict(zip(parts[1::2], parts[2::2]))
    said = text[report["schema"]] + text.get("Regions", "") + "schema"
    if "a report as above" in said:
        said += text["bigleaf.run/1"]
    return {key for key in keys_of(report) if not re.search(rf"\b{key}\b", said)}


def test_every_member_of_a_report_is_documented(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    grow = (str(programs / "cli_grow"), "8", "fork")
    lines = tmp_path / "lines"
    run = tmp_path / "run"
    bigleaf(
        "run",
        f"--report={run}",
        "--json",
        "--image=on",
        *grow,
        env={"BIGLEAF_REPORT": str(lines)},
    )
    killed = tmp_path / "killed"
    bigleaf(
        "run", f"--report={killed}", "--json", "sh", "-c", "kill -9 $$"
    )
    bigleaf("run", "--heap=injected", "true", env={"BIGLEAF_REPORT": str(lines)})
    reports = [
        run.read_text(),
        killed.read_text(),
        bigleaf("compare", "-n1", "--json=-", *grow).out,
        bigleaf("attach", "--json", str(os.getpid())).out,
        bigleaf("doctor", "--json").out,
        bigleaf("doctor", "--json", "sh").out,
        *lines.read_text().splitlines(),
    ]
    misses = tmp_path / "misses"
    ended = bigleaf("tlb", "--by=emulator", f"--json={misses}", "true")
    if ended.status != 3:  # there is an emulator
        reports.append(misses.read_text())
    for report in map(json.loads, reports):
        assert undocumented(report, "bigleaf-report.5") == set(), report["schema"]


def test_every_member_that_leaflog_prints_is_documented(tmp_path: Path) -> None:
    leaflog = COMMAND.parent / "leaflog"
    file = tmp_path / "tiny.pl"
    file.write_text(":- table p/1.\np(1).\nrun :- p(_), fail.\nrun.\n")
    schemas = []
    for words in (("-g", "p(_)", "--stats", "--json", file),
                  ("bench", "run", "--program=tiny", f"--programs={tmp_path}")):  # fmt: skip
        done = subprocess.run([leaflog, *words], capture_output=True, text=True,
                              env=Bigleaf.environment(), check=True)  # fmt: skip
        report = json.loads(done.stdout.splitlines()[-1])
        schemas.append(report["schema"])
        assert undocumented(report, "leaflog.1") == set()
    assert schemas == ["leaflog.tables/1", "leaflog.bench/1"]
