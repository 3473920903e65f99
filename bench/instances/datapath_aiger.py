#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The circuit of datapath.py as a model in AIGER 1.9 (binary).

Registers are latches that begin at zero, each step's free inputs are inputs,
and the one bad state is a step in which two implementations differ: there is
none, so that a bounded model checker unrolls as far as it is let.
"""

import argparse
import signal
import sys

import datapath
from datapath import FALSE, TRUE, Cnf


class Graph(Cnf):
    """Gates as and-inverters; free variables become inputs."""

    def __init__(self):
        super().__init__()
        self.ands = []

    def both(self, a, b):
        known = len(self.clauses)
        gate = super().both(a, b)
        if len(self.clauses) > known:
            self.ands.append((gate, a, b))
        return gate

    def differ(self, a, b):
        return self.either(self.both(a, -b), self.both(-a, b))

    def choose(self, which, a, b):
        return self.either(self.both(which, a), self.both(-which, b))


def numbered(variables):
    """AIGER's numbering: inputs, latches, gates; variable 1 here is true."""
    number = {variable: i for i, variable in enumerate(variables, 1)}

    def literal(bit):
        if abs(bit) == TRUE:
            return 1 if bit == TRUE else 0
        return 2 * number[abs(bit)] + (bit < 0)

    return literal


def delta(value):
    """Seven bits a byte, the lowest first; the last byte has no high bit."""
    while value > 127:
        yield value & 127 | 128
        value >>= 7
    yield value


def write(graph, latches, after, bad, out):
    gates = {gate for gate, _, _ in graph.ands}
    inputs = sorted(set(range(2, graph.variables + 1)) - gates - set(latches))
    literal = numbered([*inputs, *latches, *(gate for gate, _, _ in graph.ands)])
    out.write(f"aig {graph.variables - 1} {len(inputs)} {len(latches)} 0 "
              f"{len(graph.ands)} 1\n".encode())
    out.writelines(f"{literal(bit)}\n".encode() for bit in [*after, bad])
    for gate, a, b in graph.ands:
        low, high = sorted((literal(a), literal(b)))
        out.write(bytes([*delta(literal(gate) - high), *delta(high - low)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--registers", type=datapath.power_of_two, default=16)
    parser.add_argument("--width", type=int, default=32)
    options = parser.parse_args()
    graph = Graph()
    state = [graph.word(options.width) for _ in range(options.registers)]
    wrong = []
    after = datapath.frame(graph, state, wrong, True)
    bad = FALSE
    for bit in wrong:
        bad = graph.either(bad, bit)
    write(graph, [bit for word in state for bit in word],
          [bit for word in after for bit in word], bad, sys.stdout.buffer)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
