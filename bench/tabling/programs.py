#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills a folder with the benchmark programs that leaflog does not generate.

Model checkers and the parser are copied; WordNet's six are made from its
relation files, if a folder with them is given; the others have synthetic data,
always the same, made here.
"""
import argparse
import pathlib
import random
import shutil

import wordnet

LICENCE = "% SPDX-License-Identifier: MIT\n"


def mondial() -> str:
    """Synthetic: Mondial's data are lost. A join with projection that has its
    shape: 35 calls, about 76 answers each, about 920 derivations per answer."""
    rng = random.Random(35)
    lines = [LICENCE, "% Synthetic data in the shape of the Mondial benchmark.\n",
             ":- table neighbour/2.\n",
             "neighbour(C, D) :- city(C, P), link(P, Q), city(D1, Q), twin(D1, D).\n",
             "run :- country(C), neighbour(C, _), fail.\nrun.\n"]
    lines += [f"country({c}).\n" for c in range(35)]
    for c in range(35):
        lines += [f"city({c},{c * 100 + i}).\n" for i in range(30)]
        for i in range(30):
            for _ in range(20):
                lines.append(f"link({c * 100 + i},{5000 + rng.randrange(400)}).\n")
    for q in range(400):
        lines += [f"city({200 + rng.randrange(80)},{5000 + q}).\n" for _ in range(12)]
    for d in range(80):
        lines += [f"twin({200 + d},{300 + (d * 7 + k) % 76}).\n" for k in range(10)]
    return "".join(lines)


def same_generation() -> str:
    """Two people are of one generation if their parents are: a tree of depth 9
    with a random second parent."""
    rng = random.Random(9)
    lines = [LICENCE, ":- table sg/2.\n", "sg(X, X) :- person(X).\n",
             "sg(X, Y) :- parent(X, P), sg(P, Q), parent(Y, Q).\n",
             "run :- sg(_, _), fail.\nrun.\n"]
    for child in range(2, 2 ** 10):
        lines.append(f"parent({child},{child // 2}).\n")
        level = child.bit_length() - 2
        other = 2 ** level + rng.randrange(2 ** level)
        if other != child // 2:
            lines.append(f"parent({child},{other}).\n")
    lines += [f"person({i}).\n" for i in range(1, 2 ** 10)]
    return "".join(lines)


def points_to() -> str:
    """Andersen's points-to analysis of a random program of some 2300 statements."""
    rng = random.Random(2300)
    variables, objects = 1500, 300
    rules = [LICENCE, ":- table pt/2, heap/2.\n",
             "pt(V, O) :- new(V, O).\n",
             "pt(V, O) :- copy(V, W), pt(W, O).\n",
             "pt(V, O) :- load(V, W), pt(W, P), heap(P, O).\n",
             "heap(P, O) :- store(V, W), pt(V, P), pt(W, O).\n",
             "run :- pt(_, _), fail.\nrun.\n"]

    def pair() -> str:
        return f"{rng.randrange(variables)},{rng.randrange(variables)}"

    facts = [f"new({rng.randrange(variables)},{rng.randrange(objects)}).\n"
             for _ in range(700)]
    facts += [f"copy({pair()}).\n" for _ in range(1400)]
    facts += [f"load({pair()}).\n" for _ in range(120)]
    facts += [f"store({pair()}).\n" for _ in range(120)]
    return "".join(rules + facts)


GENERATED = {"mondial": mondial, "same-generation": same_generation, "points-to": points_to}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--wordnet", type=pathlib.Path, help="folder of WordNet's relations")
    args = parser.parse_args()
    if args.wordnet and not args.wordnet.is_dir():
        parser.error(f"{args.wordnet}: no folder of WordNet's relations")
    args.out.mkdir(parents=True, exist_ok=True)
    for path in sorted((pathlib.Path(__file__).parent / "programs").glob("*.pl")):
        shutil.copyfile(path, args.out / path.name)
    for name, make in GENERATED.items():
        (args.out / f"{name}.pl").write_text(make(), encoding="utf-8")
    if args.wordnet:
        wordnet.write_programs(args.wordnet, args.out)


if __name__ == "__main__":
    main()
