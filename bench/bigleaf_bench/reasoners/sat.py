# SPDX-License-Identifier: MIT
"""usage: python -m bigleaf_bench.reasoners.sat SOLVER FILE.cnf [PROOF]

A solver of Python-SAT on a DIMACS file, with the output and exit status of the
SAT competition. The formula goes from one array clause by clause into the
solver, so that Python holds little beside it.
"""

import sys
from pathlib import Path

from pysat.solvers import Solver

from bigleaf_bench import formulas

CHUNK = 10000


def load(solver, formula) -> None:
    ends = [*formula.starts[1:].tolist(), len(formula.literals)]
    starts = formula.starts.tolist()
    for first in range(0, len(starts), CHUNK):
        last = min(first + CHUNK, len(starts))
        literals = formula.literals[starts[first]:ends[last - 1]].tolist()
        for i in range(first, last):
            solver.add_clause(literals[starts[i] - starts[first]:ends[i] - starts[first]])


def main() -> int:
    name, path, *proof = sys.argv[1:]
    try:
        formula = formulas.read(Path(path))
    except (OSError, formulas.Broken) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    with Solver(name=name, with_proof=bool(proof)) as solver:
        load(solver, formula)
        if solver.solve():
            print("s SATISFIABLE")
            print("v", *solver.get_model(), 0)
            return 10
        if proof:
            lines = solver.get_proof() or []
            Path(proof[0]).write_text("\n".join([*lines, "0", ""]), encoding="ascii")
        print("s UNSATISFIABLE")
        return 20


if __name__ == "__main__":
    sys.exit(main())
