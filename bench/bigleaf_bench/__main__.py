# SPDX-License-Identifier: MIT
"""`python -m bigleaf_bench` is `bigleaf-bench`."""

import sys

from bigleaf_bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
