#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs shellcheck over every shell script; without it the check is skipped
(77)."""

import shutil
import subprocess
import sys

from tree import ROOT, Findings, files, name

SHELL_STARTS = (b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash")


def main():
    if not shutil.which("shellcheck"):
        print("skipped: shellcheck is not here (package shellcheck)")
        sys.exit(77)
    findings = Findings("shell")
    scripts = []
    for path in files(root_files=True):
        with path.open("rb") as file:
            if file.readline().startswith(SHELL_STARTS):
                scripts.append(name(path))
    findings.checked = len(scripts)
    run = subprocess.run(["shellcheck", "--format=gcc", *scripts], cwd=ROOT,
                         text=True, stdout=subprocess.PIPE)
    findings.lines = run.stdout.splitlines()
    findings.exit()


if __name__ == "__main__":
    main()
