# SPDX-License-Identifier: MIT
"""Instances: found, fetched, generated, unpacked and looked at.

Whatever the source, the result is a plain file under the campaign's results,
so that no run pays for unpacking, and an `Instance` that says what is known of
it. A file that is no such formula gets its `problem` here and is never run.
"""

from __future__ import annotations

import bz2
import collections
import contextlib
import errno
import fnmatch
import glob
import gzip
import hashlib
import http.client
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from bigleaf_bench import formulas
from bigleaf_bench.build import cache
from bigleaf_bench.campaign import Campaign, InstanceSet
from bigleaf_bench.failure import Lacking, WrongUse

PACKED = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
HERE = Path(__file__).resolve().parent
GENERATORS = next((d for d in (HERE / "generators", HERE.parent / "instances") if d.is_dir()),
                  HERE / "generators")
# What a file of a format must begin with, comments left out.
BEGINNINGS = {"aig": b"aig ", "aag": b"aag "}
FETCH_SECONDS = 60
DAMAGED = (EOFError, lzma.LZMAError, zlib.error)
# Begins the names of what is being written, and of what kill -9 leaves of it.
UNFINISHED = ".unfinished-"


@dataclass(frozen=True)
class Instance:
    """One file that reasoners are run on."""

    set: str
    name: str
    path: Path
    format: str
    family: str
    expected: str = ""
    problem: str = ""
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.set}/{self.name}"


def clear(results: Path) -> None:
    """Away with what was being written when a campaign was killed."""
    wanted = f"{UNFINISHED}*"
    for path in (*results.glob(wanted), *(results / "instances").rglob(wanted)):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)  # it may have been in such a folder


def prepare(campaign: Campaign, folder: Path, say=lambda text: None) -> list[Instance]:
    """All instances of a campaign, in the order of the file."""
    result = []
    for part in campaign.sets:
        say(f"instances: {part.name}")
        target = folder / part.name
        target.mkdir(parents=True, exist_ok=True)
        found = bring(part, campaign.path.parent, target)
        if not found:
            say(f"note: instance set {part.name} is empty here, and left out")
        result += [look_at(part, name, path) for name, path in found.items()]
    return result


def bring(part: InstanceSet, base: Path, target: Path) -> dict[str, Path]:
    """The files of a set by their names."""
    if part.source == "generate":
        lines = [[plain_file(word, base, target) for word in shlex.split(words)]
                 for words in part.arguments or ("",)]
        made = places(part, [words for words in lines
                             if not part.optional or not any(map(is_pattern, words))], target)
        return named([generate(part, words, base, path) for path, words in made.items()])
    found = members(fetch(part), part, target) if part.source == "url" else listed(part, base)
    if not found and not part.optional:
        raise WrongUse(f"instance set {part.name}: no file matches "
                       f"{part.member if part.source == 'url' else ', '.join(part.files)}")
    return {name: unpack(path, target / name) for name, path in named(found).items()}


def named(paths: list[Path]) -> dict[str, Path]:
    """Each file by a name of its own: folders stand before it where others of
    the set are called the same. A file and its packed twin are one."""
    plain: dict[Path, Path] = {}
    for path in paths:
        plain.setdefault(path.with_suffix("") if path.suffix in PACKED else path, path)
    depth = dict.fromkeys(plain, 1)
    while True:
        names = {path: "/".join(path.parts[-depth[path]:]) for path in plain}
        counts = collections.Counter(names.values())
        if not any(counts[name] > 1 for name in names.values()):
            return {name: plain[path] for path, name in names.items()}
        for path, name in names.items():
            depth[path] += counts[name] > 1


def listed(part: InstanceSet, base: Path) -> list[Path]:
    """The files that patterns or a folder name, each once, sorted."""
    found = []
    for pattern in part.files:
        try:
            found += matching(part, base, pattern)
        except (RuntimeError, ValueError) as error:
            raise WrongUse(f"instance set {part.name}: {pattern}: {error}") from None
    return list(dict.fromkeys(found))


def matching(part: InstanceSet, base: Path, pattern: str) -> list[Path]:
    path = (base / Path(os.path.expandvars(pattern)).expanduser()).absolute()
    if part.source == "folder":
        return sorted(p for p in path.rglob("*") if p.is_file()
                      and fnmatch.fnmatch(p.name, part.member))
    if any(c in pattern for c in "*?["):
        return sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    return [path]


def unpack(path: Path, plain: Path) -> Path:
    """The plain file: itself, or what it holds, written once to `plain`."""
    opener = PACKED.get(path.suffix)
    if not opener:
        return path
    plain.parent.mkdir(parents=True, exist_ok=True)
    if plain.exists() and path.exists() and plain.stat().st_mtime >= path.stat().st_mtime:
        return plain
    try:
        with opener(path, "rb") as packed, whole(plain) as out:
            shutil.copyfileobj(packed, out)
    except (OSError, *DAMAGED) as error:
        plain.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise  # no fault of the instance
        # Its problem is found again, and named, where it is looked at.
        return path if not isinstance(error, OSError) or not error.errno else plain
    return plain


@contextlib.contextmanager
def whole(path: Path):
    """A file that is there in full or not at all. Of a link what it points to is
    replaced; what is no ordinary file (a fifo, a device) is never replaced, but
    written to."""
    if path.exists() and not path.is_file():
        try:
            with path.open("wb") as out:
                yield out
        except OSError as error:
            error.filename = error.filename or str(path)
            raise
        return
    path = Path(os.path.realpath(path))
    name = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=UNFINISHED, delete=False) as out:
            name = out.name
            yield out
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException as error:
        if name:
            os.unlink(name)
        if isinstance(error, OSError) and (not name or error.filename in (None, name)):
            error.filename = str(path)
        raise


def generator(name: str) -> list[str]:
    if name == "cnfgen":
        program = shutil.which("cnfgen", path=os.pathsep.join(
            (str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
        if not program:
            raise Lacking("no program cnfgen: pip install cnfgen")
        return [program, "-q"]
    script = GENERATORS / f"{name}.py"
    if not re.fullmatch(r"\w+", name) or not script.exists():
        known = ", ".join(sorted(p.stem for p in GENERATORS.glob("*.py")))
        raise WrongUse(f"no generator '{name}' (there are: cnfgen, {known})")
    return [sys.executable, "-B", str(script)]


def is_pattern(word: str) -> bool:
    return "/" in word and any(c in word for c in "*?[$")


def plain_file(word: str, base: Path, target: Path) -> str:
    """A generator's argument; of a pattern of files the first, unpacked."""
    word = os.path.expandvars(word)
    found = sorted(glob.glob(word, root_dir=base)) if "/" in word else []
    if not found:
        return word
    path = (base / found[0]).absolute()
    # Files of one name in two folders keep apart.
    folder = hashlib.sha256(os.fsencode(path.parent)).hexdigest()[:8]
    return str(unpack(path, target / folder / path.stem))


def called(part: InstanceSet, words: list[str]) -> str:
    """The generator and its arguments, of files the names."""
    return " ".join([part.files[0], *(Path(word).name for word in words)])


def places(part: InstanceSet, lines: list[list[str]], target: Path) -> dict[Path, list[str]]:
    """Where the instance of each line of arguments goes."""
    result: dict[Path, list[str]] = {}
    for words in lines:
        label = re.sub(r"[^A-Za-z0-9.]+", "_", called(part, words)).strip("_")
        path = target / f"{label}.{part.format or 'cnf'}"
        if result.setdefault(path, words) != words:
            raise WrongUse(f"instance set {part.name}: '{shlex.join(result[path])}' and "
                           f"'{shlex.join(words)}' would both be {path.name}; give one of them "
                           "a set of its own")
    return result


def generate(part: InstanceSet, words: list[str], base: Path, path: Path) -> Path:
    """One instance by one line of arguments."""
    if path.exists():
        return path
    name = part.files[0]
    with whole(path) as out:
        done = subprocess.run([*generator(name), *words], stdout=out, cwd=base,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise WrongUse(f"instance set {part.name}: {called(part, words)}: {last}")
    return path


def file_of(url: str) -> str:
    """The name of what is behind it: "a.tar.gz" of "https://h/a.tar.gz?download=1"."""
    plain = urllib.parse.unquote(re.split("[?#]", url)[0])
    return plain.rstrip("/").split("/")[-1] or "file"


def fetch(part: InstanceSet) -> Path:
    """The file behind the URL, checked, from the cache where it is there."""
    path = cache.root() / "instances" / part.sha256 / file_of(part.url)
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(part.url, timeout=FETCH_SECONDS) as source, whole(path) as out:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
                out.write(chunk)
            if digest.hexdigest() != part.sha256:
                raise WrongUse(f"{part.url}: SHA-256 is {digest.hexdigest()}, "
                               f"the campaign says {part.sha256}")
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Lacking(f"{part.url}: {getattr(error, 'reason', error)}") from None
    return path


def members(path: Path, part: InstanceSet, target: Path) -> list[Path]:
    """Of an archive the files that the set wants; else the file itself."""
    formats = [e for _, es, _ in shutil.get_unpack_formats() for e in es]
    if not any(path.name.endswith(e) for e in formats):
        return [path]
    folder = target / "archive"
    if not folder.exists():
        unfinished = tempfile.mkdtemp(dir=target, prefix=UNFINISHED)
        # Python 3.11.4 and later refuse what leads out of the folder; before,
        # the checksum must do.
        safe = hasattr(tarfile, "data_filter") and path.suffix != ".zip"
        try:
            shutil.unpack_archive(path, unfinished, **({"filter": "data"} if safe else {}))
        except (shutil.ReadError, tarfile.TarError, *DAMAGED) as error:
            raise WrongUse(f"{part.url}: no archive that can be unpacked: {error}") from None
        os.replace(unfinished, folder)
    return sorted(p for p in folder.rglob("*") if p.is_file()
                  and fnmatch.fnmatch(p.relative_to(folder), part.member))


def look_at(part: InstanceSet, name: str, path: Path) -> Instance:
    kind = part.format or path.suffix.lstrip(".")
    expected = next((a for pattern, a in part.answers.items()
                     if fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(path.name, pattern)), "")
    return Instance(part.name, name, path, kind, part.family or part.name, expected,
                    problem(path, kind), part.parameters)


def problem(path: Path, kind: str) -> str:
    """Why this file cannot be run on; nothing when it can."""
    try:
        if path.suffix in PACKED:
            return f"cannot be unpacked as {path.suffix}"
        if not path.stat().st_size:
            return "is empty"
        if kind in ("cnf", "wcnf"):
            formulas.read(path)
        with path.open("rb") as file:
            if not file.read(64).startswith(BEGINNINGS.get(kind, b"")):
                return f"does not begin with '{BEGINNINGS[kind].decode().strip()}'"
    except OSError as error:
        return error.strerror or str(error)
    except formulas.Broken as error:
        return str(error)
    return ""
