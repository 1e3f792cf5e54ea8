#!/usr/bin/env python3
"""templates.py: each template of an adapter works as it stands, and faults of its clock reach it.

    python3 tests/adapters/templates.py ./picklock

One whose toolchain is missing is skipped, with the reason. Go, and C linked statically, read their
clocks past libc: there the fault must get through the kernel's pages.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEMPLATES = os.path.join(TOP, "adapters", "templates")
# name, what it takes, how it is built in the place, how it is run
ROWS = [
    ("Python", "python3", "", "python3 {top}/adapter.py"),
    ("JavaScript", "node", "", "node {top}/adapter.js"),
    ("Go", "go", "go build -o {place}/go {top}/adapter.go", "{place}/go"),
    ("Rust", "rustc", "rustc -O -o {place}/rust {top}/adapter.rs", "{place}/rust"),
    ("Java", "javac", "javac -d {place} {top}/Adapter.java", "java -XX:TieredStopAtLevel=1 -cp {place} Adapter"),
    ("C", "cc", "cc -Wall -Wextra -Werror -o {place}/c {top}/adapter.c", "{place}/c"),
    ("C, static", "cc", "cc -static -o {place}/static {top}/adapter.c", "{place}/static"),
]
SCENARIO = """version: 1
name: template
about: Two clients of a template; the clock of each is moved.
lock: {algorithm: single, ttl: 3s, retry: {count: 3, delay: 50ms, jitter: 50ms}}
nodes: {count: 1}
clients: {count: 2, sections: 4, hold: 100ms, extend_every: 40ms}
duration: 60s
faults:
  - {on: client 1 after_granted, do: clock_jump, target: client 1, by: 11s}
  - {on: client 2 after_granted, for: 600ms, do: clock_rate, target: client 2, rate: 1.5}
expect: {exclusion: pass, exercised: pass}
"""
UNREACHED = "the clock of the adapter of client 1 cannot be moved: "


def run(picklock, place, adapter):
    path = os.path.join(place, "template.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(SCENARIO)
    command = [picklock, "run", path, "--world", "real", "--json", "--keep", "always", "--adapter", adapter]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    runs = [r for r in runs if r["type"] == "run"]
    events = []
    if runs and "folder" in runs[0]:
        with open(os.path.join(place, runs[0]["folder"], "history.jsonl"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        shutil.rmtree(os.path.join(place, "picklock-out"))
    return done.returncode, runs, events


def check(name, holds, told):
    print(f"templates: {name}: {'ok' if holds else 'FAILED'}")
    if not holds:
        print(str(told)[:2000])
    return holds


def works(picklock, place, name, adapter):
    code, runs, events = run(picklock, place, adapter)
    seen = {e["fault"]: e["numbers"][1] for e in events if e.get("f") == "effect"}
    jumped = abs(seen.get(1, 0) - 11e9) < 5e8  # its own clock said so
    drifted = seen.get(2, 0) > 1200000  # a busy machine answers late, and then it seems to be more
    extended = any(e.get("f") == "extend" and e.get("type") == "ok" for e in events)
    holds = code == 0 and jumped and drifted and extended
    return check(f"{name} works, and its clock follows", holds, (code, seen, extended, runs))


def unreached(picklock, place):
    """A program that loads nothing of ours is told before the run, never taken for moved."""
    adapter = f"sh -c 'unset LD_PRELOAD; python3 {TEMPLATES}/adapter.py'"
    code, runs, events = run(picklock, place, adapter)
    why = runs[0].get("why", "") if runs else ""
    holds = code == 3 and why.startswith(UNREACHED) and not events
    return check("a clock that cannot be moved is told before the run", holds, (code, why, runs))


def main():
    picklock = os.path.abspath(sys.argv[1])
    results = []
    with tempfile.TemporaryDirectory() as place:
        words = {"top": TEMPLATES, "place": place}
        results.append(unreached(picklock, place))
        for name, needs, build, adapter in ROWS:
            if shutil.which(needs) is None:
                print(f"templates: {name}: skipped: {needs} is missing")
                continue
            built = subprocess.run(build.format(**words), shell=True, capture_output=True, text=True, check=False)
            if check(f"{name} builds", built.returncode == 0, built.stderr):
                results.append(works(picklock, place, name, adapter.format(**words)))
            else:
                results.append(False)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
