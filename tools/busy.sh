#!/usr/bin/env bash
# Runs a command on a busy machine: N programs that do nothing but compute beside it. `busy.sh 30 CMD...`.
set -u
count=$1
shift
children=()
trap 'kill "${children[@]}" 2>/dev/null; wait 2>/dev/null' EXIT
for ((i = 0; i < count; i++)); do
    # Not even killed does it leave them behind: each looks now and then whether it is still there.
    (while kill -0 $$ 2>/dev/null; do for ((j = 0; j < 100000; j++)); do :; done; done) &
    children+=($!)
done
"$@"
