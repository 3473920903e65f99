#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up what ctest left in its JUnit files and prints the closing lines.

usage: report-tests.py [--must-run FILE] JUNIT.xml...

Of each failed test it prints what tells most of its output: the lines that
speak of a fault, and the last ones. It stands at the end of all runs, where a
record that is cut keeps it, and in place of ctest's --output-on-failure, since
a sanitizer may print without end.

With --must-run each line of FILE is a name pattern (as of a shell); a test
that matches one and was skipped is a failure, and so is a pattern that no
test matches. Behind a pattern the word "whole" asks for more: a module of pytest
or unittest that ran without some of its cases, in all of the builds, was
skipped. Exit status 1 on any failure, and where no test ran.
"""

import argparse
import fnmatch
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PASSED = "run"
FAILED = "fail"
PARTLY = "partly"  # ours: passed, but for cases that were skipped
FAULT = re.compile(r"FAIL|ERROR|\b[Ee]rror\b|Traceback|Assertion|^E  ")
# As pytest says it, and what is no module of pytest; as unittest does.
SKIPPED_CASE = re.compile(r"^SKIPPED \[|^OK \(.*\bskipped=", re.M)


def read_results(path):
    """[(test, status)], the status as ctest writes it: run, fail, notrun or
    disabled; or partly."""
    suite = ElementTree.parse(path).getroot()
    return [(case.get("name"), status_of(case))
            for case in suite.iter("testcase")]


def reason_of(case):
    """Why ctest calls a test skipped: its exit status, or that it could not be
    started."""
    skipped = case.find("skipped")
    return "" if skipped is None else skipped.get("message") or ""


def status_of(case):
    status = case.get("status")
    output = case.findtext("system-out") or ""
    if status == "notrun" and not reason_of(case).startswith("SKIP_"):
        return FAILED
    return PARTLY if status == PASSED and SKIPPED_CASE.search(output) else status


def telling_lines(lines, most=40):
    """Those that speak of a fault, half of `most` at most, and the last ones;
    a number stands for those left out."""
    faults = [i for i, line in enumerate(lines) if FAULT.search(line)]
    kept = set(faults[:most // 2])
    kept.update(range(max(0, len(lines) - (most - len(kept))), len(lines)))
    told = 0
    for i in sorted(kept):
        if i > told:
            yield f"... {i - told} lines"
        yield lines[i]
        told = i + 1


def print_failures(path, width=300):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if status_of(case) != FAILED:
            continue
        output = case.findtext("system-out") or reason_of(case)
        lines = output.strip().splitlines()
        print(f"\n-- failed: {case.get('name')}")
        for line in telling_lines(lines):
            print("   " + line[:width])


def not_run_though_they_must(patterns, results):
    problems = []
    for line in patterns:
        pattern, _, extent = line.partition(" ")
        matching = [(test, status) for test, status in results
                    if fnmatch.fnmatchcase(test, pattern)]
        if not matching:
            problems.append(f"must run, but there is no such test: {pattern}")
        whole = {test for test, status in matching
                 if status in (PASSED, FAILED) or extent != "whole"}
        problems += [f"must run, but was skipped ({status}): {test}"
                     for test, status in matching
                     if status not in (PASSED, FAILED)
                     and not (status == PARTLY and test in whole)]
    return problems


def read_patterns(path):
    lines = (line.split("#")[0].strip()
             for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--must-run", type=Path, metavar="FILE")
    parser.add_argument("junit", type=Path, nargs="*")
    options = parser.parse_args()
    for path in options.junit:
        print_failures(path)
    results = [r for path in options.junit for r in read_results(path)]
    passed = [test for test, status in results if status in (PASSED, PARTLY)]
    failed = [test for test, status in results if status == FAILED]
    skipped = [test for test, status in results
               if status not in (PASSED, FAILED, PARTLY)]
    for test in skipped:
        print(f"skipped: {test}")
    for test in failed:
        print(f"failed: {test}")
    problems = []
    if options.must_run:
        problems = not_run_though_they_must(
            read_patterns(options.must_run), results)
    for problem in problems:
        print(problem)
    ran = len(passed) + len(failed)
    share = 100 * len(passed) // ran if ran else 0
    print(f"{share}% tests passed, {len(failed)} tests failed out of {ran}")
    print(f"tests: {len(passed)} passed, {len(failed) + len(problems)} failed,"
          f" {len(skipped)} skipped")
    sys.exit(1 if failed or problems or not ran else 0)


if __name__ == "__main__":
    main()
