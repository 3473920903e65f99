#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs leaflog on the programs in cases/ and compares what it says.

A case is a program whose first lines are comments that start with `%:`:

    %: args -g main         arguments; the file's name is added
    %: exit 0               the exit status (0 where there is no such line)
    %: designs              run under NS, SS and FS, nodes and array locks
    %: threads 2            ... and with so many threads: output comes so often
    %: input ?- goal.       a line of standard input
    %> text                 a line of standard output, in order
    %! text                 a line of standard error that must be there

`FILE` in an argument or an expected line stands for the case's path.
"""
import argparse
import dataclasses
import itertools
import pathlib
import shlex
import subprocess
import sys


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    args: list[str]
    exit: int = 0
    designs: bool = False
    threads: list[int] = dataclasses.field(default_factory=lambda: [1])
    input: str = ""
    out: list[str] = dataclasses.field(default_factory=list)
    err: list[str] = dataclasses.field(default_factory=list)


def read_case(path: pathlib.Path) -> Case:
    case = Case(path, [])
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("%> ") or line == "%>":
            case.out.append(line[3:])
        elif line.startswith("%! "):
            case.err.append(line[3:].replace("FILE", str(path)))
        elif line.startswith("%: "):
            word, _, rest = line[3:].partition(" ")
            if word == "args":
                case.args = shlex.split(rest.replace("FILE", str(path)))
            elif word == "exit":
                case.exit = int(rest)
            elif word == "designs":
                case.designs = True
            elif word == "threads":
                case.threads += [int(n) for n in rest.split()]
            elif word == "input":
                case.input += rest + "\n"
            else:
                raise ValueError(f"{path}: unknown word {word}")
    return case


def is_threaded(path: pathlib.Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return any(word in text for word in ("thread", "concurrent", "mutex"))


def configurations(case: Case) -> list[list[str]]:
    if not case.designs:
        return [["-t", str(n)] if n > 1 else [] for n in case.threads]
    return [
        [f"--tables={d}", f"--locks={k}", f"--alloc={a}"] + (["-t", str(n)] if n > 1 else [])
        for d, k, a, n in itertools.product(
            ("ns", "ss", "fs"), ("node", "array"), ("pages", "malloc"), case.threads)
    ]


def run_case(binary: str, case: Case, options: list[str]) -> str | None:
    command = [binary, *options, *case.args, str(case.path)]
    run = subprocess.run(command, input=case.input, capture_output=True, text=True,
                         timeout=120, check=False)
    times = int(options[options.index("-t") + 1]) if "-t" in options else 1
    want = sorted(case.out * times) if times > 1 else case.out
    have = sorted(run.stdout.splitlines()) if times > 1 else run.stdout.splitlines()
    text = " ".join(command)
    if run.returncode != case.exit:
        return f"{text}\n  exit {run.returncode}, not {case.exit}\n{run.stderr}"
    if have != want:
        differ = [f"  -{w}\n  +{h}" for w, h in itertools.zip_longest(want, have) if w != h]
        return f"{text}\n" + "\n".join(differ[:6])
    missing = [line for line in case.err if line not in run.stderr.splitlines()]
    if missing:
        return f"{text}\n  not said: {missing[0]}\n{run.stderr}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaflog")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--threaded", action="store_true",
                        help="only cases in which several threads run")
    args = parser.parse_args()
    paths = [p for p in sorted(args.cases.glob("*.pl"))
             if args.only in p.name and (not args.threaded or is_threaded(p))]
    failures = 0
    for path in paths:
        case = read_case(path)
        for options in configurations(case):
            what = run_case(args.leaflog, case, options)
            if what is not None:
                failures += 1
                print(f"FAIL {path.name}: {what}")
                break
    print(f"{len(paths)} cases, {failures} failures")
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
