#!/usr/bin/env bash
# Runs unit test programs, one a processor at once, and starts none behind one that is broken; ends with "N passed, N failed".
set -u
folder=$(mktemp -d)
export folder
trap 'rm -rf "$folder"' EXIT

# one PROGRAM: a line of what came of it, and, if that is not as it must be, all that it said.
one() {
    local program=$1 start code line tested passing
    local name=${program##*/tests/}
    local log=$folder/${name//\//.}
    start=$(date +%s)
    "$program" >"$log" 2>&1
    code=$?
    line=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -o 'Tested: [0-9]* | Passing: [0-9]* | Failing: [0-9]* | Crashing: [0-9]*' | tail -n 1)
    tested=$(echo "$line" | sed -n 's/Tested: \([0-9]*\).*/\1/p')
    passing=$(echo "$line" | sed -n 's/.*Passing: \([0-9]*\).*/\1/p')
    grep ': skipped: ' "$log" # what is not installed: with its package
    if [ "$code" -eq 0 ] && [ "${tested:-0}" -eq 0 ] && grep -q ': skipped: ' "$log"; then
        echo "0 0" >"$log.counts"
        return 0
    fi
    tested=${tested:-1}
    passing=${passing:-0}
    line="unit: $(basename "$program"): $passing of $tested in $(($(date +%s) - start)) s"
    if [ "$code" -eq 0 ] && [ "$passing" -eq "$tested" ] && [ "$tested" -gt 0 ]; then
        echo "$passing 0" >"$log.counts"
        echo "$line"
        return 0
    fi
    echo "$passing $((tested > passing ? tested - passing : 1))" >"$log.counts"
    printf '%s\n%s\n' "$line" "$(cat "$log")"
    return 255 # xargs starts no more
}
export -f one

code=0
printf '%s\0' "$@" | xargs -0 -r -n 1 -P "$(nproc)" bash -c 'one "$0"' || code=1
cat /dev/null "$folder"/*.counts | awk '{ passed += $1; failed += $2 } END { printf "%d passed, %d failed\n", passed, failed }'
exit "$code"
