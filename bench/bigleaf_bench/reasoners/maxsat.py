# SPDX-License-Identifier: MIT
"""usage: python -m bigleaf_bench.reasoners.maxsat FILE.wcnf|FILE.cnf

MaxSAT by RC2 of Python-SAT. In a plain CNF every clause is soft and weighs 1.
"""

import sys

from pysat.examples.rc2 import RC2, RC2Stratified
from pysat.formula import CNF, WCNF


def soft(path: str) -> WCNF:
    result = WCNF()
    for clause in CNF(from_file=path).clauses:
        result.append(clause, weight=1)
    return result


def main() -> int:
    path = sys.argv[1]
    formula = soft(path) if path.endswith(".cnf") else WCNF(from_file=path)
    search = RC2Stratified if len(set(formula.wght)) > 1 else RC2
    with search(formula, solver="g4", adapt=True, exhaust=True) as reasoner:
        model = reasoner.compute()
        if model is None:
            print("s UNSATISFIABLE")
            return 20
        print(f"o {reasoner.cost}\ns OPTIMUM FOUND")
        print("v", *model, 0)
        return 30


if __name__ == "__main__":
    sys.exit(main())
