#!/bin/sh
# The same scenario and seed give the same history, byte for byte, whoever built picklock.
#
#     tools/same_bytes.sh [--seeds A..B] [--but SED] PICKLOCK PICKLOCK...
#
# Seed 7 alone where no seeds are named. SED is done to every history before they are compared: for
# a change that was meant, so that nothing else may differ.
set -eu
seeds=7..7
but=""
while [ "${1#--}" != "${1:-}" ]; do
    case $1 in
    --seeds) seeds=$2 ;;
    --but) but=$2 ;;
    *)
        echo "same_bytes: unknown option $1" >&2
        exit 4
        ;;
    esac
    shift 2
done
[ $# -ge 2 ] || { echo "usage: tools/same_bytes.sh [--seeds A..B] [--but SED] PICKLOCK PICKLOCK..." >&2; exit 4; }
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The hash of every history that a build records, by scenario and seed.
sums() {
    "$1" run scenarios --world sim --seeds "$seeds" --keep always --out "$2" --json >"$2.json" || true
    (cd "$2" && find . -name history.jsonl | sort | while read -r history; do
        echo "$(sed -e "$but" "$history" | sha256sum | cut -d ' ' -f 1) $history"
    done) >"$2.sums"
    rm -rf "$2"
}

first=""
for picklock in "$@"; do
    out="$folder/$(echo "$picklock" | tr '/' '_')"
    mkdir -p "$out"
    sums "$picklock" "$out"
    [ -s "$out.sums" ] || { echo "same_bytes: $picklock left no history"; exit 1; }
    if [ -z "$first" ]; then
        first=$out.sums
    elif ! cmp -s "$first" "$out.sums"; then
        echo "same_bytes: $picklock and $1 disagree in $(diff "$first" "$out.sums" | grep -c '^>') histories:"
        diff "$first" "$out.sums" | head -n 10
        exit 1
    fi
done
echo "same_bytes: $(wc -l <"$first") histories, the same from $# builds"
