# SPDX-License-Identifier: MIT
"""The order of the runs: pairs interleaved, everything shuffled by one seed.

A block is one tool on one instance in one repetition, with all variants one
after the other: what is compared ran within minutes and on the same cores.
Which variant goes first is shuffled too, so that a machine that warms up or
slows down favours none. Equal seeds give equal orders.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from bigleaf_bench.campaign import Campaign, ToolUse
from bigleaf_bench.instances import Instance
from bigleaf_bench.variants import Variant

MEASURE, PROOF, TLB = "measure", "proof", "tlb"


@dataclass(frozen=True)
class Job:
    """One run."""

    use: ToolUse
    instance: Instance
    variant: Variant
    repetition: int
    purpose: str = MEASURE

    @property
    def key(self) -> str:
        return "|".join((self.purpose, self.use.name, self.instance.key, self.variant.name,
                         str(self.repetition)))


Block = list[Job]


def blocks(campaign: Campaign, instances: list[Instance]) -> list[Block]:
    """All measured runs. A repetition ends before the next begins."""
    chance = random.Random(campaign.seed)
    result = []
    for repetition in range(campaign.repetitions):
        round_ = []
        for use in campaign.tools:
            for instance in (i for i in instances if i.set in use.sets):
                jobs = [Job(use, instance, v, repetition) for v in campaign.variants]
                chance.shuffle(jobs)
                round_.append(jobs)
        chance.shuffle(round_)
        result += round_
    return result


def after(campaign: Campaign, records: list[dict], all_blocks: list[Block]) -> list[Block]:
    """Runs that follow from what was measured: proofs of unsat, TLB misses.

    They run when all that is timed is done, for they disturb.
    """
    first = {job.key: job for block in all_blocks for job in block if not job.repetition}
    result = []
    counted: dict[str, int] = {}
    seen = set()
    for record in sorted(records, key=lambda r: r["key"]):
        job = first.get(record["key"])
        if job is None or record["status"] != "ok":
            continue
        pair = (job.use.name, job.instance.key)
        if campaign.checks.proofs and record["answer"] == "unsat":
            result.append([Job(job.use, job.instance, job.variant, 0, PROOF)])
        if campaign.tlb and pair not in seen and wanted(campaign, counted, pair[0]):
            seen.add(pair)
            result.append([Job(job.use, job.instance, campaign.variants[0], 0, TLB)])
    return result


def wanted(campaign: Campaign, counted: dict[str, int], tool: str) -> bool:
    counted[tool] = counted.get(tool, 0) + 1
    return not campaign.tlb.per_tool or counted[tool] <= campaign.tlb.per_tool
