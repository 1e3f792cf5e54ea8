#!/usr/bin/env python3
"""Histories: shown, checked, replayed, converted. `histories.py ./picklock`."""
import json
import subprocess

from common import GOOD, PICKLOCK, SCENARIOS, Command, main


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

    GRANTS = ("{:type :invoke, :f :acquire, :process 0, :time 1000}\n"
              "{:type :ok, :f :acquire, :process 0, :time 2000}\n"
              "{:type :invoke, :f :acquire, :process 1, :time 9000000}\n"
              "{:type :ok, :f :acquire, :process 1, :time 9000100}\n")

    def test_one_history_that_cannot_be_read_does_not_stop_the_next(self):
        bad = self.write("bad.edn", self.GRANTS)
        result = self.picklock("check", "--model", "owner", self.folder / "none.edn", bad)
        self.assertEqual(result.returncode, 1, "a violation beats a missing file")
        self.assertIn("none.edn", result.stderr)
        self.assertIn("two holders", result.stdout)
        good = self.write("good.edn", self.GRANTS.split("{:type :invoke, :f :acquire, :process 1")[0])
        result = self.picklock("check", "--model", "owner", self.folder / "none.edn", good)
        self.assertEqual(result.returncode, 3)
        self.assertIn("pass", result.stdout)

    def test_a_pipe_and_a_byte_order_mark_are_read(self):
        bad = self.write("bad.edn", "\ufeff" + self.GRANTS)
        self.assertEqual(self.picklock("check", "--model", "owner", bad).returncode, 1)
        told = subprocess.run(["bash", "-c", f"{PICKLOCK} check --model owner <(cat {bad})"],
                              capture_output=True, text=True)
        self.assertEqual(told.returncode, 1, told.stderr)
        self.assertIn("/dev/fd/", told.stdout)
        self.refused(self.picklock("check", "/dev/null"), 4, "picklock: /dev/null: the file is empty")

    def test_a_history_without_an_operation_is_no_pass(self):
        header = '{"format":"picklock-history","version":1}\n'
        for name, text in (("none.edn", "[]"), ("none.json", "[]\n"), ("none.jsonl", header)):
            result = self.picklock("check", "--model", "owner", self.write(name, text))
            self.assertEqual(result.returncode, 2, name + result.stdout + result.stderr)
            self.assertIn("linearizable: skipped, 0 operations on 0 locks", result.stdout)
        for name in ("nothing.edn", "nothing.json", "nothing.jsonl"):
            self.refused(self.picklock("check", self.write(name, "")), 4, f"{name}: the file is empty")

    def test_an_exact_lease_needs_its_ttl(self):
        path = self.write("grants.edn", self.GRANTS)
        self.refused(self.picklock("check", "--model", "lease-exact", path), 4, "--ttl")
        result = self.picklock("check", "--model", "lease-exact", "--ttl", "1ms", path)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_a_key_that_stands_twice_is_refused(self):
        twice = self.write("twice.edn", "{:type :invoke, :type :ok, :f :acquire, :process 0, :time 1}\n")
        self.refused(self.picklock("check", twice), 4, "twice.edn:1", "twice")
        twice = self.write("twice.json", '{"type":"invoke","f":"acquire","process":0,"time":5,"time":6}\n')
        self.refused(self.picklock("check", twice), 4, "twice.json:1", "twice")

    def test_an_error_that_the_map_names_and_nothing_has_is_told(self):
        failed = ("{:type :invoke, :f :release, :process 0, :time 3000}\n"
                  "{:type :fail, :f :release, :process 0, :time 4000, :error %s}\n")
        path = self.write("errors.edn", self.GRANTS.split("{:type :invoke, :f :acquire, :process 1")[0]
                          + failed % '[:io {:why "gone \\"away\\"", :late true}]')
        check = ("check", "--model", "owner", "--failed-release", "not-held", path, "--map")
        result = self.picklock(*check, "plain,not-held=gone away|mine\x1b[2J,unknown=late")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("errors.edn: warning: no failure in it has an error that --map names: "
                      "unknown=late, not-held=gone away, not-held=mine\\x1b[2J\n", result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1)
        result = self.picklock(*check, 'plain,not-held=gone "away"')
        self.assertEqual((result.returncode, result.stderr), (1, ""), "told not held, and it held")
        result = self.picklock(*check, 'plain,unknown=gone "away",not-held=io')
        self.assertEqual(result.returncode, 0, "unknown, first of all")
        self.assertEqual(self.picklock(*check, "etcd").stderr, "", "a preset's own are no mistake")

    @staticmethod
    def entry(kind, f, process, time, rest=""):
        return "{:type :%s, :f :%s, :process %d, :time %d%s}\n" % (kind, f, process, time, rest)

    def test_the_known_presets_are_told_by_their_first_lines(self):
        e = self.entry
        grant = e("invoke", "acquire", 0, 1) + e("ok", "acquire", 0, 2)
        told = {
            "etcd": grant + e("invoke", "release", 1, 3) + e("fail", "release", 1, 4, ", :error [:not-held 5]"),
            "hazelcast": e("invoke", "acquire", 0, 1, ', :value "u"')
                         + e("ok", "acquire", 0, 2, ', :value {:client "c", :fence 3, :uid "u"}'),
            "independent": e("invoke", "acquire", 0, 1, ", :value [7 nil]") + e("ok", "acquire", 0, 2, ", :value [7 nil]"),
            "valued": e("invoke", "lock", 0, 1, ', :value "a"') + e("ok", "lock", 0, 2, ', :value "a"')
                      + e("invoke", "unlock", 0, 3, ', :value "a"') + e("ok", "unlock", 0, 4, ', :value "a"')
                      + e("invoke", "lock", 0, 5, ', :value "b"') + e("ok", "lock", 0, 6, ', :value "b"'),
        }
        for preset, text in told.items():
            for name, words in ((f"{preset}.edn", text), (f"{preset}-vector.edn", f"\ufeff[{text}]")):
                path = self.write(name, words)
                result = self.picklock("check", "--model", "owner", path)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(f"{name}: read as --map {preset}, told by its first lines; if it is not, say --map plain",
                              result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertIn(f"--map {preset},", self.picklock("show", path).stderr)
                self.assertEqual(self.picklock("check", "--model", "owner", path, "--map", "plain").stderr, "")
        lines = [{"f": "lock", "process": 1, "time": 1, "type": "invoke", "value": "alfred"},
                 {"f": "lock", "process": 1, "time": 2, "type": "ok", "value": "LockRefreshToken [tokenId=1c58]"},
                 {"f": "lock", "process": 2, "time": 3, "type": "invoke", "value": "berta"},
                 {"f": "lock", "process": 2, "time": 4, "type": "ok", "value": "LockRefreshToken [tokenId=1c59]"}]
        path = self.write("atlas.json", json.dumps(lines))
        result = self.picklock("check", "--model", "owner", path)
        self.assertIn("read as --map atlasdb,", result.stderr)
        self.assertEqual(result.returncode, 0, "two locks")
        self.assertEqual(self.picklock("check", "--model", "owner", path, "--map", "plain").returncode, 1, "one lock")

    def test_what_the_usual_names_read_and_what_we_wrote_is_not_guessed(self):
        e = self.entry
        grant = e("invoke", "acquire", 0, 1, "%s") + e("ok", "acquire", 0, 2, "%s")
        not_held = e("invoke", "release", 1, 3) + e("fail", "release", 1, 4, ", :error :not-held")
        plain = [self.GRANTS,
                 grant.replace("%s", ', :owner "x"') + not_held,                 # an owner is named
                 grant.replace("%s", ', :resource "x"') + not_held,              # so is the lock
                 grant.replace("%s", ", :value [7 8]") + e("invoke", "release", 0, 3),  # not all are pairs
                 grant.replace("%s", ', :value "a"') + e("invoke", "acquire", 1, 3, ', :value "a"')
                 + e("invoke", "release", 0, 4, ', :value "a"')]                 # a value of two acquires
        for number, text in enumerate(plain):
            path = self.write(f"plain{number}.edn", text)
            self.assertEqual(self.picklock("check", "--model", "owner", path).stderr, "", text)
        words = [{"time": 1, "process": 1, "type": "invoke", "f": "acquire", "value": "a"},
                 {"time": 2, "process": 1, "type": "ok", "f": "acquire", "value": "a"},
                 {"time": 3, "process": 1, "type": "invoke", "f": "release", "value": "a"},
                 {"time": 4, "process": 1, "type": "ok", "f": "release", "value": "a"},
                 {"time": 5, "process": 1, "type": "invoke", "f": "acquire", "value": "b"}]
        foreign = self.write("foreign.json", "".join(json.dumps(line) + "\n" for line in words))
        self.assertIn("--map valued,", self.picklock("check", "--model", "owner", foreign).stderr)
        header = '{"note":"x","format":"picklock-history","version":1}\n'
        own = self.write("own.jsonl", header + "".join(json.dumps({**line, "resource": "r0"}) + "\n" for line in words))
        self.assertEqual(self.picklock("check", "--model", "owner", own).stderr, "")
        self.picklock("convert", own, "own.edn")
        self.assertEqual(self.picklock("check", "--model", "owner", "own.edn").stderr, "")
        self.assertEqual(self.picklock("check", self.kept()).stderr, "")

    def test_clocks_that_differ_are_declared(self):
        path = self.write("skew.edn", self.GRANTS.replace(":time 9000000", ":time 1500"))
        result = self.picklock("check", "--model", "owner", path)
        self.assertEqual(result.returncode, 4)
        self.assertIn("--skew", result.stderr)
        result = self.picklock("check", "--model", "owner", "--skew", "1ms", path)
        self.assertEqual(result.returncode, 1, "held for longer than the clocks can differ")
        self.assertIn("differ by at most 1ms", result.stdout)
        result = self.picklock("check", "--model", "owner", "--skew", "10ms", path)
        self.assertEqual(result.returncode, 1)

    def test_output_that_cannot_be_written_is_told(self):
        bad = self.write("bad.edn", self.GRANTS)
        for arguments in (["check", "--model", "owner", str(bad)], ["--help"], ["check", "--help"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                told = subprocess.run([PICKLOCK, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(told.returncode, 3, arguments)
            self.assertIn("cannot write", told.stderr)

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
        self.assertIn("Process 0 is granted", said)
        self.assertNotRegex(said, r"[Cc]lient [0-9]")

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

    def test_a_time_limit_names_the_locks_that_were_settled(self):
        lines, time = [], 0
        for lock, rounds in (("easy", 1), ("hard", 500)):
            for step in rounds * ((0, "acquire", "info"), (1, "acquire", "ok"), (1, "release", "ok")):
                for kind in ("invoke", step[2]):
                    time += 1
                    lines.append(f'{{:type :{kind}, :f :{step[1]}, :process {step[0]}, :lock "{lock}", :time {time}}}')
        path = self.write("locks.edn", "\n".join(lines) + "\n")
        check = ("check", "--model", "reentrant", "--map", "plain", path)
        self.assertEqual(self.picklock(*check).returncode, 0)
        result = self.picklock(*check, "--time", "1ns", "--json")
        self.assertEqual(result.returncode, 2, result.stdout)
        said = json.loads(result.stdout)
        self.assertEqual((said["settled"], said["unsettled"]), (["easy"], ["hard"]))
        self.assertEqual((said["settled_count"], said["unsettled_count"]), (1, 1))

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


if __name__ == "__main__":
    main()
