#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""WordNet's six closures as tabled programs.

The relations are those of WordNet 3.0 (files wn_sim.pl, wn_ent.pl, wn_mm.pl,
hyp_orig30.pl, Princeton's licence). The counts of the source hold for that
release as it was published: the fact hyp(202423762,200612841), a later patch
that breaks a loop, is replaced by hyp(202423762,202422663) where it is met.
Synsets without relations are padded up to the number of calls in the source;
they add a call and an answer trie each, and no answer.
"""
import argparse
import pathlib
import re

FACT = re.compile(r"^\w+\((\d+),(\d+)\)\.")
CALLS = 117_657
PATCH, LOOP = (202423762, 200612841), (202423762, 202422663)

# name: relation file, inverse, calls
PROGRAMS = {
    "clusters": ("wn_sim.pl", False, CALLS + 2),
    "hypo": ("hyp_orig30.pl", True, CALLS),
    "holo": ("wn_mm.pl", False, CALLS),
    "hyper": ("hyp_orig30.pl", False, CALLS),
    "tropo": ("wn_ent.pl", False, CALLS),
    "mero": ("wn_mm.pl", True, CALLS),
}

FORWARD = """\
:- table tc/2.
tc(X, Y) :- r(X, Y).
tc(X, Z) :- r(X, Y), tc(Y, Z).
run :- s(S), tc(S, _), fail.
run.
"""

INVERSE = """\
:- table tc/2.
tc(Y, X) :- r(Y, X).
tc(Z, X) :- r(Y, X), tc(Z, Y).
run :- s(S), tc(_, S), fail.
run.
"""


def read_relation(path: pathlib.Path) -> list[tuple[int, int]]:
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        match = FACT.match(line)
        if match:
            pair = (int(match[1]), int(match[2]))
            pairs.append(LOOP if pair == PATCH else pair)
    return pairs


def synsets(relations: dict[str, list[tuple[int, int]]], calls: int) -> list[int]:
    ids = sorted({i for pairs in relations.values() for pair in pairs for i in pair})
    return ids + [900_000_000 + i for i in range(calls - len(ids))]


def write_programs(data: pathlib.Path, out: pathlib.Path) -> None:
    files = sorted({spec[0] for spec in PROGRAMS.values()})
    relations = {name: read_relation(data / name) for name in files}
    out.mkdir(parents=True, exist_ok=True)
    for name, (file, inverse, calls) in PROGRAMS.items():
        with (out / f"wordnet-{name}.pl").open("w", encoding="utf-8") as f:
            f.write("% SPDX-License-Identifier: MIT\n")
            f.write(INVERSE if inverse else FORWARD)
            f.writelines(f"r({a},{b}).\n" for a, b in relations[file])
            f.writelines(f"s({i}).\n" for i in synsets(relations, calls))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path, help="folder of the relation files")
    parser.add_argument("out", type=pathlib.Path, help="folder for the programs")
    args = parser.parse_args()
    write_programs(args.data, args.out)


if __name__ == "__main__":
    main()
