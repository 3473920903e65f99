# SPDX-License-Identifier: MIT
"""A whole campaign: prepare, run what is not yet recorded, note, conclude.

The folder of results holds everything: campaign.toml as it was given,
runs.jsonl (`journal`), notes.json (`environment`), instances/, and what is
made of them at the end. The same command on the same folder goes on where the
last one stopped, however it stopped.
"""

from __future__ import annotations

import json
import queue
import shutil
import signal
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from bigleaf_bench import environment, execute, instances, measure, pool, schedule, stop
from bigleaf_bench.campaign import Campaign
from bigleaf_bench.command import find_bigleaf
from bigleaf_bench.failure import Interrupted, Lacking, WrongAnswer, WrongUse
from bigleaf_bench.journal import Journal
from bigleaf_bench.progress import Voice
from bigleaf_bench.schedule import Block, Job

# Statuses of runs that never were.
NOT_RUN = ("broken instance", "missing tool", "disk full", "lost")


@dataclass(frozen=True)
class Options:
    """How a campaign is to be run, apart from what it is."""

    folder: Path
    workers: int = 1
    executor: str = "local"
    plain: bool = False
    keep_going: bool = False
    only: tuple[str, ...] = ()
    slurm: tuple[str, ...] = ()


def is_of(campaign: Campaign, folder: Path) -> bool:
    """Whether the folder holds results of this campaign file."""
    kept = folder / "campaign.toml"
    return kept.exists() and kept.read_bytes() == campaign.path.read_bytes()


def claim(campaign: Campaign, folder: Path) -> None:
    """The folder is this campaign's, or becomes it."""
    kept = folder / "campaign.toml"
    if is_of(campaign, folder):
        return
    if kept.exists():
        raise WrongUse(f"{folder}: holds results of another campaign file (see {kept}); "
                       "give --output another folder")
    folder.mkdir(parents=True, exist_ok=True)
    with instances.whole(kept) as out:
        out.write(campaign.path.read_bytes())


def only(campaign: Campaign, names: tuple[str, ...]) -> Campaign:
    """These tools, or all, and the instance sets that they need."""
    known = {use.name for use in campaign.tools}
    for name in names:
        if name not in known:
            raise WrongUse(f"--only: no tool '{name}' in {campaign.path}")
    chosen = tuple(use for use in campaign.tools if not names or use.name in names)
    wanted = {name for use in chosen for name in use.sets}
    return replace(campaign, tools=chosen,
                   sets=tuple(part for part in campaign.sets if part.name in wanted))


def run(campaign: Campaign, options: Options, say) -> list[dict]:
    """Runs what is missing; all records, whatever came of them."""
    folder = options.folder.resolve()
    if any("\ud800" <= letter <= "\udfff" for letter in str(folder)):  # bytes that are no text
        raise WrongUse(f"{options.folder}: BenchExec needs a folder whose name is text in UTF-8; "
                       "give --output another")
    bigleaf = find_bigleaf()
    campaign = only(campaign, options.only)
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder)
    try:
        claim(campaign, folder)
        if options.executor == "local":
            clear(folder, say)
        instances.clear(folder)
        found = instances.prepare(campaign, folder / "instances", say)
        noted = environment.note(bigleaf)
        context = execute.Context(campaign, folder, bigleaf, bool(noted.get("page_reporting")))
        before(context, noted, options, say)
        work = schedule.blocks(campaign, found)
        journal.keys -= {job.key for block in work for job in block if job.key in journal.keys
                         and execute.outdated(journal.by_key[job.key], job)}
        if not options.keep_going:
            stop_if_wrong(journal.records)
        go(work, context, journal, options)
        go(schedule.after(campaign, journal.records, work), context, journal, options)
        write_notes(folder, {"after": environment.note(bigleaf)})
        return journal.records
    finally:
        journal.close()


def clear(folder: Path, say) -> None:
    """What a campaign left that was killed: nobody else is at work here."""
    if ended := measure.leftovers(folder, execute.MARK):
        say(f"ended {len(ended)} processes of a run that was killed")
    if pages := pool.give_back(folder):
        say(f"gave {pages} pages of the hugetlb pool back that a killed run had lent")
    shutil.rmtree(folder / "work", ignore_errors=True)


def before(context: execute.Context, noted: dict, options: Options, say) -> None:
    warned = environment.warnings(noted, options.workers if options.executor == "local" else 1)
    if any(v.kind == "hugetlb" for v in context.campaign.variants) and (why := pool.why_not()):
        warned.append(f"hugetlb runs have what the pool holds: {why}")
    for text in warned:
        say(f"note: {text}")
    # The name may be the file's, which in the folder of results has another.
    write_notes(context.folder, {"before": noted, "warnings": warned,
                                 "campaign": context.campaign.name,
                                 "tools": versions(context.campaign)})


def versions(campaign: Campaign) -> dict:
    from bigleaf_bench import tools

    result = {}
    for use in campaign.tools:
        found = tools.find(use.tool, executable=use.executable)
        result[use.name] = {
            "category": use.category, "program": Path(found.path).name if found else None,
            "version": tools.version(found, use.tool.adapter) if found else "",
            "stands_in": found.form.stands_in if found else ""}
    return result


def write_notes(folder: Path, new: dict) -> None:
    """notes.json keeps the first "before" and the last "after"."""
    path = folder / "notes.json"
    old = execute.read_json(path) or {}
    kept = {**old, **new}
    if "before" in old:
        kept["before"] = old["before"]
        kept.setdefault("resumed", []).extend([new["before"]] if "before" in new else [])
    with instances.whole(path) as out:
        out.write(json.dumps(kept, indent=1).encode())


def go(work: list[Block], context: execute.Context, journal: Journal, options: Options) -> None:
    left = [[job for job in block if job.key not in journal.keys] for block in work]
    left = [block for block in left if block]
    if not left:
        return
    jobs = [job for block in left for job in block]
    with Voice(jobs, journal.records, context.campaign.limits.seconds, options.workers,
               options.plain) as voice:
        if options.executor == "slurm":
            from bigleaf_bench import cluster

            cluster.run(left, context, journal, voice, options)
        else:
            Local(left, context, journal, voice, options).run()


class Local:
    """N workers on this machine, each with cores of its own."""

    def __init__(self, work: list[Block], context: execute.Context, journal: Journal,
                 voice: Voice, options: Options):
        self.context, self.journal, self.voice, self.options = context, journal, voice, options
        self.queue: queue.SimpleQueue[Block] = queue.SimpleQueue()
        for block in work:
            self.queue.put(block)
        campaign = context.campaign
        machine = measure.probe(campaign.isolation)
        for text in machine.notes:
            voice.say(f"note: {text}")
        write_notes(context.folder, {"machine": machine.__dict__})
        cores = (measure.core_sets(options.workers, campaign.limits.cores)
                 if machine.cores else [None] * options.workers)
        self.runners = [measure.Runner(machine, campaign.limits, c, context.folder,
                                       campaign.time) for c in cores]
        self.stop = threading.Event()
        self.signal = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        threads = [threading.Thread(target=self.work, args=(r,)) for r in self.runners]
        old = {s: signal.signal(s, self.interrupt) for s in stop.signals()}
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)  # signals are handled in between
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
        if self.failure:
            raise self.failure
        if self.signal:
            raise Interrupted(f"stopped; the same command goes on from here "
                              f"({len(self.journal.records)} runs are kept)")

    def interrupt(self, number, _frame) -> None:
        self.signal = number
        self.end()

    def end(self) -> None:
        self.stop.set()
        for runner in self.runners:
            runner.stop()

    def work(self, runner: measure.Runner) -> None:
        try:
            while not self.stop.is_set():
                try:
                    block = self.queue.get_nowait()
                except queue.Empty:
                    return
                for job in block:
                    self.one(job, runner)
        except BaseException as error:  # told by `run`, in the main thread
            self.failure = self.failure or error
            self.end()
        finally:
            runner.close()

    def one(self, job: Job, runner: measure.Runner) -> None:
        if self.stop.is_set():
            return
        record = execute.execute(job, self.context, runner, self.journal.records)
        if record is not None:
            keep(record, self.journal, self.voice, self.options.keep_going)


def need_one_that_ran(records: list[dict]) -> None:
    """A campaign of which not one run could begin has measured nothing."""
    if records and all(r["status"].startswith(NOT_RUN) for r in records):
        raise Lacking(f"no run could begin; first: {records[0]['tool']} on "
                      f"{records[0]['instance']}: {records[0]['status']}")


def keep(record: dict, journal: Journal, voice: Voice, keep_going: bool) -> None:
    """Into the journal, with the earlier records that it refutes; a wrong
    answer ends the campaign."""
    with journal.mutex:  # of two that differ one must see the other
        record, refuted = execute.held_against(record, journal.records)
        journal.append(record)
        for other in refuted:
            journal.append(other, amended=True)
    voice.done(record)
    if not keep_going:
        stop_if_wrong([record, *refuted])


def stop_if_wrong(records: list[dict]) -> None:
    for record in records:
        if record["status"].startswith("wrong answer"):
            raise WrongAnswer(
                f"{record['tool']} on {record['instance']}, {record['variant']}: "
                f"{record['status']}; --keep-going measures on all the same")
