#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test_trace.sh RECORDER REPLAY MICRO LIBRARY: what is recorded is replayed,
# call for call, under glibc and under ours; a file that is no trace is named.
set -eu

recorder=$1 replay=$2 micro=$3 library=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "FAILED  $1"
    exit 1
}

calls_of() {
    sed -n 's/.*"calls": \([0-9]*\).*/\1/p' "$1"
}

HEAP_TRACE="$folder/t.heap" LD_PRELOAD="$recorder" sort "$0" >"$folder/sorted"
sort "$0" | cmp - "$folder/sorted" || fail "the recorder changed the output"
"$replay" "$folder/t.heap" >"$folder/glibc"
LD_PRELOAD="$library" "$replay" --touch=pages "$folder/t.heap" >"$folder/ours"
[ "$(calls_of "$folder/glibc")" -gt 10 ] || fail "hardly a call was recorded"
[ "$(calls_of "$folder/glibc")" = "$(calls_of "$folder/ours")" ] ||
    fail "two replays of one trace differ in their calls"

if "$replay" "$0.absent" 2>"$folder/message"; then
    fail "a trace that is not there was replayed"
fi
grep -q "$0.absent: cannot be read" "$folder/message" || fail "no clear line"

LD_PRELOAD="$library" timeout 60 "$micro" lifetimes >"$folder/micro"
grep -q '"scenario": "lifetimes"' "$folder/micro" || fail "no figures"
if "$micro" nothing 2>"$folder/message"; then
    fail "an unknown scenario was run"
fi
echo "1 passed, 0 failed, 0 skipped"
