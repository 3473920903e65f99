# SPDX-License-Identifier: MIT
"""Files of ours that are no Python: in the sources, or as installed."""

from __future__ import annotations

import sys
from pathlib import Path

from bigleaf_bench.failure import Lacking

# The sources, or the folder that holds the installed package; where the package
# was installed by itself, the environment's, then the system's.
BASES = (Path(__file__).resolve().parents[3], Path(sys.prefix) / "share/bigleaf",
         Path("/usr/share/bigleaf"))


def find(*names: str, instead: str = "") -> Path:
    """The first of these names that is there; `instead` says what else helps."""
    places = [base / name for base in BASES for name in names]
    for place in places:
        if place.exists():
            return place
    raise Lacking(f"{places[-1]}: not there; install Bigleaf's files{instead}")
