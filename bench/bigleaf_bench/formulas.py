# SPDX-License-Identifier: MIT
"""DIMACS formulas as arrays: read fast, and held against models.

A formula is one array of literals and the places where its clauses begin, so
that a model of a million variables is checked in a fraction of a second.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy

COMMENT = re.compile(rb"^c.*$", re.MULTILINE)
HARD = re.compile(rb"^h", re.MULTILINE)
# Which numpy takes for 0, as it does a sign that ends a file.
SIGNS = [sign + space for sign in (b"-", b"+") for space in (b" ", b"\t", b"\r", b"\n")]


class Broken(Exception):
    """No such formula: the text says what is wrong with the file."""


@dataclass(frozen=True)
class Formula:
    """CNF or WCNF; `weights` is None for CNF, and hard clauses weigh -1."""

    variables: int
    literals: numpy.ndarray
    starts: numpy.ndarray
    weights: numpy.ndarray | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def satisfied(self, model: numpy.ndarray) -> numpy.ndarray:
        """Per clause: is one of its literals in the model?"""
        value = numpy.zeros(2 * self.variables + 1, dtype=bool)
        inside = model[(model <= self.variables) & (model >= -self.variables)]
        value[inside + self.variables] = True
        if not len(self.starts):
            return numpy.empty(0, dtype=bool)
        # A sentinel that is false closes clauses that are empty.
        true = numpy.append(value[self.literals + self.variables], False)
        ends = numpy.append(self.starts[1:], len(self.literals))
        result = numpy.logical_or.reduceat(true, self.starts)
        return result & (ends > self.starts)

    def subset(self, clauses: numpy.ndarray) -> list[list[int]]:
        """These clauses, counted from 1, as lists."""
        ends = numpy.append(self.starts[1:], len(self.literals))
        return [self.literals[self.starts[c - 1]:ends[c - 1]].tolist() for c in clauses]


def header(data: bytes) -> tuple[list[bytes], int]:
    """The words of the line that begins with p, and where the clauses begin."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end]
        if line.startswith(b"p "):
            return line.split(), end
        if line and not line.startswith(b"c"):
            break
        start = end + 1
    return [], 0


def body(data: bytes) -> numpy.ndarray:
    """All numbers, read without an object for each: formulas have millions."""
    text = COMMENT.sub(b"", data) if b"c" in data else data
    text = text.partition(b"%")[0].strip()  # SATLIB closes its files so
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            if not text.endswith((b"-", b"+")) and not any(sign in text for sign in SIGNS):
                return numpy.fromstring(text, dtype=numpy.int64, sep=" ")
    except (ValueError, DeprecationWarning):
        pass
    raise Broken("a clause holds something that is no number")


def split(values: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Literals without their zeros, and where each clause begins."""
    zeros = numpy.flatnonzero(values == 0)
    if len(values) and (not len(zeros) or zeros[-1] != len(values) - 1):
        raise Broken("the last clause has no closing 0")
    ends = zeros - numpy.arange(len(zeros))
    starts = numpy.concatenate((numpy.zeros(min(1, len(zeros)), dtype=numpy.int64), ends[:-1]))
    return values[values != 0], starts


def read(path: Path) -> Formula:
    """The formula of a .cnf or .wcnf file."""
    data = path.read_bytes()
    words, place = header(data)
    if len(words) < 4 or words[1] not in (b"cnf", b"wcnf"):
        if path.suffix == ".wcnf" and not words:
            return read_new_wcnf(data)
        raise Broken("no line 'p cnf VARIABLES CLAUSES'")
    weighted = words[1] == b"wcnf"
    try:
        variables, clauses, *top = [int(word) for word in words[2:5 if weighted else 4]]
    except ValueError:
        raise Broken("no numbers in the line 'p cnf ...'") from None
    literals, starts = split(body(data[place:]))
    weights = None
    if weighted:
        weights, literals, starts = weighed(literals, starts)
        if top:
            weights = numpy.where(weights >= top[0], -1, weights)
    if len(starts) != clauses:
        raise Broken(f"{len(starts)} clauses, but the header says {clauses}")
    return checked(Formula(variables, literals, starts, weights))


def weighed(literals: numpy.ndarray, starts: numpy.ndarray) -> tuple[numpy.ndarray, ...]:
    """The clauses' weights, which stand first in them, and the clauses without."""
    if (numpy.append(starts[1:], len(literals)) == starts).any():
        raise Broken("a clause has no weight")
    weights = literals[starts] if len(starts) else literals
    return weights, numpy.delete(literals, starts), starts - numpy.arange(len(starts))


def read_new_wcnf(data: bytes) -> Formula:
    """WCNF since 2022: no header, h for hard clauses."""
    weights, literals, starts = weighed(*split(body(HARD.sub(b"-1", data))))
    variables = int(numpy.abs(literals).max(initial=0))
    return checked(Formula(variables, literals, starts, weights))


def checked(formula: Formula) -> Formula:
    most = max(int(formula.literals.max(initial=0)), -int(formula.literals.min(initial=0)))
    if most > formula.variables:
        raise Broken(f"variable {most}, but the header says {formula.variables}")
    return formula


def cost(formula: Formula, model: numpy.ndarray) -> int | None:
    """Weight of the soft clauses that the model leaves; None: a hard one."""
    left = ~formula.satisfied(model)
    if formula.weights is None:
        return int(left.sum())
    if (left & (formula.weights < 0)).any():
        return None
    return int(formula.weights[left].sum())
