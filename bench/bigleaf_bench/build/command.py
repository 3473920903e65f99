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

from bigleaf_bench import stop
from bigleaf_bench.build import VARIANTS, container, display, measure, recipe, toolchain, work
from bigleaf_bench.failure import Failure, Lacking, WrongUse

COMPILERS = ("cmd:cc gcc", "cmd:c++ g++")

Built = dict[str, dict[str, Path]]  # recipe -> variant -> entry of the cache


def list_recipes() -> int:
    for name in recipe.names():
        one = recipe.load(name)
        print(f"{name:16} {'' if one.tested else '(untested) '}{one.summary}")
    return 0


def say(text: str) -> None:
    print(f"bigleaf-bench: {text}", file=sys.stderr, flush=True)


def variants(arguments: Namespace, inside: bool) -> list[str]:
    """Those asked for, else all that can be had here."""
    wanted = list(dict.fromkeys(arguments.variant or VARIANTS))
    if "thp" not in wanted or (inside and arguments.variant):
        return wanted
    try:
        if inside:
            raise Lacking("its libc is the host's")
        toolchain.need_thp_libc(say)
    except Lacking as error:
        if arguments.variant:
            raise
        say(f"no variant thp: {error}")
        wanted.remove("thp")
    return wanted


def chains_of(arguments: Namespace) -> list[toolchain.Toolchain]:
    """A compiler per variant, in a container where one is asked for and to be had."""
    inside = None
    if arguments.container is not None:
        inside = container.make(arguments.container or None, say)
    if not inside:
        need_compilers()
    return [toolchain.make(v, inside) for v in variants(arguments, inside is not None)]


def need_compilers() -> None:
    packages = work.lacking(COMPILERS)
    if packages:
        say(f"installing {packages}")
        work.install(packages)


def build_all(arguments: Namespace) -> tuple[Built, list[Failure]]:
    wanted = [recipe.load(name) for name in dict.fromkeys(arguments.names)]
    chains = chains_of(arguments)
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
    for entries in built.values():
        for variant, place in entries.items():
            for program in (place / "bin").iterdir():
                shutil.copy2(program, into / f"{program.name}-{variant}")


def run(arguments: Namespace) -> int:
    if arguments.list:
        return list_recipes()
    if not arguments.names:
        raise WrongUse("build: which reasoners? bigleaf-bench build --list names them")
    measure.need_files(arguments.table or [])  # rather now than after the builds
    if arguments.into:
        arguments.into.mkdir(parents=True, exist_ok=True)
    stop.as_interrupts()
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
