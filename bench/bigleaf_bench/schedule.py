# SPDX-License-Identifier: MIT
"""The order of the runs: pairs interleaved, everything shuffled by one seed.

A block is one tool on one instance in one repetition, with all variants one
after the other: what is compared ran within minutes and on the same cores.
Which variant goes first is shuffled too, so that a machine that warms up or
slows down favours none. Equal seeds give equal orders.
"""

from __future__ import annotations

import hashlib
import os
import random
from dataclasses import dataclass, replace

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
    solved = [(first[r["key"]], r["answer"]) for r in sorted(records, key=lambda r: r["key"])
              if r["key"] in first and r["status"] == "ok"]
    result = []
    if campaign.checks.proofs:
        result += [[replace(job, purpose=PROOF)] for job, answer in solved if answer == "unsat"]
    if campaign.tlb:
        result += [[job] for job in counted(campaign, [job for job, _ in solved])]
    return result


def counted(campaign: Campaign, solved: list[Job]) -> list[Job]:
    """One run per tool and instance, or `per_tool` of each tool: by lot, so that
    all sets have a chance, but by each pair's own, so that a campaign that goes
    on with more of them solved chooses the same ones again."""
    jobs = {(job.use.name, job.instance.key): replace(job, variant=campaign.variants[0],
                                                      purpose=TLB) for job in solved}
    chosen: dict[str, int] = {}
    result = []
    for job in sorted(jobs.values(), key=lambda job: lot(campaign.seed, job.key)):
        chosen[job.use.name] = chosen.get(job.use.name, 0) + 1
        if not campaign.tlb.per_tool or chosen[job.use.name] <= campaign.tlb.per_tool:
            result.append(job)
    return result


def lot(seed: int, key: str) -> bytes:
    return hashlib.sha256(os.fsencode(f"{seed}|{key}")).digest()
