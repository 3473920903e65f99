# SPDX-License-Identifier: MIT
"""The campaign file: TOML in, checked dataclasses out.

Everything that can be wrong with a file is found here, before anything runs,
and named with the file and the place in it.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from bigleaf_bench import answers, variants
from bigleaf_bench.failure import WrongUse
from bigleaf_bench.tools import FILLED_IN, TOOLS, Tool, benchexec_tool
from bigleaf_bench.variants import Variant

UNITS = {"": 1, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30,
         "KB": 10**3, "MB": 10**6, "GB": 10**9}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]I?B)?", re.IGNORECASE)
LEAST_MEMORY, MOST_MEMORY = 2**20, 2**60
MOST_SECONDS = 1e8  # three years
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
SOURCES = ("files", "folder", "url", "generate")


@dataclass(frozen=True)
class Limits:
    """What a single run may use."""

    seconds: float = 60.0
    memory: int | None = 4 * 2**30
    cores: int = 1


@dataclass(frozen=True)
class ToolUse:
    """A tool as this campaign uses it; `name` is its label in the tables."""

    name: str
    tool: Tool
    sets: tuple[str, ...]
    options: tuple[str, ...] = ()
    executable: str | None = None
    category: str = ""


@dataclass(frozen=True)
class InstanceSet:
    """Where instances come from, and what is known of them."""

    name: str
    source: str
    files: tuple[str, ...] = ()
    url: str = ""
    sha256: str = ""
    member: str = "*"
    arguments: tuple[str, ...] = ()
    format: str = ""
    family: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    optional: bool = False


@dataclass(frozen=True)
class Checks:
    """Which answers are checked beyond agreement."""

    models: bool = True
    proofs: bool = False
    proof_seconds: float = 600.0


@dataclass(frozen=True)
class Tlb:
    """Misses counted in runs of their own by `bigleaf tlb`."""

    arguments: tuple[str, ...] = ()
    seconds: float = 3600.0
    per_tool: int = 0


@dataclass(frozen=True)
class Campaign:
    """All of a campaign file."""

    name: str
    path: Path
    seed: int
    repetitions: int
    time: str
    isolation: str
    limits: Limits
    checks: Checks
    tlb: Tlb | None
    tools: tuple[ToolUse, ...]
    sets: tuple[InstanceSet, ...]
    variants: tuple[Variant, ...]


class Table:
    """A TOML table that knows its place, for messages, and what was read."""

    def __init__(self, path: Path, place: str, values: object):
        self.path, self.place = path, place
        if not isinstance(values, dict):
            raise WrongUse(f"{path}: {place}: a table is expected here")
        self.values, self.read = values, set()

    def wrong(self, key: str, text: str) -> WrongUse:
        where = ".".join(filter(None, (self.place, key)))
        return WrongUse(f"{self.path}: {where}: {text}")

    def take(self, key: str, kinds, default=None):
        """The value of `key`, which must be one of `kinds`."""
        self.read.add(key)
        if key not in self.values:
            if default is None:
                raise self.wrong(key, "is missing")
            return default
        value = self.values[key]
        if isinstance(value, bool) and kinds is not bool or not isinstance(value, kinds):
            wanted = kinds if isinstance(kinds, tuple) else (kinds,)
            raise self.wrong(key, "must be " + " or ".join(
                {str: "text", int: "a whole number", float: "a number", list: "a list",
                 dict: "a table", bool: "true or false"}[k] for k in wanted))
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key, (str, list), [])
        value = [value] if isinstance(value, str) else value
        if not all(is_plain(v) for v in value):
            raise self.wrong(key, "must be a list of texts")
        return tuple(str(v) for v in value)

    def mapping(self, key: str) -> dict[str, str]:
        found = self.take(key, dict, {})
        for name, value in found.items():
            if not is_plain(value):
                raise self.wrong(f"{key}.'{name}'", "must be text or a number")
        return {k: str(v) for k, v in found.items()}

    def answers(self) -> dict[str, str]:
        """Patterns of instances, and answers that a reader could give."""
        found = self.mapping("answers")
        for pattern, answer in found.items():
            if not answers.EXPECTED.fullmatch(answer):
                known = ", ".join(answers.KNOWN)
                raise self.wrong(f"answers.'{pattern}'", f"'{answer}' is no answer; there are "
                                 f"{known}{near(answer.lower(), answers.KNOWN)}")
        return found

    def number(self, key: str, default: float, least: float, most: float) -> float:
        value = self.take(key, (int, float), default)
        if not least <= value <= most:  # nan is neither
            raise self.wrong(key, f"must be at least {least:g} and at most {most:g}")
        return value

    def count(self, key: str, default: int, least: int) -> int:
        value = self.take(key, int, default)
        if value < least:
            raise self.wrong(key, f"must be at least {least}")
        return value

    def choice(self, key: str, choices, default: str) -> str:
        value = self.take(key, str, default)
        if value not in choices:
            known = ", ".join(choices)
            raise self.wrong(key, f"'{value}' is none of {known}{near(value, choices)}")
        return value

    def name(self, default: str | None = None) -> str:
        name = self.take("name", str, default)
        if not NAME.fullmatch(name):
            raise self.wrong("name", f"'{name}' must be made of letters, digits and _.+-")
        return name

    def done(self) -> None:
        """Nothing may stand here that nobody read."""
        for key in self.values:
            if key not in self.read:
                raise self.wrong(key, f"no such key{near(key, self.read)}")


def is_plain(value: object) -> bool:
    """Text, or a number that stands for its text."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def near(word: str, known) -> str:
    found = difflib.get_close_matches(word, list(known), 1)
    return f" (did you mean {found[0]}?)" if found else ""


def size(table: Table, key: str, default: int) -> int | None:
    """Bytes of "4 GiB" or a number; None for "none"."""
    value = table.take(key, (str, int), default)
    if value == "none":
        return None
    match = SIZE.fullmatch(str(value).strip())
    if not match:
        raise table.wrong(key, f"'{value}' is no size such as \"4 GiB\"")
    found = float(match[1]) * UNITS[(match[2] or "").upper()]
    if not LEAST_MEMORY <= found <= MOST_MEMORY:
        raise table.wrong(key, f"'{value}' must be at least 1 MiB and at most 1 EiB")
    return int(found)


def check_options(table: Table, use: ToolUse, sets: dict[str, InstanceSet]) -> None:
    """Options are templates; not those of BenchExec's modules."""
    for part in (sets[name] for name in use.sets if not use.tool.adapter):
        known = {**use.tool.defaults, **part.parameters, **dict.fromkeys(FILLED_IN, "0")}
        for option in use.options:
            try:
                option.format_map(known)
            except (KeyError, ValueError, IndexError, AttributeError, TypeError):
                raise table.wrong("options", f"'{option}' may name in braces only "
                                  f"{', '.join(known)}; a brace itself is {{{{ or }}}}") from None


def read_tool(table: Table, sets: dict[str, InstanceSet]) -> ToolUse:
    use = table.take("use", str)
    if use.startswith("benchexec:"):
        tool = benchexec_tool(use.removeprefix("benchexec:"), table.wrong)
    elif use not in TOOLS:
        raise table.wrong("use", f"no tool '{use}'{near(use, TOOLS)}; "
                          "bigleaf-bench tools lists them")
    else:
        tool = TOOLS[use]
    chosen = table.texts("sets")
    if not chosen:
        raise table.wrong("sets", "is missing: which instances?")
    for name in chosen:
        if name not in sets:
            raise table.wrong("sets", f"no instance set '{name}'{near(name, sets)}")
    result = ToolUse(table.name(tool.name), tool, chosen, table.texts("options"),
                     program(table, "executable"),
                     table.take("category", str, tool.category))
    check_options(table, result, sets)
    table.done()
    return result


def program(table: Table, key: str) -> str | None:
    """A name on PATH, or a file as seen from the campaign's."""
    name = os.path.expanduser(os.path.expandvars(table.take(key, str, "")))
    return os.path.abspath(table.path.parent / name) if "/" in name else name or None


def check_words(table: Table, lines: tuple[str, ...]) -> None:
    for line in lines:
        try:
            shlex.split(line)
        except ValueError as error:
            raise table.wrong("arguments", f"'{line}': {error}") from None


def read_set(table: Table) -> InstanceSet:
    present = [s for s in SOURCES if s in table.values]
    if len(present) != 1:
        raise table.wrong("", "needs exactly one of " + ", ".join(SOURCES))
    source = present[0]
    files = table.texts("files") if source == "files" else (table.take(source, str),)
    if not all(files) or not files:
        raise table.wrong(source, "must not be empty")
    result = InstanceSet(
        table.name(), source, files, table.take("url", str, ""),
        table.take("sha256", str, "").lower(), table.take("member", str, "*"),
        table.texts("arguments"), table.take("format", str, ""),
        table.take("family", str, ""), table.answers(), table.mapping("parameters"),
        table.take("optional", bool, False))
    if source == "url" and not re.fullmatch("[0-9a-f]{64}", result.sha256):
        raise table.wrong("sha256", "a set with a url needs the archive's SHA-256")
    check_words(table, result.arguments)
    table.done()
    return result


def unique(path: Path, kind: str, things) -> None:
    seen = set()
    for thing in things:
        if thing.name in seen:
            raise WrongUse(f"{path}: {kind}: '{thing.name}' stands there twice")
        seen.add(thing.name)


def tables(top: Table, key: str) -> list[Table]:
    values = top.take(key, list, [])
    if not values:
        raise top.wrong(key, f"needs at least one [[{key}]]")
    return [Table(top.path, f"{key}[{i + 1}]", v) for i, v in enumerate(values)]


def read_limits(top: Table) -> Limits:
    table = Table(top.path, "limits", top.take("limits", dict, {}))
    limits = Limits(table.number("seconds", 60.0, 0.1, MOST_SECONDS),
                    size(table, "memory", 4 * 2**30), table.count("cores", 1, 1))
    table.done()
    return limits


def read_checks(top: Table) -> Checks:
    table = Table(top.path, "checks", top.take("checks", dict, {}))
    checks = Checks(table.take("models", bool, True), table.take("proofs", bool, False),
                    table.number("proof_seconds", 600.0, 1, MOST_SECONDS))
    table.done()
    return checks


def read_tlb(top: Table) -> Tlb | None:
    if "tlb" not in top.values:
        return None
    table = Table(top.path, "tlb", top.take("tlb", dict))
    tlb = Tlb(table.texts("arguments"), table.number("seconds", 3600.0, 1, MOST_SECONDS),
              table.count("per_tool", 0, 0))
    table.done()
    return tlb


def parse(path: Path, text: str) -> Campaign:
    """The campaign in `text`; `path` is for messages and relative files."""
    try:
        top = Table(path, "", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{path}: no TOML: {error}") from None
    sets = [read_set(t) for t in tables(top, "instances")]
    unique(path, "instances", sets)
    tools = [read_tool(t, {s.name: s for s in sets}) for t in tables(top, "tools")]
    unique(path, "tools", tools)
    chosen = [variants.read(t, path.parent) for t in tables(top, "variants")]
    unique(path, "variants", chosen)
    result = Campaign(
        top.name(path.stem), path,
        top.count("seed", 1, 0), top.count("repetitions", 1, 1),
        top.choice("time", ("cpu", "wall"), "cpu"),
        top.choice("isolation", ("auto", "container", "none"), "auto"),
        read_limits(top), read_checks(top), read_tlb(top),
        tuple(tools), tuple(sets), tuple(chosen))
    top.done()
    return result


def load(path: Path) -> Campaign:
    try:
        return parse(path, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUse(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise WrongUse(f"{path}: is no UTF-8 text") from None
