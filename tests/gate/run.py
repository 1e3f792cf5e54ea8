#!/usr/bin/env python3
"""The gate: what a release pipeline reads and believes. `run.py ./picklock`; real pipelines: pipelines.py."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

PICKLOCK = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "./picklock")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "scenarios"
SCHEMA = pathlib.Path(__file__).resolve().parent / "junit-10.xsd"


class Gate(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-gate-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def picklock(self, *arguments, code=0, **options):
        done = subprocess.run([PICKLOCK, *map(str, arguments)], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def scenario(self, source, expect, name=None):
        """A scenario of the corpus with other expectations."""
        source = SCENARIOS / source
        text = re.sub(r"^expect:.*", f"expect: {{{expect}}}\n", source.read_text(), flags=re.S | re.M)
        path = self.folder / f"{name or source.stem}.yaml"
        path.write_text(re.sub(r"^name: .*", f"name: {path.stem}", text, flags=re.M))
        return path

    def broken(self):
        """Never as expected, and the library is to blame."""
        return self.scenario("wrong/no-recheck.yaml", "section_exclusion: pass")

    def rare(self):
        """Not as expected in some runs of a hundred; nobody is to blame."""
        return self.scenario("random/pauses.yaml", "section_exclusion: pass, store_integrity: any, loss_notice: any, exercised: any", "rare")


class Files(Gate):
    def junit(self, path):
        if shutil.which("xmllint"):
            done = subprocess.run(["xmllint", "--noout", "--schema", SCHEMA, path], text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        suites = xml.parse(path).getroot()
        self.assertEqual(suites.tag, "testsuites")
        for suite in suites:
            cases = suite.findall("testcase")
            for attribute, count in (("tests", len(cases)), ("failures", len(suite.findall("testcase/failure"))),
                                     ("errors", len(suite.findall("testcase/error"))),
                                     ("skipped", len(suite.findall("testcase/skipped")))):
                self.assertEqual(int(suite.get(attribute)), count, attribute)
        for attribute in ("tests", "failures", "errors"):
            self.assertEqual(int(suites.get(attribute)), sum(int(suite.get(attribute)) for suite in suites))
        return suites

    def test_junit_is_valid_whatever_came_out(self):
        suites = self.junit(self.run_junit(SCENARIOS / "alone.yaml", self.broken(), "--world", "sim,real", code=1))
        self.assertEqual([suite.get("name") for suite in suites], ["picklock.sim", "picklock.real"])
        failure = suites.find("testsuite/testcase/failure")
        self.assertEqual(failure.get("type"), "unmet")
        self.assertIn("again: picklock run", failure.text)
        nowhere = {**os.environ, "PATH": str(self.folder)}
        suites = self.junit(self.run_junit(SCENARIOS / "alone.yaml", "--world", "real", code=3, env=nowhere))
        self.assertEqual(suites.get("errors"), "1")
        suites = self.junit(self.run_junit(SCENARIOS / "alone.yaml", "--budget", "1ns", code=2))
        self.assertEqual(suites.find("testsuite").get("skipped"), "1")

    def run_junit(self, *arguments, **options):
        self.picklock("run", *arguments, "--junit", "junit.xml", "--keep", "never", **options)
        return self.folder / "junit.xml"

    def test_tap_says_why_and_how_to_run_it_again(self):
        path = self.broken()
        said = self.picklock("run", SCENARIOS / "alone.yaml", path, "--tap", "--keep", "never", code=1).stdout
        self.assertIn("ok 1 - alone (sim)\n", said)
        self.assertIn("not ok 2 - no-recheck (sim)\n", said)
        self.assertRegex(said, r"\n  reason: \|\n    unmet: section_exclusion: expected pass, found fail, blame library\n")
        again = re.search(r"\n  again: \|\n    picklock (.*)\n", said)[1]
        self.assertEqual(self.picklock(*again.split(), code=1).returncode, 1)
        self.assertTrue(said.endswith("1..2\n"))

    def test_the_summary_is_a_short_page(self):
        path = self.broken()
        (self.folder / "summary.md").write_text("before\n")
        self.picklock("run", SCENARIOS / "alone.yaml", path, "--summary", "summary.md", "-q", code=1)
        text = (self.folder / "summary.md").read_text()
        self.assertTrue(text.startswith("before\n## picklock\n\n1 of 2 as expected, 2 runs\n"))
        rows = [line for line in text.splitlines() if line.startswith("| no-recheck ")]
        self.assertEqual(len(rows), 1)
        self.assertEqual(rows[0].count("|"), 6)
        self.assertIn("picklock run", rows[0])

    def test_results_are_the_lines_of_json(self):
        lines = self.picklock("run", SCENARIOS / "alone.yaml", "--seeds", "1..5", "--json").stdout
        said = self.picklock("run", SCENARIOS / "alone.yaml", "--seeds", "1..5", "--results", "results.jsonl").stdout
        self.assertIn("5 runs", said)
        self.assertEqual((self.folder / "results.jsonl").read_text(), lines)
        with open("/dev/full", "w"):
            done = self.picklock("run", SCENARIOS / "alone.yaml", "--results", "/dev/full", code=3)
        self.assertIn("cannot write /dev/full", done.stderr)

    def test_there_is_no_retry(self):
        self.assertIn("--retry is no option", self.picklock("run", SCENARIOS / "alone.yaml", "--retry", "2", code=4).stderr)


class Baseline(Gate):
    def results(self, *arguments, code=None):
        """What an earlier release said."""
        self.picklock("run", *arguments, "--keep", "never", "--results", "then.jsonl", "-q", code=code)
        return [json.loads(line) for line in (self.folder / "then.jsonl").read_text().splitlines()]

    def rewrite(self, lines):
        (self.folder / "then.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def beside(self, *arguments, code=0):
        done = self.picklock("run", *arguments, "--keep", "never", "--baseline", "then.jsonl", "-q", code=code)
        counts = re.search(r"beside the baseline: (\d+) new, (\d+) known, (\d+) within luck, (\d+) unsure, (\d+) mended", done.stdout)
        return dict(zip(("new", "known", "luck", "unsure", "mended"), map(int, counts.groups()))), done.stdout

    NOTHING = {"new": 0, "known": 0, "luck": 0, "unsure": 0, "mended": 0}

    def test_the_same_is_nothing_new(self):
        self.results(SCENARIOS, code=0)
        self.assertEqual(self.beside(SCENARIOS)[0], self.NOTHING)

    def test_a_seed_of_the_simulator_that_gets_worse_is_new_and_one_that_was_so_is_known(self):
        path = self.broken()
        lines = self.results(path, "--seeds", "1..20")
        self.assertEqual({line["status"] for line in lines}, {"unmet"})
        self.assertEqual(self.beside(path, "--seeds", "1..20")[0], {**self.NOTHING, "known": 1})
        lines[6]["status"] = "met"
        self.rewrite(lines)
        counts, said = self.beside(path, "--seeds", "1..20", code=1)
        self.assertEqual(counts["new"], 1)
        self.assertIn("1 of 20 seeds were as expected and are not, the first is 7", said)

    def test_what_is_mended_does_not_gate(self):
        lines = self.results(SCENARIOS / "alone.yaml", "--seeds", "1..5")
        lines[2]["status"] = "unmet"
        self.rewrite(lines)
        self.assertEqual(self.beside(SCENARIOS / "alone.yaml", "--seeds", "1..5")[0], {**self.NOTHING, "mended": 1})

    def test_a_seed_that_becomes_unknown_is_no_pass(self):
        path = self.folder / "vain.yaml"
        path.write_text("version: 1\nname: vain\nlock: {algorithm: redlock, ttl: 1s}\nclients: {count: 1}\nduration: 5s\n"
                        "faults:\n  - {at: 4s, do: pause, target: client 1, for: 1s}\nexpect: {exclusion: pass}\n")
        lines = self.results(path, code=2)
        self.assertEqual(self.beside(path)[0], self.NOTHING)
        lines[0]["status"] = "met"
        self.rewrite(lines)
        self.assertEqual(self.beside(path, code=2)[0], {**self.NOTHING, "unsure": 1})

    def test_a_scenario_that_is_new_or_says_something_else_is_judged_by_itself(self):
        self.results(SCENARIOS / "alone.yaml")
        path = self.broken()
        counts, said = self.beside(path, code=1)
        self.assertIn("new     no-recheck in sim: not as expected in 1 of 1 runs; it is not in the baseline", said)
        self.assertIn("in the baseline, not run now: alone in sim", said)
        self.results(path)
        path.write_text(path.read_text().replace("duration:", "bound: 3s\nduration:", 1) if "duration:" in path.read_text()
                        else path.read_text() + "bound: 3s\n")
        counts, said = self.beside(path, code=1)
        self.assertIn("it says something else now", said)

    def test_a_file_that_is_only_laid_out_otherwise_is_the_same(self):
        path = self.broken()
        self.results(path)
        path.write_text("# a remark\n" + path.read_text() + "\n\n")
        self.assertEqual(self.beside(path)[0], {**self.NOTHING, "known": 1})

    def test_luck_does_not_gate_and_more_than_luck_does(self):
        path = self.rare()
        now = self.results(path, "--seeds", "1..200")
        unmet = sum(line["status"] == "unmet" for line in now)
        self.assertTrue(2 <= unmet <= 20, unmet)
        other = self.results(path, "--seeds", "1001..1200")
        self.assertEqual(self.beside(path, "--seeds", "1..200")[0]["new"], 0)

        bad = [line for line in now + other if line["status"] == "unmet"]
        good = next(line for line in other if "fail" not in {check["verdict"] for check in line["checks"].values()})

        def then(runs, hits):
            """As many runs then as never were, of which some were not as expected."""
            self.rewrite([{**(bad[i % len(bad)] if i < hits else good), "seed": 100000 + i, "run": i + 1} for i in range(runs)])

        then(4 * 200, 4 * unmet)
        self.assertEqual(self.beside(path, "--seeds", "1..200")[0]["new"], 0)
        then(200 // unmet, 0)
        counts, said = self.beside(path, "--seeds", "1..200")
        self.assertEqual((counts["new"], counts["luck"]), (0, 1), said)
        then(20000, 0)
        counts, said = self.beside(path, "--seeds", "1..200", code=1)
        self.assertGreaterEqual(counts["new"], 1)
        self.assertRegex(said, rf"new +rare in sim: not as expected in 0 of 20000 runs then, {unmet} of 200 now \(p = ")

    def test_too_few_runs_to_tell_are_no_pass(self):
        path = self.scenario("pause-after-granted.yaml", "section_exclusion: pass, store_integrity: any, loss_notice: any")
        lines = self.results(path, "--seed", "5")
        lines[0].update(status="met", seed=6)
        self.rewrite(lines)
        counts, said = self.beside(path, "--seed", "5", code=2)
        self.assertEqual((counts["new"], counts["unsure"]), (0, 1), said)
        self.assertIn("too few runs to tell from luck", said)

    def test_evidence_against_the_library_is_new_however_rare(self):
        path = self.broken()
        lines = self.results(path, "--seed", "5")
        for i in range(20):
            lines.append(json.loads(json.dumps(lines[0])))
        for i, line in enumerate(lines):
            line.update(seed=100 + i, run=i + 1, status="met", checks={})
        self.rewrite(lines)
        counts, said = self.beside(path, "--seed", "5", code=1)
        self.assertIn("section_exclusion fail, blame library, in 1 of 1 runs; in none of 21 then, and evidence is no matter of luck", said)

    def test_an_environment_that_fails_is_told_as_such(self):
        self.results(SCENARIOS / "alone.yaml", "--world", "real")
        done = self.picklock("run", SCENARIOS / "alone.yaml", "--world", "real", "--baseline", "then.jsonl", code=3,
                             env={**os.environ, "PATH": str(self.folder)})
        self.assertIn("redis-server", done.stdout)

    def test_an_older_release_that_said_less_is_understood(self):
        path = self.broken()
        lines = self.results(path, "--seeds", "1..3")
        for line in lines:
            for key in ("content", "virtual_ns"):
                del line[key]
            line["wall_ns"] = 5
            line["checks"] = {name: {k: v for k, v in check.items() if k != "unmet"} for name, check in line["checks"].items()
                              if check["verdict"] != "skipped"}
        self.rewrite(lines)
        self.assertEqual(self.beside(path, "--seeds", "1..3")[0], {**self.NOTHING, "known": 1})

    def test_noise_is_refused(self):
        for text in ("", "nonsense\n", "{}\n", '{"type":"run"}\n', '{"type":"run","scenario":"x","world":"sim"}\n',
                     '[1]\n', '{"type":"run","scenario":"x","world":"sim","status":"fine","seed":1,"run":1,"checks":{}}\n'):
            (self.folder / "then.jsonl").write_text(text)
            done = self.picklock("run", SCENARIOS / "alone.yaml", "--baseline", "then.jsonl", code=4)
            self.assertIn("then.jsonl", done.stderr)
            self.assertEqual(done.stdout, "")
        (self.folder / "then.jsonl").write_bytes(os.urandom(100000))
        self.picklock("run", SCENARIOS / "alone.yaml", "--baseline", "then.jsonl", code=4)
        self.assertIn("nowhere", self.picklock("run", SCENARIOS / "alone.yaml", "--baseline", "nowhere", code=4).stderr)


class Budget(Gate):
    def test_what_there_was_no_time_for_is_named_and_no_pass(self):
        done = self.picklock("run", SCENARIOS / "alone.yaml", SCENARIOS / "random", "--budget", "1ns", code=2)
        for name in ("alone", "anything", "fenced", "network", "pauses"):
            self.assertIn(f"{name} in sim", done.stdout)
        self.assertIn("0 runs\nleft out, there was no time: ", done.stdout)

    def test_every_file_comes_before_any_second_seed(self):
        done = self.picklock("run", SCENARIOS, "--budget", "4s", "--jobs", "1", "--json", "--keep", "never", code=None)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        lines = [line for line in told if line["type"] == "run"]
        apart = [line for line in told if line["type"] == "apart"]  # those that need a library
        count = len(list(SCENARIOS.rglob("*.yaml"))) - len(apart)
        first = [line["path"] for line in lines[:count]]
        self.assertEqual(len(set(first)), len(first))
        if len(lines) > count:
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("left out", done.stderr)

    def test_what_was_not_as_expected_comes_first(self):
        late = self.scenario("wrong/wall-clock.yaml", "exclusion: any", "zz-late")
        self.picklock("run", SCENARIOS / "alone.yaml", SCENARIOS / "random", late, "--keep", "never", "--results", "then.jsonl", code=None)
        lines = [json.loads(line) for line in (self.folder / "then.jsonl").read_text().splitlines()]
        for line in lines:
            line["status"] = "unmet" if line["scenario"] == "zz-late" else "met"
        (self.folder / "then.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        done = self.picklock("run", SCENARIOS / "alone.yaml", SCENARIOS / "random", late, "--budget", "4s", "--jobs", "1", "--json",
                             "--keep", "never", "--baseline", "then.jsonl", code=None)
        self.assertEqual(json.loads(done.stdout.splitlines()[0])["scenario"], "zz-late")

    def test_a_number_of_runs_ends_it_too(self):
        done = self.picklock("run", SCENARIOS / "alone.yaml", "--seeds", "1..30", "--budget", "10m", "--json")
        self.assertEqual([json.loads(line)["seed"] for line in done.stdout.splitlines()], list(range(1, 31)))

    def test_bad_values(self):
        for bad in ("0s", "-1s", "120", "soon", ""):
            self.picklock("run", SCENARIOS / "alone.yaml", "--budget", bad, code=4)
        for more in (["--shard", "1/2"], ["--repeat", "2"]):
            self.assertIn("--budget", self.picklock("run", SCENARIOS / "alone.yaml", "--budget", "10s", *more, code=4).stderr)


if __name__ == "__main__":
    outcome = unittest.main(verbosity=1, exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - failed - len(outcome.skipped)} passed, {failed} failed")
    sys.exit(1 if failed or not outcome.testsRun else 0)
