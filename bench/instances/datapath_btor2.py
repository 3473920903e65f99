#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The circuit of datapath.py as a word-level model in BTOR2.

Registers are states that begin at zero, each step's free words are inputs, and
the one bad state is a step in which two implementations differ: there is none,
so that a bounded model checker unrolls as far as it is let.
"""

import argparse
import signal
import sys

from datapath import power_of_two


class Model:
    """Lines of BTOR2; a value is (number of its line, its width)."""

    def __init__(self):
        self.lines, self.sorts = [], {}

    def line(self, *words):
        self.lines.append(" ".join(map(str, (len(self.lines) + 1, *words))))
        return len(self.lines)

    def sort(self, width):
        if width not in self.sorts:
            self.sorts[width] = self.line("sort", "bitvec", width)
        return self.sorts[width]

    def make(self, kind, width, *values):
        sort = self.sort(width)
        return self.line(kind, sort, *(value[0] for value in values)), width

    def number(self, value, width):
        sort = self.sort(width)
        return self.line("constd", sort, value), width

    def bit(self, value, i):
        sort = self.sort(1)
        return self.line("slice", sort, value[0], i, i), 1

    def by_tree(self, address, words):
        for i in range(address[1]):
            which = self.bit(address, i)
            words = [self.make("ite", words[j][1], which, words[j + 1], words[j])
                     for j in range(0, len(words), 2)]
        return words[0]

    def by_masks(self, address, words):
        width = words[0][1]
        found = zero = self.number(0, width)
        for i, word in enumerate(words):
            hit = self.make("eq", 1, address, self.number(i, address[1]))
            found = self.make("or", width, found, self.make("ite", width, hit, word, zero))
        return found


def step(model, words):
    """The registers after a step, and whether its two implementations differ."""
    width, bits = words[0][1], (len(words) - 1).bit_length()
    first, second, target = (model.make("input", bits) for _ in range(3))
    kind, write = model.make("input", 2), model.make("input", 1)
    a, b = model.by_tree(first, words), model.by_tree(second, words)
    total = model.make("add", width, a, b)
    both, shift = model.make("and", width, a, b), model.number(1, width)
    differ = model.make("xor", width, a, b)
    saved = model.make("add", width, differ, model.make("sll", width, both, shift))
    bad = model.number(0, 1)
    for one, other in ((a, model.by_masks(first, words)), (b, model.by_masks(second, words)),
                       (total, saved)):
        bad = model.make("or", 1, bad, model.make("neq", 1, one, other))
    result = model.make("input", width)
    for i, value in ((2, differ), (1, both), (0, total)):
        chosen = model.make("eq", 1, kind, model.number(i, 2))
        result = model.make("ite", width, chosen, value, result)
    after = []
    for i, word in enumerate(words):
        hit = model.make("and", 1, write, model.make("eq", 1, target, model.number(i, bits)))
        after.append(model.make("ite", width, hit, result, word))
    return after, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--registers", type=power_of_two, default=8)
    parser.add_argument("--width", type=int, default=16)
    options = parser.parse_args()
    model = Model()
    zero = model.number(0, options.width)
    words = [model.make("state", options.width) for _ in range(options.registers)]
    for word in words:
        model.line("init", model.sort(options.width), word[0], zero[0])
    after, bad = step(model, words)
    for word, value in zip(words, after, strict=True):
        model.line("next", model.sort(options.width), word[0], value[0])
    model.line("bad", bad[0])
    sys.stdout.write("\n".join([*model.lines, ""]))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
