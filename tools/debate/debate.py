#!/usr/bin/env python3
"""docs/DEBATE.md and scenarios/debate, from the tables beside this file and from runs.

    debate.py ./picklock            run everything in both worlds, write both
    debate.py ./picklock --check    run it in the simulator and compare with what is there
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import claims
import grid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "scenarios"

# What a failed check means for whoever holds the lock: the first that failed is told.
WORDS = [("store_integrity", "store damaged"), ("section_exclusion", "two inside"), ("exclusion", "two leases"),
         ("deadlock_freedom", "never free again"), ("fault_tolerance", "nobody gets it"), ("no_leak", "keys left"),
         ("ownership", "another's key deleted"), ("fence_order", "fences out of order"), ("result_truth", "untrue answer"),
         ("validity", "promise broken"), ("linearizable", "no lock's history"), ("loss_notice", "told too late"),
         ("ttl_truth", "another ttl"), ("answer_consistency", "answers contradict")]

HEAD = """# The debate, run

Redlock's documentation, Kleppmann's critique, antirez' answer: every sentence that can be run, run. Made by `make debate` from
`tools/debate/`, never by hand; a test compares it with fresh runs in the simulator, and `make debate` itself fails where real
servers say anything else.

## What strikes, and what becomes of it

A row is a fault, a column is a lock with or without a guard at the store. A cell is what came of it, with who is to blame, and leads
to the scenario that shows it: `picklock run scenarios/debate/NAME.yaml --world sim,real`. "Assumption" means: no bug of the lock, it
relies on something that this fault takes away. Chubby has no server that anybody could run, and Hazelcast's are run where
`make adapters` has built them: else their columns are the simulator's alone, as are cells whose fault cannot strike real servers
of that kind yet (the clocks of etcd, and how fast ZooKeeper's go). A cell is empty where there is no such fault, or where luck decides what comes of it.

"""

HOW = """
| word | means |
|---|---|
| holds | nothing was broken |
| store damaged | a write was lost, or a stale one accepted |
| two inside | two clients were in their sections at once; the store was saved, or nobody wrote |
| two leases | a lease was granted inside another one; nobody was inside at the same time |
| promise broken | the majority of a holder's keys was gone before its lease was over; nobody came in meanwhile |
| told too late | the holder was told of its loss after the next one had come |

A node "decides" where client 1 reaches nodes 1 to 3 only and client 2 nodes 3 to 5 only: node 3 is in both majorities.
"""


def run(picklock, folder, worlds, *more):
    """What `picklock run` says of each scenario below a folder: {name below scenarios/: {world: checks}}."""
    with tempfile.TemporaryDirectory() as out:
        results = pathlib.Path(out) / "results"
        done = subprocess.run([picklock, "run", *more, "--world", worlds, "--out", f"{out}/out", "--keep", "never", "--quiet",
                               "--results", str(results)], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        lines = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    found = {}
    for line in lines:
        if line.get("type") == "run":
            name = line["path"].removesuffix(".yaml").rpartition("scenarios/")[2]
            found.setdefault(name, {})[line["world"]] = line["checks"]
    return done, found


def word(checks):
    """What a run came to, in words."""
    for check, words in WORDS:
        if checks[check]["verdict"] == "fail":
            return f"{words} ({checks[check].get('blame', 'nobody blamed')})"
    return "holds"


def cells():
    """The grid as ROWS of (heading, [(name, text) or None])."""
    return [(fault[1], [grid.cell(fault, lock) for lock in grid.LOCKS]) for fault in grid.FAULTS]


def write_scenarios(picklock, folder):
    """Write the grid's files below `folder`; what they expect is what the simulator makes of them."""
    debate = folder / "scenarios" / "debate"
    debate.mkdir(parents=True, exist_ok=True)
    for old in debate.glob("*.yaml"):
        old.unlink()
    for _, row in cells():
        for name, text in filter(None, row):
            (debate / f"{name}.yaml").write_text(text)
    done, found = run(picklock, folder, "sim", "scenarios/debate", "--update-expect")
    idle = [name for name, worlds in found.items() if worlds["sim"]["exercised"]["verdict"] != "pass"]
    if done.returncode not in (0, 1) or idle:
        sys.exit(f"debate: {done.stdout}\ndebate: a fault struck nobody in: {' '.join(idle)}")


def link(name, found):
    words = word(found[name]["sim"])
    return f"[{name}](../scenarios/{name}.yaml): {words}"


def page(found):
    text = [HEAD, "| " + " | ".join(["", *(lock.heading for lock in grid.LOCKS)]) + " |\n", "|---" * (len(grid.LOCKS) + 1) + "|\n"]
    for heading, row in cells():
        shown = [f"[{word(found['debate/' + cell[0]]['sim'])}](../scenarios/debate/{cell[0]}.yaml)" if cell else "" for cell in row]
        text.append("| " + " | ".join([heading, *shown]) + " |\n")
    text.append(HOW)
    for heading, source, rows in claims.CLAIMS:
        text.append(f"\n## {heading}\n\n{source}. The sentences are in our words.\n\n")
        text.append("| | claim | what the runs say | where it holds | where it breaks |\n|---|---|---|---|---|\n")
        for number, claim, answer, holds, breaks in rows:
            text.append(f"| {number} | {claim} | {answer} | {'<br>'.join(link(name, found) for name in holds)} | "
                        f"{'<br>'.join(link(name, found) for name in breaks)} |\n")
    return "".join(text)


def shown():
    """Every scenario that the page names."""
    named = {f"debate/{cell[0]}" for _, row in cells() for cell in row if cell}
    return sorted(named | {name for _, _, rows in claims.CLAIMS for row in rows for name in [*row[3], *row[4]]})


def check(picklock):
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        write_scenarios(picklock, folder)
        fresh = {path.name: path.read_text() for path in (folder / "scenarios/debate").iterdir()}
    there = {path.name: path.read_text() for path in (SCENARIOS / "debate").glob("*.yaml")}
    for name in sorted(fresh.keys() | there.keys()):
        if fresh.get(name) != there.get(name):
            wrong.append(f"scenarios/debate/{name} is not what the tables and the simulator make of it")
    done, found = run(picklock, ROOT, "sim", *(f"scenarios/{name}.yaml" for name in shown()))
    if done.returncode != 0:
        wrong.append(f"runs that are not as expected:\n{done.stdout}")
    elif page(found) != (ROOT / "docs/DEBATE.md").read_text():
        wrong.append("docs/DEBATE.md is not what the runs say")
    for line in wrong:
        print(f"debate: {line}; make debate")
    print(f"debate: {len(shown())} scenarios, {sum(len(rows) for _, _, rows in claims.CLAIMS)} claims, {len(wrong)} problems")
    return 1 if wrong else 0


def make(picklock):
    write_scenarios(picklock, ROOT)
    done, found = run(picklock, ROOT, "sim,real", *(f"scenarios/{name}.yaml" for name in shown()), "--jobs", "6")
    if done.returncode != 0:
        print(done.stdout)
        print("debate: the worlds must agree before the page is written")
        return 1
    (ROOT / "docs/DEBATE.md").write_text(page(found))
    print(f"debate: docs/DEBATE.md, from {len(shown())} scenarios in both worlds")
    return 0


if __name__ == "__main__":
    command = str(pathlib.Path(sys.argv[1]).resolve())
    sys.exit(check(command) if "--check" in sys.argv[2:] else make(command))
