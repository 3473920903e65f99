# SPDX-License-Identifier: MIT
"""The reasoners: one row each, and how a row becomes a command.

A row has one or more forms, the wanted program first; a later form stands in
where the first is missing, and says so in every table. Words of a form are
templates: {instance}, {answer} (a file for the answer), {proof}, {seconds},
{memory_mib}, {options} (a word of its own: all of the campaign's options), and
the parameters of the instance set with the defaults given here.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

CNF = ("cnf",)
# What `execute` fills in, besides the tool's defaults and the set's parameters.
FILLED_IN = ("instance", "answer", "proof", "seconds", "memory_mib")
# Of programs that `bigleaf bench build --into` made, the ordinary ones.
PLAIN = "-plain"
# Python's packages that are named otherwise than their modules.
PACKAGES = {"pysat": "python-sat"}
# A program that does not know --version may do anything.
VERSION_SECONDS = 5
MOST_VERSION = 4096


@dataclass(frozen=True)
class Form:
    """A program that can do the tool's work, and its words."""

    program: str
    words: tuple[str, ...]
    proof: tuple[str, ...] = ()
    module: str = ""
    stands_in: str = ""
    version: str = "--version"


@dataclass(frozen=True)
class Tool:
    """A row of the table; `reader` names a function of `answers`."""

    name: str
    category: str
    formats: tuple[str, ...]
    reader: str
    forms: tuple[Form, ...]
    defaults: dict[str, str] = field(default_factory=dict)
    adapter: object = None


@dataclass(frozen=True)
class Found:
    """A form on this machine: the path of its program."""

    form: Form
    path: str

    def words(self, templates: tuple[str, ...], values: dict[str, str],
              options: tuple[str, ...]) -> list[str]:
        result = [self.path]
        for word in templates:
            if word == "{options}":
                result += [o.format_map(values) for o in options]
            else:
                result.append(word.format_map(values))
        return result


def native(program: str, *words: str, proof: tuple[str, ...] = (), stands_in: str = "",
           version: str = "--version") -> Form:
    return Form(program, words, proof, stands_in=stands_in, version=version)


def python(module: str, *words: str, needs: str = "pysat", stands_in: str = "") -> Form:
    """A reasoner of ours around a library; runs in this interpreter."""
    return Form(sys.executable, ("-m", f"bigleaf_bench.reasoners.{module}", *words),
                module=needs, stands_in=stands_in)


def in_pysat(name: str, proof: bool = False) -> Form:
    # Python-SAT brings the solver's sources as a library: the same search,
    # read through Python.
    with_proof = ("-m", "bigleaf_bench.reasoners.sat", name, "{instance}", "{proof}")
    return Form(sys.executable, ("-m", "bigleaf_bench.reasoners.sat", name, "{instance}"),
                with_proof if proof else (), "pysat", f"{name} of Python-SAT")


def sat(name: str, *forms: Form) -> Tool:
    return Tool(name, "SAT", CNF, "competition", forms)


ROWS = (
    sat("minisat", native("minisat", "-verb=0", "{options}", "{instance}", "{answer}",
                          version=""), in_pysat("minisat22")),
    sat("mergesat", native("mergesat", "{options}", "{instance}", "{answer}"),
        in_pysat("mergesat3")),
    sat("cadical", native("cadical", "-q", "{options}", "{instance}",
                          proof=("-q", "-n", "--no-binary", "{options}", "{instance}", "{proof}")),
        in_pysat("cadical195")),
    sat("glucose", native("glucose", "-model", "{options}", "{instance}",
                          proof=("-certified", "-certified-output={proof}", "{options}",
                                 "{instance}")),
        in_pysat("glucose42", proof=True)),
    sat("cryptominisat", native("cryptominisat5", "--verb=0", "{options}", "{instance}"),
        in_pysat("cryptosat")),
    sat("lingeling", native("lingeling", "-q", "{options}", "{instance}"),
        in_pysat("lingeling", proof=True)),
    sat("maplechrono", native("maplechrono", "-model", "{options}", "{instance}"),
        native("maplelcm", "-model", "{options}", "{instance}", stands_in="MapleLCMDistChronoBT"),
        in_pysat("maplechrono", proof=True)),
    sat("kissat", native("kissat", "-q", "{options}", "{instance}",
                         proof=("-q", "-n", "--no-binary", "{options}", "{instance}", "{proof}")),
        in_pysat("kissat404")),
    sat("picosat", native("picosat", "{options}", "{instance}")),
    Tool("clasp", "ASP", ("sm", "aspif"), "asp",
         (native("clasp", "{options}", "{instance}"),)),
    Tool("clingo", "ASP", ("lp",), "asp", (native("clingo", "{options}", "{instance}"),)),
    Tool("open-wbo", "MaxSAT", ("wcnf", "cnf"), "maxsat",
         (native("open-wbo", "{options}", "{instance}"),
          python("maxsat", "{instance}", stands_in="RC2 of Python-SAT"))),
    Tool("rc2", "MaxSAT", ("wcnf", "cnf"), "maxsat", (python("maxsat", "{instance}"),)),
    Tool("muser2", "MUS", CNF, "mus",
         (native("muser2", "-comp", "-w", "{options}", "{instance}"),
          python("mus", "{instance}", stands_in="MUSX of Python-SAT"))),
    Tool("musx", "MUS", CNF, "mus", (python("mus", "{instance}"),)),
    Tool("picomus", "MUS", CNF, "mus", (native("picomus", "{options}", "{instance}"),)),
    Tool("bmc3", "HWMC", ("aig",), "abc",
         (native("berkeley-abc", "-c", "read_aiger {instance}; fold; bmc3 -F {bound}",
                 version=""),), {"bound": "100"}),
    Tool("aigbmc", "HWMC", ("aig", "aag"), "aiger",
         (native("aigbmc", "{options}", "{instance}", "{bound}"),
          native("berkeley-abc", "-c", "read_aiger {instance}; fold; bmc3 -F {bound}",
                 stands_in="bmc3 of ABC", version="")), {"bound": "100"}),
    Tool("btormc", "HWMC", ("btor", "btor2"), "btor",
         (native("btormc", "-kmax", "{bound}", "{options}", "{instance}"),), {"bound": "20"}),
    Tool("cbmc", "SWMC", ("c",), "cbmc",
         (native("cbmc", "--unwind", "{bound}", "{options}", "{instance}"),), {"bound": "10"}),
    Tool("z3", "SMT", ("smt2",), "smt", (native("z3", "{options}", "{instance}"),)),
    Tool("cvc5", "SMT", ("smt2",), "smt", (native("cvc5", "{options}", "{instance}"),)),
    Tool("bitwuzla", "SMT", ("smt2", "btor2"), "smt",
         (native("bitwuzla", "{options}", "{instance}"),
          python("smt", "{instance}", needs="bitwuzla", stands_in="Bitwuzla's Python package"))),
    Tool("boolector", "SMT", ("smt2", "btor"), "smt",
         (native("boolector", "{options}", "{instance}"),)),
    Tool("swipl", "LP", ("pl",), "goal",
         (native("swipl", "{options}", "-g", "{goal}", "-t", "halt", "{instance}"),),
         {"goal": "main"}),
    Tool("leaflog", "LP", ("pl",), "goal",
         (native("leaflog", "{options}", "-g", "{goal}", "{instance}"),), {"goal": "main"}),
)
TOOLS = {tool.name: tool for tool in ROWS}


def search_path(extra: tuple[str, ...]) -> str:
    """Folders of a variant first, then this package's `bin`, then PATH."""
    ours = os.environ.get("BIGLEAF_BENCH_PATH", "")
    return os.pathsep.join(filter(None, (*extra, ours, os.environ.get("PATH", os.defpath))))


def on_path(program: str, path: str) -> str | None:
    """Where it is, from any folder: runs begin in one of their own."""
    found = shutil.which(program, path=path)
    return os.path.abspath(found) if found else None


def find(tool: Tool, extra: tuple[str, ...] = (), executable: str | None = None,
         suffix: str = "") -> Found | None:
    """The first form of `tool` that can run here. With a suffix only programs
    that were built for a variant count: cadical-thp for cadical."""
    path = search_path(extra)
    if executable:
        found = on_path(executable + suffix, path)
        return Found(tool.forms[0], found) if found else None
    for form in tool.forms:
        if suffix and form.module:
            continue
        found = on_path(form.program + suffix, path)
        if not found and not suffix and not form.module:
            found = on_path(form.program + PLAIN, path)
        if found and (not form.module or importlib.util.find_spec(form.module)):
            return Found(form, found)
    return None


def version(found: Found, adapter: object = None) -> str:
    """The first line that the program says of its version; of a tool-info
    module what this makes of it."""
    if adapter:
        return adapter.version(found.path)[:80]
    if found.form.module:
        package = PACKAGES.get(found.form.module, found.form.module)
        return f"{found.form.module} {importlib.metadata.version(package)}"
    if not found.form.version:
        return package_version(found.path)
    command = ["timeout", str(VERSION_SECONDS), found.path, found.form.version]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        said = process.stdout.read(MOST_VERSION).decode("utf-8", "replace")
        process.terminate()
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[0][:80] if lines else package_version(found.path)


def package_version(path: str) -> str:
    """Of the Debian package that owns the file, where one does."""
    try:
        owner = subprocess.run(["dpkg-query", "-S", str(Path(path).resolve())],
                               capture_output=True, text=True, timeout=20, check=True)
        package = owner.stdout.split(":")[0]
        done = subprocess.run(["dpkg-query", "-W", package], capture_output=True, text=True,
                              timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip().replace("\t", " ")


def benchexec_tool(name: str, wrong) -> Tool:
    """A tool by its tool-info module of BenchExec."""
    try:
        module = importlib.import_module(f"benchexec.tools.{name}")
    except ImportError:
        raise wrong("use", f"BenchExec has no tool-info module '{name}'") from None
    from benchexec.tooladapter import CURRENT_BASETOOL, adapt_to_current_version
    from benchexec.tools.template import ToolNotFoundException

    adapter = adapt_to_current_version(module.Tool())
    locator = CURRENT_BASETOOL.ToolLocator(use_path=True, use_current=True)
    try:
        program = os.path.abspath(adapter.executable(locator))
    except ToolNotFoundException:
        program = name
    return Tool(name, adapter.name(), (), "benchexec", (Form(program, ()),), adapter=adapter)
