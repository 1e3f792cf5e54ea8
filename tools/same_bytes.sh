#!/bin/sh
# The same scenario and seed give the same history, byte for byte, whoever built picklock.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
first=""
for picklock in "$@"; do
    out="$folder/$(echo "$picklock" | tr '/' '_')"
    "$picklock" run scenarios --world sim --seed 7 --keep always --out "$out" --json >"$out.json" || true
    (cd "$out" && find . -name history.jsonl -print0 | sort -z | xargs -0 sha256sum) >"$out.sums"
    [ -s "$out.sums" ] || { echo "same_bytes: $picklock left no history"; exit 1; }
    if [ -z "$first" ]; then
        first=$out.sums
    elif ! cmp -s "$first" "$out.sums"; then
        echo "same_bytes: $picklock and $1 disagree:"
        diff "$first" "$out.sums" | head -n 10
        exit 1
    fi
done
echo "same_bytes: $(wc -l <"$first") histories, the same from $# builds"
