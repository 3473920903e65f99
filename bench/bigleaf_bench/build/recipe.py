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
    text = file.read_text(encoding="utf-8")
    try:
        return parse(name, text)
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{file}: {error}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise WrongUse(f"{file}: {error}") from None


def check_source(where: str, source: dict) -> dict:
    kind = source.get("kind")
    if kind not in KINDS:
        raise ValueError(f"{where}.kind must be one of {', '.join(KINDS)}")
    missing = KINDS[kind] - set(source)
    if kind == "debian" and "files" not in source:
        missing |= {"sha256"} - set(source)
    if missing:
        raise ValueError(f"{where}.{min(missing)} is missing")
    return source


def parse(name: str, text: str) -> Recipe:
    top = tomllib.loads(text)
    source = check_source("source", top["source"])
    parts = {part: check_source(f"parts.{part}", table)
             for part, table in top.get("parts", {}).items()}
    smoke = tuple(Smoke(tuple(s["words"]), s["status"], s.get("says", ""))
                  for s in top.get("smoke", []))
    if not smoke:
        raise ValueError("a recipe needs a [[smoke]] test")
    table = top.get("table", {})
    if ("words" in table) != ("takes" in table):
        raise ValueError("table needs words and takes")
    return Recipe(name, top["summary"], top.get("tested", True), tuple(top.get("needs", ())),
                  source, parts, tuple(top["build"]["steps"]), tuple(top["build"]["programs"]),
                  smoke, tuple(table.get("words", ())), tuple(table.get("takes", ())))
