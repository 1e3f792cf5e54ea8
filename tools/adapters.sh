#!/usr/bin/env bash
# Build the adapters in adapters/ whose toolchain is here; says what is skipped, and how to get it.
set -uo pipefail
cd "$(dirname "$0")/../adapters"
failed=0

# build NAME TOOL PACKAGE COMMAND...
build() {
    local name=$1 tool=$2 package=$3
    shift 3
    if ! command -v "$tool" >/dev/null; then
        echo "adapters: $name: skipped: $tool is missing (Debian: apt-get install $package)"
    elif (cd "$name" && "$@"); then
        echo "adapters: $name: built"
    else
        echo "adapters: $name: FAILED"
        failed=1
    fi
}

redis_py() {
    python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
}

# -B: no progress; the libraries lie beside the classes, so that `java -cp` needs no Maven.
redisson() {
    mvn -q -B package dependency:copy-dependencies -DoutputDirectory=target/lib
}

# ... and what starts a member, and what Java made of its classes.
hazelcast() {
    redisson && install hazelcast-member target/ && { target/hazelcast-member archive >/dev/null 2>&1 || true; }
}

for name in node-redlock redis-semaphore sesamecare-redlock; do
    build "$name" npm npm npm ci --no-audit --no-fund --loglevel=error
done
build redis-py python3 python3-venv redis_py
build redsync go golang-go go build -o adapter .
build etcd go golang-go go build -ldflags '-s -w' -o ../../build/adapters/etcd .
build rslock cargo cargo cargo build --quiet --release --locked
build redisson mvn maven redisson
build hazelcast mvn maven hazelcast
exit $failed
