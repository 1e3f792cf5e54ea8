#!/usr/bin/env bash
# Runs a command on a busy machine: N programs that do nothing but compute beside it. `busy.sh 30 CMD...`.
set -u
count=$1
shift
children=()
trap 'kill "${children[@]}" 2>/dev/null; wait 2>/dev/null' EXIT
for ((i = 0; i < count; i++)); do
    (while :; do :; done) &
    children+=($!)
done
"$@"
