#!/bin/sh
# A search as a Slurm array, a task a shard; a last job puts them together.
#
#     deploy/slurm.sh N OUT [ARGUMENT OF picklock run]...        OUT on a file system that all nodes see
#
# A task whose node fails, or that is requeued (scontrol requeue), is run again by Slurm and leaves
# the same file. A task whose picklock is killed ends as FAILED and is not run again, unless the
# cluster's slurm.conf says RequeueExit=3,130,137: then the last job names what is missing, and
# `ARRAY=3,7 deploy/slurm.sh N OUT ...` runs those again.
set -eu
shards=$1
out=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out/logs"
quoted=
for word in "$@"; do
    quoted="$quoted '$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'"
done
search=$(sbatch --parsable --array="${ARRAY:-1-$shards}" --requeue --open-mode=append --cpus-per-task=1 \
    --job-name=picklock --output="$out/logs/%a.log" \
    --wrap="exec '$here/shard.sh' \$SLURM_ARRAY_TASK_ID $shards '$out' $quoted --jobs 1")
merge=$(sbatch --parsable --dependency="afterany:$search" --job-name=picklock-merge \
    --output="$out/logs/merge.log" \
    --wrap="'${PICKLOCK:-picklock}' merge '$out' --out '$out/merged' >'$out/result.txt'; echo \$? >'$out/exit-code'")
echo "$search $merge"
