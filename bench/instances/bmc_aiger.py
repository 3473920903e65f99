#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unrolls a circuit in AIGER 1.9 (.aig or .aag) into DIMACS CNF.

Frames 0 to K; satisfiable when a bad state can be reached within them.
Properties are the bad states, or the outputs where there are none; invariant
constraints hold in every frame; a latch without a reset value begins free.
Only the cone of influence of the properties is unrolled, with structural
hashing and constants across frames.
"""

import argparse
import signal
import sys

from datapath import FALSE, TRUE, Cnf, write_dimacs


class Circuit:
    """An and-inverter graph, literals as in AIGER: 2 * variable + sign."""

    def __init__(self, data):
        self.data = data
        self.place = data.index(b"\n") + 1
        words = data[:self.place].split()
        sizes = [int(word) for word in words[1:]] + [0] * 9
        self.most, inputs, latches, outputs, ands, bad, constraints = sizes[:7]
        if sizes[7] or sizes[8]:
            raise ValueError("justice and fairness are not supported")
        binary = words[0] == b"aig"
        self.inputs = ([2 * i + 2 for i in range(inputs)] if binary
                       else [self.line()[0] for _ in range(inputs)])
        self.latches = [([2 * (inputs + i) + 2] if binary else []) + self.line()
                        for i in range(latches)]
        outputs = [self.line()[0] for _ in range(outputs)]
        bad = [self.line()[0] for _ in range(bad)]
        self.bad = bad or outputs
        self.constraints = [self.line()[0] for _ in range(constraints)]
        if binary:
            self.ands = list(self.binary_ands(2 * (inputs + latches), ands))
        else:
            self.ands = sorted(tuple(self.line()) for _ in range(ands))

    def line(self):
        end = self.data.index(b"\n", self.place)
        numbers = [int(word) for word in self.data[self.place:end].split()]
        self.place = end + 1
        return numbers

    def delta(self):
        value = shift = 0
        while True:
            byte = self.data[self.place]
            self.place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def binary_ands(self, last, count):
        for left in range(last + 2, last + 2 * count + 2, 2):
            first = left - self.delta()
            yield left, first, first - self.delta()

    def cone(self):
        """Variables that properties or constraints depend on, in any frame."""
        below = {left >> 1: (a >> 1, b >> 1) for left, a, b in self.ands}
        below.update({latch[0] >> 1: (latch[1] >> 1,) for latch in self.latches})
        found = set()
        left = [lit >> 1 for lit in self.bad + self.constraints]
        while left:
            variable = left.pop()
            if variable not in found:
                found.add(variable)
                left.extend(below.get(variable, ()))
        return found


def unroll(circuit, frames):
    cnf = Cnf()
    cone = circuit.cone()
    latches = [latch for latch in circuit.latches if latch[0] >> 1 in cone]
    inputs = [lit >> 1 for lit in circuit.inputs if lit >> 1 in cone]
    ands = [gate for gate in circuit.ands if gate[0] >> 1 in cone]
    value = [FALSE] * (circuit.most + 1)

    def of(literal):
        return -value[literal >> 1] if literal & 1 else value[literal >> 1]

    wrong = []
    for frame in range(frames + 1):
        if frame == 0:
            state = [first_value(cnf, latch) for latch in latches]
        else:
            state = [of(latch[1]) for latch in latches]
        for latch, bit in zip(latches, state):
            value[latch[0] >> 1] = bit
        for variable in inputs:
            value[variable] = cnf.fresh()
        for left, a, b in ands:
            value[left >> 1] = cnf.both(of(a), of(b))
        cnf.clauses += [(of(lit),) for lit in circuit.constraints]
        wrong += [of(lit) for lit in circuit.bad]
    if TRUE not in wrong:
        cnf.clauses.append(tuple(bit for bit in wrong if bit != FALSE))
    return cnf


def first_value(cnf, latch):
    reset = latch[2] if len(latch) > 2 else 0
    if reset == latch[0]:
        return cnf.fresh()
    return TRUE if reset else FALSE


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file")
    parser.add_argument("frames", type=int, help="the last frame, K")
    parser.add_argument("--seed", type=int, default=0, help="permutes the variables")
    options = parser.parse_args()
    try:
        with open(options.file, "rb") as file:
            circuit = Circuit(file.read())
    except (OSError, ValueError, IndexError) as error:
        sys.exit(f"{options.file}: {error}")
    write_dimacs(unroll(circuit, options.frames), options.seed, sys.stdout)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
