#!/bin/sh
# One shard, for an engine that runs again what does not end with 0.
#
#     deploy/shard.sh K N OUT [ARGUMENT OF picklock run]...
#
# picklock's codes 0, 1 and 2 are results: they are in the file that the shard leaves, and running it
# again would tell the same. What is left is trouble (3 the environment, 4 a bad command, 130 and
# more: killed): the engine hears of it, and the shard, which left no file, can be run again.
set -u
shard=$1
shards=$2
out=$3
shift 3
"${PICKLOCK:-picklock}" run "$@" --shard "$shard/$shards" --out "$out" --quiet
code=$?
case $code in
0 | 1 | 2) exit 0 ;;
*) exit "$code" ;;
esac
