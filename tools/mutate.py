#!/usr/bin/env python3
"""mutate.py: changes one thing of a room at a time and sees which test notices.

    make mutate ROOM=lockcore                 400 mutants drawn from a seed that is printed
    make mutate ROOM=lockcore SAMPLE=all      every one
    make mutate ROOM=lockcore BY=verdict      what a scenario's verdict alone convicts, without any unit test

Each mutant is one object file, linked before the room's library; the programs that pass its line (mutate_lines.py) run until one
fails, first the one that noticed most of this file's mutants for its time. What is done stands in build/mutate/ROOM-BY.jsonl, so that an interrupted run goes on where it was. At the end: a
table by kind, and build/mutate/ROOM-BY.survivors.diff. Mutants that nothing can tell from the original are listed with the
reason in docs/MUTANTS.md and are not counted.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(__file__))
from mutants import applied, change, mutants  # noqa: E402
from mutate_lines import Lines  # noqa: E402

# A room: what is mutated, what is left out, and which test programs may notice.
ROOMS = {
    "lockcore": (["lockcore/*.c", "lockcore/*/*.c"], ["lockcore/drivers/", "/wrong/"], ["lockcore", "sim", "harness"]),
    "drivers": (["lockcore/drivers/*.c"], [], ["lockcore", "real"]),
    "sim": (["harness/sim/*.c"], [], ["sim", "harness"]),
    "client": (["harness/client*.c", "harness/actor*.c", "harness/schedule*.c", "harness/store*.c"], [],
               ["harness", "sim", "real"]),
    "scenario": (["harness/scenario*.c"], [], ["harness"]),
    "real": (["harness/real/*/*.c"], ["/preload/"], ["real"]),
    "checker": (["checker/*.c", "checker/*/*.c"], ["checker/linear/", "checker/report/"], ["checker", "judge", "sim"]),
    "linear": (["checker/linear/*.c", "checker/linear/*/*.c"], [], ["checker"]),
    "history": (["history/*.c"], [], ["history", "checker"]),
    "servers": (["servers/*.c", "servers/*/*.c"], [], ["sim", "real"]),
    "wires": (["servers/*/real/*.c"], [], ["real"]),
    "cli": (["cli/*.c"], [], ["cli", "command"]),
}
OUT = "build/mutate"
# Their processes are killed, and then tell of no line that they passed: there all programs run where none is known.
KILLED = {"real", "drivers", "cli", "servers", "wires"}
WAITS = 15  # how much longer than it computes a program may take: the machine may be busy, and it may sleep
# How many histories the tests draw at first; what survives that meets as many as in `make test`.
FEWER = {"PICKLOCK_SOAK": "1500", "PICKLOCK_JUDGED": "4000"}
RUN = ["run", "-q", "--keep", "never", "--jobs", "1", "--world"]
SEEDS = ["--seeds", "1..1000"]  # of each random file
LINES = ["--seeds", "1..200"]  # of them, to see which lines they pass
# Bytes that only a real server reads: every command of Redlock, short and long, and a fence.
REAL = ["alone", "script-flush", "pause-saved-by-fence", "extend-in-time", "release-twice"]


def stop(sentence):
    print(f"mutate: {sentence}", file=sys.stderr)
    sys.exit(4)


def shell(words):
    # Nobody compiles the same mutant twice: a cache would only fill up.
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "CCACHE_DISABLE": "1"})


class Program:
    """What may notice: a test program, the command with its words, or a script that is given the command. `members` are the
    object files inside it."""

    def __init__(self, name, object_file, words, libraries_first, script=None):
        self.name, self.object, self.words, self.first, self.script = name, object_file, words, libraries_first, script
        self.seconds, self.members = 0.0, set()
        self.noticed = collections.Counter()  # by the mutated file
        self.killed = False  # its processes are, and tell of no line that they passed
        self.draws = False  # histories, as many as FEWER says or its own number
        if object_file:
            with open(f"{name}.c", encoding="ascii") as source:
                text = source.read()
                self.draws = any(word in text for word in FEWER)

    def binary(self, folder):
        """Where it is linked: the command serves all that are given it."""
        return os.path.join(folder, "program" if self.object else "picklock")

    def scenarios(self):
        return [word for word in self.words if word.endswith(".yaml")]

    def holds_path(self, path):
        return os.path.basename(path)[:-2] + ".o" in self.members

    def worth(self, path):
        """How likely it notices a mutant of this file, for each second that it takes."""
        return (self.noticed[path] + 0.1 * sum(self.noticed.values()) + 0.05) / (self.seconds + 0.3)

    def link(self, out, extra, flags, map_file=None):
        words = [*flags.cc, *flags.cflags, "-o", out]
        words += [f"-Wl,-Map={map_file}"] if map_file else []
        words += ([self.object] if self.object else []) + extra + self.first + flags.libraries
        return shell(words)

    def run(self, binary, limit, scratch, drawn=FEWER, fewer_seeds=False):
        os.makedirs(scratch, exist_ok=True)
        own = [LINES[1] if fewer_seeds and word == SEEDS[1] else word for word in self.words]
        words = [binary, *(own or ["--fail-fast"])] + (["--out", os.path.join(scratch, "out")] if self.words else [])
        if self.script:
            words = [sys.executable, self.script, binary, "-f"]
        environment = {**os.environ, **drawn, "TMPDIR": os.path.abspath(scratch)}
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                                   stdin=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5)))
        try:
            output, _ = process.communicate(timeout=WAITS * limit)
            return process.returncode, output.decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return None, ""


class Flags:
    """How the project compiles and links; `make mutate` hands it over in the environment."""

    def __init__(self):
        take = lambda name: shlex.split(os.environ.get(name, ""))
        self.cc, self.build = take("MUTATE_CC"), os.environ.get("MUTATE_BUILD", "")
        self.cflags = [f for f in take("MUTATE_CFLAGS") if f not in ("-Werror", "-g")] + ["-w", "-O1"]
        self.libraries = take("MUTATE_LIBS")
        if not self.cc or not self.build:
            stop("is started by `make mutate ROOM=...`, which knows how the project is built")


def spent():
    """Processor seconds of all that was run until now: a busy machine makes no program slower."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def programs_of(room, by, flags):
    if by == "verdict":
        chosen = []
    else:
        chosen = [path for folder in ROOMS[room][2] for path in sorted(glob.glob(f"tests/{folder}/test_*.c"))]
    command = [f"{flags.build}/libcli.a"]
    # Criterion's main comes before the command's.
    found = [Program(os.path.splitext(path)[0], f"{flags.build}/{os.path.splitext(path)[0]}.o", [],
                     ["-lcriterion"] + (command if "tests/cli/" in path else [])) for path in chosen]
    found += [Program(path, None, [], command, path) for folder in ROOMS[room][2] if by != "verdict"
              for path in sorted(glob.glob(f"tests/{folder}/*.py")) if os.path.basename(path) != "common.py"]
    # A folder or a random file at a time: what is cheapest for a mutant runs first, and what does not pass its line not at all.
    for folder in sorted({os.path.dirname(path) for path in glob.glob("scenarios/**/*.yaml", recursive=True)}):
        files = sorted(glob.glob(f"{folder}/*.yaml"))
        found += [Program(path, None, [*RUN, "sim", *SEEDS, path], command) for path in files] \
            if folder == "scenarios/random" else [Program(folder, None, [*RUN, "sim", *files], command)]
    if room == "lockcore" and by == "verdict":
        found.append(Program("on real servers", None, [*RUN, "real", *(f"scenarios/{name}.yaml" for name in REAL)], command))
        found[-1].killed = True
    return found


def make_place(folder, flags):
    """A folder for a program, with the shims that it preloads beside it."""
    os.makedirs(folder, exist_ok=True)
    for shim in glob.glob(f"{flags.build}/picklock-*.so"):
        link = os.path.join(folder, os.path.basename(shim))
        if not os.path.lexists(link):
            os.symlink(os.path.abspath(shim), link)


def made_since(path, *sources):
    return os.path.exists(path) and all(os.path.getmtime(path) > os.path.getmtime(source) for source in sources)


def measure(program, flags):
    """The program as it is: which members it holds, that it passes, and how long it takes."""
    out = os.path.join(OUT, "base", re.sub(r"\W", "_", program.name) if program.object else "picklock")
    if program.object or not made_since(f"{out}.map", f"{flags.build}/picklock"):
        linked = program.link(out, [], flags, out + ".map")
        if linked.returncode != 0:
            stop(f"{program.name} does not link: {linked.stdout.decode()[-500:]}")
    with open(out + ".map", encoding="utf-8") as lines:
        program.members = set(re.findall(r"lib\w+\.a\((\w+\.o)\)", lines.read()))
    kept = os.path.join(OUT, "base", re.sub(r"\W", "_", program.name) + ".seconds")
    if made_since(kept, f"{flags.build}/picklock", *program.scenarios()):
        with open(kept, encoding="ascii") as seconds:
            program.seconds = float(seconds.read())
        return True
    begin = spent()
    code, output = program.run(out, 600, os.path.join(OUT, "base", "scratch"))
    program.seconds = spent() - begin
    if code == 0:
        with open(kept, "w", encoding="ascii") as seconds:
            seconds.write(str(program.seconds))
    else:
        print(f"mutate: left out, fails unchanged: {program.name} (exit {code}) {output[-200:]}")
        return False
    return True


def all_mutants(room):
    files, without, _ = ROOMS[room]
    for path in sorted({p for pattern in files for p in glob.glob(pattern)}):
        if not any(part in path for part in without):
            with open(path, encoding="ascii") as source:
                text = source.read()
            for mutant in mutants(text):
                yield path, text, mutant


def equivalents():
    """(file, before, after) of docs/MUTANTS.md: rows | `file` | `before` | `after` | why |."""
    rows = set()
    with open("docs/MUTANTS.md", encoding="utf-8") as page:
        for line in page:
            cells = re.findall(r"`` (.*?) ``|`([^`]*)`", line)
            cells = [(a or b).replace("\\|", "|") for a, b in cells]
            if line.startswith("|") and len(cells) >= 3 and cells[0].endswith(".c"):
                rows.add(tuple(cells[:3]))
    return rows


def without_asserts(room, flags):
    """The room once more, with no assertion in it, as of a lock that has none: {member: object file}."""
    folder = os.path.join(OUT, "bare")
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/bare.h", "w", encoding="ascii") as out:
        out.write('#include "base/assert.h"\n#undef ASSERT\n#define ASSERT(condition) ((void)sizeof(!(condition)))\n')
    flags.cflags += ["-include", f"{folder}/bare.h"]
    objects = {}
    for path in sorted({path for path, _, _ in all_mutants(room)}):
        member = os.path.basename(path)[:-2] + ".o"
        objects[member] = f"{folder}/{member}"
        if not os.path.exists(objects[member]) or os.path.getmtime(objects[member]) < os.path.getmtime(path):
            if shell([*flags.cc, *flags.cflags, "-c", path, "-o", objects[member]]).returncode != 0:
                stop(f"{path} does not compile without its assertions")
    return objects


def code_of(path, text, folder, flags):
    """What the compiler makes of this text in place of the file, with all that it can prove; empty if nothing."""
    source, made = os.path.join(folder, os.path.basename(path)), os.path.join(folder, "code.o")
    with open(source, "w", encoding="ascii") as out:
        out.write(text)
    if shell([*flags.cc, *flags.cflags, "-O2", f"-I{os.path.dirname(path)}", "-c", source, "-o", made]).returncode != 0:
        return b""
    with open(made, "rb") as code:
        return code.read()


def judge(task, programs, flags, by, slot, seen):
    """One mutant: 'build', 'same' where the compiler makes the same code of it, or who noticed and how, or 'survived'."""
    path, text, mutant = task
    folder = os.path.join(OUT, f"slot{slot}")
    if code_of(path, text, folder, flags) == code_of(path, applied(text, mutant), folder, flags):
        return "same", "", ""
    source = os.path.join(folder, os.path.basename(path))
    member = os.path.basename(path)[:-2] + ".o"
    compiled = shell([*flags.cc, *flags.cflags, f"-I{os.path.dirname(path)}", "-c", source, "-o", f"{folder}/{member}"])
    if compiled.returncode != 0:
        return "build", "", ""
    tripped = ""
    holders = [program for program in programs if member in program.members]
    passed = seen.passed(path, mutant.line)
    if passed is not None and (passed or not seen.silent):
        holders = [program for program in holders if program.killed or program.name in passed]
    if not holders:
        return "survived", "", "nothing passes this line"
    runs = [(program, FEWER) for program in sorted(holders, key=lambda p: -p.worth(path))]
    linked = ""
    for program, drawn in runs + [(program, {}) for program in holders if program.draws]:
        binary = program.binary(folder)
        others = [bare for name, bare in seen.bare.items() if name != member and name in program.members]
        if (program.object or linked != binary) and program.link(binary, [f"{folder}/{member}", *others], flags).returncode != 0:
            return "build", program.name, ""
        linked = linked if program.object else binary
        limit = 5 * program.seconds + 20 if drawn else 600
        code, output = program.run(binary, limit, f"{folder}/scratch", drawn)
        shell(["rm", "-rf", f"{folder}/scratch"])
        if code == 0:
            continue
        how = "hang" if code is None else "abort" if code < 0 or "ASSERT" in output else "verdict"
        if by == "tests" or how == "verdict" and code in (1, 2):
            program.noticed[path] += 1
            return "noticed", program.name, how
        tripped = how
    return ("tripped", "", tripped) if tripped else ("survived", "", "")


def table(rows):
    kinds = collections.defaultdict(collections.Counter)
    for row in rows:
        kinds[row["kind"]][row["end"]] += 1
        kinds["all"][row["end"]] += 1
    print(f"\n{'kind':<12}{'mutants':>9}{'noticed':>9}{'tripped':>9}{'survived':>10}{'noticed %':>11}")
    for kind in sorted(kinds, key=lambda k: (k == "all", k)):
        count = kinds[kind]
        total = sum(count[e] for e in ("noticed", "tripped", "survived"))
        if kind == "all" and count["same"]:
            print(f"of {count['same']} more the compiler makes the same code: not counted")
        if total:
            print(f"{kind:<12}{total:>9}{count['noticed']:>9}{count['tripped']:>9}{count['survived']:>10}"
                  f"{100.0 * count['noticed'] / total:>10.1f}%")


def diffs(rows, path):
    with open(path, "w", encoding="utf-8") as out:
        for row in rows:
            if row["end"] in ("survived", "tripped"):
                out.write(f"{row['file']}:{row['line']} {row['function']} ({row['kind']}, {row['end']}{': ' + row['how'] if row['how'] else ''})\n"
                          f"-{row['before']}\n+{row['after']}\n\n")


def draw(room, file, sample, seed):
    known = equivalents()
    tasks = [task for task in all_mutants(room) if file in task[0] and (task[0], *change(task[1], task[2])) not in known]
    if sample != "all":
        tasks = random.Random(seed).sample(tasks, min(int(sample), len(tasks)))
    return tasks


def key_of(path, mutant, before, after):
    return json.dumps([path, mutant.function, mutant.start, before, after])


def main():
    parser = argparse.ArgumentParser(prog="mutate")
    parser.add_argument("--room", required=True, choices=sorted(ROOMS))
    parser.add_argument("--by", default="tests", choices=["tests", "verdict"])
    parser.add_argument("--sample", default="400")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--file", default="", help="only files whose path has this in it")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--slowest", type=float, default=30, help="processor seconds; programs that take longer are left out")
    asked = parser.parse_args()
    flags = Flags()
    for folder in ["base", *(f"slot{slot}" for slot in range(asked.jobs))]:
        make_place(os.path.join(OUT, folder), flags)
    tasks = draw(asked.room, asked.file, asked.sample, asked.seed)
    print(f"mutate: room {asked.room}, seed {asked.seed}, {len(tasks)} mutants, noticed by {asked.by}", flush=True)
    programs = [p for p in programs_of(asked.room, asked.by, flags) if measure(p, flags)]
    slow = [p.name for p in programs if p.seconds > asked.slowest]
    if slow:
        print(f"mutate: left out, over {asked.slowest:.0f} s each: {', '.join(slow)}", flush=True)
        programs = [p for p in programs if p.name not in slow]
    seen = Lines(asked.room + "-" + asked.by, sorted({task[0] for task in all_mutants(asked.room)}), programs, flags, FEWER, shell)
    seen.silent = asked.room in KILLED
    seen.bare = without_asserts(asked.room, flags) if asked.by == "verdict" else {}
    log_path = os.path.join(OUT, f"{asked.room}-{asked.by}.jsonl")
    done = {}
    if os.path.exists(log_path):
        with open(log_path, encoding="utf-8") as log:
            done = {row["key"]: row for row in map(json.loads, log)}
    for row in done.values():
        for program in programs:
            program.noticed[row["file"]] += program.name == row["by"]
    rows, lock, slots = [], threading.Lock(), list(range(asked.jobs))

    def one(task):
        path, text, mutant = task
        before, after = change(text, mutant)
        key = key_of(path, mutant, before, after)
        if key in done:
            row = done[key]
        else:
            with lock:
                slot = slots.pop()
            end, who, how = judge(task, programs, flags, asked.by, slot, seen)
            with lock:
                slots.append(slot)
            row = {"key": key, "file": path, "line": mutant.line, "function": mutant.function, "kind": mutant.kind,
                   "before": before, "after": after, "end": end, "by": who, "how": how}
        with lock:
            rows.append(row)
            if key not in done:
                with open(log_path, "a", encoding="utf-8") as log:
                    log.write(json.dumps(row) + "\n")
            if len(rows) % 50 == 0:
                print(f"mutate: {len(rows)} of {len(tasks)}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(one, tasks))
    table(rows)
    out = os.path.join(OUT, f"{asked.room}-{asked.by}.survivors.diff")
    diffs(sorted(rows, key=lambda r: (r["file"], r["line"])), out)
    print(f"\nsurvivors: {out}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("mutate: interrupted; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
