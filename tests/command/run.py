#!/usr/bin/env python3
"""The command as a user meets it: exit codes, streams, errors. `run.py ./picklock`."""
import json
import os
import re
import resource
import subprocess
import time

from common import GOOD, PICKLOCK, ROOT, SCENARIOS, Command, main


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

    def test_an_unknown_option_is_corrected(self):
        self.refused(self.picklock("run", "--wrold", "sim"), 4, "did you mean --world?")
        self.refused(self.picklock("run", "--nothing-like-it"), 4, "--nothing-like-it", "--help")
        self.refused(self.picklock("run", "-Z"), 4, "-Z")
        self.refused(self.picklock("run", "--s", "1"), 4, "--seed", "--seeds", "--stress")
        self.refused(self.picklock("run", "--json=3"), 4, "--json takes no value")
        self.refused(self.picklock("run", "--seed"), 4, "--seed needs a value")

    def test_a_wrong_value_is_told_with_its_option_and_corrected(self):
        self.refused(self.picklock("run", "--world", "rael"), 4, "--world", '"rael"', 'did you mean "real"?')
        self.refused(self.picklock("run", "--seed", "x"), 4, "--seed", "git commit")
        self.refused(self.picklock("show", "--check", "exlusion", "x"), 4, 'did you mean "exclusion"?')
        self.refused(self.picklock("check", "--model", "mutx", "x"), 4, "--model", 'did you mean "mutex"?')
        self.refused(self.picklock("list", "prob"), 4, '"prob"', "algorithms, probes", 'did you mean "probes"?')
        self.refused(self.picklock("completion", "bsh"), 4, 'did you mean "bash"?')
        self.refused(self.picklock("manual", "picklock-scenarios"), 4, 'did you mean "picklock-scenario"?')
        self.refused(self.picklock("run", "--keep", ""), 4, "--keep", "unset")

    def test_words_of_a_command_line_do_nothing_to_a_terminal(self):
        for arguments in (["run", "--\x1b[2J"], ["run", "--seed", "\x1b[2J"], ["\x1b[2J"], ["list", "\x1b[2J"],
                          ["run", "\x1b[2J.yaml"], ["show", "\x1b[2J"], ["check", "--model", "\x1b]0;x\x07", "x"]):
            result = self.picklock(*arguments)
            self.assertIn(result.returncode, (3, 4), arguments)
            self.assertNotIn("\x1b", result.stdout + result.stderr, arguments)

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


class Again(Command):
    """The command that runs something again, wherever it is given."""
    NAMES = ["it's here", "two words", "$HOME", "semi;colon", "new\nline", "gr\u00fc\u00df"]

    def test_the_line_is_taken_by_a_shell_as_it_stands(self):
        for name in self.NAMES:
            folder = self.folder / name
            folder.mkdir()
            path = folder / "unmet.yaml"
            path.write_text(GOOD.replace("NAME", "unmet").replace("exclusion: pass", "exclusion: fail"))
            result = self.picklock("run", path, "--keep", "never")
            lines = [line.split("again: ", 1)[1] for line in result.stdout.splitlines() if "again: " in line]
            self.assertEqual(len(lines), 1, result.stdout)
            again = subprocess.run(["bash", "-c", lines[0]], cwd=self.folder, text=True,
                                   capture_output=True)
            self.assertEqual(again.returncode, 1, lines[0] + again.stderr)
            self.assertIn("expected fail, found pass", again.stdout)

    def test_rerun_sh_runs_from_anywhere_with_nothing_on_the_path(self):
        for name in self.NAMES:
            folder = self.folder / name
            folder.mkdir()
            path = self.good("unmet", GOOD.replace("exclusion: pass", "exclusion: fail"))
            self.picklock("run", path, "--out", folder, "--seed", "3", "--time-scale", "0.5", "--stress=7ms")
            path.unlink()
            elsewhere = self.folder / f"elsewhere of {name}"
            elsewhere.mkdir()
            again = subprocess.run([folder / "unmet" / "3" / "sim" / "rerun.sh"], cwd=elsewhere, text=True, capture_output=True,
                                   env={"PATH": "/usr/bin:/bin"})
            self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
            hashes = [json.loads((at / "unmet" / "3" / "sim" / "history.jsonl").read_text().splitlines()[-1])
                      for at in (folder, elsewhere / "picklock-out")]
            self.assertEqual(*hashes)

    def test_a_path_may_be_as_long_as_the_system_lets_it(self):
        folder = self.folder.joinpath(*["x" * 250] * 8)
        folder.mkdir(parents=True)
        path = folder / "unmet.yaml"
        path.write_text(GOOD.replace("NAME", "unmet").replace("exclusion: pass", "exclusion: fail"))
        result = self.picklock("run", path, "--out", folder / "kept")
        self.assertEqual(result.returncode, 1, result.stderr)
        again = subprocess.run([folder / "kept" / "unmet" / "1" / "sim" / "rerun.sh"], cwd=self.folder, text=True, capture_output=True)
        self.assertEqual(again.returncode, 1, again.stderr)
        result = self.picklock("run", path, "--world", "real", "--out", folder / "kept")
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("--out", result.stdout)


class LibraryCorpus(Command):
    """What is tried on libraries finds out every lock that is wrong on purpose, and blames it."""

    CAUGHT = {
        "no-recheck": ("asking-stopped", "section_exclusion"),
        "timer-after-quorum": ("slow-replies", "validity"),
        "wall-clock": ("client-clock-back", "exclusion"),
        "second-clock": ("slow-replies", "validity"),
        "no-drift": ("node-clock-fast", "validity"),
        "plain-delete": ("release-after-expiry", "ownership"),
        "extend-any-owner": ("extend-late", "ownership"),
        "extend-creates": ("extend-evicted", "result_truth"),
        "extend-no-recheck": ("extend-decided", "validity"),
        "extend-fail-unlocks": ("extend-refused", "exclusion"),
        "quorum-half": ("even", "exclusion"),
        "quorum-reachable": ("split", "exclusion"),
        "no-cleanup": ("lost-set-replies", "no_leak"),
        "cleanup-acquired-only": ("lost-set-replies", "no_leak"),
        "constant-value": ("contention", "ownership"),
        "release-ignores-error": ("release-read-only", "result_truth"),
        "fence-not-raised": ("fence-ahead", "fence_order"),
        "setnx-expire": ("asking-killed", "deadlock_freedom"),
        "spins": ("contention", "fault_tolerance"),
    }

    def test_every_wrong_lock_is_caught(self):
        listed = self.picklock("list", "algorithms").stdout
        wrong = {word[len("wrong/"):] for word in listed.split() if word.startswith("wrong/")}
        # Libraries are tried on redis-servers; the locks of other kinds have scenarios of their own.
        redis = {path.stem.replace("_", "-") for path in (SCENARIOS.parent / "lockcore/redis/wrong").glob("*.c")}
        self.assertEqual(wrong & redis, set(self.CAUGHT))
        for algorithm, (scenario, check) in self.CAUGHT.items():
            with self.subTest(algorithm=algorithm):
                text = (SCENARIOS / "library" / f"many-{scenario}.yaml").read_text()
                lines = [line for line in text.splitlines() if not line.startswith("needs:")]
                text = re.sub("algorithm: [a-z_]+", f"algorithm: wrong/{algorithm}", "\n".join(lines))
                result = self.picklock("run", self.write(f"many-{scenario}.yaml", text), "--json")
                verdict = json.loads(result.stdout)["checks"][check]
                self.assertEqual((verdict["verdict"], verdict.get("blame")), ("fail", "library"))


class Livelock(Command):
    def test_a_lock_that_asks_to_be_woken_at_once_for_ever_is_told_and_blamed(self):
        text = GOOD.replace("redlock", "wrong/spins").replace("count: 1, sections: 2", "count: 3, sections: 2")
        path = self.good("spinning", text)
        for world in ("sim", "real"):
            result = self.picklock("run", path, "--world", world)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("fault_tolerance fail (library)", result.stdout)
            self.assertIn("'s lock asked to be woken at once, for ever: a livelock", result.stdout)
            kept = self.folder / "picklock-out" / "spinning" / "1" / world
            end = json.loads((kept / "history.jsonl").read_text().splitlines()[-1])
            self.assertEqual((end["f"], end["cause"]), ("run-end", "livelock"))
            self.assertIn(end["process"], (1, 2, 3))
        kept = self.folder / "picklock-out" / "spinning" / "1" / "sim"
        self.assertEqual(self.picklock("replay", kept / "run.bundle").returncode, 1)


class Sweep(Command):
    """Every single fault at every point of a lock's own protocol."""

    def sweep(self, algorithm, *options):
        return self.picklock("sweep", "--algorithm", algorithm, "--quiet", *options)

    def test_a_right_lock_is_to_blame_for_nothing(self):
        result = self.sweep("redlock")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("Nothing was found that the library is to blame for", result.stdout)
        self.assertFalse((self.folder / "picklock-out" / "sweep").exists())

    def test_wrong_locks_are_found_out(self):
        for algorithm in ("no-drift", "wall-clock", "quorum-half", "no-cleanup", "extend-fail-unlocks"):
            with self.subTest(algorithm=algorithm):
                result = self.sweep(f"wrong/{algorithm}")
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn("The library is to blame in", result.stdout)

    def test_what_is_found_is_left_as_a_scenario_that_reproduces_it(self):
        self.sweep("wrong/no-recheck")
        found = sorted((self.folder / "picklock-out" / "sweep").glob("*.yaml"))
        self.assertGreater(len(found), 0)
        for path in found:
            result = self.picklock("run", path)
            self.assertEqual(result.returncode, 0, result.stdout)
            path.write_text(path.read_text().replace("wrong/no-recheck", "redlock"))
            self.assertEqual(self.picklock("run", path).returncode, 1)

    def test_locks_of_every_kind_are_swept(self):
        for algorithm in ("sql", "etcd", "zookeeper", "chubby", "fenced_lock"):
            with self.subTest(algorithm=algorithm):
                result = self.sweep(algorithm)
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        result = self.sweep("wrong/etcd-dead-lease")
        self.assertEqual(result.returncode, 1, result.stdout)

    def test_the_points_are_those_of_the_protocol(self):
        told = self.sweep("redlock", "--nodes", "5").stdout
        self.assertIn("redlock, at each of 5 nodes: set, extend (2 times), delete", told)
        told = self.sweep("single").stdout
        self.assertIn("single, at each of 1 nodes: set", told)

    def test_what_is_left_out_is_no_pass(self):
        result = self.sweep("redlock", "--budget", "1ms")
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertIn("left out, there was no time", result.stdout)

    def test_usage(self):
        self.refused(self.picklock("sweep"), 4, "--adapter CMD or --algorithm NAME")
        self.refused(self.picklock("sweep", "--algorithm", "nosuch"), 4, "nosuch: unknown")
        self.refused(self.picklock("sweep", "--algorithm", "single", "--nodes", "0"), 4, "not a value")
        self.refused(self.picklock("sweep", "--algorithm", "single-wait"), 4, "waits for replicas")


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


class Needs(Command):
    """A scenario that asks for what the lock is not does not apply, which is no pass."""

    RENEWING = GOOD.replace("lock:", "needs: [renew]\nlock:", 1)

    def test_it_is_told_with_the_reason_and_nothing_is_met(self):
        path = self.good("renewing", self.RENEWING)
        result = self.picklock("run", path)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("does not apply: it does not renew by itself", result.stdout)
        self.assertIn("1 do not apply; 0 runs", result.stdout)

    def test_the_others_are_run(self):
        result = self.picklock("run", self.good("renewing", self.RENEWING), self.good("plain"), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(line["type"], line["scenario"]) for line in lines],
                         [("run", "plain"), ("apart", "renewing")])

    def test_tap_skips_it(self):
        result = self.picklock("run", self.good("renewing", self.RENEWING), "--tap")
        self.assertIn("ok 1 - renewing # SKIP does not apply", result.stdout)
        self.assertIn("1..1", result.stdout)

    def test_an_unknown_need_is_corrected(self):
        path = self.good("renewing", self.RENEWING.replace("[renew]", "[renw]", 1))
        self.refused(self.picklock("run", path), 4, 'unknown need "renw"; did you mean "renew"?')


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


class Lists(Command):
    def test_everything_can_be_listed(self):
        for kind, word in (("checks", "exclusion"), ("faults", "pause"), ("algorithms", "redlock"),
                           ("probes", "after_granted")):
            result = self.picklock("list", kind)
            self.assertEqual(result.returncode, 0)
            self.assertIn(word, result.stdout)
        self.refused(self.picklock("list", "locks"), 4, "it takes scenarios, checks")

    def test_a_picklock_that_was_only_built_finds_its_scenarios_from_any_folder(self):
        done = self.picklock("run", "alone", "--keep", "never")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("share/picklock/scenarios/wrong/no-recheck.yaml", self.picklock("lint", "wrong").stdout)

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


class Doctor(Command):
    def doctor(self, program):
        path = self.write("redis-server", program)
        path.chmod(0o755)
        result = self.picklock("doctor", env={**os.environ, "PATH": f"{self.folder}:/usr/bin:/bin"})
        self.assertEqual(result.returncode, 3, result.stdout)
        return [line for line in result.stdout.splitlines() if " redis-server " in line][0]

    def test_a_server_that_hangs_is_slow_and_doctor_does_not_hang(self):
        line = self.doctor("#!/bin/sh\nexec sleep 1000\n")
        self.assertTrue(line.startswith("SLOW"), line)
        self.assertIn("does not answer", line)

    def test_a_server_that_fails_is_broken_and_not_missing(self):
        line = self.doctor("#!/bin/sh\necho cannot open shared object >&2\nexit 1\n")
        self.assertTrue(line.startswith("BROKEN"), line)

    def test_a_version_that_cannot_work_is_refused_and_shown_without_being_obeyed(self):
        line = self.doctor("#!/bin/sh\nprintf 'Redis server v=3.2.1 \\033[2J sha=0\\n'\n")
        self.assertTrue(line.startswith("BROKEN"), line)
        self.assertIn("5 or newer", line)
        self.assertNotIn("\033", line)

    def test_a_missing_server_is_missing(self):
        result = self.picklock("doctor", env={**os.environ, "PATH": str(self.tools())})
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("MISSING  redis-server", result.stdout)

    def tools(self):
        folder = self.folder / "tools"
        folder.mkdir()
        for name in ("timeout", "sh"):
            (folder / name).symlink_to(f"/usr/bin/{name}")
        return folder


class Large(Command):
    def test_a_world_that_is_too_large_is_the_environments(self):
        path = self.write("big.yaml", """\
version: 1
name: big
lock: {algorithm: redlock}
nodes: {count: 16}
clients: {count: 10000, resources: 1024}
expect: {exclusion: pass}
""")
        result = self.picklock("run", path)
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertIn("10000 clients, 16 nodes and 1024 names need", result.stdout)
        self.assertIn("GiB", result.stdout)

    def test_a_run_that_records_more_than_memory_holds_is_stopped(self):
        path = self.write("long.yaml", """\
version: 1
name: long
lock: {algorithm: redlock}
nodes: {count: 16}
clients: {count: 400}
duration: 600s
expect: {exclusion: pass}
""")
        bytes_max = 256 << 20
        result = subprocess.run([PICKLOCK, "run", path, "--world", "sim", "--out", str(self.folder / "results")], capture_output=True, text=True,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_max, bytes_max)))
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertRegex(result.stdout, r"no memory for more than \d+ events of one run, which take 0\.\d GiB; take fewer clients")


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


if __name__ == "__main__":
    main()
