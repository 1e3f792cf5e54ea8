#!/usr/bin/env python3
"""published.py: what was wrongly said of published libraries is said rightly now.

    python3 tests/adapters/published.py ./picklock

A row is run where its library is installed (make adapters), and said to be skipped where not.
"""
import os
import sys

from planted_run import TOP, ask, blamed, run

ADAPTERS = os.path.join(TOP, "adapters")
LIBRARIES = {
    "redis-semaphore": ("redis-semaphore/node_modules", "node {}/redis-semaphore/adapter.js"),
    "sesamecare-redlock": ("sesamecare-redlock/node_modules", "node {}/sesamecare-redlock/adapter.js"),
    "redis-py": ("redis-py/venv", "{0}/redis-py/venv/bin/python {0}/redis-py/adapter.py"),
    "redisson": (
        "redisson/target/lib",
        "java -cp {0}/redisson/target/classes:{0}/redisson/target/lib/* Adapter",
    ),
    "redsync": ("redsync/adapter", "{}/redsync/adapter"),
    "rslock": (
        "rslock/target/release/picklock-adapter-rslock",
        "{}/rslock/target/release/picklock-adapter-rslock",
    ),
}
# library, scenario, the check that blames it (None: it is not to blame), what it shows
ROWS = [
    ("redis-semaphore", "one-renewed", None, "renewals inside scripts are seen"),
    ("redis-semaphore", "one-evicted", None, "a key with a prefix is found and evicted"),
    ("redis-semaphore", "many-held-replies", "exclusion", "no look at the clock after the replies"),
    ("redis-py", "one-lost-set-replies", "result_truth", "a retried SET NX meets its own key"),
    ("redisson", "one-again", None, "a hash, counted inside a script, is a lock"),
    ("redisson", "one-renewed", None, "a watchdog's renewals inside scripts are seen"),
    ("sesamecare-redlock", "many-held-replies", "section_exclusion", "a spent grant is granted"),
    ("redsync", "many-client-clock-back", None, "clocks of Go are moved, and it goes by another"),
    ("redsync", "many-holder-stopped", None, "a stopped holder is nobody's fault"),
    ("redsync", "many-minority-frozen", "fault_tolerance", "Unlock has no limit per node"),
    ("redsync", "many-extend-frozen", "fault_tolerance", "nor has Extend"),
    ("rslock", "many-extend-reset", "exclusion", "a failed extension deletes live keys"),
]


def holds(picklock, row):
    library, scenario, check, shows = row
    needs, command = LIBRARIES[library]
    name = f"published: {library}: {scenario}: {shows}"
    if not os.path.exists(os.path.join(ADAPTERS, needs)):
        print(f"{name}: skipped: it is not installed (make adapters)")
        return True
    # On a busy machine what blames it may be too late to be seen; what is right is so in any run.
    told = (ask if check else run)(picklock, scenario, command.format(ADAPTERS))
    right = check in blamed(told) if check else not blamed(told) and told["status"] != "error"
    print(f"{name}: {'ok' if right else 'FAILED'}" + ("" if right else f" {told}"), flush=True)
    return right


if __name__ == "__main__":
    sys.exit(0 if all([holds(os.path.abspath(sys.argv[1]), row) for row in ROWS]) else 1)
