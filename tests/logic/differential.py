#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random stratified programs: leaflog against swipl's tabling and clingo.

Each program has facts, predicates in strata with positive recursion inside a
stratum and negation to lower ones, and sometimes function symbols. What every
predicate has as answers, and what calls with some arguments bound return, must
be the same everywhere: in leaflog under a design, lock scheme, allocator and
number of threads chosen per program, in swipl, and in clingo's only stable
model. A peer that is not installed is left out, with a line that says so; with
neither of them the test is skipped (exit 77).

A failing program is shrunk by leaving out rules, and written to a file.
"""
import argparse
import dataclasses
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

CONSTANTS = ["a", "b", "c", "d", "0", "1", "2"]
LARGE = ["1152921504606846976", "-36893488147419103232"]  # more than a word
VARIABLES = ["X", "Y", "Z", "V", "W"]


@dataclasses.dataclass(frozen=True)
class Atom:
    name: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}({','.join(self.args)})" if self.args else self.name

    def variables(self) -> set[str]:
        return {v for v in VARIABLES for a in self.args if v in a}


@dataclasses.dataclass(frozen=True)
class Rule:
    head: Atom
    positive: tuple[Atom, ...]
    negative: tuple[Atom, ...]

    def text(self, negation: str) -> str:
        body = [str(a) for a in self.positive]
        body += [f"{negation}{a}" for a in self.negative]
        return f"{self.head}." if not body else f"{self.head} :- {', '.join(body)}."


@dataclasses.dataclass
class Program:
    facts: list[Atom]
    rules: list[Rule]
    arity: dict[str, int]  # of the derived predicates
    calls: list[Atom]  # asked besides the open ones

    def is_large(self) -> bool:
        return any(c in str(f) for f in self.facts for c in LARGE)


class Generator:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.functions = rng.random() < 0.35
        self.base = {"e": 2, "f": 2, "u": 1, "n": 0 if rng.random() < 0.2 else 1}
        names = CONSTANTS + (LARGE if rng.random() < 0.2 else [])
        self.constants = rng.sample(names, rng.randint(2, len(names)))

    def constant(self) -> str:
        return self.rng.choice(self.constants)

    def facts(self) -> list[Atom]:
        out = set()
        for name, arity in self.base.items():
            for _ in range(self.rng.randint(1, 3 + 4 * arity)):
                out.add(Atom(name, tuple(self.constant() for _ in range(arity))))
        return sorted(out, key=str)

    def term(self, scope: list[str]) -> str:
        roll = self.rng.random()
        if roll < 0.12:
            return self.constant()
        if self.functions and roll < 0.22:
            return f"g({self.rng.choice(scope)})"
        return self.rng.choice(scope)

    def literal(self, names: list[str], arity: dict[str, int], scope: list[str]) -> list[Atom]:
        """A literal; with a function in it, behind a guard that keeps calls finite."""
        name = self.rng.choice(names)
        args = tuple(self.term(scope) for _ in range(arity[name]))
        guards = [Atom("dom", (v,)) for v in scope if any(f"g({v})" == a for a in args)]
        return [*guards, Atom(name, args)]

    def rule(self, head: str, level: dict[str, int], arity: dict[str, int]) -> Rule:
        rng = self.rng
        same = [p for p in level if level[p] <= level[head]]
        lower = [p for p in level if level[p] < level[head]] + list(self.base)
        everything = {**arity, **self.base}
        scope = VARIABLES[: rng.randint(1, len(VARIABLES))]
        positive = []
        for _ in range(rng.randint(1, 4)):
            names = same if rng.random() < 0.55 else list(self.base)
            positive += self.literal(names, everything, scope)
        bound = sorted(set().union(*(a.variables() for a in positive)))
        args = []
        for _ in range(arity[head]):
            term = rng.choice(bound) if bound and rng.random() < 0.9 else self.constant()
            if self.functions and term in bound and rng.random() < 0.2:
                # g(X) only over constants, so that terms stay finite
                positive.insert(0, Atom("dom", (term,)))
                term = f"g({term})"
            args.append(term)
        negative = []
        if bound:
            for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
                negative.append(self.literal(lower, everything, bound)[-1])
        return Rule(Atom(head, tuple(args)), tuple(positive), tuple(negative))

    def program(self) -> Program:
        rng = self.rng
        names = [f"p{i}" for i in range(rng.randint(1, 7))]
        level = {p: rng.randint(0, 3) for p in names}
        arity = {p: rng.choice([0, 1, 1, 2, 2, 2, 3]) for p in names}
        rules = []
        for p in names:
            for _ in range(rng.randint(1, 4)):
                rules.append(self.rule(p, level, arity))
        rng.shuffle(rules)
        facts = self.facts() + [Atom("dom", (c,)) for c in self.constants]
        calls = []
        for _ in range(rng.randint(0, 6)):
            p = rng.choice(names)
            args = tuple(
                self.constant() if rng.random() < 0.5 else f"A{i}" for i in range(arity[p])
            )
            calls.append(Atom(p, args))
        return Program(facts, rules, arity, calls)


# ---- as Prolog

SHOW = """\
show(G, T) :- findall(T, G, L0), sort(L0, L), show(L).
show([]).
show([T|Ts]) :- print_line(T), show(Ts).
"""


def open_call(name: str, arity: int) -> Atom:
    return Atom(name, tuple(f"A{i}" for i in range(arity)))


def queries(program: Program) -> list[Atom]:
    return program.calls + [open_call(p, n) for p, n in program.arity.items()]


def prolog(program: Program, negation: str) -> str:
    lines = [f":- table {', '.join(f'{p}/{n}' for p, n in program.arity.items())}."]
    # in order of predicates: clauses of one stand together
    names = list(program.arity)
    defined = {r.head.name for r in program.rules}
    for name in names:
        if name not in defined:
            lines.append(f"{open_call(name, program.arity[name])} :- fail.")
        lines += [r.text(negation) for r in program.rules if r.head.name == name]
    for name in sorted({a.name for a in program.facts}):
        lines += [f"{a}." for a in program.facts if a.name == name]
    goals = [f"show({q}, q({i},{q}))" for i, q in enumerate(queries(program))]
    lines.append(f"main :- {', '.join(goals)}.")
    return "\n".join(lines) + "\n" + SHOW


LEAFLOG_PRINT = "print_line(T) :- writeq(T), nl.\n"
SWIPL_PRINT = (
    "print_line(T) :- write_term(T, [quoted(true), spacing(standard)]), nl.\n"
)


def ask_leaflog(binary: str, program: Program, options: list[str], threads: int,
                folder: pathlib.Path) -> list[str] | str:
    path = folder / "program.pl"
    path.write_text(prolog(program, "\\+ ") + LEAFLOG_PRINT, encoding="utf-8")
    goal = "with_output_to(atom(A), main), atom_concat(A, '%end\\n', B), write(B)"
    run = subprocess.run(
        [binary, *options, "-t", str(threads), "-g", goal, str(path)],
        capture_output=True, text=True, timeout=60, check=False)
    if run.returncode != 0:
        return f"exit {run.returncode}: {run.stderr.strip()[-500:]}"
    parts = run.stdout.split("%end\n")
    if len(parts) != threads + 1 or parts[-1] != "":
        return f"{len(parts) - 1} outputs from {threads} threads"
    if any(p != parts[0] for p in parts[:-1]):
        return "threads disagree"
    return parts[0].splitlines()


def ask_swipl(programs: list[Program], folder: pathlib.Path) -> list[list[str]]:
    driver = [":- style_check(-singleton).\n:- style_check(-discontiguous).\n"]
    for i, program in enumerate(programs):
        path = folder / f"m{i}.pl"
        path.write_text(f":- module(m{i}, []).\n:- style_check(-singleton).\n"
                        + prolog(program, "tnot ").replace("tnot ", "\\+ ")
                        + SWIPL_PRINT, encoding="utf-8")
        driver.append(f":- load_files('{path}', [silent(true)]).\n"
                      f":- (m{i}:main -> true ; writeln(failed)), writeln('%end'),"
                      " abolish_all_tables.\n")
    driver.append(":- halt.\n")
    script = folder / "driver.pl"
    script.write_text("".join(driver), encoding="utf-8")
    run = subprocess.run(["swipl", "-q", str(script)], capture_output=True, text=True,
                         timeout=600, check=False)
    return [p.splitlines() for p in run.stdout.split("%end\n")[:-1]]


def ask_clingo(program: Program) -> set[str] | None:
    text = "\n".join(f"{a}." for a in program.facts) + "\n"
    text += "\n".join(r.text("not ") for r in program.rules) + "\n#show.\n"
    text += "".join(f"#show {p}/{n}.\n" for p, n in program.arity.items())
    run = subprocess.run(["clingo", "--warn=none", "--verbose=0", "-n", "2"], input=text,
                         capture_output=True, text=True, timeout=60, check=False)
    lines = run.stdout.splitlines()
    if not lines or lines[-1] != "SATISFIABLE" or len(lines) > 2:
        return None
    return set(lines[0].split()) if len(lines) == 2 else set()


def open_answers(program: Program, lines: list[str]) -> set[str]:
    """What the open calls returned, as clingo writes it."""
    first = len(program.calls)
    out = set()
    for line in lines:
        index, _, rest = line[2:-1].partition(",")
        if int(index) >= first:
            out.add(rest)
    return out


# ---- comparing

CONFIGURATIONS = [
    (design, locks, alloc, threads)
    for design in ("ns", "ss", "fs")
    for locks in ("node", "array")
    for alloc in ("pages", "malloc")
    for threads in (1, 1, 2, 8)
]


def options_of(configuration: tuple[str, str, str, int]) -> list[str]:
    design, locks, alloc, threads = configuration
    # with two threads, the heap is collected all the time
    collect = ["--collect=3"] if threads == 2 else []
    return [f"--tables={design}", f"--locks={locks}", f"--alloc={alloc}", *collect]


class Tester:
    def __init__(self, binary: str, folder: pathlib.Path) -> None:
        self.binary = binary
        self.folder = folder
        self.swipl = shutil.which("swipl") is not None
        self.clingo = shutil.which("clingo") is not None
        self.failures = 0

    def difference(self, program: Program, configuration: tuple[str, str, str, int],
                   swipl: list[str] | None) -> str | None:
        mine = ask_leaflog(self.binary, program, options_of(configuration),
                           configuration[3], self.folder)
        if isinstance(mine, str):
            return f"leaflog {configuration}: {mine}"
        if swipl is not None and mine != swipl:
            return (f"leaflog {configuration} and swipl differ:"
                    f" {sorted(set(mine) ^ set(swipl))[:6]}")
        if self.clingo and not program.is_large():  # its integers have 32 bits
            model = ask_clingo(program)
            if model is not None and model != open_answers(program, mine):
                return (f"leaflog {configuration} and clingo differ:"
                        f" {sorted(model ^ open_answers(program, mine))[:6]}")
        return None

    def fails(self, program: Program, configuration: tuple[str, str, str, int]) -> bool:
        answers = ask_swipl([program], self.folder) if self.swipl else [None]
        return len(answers) == 1 and self.difference(
            program, configuration, answers[0]) is not None

    def shrink(self, program: Program, configuration: tuple[str, str, str, int]) -> Program:
        changed = True
        while changed:
            changed = False
            for field in ("rules", "facts", "calls"):
                items = getattr(program, field)
                for i in range(len(items)):
                    fewer = items[:i] + items[i + 1:]
                    smaller = dataclasses.replace(program, **{field: fewer})
                    if self.fails(smaller, configuration):
                        program, changed = smaller, True
                        break
        return program

    def report(self, seed: int, program: Program, configuration: tuple[str, str, str, int],
               what: str) -> None:
        self.failures += 1
        print(f"seed {seed}: {what}")
        if self.failures > 3:
            return
        small = self.shrink(program, configuration)
        path = pathlib.Path(f"differential-{seed}.pl")
        path.write_text(prolog(small, "\\+ ") + LEAFLOG_PRINT, encoding="utf-8")
        print(f"seed {seed}: shrunk to {path} with {' '.join(options_of(configuration))}"
              f" -t {configuration[3]}:\n{path.read_text(encoding='utf-8')}")

    def batch(self, seeds: range) -> None:
        programs = [Generator(random.Random(seed)).program() for seed in seeds]
        swipl: list[list[str]] = []
        if self.swipl:
            swipl = ask_swipl(programs, self.folder)
            if len(swipl) != len(programs):
                raise RuntimeError(f"swipl answered {len(swipl)} of {len(programs)} programs")
        for i, seed in enumerate(seeds):
            configuration = CONFIGURATIONS[seed % len(CONFIGURATIONS)]
            theirs = swipl[i] if self.swipl else None
            what = self.difference(programs[i], configuration, theirs)
            if what is not None:
                self.report(seed, programs[i], configuration, what)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("leaflog", help="the program to test")
    parser.add_argument("-n", type=int, default=200, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tester = Tester(args.leaflog, pathlib.Path(folder))
        if not tester.swipl and not tester.clingo:
            print("skipped: neither swipl nor clingo is installed")
            return 77
        for name in ("swipl", "clingo"):
            if not getattr(tester, name):
                print(f"left out: {name} is not installed")
        last = args.seed + args.n
        for start in range(args.seed, last, 40):
            tester.batch(range(start, min(start + 40, last)))
        print(f"{args.n} programs from seed {args.seed}: {tester.failures} differences")
    return 1 if tester.failures else 0


if __name__ == "__main__":
    sys.exit(main())
