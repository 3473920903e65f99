#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The house rules that a machine can check (CONTRIBUTING.md, "Style").

Licence line, line length, length of functions and files, no loose ends in
comments, names in backquotes that exist, nothing that ties the tree to one
machine. What clang-format sees is left to check-format.py.
"""

import re

from tree import (ROOT, Findings, comments_only, files, name,
                  without_comments)

LINE_LIMIT = {".c": 80, ".cc": 80, ".h": 80, ".def": 80, ".py": 100,
              ".sh": 80, "": 80, ".txt": 100, ".cmake": 100,
              ".1": 80, ".5": 80, ".7": 80}
FUNCTION_LIMIT = 80
FILE_LIMIT = 1200
LICENCE = "SPDX-License-Identifier: MIT"
LICENSED = {".c", ".cc", ".h", ".def", ".py", ".sh", ".cmake", ".pl", ".S"}
LICENSED_NAMES = {"CMakeLists.txt", "dev", "run"}
TEXT = LICENSED | {".txt", ".md", ".json", ".toml", ".map", ".1", ".5", ".7", ""}

# Longer than the limit for a reason that stands there.
LONG_FUNCTIONS = set()

LOOSE_END = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
DEAD_CODE = re.compile(
    r"^\s*// (?:(?:if|for|while|switch)\s*\(.*[;{]|return\b[^.]*;"
    r"|[\w.>\[\]-]+\([^)]*\);|[\w.>\[\]*-]+ [-+|&]?= [^.]*;|\})\s*$")
# Folders of one machine, and hosts of registries, spelt so that this file
# does not itself match.
MACHINE_PATH = re.compile(r"(?<![\w$.}])/(?:work|home|root|Users)/\w"
                          r"|/tmp/(?:build-|team)")
REGISTRY = re.compile("|".join(re.escape(".".join(host)) for host in (
    ("deb", "debian", "org"), ("security", "debian", "org"),
    ("snapshot", "debian", "org"), ("archive", "ubuntu", "com"),
    ("pypi", "org"), ("files", "pythonhosted", "org"), ("crates", "io"),
    ("registry", "npmjs", "org"), ("proxy", "golang", "org"),
    ("repo1", "maven", "org"))))
BACKQUOTED = re.compile(r"`([A-Za-z_]\w*)(?:\(\))?`")
WORD = re.compile(r"[A-Za-z_]\w*")
FUNCTION_START = re.compile(r"^[A-Za-z_][^;=]*\)[^;=]*\{$|^[A-Za-z_{].*\{$")


def check_lines(path, text, findings):
    limit = LINE_LIMIT.get(path.suffix)
    for number, line in enumerate(text.splitlines(), 1):
        if limit and len(line) > limit:
            findings.add(path, number, f"{len(line)} columns, over {limit}")
        if line != line.rstrip():
            findings.add(path, number, "blanks at the end of the line")
        if LOOSE_END.search(line):
            findings.add(path, number, "a loose end: do it, or file an issue")
        if MACHINE_PATH.search(line):
            findings.add(path, number, "a path of one machine")
        if REGISTRY.search(line):
            findings.add(path, number, "the host of a package registry")
    if text and not text.endswith("\n"):
        findings.add(path, 0, "the last line has no end")


def check_licence(path, text, findings):
    if path.suffix in LICENSED or path.name in LICENSED_NAMES:
        if LICENCE not in "\n".join(text.splitlines()[:2]):
            findings.add(path, 1, f"must begin with {LICENCE}")


def function_lengths(text):
    """(first line, name, lines) of what begins in column 0 with a brace at
    the end of a line and ends with a brace in column 0."""
    start = None
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line.endswith("{") and start is None:
            first = number
            # A signature over several lines begins where indentation ends.
            while first > 1 and lines[first - 1][:1] in (" ", ""):
                first -= 1
            if "(" in lines[first - 1]:
                start = first
        elif line.startswith("}"):
            if start is not None:
                called = re.search(r"(\w+)\s*\(", lines[start - 1])
                yield start, called[1] if called else "?", number - start + 1
            start = None


def check_code(path, text, known, findings):
    if text.count("\n") > FILE_LIMIT:
        findings.add(path, 0, f"over {FILE_LIMIT} lines: a second idea is "
                     "in there")
    if path.suffix != ".def":
        for line, called, length in function_lengths(text):
            if length > FUNCTION_LIMIT and called not in LONG_FUNCTIONS:
                findings.add(path, line, f"{called}: {length} lines, over "
                             f"{FUNCTION_LIMIT}")
    for number, line in enumerate(comments_only(text).splitlines(), 1):
        if DEAD_CODE.match(line):
            findings.add(path, number, "code in a comment")
        for match in BACKQUOTED.finditer(line):
            if match[1] not in known:
                findings.add(path, number, f"`{match[1]}` is not in the code")


def is_data(path):
    """Inputs of the fuzz tests may be anything."""
    return path.is_relative_to(ROOT / "tests" / "fuzz" / "corpus")


def known_words(sources):
    """Every word the code itself says, strings and file names among them."""
    words = set()
    for path in sources:
        words.update(WORD.findall(
            without_comments(path.read_text(encoding="utf-8"))))
        words.add(path.stem)
        words.update(path.relative_to(ROOT).parts)
    return words


def main():
    findings = Findings("style")
    sources = files(".c", ".cc", ".h", ".def")
    known = known_words(sources)
    for path in files(root_files=True):
        if path.suffix not in TEXT or is_data(path):
            continue
        text = path.read_text(encoding="utf-8")
        findings.checked += 1
        check_lines(path, text, findings)
        check_licence(path, text, findings)
        if path in sources:
            check_code(path, text, known, findings)
        elif path.suffix == ".py" and text.count("\n") > FILE_LIMIT:
            findings.add(path, 0, f"over {FILE_LIMIT} lines")
    for path in sources:
        if " " in name(path) or name(path) != name(path).lower():
            findings.add(path, 0, "file names are lower case, words joined "
                         "by _")
    findings.exit()


if __name__ == "__main__":
    main()
