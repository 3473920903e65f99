# SPDX-License-Identifier: MIT
"""Is a run's memory backed as its label says?

The figures are those that `bigleaf run --report` read from the kernel. A run
that fails here is kept and shown, but no mean, sum or plot counts it: it would
measure something else than it claims.
"""

from __future__ import annotations

import re
from pathlib import Path

from bigleaf_bench.variants import Expectation, Variant

# Below this a heap says nothing: less than four huge pages.
LEAST_HEAP = 8 * 2**20
# A run as short as this may end before anybody has looked at it.
LEAST_SECONDS = 1.0
MIB = 2**20
HUGE = 2 * MIB
VMSTAT = Path("/proc/vmstat")
GIVEN = re.compile(r"^thp_(?:fault|collapse|file)_alloc (\d+)$", re.MULTILINE)
# What the loader says of a library that it leaves out.
NOT_LOADED = "from LD_PRELOAD cannot be preloaded"


def given() -> int | None:
    """Transparent huge pages that the kernel has given to anybody so far."""
    try:
        counts = GIVEN.findall(VMSTAT.read_text(encoding="ascii"))
    except OSError:
        return None
    return sum(map(int, counts)) if counts else None


def summary(report: dict | None, given_before: int | None = None) -> dict | None:
    """What a record keeps of a report, and how many huge pages the machine
    was given during the run."""
    if not report:
        return None
    now = given()
    regions = report["regions"]
    return {
        "coverage": report["huge_coverage"],
        "heap_bytes": regions["heap"]["bytes"],
        "heap_huge_bytes": regions["heap"]["huge_bytes"],
        "pool_bytes": sum(r.get("hugetlb_bytes", 0) for r in regions.values()),
        "huge_bytes": sum(r["huge_bytes"] for r in regions.values()),
        "bytes": sum(r["bytes"] for r in regions.values()),
        "heap": report["mechanisms"]["heap"],
        "heap_reason": report["mechanisms"].get("heap_reason", ""),
        "text": report["mechanisms"]["text"],
        "given": now - given_before if now is not None and given_before is not None else None,
        "minor_faults": report["minor_faults"],
        "peak_rss_bytes": report["peak_rss_kib"] * 1024,
        "user_seconds": report["user_seconds"],
        "system_seconds": report["system_seconds"],
        "wall_seconds": report["wall_seconds"],
    }


def is_small(backing: dict) -> bool:
    """Of a heap too small to be held against its label."""
    return backing["heap_bytes"] < LEAST_HEAP


def objection(variant: Variant, backing: dict | None, said: str) -> str:
    """Why this run, which said so much, is not what its label says; nothing
    when it is."""
    if backing is None:
        return "no report of its backing"
    if NOT_LOADED in said:
        return "a library of LD_PRELOAD could not be loaded"
    expect = variant.expect
    if expect.mechanisms and backing["heap"] not in expect.mechanisms:
        reason = f": {backing['heap_reason']}" if backing["heap_reason"] else ""
        return f"the heap is by {backing['heap']}, not {expect.mechanisms[0]}{reason}"
    if (backing["wall_seconds"] > LEAST_SECONDS
            and 2 * backing["bytes"] < backing["peak_rss_bytes"]
            and not nobody_got_any(expect, backing)):
        return "its memory at the peak was not seen"
    size, huge = backing["heap_bytes"], backing["heap_huge_bytes"]
    if is_small(backing):
        return ""
    share = huge / size
    if share < expect.least:
        return (f"{share:.0%} of {size / MIB:.0f} MiB of heap on huge pages, "
                f"less than {expect.least:.0%}")
    if share > expect.most:
        return (f"{share:.0%} of {size / MIB:.0f} MiB of heap on huge pages, "
                f"more than {expect.most:.0%} (is THP on for everyone?)")
    return pool_objection(expect.pool, backing["pool_bytes"], huge)


def nobody_got_any(expect: Expectation, backing: dict) -> bool:
    """A run on base pages needs no look at its peak where the kernel gave hardly
    a huge page to anybody while it ran."""
    pages = backing.get("given")
    return (expect.most < 1 and pages is not None
            and pages * HUGE <= max(LEAST_HEAP, expect.most * backing["peak_rss_bytes"]))


def pool_objection(wanted: bool | None, pool: int, huge: int) -> str:
    if wanted is True and pool < huge / 2:
        return f"{pool / MIB:.0f} of {huge / MIB:.0f} MiB huge are from the hugetlb pool"
    if wanted is False and pool:
        return f"{pool / MIB:.0f} MiB are from the hugetlb pool"
    return ""
