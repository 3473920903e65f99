# SPDX-License-Identifier: MIT
"""One run, measured and limited by BenchExec's runexec as a library.

Where the machine allows it a run sits in a container of its own (namespaces:
its processes cannot outlive it, its files stay apart) and in cgroups of
version 1 or 2, which measure and limit all of its processes together. What is
not to be had is named in the notes and left out, never pretended.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from benchexec import resources
from benchexec.cgroups import Cgroups

from bigleaf_bench.campaign import Limits
from bigleaf_bench.failure import Lacking

# Between the request to end and the end: time for `bigleaf run` to write its
# report of a run that took too long.
GRACE_SECONDS = 3.0
# How far the clock may go beyond processor time, on a machine that is busy,
# before a run counts as one that waits for nothing.
WALL_FACTOR = 2.0
WALL_EXTRA = 30.0
# How long a first container may take to start.
CONTAINER_SECONDS = 60
PACKAGES = str(Path(__file__).resolve().parent.parent)
STOPPED = {"cpu_seconds": 0, "wall_seconds": 0, "memory_bytes": None, "exit_status": None,
           "signal": None, "termination": "killed", "started": ""}
# Names a run's own folder in the environment of all its processes.
RUN = "BIGLEAF_CAMPAIGN_RUN"
# All that runs see of the caller's environment.
KEPT = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "BIGLEAF_LIB", "JAVA_HOME")


@dataclass(frozen=True)
class Measured:
    """What runexec says of a run."""

    cpu_seconds: float
    wall_seconds: float
    memory_bytes: int | None
    exit_status: int | None
    signal: int | None
    termination: str
    started: str
    cpu_limited: bool = False


@dataclass
class Machine:
    """What this machine can do for a run, found out once."""

    container: bool
    cpu_limit: bool
    memory_limit: bool
    cores: bool
    cgroups: str
    notes: list[str] = field(default_factory=list)


def probe(isolation: str) -> Machine:
    """Tries rather than asks: a container that starts, a cgroup that is there."""
    quiet()
    cgroups = Cgroups.initialize()
    machine = Machine(False, cgroups.CPU in cgroups, cgroups.MEMORY in cgroups,
                      cgroups.CPUSET in cgroups,
                      f"version {cgroups.version}" if cgroups.version else "none")
    for name, there in (("processor time", machine.cpu_limit),
                        ("the memory limit", machine.memory_limit),
                        ("pinning to cores", machine.cores)):
        if not there:
            machine.notes.append(f"no cgroup for {name}: done without")
    if isolation != "none":
        problem = container_problem()
        machine.container = not problem
        if problem and isolation == "container":
            raise Lacking(f"isolation = \"container\": {problem}; set \"auto\" or \"none\"")
        if problem:
            machine.notes.append(f"no containers here ({problem}): runs are not isolated")
    return machine


def quiet() -> None:
    """BenchExec's own messages are for its own commands."""
    logging.getLogger().setLevel(logging.CRITICAL)


CONTAINER_TEST = """
import logging, sys
from benchexec.runexecutor import RunExecutor
logging.getLogger().setLevel(logging.CRITICAL)
modes = {"/": "read-only", "/dev/shm": "full-access", sys.argv[1]: "full-access"}
run = RunExecutor(use_namespaces=True, container_tmpfs=False, dir_modes=modes)
done = run.execute_run(["/bin/true"], sys.argv[1] + "/output")
sys.exit(0 if done["exitcode"].raw == 0 else 1)
"""


def container_problem() -> str:
    """In a process of its own: BenchExec ends the process where it fails."""
    with tempfile.TemporaryDirectory() as out:
        try:
            done = subprocess.run([sys.executable, "-c", CONTAINER_TEST, out], check=False,
                                  capture_output=True, text=True, timeout=CONTAINER_SECONDS)
        except subprocess.TimeoutExpired:
            return f"a container does not start within {CONTAINER_SECONDS} s"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return lines[-1][:120] if lines else "a container does not start"


def core_sets(workers: int, cores: int) -> list[list[int]]:
    """For each worker cores of its own, as BenchExec would lay them out, of
    those that this process may use (taskset)."""
    quiet()
    ours = sorted(os.sched_getaffinity(0))
    try:
        return resources.get_cpu_cores_per_run(cores, workers, True, Cgroups.initialize(), ours)
    except SystemExit as error:
        raise Lacking(f"{workers} workers with {cores} cores each: {error}") from None


class Runner:
    """A worker's hands: runs one command after the other on its cores, by a
    process of `worker`."""

    def __init__(self, machine: Machine, limits: Limits, cores: list[int] | None, open_to: Path,
                 time: str = "cpu"):
        self.machine, self.limits, self.cores, self.time = machine, limits, cores, time
        self.executor: dict = {"use_namespaces": machine.container}
        if machine.container:
            self.executor |= {"container_tmpfs": False, "dir_modes": {
                "/": "read-only", "/tmp": "full-access", "/dev/shm": "full-access",
                str(open_to): "full-access"}}
        self.process: subprocess.Popen | None = None
        self.stopped = threading.Event()

    def start(self) -> subprocess.Popen:
        if self.process is None:
            # A session of its own: Ctrl-C is for the campaign, which then asks.
            self.process = subprocess.Popen(
                [sys.executable, "-B", "-m", "bigleaf_bench.worker"], text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
                env={**os.environ, "PYTHONPATH": PACKAGES})
        return self.process

    def run(self, command: list[str], output: Path, seconds: float,
            environment: dict[str, str]) -> Measured:
        """Runs `command`; its output, standard error among it, goes to `output`."""
        result = self.ask({"executor": self.executor, "run": {
            "args": command, "output_filename": str(output), "workingDir": str(output.parent),
            "write_header": False, **self.limited(seconds),
            "environments": {"keepEnv": KEPT,
                             "newEnv": {"TMPDIR": str(output.parent), RUN: str(output.parent),
                                        **environment}}}})
        if not self.machine.container:
            # BenchExec ends the process that it started, not what that one did.
            leftovers(output.parent, RUN)
        if "problem" in result:
            raise Lacking(f"runexec: {result['problem']}")
        # Where nothing could end it in time it is late all the same.
        if not result["termination"] and result[f"{self.time}_seconds"] > seconds:
            result["termination"] = f"{self.time}time"
        return Measured(**result, cpu_limited=self.machine.cpu_limit and self.time == "cpu")

    def limited(self, seconds: float) -> dict:
        """The limits of a run of so many seconds, in BenchExec's words."""
        limits: dict = {"walltimelimit": seconds}
        if self.time == "cpu":
            limits["walltimelimit"] = seconds * WALL_FACTOR + WALL_EXTRA
            if self.machine.cpu_limit:
                limits |= {"softtimelimit": seconds, "hardtimelimit": seconds + GRACE_SECONDS}
        if self.machine.memory_limit:
            limits["memlimit"] = self.limits.memory
        if self.machine.cores:
            limits["cores"] = self.cores
        return limits

    def ask(self, request: dict) -> dict:
        process = self.start()
        answer = {"problem": "the worker was stopped"}
        if not self.stopped.is_set():  # asked once `stop` can see the process
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
            answer = json.loads(line) if line else {
                "problem": f"the worker ended with {process.wait()}"}
        return STOPPED if "problem" in answer and self.stopped.is_set() else answer

    def stop(self) -> None:
        """Ends the run under way; none begins after it. Any thread may call it."""
        self.stopped.set()
        if process := self.process:
            process.terminate()

    def close(self) -> None:
        if process := self.process:
            with contextlib.suppress(BrokenPipeError):  # it died with a request unread
                process.stdin.close()
            process.wait()
            process.stdout.close()
            self.process = None


def leftovers(folder: Path, mark: str) -> list[int]:
    """Processes that a run which was ended, or a campaign, left behind.

    They are known by a variable in their environment, which no other program
    has; they are ended, lest they disturb what is measured now.
    """
    wanted = f"{mark}={folder}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
    for pid in found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    return found
