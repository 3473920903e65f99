# SPDX-License-Identifier: MIT
"""usage: python -m bigleaf_bench.reasoners.mus FILE.cnf

A minimal unsatisfiable subset by MUSX of Python-SAT; v lines name its clauses.
"""

import sys

from pysat.examples.musx import MUSX

from bigleaf_bench.reasoners.maxsat import soft


def main() -> int:
    with MUSX(soft(sys.argv[1]), solver="g4", verbosity=0) as reasoner:
        core = reasoner.compute()
    if core is None:
        print("s SATISFIABLE")
        return 10
    print("s UNSATISFIABLE")
    print("v", *core, 0)
    return 20


if __name__ == "__main__":
    sys.exit(main())
