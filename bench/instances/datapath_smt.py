#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The circuit of datapath.py over words, as an SMT-LIB query (QF_BV).

A register file is read by a tree of choices and, in every CHECK-th frame, by
masks that are or-ed together; sums are checked against a carry-save form. The
two never differ: the query is unsatisfiable.
"""

import argparse
import signal
import sys

from datapath import power_of_two


class Query:
    """Definitions in their order, and what must not differ."""

    def __init__(self, width):
        self.width, self.lines, self.wrong = width, [], []

    def free(self, bits):
        name = f"v{len(self.lines)}"
        self.lines.append(f"(declare-fun {name} () (_ BitVec {bits}))\n")
        return name

    def define(self, text, bits=None):
        name = f"d{len(self.lines)}"
        self.lines.append(f"(define-fun {name} () (_ BitVec {bits or self.width}) {text})\n")
        return name

    def by_tree(self, address, bits, words):
        for i in range(bits):
            bit = f"(= ((_ extract {i} {i}) {address}) #b1)"
            words = [self.define(f"(ite {bit} {words[j + 1]} {words[j]})")
                     for j in range(0, len(words), 2)]
        return words[0]

    def by_masks(self, address, bits, words):
        zero = f"(_ bv0 {self.width})"
        found = zero
        for i, word in enumerate(words):
            hit = f"(= {address} (_ bv{i} {bits}))"
            found = self.define(f"(bvor {found} (bvand {word} (ite {hit} (bvnot {zero}) {zero})))")
        return found

    def frame(self, words, checked):
        bits = (len(words) - 1).bit_length()
        first, second, target = (self.free(bits) for _ in range(3))
        kind, write = self.free(2), self.free(1)
        a, b = self.by_tree(first, bits, words), self.by_tree(second, bits, words)
        total = self.define(f"(bvadd {a} {b})")
        if checked:
            self.wrong += [f"(distinct {a} {self.by_masks(first, bits, words)})",
                           f"(distinct {b} {self.by_masks(second, bits, words)})",
                           f"(distinct {total} (bvadd (bvxor {a} {b}) "
                           f"(bvshl (bvand {a} {b}) (_ bv1 {self.width}))))"]
        result = self.define(
            f"(ite (= {kind} #b00) {total} (ite (= {kind} #b01) (bvand {a} {b}) "
            f"(ite (= {kind} #b10) (bvxor {a} {b}) {self.free(self.width)})))")
        return [self.define(f"(ite (and (= {write} #b1) (= {target} (_ bv{i} {bits}))) "
                            f"{result} {word})") for i, word in enumerate(words)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--registers", type=power_of_two, default=8)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--check", type=int, default=5)
    options = parser.parse_args()
    query = Query(options.width)
    words = [query.free(options.width) for _ in range(options.registers)]
    for step in range(options.frames):
        words = query.frame(words, step % options.check == options.check - 1)
    sys.stdout.write("(set-logic QF_BV)\n")
    sys.stdout.writelines(query.lines)
    sys.stdout.write(f"(assert (or false {' '.join(query.wrong)}))\n(check-sat)\n")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
