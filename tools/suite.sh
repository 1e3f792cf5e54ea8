#!/bin/sh
# Every scenario in both worlds, each verdict as its file expects, and the worlds agree: as a pipeline runs it.
#
# Undecided is not wrong: a run that this machine was too late for is asked again, by itself, three
# times at most. What is not as expected is never asked twice, and what is never decided is broken.
set -eu
picklock=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# suite COMMAND...: leaves the paths of what it could not decide in $out/undecided.
suite() {
    rm -f "$out/results.jsonl"
    code=0
    "$@" || code=$?
    sed -n 's/.*"path":"\([^"]*\)".*"status":"unknown".*/\1/p' "$out/results.jsonl" | sort -u >"$out/undecided"
    [ -s "$out/undecided" ] || [ "$code" -ne 2 ] || return 1
    return "$code"
}

code=0
begun=$(date +%s)
suite env PICKLOCK="$picklock" PICKLOCK_OUT="$out" deploy/gate.sh || code=$?
echo "suite: a gate run of the default corpus in both worlds took $(($(date +%s) - begun)) s"
for again in 1 2 3; do
    [ "$code" -eq 2 ] || exit "$code"
    echo "suite: undecided, asked again by itself ($again of 3):" $(cat "$out/undecided")
    code=0
    # Paths of the corpus have no spaces.
    suite "$picklock" run $(cat "$out/undecided") --world sim,real --jobs 1 --out "$out" \
        --results "$out/results.jsonl" || code=$?
done
exit "$code"
