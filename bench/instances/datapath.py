#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a bounded-model-checking instance as DIMACS CNF on standard output.

The circuit is a small processor's datapath: a register file with two read
ports, an adder and a logic unit, and one write port, steered by free inputs.
It is unrolled frame by frame from a free first state. In every CHECK-th frame
both read ports are compared with a second implementation (a tree of
multiplexers against one-hot AND-OR selection), and the adder with a
carry-select adder. A solution would be a run in which two of them differ;
there is none, so the instance is unsatisfiable.

Why this circuit: the proof is a sum of many small local arguments, so that
solving time grows evenly with the size and differs little between solvers and
versions, while every assignment travels through the whole unrolling, which is
what makes a solver wander through its memory. --seed permutes the numbers of
the variables and thereby where in memory a solver puts them.

Encoding: Tseitin's, with structural hashing and constants propagated. Equal
arguments give equal bytes.
"""

import argparse
import random
import signal
import sys

TRUE = 1
FALSE = -1


class Cnf:
    """Gates over literals; negation is the minus sign."""

    def __init__(self):
        self.variables = 1
        self.clauses = [(TRUE,)]
        self.gates = {}

    def fresh(self):
        self.variables += 1
        return self.variables

    def word(self, width):
        return [self.fresh() for _ in range(width)]

    def both(self, a, b):
        if FALSE in (a, b) or a == -b:
            return FALSE
        if a in (TRUE, b):
            return b
        if b == TRUE:
            return a
        key = (a, b) if a < b else (b, a)
        gate = self.gates.get(key)
        if gate is None:
            gate = self.gates[key] = self.fresh()
            self.clauses += ((-gate, a), (-gate, b), (gate, -a, -b))
        return gate

    def either(self, a, b):
        return -self.both(-a, -b)

    def differ(self, a, b):
        if abs(a) == 1:
            return -b if a == TRUE else b
        if abs(b) == 1:
            return -a if b == TRUE else a
        if abs(a) == abs(b):
            return FALSE if a == b else TRUE
        sign = 1 if (a > 0) == (b > 0) else -1
        a, b = sorted((abs(a), abs(b)))
        gate = self.gates.get(("differ", a, b))
        if gate is None:
            gate = self.gates["differ", a, b] = self.fresh()
            self.clauses += ((-gate, a, b), (-gate, -a, -b),
                             (gate, -a, b), (gate, a, -b))
        return sign * gate

    def choose(self, which, a, b):
        """a where `which` holds, else b."""
        if abs(which) == 1:
            return a if which == TRUE else b
        if a == b:
            return a
        if a == -b:
            return self.differ(which, b)
        if abs(a) == 1 or abs(b) == 1:
            return self.either(self.both(which, a), self.both(-which, b))
        key = (which, a, b)
        gate = self.gates.get(key)
        if gate is None:
            gate = self.gates[key] = self.fresh()
            self.clauses += ((-gate, -which, a), (gate, -which, -a),
                             (-gate, which, b), (gate, which, -b))
        return gate

    def choose_word(self, which, a, b):
        return [self.choose(which, x, y) for x, y in zip(a, b)]

    def differing_bits(self, a, b):
        return [self.differ(x, y) for x, y in zip(a, b)]

    def equals(self, word, number):
        result = TRUE
        for i, bit in enumerate(word):
            result = self.both(result, bit if number >> i & 1 else -bit)
        return result


def read_by_tree(cnf, address, registers):
    level = registers
    for bit in address:
        level = [cnf.choose_word(bit, level[i + 1], level[i])
                 for i in range(0, len(level), 2)]
    return level[0]


def read_by_one_hot(cnf, address, registers):
    hot = [cnf.equals(address, i) for i in range(len(registers))]
    result = [FALSE] * len(registers[0])
    for line, register in zip(hot, registers):
        result = [cnf.either(so_far, cnf.both(line, bit))
                  for so_far, bit in zip(result, register)]
    return result


def add_by_ripple(cnf, a, b, carry):
    total = []
    for x, y in zip(a, b):
        half = cnf.differ(x, y)
        total.append(cnf.differ(half, carry))
        carry = cnf.either(cnf.both(x, y), cnf.both(carry, half))
    return total


def add_by_carry_select(cnf, a, b, carry, block=4):
    total = []
    for at in range(0, len(a), block):
        sums = {}
        carries = {FALSE: FALSE, TRUE: TRUE}
        for guess in (FALSE, TRUE):
            bits = []
            for x, y in zip(a[at:at + block], b[at:at + block]):
                c = carries[guess]
                bits.append(cnf.differ(cnf.differ(x, y), c))
                carries[guess] = cnf.either(
                    cnf.both(x, cnf.either(y, c)), cnf.both(y, c))
            sums[guess] = bits
        total += cnf.choose_word(carry, sums[TRUE], sums[FALSE])
        carry = cnf.choose(carry, carries[TRUE], carries[FALSE])
    return total


def frame(cnf, registers, wrong, checked):
    """One step: the next registers; what must not differ goes to `wrong`."""
    width = len(registers[0])
    address_bits = (len(registers) - 1).bit_length()
    first, second, target = (cnf.word(address_bits) for _ in range(3))
    subtract, is_sum, is_and, write, from_input = cnf.word(5)
    a = read_by_tree(cnf, first, registers)
    b = read_by_tree(cnf, second, registers)
    operand = cnf.choose_word(from_input, cnf.word(width), b)
    addend = [cnf.differ(bit, subtract) for bit in operand]
    total = add_by_ripple(cnf, a, addend, subtract)
    if checked:
        for address, value in ((first, a), (second, b)):
            wrong += cnf.differing_bits(
                value, read_by_one_hot(cnf, address, registers))
        wrong += cnf.differing_bits(
            total, add_by_carry_select(cnf, a, addend, subtract))
    logic = cnf.choose_word(
        is_and, [cnf.both(x, y) for x, y in zip(a, operand)],
        cnf.differing_bits(a, operand))
    result = cnf.choose_word(is_sum, total, logic)
    return [cnf.choose_word(cnf.both(write, cnf.equals(target, i)),
                            result, register)
            for i, register in enumerate(registers)]


def unroll(registers, width, frames, check):
    cnf = Cnf()
    wrong = []
    state = [cnf.word(width) for _ in range(registers)]
    for step in range(frames):
        state = frame(cnf, state, wrong, step % check == check - 1)
    cnf.clauses.append(tuple(bit for bit in wrong if bit != FALSE))
    return cnf


def write_dimacs(cnf, seed, out):
    numbers = list(range(1, cnf.variables + 1))
    if seed:
        random.Random(seed).shuffle(numbers)
    names = {}
    for variable, number in enumerate(numbers, 1):
        names[variable] = f"{number} "
        names[-variable] = f"-{number} "
    out.write(f"p cnf {cnf.variables} {len(cnf.clauses)}\n")
    out.writelines("".join([names[lit] for lit in clause]) + "0\n"
                   for clause in cnf.clauses)


def power_of_two(text):
    number = int(text)
    if number < 2 or number & (number - 1):
        raise argparse.ArgumentTypeError(f"{text} is not a power of two")
    return number


def main():
    parser = argparse.ArgumentParser(
        description="A datapath unrolled for bounded model checking, as CNF "
        "on standard output; unsatisfiable.")
    parser.add_argument("--registers", type=power_of_two, default=16)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--check", type=int, default=10, metavar="N",
                        help="compare in every N-th frame")
    parser.add_argument("--seed", type=int, default=0,
                        help="permutes the variables; 0: in order of frames")
    options = parser.parse_args()
    if not 1 <= options.check <= options.frames or options.width < 1:
        parser.error("need 1 <= --check <= --frames and --width >= 1")
    write_dimacs(unroll(options.registers, options.width, options.frames,
                        options.check), options.seed, sys.stdout)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
