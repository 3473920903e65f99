#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`leaflog bench`: the form of its tables, and what it says of a bad wish.

    bench_tables.py LEAFLOG
"""
import subprocess
import sys

DESIGNS = ["NS", "NS_P", "SS", "SS_P", "FS", "FS_P", "FS_G", "FS_GP"]
OTHERS = ["jemalloc", "mimalloc", "tcmalloc"]  # "-" where one is not there
ONE = ["--only=left-grid", "--repeat=1"]


def bench(leaflog: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([leaflog, "bench", *words], capture_output=True, text=True,
                          check=False)


def row(lines: list[str]) -> list[str]:
    return next(line for line in lines if line.startswith("left-grid")).split()


def check_table1(leaflog: str) -> None:
    fields = row(bench(leaflog, "table1", *ONE).stdout.splitlines())
    assert fields[1:6] == ["1", "3", "1500625", "4335135", "1501851"], fields
    assert all(int(field) > 0 for field in fields[6:9]), fields


def check_scaling(leaflog: str) -> None:
    """Tables that are asked for together, in the source's order."""
    ended = bench(leaflog, "table3", "table2", "--threads=2", "--warm=8", *ONE)
    tables = ended.stdout.split("\n\n")
    titles = [table.split(":")[0] for table in tables]
    assert titles[:2] == ["Table II", "Table III"], titles
    assert titles[2].startswith("Peak memory"), titles
    for table in tables:
        lines = table.splitlines()
        assert lines[2].split() == ["program", "thr", *DESIGNS, *OTHERS], lines[2]
        fields = row(lines)
        assert fields[1] == "2" and len(fields) == 13, fields
        assert all(0.1 < float(ratio) < 10 for ratio in fields[2:10]), fields
    assert not ended.stderr, ended.stderr


def check_wishes(leaflog: str) -> None:
    for words in (["table4"], ["table1", "--repeat=0"], ["table1", "--warm=-1"]):
        ended = bench(leaflog, *words)
        assert ended.returncode == 2, words
        named = f"leaflog: bench: wrong option or value: {words[-1]}\nusage:"
        assert ended.stderr.startswith(named), words
    for words in (["--only=left-grid"], []):
        ended = bench(leaflog, *words)
        assert ended.returncode == 2 and ended.stderr.startswith("usage:"), words
    absent = bench(leaflog, "table2", "--only=wordnet-hypo", "--repeat=1")
    assert "not measured: no such file" in absent.stdout, absent.stdout
    assert not absent.stderr, absent.stderr


def main() -> int:
    check_table1(sys.argv[1])
    check_scaling(sys.argv[1])
    check_wishes(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
