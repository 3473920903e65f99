# SPDX-License-Identifier: MIT
"""How far a campaign is, and how long it will take.

On a terminal a bar of rich, elsewhere one line per run. The remaining time is
estimated by what is known: this tool on this instance in another variant, else
this tool, else a third of the limit; proofs and misses of the TLB by others of
their kind, and the first of them by what was measured.
"""

from __future__ import annotations

import statistics
import sys
import threading

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bigleaf_bench.schedule import MEASURE, PROOF, TLB, Job

# How many times as long as a measured run another takes, roughly.
TIMES = {MEASURE: 1.0, PROOF: 2.0, TLB: 10.0}


def duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Estimate:
    """Seconds a job will take, learnt as the campaign goes on."""

    def __init__(self, limit: float):
        self.limit = limit
        self.known: dict[tuple[str, ...], list[float]] = {}

    def learn(self, record: dict) -> None:
        tool, place = record["tool"], (record["set"], record["instance"])
        for key in ((record["purpose"], tool, *place), (record["purpose"], tool)):
            self.known.setdefault(key, []).append(record.get("wall_seconds", 0.0))

    def of(self, job: Job) -> float:
        place = (job.use.name, job.instance.set, job.instance.name)
        for purpose, times in ((job.purpose, 1.0), (MEASURE, TIMES[job.purpose])):
            known = self.known.get((purpose, *place)) or self.known.get((purpose, job.use.name))
            if known:
                return times * statistics.fmean(known)
        return TIMES[job.purpose] * self.limit / 3


class Voice:
    """The campaign's voice on standard error."""

    def __init__(self, jobs: list[Job], records: list[dict], limit: float, workers: int,
                 plain: bool):
        self.left = {job.key: job for job in jobs}
        self.total, self.workers = len(jobs), workers
        self.estimate = Estimate(limit)
        self.mutex = threading.Lock()
        for record in records:
            self.estimate.learn(record)
        self.console = Console(stderr=True)
        self.plain = plain or not self.console.is_terminal
        self.bar = Progress(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
                            TextColumn("{task.fields[eta]}"), console=self.console,
                            disable=self.plain, transient=True, refresh_per_second=1)
        self.task = self.bar.add_task("runs", total=self.total, eta=self.eta())

    def __enter__(self):
        self.bar.start()
        return self

    def __exit__(self, *_):
        self.bar.stop()

    def eta(self) -> str:
        seconds = sum(self.estimate.of(job) for job in self.left.values()) / self.workers
        return f"about {duration(seconds)} left" if self.left else "done"

    def done(self, record: dict) -> None:
        with self.mutex:
            self.estimate.learn(record)
            self.left.pop(record["key"], None)
            number = self.total - len(self.left)
            text = line(record)
            if self.plain:
                print(f"[{number}/{self.total}] {text}; {self.eta()}", file=sys.stderr, flush=True)
            else:
                self.bar.console.print(text, markup=False, highlight=False)
                self.bar.update(self.task, completed=number, eta=self.eta())

    def say(self, text: str) -> None:
        if self.plain:
            print(f"== {text}", file=sys.stderr, flush=True)
        else:
            self.bar.console.print(f"== {text}", markup=False, highlight=False)


def line(record: dict) -> str:
    """A run in one line."""
    words = [record["tool"], record["instance"], record["variant"]]
    if record["purpose"] != "measure":
        words.append(record["purpose"])
    result = record["answer"] if record["status"] == "ok" else record["status"]
    words.append(result or record["status"])
    if "wall_seconds" in record:
        words.append(f"{record['cpu_seconds']:.2f} s")
    backed = record.get("backing")
    if backed and backed["heap_bytes"]:
        words.append(f"{backed['heap_huge_bytes'] / backed['heap_bytes']:.0%} of "
                     f"{backed['heap_bytes'] / 2**20:.0f} MiB huge")
    if record.get("objection") and record["status"] == "ok":
        words.append(f"INVALID: {record['objection']}")
    return "  ".join(words)
