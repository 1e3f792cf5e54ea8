#!/usr/bin/env python3
"""run.py: published lock libraries behind adapters get the verdict that they deserve, every time.

    python3 tests/adapters/run.py ./picklock [TIMES]

Skipped, with the reason, where node or the pinned packages (make adapters) are missing.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REDLOCK = os.path.join(TOP, "adapters", "node-redlock")
EXAMPLE = "python3 " + os.path.join(TOP, "adapters", "example", "adapter.py")


def run(picklock, scenario, adapter, *options):
    """Run a scenario with an adapter; gives the exit code and the lines of --json."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(TOP, "scenarios", "adapters", scenario + ".yaml")
        command = [picklock, "run", path, "--world", "real", "--json", "--adapter", adapter]
        done = subprocess.run(
            command + list(options), cwd=place, capture_output=True, text=True, timeout=300
        )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, [line for line in lines if line["type"] == "run"], done.stderr


def check(name, holds, told):
    print(f"adapters: {name}: {'ok' if holds else 'FAILED'}")
    if not holds:
        print(str(told)[:2000])
    return holds


def beta_is_caught(picklock, times):
    adapter = f"node {REDLOCK}/adapter.js 5.0.0-beta.2"
    options = ("--repeat", str(times), "--jobs", "4")
    code, runs, told = run(picklock, "held-replies", adapter, *options)
    caught = [r for r in runs if r["checks"]["validity"] == {"verdict": "fail", "blame": "library"}]
    name = f"redlock 5.0.0-beta.2 returns a spent lease, blamed on the library, {len(caught)}/{times}"
    return check(name, code == 1 and len(caught) == times, (code, runs, told))


def passes(picklock, scenario, version, times):
    adapter = f"node {REDLOCK}/adapter.js {version}"
    options = ("--repeat", str(times), "--jobs", "4")
    code, runs, told = run(picklock, scenario, adapter, *options)
    good = [r for r in runs if r["status"] == "met"]
    name = f"redlock {version} passes {scenario}, {len(good)}/{times}"
    return check(name, code == 0 and len(good) == times, (code, runs, told))


def misbehaviour_is_an_error(picklock, mode, words):
    code, runs, told = run(picklock, "contention", f"{EXAMPLE} {mode}")
    why = runs[0].get("why", "") if runs else told
    holds = code == 3 and all(word in why for word in words)
    return check(f"an adapter's {mode} is exit 3 and named", holds, (code, runs, told))


def main():
    picklock = os.path.abspath(sys.argv[1])
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    results = [
        misbehaviour_is_an_error(picklock, "garbage", ["line 2", "I am not JSON"]),
        misbehaviour_is_an_error(picklock, "die", ["exit code 7", "the last words"]),
        check("the example passes contention", run(picklock, "contention", EXAMPLE)[0] == 0, ""),
    ]
    if shutil.which("node") is None:
        print("adapters: redlock: skipped: node is missing (Debian: apt-get install nodejs npm)")
    elif not os.path.isdir(os.path.join(REDLOCK, "node_modules")):
        print("adapters: redlock: skipped: its packages are missing (make adapters)")
    else:
        results.append(beta_is_caught(picklock, times))
        results.append(passes(picklock, "held-replies", "4.2.0", times))
        results.append(passes(picklock, "contention", "5.0.0-beta.2", 1))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
