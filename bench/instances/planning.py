#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many robots on a grid: a plan of T steps, as DIMACS CNF or for gringo.

Each robot goes from its own start to its own goal by steps to neighbouring
free cells or by waiting; two may not share a cell, nor pass each other. With
too few steps for the longest way there is no plan; with --soft goals are soft
clauses then, and the optimum is the number of robots that cannot arrive.
"""

import argparse
import itertools
import random
import signal
import subprocess
import sys


class Task:
    """A grid with walls, starts and goals."""

    def __init__(self, size, robots, walls, seed):
        chance = random.Random(seed)
        cells = list(itertools.product(range(size), repeat=2))
        chance.shuffle(cells)
        self.free = sorted(cells[round(walls * len(cells)):])
        if len(self.free) < robots:
            raise SystemExit("planning: more robots than free cells")
        self.starts = chance.sample(self.free, robots)
        self.goals = chance.sample(self.free, robots)
        known = set(self.free)
        self.near = {(x, y): [c for c in ((x, y), (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
                              if c in known] for x, y in self.free}


def clauses(task, steps):
    """at(robot, cell, time) is the only kind of variable; goals come first."""
    index = {cell: i for i, cell in enumerate(task.free)}
    robots = range(len(task.starts))

    def at(robot, cell, time):
        return (time * len(robots) + robot) * len(index) + index[cell] + 1

    yield from ((at(robot, task.goals[robot], steps),) for robot in robots)
    yield from ((at(robot, task.starts[robot], 0),) for robot in robots)
    for time, robot in itertools.product(range(steps + 1), robots):
        for one, other in itertools.combinations(task.free, 2):
            yield (-at(robot, one, time), -at(robot, other, time))
        if time < steps:
            for cell in task.free:
                yield (-at(robot, cell, time), *(at(robot, c, time + 1) for c in task.near[cell]))
    for time, (one, other) in itertools.product(range(steps + 1),
                                                itertools.combinations(robots, 2)):
        for cell in task.free:
            yield (-at(one, cell, time), -at(other, cell, time))
            for to in task.near[cell] if time < steps else ():
                if to != cell:
                    yield (-at(one, cell, time), -at(one, to, time + 1),
                           -at(other, to, time), -at(other, cell, time + 1))


RULES = """\
{ at(R,C,T+1) : near(B,C) } = 1 :- at(R,B,T), T < steps.
:- at(R,C,T), at(S,C,T), R < S.
:- at(R,B,T), at(R,C,T+1), at(S,C,T), at(S,B,T+1), R < S.
:- goal(R,C), not at(R,C,steps).
#show at/3.
"""


def program(task, steps):
    name = {cell: f"c({cell[0]},{cell[1]})" for cell in task.free}
    yield f"#const steps = {steps}.\n"
    for cell, near in task.near.items():
        yield "".join(f"near({name[cell]},{name[c]}). " for c in near) + "\n"
    for robot, (start, goal) in enumerate(zip(task.starts, task.goals)):
        yield f"at({robot},{name[start]},0). goal({robot},{name[goal]}).\n"
    yield RULES


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("size", type=int)
    parser.add_argument("robots", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("--walls", type=float, default=0.15, help="their share of the cells")
    parser.add_argument("--seed", type=int, default=1)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--soft", action="store_true", help="WCNF with soft goals")
    form.add_argument("--asp", action="store_true", help="an answer set program")
    form.add_argument("--ground", action="store_true", help="the same, grounded by gringo")
    options = parser.parse_args()
    task = Task(options.size, options.robots, options.walls, options.seed)
    if options.asp or options.ground:
        text = "".join(program(task, options.steps))
        sys.stdout.write(ground(text) if options.ground else text)
        return
    write_clauses(list(clauses(task, options.steps)),
                  len(task.free) * options.robots * (options.steps + 1),
                  options.robots if options.soft else 0)


def ground(text):
    try:
        return subprocess.run(["gringo"], input=text, stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"planning: gringo: {error}") from None


def write_clauses(found, variables, soft):
    if not soft:
        sys.stdout.write(f"p cnf {variables} {len(found)}\n")
    else:
        sys.stdout.write(f"p wcnf {variables} {len(found)} {soft + 1}\n")
    for i, clause in enumerate(found):
        weight = "" if not soft else "1 " if i < soft else f"{soft + 1} "
        sys.stdout.write(f"{weight}{' '.join(map(str, clause))} 0\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
