#!/usr/bin/env python3
"""What the command tells of a violation, to people and machines. `report.py ./picklock`."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PICKLOCK = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "./picklock")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "scenarios"


class Report(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-test-"))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def picklock(self, *arguments, **options):
        return subprocess.run([PICKLOCK, *map(str, arguments)], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options)

    def lines(self, *arguments):
        return [json.loads(line) for line in self.picklock(*arguments).stdout.splitlines()]

    def run_of(self, scenario):
        """The folder of a simulated run, and what `run --json` said of it."""
        said = self.lines("run", SCENARIOS / scenario, "--json", "--keep", "always")
        self.assertEqual(len(said), 1)
        return self.folder / said[0]["folder"], said[0]

    def events_of(self, folder):
        return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()][1:]


class Evidence(Report):
    def test_a_verdict_names_the_events_that_show_it(self):
        folder, run = self.run_of("restart-forgets.yaml")
        events = self.events_of(folder)
        section = run["checks"]["section_exclusion"]
        self.assertEqual(section["verdict"], "fail")
        self.assertEqual(section["blame"], "assumption")
        self.assertIn("restarted node", section["assumption"])
        self.assertEqual(section["grade"], "definite")
        entries = [events[index] for index in section["evidence"]]
        self.assertEqual([(event["kind"], event["f"]) for event in entries], [("section", "enter")] * 2)
        self.assertNotEqual(entries[0]["process"], entries[1]["process"])

    def test_one_restart_is_one_cause_with_all_checks_that_it_broke(self):
        _, run = self.run_of("restart-forgets.yaml")
        failed = [name for name, check in run["checks"].items() if check["verdict"] == "fail"]
        self.assertGreater(len(failed), 4)
        self.assertEqual({run["checks"][name]["cause"] for name in failed}, {1})
        self.assertEqual([cause["checks"] for cause in run["causes"]], [failed])
        cause = run["causes"][0]
        self.assertEqual(cause["title"], "Two clients were inside r0 at once, and an update was lost: "
                         "node 3 restarted and forgot client 1's key.")
        self.assertIn("appendfsync", cause["advice"])

    def test_two_causes_stay_two(self):
        _, run = self.run_of("wrong/extend-no-recheck.yaml")
        self.assertEqual([cause["blame"] for cause in run["causes"]], ["library", "assumption"])
        self.assertEqual(run["checks"]["validity"]["cause"], 1)
        self.assertEqual(run["checks"]["section_exclusion"]["cause"], 2)

    def test_a_run_without_violation_has_no_cause(self):
        _, run = self.run_of("alone.yaml")
        self.assertEqual(run["causes"], [])
        self.assertNotIn("cause", run["checks"]["exclusion"])

    def test_check_says_of_the_history_what_run_said(self):
        folder, run = self.run_of("clock-jump-one-node.yaml")
        said = self.lines("check", "--json", folder)
        verdicts = {line["check"]: line for line in said if line["type"] == "verdict"}
        causes = [line for line in said if line["type"] == "cause"]
        for name, check in run["checks"].items():
            for key in ("verdict", "blame", "assumption", "grade", "evidence", "cause"):
                self.assertEqual(verdicts[name].get(key), check.get(key), (name, key))
        self.assertEqual([cause["title"] for cause in causes], [cause["title"] for cause in run["causes"]])

    def test_guard_it_is_not_said_where_the_guard_held(self):
        _, run = self.run_of("pause-saved-by-fence.yaml")
        cause = run["causes"][0]
        self.assertIn("the guarded store refused the late one", cause["title"])
        self.assertEqual(cause["advice"], "Nothing: the guard of the store held. Keep it.")
        _, run = self.run_of("pause-after-granted.yaml")
        self.assertIn("Guard what the lock protects", run["causes"][0]["advice"])


if __name__ == "__main__":
    unittest.main(verbosity=0)
