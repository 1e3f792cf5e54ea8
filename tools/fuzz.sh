#!/bin/sh
# Fuzzes each program for some seconds from its committed corpus; new inputs stay in build/.
set -eu
seconds=$1
shift
for program in "$@"; do
    name=$(basename "$program" | sed 's/^fuzz_//')
    fresh=$(dirname "$program")/corpus-$name
    mkdir -p "$fresh"
    log=$(dirname "$program")/$name.log
    if ! "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=65536 \
        -artifact_prefix="$fresh-crash-" "$fresh" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
        tail -n 40 "$log"
        echo "fuzz: $name found a crash; the input is beside $fresh"
        exit 1
    fi
    echo "fuzz: $name: $(grep -o 'Done [0-9]* runs in [0-9]* second' "$log" | tail -n 1)s, no crash"
done
