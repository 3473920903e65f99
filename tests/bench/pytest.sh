#!/bin/sh
# SPDX-License-Identifier: MIT
# pytest by the first Python that has what bigleaf-bench needs.
set -eu

for python in "${BIGLEAF_BENCH_PYTHON:-}" \
    "$BIGLEAF_SOURCE/build/bench-venv/bin/python" /usr/bin/python3; do
    if [ -x "$python" ] && "$python" -c \
        'import benchexec, jinja2, matplotlib, pandas, pytest, rich' \
        2>/dev/null; then
        PYTHONPATH=$BIGLEAF_SOURCE/bench
        # What ./dev built for lack of a package.
        BIGLEAF_BENCH_PATH=$BIGLEAF_SOURCE/build/bench-tools
        export PYTHONPATH BIGLEAF_BENCH_PATH
        exec "$python" -B -m pytest -q -rs -p no:cacheprovider "$@"
    fi
done
echo "no Python with benchexec, matplotlib, pandas, rich, jinja2 and pytest:" \
    "./dev bench makes one"
exit 77
