# SPDX-License-Identifier: MIT
"""`bigleaf-bench build NAME...`: all variants of all recipes named.

A build that fails is said and the others go on; the exit status is then 1, or
3 where the machine lacks something.
"""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from pathlib import Path

from bigleaf_bench.build import VARIANTS, display, measure, recipe, toolchain, work
from bigleaf_bench.failure import Failure, Lacking, WrongUse

Built = dict[str, dict[str, Path]]  # recipe -> variant -> entry of the cache


def list_recipes() -> int:
    for name in recipe.names():
        one = recipe.load(name)
        print(f"{name:16} {'' if one.tested else '(untested) '}{one.summary}")
    return 0


def variants(arguments: Namespace) -> list[str]:
    if arguments.variant:
        return list(dict.fromkeys(arguments.variant))
    if toolchain.thp_libc().exists():
        return list(VARIANTS)
    print("bigleaf-bench: no variant thp: 'bigleaf thp-libc' makes its libc", file=sys.stderr)
    return [v for v in VARIANTS if v != "thp"]


def build_all(arguments: Namespace) -> tuple[Built, list[Failure]]:
    wanted = [recipe.load(name) for name in dict.fromkeys(arguments.names)]
    chains = [toolchain.make(v) for v in variants(arguments)]
    jobs = arguments.jobs or len(os.sched_getaffinity(0))
    built: Built = {}
    failures: list[Failure] = []
    with display.make(len(wanted) * len(chains), arguments.plain) as shown:
        for one in wanted:
            for chain in chains:
                what = f"{one.name} {chain.variant}"
                try:
                    place, known = work.build(one, chain, jobs, arguments.again,
                                              lambda doing, what=what: shown.step(what, doing))
                except Failure as error:
                    failures.append(error)
                    shown.finish(what, f"failed: {error}")
                    continue
                built.setdefault(one.name, {})[chain.variant] = place
                shown.finish(what, "from the cache" if known else "built")
    return built, failures


def copy(built: Built, into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for entries in built.values():
        for variant, place in entries.items():
            for program in (place / "bin").iterdir():
                shutil.copy2(program, into / f"{program.name}-{variant}")


def run(arguments: Namespace) -> int:
    if arguments.list:
        return list_recipes()
    if not arguments.names:
        raise WrongUse("build: which reasoners? bigleaf-bench build --list names them")
    built, failures = build_all(arguments)
    if arguments.into:
        copy(built, arguments.into)
    else:
        for entries in built.values():
            for place in entries.values():
                for program in sorted((place / "bin").iterdir()):
                    print(program)
    if arguments.table and built:
        measure.table(built, arguments)
    lacking = [f for f in failures if isinstance(f, Lacking)]
    return lacking[0].status if lacking else bool(failures)
