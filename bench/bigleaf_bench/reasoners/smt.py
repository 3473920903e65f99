# SPDX-License-Identifier: MIT
"""usage: python -m bigleaf_bench.reasoners.smt FILE.smt2

Bitwuzla as its Python package brings it: its own parser runs the commands of
the file, and prints what its program would.
"""

import sys

import bitwuzla


def main() -> int:
    try:
        bitwuzla.Parser(bitwuzla.TermManager(), bitwuzla.Options()).parse(sys.argv[1])
    except bitwuzla.BitwuzlaException as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
