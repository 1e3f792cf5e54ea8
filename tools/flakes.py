#!/usr/bin/env python3
"""Is a verdict luck? Runs the corpus on real servers again and again and keeps every run that is not as its file
expects. `flakes.py ./picklock --runs 3000 --out FOLDER`; `make flakes RUNS=3000 BUSY=30` puts a busy machine beside it.

Every pass takes the files in another order and with another seed, in slices, so that each meets other neighbours. What
is in FOLDER is added to: stop it when you like, and go on with the same words. FOLDER/runs.jsonl has a line a run,
FOLDER/runs/ the whole of each run that differed.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picklock")
    parser.add_argument("files", nargs="*", default=[ROOT / "scenarios"], help="files or folders (scenarios)")
    parser.add_argument("--runs", type=int, default=3000, help="how many all in all, those of earlier calls among them")
    parser.add_argument("--out", default="flakes", help="folder of the results")
    parser.add_argument("--slice", type=int, default=40, help="files in one call of picklock")
    parser.add_argument("--jobs", type=int, default=6)
    return parser.parse_args()


def scenarios(names):
    found = []
    for name in map(pathlib.Path, names):
        found += [name] if name.is_file() else sorted(name.rglob("*.yaml"))
    return [path for path in found if path.name != "cluster.yaml"]


def known(path):
    """The runs of earlier calls; a line cut short by a kill is none."""
    lines = []
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                pass
    return lines


def unlike(run):
    """The checks that made a run what it is, in the reader's words."""
    found = run.get("unmet") or [name for name, check in run["checks"].items() if check["verdict"] == "unknown"]
    if isinstance(found, dict):
        found = list(found)
    return [check if isinstance(check, str) else check.get("check", str(check)) for check in found]


def run_slice(options, out, files, seed):
    """Run the files once; the lines of those that ran."""
    results = out / "slice.jsonl"
    results.unlink(missing_ok=True)
    done = subprocess.run([options.picklock, "run", *files, "--world", "real", "--seed", str(seed), "--jobs",
                           str(options.jobs), "--out", out / "runs", "--keep-last", "10000", "--results", results, "-q"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = known(results)
    if done.returncode not in (0, 1, 2):
        print(f"picklock ended with {done.returncode}: {done.stderr.strip()[-2000:]}", flush=True)
    return [line for line in lines if line["type"] != "summary"]


def main():
    options = arguments()
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    record = out / "runs.jsonl"
    runs = known(record)
    files = scenarios(options.files)
    apart = set()
    number = max((run["pass"] for run in runs), default=0)
    while len(runs) < options.runs:
        number += 1
        order = [path for path in files if path not in apart]
        if not order:
            sys.exit("nothing here runs on real servers")
        random.Random(number).shuffle(order)
        for first in range(0, len(order), options.slice):
            load = os.getloadavg()[0]
            for line in run_slice(options, out, order[first:first + options.slice], number):
                if line["type"] == "apart":
                    apart.update(path for path in files if path.stem == line["scenario"])
                if line["type"] != "run":
                    continue
                run = {"pass": number, "scenario": line["scenario"], "status": line["status"], "load": round(load, 1),
                       "late_tries": line.get("late_tries", 0)}
                if line["status"] != "met":
                    run.update(checks=unlike(line), folder=line.get("folder"), why=line.get("why"))
                    print(json.dumps(run), flush=True)
                runs.append(run)
                with record.open("a") as stream:
                    stream.write(json.dumps(run) + "\n")
            if len(runs) >= options.runs:
                break
    tell(runs)


def tell(runs):
    counts = collections.Counter(run["status"] for run in runs)
    loads = sorted(run["load"] for run in runs)
    changed = len(runs) - counts["met"]
    print(f"flakes_runs {len(runs)} runs\nflakes_changed {changed} runs\n"
          f"flakes_per_1000 {1000 * changed / len(runs):.2f} verdicts")
    print(f"{', '.join(f'{count} {status}' for status, count in sorted(counts.items()))}; "
          f"load {loads[0]} to {loads[-1]}, median {loads[len(loads) // 2]}")
    print(f"flakes_late_tries {sum(run.get('late_tries', 0) for run in runs)} runs begun again for the machine's lateness")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
