#!/bin/sh
# Fuzzes each program for some seconds from its committed corpus, one on each processor; new inputs stay in build/.
set -eu
seconds=$1
shift

# fuzz PROGRAM
fuzz() {
    name=$(basename "$1" | sed 's/^fuzz_//')
    fresh=$(dirname "$1")/corpus-$name
    mkdir -p "$fresh"
    log=$(dirname "$1")/$name.log
    if ! "$1" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=65536 \
        -artifact_prefix="$fresh-crash-" "$fresh" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
        tail -n 40 "$log"
        echo "fuzz: $name found a crash; the input is beside $fresh"
        return 1
    fi
    echo "fuzz: $name: $(grep -o 'Done [0-9]* runs in [0-9]* second' "$log" | tail -n 1)s, no crash"
}

while [ $# -gt 0 ]; do
    running=""
    for _ in $(seq "$(nproc)"); do
        [ $# -gt 0 ] || break
        fuzz "$1" &
        running="$running $!"
        shift
    done
    for one in $running; do
        wait "$one"
    done
done
