#!/usr/bin/env python3
"""planted_run.py: bugs planted in locks that are no code of ours are caught, and blamed on the lock.

    python3 tests/adapters/planted_run.py ./picklock [OPTION]...

    --lock NAME     one of the locks of this folder (default: all)
    --bug NAME      this bug only; again for more
    --sample I/N    bugs I, I+N, I+2N ... only
    --runs N        so many runs of each correct lock, over all scenarios, none of which may be blamed
    --from N        the first of those runs, for a part of many (default: 0)
    --busy N        N busy processes beside the second half of those runs
    --jobs N        runs at the same time (default: 4)
    --every         each bug in every scenario, for a table of what sees what

A bug is caught when a check fails and blames the library, in the scenario of its row (and, as
a rule, by that check) within three runs: all of them are of scenarios/library, which `picklock run --adapter CMD` runs without a file.
"""
import argparse
import concurrent.futures
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LOCKS = ["planted", "renewing", "watchdog", "reentrant", "reversed", "shared"]
TRIES = 3


def scenario_path(name):
    path = os.path.join(TOP, "scenarios", "library", name + ".yaml")
    if not os.path.exists(path):
        sys.exit(f"planted: no scenario of the library is called {name}")
    return path


def run(picklock, scenario, adapter, seed=1, keep=None):
    """One run: what --json says of it."""
    with tempfile.TemporaryDirectory() as place:
        command = [picklock, "run", scenario_path(scenario), "--world", "real", "--json"]
        command += ["--jobs", "1", "--seed", str(seed), "--adapter", adapter]
        command += ["--out", keep] if keep else ["--keep", "never"]
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return {"status": "error", "checks": {}, "why": "not done after 300 s"}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        if told["type"] == "run":
            return told
        if told["type"] == "apart":
            return {"status": "does not apply", "checks": {}}
    return {"status": "error", "checks": {}, "why": done.stderr[-400:]}


def blamed(told):
    """The checks that fail and blame the library."""
    checks = told["checks"].items()
    return [c for c, v in checks if v["verdict"] == "fail" and v.get("blame") == "library"]


def command_of(lock, bug=None):
    return f"python3 {HERE}/{lock}.py" + (f" --bug {bug}" if bug else "")


def bugs_of(lock):
    return importlib.import_module(lock + "_bugs")


def scenarios_of(lock):
    """Every scenario of the library for as many nodes as it has: what a correct lock must stand."""
    first = "many-" if lock in ("planted", "renewing") else "one-"
    names = os.listdir(os.path.join(TOP, "scenarios", "library"))
    return sorted(n.removesuffix(".yaml") for n in names if n.startswith(first))


def ask(picklock, scenario, command):
    """One run, or up to TRIES: on a busy machine some of what a bug does is too late to be seen."""
    for _ in range(TRIES):
        told = run(picklock, scenario, command)
        if blamed(told):
            break
    return told


def judge(picklock, lock, name, every):
    """Whether one bug is caught as its row says, and the line that tells of it."""
    sentence, scenario, check = bugs_of(lock).BUGS[name]
    seen = {}
    for one in scenarios_of(lock) if every else [scenario]:
        told = ask(picklock, one, command_of(lock, name))
        seen[one] = blamed(told)
        if one == scenario:
            status, why = told["status"], told.get("why", "")
    caught = bool(seen[scenario])
    others = " ".join(sorted(seen[scenario], key=lambda c: c != check))
    line = f"{lock:10} {name:36} {scenario:30} "
    line += others if caught else f"MISSED: {status} {seen[scenario]} {why[:200]}"
    for one in seen:
        if one != scenario and seen[one]:
            line += f"\n{'':48}{one:30} {' '.join(seen[one])}"
    return caught, line


def catch(picklock, chosen, jobs, every):
    """Each chosen bug; gives the number that was missed."""
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for caught, line in pool.map(lambda c: judge(picklock, *c, every), chosen):
            missed += not caught
            print(line, flush=True)
    print(f"planted: {len(chosen) - missed} of {len(chosen)} bugs caught and blamed on the library")
    return missed


def innocent(picklock, lock, numbers, jobs, keep):
    """The correct lock, over and over; gives the number of runs in which it was blamed."""
    scenarios, wrong = scenarios_of(lock), 0
    random.Random(1).shuffle(scenarios)  # a part of them is one of every sort

    def one(number):
        seed = 1 + number // len(scenarios)
        scenario = scenarios[number % len(scenarios)]
        return scenario, seed, run(picklock, scenario, command_of(lock), seed, keep)

    status = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for scenario, seed, told in pool.map(one, numbers):
            status[told["status"]] = status.get(told["status"], 0) + 1
            checks = blamed(told)
            wrong += bool(checks)
            if checks or told["status"] == "error":
                print(f"{lock}: {scenario} seed {seed}: {checks} {told.get('why', '')}", flush=True)
    told = ", ".join(f"{n} {word}" for word, n in sorted(status.items()))
    print(f"planted: {lock}: blamed in {wrong} of {len(numbers)} runs ({told})", flush=True)
    return wrong


def beside(busy):
    """Processes that do nothing but that."""
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("picklock")
    parser.add_argument("--lock", choices=LOCKS)
    parser.add_argument("--bug", action="append")
    parser.add_argument("--sample", default="0/1")
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--keep", help="keep runs that are not as expected in this folder")
    options = parser.parse_args()
    picklock, locks = os.path.abspath(options.picklock), [options.lock] if options.lock else LOCKS
    sys.path.insert(0, HERE)
    chosen = [(lock, name) for lock in locks for name in bugs_of(lock).BUGS]
    if options.bug:
        chosen = [(lock, name) for lock, name in chosen if name in options.bug]
    index, count = map(int, options.sample.split("/"))
    chosen = chosen[index::count]
    unseen = [(lock, name, row) for lock in locks for name, row in bugs_of(lock).UNSEEN.items()]
    for lock, name, row in unseen:
        print(f"{lock:10} {name:36} nothing can see it: {row[1]}")
    for lock in locks:
        for name, row in bugs_of(lock).MISSED.items():
            print(f"{lock:10} {name:36} not caught yet: {row[1]}")
    wrong = catch(picklock, chosen, options.jobs, options.every) if chosen else 0
    for lock in locks if options.runs else ():
        numbers = range(options.first, options.first + options.runs)
        quiet = len(numbers) - len(numbers) // 2 if options.busy else len(numbers)
        wrong += innocent(picklock, lock, numbers[:quiet], options.jobs, options.keep)
        if options.busy:
            others = beside(options.busy)
            try:
                wrong += innocent(picklock, lock, numbers[quiet:], options.jobs, options.keep)
            finally:
                for other in others:
                    other.kill()
                    other.wait()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
