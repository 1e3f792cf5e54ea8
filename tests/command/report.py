#!/usr/bin/env python3
"""What the command tells of a violation, to people and machines. `report.py ./picklock`."""
import json
import os
import re

from common import SCENARIOS, Command, main


class Report(Command):
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


class Batch(Report):
    def page(self, *arguments):
        result = self.picklock("run", *arguments, "-q")
        return result, (self.folder / "picklock-out" / "index.html").read_text()

    def strict(self):
        """A scenario that expects too much: every run of it is not as expected."""
        text = (SCENARIOS / "restart-forgets.yaml").read_text()
        path = self.folder / "strict.yaml"
        path.write_text(re.sub(r"section_exclusion: .*", "section_exclusion: pass", text.replace("name: restart-forgets", "name: strict")))
        return path

    def test_causes_come_first_and_rates_have_their_interval(self):
        _, page = self.page(self.strict(), SCENARIOS / "pause-after-granted.yaml", SCENARIOS / "alone.yaml", "--seeds", "1..12")
        self.assertIn("12 of 36 runs are not as expected, for 1 cause.", page)
        first = page.index("<article")
        self.assertIn("node 3 restarted and forgot client 1&#39;s key.", page[first:page.index("</article>")])
        self.assertLess(first, page.index("1 not as expected</summary>"))
        self.assertIn("1 violated in every run, as expected</summary>", page)
        self.assertIn("1 never violated, as expected</summary>", page)
        self.assertIn("100 %, 95 % interval 76 to 100 %", page)
        self.assertIn("0 %, 95 % interval 0 to 24 %", page)
        self.assertEqual(page.count("<title>seed 12: "), 3)

    def test_every_link_leads_to_a_page_and_nothing_is_loaded(self):
        _, page = self.page(self.strict(), SCENARIOS / "pause-after-granted.yaml", "--seeds", "1..3")
        links = set(re.findall(r'href="([^"]*)"', page))
        self.assertGreaterEqual(len(links), 2)
        for link in links:
            self.assertTrue((self.folder / "picklock-out" / link).is_file(), link)
        self.assertIn("default-src 'none'", page)
        self.assertNotIn("<script", page)

    def test_a_batch_has_its_page_though_nothing_is_kept(self):
        for words in (("--keep", "never", "--seeds", "1..3"), ()):   # nothing is to be left, or there is only one run
            self.picklock("run", SCENARIOS / "alone.yaml", *words)
            self.assertFalse((self.folder / "picklock-out").exists(), words)
        self.picklock("run", SCENARIOS / "alone.yaml", "--seeds", "1..3")
        self.assertEqual([path.name for path in (self.folder / "picklock-out").rglob("*")], ["index.html"])
        page = (self.folder / "picklock-out" / "index.html").read_text()
        self.assertIn("All 3 runs", page)
        self.picklock("run", SCENARIOS / "alone.yaml", "--keep", "always")    # one run again is no batch
        self.picklock("run", SCENARIOS / "alone.yaml", "--seeds", "1..5", "--keep", "never")
        self.assertEqual((self.folder / "picklock-out" / "index.html").read_text(), page)
        self.picklock("clean", "--all")
        self.assertFalse((self.folder / "picklock-out").exists())

    def test_merging_shards_gives_the_same_page_of_causes(self):
        _, page = self.page(self.strict(), SCENARIOS / "alone.yaml", "--seeds", "1..6")
        shards = self.folder / "shards"
        for shard in "12":
            self.picklock("run", self.strict(), SCENARIOS / "alone.yaml", "--seeds", "1..6", "--shard", shard + "/2", "--out", shards)
        self.picklock("merge", shards, "--out", "merged", "-q")
        merged = (self.folder / "merged" / "index.html").read_text()
        told = re.compile(r"<h1>.*</h1>|<article.*?<p>.*?</p>|<title>seed.*?</title>", re.S)
        self.assertEqual(told.findall(merged), told.findall(page))


class Lanes(Report):
    def show(self, scenario, *arguments, locale="C.UTF-8"):
        folder, _ = self.run_of(scenario)
        shown = self.picklock("show", folder, *arguments, env={**os.environ, "LC_ALL": locale})
        return folder, shown.stdout

    def test_lanes_are_at_most_100_columns_and_the_table_is_last(self):
        for scenario in ("restart-forgets.yaml", "pause-after-granted.yaml", "wrong/extend-no-recheck.yaml", "contenders-20.yaml"):
            for locale in ("C", "C.UTF-8"):
                _, shown = self.show(scenario, locale=locale)
                lines = shown.splitlines()[1:]
                self.assertLessEqual(max(map(len, lines)), 100, (scenario, locale))
                self.assertTrue(lines[-1].startswith("exercised "), lines[-1])
                self.assertEqual([line for line in lines if line != line.rstrip()], [])

    def test_faults_are_drawn_though_nothing_was_found(self):
        for scenario, struck in (("partition-ring.yaml", True), ("chubby/chubby-members-cut-off.yaml", True), ("alone.yaml", False)):
            _, shown = self.show(scenario)
            rows = [line for line in shown.splitlines() if line.startswith("fault ")]
            self.assertEqual([any(mark in row for mark in "\u2248~") for row in rows], [True] * struck, scenario)

    def test_plain_ascii_where_the_locale_or_the_option_says_so(self):
        folder, unicode = self.show("restart-forgets.yaml")
        option = self.picklock("show", folder, "--ascii", env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
        locale = self.picklock("show", folder, env={**os.environ, "LC_ALL": "C"}).stdout
        self.assertFalse(unicode.isascii())
        self.assertTrue(locale.isascii())
        self.assertEqual(option, locale)

    def test_story_and_lanes_have_the_same_numbers(self):
        folder, shown = self.show("restart-forgets.yaml", "--ascii")
        lines = shown.splitlines()
        evidence = next(line for line in lines if line.startswith("evidence"))
        client = next(line for line in lines if line.startswith("client 1 "))
        node = next(line for line in lines if line.startswith("node 3 "))
        self.assertEqual(evidence.index("1"), client.index("1", 11))
        self.assertIn("12x...", node)
        self.assertIn("#", client)
        steps = [line for line in lines if line[:1] in "1234" and line[1:2] == " "]
        self.assertEqual([step[0] for step in steps], ["1", "2", "3", "4"])
        times = [json.loads(line)["time"] for line in (folder / "history.jsonl").read_text().splitlines()[1:]]
        for step in steps:
            self.assertIn(float(step.split()[1]), {time // 1000 / 1000 for time in times})

    def test_the_command_that_runs_it_again_is_said(self):
        folder, shown = self.show("restart-forgets.yaml")
        self.assertIn(f"\nAgain: sh {folder}/rerun.sh\n", shown)
        alone = self.folder / "alone.jsonl"
        alone.write_text((folder / "history.jsonl").read_text())
        self.assertNotIn("Again:", self.picklock("show", alone).stdout)

    def test_a_title_tells_what_led_to_it_and_not_what_came_behind(self):
        """Client 1 deletes its own keys, both are inside, and its release deletes client 2's."""
        _, shown = self.show("wrong/plain-delete-again.yaml", "--ascii")
        self.assertIn("\nTwo clients were inside r0 at once: client 1 deleted its own keys.\n", shown)
        self.assertRegex(shown, r"\n2 .* Client 1 deletes its own keys on nodes 1, 2, 3, 4 and 5; the majority is broken\.")

    def test_of_a_service_the_member_is_named_that_a_fault_struck_or_none(self):
        """Its keys are told of as one node's, whichever member it was."""
        for scenario, sentence in (("zookeeper/zookeeper-leader-clock-fast", "the clock of node 3 ran wrong, and client 1's key expired"),
                                   ("hazelcast/hazelcast-unsafe-split", "the cluster granted, in another part of it, in spite of client 1's key"),
                                   ("hazelcast/hazelcast-all-restarted", "the cluster restarted and forgot client 1's key")):
            _, shown = self.show(scenario + ".yaml")
            self.assertIn(sentence, " ".join(shown.split()))
        _, shown = self.show("chubby/chubby-late-write-beyond-delay.yaml", "--ascii")
        self.assertIn(" Client 1's key expires: its time is up.", shown)

    def test_keys_of_a_service_have_one_lane(self):
        for scenario, struck in (("zookeeper/zookeeper-holder-paused", 0), ("etcd/etcd-leader-apart", 0), ("hazelcast/hazelcast-all-restarted", 3)):
            _, shown = self.show(scenario + ".yaml", "--ascii")
            rows = [line for line in shown.splitlines() if re.match(r"cluster |node \d ", line)]
            self.assertEqual([row[:7].strip() for row in rows], ["cluster", *[f"node {n + 1}" for n in range(struck)]], scenario)
            self.assertRegex(rows[0], "=1=")
            self.assertEqual([row[7:].split() for row in rows[1:]], [["2"]] * struck)
        _, shown = self.show("replicas/wait-other-promoted.yaml", "--ascii")
        self.assertNotIn("\ncluster ", shown)

    def test_what_happened_in_one_moment_can_be_seen(self):
        """A node forgets in the nanoseconds in which the grant is told: what was asked before, and a millisecond, are shown."""
        _, shown = self.show("restart-after-ttl.yaml", "--ascii")
        axis = next(line for line in shown.splitlines() if line.startswith("time "))
        self.assertRegex(axis, r"^time +0 ms +1\.\d+ ms$")

    def test_what_is_folded_is_said(self):
        _, shown = self.show("pause-after-granted.yaml", "--ascii")
        lines = shown.splitlines()
        axis = lines[next(i for i, line in enumerate(lines) if line.startswith("time ")) + 1]
        self.assertRegex(axis, r"-~*1s~*-+~*54.97ms~*-")

    def test_several_causes_have_each_their_lanes(self):
        _, shown = self.show("wrong/extend-no-recheck.yaml")
        self.assertIn("Cause 1 of 2\nThe lock extended client 1's lease to a time that had passed.", shown)
        self.assertEqual(shown.count("\nevidence "), 2)


class Boxes(Report):
    def boxes(self, scenario):
        folder, _ = self.run_of(scenario)
        return [json.loads(box) for box in re.findall(r'"box":({[^}]*})', (folder / "report.html").read_text())], folder

    def test_a_promise_without_keys_is_boxed_where_it_had_none(self):
        boxes, folder = self.boxes("restart-after-ttl.yaml")
        grants = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()[1:]]
        until = next(event["until"] for event in grants if event.get("f") == "acquire" and event.get("type") == "ok")
        lost = next(event["time"] for event in grants if event.get("f") == "key-lost")
        self.assertEqual([(box["from"], box["to"], box["label"]) for box in boxes], [(lost, until, "no majority of keys 1.482 s")])

    def test_a_promise_that_had_passed_is_boxed_from_its_end(self):
        boxes, _ = self.boxes("wrong/extend-no-recheck.yaml")
        self.assertEqual(boxes[0]["label"], "lease over 86.95 ms")
        self.assertEqual(boxes[0]["to"] - boxes[0]["from"], 86954499)


class Trace(Report):
    """The trace format of Chromium: docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU"""

    def trace(self, scenario, *arguments):
        path = self.folder / "trace.json"
        result = self.picklock("run", SCENARIOS / scenario, "--trace", path, "--keep", "always", "--json", *arguments)
        return json.loads(path.read_text()), json.loads(result.stdout)

    def test_it_is_well_formed(self):
        for scenario in ("restart-forgets.yaml", "pause-saved-by-fence.yaml", "contenders-20.yaml"):
            trace, _ = self.trace(scenario)
            named = {(event["pid"], event["tid"]) for event in trace["traceEvents"]
                     if event["ph"] == "M" and event["name"] == "thread_name"}
            for event in trace["traceEvents"]:
                self.assertIsInstance(event["name"], str)
                self.assertIn(event["ph"], "MXisf")
                self.assertIsInstance(event["pid"], int)
                if event["ph"] != "M":
                    self.assertGreaterEqual(event["ts"], 0)
                if event["ph"] == "X":
                    self.assertGreaterEqual(event["dur"], 0)
                if event["ph"] == "i":
                    self.assertIn(event["s"], ("g", "p", "t"))
                if event["ph"] in "Xi" and event["pid"] in (4, 5):
                    self.assertIn((event["pid"], event["tid"]), named)

    def test_keys_of_a_service_have_one_row(self):
        trace, _ = self.trace("zookeeper/zookeeper-holder-paused.yaml")
        rows = [event["args"]["name"] for event in trace["traceEvents"]
                if event["ph"] == "M" and event["name"] == "thread_name" and event["pid"] == 5]
        self.assertEqual(rows, ["cluster"])

    def test_arrows_have_both_ends(self):
        trace, _ = self.trace("restart-forgets.yaml")
        starts = {event["id"]: event for event in trace["traceEvents"] if event["ph"] == "s"}
        ends = {event["id"]: event for event in trace["traceEvents"] if event["ph"] == "f"}
        self.assertEqual(set(starts), set(ends))
        for number, start in starts.items():
            self.assertLessEqual(start["ts"], ends[number]["ts"])

    def test_its_bars_are_those_of_the_history(self):
        trace, run = self.trace("restart-forgets.yaml")
        events = self.events_of(self.folder / run["folder"])
        bars = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        grants = [e for e in events if e.get("f") == "acquire" and e.get("type") == "ok"]
        leases = sorted(bar["ts"] for bar in bars if bar["name"].startswith("lease "))
        self.assertEqual(leases, sorted(event["time"] / 1000 for event in grants))
        keys = [bar for bar in bars if bar["pid"] == 5]
        self.assertEqual(len(keys), sum(e["f"] in ("set", "key-back") for e in events))
        self.assertEqual(sum(bar["args"]["end"] == "lost" for bar in keys), 1)

    def test_show_writes_the_same(self):
        trace, run = self.trace("restart-forgets.yaml")
        self.picklock("show", self.folder / run["folder"], "--trace", "shown.json")
        self.assertEqual(json.loads((self.folder / "shown.json").read_text()), trace)

    def test_one_file_takes_one_run(self):
        result = self.picklock("run", SCENARIOS / "alone.yaml", "--seeds", "1..2", "--trace", "t.json")
        self.assertEqual(result.returncode, 4)
        self.assertIn("--trace takes one run", result.stderr)


if __name__ == "__main__":
    main()
