#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test_peers.sh LIBRARY: a row for a program, all of its runs saved; one that
# ends in another way under another allocator is no measurement. Orders: each
# follows each other equally often. Means: of two programs, without the first
# round and without one that was interrupted.
set -eu

library=$1
peers="$(dirname "$0")/peers.py"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "FAILED  $1"
    exit 1
}

python3 "$peers" --rounds=2 --warm=8 --save="$folder/runs" \
    --program="sums=sha256sum $peers" "ours=$library,BIGLEAF_PAGES=thp" \
    >"$folder/table"
grep -q '^| sums |.*\[.*\]' "$folder/table" || fail "no row"
[ "$(grep -c '"program": "sums"' "$folder/runs")" = 6 ] ||
    fail "not every run was saved"

if python3 "$peers" --rounds=2 --same=BIGLEAF_PAGES --program="other=env" \
    "ours=$library,BIGLEAF_PAGES=thp" 2>"$folder/message" >/dev/null; then
    fail "another output was not seen"
fi
grep -q "peers.py: other ended with 0, .*before with 0" "$folder/message" ||
    fail "no clear line"
# shellcheck disable=SC2016 # for the program's own shell
if python3 "$peers" --rounds=2 --program='dies=sh -c "kill -SEGV $$"' \
    "ours=$library" 2>"$folder/message" >/dev/null; then
    fail "runs that crashed were measured"
fi
grep -q "^peers.py: dies was ended by signal 11, which" "$folder/message" ||
    fail "no clear line of a crash"
if python3 "$peers" --rounds=2 --warm=999999999 --program="none=true" \
    "ours=$library" 2>"$folder/message" >/dev/null; then
    fail "more than there is was warmed up"
fi
grep -q "^peers.py: --warm=999999999: cannot touch" "$folder/message" ||
    fail "no clear line of what cannot be warmed up"

PYTHONPATH="$(dirname "$0")" python3 -c '
import peers
for count, rows in (2, 2), (3, 6), (4, 4), (5, 10), (6, 6):
    pairs = []
    for turn in range(rows):
        row = peers.order(count, turn)
        assert sorted(row) == list(range(count)), row
        pairs += zip(row, row[1:])
    counts = {pairs.count(pair) for pair in pairs}
    assert len(counts) == 1 and len(set(pairs)) == count * (count - 1), count
' || fail "an order is not balanced"

run() { # PROGRAM ALLOCATOR ROUND CPU KIB
    printf '{"program": "%s", "allocator": "%s", "round": %s, ' "$1" "$2" "$3"
    printf '"cpu": %s, "system": 0.0, "kib": %s}\n' "$4" "$5"
}
of_a() { # ROUND
    run a glibc "$1" 2.0 100
    run a ours "$1" 1.0 100
}
{
    for round in 0 1 2; do
        of_a $round
        run b glibc $round 1.0 400
        run b ours $round 2.0 100
    done
    run a ours 0 9.0 900
    run a glibc 1 4.0 200 # and then the machine went down
    for round in 0 1 2; do
        of_a $round
    done
} >"$folder/saved"
python3 "${peers%peers.py}means.py" "$folder/saved" >"$folder/means"
grep -qF '| a (4) | 2.00 | 0.500 [0.500 0.500], 0.00, 1.00 |' "$folder/means" ||
    fail "no row of a program"
grep -qF '| geometric mean, CPU / memory |  | 1.000 / 0.50 |' "$folder/means" ||
    fail "no means"
echo "1 passed, 0 failed, 0 skipped"
