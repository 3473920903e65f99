#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables with modes on random graphs: leaflog, swipl and a computation here.

Each program asks for distances (left, right and doubly recursive, from walks
of even and odd length that call each other), the widest way, reachable nodes
by the least and the greatest label, a best pair by a lattice, and sums. The
answers must be those of relaxation to a fixpoint, under a design, allocator
and number of threads chosen per graph, and those of swipl where it is there.
"""
import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

PROGRAM = """\
:- table left(_,_,min), right(_,_,min), both(_,_,min), even(_,_,min), odd(_,_,min).
:- table wide(_,_,max), low(_,min), high(_,max), pair(_,_,lattice(better/3)).
:- table degree(_,sum), ends(_,min,max), term(_,min).
left(X,Y,C) :- left(X,Z,A), edge(Z,Y,B), C is A+B.
left(X,Y,C) :- edge(X,Y,C).
right(X,Y,C) :- edge(X,Z,A), right(Z,Y,B), C is A+B.
right(X,Y,C) :- edge(X,Y,C).
both(X,Y,C) :- edge(X,Y,C).
both(X,Y,C) :- both(X,Z,A), both(Z,Y,B), C is A+B.
odd(X,Y,C) :- edge(X,Y,C).
odd(X,Y,C) :- even(X,Z,A), edge(Z,Y,B), C is A+B.
even(X,Y,C) :- odd(X,Z,A), edge(Z,Y,B), C is A+B.
wide(X,Y,C) :- edge(X,Y,C).
wide(X,Y,C) :- wide(X,Z,A), edge(Z,Y,B), C is min(A,B).
low(X,X) :- node(X).
low(X,L) :- edge(X,Y,_), low(Y,L).
high(X,X) :- node(X).
high(X,L) :- high(Y,L), edge(X,Y,_).
pair(X,Y,p(C,1)) :- edge(X,Y,C).
pair(X,Y,p(C,N)) :- pair(X,Z,P), P = p(A,M), edge(Z,Y,B), C is A+B, N is M+1.
better(p(A,M),p(B,N),P) :- ( B < A -> P = p(B,N) ; B =:= A, N < M -> P = p(B,N) ; P = p(A,M) ).
degree(X,1) :- edge(X,_,_).
ends(X,Y,Y) :- edge(X,Y,_).
term(X,f(B,g(Y))) :- edge(X,Y,C), B is C / 2.0.
show(G) :- findall(G, G, L0), sort(L0, L), show_all(L).
show_all([]).
show_all([T|Ts]) :- writeq(T), nl, show_all(Ts).
main :-
    show(left(_,_,_)), show(left(1,_,_)), show(right(1,_,_)), show(right(_,2,_)),
    show(both(_,_,_)), show(odd(1,_,_)), show(even(_,1,_)), show(wide(_,_,_)),
    show(low(_,_)), show(high(_,_)), show(pair(_,_,_)),
    show(degree(_,_)), show(ends(_,_,_)), show(term(_,_)).
"""

Edges = dict[tuple[int, int], int]


def relax(start: dict, step, better) -> dict:
    """The least fixpoint: `step` gives from an entry what follows from it."""
    best = dict(start)
    work = list(start)
    while work:
        key = work.pop()
        for other, value in step(key, best[key]):
            if other not in best or better(value, best[other]):
                best[other] = value
                work.append(other)
    return best


def expected(nodes: int, edges: Edges) -> list[str]:
    out: dict[int, list[int]] = {}
    for a, b in edges:
        out.setdefault(a, []).append(b)

    def walk(add):
        return lambda key, v: [((key[0], b), add(v, edges[key[1], b]))
                               for b in out.get(key[1], [])]

    least = relax(edges, walk(lambda v, c: v + c), lambda a, b: a < b)
    parity = relax({(x, y, 1): c for (x, y), c in edges.items()},
                   lambda k, v: [((k[0], b, 1 - k[2]), v + edges[k[1], b])
                                 for b in out.get(k[1], [])], lambda a, b: a < b)
    wide = relax(edges, walk(min), lambda a, b: a > b)
    pair = relax({k: (c, 1) for k, c in edges.items()},
                 walk(lambda v, c: (v[0] + c, v[1] + 1)), lambda a, b: a < b)
    reach = {x: {x} | {b for a, b in least if a == x} for x in range(1, nodes + 1)}

    def rows(name: str, table: dict, keep=lambda a, b: True) -> list[str]:
        return [f"{name}({a},{b},{c})" for (a, b), c in sorted(table.items()) if keep(a, b)]

    lines = rows("left", least) + rows("left", least, lambda a, b: a == 1)
    lines += rows("right", least, lambda a, b: a == 1) + rows("right", least, lambda a, b: b == 2)
    lines += rows("both", least)
    lines += rows("odd", {k[:2]: c for k, c in parity.items() if k[2] and k[0] == 1})
    lines += rows("even", {k[:2]: c for k, c in parity.items() if not k[2] and k[1] == 1})
    lines += rows("wide", wide)
    lines += [f"low({x},{min(r)})" for x, r in reach.items()]
    lines += [f"high({x},{max(r)})" for x, r in reach.items()]
    lines += [f"pair({a},{b},p({c},{n}))" for (a, b), (c, n) in sorted(pair.items())]
    lines += [f"degree({x},{len(out[x])})" for x in sorted(out)]
    lines += [f"ends({x},{min(out[x])},{max(out[x])})" for x in sorted(out)]
    for x in sorted(out):
        half, y = min((edges[x, y] / 2, y) for y in out[x])
        lines.append(f"term({x},f({half},g({y})))")
    return lines


def graph(rng: random.Random) -> tuple[int, Edges]:
    nodes = rng.randint(2, 14)
    edges = {}
    for _ in range(rng.randint(1, 3 * nodes)):
        edges[rng.randint(1, nodes), rng.randint(1, nodes)] = rng.randint(1, 9)
    return nodes, edges


def text(nodes: int, edges: Edges) -> str:
    facts = [f"node({x})." for x in range(1, nodes + 1)]
    facts += [f"edge({a},{b},{c})." for (a, b), c in edges.items()]
    return PROGRAM + "\n".join(facts) + "\n"


def difference(name: str, got: list[str], want: list[str]) -> int:
    if got == want:
        return 0
    print(f"{name}: {[g for g in got if g not in want][:3]} instead of"
          f" {[w for w in want if w not in got][:3]}")
    return 1


def ask(command: list[str], name: str, want: list[str], times: int) -> int:
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                         stdin=subprocess.DEVNULL)
    if run.returncode != 0:
        print(f"{name}: exit {run.returncode}: {run.stderr.strip()[-300:]}")
        return 1
    parts = run.stdout.split("%end\n")
    if len(parts) != times + 1:
        print(f"{name}: {len(parts) - 1} outputs of {times}")
        return 1
    return max(difference(name, p.splitlines(), want) for p in parts[:-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaflog", help="the program to test")
    parser.add_argument("-n", type=int, default=48, help="how many graphs")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    swipl = shutil.which("swipl")
    configurations = [(d, a, t) for d in ("ns", "ss", "fs") for a in ("pages", "malloc")
                      for t in (1, 2, 8)]
    failures = 0
    goal = "with_output_to(atom(A), main), atom_concat(A, '%end\\n', B), write(B)"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "modes.pl"
        for seed in range(args.seed, args.seed + args.n):
            nodes, edges = graph(random.Random(seed))
            path.write_text(text(nodes, edges), encoding="utf-8")
            want = expected(nodes, edges)
            design, alloc, threads = configurations[seed % len(configurations)]
            options = [f"--tables={design}", f"--alloc={alloc}"]
            if threads == 2:  # the heap is collected all the time
                options.append("--collect=3")
            failures += ask([args.leaflog, *options, "-t", str(threads), "-g", goal, str(path)],
                            f"seed {seed}, {design} {alloc} {threads} threads", want, threads)
            if swipl and seed % 4 == 0:
                failures += ask([swipl, "-q", "-g", f"{goal},halt", str(path)],
                                f"seed {seed}, swipl", want, 1)
    print(f"{args.n} graphs from seed {args.seed}: {failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
