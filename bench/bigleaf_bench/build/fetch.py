# SPDX-License-Identifier: MIT
"""Sources: fetched once, checked, and kept by their checksum.

    debian  a source package by the checksum of its .dsc or of each file, from
            the mirror that BIGLEAF_DEBIAN names, else those that apt uses here;
            deb-src lines are not needed
    pypi    a source distribution, from the index that pip uses
    crate   a Rust package that carries C sources; BIGLEAF_CRATES says from where
    url     a tarball
    git     a commit

Nothing enters the cache before its checksum is right.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from urllib.parse import quote

from bigleaf_bench.build import cache
from bigleaf_bench.build.recipe import Recipe
from bigleaf_bench.failure import Failure, Lacking

TIMEOUT = 60


class NotFetched(Failure):
    """A source that cannot be had, or is another than it should be."""


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check(file: Path, wanted: str, place: str) -> None:
    found = sha256(file)
    if found != wanted:
        raise NotFetched(f"{place}: its checksum is {found[:16]}..., the recipe says "
                         f"{wanted[:16]}...; the source was changed, nothing was built")


def mirrors() -> list[str]:
    """The one that is named, else what apt is configured with, in its order."""
    named = os.environ.get("BIGLEAF_DEBIAN")
    if named:
        return [named.rstrip("/")]
    if not shutil.which("apt-get"):
        raise Lacking("apt-get: not found, from whose mirror a Debian source package would come: "
                      "name one of Debian's in BIGLEAF_DEBIAN")
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"],
        capture_output=True, text=True, check=False)
    found = [line.rstrip("/") for line in done.stdout.split() if line.startswith("http")]
    if not found:
        raise Lacking("apt knows no mirror; add a line of your system's to its sources")
    return list(dict.fromkeys(found))


def download(url: str, file: Path) -> None:
    """Into `file`, whole or not at all."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer, part.open("wb") as out:
            shutil.copyfileobj(answer, out)
        part.rename(file)
    finally:
        part.unlink(missing_ok=True)


def kept(name: str, wanted: str, urls: list[str],
         remedy: str = "is there a network, and a proxy set?") -> Path:
    """The file of this checksum, from the cache or the first URL that has it."""
    file = cache.sources() / wanted[:16] / name
    if file.exists() and sha256(file) == wanted:
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for url in urls:
        try:
            download(url, file)
        except urllib.error.HTTPError as error:
            reasons.append(f"{url}: {error.code} {error.reason}")
            continue
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
                raise
            reason = getattr(error, "reason", error)
            reasons.append(f"{url}: {getattr(reason, 'strerror', None) or reason}")
            continue
        try:
            check(file, wanted, url)
        except NotFetched:
            file.unlink()
            raise
        return file
    raise NotFetched(f"{reasons[0]}; {remedy}")


def pool(package: str) -> str:
    start = package[:4] if package.startswith("lib") else package[:1]
    return f"pool/main/{start}/{package}"


def spellings(base: str, name: str) -> list[str]:
    """Mirrors differ in how they take a '+'."""
    plain = f"{base}/{quote(name, safe='+')}"
    return list(dict.fromkeys([plain, f"{base}/{quote(name, safe='')}"]))


def debian(source: dict) -> list[Path]:
    """The source package's files: those that the recipe lists, or those of its .dsc."""
    package, version = source["package"], source["version"].split(":")[-1]
    remedy = "is there a network, and a proxy set? BIGLEAF_DEBIAN may name a mirror of Debian"
    bases = [f"{mirror}/{quote(pool(package), safe='/+')}" for mirror in mirrors()]

    def get(name: str, wanted: str) -> Path:
        return kept(name, wanted, [u for base in bases for u in spellings(base, name)], remedy)

    if "files" in source:
        return [get(name, wanted) for name, wanted in source["files"].items()]
    dsc = get(f"{package}_{version}.dsc", source["sha256"])
    block = re.search(r"^Checksums-Sha256:\n((?: .*\n)+)", dsc.read_text(encoding="utf-8"), re.M)
    if not block:
        raise NotFetched(f"{dsc}: lists no SHA-256 checksums")
    rows = [line.split() for line in block[1].splitlines()]
    return [get(name, wanted) for wanted, _, name in rows]


def pip_index() -> str:
    """Where pip looks, as the user configured it or by its own default."""
    for words in (["-m", "pip", "config", "get", "global.index-url"],
                  ["-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"]):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True,
                              check=False)
        if done.returncode == 0 and done.stdout.strip():
            return os.environ.get("PIP_INDEX_URL") or done.stdout.strip()
    raise Lacking("pip: not found, and it knows where Python packages are; apt-get install "
                  "python3-pip")


def pypi(source: dict[str, str]) -> Path:
    """The index lists each file with its checksum; the right one is the file."""
    wanted = source["sha256"]
    file = cache.sources() / wanted[:16] / f"{source['package']}-{source['version']}.tar.gz"
    if file.exists() and sha256(file) == wanted:
        return file
    page = f"{pip_index().rstrip('/')}/{source['package']}/"
    try:
        with urllib.request.urlopen(page, timeout=TIMEOUT) as answer:
            text = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise NotFetched(f"{page}: {getattr(error, 'reason', error)}; is there a network, and a "
                         "proxy set?") from None
    found = re.search(rf'href="([^"#]+)#sha256={wanted}"', text)
    if not found:
        raise NotFetched(f"{page}: lists no file of checksum {wanted[:16]}...; the recipe is of "
                         "another version")
    return kept(file.name, wanted, [urllib.parse.urljoin(page, found[1])])


def crate(source: dict[str, str]) -> Path:
    base = os.environ.get("BIGLEAF_CRATES")
    name, version = source["package"], source["version"]
    if not base:
        raise Lacking(f"{name} {version} is a Rust package: say in BIGLEAF_CRATES under which "
                      "URL NAME/NAME-VERSION.crate is to be had")
    file = f"{name}-{version}.crate"
    return kept(file, source["sha256"], [f"{base.rstrip('/')}/{name}/{file}"])


def git(source: dict[str, str], into: Path) -> None:
    if not shutil.which("git"):
        raise Lacking("git: not found; apt-get install git")
    for words in (["init", "-q", "."], ["fetch", "-q", "--depth=1", source["url"],
                                        source["commit"]], ["checkout", "-q", "FETCH_HEAD"]):
        done = subprocess.run(["git", *words], cwd=into, capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["git said nothing"])[-1]
            raise NotFetched(f"{source['url']}: {last}")


def untar(archive: Path, into: Path) -> None:
    """By tar, which leaves nothing outside the folder."""
    into.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["tar", "-x", "--no-same-owner", "-f", archive, "-C", into],
                          capture_output=True, text=True, check=False)
    if "No space left" in done.stderr:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(into))
    if done.returncode != 0:
        raise NotFetched(f"{archive}: {(done.stderr.strip().splitlines() or ['tar failed'])[0]}")


def extract(archive: Path, into: Path) -> None:
    """Its one folder's contents (or its own, where it has several) into `into`."""
    scratch = into.with_name(into.name + ".unpacked")
    untar(archive, scratch)
    inside = list(scratch.iterdir())
    root = inside[0] if len(inside) == 1 and inside[0].is_dir() else scratch
    into.mkdir(parents=True, exist_ok=True)
    for entry in root.iterdir():
        entry.rename(into / entry.name)
    shutil.rmtree(scratch)


def patch(folder: Path) -> None:
    """Debian's patches, where the package has some."""
    series = folder / "debian/patches/series"
    for line in series.read_text().splitlines() if series.exists() else []:
        name = line.split("#")[0].split()
        if not name:
            continue
        done = subprocess.run(["patch", "-p1", "-f", "-s", "-i", f"debian/patches/{name[0]}"],
                              cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotFetched(f"{name[0]}: does not apply: {done.stdout.strip()[:100]}")


def unpack_debian(files: list[Path], into: Path) -> None:
    archives = [f for f in files if f.name.endswith((".tar.gz", ".tar.xz", ".tar.bz2"))]
    archives.sort(key=lambda f: (".debian.tar" in f.name, ".orig-" in f.name))
    for file in archives:
        component = re.search(r"\.orig-([\w-]+)\.tar", file.name)
        if ".debian.tar" in file.name:
            untar(file, into)
        else:
            extract(file, into / component[1] if component else into)
    patch(into)


def unpack(source: dict, into: Path) -> None:
    kind = source["kind"]
    if kind == "debian":
        unpack_debian(debian(source), into)
    elif kind == "pypi":
        extract(pypi(source), into)
    elif kind == "crate":
        extract(crate(source), into)
    elif kind == "url":
        url = source["url"]
        extract(kept(url.rsplit("/", 1)[-1], source["sha256"], [url]), into)
    else:
        into.mkdir(parents=True)
        git(source, into)


def source(recipe: Recipe, into: Path) -> None:
    """Unpacks the recipe's sources into `into`, which does not exist yet."""
    unpack(recipe.source, into)
    for name, part in recipe.parts.items():
        unpack(part, into / name)
