#!/bin/bash
# The gate of a pipeline: one run of picklock with all that a pipeline reads. What it shall do comes in the
# environment, so that an action, a job and a hook say it in the same words:
#
#     PICKLOCK_SCENARIOS  files or folders, with spaces between (default: those that came with picklock)
#     PICKLOCK_WORLD      sim, real, or sim,real (default)         PICKLOCK_SEED      number or commit hash
#     PICKLOCK_BUDGET     such as 120s                             PICKLOCK_BASELINE  an earlier results.jsonl
#     PICKLOCK_ADAPTER    command of an adapter                    PICKLOCK_OUT       folder (picklock-out)
#     PICKLOCK_SUMMARY    file that takes a page of Markdown
#
# Leaves OUT/results.jsonl (the next baseline), OUT/junit.xml, and every failing run with its page.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
picklock=${PICKLOCK:-$(command -v picklock || echo "$here/../picklock")}
out=${PICKLOCK_OUT:-picklock-out}
mkdir -p "$out"

read -r -a scenarios <<<"${PICKLOCK_SCENARIOS:-}"
if [ "${#scenarios[@]}" -eq 0 ]; then
    scenarios=("$here/../scenarios")
    [ -d "${scenarios[0]}" ] || scenarios=() # installed: picklock finds its own
fi
options=(--out "$out" --results "$out/results.jsonl" --junit "$out/junit.xml" --quiet)
[ -z "${PICKLOCK_SEED:-}" ] || options+=(--seed "$PICKLOCK_SEED")
[ -z "${PICKLOCK_BUDGET:-}" ] || options+=(--budget "$PICKLOCK_BUDGET")
[ -z "${PICKLOCK_BASELINE:-}" ] || options+=(--baseline "$PICKLOCK_BASELINE")
[ -z "${PICKLOCK_SUMMARY:-}" ] || options+=(--summary "$PICKLOCK_SUMMARY")
if [ -n "${PICKLOCK_ADAPTER:-}" ]; then
    options+=(--adapter "$PICKLOCK_ADAPTER") # in the real world, which is the only one it has
else
    options+=(--world "${PICKLOCK_WORLD:-sim,real}")
fi
exec "$picklock" run "${scenarios[@]}" "${options[@]}"
