#!/usr/bin/env python3
"""What strangers do: names with line breaks, links and files of their own, servers that are broken. `strangers.py ./picklock`."""
import json
import os
import re
import resource
import signal
import subprocess

from common import GOOD, PICKLOCK, SCENARIOS, Command, main

# A name that would clear the screen, and then pretend to be a line of picklock's own.
FOREIGN = "x\x1b[2J\npicklock: all is well"
UNMET = GOOD.replace("exclusion: pass", "exclusion: fail")


class Words(Command):
    """Whatever a file or an option is called, it is shown in its line and never obeyed."""

    def shown(self, *arguments, **options):
        result = self.picklock(*arguments, **options)
        said = result.stdout + result.stderr
        self.assertNotIn("\x1b", said, arguments)
        self.assertNotRegex(said, r"(?m)^\s*picklock: all is well", arguments)
        return said

    def test_of_what_is_not_there(self):
        alone = SCENARIOS / "alone.yaml"
        for arguments in (["run", FOREIGN], ["lint", FOREIGN], ["plan", FOREIGN], ["list", "scenarios", FOREIGN], ["check", FOREIGN],
                          ["show", FOREIGN], ["replay", FOREIGN], ["bundle", FOREIGN], ["merge", FOREIGN], ["convert", FOREIGN, FOREIGN],
                          ["init", FOREIGN], ["explain", FOREIGN], [FOREIGN], ["run", "--" + FOREIGN], ["run", "--world", FOREIGN],
                          ["run", alone, "--filter", FOREIGN], ["run", alone, "--junit", FOREIGN + "/x"], ["run", alone, "--baseline", FOREIGN],
                          ["run", alone, "--trace", FOREIGN + "/x"], ["run", alone, "--cluster", FOREIGN], ["completion", FOREIGN],
                          ["run", alone, "--world", "real", "--redis-server", FOREIGN], ["run", alone, "--adapter", FOREIGN],
                          ["node", "--listen", "127.0.0.1:0", "--secret", FOREIGN], ["manual", FOREIGN], ["doctor", FOREIGN]):
            self.assertIn("\\x1b[2J", self.shown(*arguments) if arguments[0] != "doctor" else "\\x1b[2J")

    def test_of_what_is_there(self):
        folder = self.folder / FOREIGN
        folder.mkdir()
        (folder / "unmet.yaml").write_text(UNMET.replace("NAME", "unmet"))
        (folder / "bad.yml").write_text("version: 1\nname: other\n")
        for arguments in (["run", folder], ["lint", folder / "bad.yml"], ["lint", folder / "unmet.yaml"], ["plan", folder / "unmet.yaml"],
                          ["run", folder / "unmet.yaml", "--out", FOREIGN], ["run", folder / "unmet.yaml", "--tap"],
                          ["show", folder / "unmet.yaml"], ["clean", "--all", "--out", FOREIGN]):
            self.shown(*arguments)
        (folder / "bad.yml").unlink()
        self.shown("list", "scenarios", folder)
        self.shown("run", folder, "--out", "kept")
        kept = self.folder / FOREIGN / "kept"
        os.rename(self.folder / "kept", kept)
        run = kept / "unmet" / "1" / "sim"
        for arguments in (["show", run], ["check", run / "history.jsonl"], ["replay", run], ["bundle", run]):
            self.shown(*arguments)


class Whole(Command):
    """What a folder holds is run, or refused: nothing is passed by without a word."""

    def test_a_link_to_a_file_is_a_file(self):
        self.good("alone")
        suite = self.folder / "suite"
        suite.mkdir()
        os.symlink("../alone.yaml", suite / "alone.yaml")
        self.assertIn("1 as expected", self.picklock("run", suite).stdout)
        os.symlink("nowhere", suite / "other.yaml")
        result = self.picklock("run", suite)
        self.refused(result, 4, "other.yaml: No such file or directory", "1 of 2 scenario files are bad; nothing was run")

    def test_a_folder_that_is_closed_is_no_empty_one(self):
        suite = self.folder / "suite"
        closed = suite / "closed"
        closed.mkdir(parents=True)
        for path in (suite / "alone.yaml", closed / "alone.yaml"):
            path.write_text(GOOD.replace("NAME", "alone"))
        self.folder.chmod(0o777)
        closed.chmod(0)
        nobody = (lambda: os.setuid(65534)) if os.getuid() == 0 else None
        try:
            result = self.picklock("lint", suite, preexec_fn=nobody)
        except PermissionError:
            self.skipTest("picklock lies where nobody else can run it")
        finally:
            closed.chmod(0o755)
        self.refused(result, 3, "suite/closed: Permission denied")

    def test_a_scenario_that_came_with_picklock_is_found_by_a_part_of_its_name(self):
        for name in ("no-recheck", "no-recheck.yaml"):
            self.refused(self.picklock("run", name), 4, f"{name}: No such file or directory; did you mean wrong/no-recheck?")
        self.assertEqual(self.picklock("run", "wrong/no-recheck").returncode, 0)

    def test_what_is_too_much_or_missing_is_said_in_one_line(self):
        for arguments in (["schema", "x"], ["doctor", "x"], ["clean", "x"], ["node", "x"], ["sweep", "x"], ["adapter-test", "x"], ["adapter-test"],
                          ["check", "x", "--time", "0"], ["show", "a", "b"], ["explain", "a", "b"], ["list", "checks", "x", "y"]):
            result = self.picklock(*arguments)
            self.refused(result, 4)
            self.assertRegex(result.stderr, rf"\Apicklock {arguments[0]}: .+\n\Z", arguments)

    def test_a_variable_that_is_set_and_empty_is_refused(self):
        for variable, arguments in (("PICKLOCK_OUT", ["run", "alone"]), ("PICKLOCK_OUT", ["clean", "--all"]), ("PICKLOCK_OUT", ["merge", "x"]),
                                    ("PICKLOCK_CLUSTER", ["run", "alone"])):
            self.refused(self.picklock(*arguments, env={**os.environ, variable: ""}), 4,
                         f"picklock {arguments[0]}: ${variable} is set and empty; give it a value, or unset it\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_device_without_an_end_does_not_fill_the_disk(self):
        self.refused(self.picklock("check", "/dev/zero"), 4, "picklock: /dev/zero: a device; expected a file or a pipe")


class Theirs(Command):
    """What was there before stays."""

    def test_a_file_or_link_called_latest_is_not_replaced(self):
        (self.folder / "docs").mkdir()
        os.symlink("docs", self.folder / "latest")
        (self.folder / "unmet").mkdir()
        (self.folder / "unmet" / "latest").write_text("precious")
        for command in (["run", self.good("unmet", UNMET), "--out", "."], ["clean", "--all", "--out", "."]):
            self.picklock(*command)
            self.assertEqual(os.readlink(self.folder / "latest"), "docs")
            self.assertEqual((self.folder / "unmet" / "latest").read_text(), "precious")

    def test_latest_follows_the_newest_run_also_where_the_one_before_is_gone(self):
        path = self.good("unmet", UNMET)
        self.picklock("run", path, "--seed", "4")
        self.picklock("clean", "--all")
        (self.folder / "picklock-out").mkdir(exist_ok=True)
        os.symlink("unmet/4/sim", self.folder / "picklock-out" / "latest")
        self.picklock("run", path, "--seed", "5")
        self.assertEqual(os.readlink(self.folder / "picklock-out" / "latest"), "unmet/5/sim")

    def test_a_folder_behind_a_link_is_cleaned_like_any_other(self):
        (self.folder / "big").mkdir()
        (self.folder / "big" / "mine").write_text("precious")
        os.symlink("big", self.folder / "out")
        self.picklock("run", self.good("unmet", UNMET), "--out", "out")
        self.assertIn("1 that were kept", self.picklock("clean", "--all", "--out", "out").stdout)
        self.assertEqual(os.listdir(self.folder / "big"), ["mine"])

    def test_clean_looks_where_run_put_it(self):
        environment = {**os.environ, "PICKLOCK_OUT": "elsewhere"}
        self.picklock("run", self.good("unmet", UNMET), env=environment)
        self.assertIn("1 that were kept in elsewhere", self.picklock("clean", "--all", env=environment).stdout)
        self.assertFalse((self.folder / "elsewhere").exists())

    def test_runs_that_are_not_kept_leave_no_empty_folder(self):
        self.picklock("run", self.good("unmet", UNMET), "--seeds", "1..60", "--keep-last", "3")
        seeds = [path for path in (self.folder / "picklock-out" / "unmet").iterdir() if not path.is_symlink()]
        self.assertLess(len(seeds), 10)
        self.assertEqual([path for path in seeds if not list(path.iterdir())], [])

    def test_what_is_written_beside_the_results_is_whole_or_not_there(self):
        def full():
            """No file takes a byte."""
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        path = self.good("good")
        (self.folder / "all.md").write_text("what stood here\n")
        for option, name, left in (("--junit", "x.xml", None), ("--results", "x.jsonl", None), ("--summary", "x.md", None),
                                   ("--summary", "all.md", "what stood here\n")):
            done = self.picklock("run", path, "--world", "sim", "--keep", "never", option, name, preexec_fn=full)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn(f"cannot write {name}: File too large", done.stderr)
            self.assertEqual((self.folder / name).read_text() if left else (self.folder / name).exists(), left or False)
        for words in (["--junit", "x.xml", "--results", "no/x"], ["--junit", "x.xml", "--shard", "1/2", "--out", "/dev/null"],
                      ["--junit", "x.xml", "--baseline", "no"]):
            self.assertIn(self.picklock("run", path, "--world", "sim", *words).returncode, (3, 4), words)
            self.assertFalse((self.folder / "x.xml").exists(), words)

    def test_what_was_found_stands_where_it_cannot_be_kept(self):
        result = self.picklock("run", self.good("unmet", UNMET), "--trace", "/dev/full", "--json")
        line = json.loads(result.stdout)
        self.assertEqual((result.returncode, line["status"]), (1, "unmet"))
        self.assertRegex(line["why"], "unmet: .*\n(.*\n)*not kept: cannot write /dev/full: No space left on device\n")
        self.assertTrue(any("unmet" in check for check in line["checks"].values()))
        self.assertNotIn("folder", line)
        result = self.picklock("run", self.good("good"), "--trace", "/dev/full", "--json")
        line = json.loads(result.stdout)
        self.assertEqual((result.returncode, line["status"], line["checks"], line["causes"]), (3, "error", {}, []))

    def test_each_check_that_could_not_say_says_why(self):
        line = json.loads(self.picklock("run", SCENARIOS / "library" / "one-names-apart.yaml", "--json").stdout)
        told = {name: check["why"] for name, check in line["checks"].items() if check["verdict"] == "unknown"}
        self.assertEqual(told, {"exercised": "no client asked while another asked or held, so exclusion was not tried"})

    def test_what_could_not_be_written_is_not_left_half(self):
        self.assertIn("cannot write", self.picklock("show", self.kept(), "--html", "/dev/full").stderr)
        self.assertTrue(os.path.exists("/dev/full"))
        for command in (["init", "first.yaml"], ["show", self.kept(), "--html", "page.html"]):
            left = self.folder / command[-1]
            result = subprocess.run(["sh", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "sh", PICKLOCK, *map(str, command)], cwd=self.folder,
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
            self.assertIn("File too large", result.stderr)
            self.assertFalse(left.exists(), command)

    def kept(self):
        self.picklock("run", self.good("unmet", UNMET))
        return self.folder / "picklock-out" / "latest"


class Doctor(Command):
    def doctor(self, program, text):
        path = self.write(program, text)
        path.chmod(0o755)
        said = self.picklock("doctor", env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}).stdout
        line = [line for line in said.splitlines() if re.match(rf"\S+ +{program} ", line)][0]
        self.assertNotIn("\x1b", line)
        return line

    def test_a_server_that_says_more_than_its_version_is_not_broken(self):
        for program, said in (("redis-server", "Redis server v=7.2.1 sha=0"), ("postgres", "postgres (PostgreSQL) 17.2"),
                              ("etcd", "etcd Version: 3.6.1")):
            with self.subTest(program=program):
                line = self.doctor(program, f"#!/bin/sh\necho '{said}'\nexec head -c 3000000 /dev/zero\n")
                self.assertFalse(line.startswith("BROKEN"), line)

    def test_every_kind_of_server_is_asked_and_a_broken_one_is_broken(self):
        for program in ("redis-server", "postgres", "etcd"):
            with self.subTest(program=program):
                if "without" in self.doctor(program, "#!/bin/sh\nexit 1\n"):
                    self.skipTest(f"built without what {program} needs")
                for text, state, word in (("exec sleep 1000", "SLOW", "does not answer within 5 s"), ("exit 1", "BROKEN", "is there and fails"),
                                          ("kill -SEGV $$", "BROKEN", "is there and fails"),
                                          ("head -c 3000000 /dev/urandom", "BROKEN", ""),
                                          ("printf 'v=3.2 \\033[2J %s\\n'", "BROKEN", "or newer"), ("echo", "BROKEN", "")):
                    line = self.doctor(program, f"#!/bin/sh\n{text}\n")
                    self.assertEqual(line.split()[0], state, line)
                    self.assertIn(word, line)

    def test_an_old_server_is_refused_and_a_new_one_is_shown(self):
        for program, old, new in (("etcd", "etcd Version: 3.3.25", "etcd Version: 3.6.1"),
                                  ("postgres", "postgres (PostgreSQL) 9.4.1", "postgres (PostgreSQL) 17.2")):
            with self.subTest(program=program):
                line = self.doctor(program, f"#!/bin/sh\necho '{old}'\n")
                if "without" in line or "library" in line:
                    self.skipTest(line)
                self.assertTrue(line.startswith("BROKEN"), line)
                line = self.doctor(program, f"#!/bin/sh\necho '{new}'\n")
                self.assertTrue(line.startswith("ok"), line)
                self.assertIn(new, line)


if __name__ == "__main__":
    main()
