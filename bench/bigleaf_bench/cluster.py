# SPDX-License-Identifier: MIT
"""A campaign on a cluster: one job array through submitit, merged as it comes.

A block is a task, so that what is compared runs on one machine. Each run
leaves one file in parts/, written whole; this process merges them into the
journal. A task that Slurm no longer knows and that left runs out was lost: it
is submitted again, as often as `MOST_TRIES`. Before an array is submitted its
name, which no other has, and the runs of its tasks stand in tasks.jsonl: a
campaign that was killed, even while it submitted, asks Slurm for these names
when it is given again, and adopts what is there.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path

import submitit
from submitit.core.utils import FailedJobError

from bigleaf_bench import execute, instances, measure
from bigleaf_bench.campaign import Campaign
from bigleaf_bench.conduct import Options, keep
from bigleaf_bench.failure import Lacking, WrongAnswer, WrongUse
from bigleaf_bench.journal import Journal
from bigleaf_bench.progress import Voice
from bigleaf_bench.schedule import PROOF, Block, Job

POLL_SECONDS = 2.0
# How long squeue and scancel may wait for Slurm.
ASK_SECONDS = 60
MOST_TRIES = 3
# Slurm's own default for MaxArraySize is 1001.
MOST_TASKS = 1000
# How long a task may be out of Slurm's sight before it counts as lost: its
# files may take a while to be seen from here.
LOST_SECONDS = 10.0
MINUTES_EXTRA = 5
MOST_WORDS = 160
# Of sbatch's parameters.
OURS = ("job-name", "job_name", "array")


@dataclass
class Task:
    """A submitted block."""

    id: str
    block: Block
    tries: int = 1
    missed: float = 0.0


def part(folder: Path, job: Job) -> Path:
    return folder / "parts" / f"{hashlib.sha256(os.fsencode(job.key)).hexdigest()[:24]}.json"


def work(block: Block, context: execute.Context) -> int:
    """On a node: runs what of the block has left no file yet."""
    limits = context.campaign.limits
    machine = measure.probe(context.campaign.isolation)
    cores = sorted(os.sched_getaffinity(0))[:limits.cores]
    runner = measure.Runner(machine, limits, cores, context.folder, context.campaign.time)
    try:
        for job in block:
            path = part(context.folder, job)
            if path.exists():
                continue
            record = execute.execute(job, context, runner, [])
            if record is None:
                return 1
            with instances.whole(path) as out:
                out.write(json.dumps(record).encode())
    finally:
        runner.close()
    return 0


def known_to_slurm() -> dict[str, str] | None:
    """The names of the tasks of this user that wait or run, by id; None: Slurm
    does not answer."""
    try:
        done = subprocess.run(["squeue", "-h", "-r", "-u", getpass.getuser(), "-o", "%i %j"],
                              capture_output=True, text=True, timeout=ASK_SECONDS, check=True)
    except subprocess.SubprocessError:
        return None
    return dict(line.strip().split(" ", 1) for line in done.stdout.splitlines())


def array_name(campaign: Campaign) -> str:
    """That no other has, of letters that submitit leaves: until 1.5 it put another
    for all but letters and digits."""
    return re.sub(r"[\W_]+", "_", f"bigleaf_{campaign.name}_{secrets.token_hex(8)}")


def parameters(words: tuple[str, ...]) -> dict[str, str]:
    """What --slurm says to sbatch."""
    result = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise WrongUse(f"--slurm: '{word}' is not NAME=VALUE")
        if key in OURS:
            raise WrongUse(f"--slurm: {key} is set by this command, which finds its tasks by it")
        result[key.replace("-", "_")] = value
    return result


def seconds_of(block: Block, campaign: Campaign) -> float:
    """The longest that a task may take, with the check of a proof or a core."""
    runs = (2 if job.purpose == PROOF or job.use.tool.reader == "mus" else 1 for job in block)
    return sum(count * (execute.seconds_of(job, campaign) * measure.WALL_FACTOR
                        + measure.WALL_EXTRA) for job, count in zip(block, runs, strict=True))


def executor(context: execute.Context, options: Options, name: str, seconds: float,
             after: str) -> submitit.SlurmExecutor:
    """Of an array, which begins when the array `after` has ended."""
    limits = context.campaign.limits
    waits = {"dependency": f"afterany:{after}"} if after else {}
    result = submitit.SlurmExecutor(folder=context.folder / "slurm")
    result.update_parameters(
        job_name=name, cpus_per_task=limits.cores,
        time=int(seconds // 60) + MINUTES_EXTRA, array_parallelism=options.workers,
        additional_parameters={"requeue": True, **waits, **parameters(options.slurm)},
        setup=[f"export PYTHONPATH={shlex.quote(measure.PACKAGES)}"],
        **({"mem": f"{(limits.memory >> 20) + 512}MB"} if limits.memory else {}))
    return result


def index(id_: str) -> int:
    """The place of a task in its array; an array of one is none to Slurm."""
    return int(id_.partition("_")[2] or 0)


class Cluster:
    """The tasks of a campaign and what is known of them."""

    def __init__(self, context: execute.Context, journal: Journal, voice: Voice,
                 options: Options):
        self.context, self.journal, self.voice, self.options = context, journal, voice, options
        self.tasks: list[Task] = []
        self.list = context.folder / "tasks.jsonl"
        (context.folder / "parts").mkdir(exist_ok=True)

    def submit(self, blocks: list[Block], tries: int = 1) -> None:
        seconds = max(seconds_of(block, self.context.campaign) for block in blocks)
        after = ""  # of two at once each would have so many workers
        for first in range(0, len(blocks), MOST_TASKS):
            some = blocks[first:first + MOST_TASKS]
            name = array_name(self.context.campaign)
            submitter = executor(self.context, self.options, name, seconds, after)
            self.announce(name, some)
            try:
                jobs = submitter.map_array(work, some, [self.context] * len(some))
            except FailedJobError as error:
                raise Lacking(f"sbatch: {str(error).strip().splitlines()[-1]}") from None
            self.tasks += [Task(job.job_id, block, tries)
                           for job, block in zip(jobs, some, strict=True)]
            after = jobs[0].job_id.partition("_")[0]

    def announce(self, name: str, blocks: list[Block]) -> None:
        """What is about to be submitted, on the disk before Slurm knows of it."""
        line = json.dumps({"name": name, "tasks": [[job.key for job in b] for b in blocks]})
        with self.list.open("ab", buffering=0) as file:
            # What a killed campaign left of a line ends here.
            file.write(f"\n{line}\n".encode())
            os.fsync(file.fileno())

    def adopt(self, blocks: list[Block]) -> list[Block]:
        """Takes over what an earlier campaign submitted; what is left."""
        arrays = self.announced()
        if not arrays:
            return blocks
        # The sbatch of a campaign that was killed may still be at work.
        time.sleep(max(0.0, self.list.stat().st_mtime + LOST_SECONDS - time.time()))
        alive = known_to_slurm()
        if alive is None:
            raise Lacking("squeue does not answer, and an earlier campaign may have tasks there: "
                          "give the same command again when it does")
        owner = {key: id_ for id_, name in alive.items() if name in arrays
                 for key in arrays[name][index(id_)]}
        left = []
        for block in blocks:
            if block[0].key in owner:
                self.tasks.append(Task(owner[block[0].key], block))
            else:
                left.append(block)
        return left

    def announced(self) -> dict[str, list[list[str]]]:
        """By an array's name the runs of each of its tasks."""
        text = self.list.read_text(encoding="utf-8") if self.list.exists() else ""
        result = {}
        for line in text.split("\n"):
            with contextlib.suppress(ValueError):  # it was killed while it wrote
                array = json.loads(line)
                result[array["name"]] = array["tasks"]
        return result

    def merge(self) -> None:
        """What has come into the journal."""
        for task in self.tasks:
            for job in task.block:
                path = part(self.context.folder, job)
                if job.key in self.journal.keys or not path.exists():
                    continue
                record = execute.read_json(path)
                if record:
                    keep(record, self.journal, self.voice, self.options.keep_going)

    def missing(self, task: Task) -> Block:
        return [job for job in task.block if job.key not in self.journal.keys]

    def again(self) -> None:
        """Submits what was lost; gives up on what is lost every time."""
        alive = known_to_slurm()
        self.tasks = [task for task in self.tasks if self.missing(task)]
        if alive is None:
            return
        for task in list(self.tasks):
            if task.id in alive:
                task.missed = 0.0
                continue
            task.missed = task.missed or time.monotonic()
            if time.monotonic() - task.missed < LOST_SECONDS:
                continue
            self.tasks.remove(task)
            if task.tries < MOST_TRIES:
                self.voice.say(f"task {task.id} was lost: submitted again")
                self.submit([self.missing(task)], task.tries + 1)
            else:
                self.give_up(task)

    def last_words(self, task: Task) -> str:
        """What it, or Slurm, said at its end: the same for all, where nodes lack
        something."""
        log = self.context.folder / "slurm" / f"{task.id}_0_log.err"
        lines = [line.strip() for line in execute.read_text(log).splitlines() if line.strip()]
        return f": {lines[-1][:MOST_WORDS]}" if lines else ""

    def give_up(self, task: Task) -> None:
        for job in self.missing(task):
            status = f"lost ({MOST_TRIES} times; last as task {task.id}{self.last_words(task)})"
            keep({**execute.identity(job, None), "status": status, "answer": "",
                  "valid": False}, self.journal, self.voice, True)

    def cancel(self) -> None:
        for task in self.tasks:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(["scancel", task.id], check=False, timeout=ASK_SECONDS)


def run(blocks: list[Block], context: execute.Context, journal: Journal, voice: Voice,
        options: Options) -> None:
    """Until every run of these blocks is in the journal."""
    if not shutil.which("sbatch"):
        raise Lacking("--executor=slurm: no sbatch here: run this on a machine that submits "
                      "to Slurm")
    context = replace(context, folder=context.folder.resolve())
    cluster = Cluster(context, journal, voice, options)
    # What ended meanwhile is merged before anything is submitted.
    cluster.tasks = [Task("", block) for block in blocks]
    for job in (job for block in blocks for job in block):
        path = part(context.folder, job)
        if path.exists() and execute.outdated(execute.read_json(path) or {"status": "lost"}, job):
            path.unlink()
    try:
        cluster.merge()
        cluster.tasks = []
        left = [[j for j in block if j.key not in journal.keys] for block in blocks]
        if left := cluster.adopt([block for block in left if block]):
            cluster.submit(left)
        while cluster.tasks:
            time.sleep(POLL_SECONDS)
            cluster.merge()
            cluster.again()
    except WrongAnswer:
        cluster.cancel()
        raise
