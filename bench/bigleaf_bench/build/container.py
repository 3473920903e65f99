# SPDX-License-Identifier: MIT
"""Builds in a container: its compilers and libraries, our sources and cache.

The image (packaging/container/Containerfile) is made once per base and kept by
the engine, podman or docker, with or without root. Each step of a recipe then
runs in it, without a network; what it may see is the build's folder, and for
reading `bigleaf` with its libraries, which the host's own loader starts there:
the image's libc may be older than the host's. Sources are fetched and results
are tried outside. Without an engine the host builds, and that is said.

Podman leaves the running to another program, and not every machine suits every
one of these (crun refuses hybrid cgroups); so a container that does nothing is
tried first, and images are made in a mere chroot where no other way is open.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from bigleaf_bench.build import cache, shipped
from bigleaf_bench.failure import Lacking

ENGINES = ("podman", "docker")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Container:
    """The words of an engine, and an image."""

    engine: tuple[str, ...]
    image: str

    def line(self, words: list[str], tree: Path, environment: dict[str, str],
             readable: Iterable[tuple[Path, str]]) -> list[str]:
        """The words that run `words` inside, in `tree`, whose parent may be written."""
        line = [*self.bare(), f"--volume={tree.parent}:{tree.parent}", f"--workdir={tree}"]
        line += [f"--volume={file}:{place}:ro" for file, place in readable]
        line += [f"--env={name}={value}" for name, value in environment.items()]
        return [*line, self.image, *words]

    def bare(self) -> list[str]:
        """The words that run something in it that needs nothing of the host."""
        line = [*self.engine, "run", "--rm", "--network=none", "--security-opt=label=disable"]
        if self.engine[0] == "docker":
            return [*line, f"--user={os.getuid()}:{os.getgid()}"]
        return [*line, "--ulimit=host"]  # its own may be more than one may have

    def fault(self) -> str:
        """Why nothing can be run in it; "" where it can."""
        done = subprocess.run([*self.bare(), self.image, "true"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return last if done.returncode else ""


def find_engine() -> str | None:
    """The first that answers: docker may be there without its daemon."""
    for engine in ENGINES:
        if shutil.which(engine) and subprocess.run(
                [engine, "info"], capture_output=True, check=False).returncode == 0:
            return engine
    return None


def containerfile() -> Path:
    return shipped.find("packaging/container/Containerfile", "container/Containerfile")


def make_image(engine: str, base: str | None, tag: str) -> None:
    log = cache.log("container", "image")
    line = [engine, "build", "--network=host", f"--tag={tag}",
            *([f"--build-arg=BASE={base}"] if base else []), f"--file={containerfile()}"]
    for more in ((), ("--isolation=chroot",)):
        with tempfile.TemporaryDirectory() as empty, log.open("wb") as out:
            done = subprocess.run([*line, *more, empty], stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=out, check=False)
        if done.returncode == 0:
            return
        if engine != "podman" or "while running runtime" not in log.read_text(errors="replace"):
            break
    raise Lacking(f"{engine}: the image of {containerfile()} cannot be made; is there a "
                  f"network? --container=IMAGE names another base (log: {log})")


def working(engine: str, image: str) -> Container:
    """In the first way in which something can be run."""
    ways = [(engine,)]
    if engine == "podman" and shutil.which("runc"):
        ways.append((engine, "--runtime=runc"))
    reasons = []
    for way in ways:
        made = Container(way, image)
        reason = made.fault()
        if not reason:
            return made
        reasons.append(reason)
    raise Lacking(f"{engine}: no container can be run here: {reasons[0]}")


def make(base: str | None, tell: Callable[[str], None]) -> Container | None:
    """None where there is no engine."""
    engine = find_engine()
    if not engine:
        tell("no container engine here (podman, docker): the host builds")
        return None
    text = containerfile().read_text() + (base or "")
    tag = f"localhost/bigleaf-build:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    known = subprocess.run([engine, "image", "inspect", tag], capture_output=True, check=False)
    if known.returncode != 0:
        tell(f"making the image {tag}")
        make_image(engine, base, tag)
    return working(engine, tag)
