#!/bin/sh
# The demo: a healthy lock, a published failure, a wrong lock caught, the guarded store saved; then the story.
set -eu
cd "$(dirname "$0")/.."
out=picklock-out

say() {
    printf '\n\033[1m%s\033[0m\n' "$*"
}
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n== %s\n' "$*"; }

run() {
    echo "\$ ./picklock run $*"
    ./picklock run "$@" --out "$out"
}

say "1. Redlock on five real redis-servers, twenty clients at once, no fault: nothing to complain about"
run scenarios/contenders-20.yaml --world real

say "2. A published failure (Kleppmann 2016): the holder stops for longer than its ttl, then writes"
run scenarios/pause-after-granted.yaml --world real --keep always

say "3. Its story, told from the recording"
echo "\$ ./picklock show $out/pause-after-granted/1/real --check store_integrity"
./picklock show "$out/pause-after-granted/1/real" --check store_integrity || [ $? -eq 1 ]

say "4. The same pause, the store guarded by the lock's unique value (antirez 2016): saved"
run scenarios/pause-saved-by-value.yaml --world real

say "5. A wrong lock, which does not look at the clock again after the replies: caught, and blamed"
run scenarios/wrong/no-recheck.yaml --world real --keep always

say "6. Every scenario of the corpus in the simulator: the same code, in virtual time"
run scenarios --world sim

say "7. A thousand random runs of a correct lock in the simulator, each seed with faults of its own"
run scenarios/random --world sim --seeds 1..1000 --keep never

echo
echo "Results are in $out/. Next: ./picklock run scenarios --world sim,real, or docs/SCENARIO.md to write your own."
