# SPDX-License-Identifier: MIT
"""Intervals by bootstrap: instances are drawn again, with replacement.

What varies is the choice of instances, not the noise of a run; the interval
says how far a table's figure would move with other instances of this kind.
"""

from __future__ import annotations

import numpy

DRAWS = 2000
SEED = 20
LEVEL = 0.95


def saved(base: numpy.ndarray, huge: numpy.ndarray) -> float:
    """Saved time in percent, of sums as in the papers."""
    return 100 * (1 - huge.sum() / base.sum())


def saved_interval(base: numpy.ndarray, huge: numpy.ndarray) -> tuple[float, float] | None:
    """The 95 % interval of `saved`; None for fewer than three instances."""
    if len(base) < 3:
        return None
    chance = numpy.random.default_rng(SEED)
    chosen = chance.integers(0, len(base), (DRAWS, len(base)))
    values = 100 * (1 - huge[chosen].sum(axis=1) / base[chosen].sum(axis=1))
    tail = 100 * (1 - LEVEL) / 2
    low, high = numpy.percentile(values, [tail, 100 - tail])
    return float(low), float(high)
