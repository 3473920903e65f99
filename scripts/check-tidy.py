#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy 14 over every C and C++ file of src/ that a build compiles.

Too slow to be a test (a minute and more): `./dev check --tidy`.

usage: check-tidy.py --build FOLDER
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tree import ROOT, Findings, name

TOOL = "clang-tidy-14"
FINDING = re.compile(r"^(/.*?):(\d+):\d+: (?:warning|error): (.*)$")


def compiled_sources(build):
    commands = json.loads(
        (build / "compile_commands.json").read_text(encoding="utf-8"))
    sources = {Path(c["file"]).resolve() for c in commands}
    return sorted(s for s in sources if ROOT / "src" in s.parents)


def main():
    parser = argparse.ArgumentParser(description="clang-tidy over src/")
    parser.add_argument("--build", type=Path, required=True)
    build = parser.parse_args().build.resolve()
    findings = Findings("tidy")

    def tidy(source):
        return source, subprocess.run(
            [TOOL, "--quiet", "-p", str(build), str(source)], cwd=ROOT,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    seen = set()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, run in pool.map(tidy, compiled_sources(build)):
            findings.checked += 1
            print(name(source), file=sys.stderr)
            found = [m.groups() for m in map(FINDING.match,
                                             run.stdout.splitlines()) if m]
            if run.returncode != 0 and not found:
                findings.add(source, 0, f"{TOOL} failed")
            for path, line, text in found:
                if ROOT not in Path(path).parents:
                    continue
                if (path, line, text) not in seen:
                    seen.add((path, line, text))
                    findings.add(Path(path), line, text)
    findings.exit()


if __name__ == "__main__":
    main()
