# SPDX-License-Identifier: MIT
"""Builds one variant of one recipe, tries it, and keeps it.

Everything a build says goes to its log. A failure is one line with the log's
place and its first error; nothing of it stays in the cache.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from bigleaf_bench.build import cache, fetch, recipe as recipes
from bigleaf_bench.build.recipe import Recipe, Smoke
from bigleaf_bench.build.toolchain import Toolchain, is_static
from bigleaf_bench.failure import Failure, Lacking

SMOKE_SECONDS = 60
UNPACK = ("cmd:xz xz-utils", "cmd:patch patch")
# What a compiler, a linker or a build system says when it gives up.
TROUBLE = re.compile(r"error[: ]|undefined reference|cannot find|No space left|\*\*\*", re.I)
FULL = "the disk is full"


class NotBuilt(Failure):
    """A build or its smoke test failed."""


def lacking(needs: Iterable[str]) -> str:
    """What the machine lacks of the needs, as Debian packages."""
    missing = []
    for need in needs:
        probe, _, package = need.partition(" ")
        kind, _, what = probe.partition(":")
        found = shutil.which(what) if kind == "cmd" else any(
            Path(place, what).exists() for place in libraries_and_headers())
        if not found:
            missing.append(package.strip() or what)
    return " ".join(dict.fromkeys(missing))


def libraries_and_headers() -> list[Path]:
    machine = subprocess.run(["cc", "-print-multiarch"], capture_output=True, text=True,
                             check=False).stdout.strip()
    return [Path("/usr/include"), Path("/usr/include") / machine, Path("/usr/lib") / machine,
            Path("/usr/lib"), Path("/usr/lib64")]


def apt_get(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["apt-get", "-q", *words], capture_output=True, text=True, check=False,
                          env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})


def install(packages: str) -> None:
    """As root on Debian what a recipe needs is installed, else asked for."""
    remedy = f"apt-get install {packages}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Lacking(f"the build needs more of the machine: {remedy}")
    words = ("install", "-y", "--no-install-recommends", *packages.split())
    done = apt_get(*words)
    # A fresh machine has no lists of packages, or old ones.
    if done.returncode != 0 and apt_get("update").returncode == 0:
        done = apt_get(*words)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise Lacking(f"{remedy}: failed: {last}")


def first_trouble(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    found = [line.strip() for line in lines if TROUBLE.search(line)]
    if any("No space left" in line for line in found):
        return FULL
    return (found or lines[-1:] or ["it said nothing"])[0][:160]


def end_group(process: subprocess.Popen) -> None:
    """All that a process of a group of its own began, by request and then by force."""
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def run_step(words: list[str], tree: Path, env: dict[str, str], out: BinaryIO) -> int:
    """Its exit status. Who is interrupted leaves none of its compilers behind."""
    with subprocess.Popen(words, cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=out,
                          stderr=out, process_group=0) as process:
        try:
            return process.wait()
        except BaseException:
            end_group(process)
            raise


def run_steps(recipe: Recipe, toolchain: Toolchain, scratch: Path, log: Path,
              jobs: int) -> None:
    tree = scratch / "tree"
    said = toolchain.install(scratch / "bin") | {"JOBS": str(jobs), "LC_ALL": "C"}
    own = {k: v for k, v in os.environ.items()
           if not k.startswith(("BIGLEAF_", "DEB_")) and k not in ("CFLAGS", "CXXFLAGS", "LDFLAGS",
                                                                   "MAKEFLAGS", "LD_PRELOAD")}
    with log.open("wb") as out:
        for step in recipe.steps:
            out.write(f"$ {step}\n".encode())
            out.flush()
            words = toolchain.words(step, tree, said)
            if run_step(words, tree, own if toolchain.container else own | said, out):
                trouble = first_trouble(log)
                failure = Lacking if trouble == FULL else NotBuilt
                raise failure(f"{recipe.name}: {trouble} (log: {log})")


def smoke_words(smoke: Smoke, programs: Path) -> list[str]:
    files = recipes.folder() / "smoke"
    first, *rest = smoke.words
    return [str(programs / first),
            *(re.sub(r"\{([\w.+-]+)\}", lambda m: str(files / m[1]), w) for w in rest)]


def try_out(recipe: Recipe, smoke: Smoke, programs: Path, log: Path) -> None:
    words = smoke_words(smoke, programs)
    problem = ""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=SMOKE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = f"{type(error).__name__}"
    else:
        with log.open("a") as out:
            out.write(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}")
        if done.returncode != smoke.status:
            problem = f"exit status {done.returncode} instead of {smoke.status}"
        elif not re.search(smoke.says, done.stdout, re.M):
            problem = f"no '{smoke.says}' in its output"
    if problem:
        raise NotBuilt(f"{recipe.name}: smoke test '{' '.join(smoke.words)}': {problem} "
                       f"(log: {log})")


def collect(recipe: Recipe, tree: Path, made: Path, log: Path) -> None:
    (made / "bin").mkdir(parents=True)
    for name in recipe.programs:
        program = tree / name
        if not program.exists():
            raise NotBuilt(f"{recipe.name}: the build left no {name} (log: {log})")
        if not is_static(program):
            raise NotBuilt(f"{recipe.name}: {name} is not static (log: {log})")
        shutil.copy2(program, made / "bin" / program.name)


def build(recipe: Recipe, toolchain: Toolchain, jobs: int, again: bool,
          tell: Callable[[str], None]) -> tuple[Path, bool]:
    """The entry of the cache, and whether it was there."""
    digest = cache.key(recipe.digest, toolchain.digest)
    place = cache.entry(recipe.name, toolchain.variant, digest)
    if place.exists() and not again:
        return place, True
    packages = lacking(UNPACK if toolchain.container else (*UNPACK, *recipe.needs))
    if packages:
        tell(f"installing {packages}")
        install(packages)
    scratch = log = None
    try:
        scratch = cache.scratch(recipe.name, toolchain.variant)
        log = cache.log(recipe.name, toolchain.variant)
        build_in(recipe, toolchain, scratch, log, jobs, tell)
        cache.keep(scratch / "made", place)
    except OSError as error:
        where = error.filename or cache.root()
        what = FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) \
            else error.strerror or str(error)
        raise Lacking(f"{recipe.name}: {where}: {what}; nothing of it was kept") from None
    finally:
        if scratch:
            shutil.rmtree(scratch, ignore_errors=True)
    return place, False


def build_in(recipe: Recipe, toolchain: Toolchain, scratch: Path, log: Path, jobs: int,
             tell: Callable[[str], None]) -> None:
    began = time.monotonic()
    tell("fetching")
    fetch.source(recipe, scratch / "tree")
    tell("building")
    run_steps(recipe, toolchain, scratch, log, jobs)
    tell("trying")
    made = scratch / "made"
    collect(recipe, scratch / "tree", made, log)
    for smoke in recipe.smoke:
        try_out(recipe, smoke, made / "bin", log)
    shutil.copy2(log, made / "build.log")
    note = {"schema": "bigleaf.build/1", "recipe": recipe.name, "variant": toolchain.variant,
            "source": recipe.source, "seconds": round(time.monotonic() - began, 1),
            "programs": {p.name: fetch.sha256(p) for p in sorted((made / "bin").iterdir())}}
    (made / "build.json").write_text(json.dumps(note, indent=1) + "\n")
