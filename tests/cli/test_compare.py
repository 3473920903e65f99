# SPDX-License-Identifier: MIT
"""`bigleaf compare`: interleaved runs, ratios, and the same answer."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, Bigleaf, while_huge_pages_last

MEASURES = ("wall", "cpu", "peak_rss", "minor_faults")


def script(tmp_path: Path, text: str) -> str:
    file = tmp_path / "solver"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def compare(
    bigleaf: Bigleaf, tmp_path: Path, *words: str, stdin: str | None = None
) -> tuple[int, dict]:
    file = tmp_path / "compare.json"
    ended = bigleaf("compare", f"--json={file}", *words, stdin=stdin)
    report = json.loads(file.read_text())
    assert report["schema"] == "bigleaf.compare/1"
    return ended.status, report


def test_json_has_its_form(
    bigleaf: Bigleaf, library: str, programs: Path, tmp_path: Path
) -> None:
    status, report = while_huge_pages_last(
        lambda: compare(
            bigleaf,
            tmp_path,
            "-n",
            "3",
            "--pages=thp",
            "--",
            str(programs / "cli_grow"),
            "16",
            "exit",
        )
    )
    assert status == 0
    assert [run["variant"] for run in report["runs"]] == [
        "bigleaf",
        "base",
        "base",
        "bigleaf",
        "bigleaf",
        "base",
    ]
    for run in report["runs"]:
        assert run["schema"] == "bigleaf.run/1"
        assert run["exit_status"] == 7
        assert run["peak_rss_kib"] >= 16 << 10
        if run["variant"] == "bigleaf":
            assert run["mechanisms"]["heap"] == "bigleaf"
            assert run["regions"]["heap"]["bytes"] >= 16 << 20
        else:
            assert run["mechanisms"]["heap"] == "none"
    for measure in MEASURES:
        ratio = report["ratio"][measure]
        assert ratio["low"] <= ratio["median"] <= ratio["high"]
    assert report["ratio"]["minor_faults"]["median"] < 1
    assert report["same_output"] is True
    assert report["same_exit"] is True
    assert report["output"] == "identical"


def test_base_is_without_what_is_preloaded_already(
    bigleaf: Bigleaf, library: str
) -> None:
    words = ("compare", "-n1", "--json=-", "true")
    ended = bigleaf(*words, env={"LD_PRELOAD": library})
    reasons = {
        run["variant"]: run["mechanisms"]["heap_reason"]
        for run in json.loads(ended.out)["runs"]
    }
    off = "the runtime that LD_PRELOAD names is switched off"
    assert reasons["base"] == f"asked for by --heap=none; {off}"
    assert reasons["bigleaf"].startswith("preloaded")
    assert "base has the runtime that LD_PRELOAD names switched" in ended.err


def test_json_in_the_file_that_is_standard_output(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    words = ("compare", "--heap=none", "-n1", "--json=/dev/stdout", "true")
    with log.open("w") as out:
        done = subprocess.run(
            [COMMAND, *words],
            env=bigleaf.environment(),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
    assert json.loads(log.read_text())["same_exit"] is True
    assert "output: identical" in done.stderr


def test_json_in_the_pipe_that_is_standard_output(bigleaf: Bigleaf) -> None:
    """The table makes room, as it does for a file and for `-`."""
    words = ("compare", "--heap=none", "-n1", "--json=/dev/stdout", "true")
    ended = bigleaf(*words)
    assert json.loads(ended.out)["same_exit"] is True
    assert "output: identical" in ended.err


def test_first_round_is_dropped(bigleaf: Bigleaf, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tool = script(tmp_path, f"echo x >>{log}")
    status, report = compare(
        bigleaf, tmp_path, "--heap=none", "--runs=2", tool
    )
    assert status == 0
    assert len(report["runs"]) == 4
    assert log.read_text().count("x") == 6


@pytest.mark.parametrize(
    ("line", "same", "verdict"),
    [
        ("s SATISFIABLE", True, "identical"),
        ("c $n seconds", True, "same apart from times and memory"),
        ("c conflicts: $n", False, "differs in figures only"),
        ("s ANSWER$n", False, "differs"),
    ],
)
def test_outputs_are_judged(
    bigleaf: Bigleaf, tmp_path: Path, line: str, same: bool, verdict: str
) -> None:
    count = tmp_path / "count"
    count.write_text("")
    tool = script(
        tmp_path,
        f'echo x >>{count}; n=$(wc -l <{count}); echo "{line}"',
    )
    status, report = compare(bigleaf, tmp_path, "--heap=none", "-n1", tool)
    assert (report["same_output"], report["output"]) == (same, verdict)
    assert status == (0 if same else 1)
    ignored, report = compare(
        bigleaf, tmp_path, "--heap=none", "-n1", "--ignore=[0-9]", tool
    )
    assert ignored == 0
    assert report["same_output"] is True


def test_another_exit_status_is_seen(bigleaf: Bigleaf, tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("")
    tool = script(tmp_path, f"echo x >>{count}; exit $(wc -l <{count})")
    status, report = compare(bigleaf, tmp_path, "--heap=none", "-n1", tool)
    assert status == 1
    assert report["same_exit"] is False


def test_a_file_on_standard_input_is_read_by_every_run(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    text = tmp_path / "input"
    text.write_text("one\ntwo\n")
    out = tmp_path / "out.json"
    with text.open() as stdin:
        done = subprocess.run(
            [
                COMMAND,
                "compare",
                "--heap=none",
                "-n2",
                f"--json={out}",
                script(tmp_path, "cat; wc -l </dev/null; exit 3"),
            ],
            stdin=stdin,
            env=bigleaf.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["same_output"] is True


def test_variants_stand_beside_the_two(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    tool = script(tmp_path, 'echo "$CONF:$OTHER" >&2; test "$CONF" != b:1,c:2')
    status, report = compare(
        bigleaf,
        tmp_path,
        "--heap=none",
        "-n1",
        "--variant=third:CONF=b:1,c:2,OTHER=x",
        tool,
    )
    assert {run["variant"] for run in report["runs"]} == {
        "base",
        "bigleaf",
        "third",
    }
    # The variable, commas and all, reached the third variant alone.
    assert {
        run["exit_status"]
        for run in report["runs"]
        if run["variant"] == "third"
    } == {1}
    assert status == 1
    assert report["ratios"].keys() == {"bigleaf", "third"}


def test_a_library_that_is_not_there_is_no_variant(bigleaf: Bigleaf) -> None:
    ended = bigleaf(
        "compare",
        "--heap=none",
        "-n1",
        "--variant=x:LD_PRELOAD=/no/such.so",
        "true",
    )
    assert ended.status == 3
    assert "x: the loader said: " in ended.err
    assert "/no/such.so" in ended.err.splitlines()[-1]


def test_a_32_bit_program_that_is_started_hinders_no_variant(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    """The library is none for that one, whose loader says so."""
    for bits, status in ((64, 0), (32, 3)):
        said = (
            "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded "
            f"(wrong ELF class: ELFCLASS{bits}): ignored."
        )
        tool = script(tmp_path, f'echo "{said}" >&2')
        ended = bigleaf(
            "compare", "--heap=none", "-n1", "--variant=x:LD_PRELOAD=", tool
        )
        assert ended.status == status, ended.err


def test_a_program_that_fails_is_told_of(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    for status, told in ((1, True), (10, False), (20, False)):
        tool = script(tmp_path, f"echo no such file >&2; exit {status}")
        ended = bigleaf("compare", "--heap=none", "-n1", tool)
        assert ended.status == 0
        assert (f"ended with status {status}" in ended.err) == told
        assert ("no such file" in ended.err) == told


def test_a_pipe_with_something_in_it_is_told_of(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    """Also of one that is written into later, and once."""
    told = "standard input is no file"
    tool = script(tmp_path, "cat; sleep 0.2")
    with subprocess.Popen(
        [COMMAND, "compare", "--heap=none", "-n1", tool],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=bigleaf.environment(),
        text=True,
    ) as compared:
        assert compared.stdin
        assert compared.stderr
        assert "run 1 of 4" in compared.stderr.readline()
        compared.stdin.write("text\n")
        compared.stdin.flush()
        assert compared.stderr.read().count(told) == 1
    assert compared.returncode == 0
    ended = bigleaf("compare", "--heap=none", "-n1", "cat")
    assert told not in ended.err


@pytest.mark.parametrize("rounds", [0, 2])
def test_stopped_early_it_reports_the_whole_rounds(
    bigleaf: Bigleaf, tmp_path: Path, rounds: int
) -> None:
    """And what was in the file before stays where there is none."""
    count = tmp_path / "count"
    count.write_text("")
    last = 2 * (rounds + 1) + 1
    tool = script(
        tmp_path,
        f"echo x >>{count}; test $(wc -l <{count}) -lt {last} || "
        "{ kill -INT $PPID; sleep 1; }",
    )
    new, old = tmp_path / "new.json", tmp_path / "old.json"
    old.write_text("old")
    for file in (new, old):
        count.write_text("")
        ended = bigleaf(
            "compare", "--heap=none", "-n9", f"--json={file}", tool
        )
        assert ended.status == 128 + 2
        assert "stopped by signal 2" in ended.err
        assert (f"{rounds} rounds, one more" in ended.out) == (rounds > 0)
    if rounds:
        for file in (new, old):
            assert len(json.loads(file.read_text())["runs"]) == 2 * rounds
    else:
        assert (new.exists(), old.read_text()) == (False, "old")


def test_a_signal_between_two_runs_leaves_the_report(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    """While outputs are compared, which takes as long as they are."""
    tool = script(tmp_path, "head -c 80000000 /dev/zero")
    file = tmp_path / "json"
    with subprocess.Popen(
        [COMMAND, "compare", "--heap=none", "-n50", f"--json={file}", tool],
        env=bigleaf.environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    ) as process:
        assert process.stderr
        for line in process.stderr:
            if line.startswith("run 4 of "):
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "stopped by signal 2" in err
    assert "1 round, one more to warm up" in out
    assert len(json.loads(file.read_text())["runs"]) == 2


@pytest.mark.parametrize("number", [6, 10])
def test_a_signal_that_ends_the_program_ends_the_comparison(
    bigleaf: Bigleaf, tmp_path: Path, number: int
) -> None:
    """Whatever it is that somebody sends: timeout -s ABRT, or -s USR1."""
    tool = script(tmp_path, f"(kill -{number} $PPID); exec sleep 60")
    ended = bigleaf("compare", "--heap=none", "-n1", tool)
    assert ended.status == 128 + number
    assert f"stopped by signal {number}" in ended.err


def test_nohup_is_heeded(bigleaf: Bigleaf, tmp_path: Path) -> None:
    tool = script(tmp_path, "kill -HUP $PPID; sleep 0.1")
    ended = bigleaf(
        "compare", "--heap=none", "-n1", tool, before=("nohup",)
    )
    assert (ended.status, "stopped by" in ended.err) == (0, False)


def test_table_and_progress(bigleaf: Bigleaf, tmp_path: Path) -> None:
    ended = bigleaf("compare", "--heap=none", "-n1", "true")
    assert ended.status == 0
    assert "run 1 of 4: base" in ended.err
    assert "(warms up)" in ended.err
    for head in ("wall s", "cpu s", "memory MiB", "faults", "heap huge %"):
        assert head in ended.out
    assert "output: identical" in ended.out
    assert "exit status: the same, 0" in ended.out


def on_a_narrow_terminal(bigleaf: Bigleaf, *words: str) -> str:
    """What a comparison shows on one of 20 columns."""
    ours, theirs = pty.openpty()
    line = 'stty cols 20; exec "$0" compare --heap=none -n1 "$@"'
    with subprocess.Popen(
        ["sh", "-c", line, COMMAND, *words],
        env=bigleaf.environment({"TERM": "xterm"}),
        stdin=theirs, stdout=theirs, stderr=theirs,
    ):
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # all have closed it
            while piece := os.read(ours, 4096):
                shown += piece
    os.close(ours)
    return shown.decode()


def test_progress_is_one_line_that_is_taken_away(
    bigleaf: Bigleaf, tmp_path: Path
) -> None:
    shown = on_a_narrow_terminal(bigleaf, "--variant=of-long-name:X=1", "true")
    lines = re.findall("\r\033\\[K([^\r]*)", shown)
    assert "run 3 of 6: of-long" in lines
    assert max(map(len, lines[:12])) < 20
    bad = tmp_path / "bad"
    bad.write_text("#!/no/such/interpreter\n")
    bad.chmod(0o755)
    shown = on_a_narrow_terminal(bigleaf, str(bad))
    assert "\r\033[Kbigleaf compare: " in shown


def test_json_on_standard_output(bigleaf: Bigleaf) -> None:
    ended = bigleaf("compare", "--heap=none", "-n1", "--json=-", "true")
    assert json.loads(ended.out)["same_exit"] is True
    assert "wall s" in ended.err


def test_dear_huge_pages_are_named(
    bigleaf: Bigleaf, library: str, tmp_path: Path
) -> None:
    """The reports of the variant that waited for huge pages say so."""
    lines = tmp_path / "lines"
    tool = script(
        tmp_path, f'test -z "$LD_PRELOAD" || cat {lines} >>"$BIGLEAF_REPORT"'
    )
    for deferred, bought, told in ((7, 0, True), (0, 7, True), (0, 0, False)):
        statistics = {
            "units_deferred": deferred + bought,
            "units_deferred_now": deferred,
            "units_bought": bought,
            "huge_price_us": 7123,
        }
        line = {"schema": "bigleaf.process/1", "pid": 71}
        lines.write_text(json.dumps(line | {"statistics": statistics}) + "\n")
        ended = bigleaf("compare", "-n1", f"--json={tmp_path}/out", tool)
        assert ended.status == 0
        said = [row for row in ended.out.splitlines() if " bought " in row]
        assert said == told * [
            "bigleaf bought huge pages as it earned them: a fresh one takes "
            "7.1 ms here; --pages=thp has them at once"
        ]
        report = json.loads((tmp_path / "out").read_text())
        runs = {r["variant"] for r in report["runs"] if "deferral" in r}
        assert runs == ({"bigleaf"} if told else set())
