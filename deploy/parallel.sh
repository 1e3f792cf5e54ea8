#!/bin/sh
# A search in N shards on the cores of this machine, by GNU parallel; then one result.
#
#     deploy/parallel.sh N OUT [ARGUMENT OF picklock run]...
#
# OUT keeps what is done: after a crash the same command does what is missing. A shard that ends in
# trouble is tried three times. The exit code is that of the whole search.
set -u
shards=$1
out=$2
shift 2
mkdir -p "$out"
here=$(dirname "$0")
export PICKLOCK="${PICKLOCK:-picklock}"
# Each shard by itself uses one core: --jobs 1. --resume-failed leaves out what ended well before.
parallel --will-cite --jobs "${JOBS:-100%}" --joblog "$out/joblog" --resume-failed --retries 3 --quote \
    "$here/shard.sh" {} "$shards" "$out" "$@" --jobs 1 ::: $(seq "$shards")
[ $? -le 101 ] || exit 3
exec "$PICKLOCK" merge "$out" --out "$out/merged"
