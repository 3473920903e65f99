#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The demo: a large instance, two SAT solvers, without and with huge pages.

Writes the instance, asks `bigleaf doctor` about the machine, lets
`bigleaf compare` run each solver in turn with and without, and prints one
table of what came of it. It is to end within three minutes: each solver runs
once to see how long it takes, a slow machine gets a smaller instance, and the
rounds are as many as fit.

usage: demo.py --build FOLDER
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tree import ROOT

# Seconds that the runs of `bigleaf compare` may take together.
BUDGET = 130
# Seconds after which a solver's first run is given up as too slow.
PATIENCE = 20
MOST_ROUNDS = 3
# A solver's way of saying that it found the answer.
ANSWERS = {10: "satisfiable", 20: "unsatisfiable"}
# The first two that are there are compared; Ubuntu 22.04 has no cadical.
SOLVERS = {
    "cadical": ["cadical", "-q", "-n"],
    "minisat": ["minisat", "-verb=0"],
    "clasp": ["clasp", "-q"],
}
# Arguments of the generator; with the smaller one, too, each solver needs more
# than 100 MB.
INSTANCE = ["--frames=200", "--check=40"]
SMALLER = ["--frames=110", "--check=50"]


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def give_up(text, status=1):
    print(f"demo: {text}", file=sys.stderr)
    sys.exit(status)


def write_instance(path, arguments):
    began = time.monotonic()
    generator = ROOT / "bench" / "instances" / "datapath.py"
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as out:
        subprocess.run([sys.executable, "-B", generator, *arguments],
                       stdout=out, check=True)
    unfinished.replace(path)
    with path.open(encoding="ascii") as file:
        variables, clauses = file.readline().split()[2:]
    say(f"instance written in {time.monotonic() - began:.0f} s: "
        f"{path.relative_to(ROOT)}, {int(variables):,} variables, "
        f"{int(clauses):,} clauses")


def ask_doctor(bigleaf):
    """Says the verdict and what stands in the way; True where huge pages can
    be had."""
    run = subprocess.run([bigleaf, "doctor", "--json"], text=True,
                         stdout=subprocess.PIPE)
    try:
        report = json.loads(run.stdout)
    except ValueError:
        give_up(f"bigleaf doctor said nothing (exit status {run.returncode})")
    say(f"doctor: Linux {report['kernel']}, THP mode "
        f"{report['thp_enabled']}: {report['verdict']}")
    for finding in report["findings"]:
        if finding["level"] != "ok":
            say(f"doctor: {finding['level']}: {finding['text']}")
            if finding["remedy"]:
                say(f"doctor: to mend it: {finding['remedy']}")
    return report["huge_pages"]


def time_once(solver, command, patience):
    """One run as it is; its wall seconds, or None where patience ended."""
    began = time.monotonic()
    try:
        run = subprocess.run(command, stdout=subprocess.DEVNULL,
                             timeout=patience)
    except subprocess.TimeoutExpired:
        return None
    seconds = time.monotonic() - began
    if run.returncode not in ANSWERS:
        give_up(f"{solver} ended with status {run.returncode}")
    say(f"{solver}: {ANSWERS[run.returncode]} after {seconds:.1f} s")
    return seconds


def time_all(commands, patience=None):
    """Seconds of one run of each together, or None where that is too long."""
    total = 0
    for solver, command in commands.items():
        seconds = time_once(solver, command, patience)
        if seconds is None:
            return None
        total += seconds
    return total


def prepare(instance, commands):
    """Writes an instance that suits this machine; seconds as `time_all`."""
    write_instance(instance, INSTANCE)
    seconds = time_all(commands, PATIENCE)
    if seconds is None:
        say(f"over {PATIENCE} s: a slow machine, or a busy one; taking a "
            "smaller instance")
        write_instance(instance, SMALLER)
        seconds = time_all(commands)
    return seconds


def rounds_within(budget, seconds):
    """How many rounds of two runs fit, one more being dropped as warm-up."""
    return max(1, min(MOST_ROUNDS, int(budget / (2 * seconds)) - 1))


def counted(rounds):
    return f"{rounds} round{'' if rounds == 1 else 's'}"


def compare(bigleaf, solver, command, rounds, folder):
    say(f"comparing {solver}, {counted(rounds)} and one to warm up")
    result = folder / f"{solver}.json"
    with (folder / f"{solver}.txt").open("w", encoding="utf-8") as table:
        run = subprocess.run([bigleaf, "compare", "-n", str(rounds),
                              f"--json={result}", "--", *command],
                             stdout=table)
    if run.returncode not in (0, 1):
        give_up(f"bigleaf compare ended with status {run.returncode}",
                run.returncode)
    return json.loads(result.read_text(encoding="utf-8"))


def row(name, variant, medians):
    return (f"{name:<9}{variant:<9}{medians['wall']:>8.2f}"
            f"{medians['cpu']:>8.2f}{medians['peak_rss']:>13.0f}"
            f"{medians['minor_faults']:>10.0f}"
            f"{medians['heap_coverage']:>13.1f}")


def table(results):
    """The comparison as lines: medians, and ratios with their interval."""
    lines = [f"{'solver':<9}{'variant':<9}{'wall s':>8}{'cpu s':>8}"
             f"{'memory MiB':>13}{'faults':>10}{'heap huge %':>13}"]
    for solver, result in results.items():
        medians = result["medians"]
        lines += ["", row(solver, "base", medians["base"]),
                  row("", "bigleaf", medians["bigleaf"])]
        ratio = result["ratio"]
        lines.append(
            f"{'':<9}{'ratio':<9}{ratio['wall']['median']:>8.2f}"
            f"{ratio['cpu']['median']:>8.2f}"
            f"{ratio['peak_rss']['median']:>13.2f}"
            f"{ratio['minor_faults']['median']:>10.2f}")
        lines.append(f"{'':<9}{interval(result)}; {verdict(result)}")
        if waited(medians):
            lines.append(f"{'':<9}the machine was busy: wall s is more than "
                         "the solver's own; go by cpu s")
    return lines


def interval(result):
    """Where the ratio lies; a single round cannot tell."""
    ratio = result["ratio"]["cpu"]
    if len(result["runs"]) == len(result["medians"]):
        return "one round, so no interval"
    return (f"cpu ratio between {ratio['low']:.2f} and {ratio['high']:.2f} "
            "(95 %)")


def waited(medians):
    """The solvers have one thread: they wait where others have the machine."""
    return any(of["wall"] > 1.15 * of["cpu"] for of in medians.values())


def verdict(result):
    if result["same_output"] and result["same_exit"]:
        return "same output, same exit status"
    which = [word for word, same in (("output", result["same_output"]),
                                     ("exit status", result["same_exit"]))
             if not same]
    return " and ".join(which) + " DIFFER"


def is_good(result):
    return bool(result["same_output"] and result["same_exit"])


def has_bought(result):
    """Whether some of the heap had to wait for huge pages."""
    return any("deferral" in run for run in result["runs"])


def find_bigleaf(build):
    bigleaf = ROOT / build / "bin" / "bigleaf"
    if not bigleaf.exists():
        give_up(f"{bigleaf} is not built; run ./dev build", 3)
    return bigleaf


def find_solvers():
    found = [name for name in SOLVERS if shutil.which(name)][:2]
    if len(found) < 2:
        give_up(f"two of {', '.join(SOLVERS)} are needed; run ./dev demo", 3)
    return {name: SOLVERS[name] for name in found}


def main():
    parser = argparse.ArgumentParser(
        description=re.sub(r"\n\nusage.*", "", __doc__, flags=re.S))
    parser.add_argument("--build", default="build", metavar="FOLDER")
    options = parser.parse_args()
    began = time.monotonic()
    bigleaf = find_bigleaf(options.build)
    folder = ROOT / options.build / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    instance = folder / "datapath.cnf"
    commands = {solver: [*command, str(instance)]
                for solver, command in find_solvers().items()}
    available = ask_doctor(bigleaf)
    rounds = rounds_within(BUDGET, prepare(instance, commands))
    results = {solver: compare(bigleaf, solver, command, rounds, folder)
               for solver, command in commands.items()}
    print(f"\nmedians of {counted(rounds)}; a ratio is bigleaf / base, below 1 "
          "is better\n")
    print("\n".join(table(results)))
    if any(map(has_bought, results.values())):
        print("\nFresh huge pages are dear here, so the heap bought them as the "
              "solvers earned them;\nbigleaf compare --pages=thp has them all at "
              "once.")
    if not available:
        print("\nThis machine grants no huge pages; see what doctor said.")
    print(f"\ndetails: {folder.relative_to(ROOT)}/*.txt, *.json; the whole "
          f"demo took {time.monotonic() - began:.0f} s")
    sys.exit(0 if all(map(is_good, results.values())) else 1)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
