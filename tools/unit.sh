#!/bin/sh
# Runs unit test programs one after the other; ends with "N passed, N failed".
set -u
passed=0
failed=0
broken=""
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in "$@"; do
    start=$(date +%s)
    "$program" >"$log" 2>&1
    code=$?
    line=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -o 'Tested: [0-9]* | Passing: [0-9]* | Failing: [0-9]* | Crashing: [0-9]*' | tail -n 1)
    tested=$(echo "$line" | sed -n 's/Tested: \([0-9]*\).*/\1/p')
    passing=$(echo "$line" | sed -n 's/.*Passing: \([0-9]*\).*/\1/p')
    grep ': skipped: ' "$log" # what is not installed: with its package
    grep -q ': skipped: ' "$log" && [ "$code" -eq 0 ] && [ "${tested:-0}" -eq 0 ] && continue
    tested=${tested:-1}
    passing=${passing:-0}
    passed=$((passed + passing))
    failed=$((failed + tested - passing))
    echo "unit: $(basename "$program"): $passing of $tested in $(($(date +%s) - start)) s"
    if [ "$code" -ne 0 ] || [ "$passing" -ne "$tested" ] || [ "$tested" -eq 0 ]; then
        cat "$log"
        broken="$broken $(basename "$program")"
        [ "$passing" -eq "$tested" ] && failed=$((failed + 1))
        break
    fi
done
echo "$passed passed, $failed failed"
[ -z "$broken" ]
