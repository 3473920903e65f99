#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A miter of two multipliers as DIMACS CNF: do they ever differ?

One sums its partial products row by row, the other column by column with a
tree of carry-save adders (Wallace). They are equal, so the instance is
unsatisfiable and hard beyond some ten bits; with --fault one gate of the
second is wrong and the instance is satisfiable.
"""

import argparse
import signal
import sys

from datapath import FALSE, Cnf, add_by_ripple, write_dimacs


def products(cnf, a, b):
    return [[cnf.both(x, y) for x in a] for y in b]


def by_rows(cnf, a, b):
    width = 2 * len(a)
    total = [FALSE] * width
    for shift, row in enumerate(products(cnf, a, b)):
        addend = ([FALSE] * shift + row + [FALSE] * width)[:width]
        total = add_by_ripple(cnf, total, addend, FALSE)
    return total


def full_adder(cnf, x, y, z):
    half = cnf.differ(x, y)
    return cnf.differ(half, z), cnf.either(cnf.both(x, y), cnf.both(half, z))


def by_columns(cnf, a, b, fault):
    width = 2 * len(a)
    columns = [[] for _ in range(width)]
    for shift, row in enumerate(products(cnf, a, b)):
        for i, bit in enumerate(row):
            columns[shift + i].append(bit)
    if fault:
        columns[fault][0] = -columns[fault][0]
    while max(map(len, columns)) > 2:
        below = [[] for _ in range(width + 1)]
        for i, column in enumerate(columns):
            whole = len(column) // 3 * 3
            for j in range(0, whole, 3):
                total, carry = full_adder(cnf, *column[j:j + 3])
                below[i].append(total)
                below[i + 1].append(carry)
            below[i] += column[whole:]
        columns = below[:width]
    rows = [[column[i] if len(column) > i else FALSE for column in columns] for i in (0, 1)]
    return add_by_ripple(cnf, *rows, FALSE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("bits", type=int)
    parser.add_argument("--fault", type=int, default=0, metavar="COLUMN",
                        help="invert a product of this column; satisfiable then")
    parser.add_argument("--seed", type=int, default=0, help="permutes the variables")
    options = parser.parse_args()
    if options.bits < 2 or not 0 <= options.fault < 2 * options.bits - 1:
        parser.error("need bits >= 2 and a fault in one of the columns")
    cnf = Cnf()
    a, b = cnf.word(options.bits), cnf.word(options.bits)
    wrong = cnf.differing_bits(by_rows(cnf, a, b), by_columns(cnf, a, b, options.fault))
    cnf.clauses.append(tuple(bit for bit in wrong if bit != FALSE))
    write_dimacs(cnf, options.seed, sys.stdout)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
