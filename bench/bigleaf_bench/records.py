# SPDX-License-Identifier: MIT
"""Results as data frames: what tables and plots are made of.

A pair is one tool on one instance in two variants. Only runs that ended with
an answer, on the memory that their label promises, have a time; repetitions
become their median. All the figures of the papers follow from pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy
import pandas

from bigleaf_bench import backing, journal
from bigleaf_bench.campaign import Campaign, load
from bigleaf_bench.execute import read_json
from bigleaf_bench.failure import WrongUse
from bigleaf_bench.variants import KINDS, OURS

PAIR = ["category", "tool", "set", "instance"]
GONE = ("wall_seconds", "cpu_seconds", "memory_bytes", "answer", "checked", "objection")


@dataclass(frozen=True)
class Results:
    """A folder of results, and the two variants that are compared."""

    folder: Path
    campaign: Campaign
    notes: dict
    records: list[dict]
    runs: pandas.DataFrame
    base: str
    huge: str

    @staticmethod
    def load(folder: Path, base: str | None = None, huge: str | None = None) -> Results:
        records = journal.read(folder)
        notes = read_json(folder / "notes.json") or {}
        campaign = load(folder / "campaign.toml")
        campaign = replace(campaign, name=notes.get("campaign", campaign.name))
        names = [v.name for v in campaign.variants]
        for option, name in (("--base", base), ("--huge", huge)):
            if name and name not in names:
                raise WrongUse(f"{option}: no variant '{name}' here (there are "
                               f"{', '.join(names)})")
        first = next((v.name for v in campaign.variants if not v.huge), names[0])
        base = base or first
        huge = huge or next((n for n in names if n != base), base)
        return Results(folder, campaign, notes, records, frame(records, campaign.time), base,
                       huge)

    @property
    def alone(self) -> bool:
        """Of one variant only: there is nothing to compare it with."""
        return self.base == self.huge

    def pairs(self, category: str | None = None) -> pandas.DataFrame:
        """One row per tool and instance: both times, footprint, coverage."""
        runs = self.runs
        if category:
            runs = runs[runs["category"] == category]
        base = summed(runs[runs["variant"] == self.base]).add_suffix("_n")
        huge = summed(runs[runs["variant"] == self.huge]).add_suffix("_thp")
        result = base.join(huge, how="outer").reset_index()
        result["family"] = result["family_n"].fillna(result["family_thp"])
        result["both"] = result["seconds_n"].notna() & result["seconds_thp"].notna()
        result["gain"] = 100 * (1 - result["seconds_thp"] / result["seconds_n"])
        return result.join(self.misses(), on=["tool", "set", "instance"])

    def misses(self) -> pandas.DataFrame:
        """TLB misses, where runs under `bigleaf tlb` counted them: with Bigleaf and
        without, which says nothing of another way to huge pages."""
        kinds = {v.name: KINDS[v.kind] for v in self.campaign.variants}
        told = not kinds[self.base].huge and kinds[self.huge].expect.mechanisms == OURS
        rows = {(r["tool"], r["set"], r["instance"]):
                (float(r["tlb"]["base"]), float(r["tlb"]["huge"]))
                for r in self.records if told and r["purpose"] == "tlb" and r.get("tlb")}
        index = pandas.MultiIndex.from_tuples(list(rows), names=["tool", "set", "instance"]) \
            if rows else pandas.MultiIndex.from_arrays([[], [], []],
                                                       names=["tool", "set", "instance"])
        return pandas.DataFrame(list(rows.values()), index=index, columns=["tlb_n", "tlb_thp"],
                                dtype=float)

    def stands_in(self, tool: str) -> str:
        return next((r["stands_in"] for r in self.records
                     if r["tool"] == tool and r.get("stands_in")), "")

    def failures(self) -> list[dict]:
        """Runs that are not ok, wrong answers first."""
        order = ("wrong answer", "contradiction")

        def rank(record: dict) -> int:
            return next((i for i, o in enumerate(order) if record["status"].startswith(o)), 9)

        found = [r for r in self.records if r["status"] != "ok" or r.get("objection")]
        return sorted(found, key=lambda r: (rank(r), r["key"]))


def frame(records: list[dict], time: str) -> pandas.DataFrame:
    """The measured runs, each with `seconds` where it counts."""
    rows = []
    for record in records:
        if record["purpose"] != "measure":
            continue
        backed = record.get("backing") or {}
        rows.append({
            **{key: record[key] for key in (*PAIR, "family", "variant", "repetition", "status",
                                            "valid")},
            **{key: record.get(key) for key in GONE},
            "seconds": seconds(record, backed, time) if record["valid"] else numpy.nan,
            "rss": float(backed.get("peak_rss_bytes") or numpy.nan),
            "coverage": float(backed.get("coverage", numpy.nan)),
            "small": bool(backed) and backing.is_small(backed),
        })
    return pandas.DataFrame(rows, columns=[*PAIR, "family", "variant", "repetition", "status",
                                           "valid", *GONE, "seconds", "rss", "coverage", "small"])


def seconds(record: dict, backed: dict, time: str) -> float:
    """The program's own time, without that of the watcher beside it."""
    if time == "wall":
        return float(backed["wall_seconds"])
    return float(backed["user_seconds"] + backed["system_seconds"])


def summed(runs: pandas.DataFrame) -> pandas.DataFrame:
    """Repetitions become one row: medians of those that count, else of all. A run
    out of time is longer than any other, and where the median is, the row is too."""
    late = runs["status"] == "timeout"
    runs = runs.assign(seconds=runs["seconds"].mask(late, numpy.inf))
    count = runs["seconds"].notna()
    runs = runs[count | ~count.groupby([runs[key] for key in PAIR]).transform("any")]
    rows = runs.groupby(PAIR).agg(
        family=("family", "first"), seconds=("seconds", "median"), rss=("rss", "median"),
        coverage=("coverage", "median"), status=("status", "first"), small=("small", "max"))
    late = rows["seconds"] == numpy.inf
    solved = rows["seconds"].notna() & ~late
    return rows.assign(seconds=rows["seconds"].where(solved),
                       status=rows["status"].mask(late, "timeout").mask(solved, "ok"))
