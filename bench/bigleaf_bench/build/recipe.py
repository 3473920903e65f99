# SPDX-License-Identifier: MIT
"""Recipes: one TOML file per reasoner in solvers/.

    summary = "what it is"
    tested = true                     # false: its source could not be had where we test
    needs = ["cmd:cmake", ...]        # what the build needs of the machine, by package below

    [source]                          # see `fetch`
    kind = "debian"
    ...

    [parts.NAME]                      # further sources, each in a folder of its name
    kind = "crate"
    ...

    [build]
    steps = ["make", ...]             # shell, in the unpacked source; $CC, $CXX, $JOBS
    programs = ["build/minisat"]      # what is kept

    [[smoke]]                         # each must answer as said
    words = ["minisat", "{sat.cnf}"]  # the first: a program; {NAME}: a file of solvers/smoke
    status = 10
    says = "SATISFIABLE"              # a regular expression on standard output

    [table]                           # for `--table`; may be left out
    words = ["minisat", "{file}"]
    takes = ["cnf"]                   # what the names of its files end in
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bigleaf_bench.build import shipped
from bigleaf_bench.failure import Lacking, WrongUse

KINDS = {
    "debian": {"package", "version"},
    "pypi": {"package", "version", "sha256"},
    "crate": {"package", "version", "sha256"},
    "url": {"url", "sha256"},
    "git": {"url", "commit"},
}
NAMES = {str: "text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}


@dataclass(frozen=True)
class Smoke:
    """A run that shows that a program works."""

    words: tuple[str, ...]
    status: int
    says: str


@dataclass(frozen=True)
class Recipe:
    """One recipe."""

    name: str
    summary: str
    tested: bool
    needs: tuple[str, ...]
    source: dict
    parts: dict[str, dict]
    steps: tuple[str, ...]
    programs: tuple[str, ...]
    smoke: tuple[Smoke, ...]
    table: tuple[str, ...]
    takes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Of what decides about the programs: for the cache's key."""
        parts = (self.source, self.parts, self.steps, self.programs,
                 [(s.words, s.status, s.says) for s in self.smoke])
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def folder() -> Path:
    """solvers/, or what BIGLEAF_SOLVERS names."""
    named = os.environ.get("BIGLEAF_SOLVERS")
    place = Path(named) if named else shipped.find(
        "solvers", instead=", or name the sources' solvers/ in BIGLEAF_SOLVERS")
    if not (place / "smoke").is_dir():
        raise Lacking(f"{place}: no recipes here; name their folder in BIGLEAF_SOLVERS")
    return place


def names() -> list[str]:
    return sorted(file.stem for file in folder().glob("*.toml"))


def load(name: str) -> Recipe:
    file = folder() / f"{name}.toml"
    if not file.exists():
        raise WrongUse(f"{name}: there is no such recipe; bigleaf-bench build --list names all")
    try:
        return parse(name, file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise WrongUse(f"{file}: is no UTF-8 text") from None
    except ValueError as error:  # of tomllib too
        raise WrongUse(f"{file}: {error}") from None


def take(table: dict, where: str, key: str, kind: type, default=None):
    """The value of `key`, which must be of `kind`; `where` stands before its name."""
    value = table.get(key, default)
    if value is None:
        raise ValueError(f"{where}{key} is missing")
    if type(value) is not kind:
        raise ValueError(f"{where}{key} must be {NAMES[kind]}")
    return value


def texts(table: dict, where: str, key: str, default: list | None = None) -> tuple[str, ...]:
    value = take(table, where, key, list, default)
    if not all(isinstance(word, str) for word in value):
        raise ValueError(f"{where}{key} must be a list of texts")
    return tuple(value)


def check_source(where: str, source: dict) -> dict:
    kind = source.get("kind")
    if kind not in KINDS:
        raise ValueError(f"{where}.kind must be one of {', '.join(KINDS)}")
    wanted = set(KINDS[kind])
    if kind == "debian" and "files" in source:
        files = take(source, f"{where}.", "files", dict)
        for name in files:
            take(files, f"{where}.files.", name, str)
    elif kind == "debian":
        wanted.add("sha256")
    for key in sorted(wanted):
        take(source, f"{where}.", key, str)
    return source


def read_smoke(number: int, table: object) -> Smoke:
    where = f"smoke[{number}]"
    if not isinstance(table, dict):
        raise ValueError(f"{where} must be a table")
    return Smoke(texts(table, f"{where}.", "words"), take(table, f"{where}.", "status", int),
                 take(table, f"{where}.", "says", str, ""))


def parse(name: str, text: str) -> Recipe:
    top = tomllib.loads(text)
    source = check_source("source", take(top, "", "source", dict))
    parts = take(top, "", "parts", dict, {})
    for part in parts:
        check_source(f"parts.{part}", take(parts, "parts.", part, dict))
    smoke = tuple(read_smoke(i, s) for i, s in enumerate(take(top, "", "smoke", list, []), 1))
    if not smoke:
        raise ValueError("a recipe needs a [[smoke]] test")
    build = take(top, "", "build", dict)
    table = take(top, "", "table", dict, {})
    if ("words" in table) != ("takes" in table):
        raise ValueError("table needs words and takes")
    return Recipe(name, take(top, "", "summary", str), take(top, "", "tested", bool, True),
                  texts(top, "", "needs", []), source, parts, texts(build, "build.", "steps"),
                  texts(build, "build.", "programs"), smoke, texts(table, "table.", "words", []),
                  texts(table, "table.", "takes", []))
