#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ctrl-C at random moments of a session at a terminal, within tabled goals,
threads and at the prompt: the session lives on, and its tables are right."""
import argparse
import os
import pty
import random
import select
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = """
:- table left/2, right/2, win/1, dist(_, _, min).
left(X, Z) :- left(X, Y), e(Y, Z).
left(X, Z) :- e(X, Z).
right(X, Z) :- e(X, Y), right(Y, Z).
right(X, Z) :- e(X, Z).
win(X) :- move(X, Y), tnot(win(Y)).
dist(X, Y, 1) :- e(X, Y).
dist(X, Y, C) :- dist(X, Z, A), e(Z, Y), C is A + 1.
move(X, Y) :- between(1, 900, X), Y is X + 1.
move(X, Y) :- integer(X), X =< 900, Y is X + 2.
e(X, Y) :- between(1, 120, X), Y is X mod 120 + 1.
count(G, N) :- findall(x, G, L), length(L, N).
"""
GOALS = ["count(left(_,_), N)", "count(right(_,_), N)", "count(win(_), N)",
         "count(dist(_,_,_), N)", "X = f(X), Y = f(Y), X = Y",
         "concurrent_forall(member(X,[1,2,3,4]), count(right(_,_), 14400))",
         "repeat, fail", "write(hello)", "sleep(1)"]
LAST = "count(left(_,_), A), count(right(_,_), B), count(win(_), C), count(dist(_,_,_), D), " \
       "R = r(A, B, C, D), print(R)."
RIGHT = "r(14400,14400,300,14400)"


class Session:
    def __init__(self, command: list[str]) -> None:
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)

    def read(self, seconds: float, until: str = "") -> bool:
        """Reads for so long, or until the text has come."""
        end = time.monotonic() + seconds
        while until == "" or until not in self.text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                return False
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            except OSError: # the other end is closed
                return False
        return True

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())


def attempt(command: list[str], rng: random.Random) -> str | None:
    session = Session(command)
    if not session.read(60, "?- "):
        return "no prompt"
    try:
        for _ in range(4):
            goal = rng.choice(GOALS)
            session.text = ""
            session.send(goal + ".\n")
            session.read(rng.random() * 0.2)
            session.send("\x03")
            session.read(0.4)
            session.send("\n") # where answers are paged: stop
            session.read(0.1)
        session.send("\n")
        session.read(0.2)
        session.text = ""
        session.send(LAST + "\n")
        if not session.read(120, RIGHT):
            return f"after {goal}: {session.text[-600:]}"
        session.send("\nhalt.\n")
        return None
    except OSError as error:
        return f"the session ended: {error}"
    finally:
        os.close(session.fd)
        os.waitpid(session.pid, 0)


def in_threads(leaflog: str, program: str, rng: random.Random) -> str | None:
    """One goal in eight threads ends by SIGINT and by --time as in one."""
    goal = "writeln(started), flush_output, count(left(_,_), _), repeat, fail"
    for options, word in ([], "interrupted"), (["--time=0.3"], "out of time"):
        command = [leaflog, "-t", "8", *options, "-g", goal, program]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            run.stdout.readline() # of the first thread that runs
            if not options:
                time.sleep(rng.random() * 0.3)
                run.send_signal(signal.SIGINT)
            try:
                _, said = run.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                run.kill()
                return f"-t 8 {options} does not end"
        if run.returncode != 2 or said.count(word) != 8:
            return f"-t 8 {options}: status {run.returncode}: {said[-300:]}"
    return None


def at_the_start(leaflog: str, program: str, rng: random.Random) -> str | None:
    """SIGINT before, while and after the threads come up: none goes on."""
    command = [leaflog, "-t", "8", "-g", "repeat, fail", program]
    for _ in range(8):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
            time.sleep(rng.random() * 0.03)
            run.send_signal(signal.SIGINT)
            try:
                status = run.wait(timeout=60)
            except subprocess.TimeoutExpired:
                run.kill()
                return "SIGINT at the start is lost"
        if status not in (2, -signal.SIGINT):
            return f"SIGINT at the start: status {status}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("leaflog")
    parser.add_argument("-n", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failures = 0
    with tempfile.NamedTemporaryFile("w", suffix=".pl") as file:
        file.write(PROGRAM)
        file.flush()
        for seed in range(args.seed, args.seed + args.n):
            rng = random.Random(seed)
            command = [args.leaflog, f"--tables={rng.choice(['ns', 'ss', 'fs'])}",
                       f"--locks={rng.choice(['node', 'array'])}", file.name]
            what = attempt(command, rng)
            what = what or in_threads(args.leaflog, file.name, rng)
            what = what or at_the_start(args.leaflog, file.name, rng)
            if what is not None:
                failures += 1
                print(f"seed {seed}: {' '.join(command[1:3])}: {what}")
    print(f"{args.n} sessions, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
