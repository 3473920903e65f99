#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Attaches to programs at random moments and asks them for their answers.

Each attach is one of three kinds: from outside as far as the kernel allows it;
without CAP_SYS_NICE, so that every collapse is a call of the visitor's; and
ended by SIGKILL at a random moment. A program's answer must be
right however often it was attached to, and it must not be traced afterwards.

    soak.py --count 1000        the long form, some ten minutes
    soak.py --count 50          as in CI

Prints the stops that programs saw. Exit status: 0 all right, 1 not, 77 nothing
could be run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SKIPPED = 77
# Ends an attach at about every stage of it.
KILL_WITHIN = 0.03
ATTACHES_PER_RUN = 8


@dataclass(frozen=True)
class Program:
    name: str
    words: list[str]
    answer: str
    statuses: tuple[int, ...] = (0,)


@dataclass
class Tally:
    attaches: int = 0
    killed: int = 0
    late: int = 0  # the program had ended
    runs: dict[str, int] = field(default_factory=dict)
    stops: list[float] = field(default_factory=list)  # the longest of each
    # The longest collapse of one huge page, of each.
    outside: list[float] = field(default_factory=list)
    inside: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def instance(scratch: Path, registers: str, width: str, frames: str) -> str:
    cnf = scratch / f"{registers}-{width}-{frames}.cnf"
    with cnf.open("w") as out:
        subprocess.run([sys.executable, SOURCE / "bench/instances/datapath.py", "--registers",
                        registers, "--width", width, "--frames", frames],
                       stdout=out, check=True)
    return str(cnf)


def programs(scratch: Path, steady: Path) -> list[Program]:
    """Those that this machine can run."""
    found = [Program("threads", [str(steady), "16", "192", "4"], "right"),
             Program("one-thread", [str(steady), "1", "96", "3"], "right"),
             Program("python3", [sys.executable, str(HERE / "programs/steady.py"), "6"],
                     "right")]
    if shutil.which("cadical"):
        cnf = instance(scratch, "16", "16", "40")
        found.append(Program("cadical", ["cadical", "-q", "-n", cnf],
                             "s UNSATISFIABLE", (20,)))
    if shutil.which("z3"):
        cnf = instance(scratch, "32", "16", "32")
        found.append(Program("z3", ["z3", "-dimacs", cnf], "s UNSATISFIABLE", (0, 20)))
    if shutil.which("javac") and shutil.which("java"):
        subprocess.run(["javac", "-d", scratch, HERE / "programs/Steady.java"], check=True)
        found.append(Program("java", ["java", "-Xmx512m", "-cp", str(scratch), "Steady",
                                      "40"], "right"))
    return found


def without_nice(words: list[str]) -> list[str]:
    """The command without the right to advise from outside."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return words
    return ["setpriv", "--bounding-set=-sys_nice", *words]


def tracer_of(pid: int) -> set[str]:
    tracers = set()
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue
        tracers |= {line.split()[1] for line in lines if line.startswith("TracerPid:")}
    return tracers - {"0"}


def attach(command: str, pid: int, rng: random.Random, tally: Tally) -> None:
    words = [command, "attach", "--json", str(pid)]
    if rng.random() < 0.5:
        words = without_nice(words)
    kill = rng.random() < 0.25
    tally.attaches += 1
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    if kill:
        time.sleep(rng.random() * KILL_WITHIN)
        process.kill()
    out, err = process.communicate(timeout=120)
    if process.returncode == -signal.SIGKILL:
        tally.killed += 1
        return
    if process.returncode not in (0, 3) or not out:
        tally.faults.append(f"attach ended with {process.returncode}: {err}")
        return
    report = json.loads(out)["processes"][0]
    if process.returncode == 3:
        tally.late += 1
        if "ended" not in report["reason"]:
            tally.faults.append(f"attach: {report['reason']}")
        return
    if report["stops"]:
        tally.stops.append(report["longest_stop_seconds"] * 1000)
    if report["longest_collapse_seconds"]:
        times = tally.outside if report["from_outside"] else tally.inside
        times.append(report["longest_collapse_seconds"] * 1000)
    if tracer_of(pid):
        tally.faults.append(f"process {pid} is still traced by {tracer_of(pid)}")


def run(program: Program, command: str, most: int, rng: random.Random, tally: Tally) -> None:
    """One run of a program with up to `most` attaches."""
    process = subprocess.Popen(program.words, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    tally.runs[program.name] = tally.runs.get(program.name, 0) + 1
    try:
        for _ in range(most):
            time.sleep(rng.random() * 0.3)
            if process.poll() is not None:
                break
            attach(command, process.pid, rng, tally)
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        tally.faults.append(f"{program.name} did not end")
    if process.returncode not in program.statuses or program.answer not in out.splitlines():
        tally.faults.append(f"{program.name}: status {process.returncode}, "
                            f"{out[-200:]!r} {err[-200:]!r}")


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def print_times(name: str, values: list[float]) -> None:
    if values:
        print(f"{name}: median {percentile(values, 0.5):.2f} ms, 99th percentile "
              f"{percentile(values, 0.99):.2f} ms, most {max(values):.2f} ms "
              f"of {len(values)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="attaches in all")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--only", help="names of programs, with commas")
    parser.add_argument("--command", default=os.environ.get("BIGLEAF_COMMAND", "bigleaf"))
    parser.add_argument("--steady", default=os.environ.get("BIGLEAF_STEADY"),
                        help="the test program steady", required=False)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    rng = random.Random(arguments.seed)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="bigleaf-soak-") as folder:
        ready = programs(Path(folder), Path(arguments.steady))
        if arguments.only:
            ready = [p for p in ready if p.name in arguments.only.split(",")]
        if not ready:
            print("skipped: no program to attach to")
            return SKIPPED
        turn = 0
        while tally.attaches < arguments.count and not tally.faults:
            left = arguments.count - tally.attaches
            run(ready[turn % len(ready)], arguments.command,
                min(left, ATTACHES_PER_RUN), rng, tally)
            turn += 1
            if turn % 20 == 0:
                print(f"{tally.attaches} attaches so far", flush=True)
    print(f"{tally.attaches} attaches, {tally.killed} of them killed, {tally.late} to "
          f"programs that ended meanwhile; runs: {tally.runs}")
    print_times("longest stop of an attach", tally.stops)
    print_times("longest collapse of a huge page, from outside", tally.outside)
    print_times("longest collapse of a huge page, by the visitor", tally.inside)
    for fault in tally.faults:
        print("FAIL", fault)
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
