# SPDX-License-Identifier: MIT
"""One table of all variants: CPU time, peak memory, faults, coverage.

Every run goes through `bigleaf run --report`, so that all are watched alike.
The states take turns within a round, so that what the machine does in the
meantime meets all of them; a file's CPU time and faults are medians over the
rounds, the peak is the largest. Exit statuses must agree. A solver runs on the
files of its kinds alone, so that one command serves several.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from bigleaf_bench.build import recipe as recipes
from bigleaf_bench.build.recipe import Recipe
from bigleaf_bench.build.work import end_group
from bigleaf_bench.command import find_bigleaf
from bigleaf_bench.failure import Lacking, WrongAnswer, WrongUse


@dataclass(frozen=True)
class State:
    """A variant, switched on or off."""

    name: str
    variant: str
    environment: tuple[tuple[str, str], ...]
    heap: str


STATES = (
    State("plain", "plain", (), "none"),
    State("thp off", "thp", (), "none"),
    State("thp on", "thp", (("GLIBC_THP_ALWAYS", "1"),), "none"),
    State("bigleaf off", "bigleaf", (("BIGLEAF", "off"),), "none"),
    # Like the patched glibc it is to have all huge pages at once, dear or not.
    State("bigleaf on", "bigleaf", (("BIGLEAF_HUGE_PERCENT", "100"),), "bigleaf"),
)


@dataclass(frozen=True)
class Figures:
    """Of one run, or of a state over all rounds and files."""

    cpu: float
    peak_mib: float
    faults: float
    coverage: float
    status: int | None


def run(bigleaf: str, state: State, words: list[str], seconds: int) -> Figures:
    """One run. Past `seconds` it is ended with all that it began, which no table can hold."""
    own = {k: v for k, v in os.environ.items()
           if not k.startswith(("BIGLEAF", "GLIBC_")) and k != "LD_PRELOAD"}
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        line = [bigleaf, "run", f"--heap={state.heap}", f"--report={report.name}", "--json",
                "--", *words]
        with subprocess.Popen(line, env=own | dict(state.environment), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              process_group=0) as process:
            try:
                process.wait(seconds)
            except BaseException as error:
                end_group(process)
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise WrongUse(f"{' '.join(words)}: {state.name} ran longer than {seconds} s; "
                               "give more --seconds or a smaller file") from None
        text = Path(report.name).read_text()
    if not text:
        raise Lacking(f"{' '.join(line)}: wrote no report")
    found = json.loads(text)
    return Figures(found["user_seconds"] + found["system_seconds"], found["peak_rss_kib"] / 1024,
                   found["minor_faults"], found["huge_coverage"], found["exit_status"])


def over_rounds(runs: list[Figures]) -> Figures:
    return Figures(statistics.median(r.cpu for r in runs), max(r.peak_mib for r in runs),
                   statistics.median(r.faults for r in runs),
                   statistics.median(r.coverage for r in runs), runs[0].status)


def over_files(files: list[Figures]) -> Figures:
    """Sums; the coverage counts by the memory it is of."""
    memory = sum(f.peak_mib for f in files)
    return Figures(sum(f.cpu for f in files), max(f.peak_mib for f in files),
                   sum(f.faults for f in files),
                   sum(f.coverage * f.peak_mib for f in files) / memory if memory else 0.0, None)


def rounds(recipe: Recipe, entries: dict[str, Path], file: Path, arguments: Namespace,
           bigleaf: str) -> dict[str, Figures]:
    """Figures of all states on one file."""
    first, *rest = recipe.table
    states = [s for s in STATES if s.variant in entries]
    runs: dict[str, list[Figures]] = {s.name: [] for s in states}
    for turn in range(arguments.runs):
        for state in states[turn % len(states):] + states[:turn % len(states)]:
            words = [str(entries[state.variant] / "bin" / first),
                     *(w.replace("{file}", str(file)) for w in rest)]
            runs[state.name].append(run(bigleaf, state, words, arguments.seconds))
        print(f"{recipe.name} {file.name}: round {turn + 1} of {arguments.runs}", file=sys.stderr)
    statuses = {state: {f.status for f in found} for state, found in runs.items()}
    if len(set().union(*statuses.values())) > 1:
        raise WrongAnswer(f"{recipe.name} {file}: the variants' exit statuses differ: {statuses}")
    return {state: over_rounds(found) for state, found in runs.items()}


def lines(name: str, found: dict[str, Figures]) -> list[str]:
    plain = found.get("plain")
    result = []
    for state, f in found.items():
        ratio = f"{100 * (f.cpu / plain.cpu - 1):+7.1f} %" if plain and plain.cpu else ""
        result.append(f"{name:14} {state:12} {f.cpu:9.2f} {ratio:>9} {f.peak_mib:9.0f} "
                      f"{f.faults:11.0f} {100 * f.coverage:8.1f} %")
    return result


def need_files(files: list[Path]) -> None:
    for file in files:
        if not file.is_file():
            raise WrongUse(f"{file}: no such file; --table takes the solver's input")


def table(built: dict[str, dict[str, Path]], arguments: Namespace) -> None:
    bigleaf = find_bigleaf()
    print(f"{'solver':14} {'variant':12} {'CPU, s':>9} {'to plain':>9} {'peak, MiB':>9} "
          f"{'faults':>11} {'coverage':>10}")
    for name, entries in built.items():
        recipe = recipes.load(name)
        files = [f for f in arguments.table if f.suffix[1:] in recipe.takes]
        if not files:
            print(f"{name:14} none of these files is for it ({', '.join(recipe.takes) or 'any'})")
            continue
        each = [rounds(recipe, entries, file, arguments, bigleaf) for file in files]
        for line in lines(name, {s: over_files([e[s] for e in each]) for s in each[0]}):
            print(line, flush=True)
