# SPDX-License-Identifier: MIT
"""Variants: how a tool's memory is provided, and what its label promises.

Every run, that of base pages too, goes through `bigleaf run --report`, so that
all of them are watched in the same way. A variant says which options and
environment make it what it is; what the kernel must then have granted is its
expectation, which `backing` holds against the report.
"""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Expectation:
    """Bounds on the share of the heap that is on huge pages, 0 to 1."""

    least: float = 0.0
    most: float = 1.0
    pool: bool | None = None
    mechanisms: tuple[str, ...] = ()  # that provide the heap; none: any


@dataclass(frozen=True)
class Kind:
    """A kind of variant: words for `bigleaf run`, and its expectation."""

    run: tuple[str, ...]
    expect: Expectation
    huge: bool


# Bigleaf inside the program, or serving a static one from outside.
OURS = ("bigleaf", "injected")
# A heap that grows in steps keeps a tail on base pages, hence not 1.0.
KINDS = {
    "base": Kind(("--heap=none", "--image=off"), Expectation(most=0.01), False),
    "thp": Kind(("--pages=thp",), Expectation(0.5, pool=False, mechanisms=OURS), True),
    "hugetlb": Kind(("--pages=hugetlb",), Expectation(0.5, pool=True, mechanisms=OURS), True),
    "glibc": Kind(("--heap=glibc", "--image=off"),
                  Expectation(0.05, mechanisms=("glibc-tunable",)), True),
    "other": Kind(("--heap=none", "--image=off"), Expectation(), True),
}


@dataclass(frozen=True)
class Variant:
    """A variant of a campaign."""

    name: str
    kind: str
    run: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    path: tuple[str, ...]
    suffix: str
    expect: Expectation
    needs: tuple[str, ...]

    @property
    def huge(self) -> bool:
        return KINDS[self.kind].huge

    def lacks(self) -> str:
        """A file that the variant needs and that is not here, or nothing."""
        return next((f for f in self.needs
                     if f[0] == "$" or "/" in f and not Path(f).exists()), "")

    def command(self, bigleaf: str, report: Path, words: list[str]) -> list[str]:
        """The words that run `words` as this variant and write `report`."""
        env = ["/usr/bin/env", *(f"{k}={v}" for k, v in self.environment)]
        return [bigleaf, "run", *self.run, f"--report={report}", "--json", "--",
                *(env if self.environment else []), *words]


def filled_in(value: str, base: Path) -> str:
    """A value of the environment with its variables; of a pattern of files
    (libraries lie in folders named after the machine) the first that is there."""
    def one(part: str) -> str:
        files = sorted(glob.glob(part, root_dir=base)) if "/" in part else []
        return files[0] if files else part

    return ":".join(one(os.path.expandvars(part)) for part in value.split(":"))


def read(table, base: Path) -> Variant:
    """The variant of one [[variants]] table."""
    name = table.name()
    kind = KINDS[table.choice("kind", KINDS, name if name in KINDS else "base")]
    least = table.number("least", kind.expect.least, 0, 1)
    most = table.number("most", kind.expect.most, 0, 1)
    environment = {k: filled_in(v, base) for k, v in table.mapping("environment").items()}
    preload = [f for f in environment.get("LD_PRELOAD", "").split(":") if f]
    result = Variant(
        name, next(k for k, v in KINDS.items() if v is kind),
        (*kind.run, *table.texts("arguments")), tuple(environment.items()),
        tuple(str((base / os.path.expandvars(p)).resolve()) for p in table.texts("path")),
        table.take("suffix", str, ""),
        Expectation(least, most, kind.expect.pool, kind.expect.mechanisms),
        tuple(preload))
    table.done()
    return result
