# SPDX-License-Identifier: MIT
"""The command line of `bigleaf-bench`.

A module of the package is imported when its subcommand runs: `--help` needs
nothing but Python.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import sys
import tempfile
import traceback
from pathlib import Path

from bigleaf_bench import __version__
from bigleaf_bench.failure import Failure, Interrupted, Lacking, WrongUse

FAULT = 70
FORMATS = ("text", "csv", "latex")
KINDS = ("cactus", "scatter", "footprint", "families")


def say(text: str) -> None:
    print(f"== {text}", file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="bigleaf-bench", description="Campaigns over automated reasoners, with and without "
        "huge pages: runs, checks, tables, plots.",
        epilog="Exit status: 0; 1 a wrong answer; 2 wrong usage; 3 the machine lacks something; "
               "70 a fault of ours; 130 interrupted, to be resumed.")
    top.add_argument("--version", action="version", version=f"bigleaf-bench {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    add_run(commands)
    tables = add(commands, "tables", "the tables of the papers, or all runs", run_tables)
    tables.add_argument("kind", choices=("paper", "variants", "runs"), help="paper: Tables 2 "
                        "and 3; variants: each beside the base; runs: every pair")
    add_results(tables)
    tables.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    plot = add(commands, "plot", "plots as SVG and PNG", run_plot)
    add_results(plot)
    plot.add_argument("--kind", choices=KINDS, action="append", help="default: all of them")
    plot.add_argument("--output", type=Path, metavar="DIR", help="default: plots in the results")
    report = add(commands, "report", "one self-contained HTML page", run_report)
    add_results(report)
    report.add_argument("--output", type=Path, metavar="FILE",
                        help="default: report.html in the results")
    export = add(commands, "export", "results as BenchExec's result XML", run_export)
    add_results(export)
    add(commands, "tools", "which reasoners are here, and what stands in", run_tools)
    if importlib.util.find_spec("bigleaf_bench.build"):
        from bigleaf_bench import build

        part = add(commands, "build", "build reasoners from source", build.main)
        build.add_arguments(part)
    return top


def add(commands, name: str, text: str, main) -> argparse.ArgumentParser:
    result = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    result.set_defaults(main=main)
    return result


def add_run(commands) -> None:
    run = add(commands, "run", "run a campaign, or go on with it", run_campaign)
    run.add_argument("campaign", type=Path, metavar="CAMPAIGN.toml")
    run.add_argument("--output", type=Path, metavar="DIR",
                     help="the folder of results (default: NAME.results)")
    run.add_argument("--executor", choices=("local", "slurm"), default="local",
                     help="where runs run (default: local)")
    run.add_argument("--workers", type=int, default=1, metavar="N",
                     help="runs at a time; each has cores of its own (default: 1)")
    run.add_argument("--only", action="append", default=[], metavar="TOOL",
                     help="only this tool; may be repeated")
    run.add_argument("--slurm", action="append", default=[], metavar="NAME=VALUE",
                     help="a parameter for sbatch, such as partition=long; may be repeated")
    run.add_argument("--keep-going", action="store_true",
                     help="do not stop at a wrong answer")
    run.add_argument("--plain", action="store_true", help="plain lines instead of a bar")
    run.add_argument("--no-report", action="store_true",
                     help="measure only; tables, report and result XML are made later")
    run.add_argument("--dry-run", action="store_true",
                     help="check the file, name all runs in their order, run nothing")


def add_results(part: argparse.ArgumentParser) -> None:
    part.add_argument("results", type=Path, metavar="RESULTS", help="a folder of results")
    part.add_argument("--base", metavar="VARIANT", help="compare with this (default: the base)")
    part.add_argument("--huge", metavar="VARIANT",
                      help="what is compared (default: the first that is not base)")


def run_campaign(arguments) -> int:
    from bigleaf_bench import campaign as campaigns
    from bigleaf_bench import conduct, stop

    stop.as_interrupts()
    campaign = campaigns.load(arguments.campaign)
    if arguments.workers < 1:
        raise WrongUse("--workers: must be at least 1")
    options = conduct.Options(
        arguments.output or Path(f"{campaign.name}.results"), arguments.workers,
        arguments.executor, arguments.plain, arguments.keep_going, tuple(arguments.only),
        tuple(arguments.slurm))
    if arguments.dry_run:
        return dry_run(campaign, options)
    records = conduct.run(campaign, options, say)
    if not arguments.no_report:
        conclude(options.folder)
    conduct.need_one_that_ran(records)
    return 0


def dry_run(campaign, options) -> int:
    from bigleaf_bench import conduct, instances, schedule

    campaign, folder = conduct.only(campaign, options.only), options.folder.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        # Instances that are there serve; what is measured is not written to.
        place = folder if conduct.is_of(campaign, folder) else Path(scratch)
        found = instances.prepare(campaign, place / "instances", say)
        for block in schedule.blocks(campaign, found):
            for job in block:
                problem = f"  ({job.instance.problem})" if job.instance.problem else ""
                print(f"{job.key}{problem}")
    return 0


def conclude(folder: Path) -> None:
    """Tables on the terminal, the rest as files."""
    from bigleaf_bench import report, resultxml, tables
    from bigleaf_bench.records import Results

    results = Results.load(folder)
    resultxml.export(results, folder)
    path = report.write(results, folder / "report.html")
    print(tables.paper(results, "text"))
    if len(results.campaign.variants) > 2:
        print(f"\n{tables.variants(results)}\n")
    print(f"report: {path}")


def load(arguments):
    from bigleaf_bench.records import Results

    return Results.load(arguments.results, arguments.base, arguments.huge)


def run_tables(arguments) -> int:
    from bigleaf_bench import tables

    make = {"paper": tables.paper, "variants": tables.variants, "runs": tables.runs}
    results = load(arguments)
    print(make[arguments.kind](results, arguments.format))
    if (arguments.kind, arguments.format) == ("paper", "csv"):  # which has no place for them
        for remark in tables.remarks(results):
            say(remark)
    return 0


def run_plot(arguments) -> int:
    from bigleaf_bench import plots

    folder = arguments.output or arguments.results / "plots"
    for path in plots.write(load(arguments), folder, arguments.kind or ()):
        print(path)
    return 0


def run_report(arguments) -> int:
    from bigleaf_bench import report

    path = report.write(load(arguments), arguments.output or arguments.results / "report.html")
    if path.is_file():  # of a pipe's reader the page alone is wanted
        print(path)
    return 0


def run_export(arguments) -> int:
    from bigleaf_bench import resultxml

    for path in resultxml.export(load(arguments), arguments.results):
        print(path)
    return 0


def run_tools(_arguments) -> int:
    from bigleaf_bench import tools

    for tool in tools.ROWS:
        found = tools.find(tool)
        where = found.path if found else "not here"
        if found and found.form.stands_in:
            where = f"stands in: {found.form.stands_in}"
        print(f"{tool.name:14} {tool.category:7} {where}")
    return 0


class Output(io.FileIO):
    """Standard output, whose errors tell where they are from."""

    def write(self, data) -> int | None:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = "standard output"
            raise


def fill_streams() -> None:
    """What is opened later must not take the place of a closed standard stream."""
    while (file := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(file, True)
    os.close(file)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)


def output() -> io.TextIOWrapper:
    """Takes names of files as they are, which need not be text."""
    return io.TextIOWrapper(io.BufferedWriter(Output(1, "w", closefd=False)),
                            sys.stdout.encoding, "surrogateescape",
                            line_buffering=sys.stdout.line_buffering)


def silence() -> None:
    """Nothing more to standard output, which takes no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refused(error: OSError) -> str:
    """What the system refuses, and why, in one line."""
    if not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def remedy() -> str:
    """Where the modules come from: the sources, or the list that is installed."""
    folder = Path(__file__).resolve().parents[1]
    needs = folder / "requirements.txt"
    if needs.exists() and not (folder / "pyproject.toml").exists():
        return f"pip install -r {needs}, for the Python that BIGLEAF_BENCH_PYTHON names"
    return "./dev bench makes an environment with it, or pip install ./bench"


def obey(words: list[str] | None) -> int:
    try:
        arguments = parser().parse_args(words)
    except SystemExit as end:  # the user has been told
        return int(end.code or 0)
    return arguments.main(arguments) or 0


def main(words: list[str] | None = None) -> int:
    fill_streams()
    sys.stdout = output()
    try:
        status = obey(words)
        sys.stdout.flush()
        return status
    except Failure as error:
        print(f"bigleaf-bench: {error}", file=sys.stderr)
        return error.status
    except ImportError as error:
        name = (error.name or "").split(".")[0]
        if not name or name == "bigleaf_bench":
            raise
        print(f"bigleaf-bench: the Python module {name} is missing: {remedy()}", file=sys.stderr)
        return Lacking.status
    except KeyboardInterrupt:
        print("bigleaf-bench: stopped; the same command goes on from here", file=sys.stderr)
        return Interrupted.status
    except BrokenPipeError:
        silence()
        return 0
    except OSError as error:
        print(f"bigleaf-bench: {refused(error)}", file=sys.stderr)
        silence()
        return Lacking.status
    except Exception:
        traceback.print_exc()
        print("bigleaf-bench: a fault of ours; please report the lines above", file=sys.stderr)
        return FAULT
