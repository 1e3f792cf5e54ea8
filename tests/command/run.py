#!/usr/bin/env python3
"""The command as a user meets it: exit codes, streams, errors, signals. `run.py ./picklock`."""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PICKLOCK = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "./picklock")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "scenarios"

GOOD = """\
version: 1
name: NAME
about: one client
lock: {algorithm: redlock, ttl: 10s, node_timeout: 500ms}
nodes: {count: 3}
clients: {count: 1, sections: 2, hold: 1ms, think: 1ms, writes: 1}
duration: 20s
expect: {exclusion: pass}
"""


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-test-"))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def picklock(self, *arguments, **options):
        return subprocess.run([PICKLOCK, *map(str, arguments)], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def good(self, name, text=GOOD):
        return self.write(f"{name}.yaml", text.replace("NAME", name))

    def refused(self, result, code, *words):
        """One clear refusal: the documented code, nothing on stdout, no trace of a crash."""
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertNotIn("assertion", result.stderr)


class Usage(Command):
    def test_help_is_on_stdout_and_ends_well(self):
        result = self.picklock("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("picklock COMMAND", result.stdout)
        self.assertEqual(self.picklock("run", "--help").returncode, 0)

    def test_nothing_at_all_is_a_usage_error(self):
        self.refused(self.picklock(), 4, "usage")

    def test_an_unknown_command_is_corrected(self):
        self.refused(self.picklock("rum"), 4, 'did you mean "run"')

    def test_an_unknown_option_is_a_usage_error(self):
        self.refused(self.picklock("run", "--wrold", "sim"), 4)

    def test_bad_values_of_options(self):
        path = self.good("one")
        for option in (["--seed", "x"], ["--seed", "-1"], ["--seed", "99999999999999999999"],
                       ["--seeds", "5..1"], ["--seeds", "5"], ["--jobs", "0"], ["--world", "moon"],
                       ["--repeat", "0"], ["--time-scale", "0"], ["--keep", "sometimes"]):
            with self.subTest(option=option):
                self.refused(self.picklock("run", path, *option), 4)

    def test_a_git_commit_is_a_seed(self):
        path = self.good("one")
        commit = "c14d85e0aa3ddf1a0c3f9a7d3a1f8a4e5b6c7d8e"
        result = self.picklock("run", path, "--seed", commit, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["seed"], int(commit[:16], 16))


class BadScenarios(Command):
    def test_a_missing_file(self):
        self.refused(self.picklock("run", "nowhere.yaml"), 4, "nowhere.yaml")

    def test_an_empty_folder(self):
        self.refused(self.picklock("run", self.folder), 4, "no scenario file")

    def test_every_problem_of_every_file_is_told_with_its_place(self):
        first = self.good("first", GOOD.replace("ttl: 10s", "tll: 10s"))
        second = self.good("second", GOOD.replace("think: 1ms", "think: 1").replace("count: 3", "count: 99"))
        good = self.good("good")
        result = self.picklock("run", first, second, good)
        self.refused(result, 4, "first.yaml:4:28", 'did you mean "ttl"', "second.yaml:6:", "second.yaml:5:")
        self.assertFalse((self.folder / "picklock-out").exists())

    def test_noise_is_refused_in_one_go(self):
        path = self.folder / "noise.yaml"
        path.write_bytes(os.urandom(300000))
        self.refused(self.picklock("run", path), 4, "noise.yaml")

    def test_a_gigabyte_is_refused_at_once(self):
        path = self.folder / "huge.yaml"
        with open(path, "wb") as file:
            file.truncate(1 << 30)
        started = time.monotonic()
        self.refused(self.picklock("lint", path), 4, "huge.yaml")
        self.assertLess(time.monotonic() - started, 30)

    def test_a_folder_named_like_a_file(self):
        (self.folder / "folder.yaml").mkdir()
        self.refused(self.picklock("run", self.folder / "folder.yaml"), 4)


class Runs(Command):
    def test_expectations_met_are_code_0_and_leave_nothing(self):
        result = self.picklock("run", self.good("one"))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("1 as expected", result.stdout)
        self.assertFalse((self.folder / "picklock-out").exists())

    def test_an_unmet_expectation_is_code_1_with_a_command_to_rerun(self):
        path = self.good("unmet", GOOD.replace("exclusion: pass", "exclusion: fail"))
        result = self.picklock("run", path, "--seed", "5")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("expected fail", result.stdout)
        self.assertIn(f"picklock run {path} --world sim --seed 5", result.stdout)
        kept = self.folder / "picklock-out" / "unmet" / "5" / "sim"
        self.assertTrue((kept / "history.jsonl").exists())
        self.assertTrue((kept / "rerun.sh").exists())
        self.assertTrue((self.folder / "picklock-out" / "latest" / "history.jsonl").exists())
        again = subprocess.run(["sh", kept / "rerun.sh"], cwd=self.folder, text=True, capture_output=True,
                               env={**os.environ, "PATH": f"{os.path.dirname(PICKLOCK)}:{os.environ['PATH']}"})
        self.assertEqual(again.returncode, 1, again.stderr)

    def test_nothing_exercised_is_code_2(self):
        path = self.good("idle", GOOD.replace("sections: 2", "sections: 0"))
        result = self.picklock("run", path)
        self.assertIn(result.returncode, (2, 4), result.stdout + result.stderr)

    def test_json_is_one_object_a_run_and_alone_on_stdout(self):
        result = self.picklock("run", self.good("one"), "--json", "--seeds", "1..5")
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len(lines), 5)
        self.assertEqual({line["seed"] for line in lines}, {1, 2, 3, 4, 5})
        for line in lines:
            self.assertEqual(line["schema"], 1)
            self.assertEqual(line["status"], "met")
            self.assertEqual(line["checks"]["exclusion"]["verdict"], "pass")

    def test_junit_and_tap(self):
        path = self.good("unmet", GOOD.replace("exclusion: pass", "exclusion: fail"))
        result = self.picklock("run", path, "--tap", "--junit", "out.xml")
        self.assertTrue(result.stdout.startswith("not ok 1 - unmet"))
        self.assertTrue(result.stdout.endswith("1..1\n"))
        import xml.etree.ElementTree as xml
        suite = xml.parse(self.folder / "out.xml").getroot()
        self.assertEqual(len(suite.findall("testsuite/testcase/failure")), 1)

    def test_github_annotations_point_at_the_expectation(self):
        path = self.good("unmet", GOOD.replace("exclusion: pass", "exclusion: fail"))
        result = self.picklock("run", path, env={**os.environ, "GITHUB_ACTIONS": "true"})
        self.assertIn(f"::error file={path},line=8", result.stdout)

    def test_the_same_seed_gives_the_same_bytes(self):
        path = SCENARIOS / "pause-after-granted.yaml"
        hashes = set()
        for _ in range(3):
            result = self.picklock("run", path, "--json", "--keep", "always", "--seed", "9")
            hashes.add(json.loads(result.stdout)["hash"])
        self.assertEqual(len(hashes), 1)

    def test_keep_never_keeps_nothing(self):
        path = self.good("unmet", GOOD.replace("exclusion: pass", "exclusion: fail"))
        self.picklock("run", path, "--keep", "never")
        self.assertFalse((self.folder / "picklock-out").exists())

    def test_repeat_tells_how_often(self):
        result = self.picklock("run", SCENARIOS / "pause-after-granted.yaml", "--repeat", "20")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("violated 20/20, first at run 1", result.stdout)

    def test_no_colour_without_a_terminal_and_with_it_if_forced(self):
        path = self.good("one")
        self.assertNotIn("\033", self.picklock("run", path).stdout)
        self.assertIn("\033", self.picklock("run", path, "--color", "always").stdout)

    def test_a_full_disk_is_an_environment_error(self):
        path = self.good("unmet", GOOD.replace("exclusion: pass", "exclusion: fail"))
        with open("/dev/full", "w") as full:
            result = subprocess.run([PICKLOCK, "run", path, "--keep", "never"], stdout=full, stderr=subprocess.PIPE,
                                    text=True, cwd=self.folder)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("cannot write", result.stderr)

    def test_a_folder_that_cannot_be_written_is_an_environment_error(self):
        self.write("blocked", "a file where the folder should be")
        result = self.picklock("run", self.good("one"), "--out", "blocked/out", "--keep", "always")
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("blocked", result.stderr)


class Histories(Command):
    def kept(self, scenario="pause-after-granted"):
        result = self.picklock("run", SCENARIOS / f"{scenario}.yaml", "--keep", "always")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return self.folder / "picklock-out" / scenario / "1" / "sim" / "history.jsonl"

    def test_show_tells_the_story_and_ends_with_the_verdict(self):
        path = self.kept()
        result = self.picklock("show", path)
        self.assertEqual(result.returncode, 1)
        self.assertIn("client 1", result.stdout)
        self.assertIn("client 2", result.stdout)
        self.assertEqual(result.stdout, self.picklock("show", path.parent).stdout.replace(
            str(path.parent) + "/history.jsonl", str(path)))

    def test_show_says_why_a_check_could_not_say(self):
        path = self.good("vain", GOOD + "faults:\n  - {at: 15s, do: pause, target: client 1, for: 1s}\n")
        self.assertEqual(self.picklock("run", path, "--keep", "always").returncode, 2)
        result = self.picklock("show", self.folder / "picklock-out" / "latest")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("unknown: exercised: fault 1 of the scenario did not strike\n", result.stdout)

    def test_words_of_a_history_do_nothing_to_a_terminal(self):
        acts = "\\u001b]0;gone\\u0007\\u009b2J\\u202e\\n::error::x"
        lines = ['{"format":"picklock-history","version":1,"scenario":"%s","library":"%s"}' % (acts, acts)]
        for process in (1, 2):
            for kind in ("invoke", "ok"):
                lines.append('{"time":1,"process":%d,"type":"%s","f":"acquire","resource":"%s"}' % (process, kind, acts))
        path = self.write("acts.jsonl", "\n".join(lines) + "\n")
        bad = self.write("bad.jsonl", '{"format":"picklock-history","version":1,"resources":1}\n'
                         '{"time":1,"process":1,"type":"invoke","f":"acquire","resource":"%s"}\n' % acts)
        for arguments, code in ((("show", path), 1), (("check", path), 1),
                                (("check", "--json", path), 1), (("check", bad), 4)):
            result = self.picklock(*arguments)
            told = result.stdout + result.stderr
            self.assertEqual(result.returncode, code, told)
            for acting in "\x1b\x07\x9b\u202e":
                self.assertNotIn(acting, told, arguments)
            self.assertNotIn("\n::error", told, arguments)
            self.assertIn("gone", told, arguments)

    def test_a_history_cut_in_the_middle_of_a_line_is_valid(self):
        path = self.kept()
        text = path.read_bytes()
        cut = self.folder / "cut.jsonl"
        cut.write_bytes(text[: len(text) - 20])
        result = self.picklock("show", cut)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("cut short", result.stdout)

    def test_a_garbage_line_is_named(self):
        path = self.kept()
        lines = path.read_text().splitlines()
        lines[7] = "{garbage"
        broken = self.write("broken.jsonl", "\n".join(lines) + "\n")
        for command in ("show", "check"):
            self.refused(self.picklock(command, broken), 4, "broken.jsonl:8")

    def test_replay_gives_the_same_history_and_verdict(self):
        path = self.kept()
        result = self.picklock("replay", path.parent, "--history", "again.jsonl")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("the same history as recorded", result.stdout)
        self.assertIn("the same verdict as recorded", result.stdout)
        self.assertEqual((self.folder / "again.jsonl").read_bytes(), path.read_bytes())
        self.assertLessEqual((path.parent / "run.bundle").stat().st_size, 4096)

    def test_replay_says_where_the_runs_part_and_goes_on(self):
        bundle = self.kept().parent / "run.bundle"
        text = bundle.read_text()
        bundle.write_text(text.replace("hold: ", "hold: 1"))
        result = self.picklock("replay", bundle)
        self.assertIn(result.returncode, (0, 1, 4), result.stderr)
        self.assertNotIn("the same history as recorded", result.stdout)

    def test_a_bundle_that_was_cut_or_is_none_is_refused(self):
        bundle = self.kept().parent / "run.bundle"
        text = bundle.read_text()
        for cut in (10, len(text) // 3, len(text) - 20):
            bundle.write_text(text[:cut])
            self.refused(self.picklock("replay", bundle), 4, "run.bundle")
        bundle.write_text(text.replace("picklock-bundle 1", "picklock-bundle 9"))
        self.refused(self.picklock("replay", bundle), 4, "run.bundle")

    def test_converting_there_and_back_keeps_the_verdict(self):
        path = self.kept()
        self.assertEqual(self.picklock("convert", path, "one.edn").returncode, 0)
        self.assertEqual(self.picklock("convert", "one.edn", "two.jsonl.zst").returncode, 0)
        self.assertEqual(self.picklock("convert", "two.jsonl.zst", "three.edn").returncode, 0)

        def operations(name):
            lines = (self.folder / name).read_text().splitlines()
            return [line.split(", ", 1)[1] for line in lines if "{" in line]

        self.assertGreater(len(operations("one.edn")), 10)
        self.assertIn(":start-pause", (self.folder / "one.edn").read_text())
        self.assertEqual(operations("one.edn"), operations("three.edn"))
        for name in (path, "one.edn", "two.jsonl.zst"):
            result = self.picklock("check", "--model", "lease", name)
            self.assertEqual(result.returncode, 0, result.stdout)

    def test_processes_are_counted_as_the_file_counts_them(self):
        path = self.kept("restart-forgets")
        self.picklock("convert", path, "own.edn")
        foreign = (self.folder / "own.edn").read_text().split("\n", 1)[1]
        self.write("foreign.edn", foreign.replace(":process 1", ":process 0").replace(":process 2", ":process 1"))
        for name, models in ((path, ["--model", "lease"]), (path, []), ("own.edn", ["--model", "lease"]), ("own.edn", [])):
            said = self.picklock("check", name, *models).stdout
            self.assertIn("process 2 acquire", said)
            self.assertNotIn("process 0", said)
        self.assertIn("process 0 acquire", self.picklock("check", "foreign.edn", "--model", "lease").stdout)
        for name in (path, "own.edn"):
            said = self.picklock("show", name).stdout
            self.assertIn("client 2", said)
            self.assertNotIn("process", said)
        said = self.picklock("show", "foreign.edn").stdout
        self.assertIn("Process 0 was granted", said)
        self.assertNotIn("client", said)

    def test_a_history_by_hand_is_judged(self):
        lines = ['{"format":"picklock-history","version":1}']
        for time, process, kind, f in ((1, 1, "invoke", "acquire"), (2, 1, "ok", "acquire"),
                                       (3, 2, "invoke", "acquire"), (4, 2, "ok", "acquire")):
            lines.append(json.dumps({"time": time, "process": process, "type": kind, "f": f, "resource": "r0"}))
        path = self.write("double.jsonl", "\n".join(lines) + "\n")
        for model in ("mutex", "owner"):
            result = self.picklock("check", "--model", model, path)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn("line 2", result.stdout)
            self.assertIn("line 4", result.stdout)
        result = subprocess.run([PICKLOCK, "check", "--model", "semaphore", "--permits", "2", "-"],
                                input=path.read_text(), text=True, capture_output=True, cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_stop_at_first_ends_the_run_at_the_violation(self):
        path = SCENARIOS / "pause-after-granted.yaml"
        whole = json.loads(self.picklock("run", path, "--json").stdout)
        short = json.loads(self.picklock("run", path, "--json", "--stop-at-first").stdout)
        self.assertLess(short["events"], whole["events"])
        self.assertEqual(short["checks"]["section_exclusion"]["verdict"], "fail")

    def test_a_missing_history(self):
        for command in ("show", "check"):
            result = self.picklock(command, "nowhere.jsonl")
            self.assertIn(result.returncode, (3, 4))
            self.assertIn("nowhere.jsonl", result.stderr)


class Lists(Command):
    def test_everything_can_be_listed(self):
        for kind, word in (("checks", "exclusion"), ("faults", "pause"), ("algorithms", "redlock"),
                           ("probes", "after_granted")):
            result = self.picklock("list", kind)
            self.assertEqual(result.returncode, 0)
            self.assertIn(word, result.stdout)
        self.refused(self.picklock("list", "locks"), 4, "nothing to list")

    def test_the_schema_is_json(self):
        schema = json.loads(self.picklock("schema").stdout)
        self.assertIn("lock", schema["properties"])

    def test_the_canonical_print_parses_to_itself(self):
        path = self.good("one")
        printed = self.picklock("lint", "--print", path).stdout
        again = self.folder / "again"
        again.mkdir()
        (again / "one.yaml").write_text(printed)
        self.assertEqual(self.picklock("lint", "--print", again / "one.yaml").stdout, printed)

    def test_a_plan_leaves_nothing_to_chance(self):
        path = next((SCENARIOS / "random").glob("*.yaml"))
        one = self.picklock("plan", path, "--seed", "1").stdout
        self.assertEqual(one, self.picklock("plan", path, "--seed", "1").stdout)
        self.assertNotIn("random:", one)

    def test_doctor_and_clean_answer(self):
        self.assertIn("redis-server", self.picklock("doctor").stdout)
        self.assertEqual(self.picklock("clean").returncode, 0)


class Docs(Command):
    def test_every_command_and_option_has_its_line(self):
        page = (ROOT / "docs" / "COMMAND.md").read_text()
        commands = [line.split()[0] for line in self.picklock("--help").stdout.splitlines()
                    if line.startswith("  ") and line.strip()]
        self.assertIn("run", commands)
        for command in commands:
            self.assertIn(f"picklock {command}", page)
            for word in self.picklock(command, "--help").stdout.split():
                option = word.strip(",").split("=")[0].rstrip(".")
                if option.startswith("--") and option not in ("--help", "--usage"):
                    self.assertIn(option, page, f"picklock {command} {option} has no line in COMMAND.md")

    def test_every_exit_code_has_its_line(self):
        page = (ROOT / "docs" / "COMMAND.md").read_text()
        header = (ROOT / "cli" / "command.h").read_text()
        import re
        codes = re.findall(r"EXIT_\w+ = (\d+)", header)
        self.assertEqual(len(codes), 6)
        for code in codes:
            self.assertIn(f"\n| {code} |", page)


def leftovers(marker):
    """Processes whose environment names this folder."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    environment = file.read()
                with open(f"/proc/{entry}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if marker.encode() in environment and state != "Z":
                found.append(int(entry))
    return found


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return None


LONG = GOOD.replace("sections: 2", "sections: 1000").replace("hold: 1ms", "hold: 50ms").replace(
    "duration: 20s", "duration: 60s")


class Endings(Command):
    def start(self, *more, processes=6):
        path = self.good("long", LONG)
        process = subprocess.Popen([PICKLOCK, "run", path, "--world", "real", *more], cwd=self.folder,
                                   env={**os.environ, "PICKLOCK_TEST": str(self.folder)},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertTrue(wait_for(lambda: len(leftovers(str(self.folder))) >= processes),
                        "it never started")
        return process

    def test_ctrl_c_is_130_and_leaves_nothing(self):
        process = self.start()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertIn("interrupted", process.stderr.read())
        self.assertEqual(leftovers(str(self.folder)), [])
        self.assertFalse((self.folder / "picklock-out" / ".running").exists())

    def test_ctrl_c_in_its_first_moments_leaves_nothing(self):
        for processes in (2, 3, 4, 5) * 3:
            process = self.start(processes=processes)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=20), 130)
            self.assertEqual(leftovers(str(self.folder)), [])
            self.assertFalse((self.folder / "picklock-out" / ".running").exists())

    def test_nothing_outlives_a_kill_9_of_picklock(self):
        process = self.start()
        process.kill()
        process.wait()
        self.assertTrue(wait_for(lambda: not leftovers(str(self.folder)), 10), leftovers(str(self.folder)))
        self.assertEqual(self.picklock("clean").returncode, 0)
        self.assertFalse((self.folder / "picklock-out" / ".running").exists())

    def test_nothing_outlives_a_kill_9_of_the_process_of_the_run(self):
        process = self.start()
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            child = int(file.read().split()[0])
        os.kill(child, signal.SIGKILL)
        self.assertEqual(process.wait(timeout=20), 3, process.stdout.read())
        self.assertTrue(wait_for(lambda: not leftovers(str(self.folder)), 10), leftovers(str(self.folder)))

    def test_two_at_once_do_not_meet(self):
        path = self.good("one")
        both = [subprocess.Popen([PICKLOCK, "run", path, "--world", "real", "--keep", "always"], cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
        for process in both:
            output, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, output)

    def environment_fails(self, *words, **options):
        """One sentence that holds all these words, exit 3, and nothing left running."""
        marker = {**os.environ, **options.pop("env", {}), "PICKLOCK_TEST": str(self.folder)}
        result = self.picklock("run", self.good("one"), "--world", "real", env=marker, **options)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        lines = [line for line in result.stdout.splitlines() if all(word in line for word in words)]
        self.assertEqual(len(lines), 1, result.stdout + result.stderr)
        self.assertNotIn("fail (", result.stdout)
        self.assertEqual(leftovers(str(self.folder)), [])
        self.assertFalse((self.folder / "picklock-out" / ".running").exists())
        return result

    def server(self, program):
        """A redis-server of our own, in front of the real one."""
        path = self.write("redis-server", program.replace("REAL", shutil.which("redis-server")))
        path.chmod(0o755)
        return {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def test_a_taken_port_is_one_sentence_and_leaves_nothing(self):
        # picklock asks the kernel for free ports, so the thief must come between the two: the
        # server's program takes the port that it was given, and then becomes the server.
        thief = self.server("#!" + sys.executable + """
import os, socket, sys
thief = socket.socket()
thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
thief.bind(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
thief.listen()
thief.set_inheritable(True)
os.execv("REAL", sys.argv)
""")
        result = self.environment_fails("redis-server of node 1", "Address already in use", env=thief)
        logs = self.folder / "picklock-out" / "one" / "1" / "real"
        self.assertIn(f"logs:  {logs.relative_to(self.folder)}", result.stdout)
        self.assertIn("Address already in use", (logs / "node-1.log").read_text())

    def test_a_server_that_will_not_start_is_one_sentence(self):
        refuses = self.server("#!/bin/sh\necho no licence for this machine\nexit 7\n")
        self.environment_fails("redis-server of node 1", "exit code 7", "no licence for this machine",
                               env=refuses)

    def test_too_few_open_files_are_told_before_a_lock_is_blamed(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
        self.environment_fails("open files", "may have 48", "ulimit -Hn", preexec_fn=limit)
        self.assertFalse((self.folder / "picklock-out" / "one").exists())

    def test_a_missing_redis_server_is_an_environment_error(self):
        result = self.picklock("run", self.good("one"), "--world", "real",
                               env={**os.environ, "PATH": str(self.folder)})
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("redis-server", result.stdout + result.stderr)


if __name__ == "__main__":
    outcome = unittest.main(verbosity=1, exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
