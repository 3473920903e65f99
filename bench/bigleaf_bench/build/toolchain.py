# SPDX-License-Identifier: MIT
"""A compiler per variant.

Build systems name compilers in many ways, so a folder of small scripts stands
first on PATH: cc, gcc, c++, g++ and so on, all of which link static programs:

    plain    the compiler itself
    bigleaf  `bigleaf cc`
    thp      `bigleaf cc --libc=thp`: glibc with our patch

The variants differ in how they are linked, not in how they are compiled: where
ccache is to be had, what one variant compiled serves the next.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bigleaf_bench.build import cache
from bigleaf_bench.build.container import PATH, Container
from bigleaf_bench.command import find_bigleaf
from bigleaf_bench.failure import Lacking

INSIDE = "/bigleaf-host"  # where a container sees files of ours
NAMES = {"cc": ("cc", "gcc"), "c++": ("c++", "g++")}
# A shared library must not be told -static.
SCRIPT = """#!/bin/sh
for word; do
    case $word in
    -c | -E | -S | -M | -MM) exec {compiler} "$@" ;;
    -shared | -r) exec {line} "$@" ;;
    esac
done
exec {line} "$@" -static
"""


@dataclass(frozen=True)
class Toolchain:
    """The compilers of one variant; `digest` names everything they link in."""

    variant: str
    compilers: dict[str, str]
    lines: dict[str, str]  # that link; both are words of the shell
    digest: str
    container: Container | None = None
    readable: tuple[tuple[Path, str], ...] = ()  # what the lines name in a container

    def install(self, folder: Path) -> dict[str, str]:
        """The scripts, and the environment in which they are found."""
        folder.mkdir(parents=True)
        path = PATH if self.container else os.environ["PATH"]
        for kind, names in NAMES.items():
            for name in names:
                file = folder / name
                file.write_text(SCRIPT.format(compiler=self.compilers[kind],
                                              line=self.lines[kind]))
                file.chmod(0o755)
        return {"PATH": f"{folder}:{path}", "CC": "cc", "CXX": "c++",
                "CCACHE_DIR": str(cache.root() / "objects"), "CCACHE_BASEDIR": str(folder.parent),
                "CCACHE_NOHASHDIR": "1", "CCACHE_MAXSIZE": "2G"}

    def words(self, step: str, tree: Path, environment: dict[str, str]) -> list[str]:
        words = ["sh", "-eu", "-c", step]
        if not self.container:
            return words
        return self.container.line(words, tree, environment, self.readable)


def is_static(program: Path) -> bool:
    """No program interpreter: the kernel loads it alone."""
    done = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True,
                          check=False)
    return done.returncode == 0 and "INTERP" not in done.stdout


def compiler(*names: str) -> str:
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Lacking(f"{names[0]}: no compiler; apt-get install gcc g++")


def version(path: str) -> str:
    done = subprocess.run([path, "-dumpfullversion", "-dumpmachine"], capture_output=True,
                          text=True, check=False)
    return done.stdout


def libraries(bigleaf: str) -> list[Path]:
    """What `bigleaf cc` may link in, where it finds it."""
    done = subprocess.run([bigleaf, "cc", "x.o"], capture_output=True, text=True, check=False,
                          env=os.environ | {"BIGLEAF_CC": "echo"})
    found = [word for word in done.stdout.split() if word.endswith("/libbigleaf.a")]
    if done.returncode != 0 or not found:
        raise Lacking(done.stderr.strip() or "bigleaf cc: failed")
    folder = Path(found[0]).parent
    return [Path(found[0]), *sorted(folder.glob("bigleaf-*.o"))]


def thp_libc() -> Path:
    """The patched libc.a, where `bigleaf cc --libc=thp` looks for it."""
    named = os.environ.get("BIGLEAF_LIBC_THP")
    beside = [f.parent / "bigleaf-thp" for f in libraries(find_bigleaf())]
    places = [Path(named)] if named else [*beside, cache.root() / "thp"]
    return next((p / "libc.a" for p in places if (p / "libc.a").exists()), places[-1] / "libc.a")


def need_thp_libc(tell: Callable[[str], None]) -> None:
    """Has `bigleaf thp-libc` make the patched libc where it is not there."""
    libc = thp_libc()
    if libc.exists():
        return
    line = [find_bigleaf(), "thp-libc", f"--into={libc.parent}"]
    last = ""
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace",
                          env=os.environ | {"BIGLEAF_CACHE": str(cache.root())}) as making:
        for text in making.stderr:
            last = text.strip()
            if last.startswith("== "):
                tell(f"the libc of variant thp: {last[3:]}")
    if making.returncode != 0:
        raise Lacking(last or "bigleaf thp-libc: failed")


def digest_of(files: list[Path], *texts: str) -> str:
    state = hashlib.sha256("\0".join(texts).encode())
    for file in files:
        state.update(file.read_bytes())
    return state.hexdigest()


def make(variant: str, container: Container | None = None) -> Toolchain:
    if container:
        return make_inside(variant, container)
    cc, cxx = compiler("cc", "gcc"), compiler("c++", "g++")
    versions = (variant, SCRIPT, version(cc), version(cxx))
    plain = {"cc": shlex.quote(cc), "c++": shlex.quote(cxx)}
    ccache = shutil.which("ccache")
    compilers = {kind: f"{shlex.quote(ccache)} {path}" for kind, path in plain.items()} \
        if ccache else plain
    if variant == "plain":
        return Toolchain(variant, compilers, plain, digest_of([], *versions))
    bigleaf = find_bigleaf()
    option, files = "", libraries(bigleaf)
    setting = f"BIGLEAF_CC={plain['cc']} BIGLEAF_CXX={plain['c++']}"
    if variant == "thp":
        libc = thp_libc()
        option, files = " --libc=thp", [libc, *files]
        setting += f" BIGLEAF_LIBC_THP={shlex.quote(str(libc.parent))}"
    lines = {kind: f"env {setting} {shlex.quote(bigleaf)} {kind}{option}" for kind in NAMES}
    return Toolchain(variant, compilers, lines, digest_of(files, *versions))


def by_own_loader(program: Path) -> tuple[str, list[Path]]:
    """How the host's program runs on the libc of any image, and the files that it takes:
    by the host's loader, with the host's libraries."""
    if is_static(program):
        return f"{INSIDE}/{program.name}", [program]
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    found = [Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout)]
    loader = [path.name for path in found if path.name.startswith("ld-")]
    if done.returncode != 0 or not loader:
        raise Lacking(f"{program}: ldd cannot tell its libraries, which a container needs")
    return f"{INSIDE}/{loader[0]} --library-path {INSIDE} {INSIDE}/{program.name}", \
        [program, *found]


def make_inside(variant: str, container: Container) -> Toolchain:
    plain = {"cc": "/usr/bin/cc", "c++": "/usr/bin/c++"}
    versions = (variant, SCRIPT, container.image)
    if variant == "plain":
        return Toolchain(variant, plain, plain, digest_of([], *versions), container)
    if variant == "thp":
        raise Lacking("variant thp: its libc is this host's; leave --container out")
    bigleaf = Path(find_bigleaf())
    command, taken = by_own_loader(bigleaf)
    files = libraries(str(bigleaf))
    setting = f"BIGLEAF_LIB={INSIDE}/{files[0].name} BIGLEAF_CC=/usr/bin/cc " \
        "BIGLEAF_CXX=/usr/bin/c++"
    lines = {kind: f"env {setting} {command} {kind}" for kind in NAMES}
    return Toolchain(variant, plain, lines, digest_of(files, *versions), container,
                     tuple((file.resolve(), f"{INSIDE}/{file.name}")
                           for file in (*taken, *files)))
