# SPDX-License-Identifier: MIT
"""One run from its job to its record.

Whatever goes wrong with a run - the instance, the tool, a limit, the disk -
becomes the status of its record. Statuses: ok, no answer, timeout, stalled, out
of memory, crash, error, broken instance, missing tool, disk full, no proof (the
tool writes none), contradiction, wrong answer; most with more in brackets. And
lost: see `cluster`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import os
import re
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path

from bigleaf_bench import answers, backing, checks, pool, tools
from bigleaf_bench.campaign import Campaign
from bigleaf_bench.failure import Lacking
from bigleaf_bench.journal import passing
from bigleaf_bench.measure import PACKAGES, Measured, Runner
from bigleaf_bench.schedule import PROOF, TLB, Job

MARK = "BIGLEAF_CAMPAIGN"
# For reasoners of ours: numpy asks for huge pages by itself, base or not.
OURS = {"PYTHONPATH": PACKAGES, "NUMPY_MADVISE_HUGEPAGE": "0"}
# Of an output: what is read of it, and what a failure keeps.
MOST_OUTPUT = 256 << 20
TAIL = 2000
LEAST_FREE = 64 << 10
# How bigleaf ends where the machine lacks something.
LACKS = 3
WARM_BYTES = 256 << 20
MOST_WARM = 8 << 30
OUT_OF_MEMORY = re.compile(
    r"bad_alloc|out of memory|MemoryError|memory exhausted|cannot allocate memory", re.IGNORECASE)
NO_SPACE = "No space left on device"


@dataclass(frozen=True)
class Context:
    """What all runs of a campaign share."""

    campaign: Campaign
    folder: Path
    bigleaf: str
    gives_back: bool = False


def execute(job: Job, context: Context, runner: Runner, records: list[dict]) -> dict | None:
    """The record of this job; None when the run was stopped from outside."""
    found = tools.find(job.use.tool, job.variant.path, job.use.executable, job.variant.suffix)
    status = cannot_run(job, found)
    if status:
        return {**identity(job, found), "status": status, "answer": "", "valid": False}
    scratch = context.folder / "work" / hashlib.sha256(os.fsencode(job.key)).hexdigest()[:16]
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir(parents=True)
        seen = memory_seen(job, records)
        warm(job, seen, context.gives_back)
        with pool.lent(context.folder, pool_pages(job, context, seen)):
            return run(job, found, context, runner, scratch)
    except (OSError, Lacking) as error:
        if NO_SPACE not in str(error):
            raise
        return {**identity(job, found), "status": "disk full", "answer": "", "valid": False}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def broken(job: Job) -> str:
    """Why the tool cannot be given this instance; nothing where it can."""
    formats = job.use.tool.formats
    if job.instance.problem:
        return f"broken instance ({job.instance.problem})"
    if formats and job.instance.format not in formats:
        return f"broken instance ({job.use.tool.name} reads no .{job.instance.format})"
    return ""


def outdated(record: dict, job: Job) -> bool:
    """Whether the run is to be made again: what it met may be gone, or is."""
    return passing(record) or (record["status"].startswith("broken instance")
                               and not broken(job))


def cannot_run(job: Job, found: tools.Found | None) -> str:
    if why := broken(job):
        return why
    if found is None:
        wanted = job.use.executable or Path(job.use.tool.forms[0].program).name
        return f"missing tool ({wanted}{job.variant.suffix})"
    if job.variant.lacks():
        return f"missing tool ({job.variant.lacks()})"
    if job.purpose == PROOF and not found.form.proof:
        return "no proof (the tool writes none)"
    return ""


def identity(job: Job, found: tools.Found | None) -> dict:
    return {
        "key": job.key, "purpose": job.purpose, "tool": job.use.name,
        "category": job.use.category, "set": job.instance.set, "instance": job.instance.name,
        "family": job.instance.family, "variant": job.variant.name, "kind": job.variant.kind,
        "repetition": job.repetition, "host": socket.gethostname(),
        "stands_in": found.form.stands_in if found else "",
        "expected": job.instance.expected,
    }


def words(job: Job, found: tools.Found, context: Context, scratch: Path) -> list[str]:
    """The tool's own command."""
    limits = context.campaign.limits
    values = {**job.use.tool.defaults, **job.instance.parameters,
              "instance": str(job.instance.path), "answer": str(scratch / "answer"),
              "proof": str(scratch / "proof"), "seconds": f"{limits.seconds:g}",
              "memory_mib": str((limits.memory or 0) >> 20)}
    if job.use.tool.adapter:
        return adapter_words(job, found, limits)
    templates = found.form.proof if job.purpose == PROOF else found.form.words
    return found.words(templates, values, job.use.options)


def adapter_words(job: Job, found: tools.Found, limits) -> list[str]:
    """The command as BenchExec's tool-info module has it."""
    from benchexec.tooladapter import CURRENT_BASETOOL

    task = CURRENT_BASETOOL.Task.with_files([str(job.instance.path)])
    allowed = CURRENT_BASETOOL.ResourceLimits(
        cputime=int(limits.seconds), memory=limits.memory, cpu_cores=limits.cores)
    return list(job.use.tool.adapter.cmdline(found.path, list(job.use.options), task, allowed))


def run(job: Job, found: tools.Found, context: Context, runner: Runner,
        scratch: Path) -> dict | None:
    report, output = scratch / "report.json", scratch / "output"
    own = words(job, found, context, scratch)
    if job.purpose == TLB:
        command = [context.bigleaf, "tlb", f"--json={report}", *context.campaign.tlb.arguments,
                   "--", *own]
    else:
        command = job.variant.command(context.bigleaf, report, own)
    environment = {MARK: str(context.folder), **(OURS if found.form.module else {})}
    load, given = os.getloadavg()[0], backing.given()
    measured = runner.run(command, output, seconds_of(job, context.campaign), environment)
    if measured.termination == "killed":
        return None
    record = {**identity(job, found), "command": own, "cores": runner.cores,
              "load_before": round(load, 2), **figures(measured)}
    text = read_text(output)
    if job.purpose == TLB:
        return {**record, **counted(measured, report, text)}
    record["backing"] = backing.summary(read_json(report), given)
    decide = functools.partial(decided, context, runner, scratch)
    record = judged(job, record, measured, text, scratch, context, decide)
    if runner.stopped.is_set():
        return None  # its check may have been stopped
    if job.purpose == PROOF and record["status"] == "ok":
        return proven(job, record, context, runner, scratch)
    return record


def seconds_of(job: Job, campaign: Campaign) -> float:
    if job.purpose == TLB:
        return campaign.tlb.seconds
    return campaign.checks.proof_seconds if job.purpose == PROOF else campaign.limits.seconds


def figures(measured: Measured) -> dict:
    return {"started": measured.started, "cpu_seconds": round(measured.cpu_seconds, 6),
            "wall_seconds": round(measured.wall_seconds, 6),
            "memory_bytes": measured.memory_bytes, "exit_status": measured.exit_status,
            "signal": measured.signal, "termination": measured.termination}


def judged(job: Job, record: dict, measured: Measured, text: str, scratch: Path,
           context: Context, decide: checks.Decide) -> dict:
    """The record with its status, its answer, and whether it may be counted."""
    exit_status = measured.exit_status
    answer = read_answer(job, answers.Ended(exit_status, text, scratch / "answer"))
    status = ended(measured, text, answer.text, context.folder)
    verdict = checks.Judged()
    if status == "ok" and job.purpose != PROOF and context.campaign.checks.models:
        verdict = checks.judge(answer, job.instance, decide)
    objection = backing.objection(job.variant, record["backing"], text)
    record = {**record, "answer": answer.text if status == "ok" else "", "objection": objection}
    return settled(record, status, verdict, text)


def decided(context: Context, runner: Runner, scratch: Path, text: str) -> int | None:
    """The exit status of a solver on a formula, within the limits of a run."""
    program = checks.solver()
    if not program:
        return None
    formula = scratch / "check.cnf"
    formula.write_text(text, encoding="ascii")
    return runner.run([program, str(formula)], scratch / "check", context.campaign.limits.seconds,
                      {MARK: str(context.folder)}).exit_status


def proven(job: Job, record: dict, context: Context, runner: Runner,
           scratch: Path) -> dict | None:
    """The record, its proof checked within the limits of a run and as easily
    stopped; None when it was."""
    program = checks.checker()
    if not program:
        return settled(record, f"missing tool ({checks.CHECKER})", checks.Judged(), "")
    seconds, output = context.campaign.checks.proof_seconds, scratch / "checker"
    measured = runner.run([program, str(job.instance.path), str(scratch / "proof"),
                           "-t", str(max(1, int(seconds)))], output, seconds,
                          {MARK: str(context.folder)})
    if measured.termination == "killed":
        return None
    text = read_text(output)
    status, verdict = checks.proof(text)
    return settled(record, status or ended(measured, text, "", context.folder), verdict, text)


def settled(record: dict, status: str, verdict: checks.Judged, text: str) -> dict:
    """The record with its status; `text` shows what led to a bad one."""
    if verdict.wrong:
        status = f"wrong answer ({record['answer']}: {verdict.wrong})"
    tail = {} if status in ("ok", "timeout") else {"tail": text[-TAIL:]}
    return {**record, "status": status, "checked": verdict.checked,
            "valid": status == "ok" and not record["objection"], **tail}


def held_against(record: dict, others: list[dict]) -> tuple[dict, list[dict]]:
    """The record, and the earlier ones that change with it: where answers
    differ, those that were checked are right, else nobody knows."""
    differ = checks.contradictions(others, record) if record["status"] == "ok" else []
    if not differ:
        return record, []
    right = [other for other in differ if other["checked"]]
    if record["checked"] and not right:
        return record, [refuted(other, "wrong answer", record) for other in differ]
    if right and not record["checked"]:
        return refuted(record, "wrong answer", right[0]), []
    return (refuted(record, "contradiction", differ[0]),
            [refuted(other, "contradiction", record) for other in differ
             if other["status"] == "ok"])


def refuted(record: dict, word: str, by: dict) -> dict:
    here, there = (f"{r['tool']}, {r['variant']}: {r['answer']}" for r in (record, by))
    checked = f", checked by {by['checked']}" if word == "wrong answer" else ""
    return {**record, "status": f"{word} ({here}; {there}{checked})", "valid": False}


def read_answer(job: Job, end: answers.Ended) -> answers.Answer:
    adapter = job.use.tool.adapter
    if not adapter:
        return answers.READERS[job.use.tool.reader](end)
    from benchexec.tooladapter import CURRENT_BASETOOL
    from benchexec.util import ProcessExitCode

    run_ = CURRENT_BASETOOL.Run(
        [], ProcessExitCode.create(value=end.exit_status or 0),
        CURRENT_BASETOOL.RunOutput(end.text.splitlines(keepends=True)), None)
    return answers.of_benchexec(adapter.determine_result(run_), job.instance.format)


def ended(measured: Measured, text: str, answer: str, folder: Path) -> str:
    """The status of a run before its answer is judged."""
    if NO_SPACE in text[-TAIL:] or shutil.disk_usage(folder).free < LEAST_FREE:
        return "disk full"
    if measured.termination == "memory":
        return "out of memory"
    if measured.termination.startswith("walltime") and measured.cpu_limited:
        # Its own limit would have ended it, had it run: it waited, or the machine did.
        return f"stalled (it had {measured.cpu_seconds:.1f} s of the processor)"
    if measured.termination.startswith(("cputime", "walltime")):
        return "timeout"
    number = signal_of(measured)
    if answer and not number:
        return "ok"
    if OUT_OF_MEMORY.search(text[-TAIL:]):
        return "out of memory"
    if number:
        return f"crash (signal {number})"
    return {0: "no answer", 10: "no answer", 20: "no answer", 127: "missing tool (it cannot start)",
            126: "missing tool (it cannot be executed)"}.get(
                measured.exit_status, f"error (exit status {measured.exit_status})")


def signal_of(measured: Measured) -> int:
    """What ended the program, or, as a shell tells it, a program that it ran; 0:
    nothing did."""
    number = measured.signal or (measured.exit_status or 0) - 128
    return number if 0 < number <= 64 else 0


def counted(measured: Measured, report: Path, text: str) -> dict:
    """Of a run under `bigleaf tlb`: misses by page size, of the whole run or none."""
    told = read_json(report)
    misses = tlb_misses(told) if told else None
    if misses is None or measured.termination or signal_of(measured):
        status = ended(measured, text, "", report.parent)
        if measured.exit_status == LACKS or "unknown command" in text:
            status = "missing tool (bigleaf tlb)"
        return {"status": status, "answer": "", "valid": False, "tail": text[-TAIL:]}
    return {"status": "ok", "answer": "", "valid": True, "tlb": misses}


def tlb_misses(told: dict) -> dict | None:
    """Misses of data accesses that walk the page table, without and with
    Bigleaf: emulated, or the first event that the processor counted, which is
    this one of all that `bigleaf tlb` knows (bigleaf-report(5))."""
    if told.get("by") == "emulator":
        data = told["total"]["data"]
        return {"base": data["base"]["walks"], "huge": data["backed"]["walks"],
                "by": f"emulator, {told['geometry']['name']}"}
    event = told["events"][0]
    if event["base"] is None or event["bigleaf"] is None:
        return None
    return {"base": event["base"], "huge": event["bigleaf"], "by": event["name"]}


def read_json(path: Path) -> dict | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_OUTPUT).decode("utf-8", "replace")
    except OSError:
        return ""


def memory_seen(job: Job, records: list[dict]) -> int:
    """The most that this tool needed on this instance before, in bytes."""
    return max((r["backing"]["peak_rss_bytes"] for r in records
                if r["tool"] == job.use.name and r["instance"] == job.instance.name
                and r.get("backing")), default=0)


def pool_pages(job: Job, context: Context, seen: int) -> int:
    """What the hugetlb pool is to be larger by while the job runs."""
    if job.variant.kind != "hugetlb" or job.purpose == TLB:
        return 0
    return pool.wanted(seen, context.campaign.limits.memory, available())


def warm(job: Job, seen: int, gives_back: bool) -> None:
    """The instance into the page cache, and memory into the machine.

    A virtual machine that gives its free memory back to the host lets the
    first who touches it again pay. As much is touched as this tool needed on
    this instance before.
    """
    with job.instance.path.open("rb") as file:
        while file.read(1 << 20):
            pass
    if not gives_back:
        return
    wanted = min(MOST_WARM, max(WARM_BYTES, int(1.1 * seen)), available() // 2)
    with mmap.mmap(-1, wanted) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for place in range(0, wanted, mmap.PAGESIZE):
            memory[place] = 1


def available() -> int:
    text = Path("/proc/meminfo").read_text(encoding="ascii")
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) << 10 if found else 1 << 30
