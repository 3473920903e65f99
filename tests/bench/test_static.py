# SPDX-License-Identifier: MIT
"""bench/static/measure.py: one row for each `bigleaf compare`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

RUN = {"user_seconds": 1.0, "system_seconds": 0.0, "peak_rss_kib": 1024,
       "mechanisms": {"heap": "injected"},
       "regions": {name: {"bytes": 100, "huge_bytes": 50} for name in ("heap", "text")}}
RATIO = {"median": 0.9, "low": 0.8, "high": 1.0}
FOUND = {"runs": [{**RUN, "variant": "base"}, {**RUN, "variant": "bigleaf"}],
         "ratio": {"cpu": RATIO, "peak_rss": RATIO}, "same_output": True, "same_exit": True}


@pytest.fixture
def measure():
    path = Path(os.environ["BIGLEAF_SOURCE"]) / "bench/static/measure.py"
    spec = importlib.util.spec_from_file_location("static_measure", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_program_that_cannot_be_compared_has_no_other_s_figures(measure, tmp_path, capsys):
    (tmp_path / "found").write_text(json.dumps(FOUND), encoding="ascii")
    command = tmp_path / "bigleaf"
    command.write_text('#!/bin/sh\nfor word; do case $word in --json=*) file=${word#*=};; esac; '
                       f'done\n[ $word = {sys.executable} ] && cp {tmp_path}/found "$file" ||\n'
                       "    { echo bigleaf compare: no such program >&2; exit 3; }\n",
                       encoding="ascii")
    command.chmod(0o755)
    options = argparse.Namespace(command=str(command), runs=1, core=None)
    good = measure.row("python", [sys.executable], options, tmp_path)
    assert good.startswith("| python | injected | 1.0 | 0.90 (0.80 to 1.00)")
    assert good.endswith(" same |")
    bad = measure.row("none", ["/no/such"], options, tmp_path)
    assert bad == "| none | - | - | - | - | - | - | - | FAILED |"
    assert bad.count("|") == good.count("|")
    assert capsys.readouterr().err == "measure.py: bigleaf compare: no such program\n"
