#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles every header alone: it must need no other before it.

The public ones are compiled as strict C17 and as C++17 too.

usage: check-headers.py CC CXX
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tree import ROOT, Findings, files

COMMON = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Iinclude"]
PRIVATE = ["-std=gnu17", "-D_GNU_SOURCE", "-Isrc", "-Itests/kit",
           '-DBL_VERSION="0"', "-x", "c"]
PUBLIC = [["-std=c17", "-pedantic", "-x", "c"],
          ["-std=c++17", "-pedantic", "-x", "c++"]]


def compile_alone(job):
    """(header, compiler's words), the words empty when it is well."""
    path, compiler, flags = job
    run = subprocess.run(
        [compiler, *COMMON, *flags, "-include", str(path), os.devnull],
        cwd=ROOT, text=True, stderr=subprocess.PIPE)
    return path, run.stderr if run.returncode else ""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cc, cxx = sys.argv[1:]
    findings = Findings("headers")
    jobs = [(p, cc, PRIVATE) for p in files(".h", below=("src", "tests"))]
    for path in files(".h", below=("include",)):
        jobs += [(path, cc, PUBLIC[0]), (path, cxx, PUBLIC[1])]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, words in pool.map(compile_alone, jobs):
            findings.checked += 1
            if words:
                findings.add(path, 0, "does not compile alone:\n" + words)
    findings.exit()


if __name__ == "__main__":
    main()
