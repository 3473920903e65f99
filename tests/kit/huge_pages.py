# SPDX-License-Identifier: MIT
"""How often the kernel had no huge page to give, by its own count.

A test that needs huge pages asks before and after: what it misses is excused
where the kernel counted a refusal meanwhile, and nowhere else.
"""

from pathlib import Path

FAULT = "thp_fault_fallback"
FILE = "thp_file_fallback"
COLLAPSE = "thp_collapse_alloc_failed"


def refused(*kinds: str) -> int:
    """Refusals of these kinds, on the whole machine so far."""
    counts = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return sum(int(counts.get(kind, 0)) for kind in kinds)
