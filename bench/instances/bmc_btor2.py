#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unrolls a BTOR2 model into one SMT-LIB query (QF_BV or QF_ABV).

Frames 0 to K; satisfiable when a bad state can be reached within them.
Constraints hold in every frame. Each node of the model becomes one defined
function per frame; a state without init, or without next, is free there.
"""

import argparse
import signal
import sys

BINARY = {"and": "bvand", "nand": "bvnand", "nor": "bvnor", "or": "bvor", "xnor": "bvxnor",
          "xor": "bvxor", "add": "bvadd", "mul": "bvmul", "udiv": "bvudiv", "sdiv": "bvsdiv",
          "smod": "bvsmod", "urem": "bvurem", "srem": "bvsrem", "sub": "bvsub", "sll": "bvshl",
          "sra": "bvashr", "srl": "bvlshr", "concat": "concat", "read": "select",
          "write": "store", "not": "bvnot", "neg": "bvneg"}
COMPARE = {"eq": "=", "iff": "=", "neq": "distinct", "ugt": "bvugt", "ugte": "bvuge",
           "ult": "bvult", "ulte": "bvule", "sgt": "bvsgt", "sgte": "bvsge", "slt": "bvslt",
           "slte": "bvsle"}
CONSTANTS = ("const", "constd", "consth", "zero", "one", "ones")
IGNORED = ("output", "fair", "justice")


class Unsupported(Exception):
    """An operator that this unroller does not know."""


class Model:
    """The lines of a BTOR2 file by their numbers."""

    def __init__(self, lines):
        self.sorts, self.nodes, self.init, self.next = {}, {}, {}, {}
        self.bad, self.constraints = [], []
        for line in lines:
            words = line.split(";")[0].split()
            if words:
                self.take(int(words[0]), words[1], words[2:])

    def take(self, number, op, words):
        if op == "sort":
            self.sorts[number] = (int(words[1]) if words[0] == "bitvec"
                                  else (int(words[1]), int(words[2])))
        elif op in ("init", "next"):
            (self.init if op == "init" else self.next)[int(words[1])] = int(words[2])
        elif op in ("bad", "constraint"):
            (self.bad if op == "bad" else self.constraints).append(int(words[0]))
        elif op not in IGNORED:
            self.nodes[number] = (op, int(words[0]), words[1:])

    def sort(self, number):
        found = self.sorts[number]
        if isinstance(found, int):
            return f"(_ BitVec {found})"
        return f"(Array {self.sort(found[0])} {self.sort(found[1])})"

    def width(self, node):
        return self.sorts[self.nodes[abs(node)][1]]


def name(node, frame):
    text = f"n{abs(node)}_{frame}"
    return f"(bvnot {text})" if node < 0 else text


def constant(op, words, width):
    if op == "const":
        return f"#b{words[0].zfill(width)}"
    value = {"zero": 0, "one": 1, "ones": -1}.get(op)
    if value is None:
        value = int(words[0], 16 if op == "consth" else 10)
    return f"(_ bv{value % (1 << width)} {width})"


def bit(text):
    return f"(ite {text} #b1 #b0)"


def reduce(op, node, width, frame):
    of = name(node, frame)
    if op == "redxor":
        bits = [f"((_ extract {i} {i}) {of})" for i in range(width)]
        return bits[0] if width == 1 else f"(bvxor {' '.join(bits)})"
    if op == "redor":
        return bit(f"(distinct {of} (_ bv0 {width}))")
    return bit(f"(= {of} (_ bv{(1 << width) - 1} {width}))")


def operation(model, op, sort, words, frame):
    width = model.sorts[sort]
    if op in ("slice", "uext", "sext"):
        of = name(int(words[0]), frame)
        if op == "slice":
            return f"((_ extract {words[1]} {words[2]}) {of})"
        return f"((_ {'zero' if op == 'uext' else 'sign'}_extend {words[1]}) {of})"
    nodes = [int(word) for word in words]
    if op.startswith("red"):
        return reduce(op, nodes[0], model.width(nodes[0]), frame)
    of = " ".join(name(node, frame) for node in nodes)
    if op in BINARY:
        return f"({BINARY[op]} {of})"
    if op in COMPARE:
        return bit(f"({COMPARE[op]} {of})")
    if op in ("inc", "dec"):
        return f"({'bvadd' if op == 'inc' else 'bvsub'} {of} (_ bv1 {width}))"
    if op == "implies":
        return f"(bvor (bvnot {name(nodes[0], frame)}) {name(nodes[1], frame)})"
    if op == "ite":
        return (f"(ite (= {name(nodes[0], frame)} #b1) {name(nodes[1], frame)} "
                f"{name(nodes[2], frame)})")
    raise Unsupported(op)


def state(model, number, sort, frame):
    """Where the state's value comes from, or nothing when it is free."""
    source = model.init if frame == 0 else model.next
    if number not in source:
        return None
    text = name(source[number], max(0, frame - 1))
    if isinstance(model.sorts[sort], tuple) and isinstance(model.width(source[number]), int):
        return f"((as const {model.sort(sort)}) {text})"
    return text


def definitions(model, frame):
    """One line per node; states first, for they may feed each other."""
    numbers = sorted(model.nodes, key=lambda n: (
        frame > 0 and model.nodes[n][0] != "state", n))
    for number in numbers:
        op, sort, words = model.nodes[number]
        value = None
        if op == "state":
            value = state(model, number, sort, frame)
        elif op in CONSTANTS:
            value = constant(op, words, model.sorts[sort])
        elif op != "input":
            value = operation(model, op, sort, words, frame)
        if value is None:
            yield f"(declare-fun n{number}_{frame} () {model.sort(sort)})\n"
        else:
            yield f"(define-fun n{number}_{frame} () {model.sort(sort)} {value})\n"


def query(model, frames):
    arrays = any(isinstance(sort, tuple) for sort in model.sorts.values())
    yield f"(set-logic QF_{'A' if arrays else ''}BV)\n"
    wrong = []
    for frame in range(frames + 1):
        yield from definitions(model, frame)
        for node in model.constraints:
            yield f"(assert (= {name(node, frame)} #b1))\n"
        wrong += [f"(= {name(node, frame)} #b1)" for node in model.bad]
    yield f"(assert (or false {' '.join(wrong)}))\n(check-sat)\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file")
    parser.add_argument("frames", type=int, help="the last frame, K")
    options = parser.parse_args()
    try:
        with open(options.file, encoding="ascii") as file:
            model = Model(file)
        sys.stdout.writelines(query(model, options.frames))
    except Unsupported as error:
        sys.exit(f"{options.file}: operator {error} is not supported")
    except (OSError, ValueError, KeyError, IndexError) as error:
        sys.exit(f"{options.file}: {error!r}")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ended by `| head`, in silence
    main()
