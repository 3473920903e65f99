# SPDX-License-Identifier: MIT
"""Where the command `bigleaf` is. Needs nothing but Python, since `build` does not."""

import os
import shutil
from pathlib import Path

from bigleaf_bench.failure import Lacking


def find_bigleaf() -> str:
    """The command: BIGLEAF_COMMAND, or on PATH."""
    named = os.environ.get("BIGLEAF_COMMAND")
    found = shutil.which(named or "bigleaf")
    if not found:
        raise Lacking(f"no program {named or 'bigleaf'}: build it with ./dev build, and put "
                      "build/bin on PATH or set BIGLEAF_COMMAND")
    return str(Path(found).resolve())
