#!/usr/bin/env python3
"""What helps somebody who writes scenarios: init, explain, --filter, --update-expect. `authors.py ./picklock`."""
import json
import pathlib
import re
import signal
import subprocess

from common import GOOD, PICKLOCK, ROOT, SCENARIOS, Command, main


class Init(Command):
    def test_a_first_scenario_runs_as_it_is_in_both_worlds(self):
        result = self.picklock("init")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("picklock run first.yaml", result.stdout)
        self.assertEqual(self.picklock("lint", "first.yaml").returncode, 0)
        run = self.picklock("run", "first.yaml", "--world", "sim,real")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        stressed = self.picklock("run", "first.yaml", "--stress", "--seeds", "1..100", "-q")
        self.assertEqual(stressed.returncode, 0, stressed.stdout)

    def test_it_writes_over_nothing_and_takes_good_names_only(self):
        path = self.write("mine.yaml", "precious")
        self.refused(self.picklock("init", path), 4, "mine.yaml", "nothing was changed")
        self.assertEqual(path.read_text(), "precious")
        self.refused(self.picklock("init", "no-ending"), 4, "NAME.yaml")
        self.refused(self.picklock("init", "it's x.yaml"), 4, "NAME.yaml", "one word of letters")
        copy = self.write("it's x.yaml", GOOD)
        said = self.picklock("run", copy)
        self.assertEqual(said.returncode, 4)
        self.assertIn("it's x.yaml gives none: rename the file to one word of letters", said.stderr)
        self.assertEqual(self.picklock("init", "bug-17.yaml").returncode, 0)
        self.assertIn("name: bug-17", (self.folder / "bug-17.yaml").read_text())


class Explain(Command):
    def test_every_check_fault_and_code_is_explained(self):
        lines = [line for kind in ("checks", "faults", "algorithms", "probes") for line in self.picklock("list", kind).stdout.splitlines()]
        self.assertGreater(len(lines), 80)
        for line in lines:
            self.assertGreater(len(line.split()), 3, line)
            self.assertNotRegex(line, r"[`*\]]", line)
        for name in [*(line.split()[0] for line in lines), "0", "1", "2", "3", "4", "130"]:
            result = self.picklock("explain", name)
            self.assertEqual(result.returncode, 0, name + result.stderr)
            self.assertGreater(len(result.stdout), 30, name)
            self.assertNotIn("**", result.stdout)

    def test_every_key_of_a_file_and_every_verdict_is_explained(self):
        keys = re.findall(r"^\| `([\w.]+)` \| \w+ \|", (ROOT / "docs" / "SCENARIO.md").read_text(), re.M)
        self.assertGreater(len(keys), 60)
        for key in keys:
            said = self.picklock("explain", key).stdout
            self.assertIn(f"{key}\n", said)
            self.assertIn("left out: ", said)
        self.assertIn("lock.ttl\n  type: duration\n  left out: 10s", self.picklock("explain", "ttl").stdout)
        self.assertIn("needs: [threads] for more than 1", self.picklock("explain", "clients.threads").stdout)
        self.assertIn("etcd #11456", self.picklock("explain", "etcd-dead-lease").stdout)
        for word in ("pass", "fail", "unknown", "skipped", "any", "library", "assumption", "deployment"):
            self.assertEqual(self.picklock("explain", word).returncode, 0, word)

    def test_every_word_of_an_adapter_is_explained(self):
        page = (ROOT / "docs" / "ADAPTERS.md").read_text()
        part = page[page.index("### What a library says of itself"):page.index("### Several threads")]
        words = [word for row in re.findall(r"^\| (`.*?) \|", part, re.M) for word in re.findall(r"`(\w+)`", row)]
        self.assertGreater(len(words), 20)
        for word in [*words, "at_ms", "validity_ms", "wall_ms", "failed (library)", "failed (assumption)", "does not apply"]:
            self.assertEqual(self.picklock("explain", word).returncode, 0, word)
        self.assertIn("says that: it tells of a loss unasked", self.picklock("explain", "notice").stdout)
        self.assertIn("says that: an acquire waits for its turn", self.picklock("explain", "wait").stdout)
        self.refused(self.picklock("explain", "reentrent"), 4, 'did you mean "reentrant"?')

    def test_every_word_of_a_header_is_explained(self):
        page = (ROOT / "docs" / "HISTORY.md").read_text()
        head = page[page.index("| `world` |"):page.index("## Events")]
        words = re.findall(r"^\| `(\w+)` \|", head, re.M)
        self.assertGreater(len(words), 35)
        for word in words:
            self.assertIn(f"{word} (in a history)\n", self.picklock("explain", word).stdout)

    def test_what_is_none_is_corrected(self):
        self.refused(self.picklock("explain", "exlusion"), 4, 'did you mean "exclusion"?')
        self.refused(self.picklock("explain", "7"), 4, "picklock list")
        self.refused(self.picklock("explain"), 4, "picklock list checks")


class Told(Command):
    def test_what_many_checks_found_is_told_in_whole_lines(self):
        page = (ROOT / "docs" / "REPORT.md").read_text()
        [text] = [text for text in re.findall(r"```yaml\n(.*?)```", page, re.S) if "report-late-release" in text]
        text = text.replace("wrong/plain-delete", "wrong/sql-release-any").replace("nodes: {count: 1}\n", "")
        path = self.write("report-late-release.yaml", text[:text.index("expect:")] + "expect: {exclusion: pass}\n")
        [run] = [json.loads(line) for line in self.picklock("run", path, "--json").stdout.splitlines() if '"type":"run"' in line]
        unmet = [name for name, check in run["checks"].items() if check.get("unmet")]
        self.assertGreater(len(unmet), 7)
        self.assertEqual(re.findall(r"^unmet: (\w+): ", run["why"], re.M), unmet)
        for line in run["why"].splitlines():
            self.assertRegex(line, r"^(unmet: )?\w+: \w+.*\w")


class Filter(Command):
    def names(self, words):
        result = self.picklock("run", SCENARIOS, "--json", "--keep", "never", "--filter", words)
        return {json.loads(line)["path"] for line in result.stdout.splitlines() if '"type":"run"' in line}

    def test_a_list_takes_the_same_words(self):
        listed = {line.split()[0].rsplit("/", 1)[1] for line in self.picklock("list", "scenarios", SCENARIOS, "--filter", "no-recheck").stdout.splitlines()}
        self.assertEqual(listed, {path.rsplit("/", 1)[1] for path in self.names("no-recheck")})
        self.refused(self.picklock("list", "--filter", "nosuch"), 4, "nosuch")

    def test_by_name_and_by_tag(self):
        self.assertLessEqual({"no-recheck.yaml", "extend-no-recheck.yaml"}, {path.rsplit("/", 1)[1] for path in self.names("no-recheck")})
        self.assertTrue(all("no-recheck" in path for path in self.names("no-recheck")))
        self.assertTrue(all("wrong" in path for path in self.names("wrong")))
        self.assertTrue(any("/wrong/plain-delete" in path for path in self.names("wrong")))
        jumps = self.names("clock_jump,!random,!library")
        self.assertGreater(len(jumps), 1)
        for path in jumps:
            self.assertIn("do: clock_jump", pathlib.Path(path).read_text())
        for path in self.names("wrong,!clock_rate"):
            self.assertNotIn("do: clock_rate", pathlib.Path(path).read_text())
        self.refused(self.picklock("run", SCENARIOS, "--filter", "nothing-like-it"), 4, "nothing-like-it")


class UpdateExpect(Command):
    FLOW = GOOD.replace("expect: {exclusion: pass}",
                        "expect: {exclusion: fail, validity: {verdict: fail, blame: library}, no_leak: pass}  # mine")
    BLOCK = (SCENARIOS / "pause-after-granted.yaml").read_text().replace("name: pause-after-granted", "name: NAME")

    def test_a_flow_is_mended_in_its_line(self):
        path = self.good("flow", self.FLOW)
        result = self.picklock("run", path, "--update-expect")
        said = [line.split(": ")[1:] for line in result.stdout.splitlines() if "now expects" in line]
        self.assertEqual(said, [["exclusion", "now expects pass"], ["validity", "now expects pass"]])    # in the order of the file
        self.assertEqual(path.read_text(), GOOD.replace("NAME", "flow").replace(
            "expect: {exclusion: pass}", "expect: {exclusion: pass, validity: pass, no_leak: pass}  # mine"))
        self.assertEqual(self.picklock("run", path).returncode, 0)

    def test_a_block_keeps_its_words_and_gets_what_it_lacked(self):
        text = self.BLOCK
        path = self.good("block", text)
        self.assertEqual(self.picklock("run", path).returncode, 0)
        broken = "\n".join(line for line in text.splitlines() if "store_integrity" not in line) + "\n"
        broken = broken.replace("  validity: pass", "  validity: fail   # why?")
        self.good("block", broken)
        self.assertEqual(self.picklock("run", path, "--update-expect").returncode, 1)
        after = path.read_text()
        self.assertIn("  validity: pass   # why?", after)
        self.assertIn("  store_integrity: {verdict: fail, blame: assumption}", after)
        self.assertEqual(self.picklock("run", path).returncode, 0)

    def test_what_is_as_expected_is_not_touched(self):
        path = self.good("one")
        before = path.stat()
        self.picklock("run", path, "--update-expect")
        self.assertEqual(path.stat().st_mtime_ns, before.st_mtime_ns)

    def test_unknown_is_nothing_to_expect(self):
        path = self.good("nobody", GOOD + "faults: [{on: client 1 after_refused, do: pause, for: 1s}]\n")
        before = path.read_text()
        result = self.picklock("run", path, "--update-expect")
        self.assertIn("exercised: left as it is: unknown is nothing to expect", result.stdout)
        self.assertEqual(path.read_text(), before)
        self.assertEqual(result.returncode, 2, result.stdout)

    def test_runs_that_differ_change_nothing(self):
        text = (SCENARIOS / "random" / "anything.yaml").read_text()
        text = text.replace("name: anything", "name: any").replace("exclusion: any", "exclusion: fail")
        path = self.write("any.yaml", text)
        result = self.picklock("run", path, "--seeds", "1..40", "--update-expect")
        self.assertIn("not all runs came out alike", result.stdout)


class Hints(Command):
    """A file that was meant to fail and passed says why."""

    def why(self, faults, lock="ttl: 10s, node_timeout: 300ms", expect="section_exclusion: fail"):
        path = self.write("meant.yaml", f"""\
version: 1
name: meant
lock: {{algorithm: redlock, {lock}}}
clients: {{count: 2, hold: 20ms}}
duration: 30s
faults:
""" + "".join(f"  - {fault}\n" for fault in faults) + f"expect:\n  {expect}\n")
        result = self.picklock("run", path, "--keep", "never")
        self.assertIn(result.returncode, (1, 2), result.stdout)
        return [line.strip() for line in result.stdout.splitlines() if "why not: " in line]

    def test_a_fault_that_struck_nobody(self):
        why = self.why(["{on: client 2 after_refused, nth: 90, do: pause, for: 12s}"])
        self.assertEqual(why, ["why not: fault 1 (pause, line 7) struck nobody: what it begins at never happened"])

    def test_an_event_that_had_passed(self):
        why = self.why(["{at: 0s, do: pause, target: client 2, until: client 1 after_release}",
                        "{on: client 2 after_granted, do: pause, until: client 1 after_granted}"])
        self.assertIn("why not: fault 2 (pause, line 8) waited for an event that did not come any more", why[0])

    def test_a_pause_that_the_lease_outlasted(self):
        why = self.why(["{on: client 1 after_granted, do: pause, for: 2s}"])
        self.assertEqual(why, ["why not: fault 1 (pause, line 7) lasted 2 s, less than the ttl of 10s: the lease outlasted it"])

    def test_a_timeout_that_hid_a_delay(self):
        why = self.why(["{at: 0s, do: latency, from: client 1, direction: reply, delay: 12s}"], "ttl: 10s, node_timeout: 50ms, retry: {count: 3, delay: 2s}")
        self.assertIn("node_timeout 50ms refused the lock before its 12s mattered", why[0])

    def test_a_majority_that_was_never_broken(self):
        why = self.why(["{on: client 1 before_write, do: crash, target: nodes 1-2, for: 0s}"])
        self.assertEqual(why, ["why not: faults struck 2 of 5 nodes: a majority, 3, was never broken"])

    def test_no_hint_where_it_failed_as_it_was_meant_to(self):
        result = self.picklock("run", SCENARIOS / "pause-after-granted.yaml")
        self.assertNotIn("why not", result.stdout)


class Lint(Command):
    def test_an_expectation_that_hangs_on_the_clock_is_told(self):
        text = (SCENARIOS / "pause-after-granted.yaml").read_text().replace("name: pause-after-granted", "name: NAME")
        race = text.replace("{on: client 1 after_granted, do: pause, until: client 2 after_write}",
                            "{at: 15ms, do: pause, target: client 1, until: client 2 after_write}")
        self.assertNotEqual(text, race)
        result = self.picklock("lint", self.good("race", race))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("warning: this pause begins at 15ms", result.stderr)
        self.assertIn("race.yaml:", result.stderr)
        self.assertEqual(self.picklock("lint", self.good("order", text)).stderr, "")
        short = text.replace("after_granted, do: pause, until: client 2 after_write}", "after_granted, do: pause, for: 1100ms}")
        self.assertNotEqual(text, short)
        self.assertIn("warning: this pause outlasts the ttl by 100ms", self.picklock("lint", self.good("short", short)).stderr)
        self.assertEqual(self.picklock("lint", self.good("long", short.replace("1100ms", "2s"))).stderr, "")


class Watch(Command):
    def test_a_change_runs_again_and_ctrl_c_ends(self):
        path = self.good("one")
        process = subprocess.Popen([PICKLOCK, "run", path, "--watch"], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertIn("ok    one", process.stdout.readline())
        self.assertIn("1 as expected", process.stdout.readline())
        self.good("one", GOOD.replace("exclusion: pass", "exclusion: fail"))
        self.assertIn("FAIL  one", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)


class Docs(Command):
    def test_the_files_of_a_page_do_what_it_says(self):
        blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "REPORT.md").read_text(), re.S)
        self.assertGreaterEqual(len(blocks), 5)
        for block in blocks:
            self.write(re.search(r"^name: (.*)$", block, re.M).group(1) + ".yaml", block)
        for more in ([], ["--stress", "--seeds", "1..200"]):
            result = self.picklock("run", ".", "-q", "--keep", "never", *more)
            self.assertEqual(result.returncode, 0, result.stdout)

    def test_the_readme_counts_what_the_command_prints(self):
        readme = (ROOT / "README.md").read_text()
        said = "0 not as expected, 0 unknown, 0 errors"
        self.assertIn(said, readme)
        self.assertIn(said, self.picklock("run", SCENARIOS, "-q", "--keep", "never").stdout)


if __name__ == "__main__":
    main()
