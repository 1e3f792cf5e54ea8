#!/usr/bin/env python3
"""What runs leave behind, what may be removed, and what is told first. `results.py ./picklock`."""
import json
import os
import signal
import subprocess
import time

from common import GOOD, PICKLOCK, Command, main

UNMET = GOOD.replace("exclusion: pass", "exclusion: fail")
BLOCK = GOOD.replace("expect: {exclusion: pass}", "expect:\n  exclusion: pass\n  validity: fail\n  no_leak: pass\n  exercised: unknown\n")


class Kept(Command):
    def folders(self, out="picklock-out"):
        return sorted(str(path.parent.relative_to(self.folder / out)) for path in (self.folder / out).rglob("history.jsonl")
                      if "latest" not in path.parts)

    def test_every_unmet_run_is_kept_and_named(self):
        path = self.good("unmet", UNMET)
        lines = [json.loads(line) for line in self.picklock("run", path, "--repeat", "15", "--json").stdout.splitlines()]
        self.assertEqual(len({line["folder"] for line in lines}), 15)
        for line in lines:
            self.assertTrue((self.folder / line["folder"] / "history.jsonl").exists(), line["folder"])
        self.assertEqual(len(self.folders()), 15)

    def test_the_text_names_a_folder_that_is_there(self):
        path = self.good("unmet", UNMET)
        for seeds in ("1..60", "1..60"):
            result = self.picklock("run", path, "--seeds", seeds, "--keep-last", "3")
            story = result.stdout.split(" show ")[1].split()[0]
            self.assertTrue((self.folder / story / "history.jsonl").exists(), result.stdout)

    def test_no_more_are_kept_than_asked_for_and_the_shortest(self):
        path = self.good("unmet", UNMET)
        result = self.picklock("run", path, "--seeds", "1..600", "--keep-last", "4", "--jobs", "1")
        shortest = result.stdout.split("shortest with seed ")[1].split()[0]
        seeds = {int(name.split("/")[1]) for name in self.folders()}
        self.assertLessEqual(len(seeds - {int(shortest)}), 5)
        self.assertGreaterEqual(len(seeds), 4)
        self.assertGreater(max(seeds), 400)

    def test_runs_that_share_a_folder_take_nothing_from_each_other(self):
        (self.folder / "a").mkdir()
        (self.folder / "b").mkdir()
        for folder in ("a", "b"):
            (self.folder / folder / "unmet.yaml").write_text(UNMET.replace("NAME", "unmet"))
        result = self.picklock("run", "a", "b", "--json")
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(len({line["folder"] for line in lines}), 2, lines)
        both = [subprocess.Popen([PICKLOCK, "run", "a", "--repeat", "30", "-q"], cwd=self.folder, stdout=subprocess.DEVNULL)
                for _ in range(2)]
        for process in both:
            self.assertEqual(process.wait(timeout=60), 1)
        self.assertEqual(len(self.folders()), 62)

    def test_a_page_is_whole_for_whoever_reads_it_meanwhile(self):
        path = self.good("alone")
        self.picklock("run", path, "--seeds", "1..2", "--out", "kept")
        with open(self.folder / "kept" / "index.html") as page:
            before = page.read()
            self.picklock("run", path, "--seeds", "1..9", "--out", "kept")
            self.assertEqual(os.fstat(page.fileno()).st_nlink, 0)
            page.seek(0)
            self.assertEqual(page.read(), before)
        self.assertNotEqual((self.folder / "kept" / "index.html").read_text(), before)
        self.assertEqual([name for name in os.listdir(self.folder / "kept") if name.endswith(".new")], [])

    def test_what_an_adapter_floods_is_not_kept(self):
        adapter = self.write("flood", "#!/bin/sh\nexec head -c 60000000 /dev/zero >&2\n")
        adapter.chmod(0o755)
        result = self.picklock("run", self.good("alone"), "--adapter", adapter, "--out", "kept")
        self.assertEqual(result.returncode, 3, result.stdout)
        logs = list((self.folder / "kept").rglob("adapter-*.log"))
        self.assertNotEqual(logs, [])
        self.assertLessEqual(max(log.stat().st_size for log in logs), 16 << 20)

    def test_results_are_not_run(self):
        self.good("unmet", UNMET)
        for _ in range(3):
            result = self.picklock("run", ".", "--out", "results")
            self.assertIn("; 1 runs", result.stdout)
        self.picklock("run", ".", "--out", ".")
        self.assertIn("; 1 runs", self.picklock("run", ".", "--out", ".").stdout)


class Removal(Command):
    def tree(self):
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}

    def test_clean_removes_nothing_that_has_no_mark(self):
        for name in ("deep/er/still/file", "latest/file", "1/sim/history.jsonl", ".running/7-0/file", ".running/x", "rerun.sh"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("precious")
        (self.folder / "empty").mkdir()
        os.symlink("deep", self.folder / "deep/latest")
        before = self.tree()
        for out in (".", "deep", "1", str(self.folder)):
            self.assertEqual(self.picklock("clean", "--all", "--out", out).returncode, 0)
        self.assertEqual(self.tree(), before)

    def test_a_page_that_is_not_ours_stays(self):
        page = self.write("index.html", "precious")
        self.picklock("run", self.good("unmet", UNMET), "--seeds", "1..2", "--out", ".")
        self.picklock("clean", "--all", "--out", ".")
        self.assertEqual(page.read_text(), "precious")

    def test_clean_all_takes_its_own_and_leaves_the_rest(self):
        path = self.good("unmet", UNMET)
        (self.folder / "mine.txt").write_text("precious")
        before = self.tree()
        self.picklock("run", path, "--out", ".", "--seeds", "1..3")
        self.picklock("run", path, "--seeds", "1..3")
        (self.folder / "picklock-out" / "note").write_text("precious")
        self.assertNotEqual(self.tree(), before)
        self.assertIn("3 that were kept", self.picklock("clean", "--all", "--out", ".").stdout)
        result = self.picklock("clean", "--all")
        self.assertIn("3 that were kept", result.stdout)
        self.assertIn("stays", result.stdout)
        (self.folder / "picklock-out" / "note").unlink()
        (self.folder / "picklock-out").rmdir()
        self.assertEqual(self.tree(), before)

    def test_an_unset_variable_is_refused(self):
        path = self.good("one")
        for arguments in (["run", path, "--out", ""], ["run", path, "--out="], ["clean", "--all", "--out", ""],
                          ["clean", "--all", "-o", ""], ["run", ""], ["run", path, "--adapter", ""], ["merge", "x", "--out", ""]):
            self.refused(self.picklock(*arguments), 4, "unset")

    def test_what_a_killed_run_left_goes_though_its_process_is_a_zombie(self):
        path = self.good("long", GOOD.replace("sections: 2", "sections: 1000").replace("hold: 1ms", "hold: 50ms"))
        process = subprocess.Popen([PICKLOCK, "run", path, "--world", "real"], cwd=self.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        running = self.folder / "picklock-out" / ".running"
        end = time.monotonic() + 20
        while time.monotonic() < end and not list(running.glob("*/clients.log")):
            time.sleep(0.02)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            child = int(file.read().split()[0])
        os.kill(process.pid, signal.SIGSTOP)   # so that it cannot bury its child, which becomes a zombie
        os.kill(child, signal.SIGKILL)
        end = time.monotonic() + 20
        while time.monotonic() < end and list(running.glob("*-*")):
            self.assertEqual(self.picklock("clean").returncode, 0)
        self.assertEqual(list(running.glob("*-*")), [])
        process.kill()
        process.wait()

    def test_clean_leaves_a_run_that_is_alive(self):
        path = self.good("one", GOOD.replace("sections: 2", "sections: 30").replace("hold: 1ms", "hold: 50ms"))
        process = subprocess.Popen([PICKLOCK, "run", path, "--world", "real"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while process.poll() is None:
            self.picklock("clean", "--all")
        output, _ = process.communicate()
        self.assertEqual(process.returncode, 0, output)


class First(Command):
    """What is not as expected is told first and marked, in every format."""

    def run_it(self, *arguments, **options):
        return self.picklock("run", self.good("unmet", BLOCK), *arguments, **options)

    def test_text(self):
        lines = self.run_it().stdout.splitlines()
        self.assertIn("unmet: validity, exercised; ", lines[0])
        self.assertEqual([line.strip() for line in lines[1:3]], ["unmet: validity: expected fail, found pass",
                                                                "unmet: exercised: expected unknown, found pass"])

    def test_a_check_that_is_not_named_and_fails_is_said_to_be(self):
        path = self.write("named.yaml", """\
version: 1
name: named
about: a restarted node forgets
lock: {algorithm: redlock, ttl: 10s}
clients: {count: 2}
faults:
  - {on: client 1 after_granted, do: pause, for: 12s}
expect:
  exclusion: pass
""")
        result = self.picklock("run", path, env={**os.environ, "GITHUB_ACTIONS": "1"})
        self.assertIn("unmet: store_integrity: not in expect, so it must not fail, found fail, blame assumption", result.stdout)
        self.assertIn(f"::error file={path},line=8,title=", result.stdout)

    def test_what_others_bury_is_told_once_more_right_above_the_count(self):
        unmet, good = self.good("a-unmet", BLOCK), self.good("b-good", GOOD)
        lines = self.picklock("run", unmet, good).stdout.splitlines()
        last = lines[-10:]
        self.assertIn("Not as expected, or unknown:", last)
        below = lines[lines.index("Not as expected, or unknown:"):]
        self.assertEqual([line.split()[:2] for line in below if line[:1].isalpha()][1:], [["FAIL", "a-unmet"]])
        again = next(line.strip() for line in below if line.strip().startswith("again: "))
        self.assertTrue(again.startswith(f"again: {PICKLOCK} run "), again)    # by the path that was typed
        typed = subprocess.run(again.removeprefix("again: "), shell=True, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(typed.returncode, 1, typed.stderr)
        self.assertRegex(lines[-1], "^1 as expected, 1 not as expected, 0 unknown, 0 errors")
        for words in ([good, "--quiet"], [unmet, "--quiet"], [unmet]):
            self.assertNotIn("Not as expected, or", self.picklock("run", *words).stdout)   # nothing stands between

    def test_tap(self):
        out = self.run_it("--tap").stdout
        self.assertIn("  unmet: [validity, exercised]\n  reason: |\n    unmet: validity: expected fail, found pass\n", out)
        self.assertIn("  again: |\n    picklock run ", out)

    def test_junit(self):
        self.run_it("--junit", "out.xml")
        import xml.etree.ElementTree as xml
        failure = xml.parse(self.folder / "out.xml").getroot().find("testsuite/testcase/failure")
        self.assertTrue(failure.get("message").startswith("unmet: validity: expected fail, found pass"))
        self.assertIn("again: picklock run ", failure.text)

    def test_annotations_stand_at_the_line_that_is_wrong(self):
        path = self.folder / "unmet.yaml"
        out = self.run_it(env={**os.environ, "GITHUB_ACTIONS": "1"}).stdout
        wanted = BLOCK.splitlines()
        for check in ("validity: fail", "exercised: unknown"):
            line = wanted.index("  " + check) + 1
            self.assertIn(f"::error file={path},line={line},title=picklock unmet in sim::unmet: {check.split(':')[0]}: ", out)
        self.assertEqual(out.count("::error"), 2)


if __name__ == "__main__":
    main()
