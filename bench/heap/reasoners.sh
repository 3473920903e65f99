#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs the seven reasoners of docs/design/heap.md for several allocators in
# turn, a campaign on each of two cores at once, and prints the table.
#
# usage: reasoners.sh FOLDER RESULTS [--rounds=N] NAME=LIBRARY[,VAR=VALUE...]...
#
# FOLDER holds the instances, unpacked; RESULTS is a new folder for every run as
# JSON. Nothing else should run meanwhile; 7 rounds of 7 allocators take half an
# hour. A hugetlb pool is for the caller to set up, touch and give back.
set -euo pipefail

usage() {
    sed -n '/^# usage/s/^# //p' "$0" >&2
    exit 2
}

[ $# -ge 3 ] || usage
here=$(dirname "$(realpath "$0")")
folder=$1 results=$2
shift 2
if [ ! -d "$folder" ]; then
    echo "reasoners.sh: $folder: no such folder" >&2
    exit 2
fi
mkdir "$results" || exit 3

trap 'jobs -p | xargs -r kill 2>/dev/null || true' EXIT

# campaign CORE NAME=COMMAND... &: on one core, for the allocators in `peers`.
peers=("$@")
campaign() {
    local core=$1
    shift
    exec taskset -c "$core" python3 "$here/peers.py" \
        --save="$results/$core.json" "${@/#/--program=}" "${peers[@]}" \
        > "$results/$core.txt"
}

bmc="bmc3 -F 150"
campaign 0 \
    "z3 ponylink=z3 $folder/hw_ponylink-slaveTXlen-sat_k6.smt2" \
    "cvc5 zipcpu=cvc5 $folder/hw_zipcpu_zipcpu_piped-p000_k12.smt2" \
    "minisat beem=minisat -verb=0 $folder/bmc_beemskbn3f1_k20.cnf" &
campaign 1 \
    "cadical oski=cadical -q -n $folder/bmc_oski3b0i_k20.cnf" \
    "clasp labyrinth=clasp -q $folder/0130-labyrinth-14-0.encoding_single.sm" \
    "cadical beem=cadical -q -n $folder/bmc_beemskbn3f1_k20.cnf" \
    "abc 6s202=berkeley-abc -c 'read_aiger $folder/6s202b41.aig; fold; $bmc'" &
wait -n # the first that fails ends both
wait -n
python3 "$here/means.py" "$results"/[01].json
