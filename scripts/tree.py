# SPDX-License-Identifier: MIT
"""The files of the project, and how a check says what it found.

Every check reads its files through here, so that none of them can pass by
having looked at nothing.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("bench", "cmake", "docs", "include", "packaging", "scripts",
           "solvers", "src", "tests", ".ci")
# "results": what campaigns leave in bench.
SKIPPED = {"__pycache__", ".git", ".cache", "results", "target"}


def files(*suffixes, below=FOLDERS, root_files=False):
    """Paths below the given folders whose name ends in one of `suffixes`
    (all when there are none), in a fixed order."""
    found = []
    for folder in below:
        found += [p for p in (ROOT / folder).rglob("*") if p.is_file()]
    if root_files:
        found += [p for p in ROOT.iterdir() if p.is_file()]
    return sorted(p for p in found
                  if not SKIPPED & set(p.relative_to(ROOT).parts)
                  and (not suffixes or p.suffix in suffixes))


def name(path):
    return str(path.relative_to(ROOT))


COMMENT = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(source):
    """C source with comments blanked and its lines where they were."""
    return COMMENT.sub(
        lambda m: m[0] if m[0][0] in "\"'" else _blank(m[0]), source)


def comments_only(source):
    """C source with everything but its comments blanked."""
    out = []
    end = 0
    for match in COMMENT.finditer(source):
        out.append(_blank(source[end:match.start()]))
        out.append(_blank(match[0]) if match[0][0] in "\"'" else match[0])
        end = match.end()
    out.append(_blank(source[end:]))
    return "".join(out)


class Findings:
    """What a check found, one line each, and how many files it read."""

    def __init__(self, what):
        self.what = what
        self.lines = []
        self.checked = 0

    def add(self, path, line, text):
        place = name(path) if isinstance(path, Path) else path
        self.lines.append(f"{place}:{line}: {text}" if line
                          else f"{place}: {text}")

    def exit(self):
        """Ends the program: 0 nothing found, 1 something, or nothing read."""
        for line in self.lines:
            print(line)
        print(f"{self.what}: {self.checked} checked, "
              f"{len(self.lines)} findings")
        if self.checked == 0:
            print(f"{self.what}: found nothing to check, which is a fault")
        sys.exit(1 if self.lines or self.checked == 0 else 0)
