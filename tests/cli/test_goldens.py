# SPDX-License-Identifier: MIT
"""Texts that must not change unseen.

A change shows in the same commit as a change of tests/cli/goldens; with
BIGLEAF_UPDATE_GOLDENS=1 in the environment this test writes them anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from conftest import Bigleaf
from test_docs import COMMANDS

GOLDENS = Path(__file__).parent / "goldens"


def check(name: str, text: str) -> None:
    file = GOLDENS / name
    if os.environ.get("BIGLEAF_UPDATE_GOLDENS"):
        GOLDENS.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), (
        f"{file} is another text; where the change is meant, run the test "
        "with BIGLEAF_UPDATE_GOLDENS=1"
    )


def without_figures(text: str) -> str:
    """Numbers as #, blanks as one, so that only the form is left."""
    return re.sub(r" +", " ", re.sub(r"\d+(\.\d+)?", "#", text))


def test_help(bigleaf: Bigleaf) -> None:
    check("help.txt", bigleaf("--help").out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(bigleaf: Bigleaf, command: str) -> None:
    check(f"help-{command}.txt", bigleaf(command, "--help").out)


def test_report(bigleaf: Bigleaf, programs: Path) -> None:
    program = programs / "cli_grow_static"
    ended = bigleaf("run", "--heap=none", "--report", program, "8", "exit")
    text = ended.err.replace(str(program), "grow")
    # What stands behind the table depends on the machine.
    text = text.partition("\n  not on huge pages")[0]
    # A region may be empty.
    text = re.sub(r" -(?= |$)", " # %", without_figures(text), flags=re.M)
    check("report.txt", text + "\n")


def test_comparison(bigleaf: Bigleaf) -> None:
    ended = bigleaf("compare", "--heap=none", "-n2", "true")
    # No ratio to a time that is below what the kernel counts.
    text = without_figures(ended.out).replace(" -\n", " # # to #\n")
    check("compare.txt", text)
