#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random integer arithmetic: leaflog against Python, whose integers have no end.

Each expression is evaluated twice, compiled in a clause's body and as a term
that `is` walks through. What comes out goes through everything that keeps or
moves numbers (text and back, copies, asserted clauses and their index, tables
of each design, modes, findall, sorting), and must be the same afterwards. The
operands lie round the places where something changes: 2^60, 2^63, 2^64, limbs,
and the 53 bits of a double.
"""
import argparse
import fractions
import math
import pathlib
import random
import subprocess
import sys
import tempfile

PRELUDE = """
:- dynamic kept/2.
:- table same/2, best(_,max), least(_,min), total(_,sum), listed/1.
same(X, Y) :- Y = f(X, X).
best(I, X) :- value(I, X).
best(I, Y) :- value(I, X), Y is X - 1.
least(I, X) :- value(I, X).
least(I, Y) :- value(I, X), Y is X + 1.
total(I, X) :- value(I, X).
total(I, Y) :- value(I, X), Y is X + 3.
listed(X) :- value(_, X), integer(X).
:- dynamic value/2.
main :- e(I, T), once(run(I, T)), fail.
main :- findall(X, listed(X), L0), sort(L0, L), setof(X, I^(value(I, X), integer(X)), L1),
    ( L == L1 -> true ; writeln(unlike) ),
    msort(L, L), findall(X, value(_, X), All), msort(All, Sorted), length(Sorted, N),
    write(sorted), forall(member(X, Sorted), ( write(' '), write(X) )), nl, writeln(n(N)).
run(I, T) :- catch(c(I, X), error(E, _), ( kind(E, K), write(I), write(' '), writeln(K), fail )),
    ( X2 is T, X2 == X -> true ; writeln(differ(I, X)) ),
    ( number(X), kept_as(I, X) -> true ; writeln(lost(I, X)) ),
    write(I), write(' '), writeln(X).
kind(evaluation_error(K), K) :- !.
kind(E, E).
kept_as(I, X) :-
    number_codes(X, Cs), number_codes(X1, Cs), X1 == X,
    format(atom(A), "~w", [X]), atom_number(A, X2), X2 == X,
    copy_term(g(X, _), g(X3, _)), X3 == X, compare(=, X, X3), \\+ X \\== X3, \\+ \\+ X = X3,
    assertz(kept(X, I)), assertz(value(I, X)), kept(X, J), J == I,
    clause(kept(X4, J4), true), J4 == I, X4 == X, retract(kept(X, I)),
    findall(J2, value(J2, X), Js), memberchk(I, Js),
    same(X, Y), Y == f(X, X), same(X, f(Z, _)), Z == X,
    findall(V-V, member(V, [X, a]), [X5-X6|_]), X5 == X, X6 == X,
    nb_setval(k, h(X)), nb_getval(k, h(X7)), X7 == X,
    ( integer(X) -> moded(I, X) ; true ).
moded(I, X) :- best(I, B), B == X, least(I, L), L == X, total(I, T), T =:= 2 * X + 3,
    succ_or_plus(X), Low is X - 1, High is X + 1, findall(Y, between(Low, High, Y), Ys),
    Ys == [Low, X, High], X < High, X > Low, X =:= X, X =\\= Low, X @< High.
succ_or_plus(X) :- plus(X, 1, Y), plus(Z, 1, Y), Z == X, plus(X, D, Y), D == 1,
    ( X >= 0 -> succ(X, Y), succ(W, Y), W == X ; true ).
"""


class Undefined(Exception):
    pass


def quotient(a: int, b: int) -> int:
    if b == 0:
        raise Undefined("zero_divisor")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def floored(a: int, b: int) -> int:
    if b == 0:
        raise Undefined("zero_divisor")
    return a // b


def shift(a: int, by: int) -> int:
    return a << by if by >= 0 else a >> -by


def slash(a: int, b: int) -> int | float:
    if b == 0:
        raise Undefined("zero_divisor")
    if a % b == 0:
        return a // b
    try:  # two operands of a word are divided as doubles, larger ones exactly
        words = all(-(2**60) <= x < 2**60 for x in (a, b))
        return float(a) / float(b) if words else a / b
    except OverflowError:
        raise Undefined("float_overflow") from None


def to_float(a: int) -> float:
    try:
        return float(a)
    except OverflowError:
        raise Undefined("float_overflow") from None


def difference(a: int, b: int) -> int:
    d = to_float(a) - to_float(b)
    if math.isinf(d):
        raise Undefined("float_overflow")
    return int(d)


TWO = {
    "({} + {})": lambda a, b: a + b,
    "({} - {})": lambda a, b: a - b,
    "({} * {})": lambda a, b: a * b,
    "({} // {})": quotient,
    "({} rem {})": lambda a, b: a - b * quotient(a, b),
    "({} div {})": floored,
    "({} mod {})": lambda a, b: a - b * floored(a, b),
    "({} /\\ {})": lambda a, b: a & b,
    "({} \\/ {})": lambda a, b: a | b,
    "xor({}, {})": lambda a, b: a ^ b,
    "gcd({}, {})": math.gcd,
    "lcm({}, {})": math.lcm,
    "min({}, {})": min,
    "max({}, {})": max,
    "(({} + {}) * 2 ** 60)": lambda a, b: (a + b) << 60,
    "getbit(abs({}), abs({}) mod 200)": lambda a, b: abs(a) >> abs(b) % 200 & 1,
}
ONE = {
    "-({})": lambda a: -a,
    "abs({})": abs,
    "sign({})": lambda a: (a > 0) - (a < 0),
    "\\({})": lambda a: ~a,
    "({} << 67)": lambda a: a << 67,
    "({} >> 67)": lambda a: a >> 67,
    "({} >> -3)": lambda a: a << 3,
    "({} << -61)": lambda a: a >> 61,
    "({} ^ 3)": lambda a: a**3,
    "({} ** 2)": lambda a: a**2,
    "msb(abs({}) + 1)": lambda a: (abs(a) + 1).bit_length() - 1,
    "lsb(abs({}) + 1)": lambda a: ((abs(a) + 1) & -(abs(a) + 1)).bit_length() - 1,
    "popcount(abs({}))": lambda a: abs(a).bit_count(),
    "succ({})": lambda a: a + 1,
}
# The outermost ones, which need not give integers.
OUTER = {
    "({} / {})": slash,
    "(float({}) + 0 * {})": lambda a, _: to_float(a),
    "truncate(float({}) + 0 * {})": lambda a, _: int(to_float(a)),
    "round(float({}) - float({}))": difference,
}


class Generator:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def leaf(self) -> tuple[str, int]:
        bits = self.rng.choice([1, 4, 20, 31, 52, 53, 54, 59, 60, 61, 62, 63, 64, 65, 66,
                                113, 127, 128, 129, 240, 1023, 1024, 1025, 3000])
        n = self.rng.choice([1 << bits, self.rng.getrandbits(bits), (1 << bits) - 1])
        n += self.rng.choice([0, 0, 0, 1, -1, 2])
        text = self.rng.choice([str, str, str, hex, oct, bin])(abs(n))
        return (f"(-{text})", -abs(n)) if self.rng.random() < 0.4 else (text, abs(n))

    def expression(self, depth: int) -> tuple[str, int]:
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf()
        first, a = self.expression(depth - 1)
        if self.rng.random() < 0.3:
            form, f = self.rng.choice(list(ONE.items()))
            return form.format(first), f(a)
        second, b = self.expression(depth - 1)
        form, f = self.rng.choice(list(TWO.items()))
        return form.format(first, second), f(a, b)

    def case(self) -> tuple[str, str]:
        """An expression, and what it gives, as Python writes it."""
        for _ in range(1000):
            try:
                first, a = self.expression(self.rng.randint(0, 3))
                if self.rng.random() < 0.7:
                    return first, str(a)
                second, b = self.expression(self.rng.randint(0, 2))
            except Undefined:
                continue
            form, f = self.rng.choice(list(OUTER.items()))
            try:
                return form.format(first, second), str(f(a, b))
            except Undefined as error:
                return form.format(first, second), str(error)
        raise AssertionError("no expression")


def same(said: str, wanted: str) -> bool:
    if said == wanted:
        return True
    try:
        number = float(wanted)
    except (ValueError, OverflowError):
        return False
    return not wanted.lstrip("-").isdigit() and "." in said and float(said) == number


def order(text: str) -> tuple[fractions.Fraction, int]:
    is_float = not text.lstrip("-").isdigit()
    return fractions.Fraction(float(text) if is_float else int(text)), 0 if is_float else 1


def complaints(cases: list[tuple[str, str]], out: str) -> list[str]:
    wrong = []
    said: dict[int, str] = {}
    for line in out.splitlines():
        word, _, rest = line.partition(" ")
        if word.isdigit():
            said[int(word)] = rest
        elif word == "sorted":
            keys = [order(x) for x in rest.split()]
            wrong += [] if keys == sorted(keys) else ["the sorted values are not in order"]
        elif not word.startswith("n("):
            wrong.append(line[:300])
    for i, (text, wanted) in enumerate(cases):
        if not same(said.get(i, "nothing"), wanted):
            wrong.append(f"{text}\n  wanted {wanted}\n  said   {said.get(i, 'nothing')}")
    return wrong


def run(leaflog: str, cases: list[tuple[str, str]], options: list[str]) -> list[str]:
    program = PRELUDE + "".join(f"c({i}, X) :- X is {t}.\n" for i, (t, _) in enumerate(cases))
    program += "".join(f"e({i}, {t}).\n" for i, (t, _) in enumerate(cases))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "integers.pl"
        path.write_text(program, encoding="utf-8")
        ended = subprocess.run([leaflog, *options, "-g", "main", path], capture_output=True,
                               text=True, timeout=500, check=False)
    if ended.returncode != 0 or ended.stderr:
        return [f"exit {ended.returncode}: {ended.stderr[:2000]}"]
    return complaints(cases, ended.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaflog")
    parser.add_argument("-n", type=int, default=1500, help="expressions")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    sys.set_int_max_str_digits(0)
    rng = random.Random(args.seed)
    generator = Generator(rng)
    wrong: list[str] = []
    each = 300
    for start in range(0, args.n, each):
        cases = [generator.case() for _ in range(min(each, args.n - start))]
        options = [f"--tables={rng.choice(['ns', 'ss', 'fs'])}"]
        options += rng.choice([[], ["--collect=3"], ["--alloc=malloc"], ["--locks=array"]])
        wrong += run(args.leaflog, cases, options)
    print("\n".join(wrong[:20]))
    print(f"{args.n} expressions, seed {args.seed}: {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
