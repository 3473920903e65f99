#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that clang-format 14 would change nothing; --rewrite lets it.

Another version formats differently, so there is no substitute: without
clang-format-14 the check is skipped (77).
"""

import argparse
import re
import shutil
import subprocess
import sys

from tree import ROOT, Findings, files, name

TOOL = "clang-format-14"
PLACE = re.compile(r"^(.*):(\d+):\d+: error:")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rewrite", action="store_true")
    options = parser.parse_args()
    if not shutil.which(TOOL):
        print(f"skipped: {TOOL} is not here (package {TOOL})")
        sys.exit(77)
    findings = Findings("format")
    sources = [name(p) for p in files(".c", ".cc", ".h")]
    findings.checked = len(sources)
    how = ["-i"] if options.rewrite else ["--dry-run", "--Werror"]
    run = subprocess.run([TOOL, *how, *sources], cwd=ROOT, text=True,
                         stderr=subprocess.PIPE)
    places = {m.groups() for m in map(PLACE.match, run.stderr.splitlines())
              if m}
    for path, line in sorted(places, key=lambda p: (p[0], int(p[1]))):
        findings.add(path, line, "not as ./dev format leaves it")
    if run.returncode != 0 and not findings.lines:
        findings.add(TOOL, 0, run.stderr.strip())
    findings.exit()


if __name__ == "__main__":
    main()
