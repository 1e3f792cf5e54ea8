#!/bin/sh
# Runs the benchmark programs: prints "name value unit", a line a figure, and writes build/bench.json.
set -eu
build=$1
only=${2:-}
figures=$(mktemp)
trap 'rm -f "$figures"' EXIT
sed -n 's/^model name[^:]*: /# machine: /p' /proc/cpuinfo | head -n 1
echo "# cores: $(nproc), $(uname -sr)"
for program in "$build"/bench/bench_*; do
    case $program in *.o | *.d) continue ;; esac
    group=$(basename "$program" | sed 's/^bench_//')
    [ -z "$only" ] || [ "$only" = "$group" ] || continue
    echo "# $group"
    "$program" | tee -a "$figures"
done
awk 'BEGIN { printf "{" }
     /^[a-z][a-z0-9_]* [-0-9.e+]+( |$)/ { printf "%s\n  \"%s\": %s", (n++ ? "," : ""), $1, $2 }
     END { print "\n}" }' "$figures" >build/bench.json
echo "# written: build/bench.json"
