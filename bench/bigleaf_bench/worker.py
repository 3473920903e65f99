# SPDX-License-Identifier: MIT
"""usage: python -m bigleaf_bench.worker: runs what it is told on standard input.

BenchExec starts a container by a fork that must not happen while other threads
of the process hold locks, so each worker is a process with one thread. A line
in is a request, a line out its result, both JSON. The worker ends with its
campaign, however that ends: the kernel then sends it SIGTERM, and it ends the
run that is under way.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys

from benchexec.runexecutor import RunExecutor

PR_SET_PDEATHSIG = 1
STOP_SECONDS = 0.1  # between one attempt to end a run and the next


class Worker:
    """Holds the executor of the run under way, for the signal's sake."""

    def __init__(self):
        self.busy = False
        self.executor: RunExecutor | None = None
        self.stopped = False

    def stop(self, *_) -> None:
        """Asked for once, done until it helps: what BenchExec is told to stop
        before it has a process to kill, it forgets."""
        self.stopped = True
        if not self.busy:
            os._exit(0)  # in silence, wherever this interrupted the interpreter
        signal.setitimer(signal.ITIMER_REAL, STOP_SECONDS)
        # This may have interrupted the executor where it holds its lock.
        if self.executor and not self.executor.SUB_PROCESS_PIDS_LOCK.locked():
            self.executor.stop()

    def run(self, request: dict) -> dict:
        self.busy = True
        try:
            self.executor = RunExecutor(**request["executor"])
            result = self.executor.execute_run(**request["run"])
        except (SystemExit, OSError) as error:
            return {"problem": str(error)}
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.busy, self.executor = False, None
        code = result.get("exitcode")
        started = result.get("starttime")
        return {
            "cpu_seconds": result.get("cputime", 0.0), "wall_seconds": result.get("walltime", 0.0),
            "memory_bytes": result.get("memory"),
            "exit_status": None if code is None else code.value,
            "signal": None if code is None else code.signal,
            "termination": "killed" if self.stopped else result.get("terminationreason", ""),
            "started": started.isoformat() if started else ""}


def main() -> int:
    logging.getLogger().setLevel(logging.CRITICAL)
    worker = Worker()
    for number in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, worker.stop)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    while not worker.stopped and (line := sys.stdin.readline()):
        request = json.loads(line)
        if env := request["run"].get("environments"):
            env["keepEnv"] = dict.fromkeys(env["keepEnv"])
        try:
            print(json.dumps(worker.run(request)), flush=True)
        except BrokenPipeError:  # the campaign was killed
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
