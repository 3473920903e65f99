#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quasigroup with holes: a Latin square to be completed, as DIMACS CNF.

A random Latin square loses some of its cells, so that the instance is
satisfiable; near 42 % of holes it is hardest. All three views (cell, row,
column) state at least one and at most one; cells that are given are units.
"""

import argparse
import itertools
import random
import signal
import sys


def latin_square(order, chance):
    """The cyclic square under random row, column and symbol permutations,
    then stirred by exchanges along pairs of rows."""
    rows, columns, symbols = (chance.sample(range(order), order) for _ in range(3))
    square = [[symbols[(r + c) % order] for c in columns] for r in rows]
    for _ in range(order * order):
        exchange(square, chance)
    return square


def exchange(square, chance):
    """Two rows trade the cells of one cycle of symbols."""
    a, b = chance.sample(square, 2)
    start = column = chance.randrange(len(square))
    while True:
        a[column], b[column] = b[column], a[column]
        if a[column] == b[start]:
            return
        column = next(c for c in range(len(square)) if a[c] == a[column] and c != column)


def clauses(square, holes):
    order = len(square)

    def is_(row, column, symbol):
        return (row * order + column) * order + symbol + 1

    views = (lambda a, b, s: is_(a, b, s), lambda a, b, s: is_(a, s, b),
             lambda a, b, s: is_(s, a, b))
    for view in views:
        for a, b in itertools.product(range(order), repeat=2):
            literals = [view(a, b, s) for s in range(order)]
            yield tuple(literals)
            yield from ((-x, -y) for x, y in itertools.combinations(literals, 2))
    for row, column in itertools.product(range(order), repeat=2):
        if (row, column) not in holes:
            yield (is_(row, column, square[row][column]),)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("order", type=int)
    parser.add_argument("--holes", type=float, default=0.42, help="their share")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.order < 2 or not 0 <= options.holes <= 1:
        parser.error("need order >= 2 and holes between 0 and 1")
    chance = random.Random(options.seed)
    square = latin_square(options.order, chance)
    cells = list(itertools.product(range(options.order), repeat=2))
    holes = set(chance.sample(cells, round(options.holes * len(cells))))
    found = list(clauses(square, holes))
    sys.stdout.write(f"p cnf {options.order ** 3} {len(found)}\n")
    sys.stdout.writelines(" ".join(map(str, clause)) + " 0\n" for clause in found)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
