# SPDX-License-Identifier: MIT
"""Runs stock programs with and without the runtime and compares results.

A case is a program, a small input made here, and a filter that leaves out
what may differ (times, memory). The plain run says what is right, and must end
with a status that the case expects; each run under the library must print and
return the same, and must really have been served by it: the report that the
runtime writes at the end of each process says how many pages of blocks it cut.
Exit status: 0 all equal, 1 a difference, 77 every case was skipped (the reason
is printed).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT_SECONDS = 600


class Skipped(Exception):
    """The machine lacks what a case needs."""


@dataclass(frozen=True)
class Result:
    status: int
    stdout: str
    stderr: str
    files: str


@dataclass(frozen=True)
class Case:
    name: str
    program: str
    prepare: Callable[[Path], list[str]]
    drop: str = r"$^"  # lines that may differ
    cut: str = r"$^"  # parts of lines that may differ
    outputs: tuple[str, ...] = ()  # files the program writes
    env: dict[str, str] = field(default_factory=dict)
    ends: tuple[int, ...] = (0,)  # statuses of a run that did its work
    long: bool = False  # minutes: only by name or with --all


# --------------------------------------------------------------- inputs

def write_cnf(path: Path, variables: int, clauses: int, seed: int) -> None:
    rng = random.Random(seed)
    lines = [f"p cnf {variables} {clauses}"]
    for _ in range(clauses):
        chosen = rng.sample(range(1, variables + 1), 3)
        lines.append(" ".join(str(rng.choice((v, -v))) for v in chosen) + " 0")
    path.write_text("\n".join(lines) + "\n")


def cnf_for(*command: str) -> Callable[[Path], list[str]]:
    def prepare(folder: Path) -> list[str]:
        write_cnf(folder / "random.cnf", 180, 765, 1)
        return [*command, "random.cnf"]
    return prepare


def write_smt(path: Path, factors: int) -> None:
    path.write_text(f"""(set-logic QF_BV)
(declare-const x (_ BitVec 24))
(declare-const y (_ BitVec 24))
(assert (= (bvmul x y) (_ bv{factors} 24)))
(assert (and (bvugt x #x000001) (bvugt y #x000001)))
(assert (and (bvult x #x001000) (bvult y #x001000)))
(check-sat)
""")


def smt_for(*command: str) -> Callable[[Path], list[str]]:
    def prepare(folder: Path) -> list[str]:
        write_smt(folder / "factors.smt2", 3857001)
        return [*command, "factors.smt2"]
    return prepare


def asp(folder: Path) -> list[str]:
    (folder / "queens.lp").write_text("""#const n=10.
1 { q(X,Y) : Y=1..n } 1 :- X=1..n.
:- q(X,Y), q(Z,Y), X < Z.
:- q(X,Y), q(Z,W), X < Z, |Y-W| = Z-X.
#show q/2.
""")
    return ["clingo", "--stats", "-n", "0", "-q", "queens.lp"]


def abc(folder: Path) -> list[str]:
    del folder
    return ["berkeley-abc", "-c",
            "gen -N 10 -m mult.blif; read mult.blif; strash; print_stats; "
            "write_aiger mult.aig; dch; print_stats; dc2; print_stats; "
            "write_aiger small.aig; cec -n mult.aig small.aig"]


def write_c(path: Path, functions: int) -> None:
    rng = random.Random(7)
    parts = ["struct s { int a[4]; double b; struct s *next; };"]
    for i in range(functions):
        parts.append(f"""
static int f{i}(struct s *p, int x) {{
    int sum = {rng.randrange(1000)};
    for (int i = 0; i < x; i++) {{
        if (p->a[i % 4] > {rng.randrange(100)}) sum += p->a[{rng.randrange(4)}];
        else sum ^= i * {rng.randrange(1, 99)};
        switch (sum % 5) {{ case 0: sum++; break; case 1: sum -= x; break;
                           case 3: p = p->next; break; default: sum *= 3; }}
    }}
    return sum;
}}""")
    calls = "\n".join(f"    r += f{i}(p, r);" for i in range(functions))
    parts.append(f"int all(struct s *p) {{\n    int r = 1;\n{calls}\n"
                 "    return r;\n}")
    path.write_text("\n".join(parts))


def gcc(folder: Path) -> list[str]:
    write_c(folder / "large.c", 600)
    return ["gcc", "-O2", "-S", "-o", "large.s", "large.c"]


def gxx(folder: Path) -> list[str]:
    (folder / "templates.cc").write_text("""#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
std::map<std::string, std::vector<std::unique_ptr<int>>> m;
std::unordered_map<int, std::function<int(int)>> h;
int main() {
    std::regex e("(a|b)*c");
    for (int i = 0; i < 10; i++) m[std::to_string(i)].emplace_back(new int(i));
    h[1] = [](int x) { return x + 1; };
    return std::regex_match("abac", e) ? h[1](-1) : 1;
}
""")
    return ["g++", "-O1", "-std=c++17", "-S", "-o", "templates.s",
            "templates.cc"]


def python_with(module: str) -> str:
    """A Python that has this test of its own, by its own path: no shim."""
    for candidate in (sys.executable, "/usr/bin/python3", "python3",
                      "python3.12", "python3.11", "python3.10"):
        try:
            done = subprocess.run(
                [candidate, "-c",
                 f"import sys, test.{module}; print(sys.executable)"],
                capture_output=True, text=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return done.stdout.strip()
    raise Skipped(f"no python3 with its own test.{module} (Debian: "
                  "libpython3-testsuite)")


def python_test(name: str, *only: str) -> Callable[[Path], list[str]]:
    def prepare(folder: Path) -> list[str]:
        del folder
        chosen = [word for part in only for word in ("-k", part)]
        return [python_with(name), "-m", "unittest", "-q", *chosen,
                f"test.{name}"]
    return prepare


def python_script(folder: Path) -> list[str]:
    (folder / "work.py").write_text("""import collections, json, re, threading
words = [f"w{i * 7919 % 10007}" for i in range(200000)]
count = collections.Counter(words)
text = json.dumps(sorted(count.items()))
print(len(text), sum(map(ord, text)) % 65521, len(re.findall("w1[0-9]+", text)))
out = []
def work(n):
    out.append(sum(len(str(i)) for i in range(n)))
threads = [threading.Thread(target=work, args=(20000 + i,)) for i in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
print(sorted(out))
""")
    return [sys.executable, "work.py"]


def perl(folder: Path) -> list[str]:
    (folder / "work.pl").write_text(r"""use strict; use warnings;
my %count; my $text = "";
for my $i (1 .. 200000) { my $w = "w" . ($i * 7919 % 10007); $count{$w}++; }
$text .= "$_=$count{$_};" for sort keys %count;
my $n = () = $text =~ /w1\d+=20;/g;
my @nested = map { { id => $_, list => [1 .. $_ % 50] } } 1 .. 20000;
my $sum = 0; $sum += scalar @{ $_->{list} } for @nested;
print length($text), " $n $sum\n";
my $pid = fork(); if (!$pid) { my @x = (1) x 100000; exit(scalar(@x) % 7); }
waitpid($pid, 0); print $? >> 8, "\n";
""")
    return ["perl", "work.pl"]


def git(folder: Path) -> list[str]:
    (folder / "work.sh").write_text("""set -e
rm -rf repo; git init -q repo; cd repo
git config user.name test; git config user.email test@example.invalid
git config gc.auto 0
for round in 1 2 3; do
    for i in $(seq 1 200); do
        seq $round $((i + 100)) > file$i
    done
    git add -A; git commit -q -m "round $round"
done
git gc -q; git fsck --full 2>&1; git log --stat | cksum
git rev-parse HEAD; git diff HEAD~2 | cksum
git blame file100 | wc -l
""")
    return ["sh", "work.sh"]


def swipl(folder: Path) -> list[str]:
    (folder / "work.pl").write_text(""":- table path/2.
edge(X, Y) :- between(1, 150, X), Y is (X * 7 + 3) mod 151.
edge(X, Y) :- between(1, 150, X), Y is (X + 1) mod 151.
path(X, Y) :- edge(X, Y).
path(X, Y) :- path(X, Z), edge(Z, Y).
main :- aggregate_all(count, path(_, _), N), writeln(N),
        numlist(1, 100000, L), foldl([X, A, B]>>(B is A + X), L, 0, S),
        writeln(S), atom_codes(abc, L0), writeln(L0),
        forall(between(1, 30000, I), assertz(fact(I))),
        aggregate_all(sum(I), fact(I), T), writeln(T),
        findall(Id, (between(1, 4, K),
                     thread_create(count_to(K), Id)), Ids),
        forall(member(Id, Ids), (thread_join(Id, St), writeln(St))).
count_to(K) :- N is K * 20000, findall(X, between(1, N, X), L),
               length(L, N).
""")
    return ["swipl", "-g", "main", "-t", "halt", "work.pl"]


def java(folder: Path) -> list[str]:
    (folder / "Work.java").write_text("""import java.util.*;
public class Work {
    public static void main(String[] args) throws Exception {
        Map<Integer, List<String>> map = new TreeMap<>();
        for (int i = 0; i < 100000; i++)
            map.computeIfAbsent(i % 1000, k -> new ArrayList<>()).add("x" + i);
        long sum = 0;
        for (List<String> l : map.values())
            for (String s : l) sum += s.length();
        Thread[] t = new Thread[8];
        long[] part = new long[8];
        for (int i = 0; i < 8; i++) {
            final int n = i;
            t[i] = new Thread(() -> {
                for (int j = 0; j < 100000; j++) part[n] += j;
            });
            t[i].start();
        }
        for (Thread x : t) x.join();
        System.out.println(sum + " " + Arrays.stream(part).sum());
    }
}
""")
    if shutil.which("javac") is None:
        return ["java", "-version"]
    return ["java", "Work.java"]


def sqlite(folder: Path) -> list[str]:
    (folder / "work.sql").write_text("""
CREATE TABLE t(a INTEGER, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 60000)
INSERT INTO t SELECT i * 7919 % 10007, 'text' || i, i / 3.0 FROM n;
CREATE INDEX ti ON t(a);
SELECT a % 10, count(*), max(b), round(sum(c), 3) FROM t GROUP BY a % 10;
SELECT count(*) FROM t x JOIN t y ON x.a = y.a WHERE x.b < 'text2';
PRAGMA integrity_check;
""")
    return ["sqlite3", "-batch", ":memory:", ".read work.sql"]


UNITTEST = r"^(?!OK|FAILED)"  # all but the verdict
SOLVED = (10, 20)

CASES = [
    Case("python_script", "python3", python_script),
    Case("python_gc", "python3", python_test("test_gc"), drop=UNITTEST),
    Case("python_threading", "python3", python_test("test_threading"),
         drop=UNITTEST),
    Case("python_fork", "python3",
         python_test("test_multiprocessing_fork", "WithProcessesTestQueue",
                     "WithProcessesTestPool.test_map",
                     "WithThreadsTestPool.test_map"), drop=UNITTEST),
    Case("python_fork_whole", "python3",
         python_test("test_multiprocessing_fork"), drop=UNITTEST, long=True),
    Case("gcc", "gcc", gcc, outputs=("large.s",)),
    Case("gxx", "g++", gxx, outputs=("templates.s",)),
    Case("perl", "perl", perl),
    Case("git", "git", git, env={
        "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
        "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}),
    Case("swipl", "swipl", swipl),
    Case("java", "java", java),
    Case("sqlite", "sqlite3", sqlite),
    Case("minisat", "minisat", cnf_for("minisat"),
         drop=r"Memory used|CPU time|time:", cut=r"\(\d+ /sec\)", ends=SOLVED),
    Case("cadical", "cadical", cnf_for("cadical", "-n"),
         drop=r"per second$|MB$|seconds$|%$|% \w+$|^c \S+ +\d+\.\d+ +\d+ "
              r"|^c [][{}()<>*.a-zA-Z0-9%+-] +\d+\.\d\d "
              r"|interval$|conflict$|clauses$|literals$|variables$|conflicts$",
         ends=SOLVED),
    Case("cadical_statistics", "cadical", cnf_for("cadical", "-n", "-v"),
         drop=r"MB|seconds|time|^c +\d+\.\d+ +\d+\.\d+%|"
              r"^c \S +\d+\.\d\d ",
         cut=r" +\d+\.\d+ +(M +)?per second", ends=SOLVED),
    Case("z3", "z3", smt_for("z3", "-st"), drop=r"time|memory"),
    Case("cvc5", "cvc5", smt_for("cvc5", "--stats"), drop=r"[Tt]ime"),
    Case("clasp", "clasp", cnf_for("clasp", "--stats"),
         drop=r"Time|Memory|seconds|^c \S+ +: +\d+\.\d+s", ends=SOLVED),
    Case("clingo", "clingo", asp, drop=r"Time|seconds", ends=(30,)),
    Case("abc", "berkeley-abc", abc, drop=r"[Tt]ime|sec"),
]


# ----------------------------------------------------------------- runs

def clean(text: str, case: Case) -> str:
    lines = [re.sub(case.cut, "", line) for line in text.splitlines()
             if not re.search(case.drop, line)]
    return "\n".join(lines)


def run(case: Case, command: list[str], folder: Path,
        extra: dict[str, str]) -> Result:
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("BIGLEAF", "LD_PRELOAD"))}
    env.update(case.env, LC_ALL="C", **extra)
    done = subprocess.run(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=TIMEOUT_SECONDS, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    files = "".join((folder / name).read_text() for name in case.outputs
                    if (folder / name).exists())
    return Result(done.returncode,
                  clean(done.stdout.decode("utf-8", "replace"), case),
                  clean(done.stderr.decode("utf-8", "replace"), case), files)


def served_pages(report: Path) -> int:
    """Pages of blocks that the runtime cut, over all processes."""
    if not report.exists():
        return 0
    total = 0
    for line in report.read_text().splitlines():
        total += int(json.loads(line)["statistics"]["pages_fresh"])
    return total


def malloc_binds_to(case: Case, command: list[str], folder: Path,
                    library: str) -> bool:
    """For programs that end by _exit, which leaves no report."""
    run(case, command, folder, {"LD_PRELOAD": library,
                                "LD_DEBUG": "bindings",
                                "LD_DEBUG_OUTPUT": str(folder / "bindings")})
    wanted = re.compile(r"to \S*libbigleaf\S* \[0\]: normal symbol .malloc'")
    return any(wanted.search(path.read_text(errors="replace"))
               for path in folder.glob("bindings.*"))


def first_difference(a: str, b: str) -> str:
    left, right = a.splitlines(), b.splitlines()
    for i in range(max(len(left), len(right))):
        x = left[i] if i < len(left) else "(nothing)"
        y = right[i] if i < len(right) else "(nothing)"
        if x != y:
            return f"line {i + 1}: {x[:200]!r} became {y[:200]!r}"
    return "same"


def difference(plain: Result, ours: Result) -> str | None:
    if plain.status != ours.status:
        return (f"status {plain.status} became {ours.status}; "
                f"stderr ends {ours.stderr[-300:]!r}")
    for name in ("stdout", "stderr", "files"):
        a, b = getattr(plain, name), getattr(ours, name)
        if a != b:
            return f"{name}, {first_difference(a, b)}"
    return None


def check(case: Case, library: str, repeat: int, pages: str) -> str | None:
    """None, or what is wrong."""
    if shutil.which(case.program) is None:
        raise Skipped(f"{case.program} is not installed")
    with tempfile.TemporaryDirectory(prefix="bigleaf-consume-") as name:
        folder = Path(name)
        command = case.prepare(folder)
        plain = run(case, command, folder, {})
        if plain.status not in case.ends:
            return (f"the plain run ends with {plain.status}: "
                    f"{(plain.stderr or plain.stdout)[-300:]!r}")
        again = run(case, command, folder, {})
        if plain != again:
            return ("the plain runs differ: "
                    f"{difference(plain, again)} (the filter is too weak)")
        report = folder / "bigleaf-report.jsonl"
        for i in range(repeat):
            ours = run(case, command, folder, {
                "LD_PRELOAD": library, "BIGLEAF_PAGES": pages,
                "BIGLEAF_REPORT": str(report)})
            wrong = difference(plain, ours)
            if wrong is not None:
                return f"run {i + 1} of {repeat}: {wrong}"
        if served_pages(report) == 0 and \
                not malloc_binds_to(case, command, folder, library):
            return "the runtime served nothing: another malloc won"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--pages", default="auto",
                        choices=["auto", "thp", "hugetlb", "base"])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true",
                        help="the cases that take minutes too")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    if args.list:
        print("\n".join(case.name for case in CASES if not case.long))
        return 0
    chosen = [c for c in CASES if c.name in args.cases or
              (not args.cases and (args.all or not c.long))]
    if not chosen or not args.library:
        parser.error("no such case, or no --library")
    passed = failed = skipped = 0
    for case in chosen:
        try:
            wrong = check(case, args.library, args.repeat, args.pages)
        except Skipped as why:
            print(f"skipped {case.name}: {why}", flush=True)
            skipped += 1
            continue
        except subprocess.TimeoutExpired:
            wrong = f"not done after {TIMEOUT_SECONDS} s"
        print(f"{'FAILED ' if wrong else 'passed '} {case.name}"
              f"{': ' + wrong if wrong else ''}", flush=True)
        failed += wrong is not None
        passed += wrong is None
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    if failed:
        return 1
    return 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
