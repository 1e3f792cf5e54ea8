#!/usr/bin/env python3
"""run.py: published lock libraries behind adapters get the verdict that they deserve, every time.

    python3 tests/adapters/run.py ./picklock [TIMES]

Skipped, with the reason, where node or the pinned packages (make adapters) are missing.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REDLOCK = os.path.join(TOP, "adapters", "node-redlock")
STOPPED = """version: 1
name: stopped
about: Three clients take turns.
lock: {algorithm: redlock, ttl: 1s, node_timeout: 300ms, retry: {count: 3, delay: 50ms, jitter: 50ms}}
nodes: {count: 3}
clients: {count: 3, sections: 20, hold: 100ms}
duration: 20s
expect: {exclusion: pass}
"""
IN_TIME = """version: 1
name: in-time
about: One client asks for a lock, with a deadline.
needs: [deadline]
lock: {algorithm: single, ttl: 5s, node_timeout: 200ms, retry: {count: 3, delay: 50ms, jitter: 50ms}}
nodes: {count: 1}
clients: {count: 1, sections: 1, hold: 10ms, deadline: 300ms}
duration: 20s
expect: {answer_consistency: pass}
"""
# Answers its first acquire with a deadline, of all runs in a folder, when the run has stood still for two seconds.
STOPS_THE_RUN = """import os, signal, subprocess, sys, time
with subprocess.Popen([sys.executable, sys.argv[1]], stdin=subprocess.PIPE, text=True, bufsize=1) as lock:
    for line in sys.stdin:
        if '"deadline_ms"' in line and not os.path.exists("stopped"):
            open("stopped", "w").close()
            os.kill(os.getppid(), signal.SIGSTOP)
            time.sleep(2)
            os.kill(os.getppid(), signal.SIGCONT)
        lock.stdin.write(line)
"""
BAD = "python3 " + os.path.join(TOP, "tests", "adapters", "bad.py")
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
    caught = []
    for one in runs:
        validity = one["checks"]["validity"]
        if (validity["verdict"], validity.get("blame")) == ("fail", "library"):
            caught.append(one)
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


def library(picklock, adapter, *names):
    """Try everything on a library, where everything is these scenarios."""
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "scenarios", "library")
        os.makedirs(folder)
        for name in names:
            shutil.copy(os.path.join(TOP, "scenarios", "library", name + ".yaml"), folder)
        done = subprocess.run(
            [picklock, "run", "--adapter", adapter], cwd=place, capture_output=True, text=True
        )
    return done.returncode, done.stdout, done.stderr


def everything_is_tried_and_told(picklock):
    names = ("many-alone", "many-holder-stopped", "many-fences", "one-alone")
    code, told, errors = library(picklock, EXAMPLE, *names)
    words = (
        "example 1: a lock for several nodes",
        "passed               many-alone                     One client takes the lock again",
        "failed (assumption)  many-holder-stopped            The holder stops",
        "assumption: the holder is never stopped for longer than its lease",
        "does not apply       1, as it gives no fences: many-fences",
        "does not apply       1, as it is for several nodes: one-alone",
        "2 tried: 1 passed, 0 failed (library), 1 failed (assumption)",
        "As safe as a lock of its kind can be",
    )
    holds = code == 0 and all(word in told for word in words)
    return check("a library gets a table of what was tried", holds, (code, told, errors))


def what_such_a_lock_passes_is_told(picklock):
    """A file that expects a pass where an assumption failed: exit 1, which the table and the answer tell."""
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "scenarios", "library")
        os.makedirs(folder)
        with open(os.path.join(TOP, "scenarios", "library", "many-holder-stopped.yaml"), encoding="utf-8") as file:
            text = file.read().replace("section_exclusion: any", "section_exclusion: pass")
        with open(os.path.join(folder, "many-holder-stopped.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([picklock, "run", "--adapter", EXAMPLE], cwd=place, capture_output=True, text=True)
    words = (
        "not expected: a lock of its kind passes section_exclusion here",
        "1 tried: 0 passed, 0 failed (library), 1 failed (assumption)",
        "Not as safe as a lock of its kind can be: what 1 of these failed, such a lock passes",
    )
    holds = done.returncode == 1 and all(word in done.stdout for word in words)
    return check("a row that is not as its file expects is told", holds, (done.returncode, done.stdout, done.stderr))


def a_library_for_one_node_is_known(picklock):
    code, told, errors = library(picklock, f"{EXAMPLE} one", "many-alone", "one-alone")
    words = ("a lock for one node", "1, as it is for one node: many-alone", "Nothing was found")
    holds = code == 0 and all(word in told for word in words)
    return check("a lock for one node is not tried on several", holds, (code, told, errors))


def left_behind(mark):
    """Processes whose environment or words have the mark: of a run that is over, none may."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words and pid != str(os.getpid()):
            found.append(pid)
    return found


def bad_is_an_error(picklock, mode, words):
    """What an adapter may not do is exit 3, with its sentence and its client, and nothing is left."""
    mark = f"mark-{os.getpid()}-{mode}"
    code, runs, told = run(picklock, "contention", f"{BAD} {mode} '' '{{}}' {mark}")
    why = runs[0].get("why", "") if runs else told
    named = why.startswith("adapter of client ") and all(word in why for word in words)
    holds = code == 3 and named and "\x1b" not in why + told and not left_behind(mark)
    return check(f"{mode} is exit 3 and named, and nothing is left", holds, (code, why, left_behind(mark)))


def page_tells(picklock):
    """adapter-test says what the example does, in words and for programs."""
    with tempfile.TemporaryDirectory() as place:
        command = [picklock, "adapter-test", "--adapter", EXAMPLE]
        page = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        told = subprocess.run(command + ["--json"], cwd=place, capture_output=True, text=True, timeout=300)
        bad = subprocess.run(command[:2] + ["--adapter", BAD + " twice"], cwd=place, capture_output=True, text=True, timeout=300)
        left = os.listdir(place)
    words = ["SET r0 VALUE NX PX 1000", "get r0; pexpire r0 1000", "get r0; del r0", "r0 (the lock)",
             "a new value for each grant; the adapter reports it", "asked; set 1.000 s; extended to 1.000 s",
             "renewal      none: the key of a holder that stayed was gone after 1.000 s",
             "asked while another held it: refused", "3 to 3 nodes"]
    missing = [word for word in words if word not in page.stdout]
    one = json.loads(told.stdout) if told.returncode == 0 else {}
    holds = page.returncode == 0 and not missing and not left
    holds = holds and one["declares"] == ["validity", "extend"] == one["seen"] and one["but"] == []
    holds = holds and one["ttl_set_ms"] == [1000, 1000] and one["commands"]["acquire"][0]["nodes"] == 3
    holds = holds and bad.returncode == 3 and "was answered before" in bad.stderr
    return check("adapter-test tells what a library does", holds, (missing, page, one, bad, left))


def bounded_waits_are_known(picklock):
    """A lock that gives up after a time of its own waits too; one that refuses at once does not."""
    found, holds = [], True
    for mode, slips in (("short", []), ("hasty", ["declares wait, which was not seen"])):
        adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'patient.py')} {mode}"
        with tempfile.TemporaryDirectory() as place:
            command = [picklock, "adapter-test", "--json", "--adapter", adapter]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        told = json.loads(done.stdout) if done.returncode == 0 else {}
        found.append((mode, told, done.stderr))
        holds = holds and told.get("but") == slips and told.get("waits") is False
        holds = holds and (told["answered_after_ms"] >= 300) == (mode == "short") == (told["attempts"] > 1)
        holds = holds and "AUTH" not in done.stdout  # the proxies say it, not the library
    return check("a bounded wait is one, a refusal at once is none", holds, found)


def values_are_held_against_the_owner(picklock):
    """One value for all programs proves nothing; one for all grants of a client is no object's."""
    adapter, found, holds = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'watchdog.py')} --bug ", [], True
    for bug, row, but in (("value-constant", "one value for all grants of all programs", "two programs give their keys one value"),
                          ("value-of-client", "one value for all grants of a program", "owner of its own, and gives all grants of a client one value")):
        with tempfile.TemporaryDirectory() as place:
            command = [picklock, "adapter-test", "--adapter", adapter + bug]
            page = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        found.append((bug, page.stdout, page.stderr))
        holds = holds and page.returncode == 0 and row in page.stdout and but in page.stdout
    return check("a value that is no owner's is told", holds, found)


def who_asks_nobody_is_blamed(picklock):
    """Servers that were listened to tell that they were not asked: no key stands for the grant."""
    adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'watchdog.py')}"
    found = {}
    for bugs in ("", " --bug asks-nobody"):
        code, runs, told = run(picklock, os.path.join("..", "library", "one-contention"), adapter + bugs)
        found[bugs] = {name: one.get("blame") for name, one in runs[0]["checks"].items() if one["verdict"] == "fail"}
    holds = found[""] == {} and found[" --bug asks-nobody"].get("result_truth") == "library"
    return check("a lock that asks no server is blamed", holds, found)


def a_guess_blames_nobody(picklock):
    """Which of several keys without an end is the lock is not guessed; once it is said, what is wrong is blamed."""
    found = {}
    for said in ("", " named"):
        adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'tokens.py')}{said}"
        code, runs, told = run(picklock, os.path.join("..", "library", "one-contention"), adapter)
        found[said] = {name: (one["verdict"], one.get("blame")) for name, one in runs[0]["checks"].items()}
    guessed, named = found[""], found[" named"]
    holds = all(verdict != "fail" for verdict, blame in guessed.values()) and guessed["result_truth"][0] == "unknown"
    holds = holds and named["result_truth"][0] == "pass" and named["ttl_truth"] == ("fail", "library")
    return check("which key is the lock is not guessed", holds, found)


def a_majority_of_one_nodes_keys_blames_nobody(picklock):
    """Two of three keys are enough, and who died while it asked has the first of them."""
    adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'three_keys.py')}"
    code, runs, told = run(picklock, os.path.join("..", "library", "one-asking-killed"), adapter)
    failed = [name for name, one in runs[0]["checks"].items() if one["verdict"] == "fail"]
    truth = runs[0]["checks"]["result_truth"]["verdict"]
    return check("a majority of several keys of one node blames nobody", not failed and truth == "unknown", (code, runs, told))


def who_is_kept_is_not_blamed(picklock):
    """The kernel keeps it, or what it waits for, from running for longer than ttl + bound: it is not told how else."""
    found = {}
    for what in ("", " child"):
        adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'kept.py')}{what}"
        code, runs, told = run(picklock, os.path.join("..", "library", "one-alone"), adapter, "--tries", "1")
        found[what] = {name: (one["verdict"], one.get("blame")) for name, one in runs[0]["checks"].items()}
    holds = all(verdicts["fault_tolerance"][0] == "unknown" for verdicts in found.values())
    holds = holds and all(verdict != "fail" for verdicts in found.values() for verdict, blame in verdicts.values())
    return check("who is kept from running is not blamed", holds, found)


def looks_are_awaited(picklock, times):
    """Who looks before it sets passes before_send with its look: where another holds, nothing else comes."""
    adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'watching.py')}"
    results = []
    for scenario in ("one-release-held", "one-late-answers", "one-holder-killed"):
        path = os.path.join("..", "library", scenario)
        code, runs, told = run(picklock, path, adapter, "--repeat", str(times), "--jobs", "2")
        good = [r for r in runs if r["status"] == "met"]
        name = f"a lock that looks before it sets passes {scenario}, {len(good)}/{times}"
        results.append(check(name, code == 0 and len(good) == times, (code, runs, told)))
    return all(results)


PLANTED = "python3 " + os.path.join(TOP, "tests", "adapters", "planted.py")
DEBATE = {
    "pause-after-granted": PLANTED,
    "pause-before-write": PLANTED,
    "pause-saved-by-value": PLANTED,
    "pause-saved-by-fence": PLANTED + " --fence",
    "pause-after-majority": PLANTED,
    "pause-before-replies": PLANTED,
}


def debate_works(picklock, times):
    """The scenarios of the debate are ordered by events: they end as they say with any library."""
    results = []
    for scenario, adapter in DEBATE.items():
        path = os.path.join("..", scenario)
        code, runs, told = run(picklock, path, adapter, "--repeat", str(times), "--jobs", "2")
        good = [r for r in runs if r["status"] == "met"]
        name = f"{scenario} ends as it says, {len(good)}/{times}"
        results.append(check(name, code == 0 and len(good) == times, (code, runs, told)))
    return all(results)


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def run_process(pid):
    """The process that goes through a run: its children are servers and adapters."""
    for child in children(pid):
        try:
            grown = len(children(child)) > 4
            if grown or run_process(child) is not None:
                return child if grown else run_process(child)
        except OSError:
            pass
    return None


REENTRANT = "python3 " + os.path.join(TOP, "tests", "adapters", "reentrant.py")


def threads_are_told_apart(picklock):
    """Two threads of one program: one owner or two, as the library says."""
    found, holds = [], True
    for words, wanted in (("", "pass"), (" --owner-process", "pass"), (" --guarded", "pass"),
                          (" --bug owner-of-program", "fail")):
        code, runs, told = run(picklock, os.path.join("..", "library", "one-threads"), REENTRANT + words)
        one = runs[0]["checks"]["exclusion"] if runs else {}
        found.append((words, code, one, told))
        blamed = wanted == "pass" or one.get("blame") == "library"
        holds = holds and one.get("verdict") == wanted and blamed and code == (0 if wanted == "pass" else 1)
    return check("threads of a program are told apart", holds, found)


def values_of_threads_are_told(picklock):
    """One value for all grants: of a thread, or of a program."""
    found = {}
    for words in ("", " --owner-process"):
        with tempfile.TemporaryDirectory() as place:
            command = [picklock, "adapter-test", "--adapter", REENTRANT + words]
            page = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        found[words] = [line for line in page.stdout.splitlines() if line.startswith("owner")]
    holds = "for all grants of a thread" in found[""][0] and "of a program" in found[" --owner-process"][0]
    return check("whose value it is, a thread's or a program's, is told", holds, found)


def hashes_first_are_judged(picklock):
    """A right lock whose first script is asked for by its hash, which the node does not know, is told as
    right where a fault waits for what the script does: not left open."""
    adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'watchdog.py')}"
    found = {}
    for scenario in ("one-late-answers", "one-renewal-late", "one-spent"):
        code, runs, told = run(picklock, os.path.join("..", "library", scenario), adapter)
        found[scenario] = runs[0]["status"] if runs else told
    holds = all(status == "met" for status in found.values())
    return check("scripts that are asked for by their hash are judged", holds, found)


def serial_threads_are_told(picklock):
    """An adapter that declares threads and serves one at a time is told so."""
    said = "'{\"features\":[\"threads\"],\"nodes\":1}'"
    with tempfile.TemporaryDirectory() as place:
        command = [picklock, "adapter-test", "--adapter", f"{BAD} threads-serial '' {said}"]
        page = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
        command[-1] = REENTRANT
        right = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=300)
    holds = "answers one only when the acquire of another is over" in page.stdout
    holds = holds and "answers one only" not in right.stdout and "threads      " in right.stdout
    return check("an adapter that serves one thread at a time is told so", holds, (page, right))


def stopped_run_blames_nobody(picklock):
    """The run's own process stands still for three ttl, with clients at work: nobody is blamed."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "stopped.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STOPPED)
        command = [picklock, "run", path, "--world", "real", "--json", "--keep", "always", "--tries", "1", "--adapter", PLANTED]
        with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True) as work:
            target = None
            wire = os.path.join(place, "picklock-out", ".running", "*", "wire.log")  # grows with the first commands
            while (target is None or not sum(map(os.path.getsize, glob.glob(wire)))) and work.poll() is None:
                time.sleep(0.02)
                target = run_process(work.pid)
            os.kill(target, signal.SIGSTOP)
            time.sleep(3)
            os.kill(target, signal.SIGCONT)
            told = work.communicate()[0]
        runs = [json.loads(line) for line in told.splitlines()]
        one = [r for r in runs if r["type"] == "run"][0]
        with open(os.path.join(place, one["folder"], "history.jsonl"), encoding="utf-8") as file:
            late = [json.loads(line) for line in file if '"stood-still"' in line]
    longest = max([event["numbers"][0] for event in late if event["cause"] == "loop"] + [0])
    blamed = [name for name, told in one["checks"].items() if told.get("blame") == "library"]
    holds = longest >= 2.9e9 and not blamed and one["status"] in ("met", "unknown")
    return check("a run that was stopped blames nobody", holds, (longest, blamed, one))


def run_that_stops(picklock, scenario, tries):
    """The first of its runs stands still for two seconds; gives the code, its line of results, and what was printed."""
    with tempfile.TemporaryDirectory() as place:
        for name, text in (("in-time.yaml", scenario), ("stops.py", STOPS_THE_RUN)):
            with open(os.path.join(place, name), "w", encoding="utf-8") as file:
                file.write(text)
        adapter = f"python3 stops.py {os.path.join(TOP, 'tests', 'adapters', 'patient.py')}"
        command = [picklock, "run", "in-time.yaml", "--world", "real", "--adapter", adapter, "--tries", tries]
        done = subprocess.run(command + ["--results", "lines"], cwd=place, capture_output=True, text=True, timeout=120)
        with open(os.path.join(place, "lines"), encoding="utf-8") as file:
            return done.returncode, json.loads(file.readline()), done.stdout


def late_run_is_begun_again(picklock):
    """
    What nothing but the machine's lateness leaves open is run again, and told; `--tries 1` leaves it. So is what the
    library would be to blame for, also where the file expects any verdict.
    """
    found, holds = [], True
    for expected in ("pass", "any"):
        scenario = IN_TIME.replace("answer_consistency: pass", f"answer_consistency: {expected}")
        for tries, wanted in (("3", (0, "met", 1, True)), ("1", (2, "unknown", None, False))):
            code, one, told = run_that_stops(picklock, scenario, tries)
            found.append((code, one["status"], one.get("late_tries"), "begun again" in told, told))
            holds = holds and found[-1][:4] == wanted
    return check("a run that the machine alone left open is begun again", holds, found)


def missed_fail_is_begun_again(picklock):
    """So is one in which a fail that the file expects did not come, and only then is it not as expected."""
    found = {}
    for tries in ("3", "1"):
        code, one, told = run_that_stops(picklock, IN_TIME.replace("answer_consistency: pass", "exclusion: fail"), tries)
        found[tries] = (code, one["status"], one.get("late_tries"), "this machine stood still for" in told, told)
    holds = found["3"][:4] == (1, "unmet", 1, False) and found["1"][:4] == (2, "unknown", None, True)
    return check("a fail that did not come while the machine stood still is asked for again", holds, found)


def deaf_server_is_unknown(picklock):
    """A server without MONITOR: what needs keys is unknown and names the command; nobody is blamed."""
    with tempfile.TemporaryDirectory() as place:
        server = os.path.join(place, "server")
        with open(server, "w", encoding="ascii") as file:
            file.write('#!/bin/sh\nexec redis-server "$@" --rename-command MONITOR ""\n')
        os.chmod(server, 0o755)
        path = os.path.join(TOP, "scenarios", "adapters", "contention.yaml")
        command = [picklock, "run", path, "--world", "real", "--json", "--keep", "always", "--adapter", PLANTED]
        done = subprocess.run(command + ["--redis-server", server], cwd=place, capture_output=True, text=True, timeout=300)
        one = [r for r in map(json.loads, done.stdout.splitlines()) if r["type"] == "run"][0]
        story = subprocess.run([picklock, "show", one["folder"]], cwd=place, capture_output=True, text=True, timeout=60)
    open_checks = {name for name, told in one["checks"].items() if told["verdict"] == "unknown"}
    holds = {"validity", "ownership", "no_leak", "result_truth"} <= open_checks
    holds = holds and not any("blame" in told for told in one["checks"].values())
    holds = holds and "validity: no node told" in story.stdout and "it refuses MONITOR" in story.stdout
    return check("a server without MONITOR leaves checks of keys open", holds, (one, story.stdout))


def deadlines_and_cancels_are_told(picklock):
    adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'patient.py')}"
    code, told, errors = library(picklock, adapter, "one-deadline", "one-cancel", "one-fences")
    words = (
        "a lock for one node; it declares wait, deadline, cancel",
        "passed               one-deadline",
        "passed               one-cancel",
        "1, as it gives no fences: one-fences",
    )
    holds = code == 0 and all(word in told for word in words)
    return check("deadlines and cancels are told, and kept", holds, (code, told, errors))


def what_must_lack_something_is_asked(picklock):
    """A file that names nothing that its lock needs, but something that it must lack: by name, too."""
    adapter = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'patient.py')}"
    path = os.path.join(TOP, "scenarios", "library", "one-again-refused.yaml")
    done = subprocess.run([picklock, "run", path, "--keep", "never", "--adapter", adapter], capture_output=True, text=True, timeout=300)
    holds = done.returncode == 2 and "does not apply: it declares wait" in done.stdout
    return check("a file is not run on a lock that has what it must lack", holds, (done.returncode, done.stdout, done.stderr))


def who_sleeps_on_is_told(picklock):
    """A waiter that nothing wakes, and that looks again only long after the lock came free."""
    adapter, found, holds = f"python3 {os.path.join(TOP, 'tests', 'adapters', 'patient.py')}", [], True
    for mode, code_due, word in (("", 0, "passed               one-waiters"), (" asleep", 1, "failed (library)     one-waiters")):
        code, told, errors = library(picklock, adapter + mode, "one-waiters")
        found.append((mode, code, told, errors))
        holds = holds and code == code_due and word in told and ("fault_tolerance" in told) == bool(mode)
    return check("a waiter that sleeps on though the lock is free is told", holds, found)


def main():
    picklock = os.path.abspath(sys.argv[1])
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    results = [
        misbehaviour_is_an_error(picklock, "garbage", ["line 5", "I am not JSON"]),
        misbehaviour_is_an_error(picklock, "die", ["exit code 7", "the last words"]),
        everything_is_tried_and_told(picklock),
        what_such_a_lock_passes_is_told(picklock),
        a_library_for_one_node_is_known(picklock),
        deadlines_and_cancels_are_told(picklock),
        what_must_lack_something_is_asked(picklock),
        who_sleeps_on_is_told(picklock),
        bad_is_an_error(picklock, "twice", ["not open: 1 was answered before"]),
        bad_is_an_error(picklock, "other-for-each", ["what another client's does not"]),
        bad_is_an_error(picklock, "stubborn", ["ignores shutdown and SIGTERM"]),
        bad_is_an_error(picklock, "forks", ["left a process behind"]),
        bad_is_an_error(picklock, "escapes", ["left a process behind"]),
        bad_is_an_error(picklock, "escapes-bare", ["left a process behind"]),
        bad_is_an_error(picklock, "floods", ["wrote more than 16 MiB to stderr"]),
        bad_is_an_error(picklock, "silent-at-init", ["is silent: line 1"]),
        debate_works(picklock, times // 4 or 1),
        stopped_run_blames_nobody(picklock),
        late_run_is_begun_again(picklock),
        missed_fail_is_begun_again(picklock),
        deaf_server_is_unknown(picklock),
        who_asks_nobody_is_blamed(picklock),
        a_guess_blames_nobody(picklock),
        a_majority_of_one_nodes_keys_blames_nobody(picklock),
        who_is_kept_is_not_blamed(picklock),
        page_tells(picklock),
        bounded_waits_are_known(picklock),
        values_are_held_against_the_owner(picklock),
        threads_are_told_apart(picklock),
        serial_threads_are_told(picklock),
        values_of_threads_are_told(picklock),
        hashes_first_are_judged(picklock),
        looks_are_awaited(picklock, times // 4 or 1),
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
