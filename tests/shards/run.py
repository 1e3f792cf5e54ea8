#!/usr/bin/env python3
"""Searches cut into shards and put together again. `run.py ./picklock`; engines that run them: engines.py."""
import collections
import json
import os
import pathlib
import re
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
# Six files, by name: the corpus may grow.
SEARCH = tuple(f"random/{name}.yaml" for name in ("anything", "fenced", "network", "pauses")) + ("alone.yaml", "pause-after-granted.yaml")


class Shards(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-shards-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def picklock(self, *arguments, code=0, **options):
        done = subprocess.run([PICKLOCK, *map(str, arguments)], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def search(self, *more, files=SEARCH, **options):
        return self.picklock("run", *[SCENARIOS / name for name in files], *more, **options)

    def shard(self, k, n, *more, out=None, seeds="1..40", **options):
        out = out or f"out{k}"
        self.search("--seeds", seeds, "--shard", f"{k}/{n}", "--out", out, "-q", *more, **options)
        return self.folder / out / f"shard-{k}-of-{n}.jsonl"

    def whole(self, n=3, **options):
        return [self.shard(k, n, **options) for k in range(1, n + 1)]

    def lines(self, text):
        return [json.loads(line) for line in text.splitlines()]

    def refused(self, done, *words):
        """One clear line, and nothing on stdout."""
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertNotIn("assertion", done.stderr)


class Together(Shards):
    def test_three_shards_in_three_folders_are_byte_for_byte_one_run(self):
        self.whole()
        one = self.search("--seeds", "1..40", "--json", "--keep", "never").stdout
        self.assertEqual(self.picklock("merge", "out1", "out2", "out3", "--json").stdout, one)
        self.assertEqual(self.picklock("merge", "out3", self.folder / "out1/shard-1-of-3.jsonl", "out2", "--json").stdout, one)
        self.assertEqual(len(one.splitlines()), 6 * 40)

    def test_scenarios_of_every_kind_of_server_and_what_does_not_apply_are_one_run_too(self):
        kinds = ["etcd/etcd-leader-crash.yaml", "debate/node-forgets-sql.yaml", "debate/node-forgets-zookeeper.yaml",
                 "debate/node-forgets-chubby.yaml", "replicas/split-wait.yaml", "library/many-again.yaml", "library/one-extend.yaml"]
        for k in (1, 2, 3):
            self.shard(k, 3, files=kinds, seeds="1..5")
        one = self.search("--seeds", "1..5", "--json", "--keep", "never", files=kinds).stdout
        self.assertEqual({line["type"] for line in self.lines(one)}, {"run", "apart"})
        self.assertEqual(self.picklock("merge", "out2", "out3", "out1", "--json").stdout, one)

    def test_what_one_world_cannot_have_is_one_run_too(self):
        kinds = ["debate/node-forgets-chubby.yaml", "alone.yaml"]  # nobody can install a Chubby cell
        for k in (1, 2):
            self.shard(k, 2, "--world", "sim,real", files=kinds, seeds="1..2")
        one = self.lines(self.search("--seeds", "1..2", "--world", "sim,real", "--json", "--keep", "never", files=kinds).stdout)
        merged = self.lines(self.picklock("merge", "out1", "out2", "--json").stdout)
        told = lambda lines: [(line["type"], line["scenario"], line.get("world"), line.get("seed"), line.get("why")) for line in lines]
        self.assertEqual(told(merged), told(one))
        self.assertEqual([line["scenario"] for line in one if line["type"] == "apart"], ["node-forgets-chubby"])

    def test_repetitions_and_cuts_of_any_size_hold_every_run_once(self):
        one = self.search("--seeds", "5..9", "--repeat", "2", "--json", "--keep", "never").stdout
        keys = collections.Counter((line["content"], line["run"], line["seed"]) for line in self.lines(one))
        self.assertEqual(set(keys.values()), {1})
        for n in (1, 2, 4, 7, 13):
            folders = []
            for k in range(1, n + 1):
                self.shard(k, n, "--repeat", "2", seeds="5..9", out=f"cut{n}")
            self.assertEqual(self.picklock("merge", f"cut{n}", "--json").stdout, one, f"{n} shards")

    def test_more_shards_than_runs_leave_some_empty(self):
        for k in range(1, 6):
            self.shard(k, 5, seeds="1..3", out="few", files=["alone.yaml"], code=0 if k <= 3 else 2)
        self.assertEqual(len(self.picklock("merge", "few", "--json").stdout.splitlines()), 3)

    def test_a_shard_that_is_run_again_leaves_the_same_bytes(self):
        before = self.shard(2, 3).read_bytes()
        self.assertEqual(self.shard(2, 3, "--jobs", "1").read_bytes(), before)

    def test_the_order_of_lines_does_not_depend_on_who_was_first(self):
        lines = {self.search("--seeds", "1..30", "--json", "--keep", "never", "--jobs", jobs).stdout for jobs in ("1", "2", "7")}
        self.assertEqual(len(lines), 1)

    def test_time_is_told_only_when_it_is_asked_for(self):
        self.whole(2)
        for line in self.lines(self.picklock("merge", "out1", "out2", "--json", "--timing").stdout):
            self.assertNotIn("wall_ns", line)
        for k in (1, 2):
            self.shard(k, 2, "--timing")
        with_time = self.picklock("merge", "out1", "out2", "--json", "--timing").stdout
        self.assertTrue(all(line["wall_ns"] > 0 for line in self.lines(with_time)))
        without = self.search("--seeds", "1..40", "--json", "--keep", "never").stdout
        self.assertEqual(self.picklock("merge", "out1", "out2", "--json").stdout, without)
        self.assertEqual(re.sub(r',"wall_ns":\d+}', "}", with_time), without)

    def test_searches_that_share_seeds_count_them_once(self):
        self.shard(1, 1, seeds="1..30", out="first")
        self.shard(1, 1, seeds="21..50", out="second")
        merged = self.lines(self.picklock("merge", "second", "first", "--json").stdout)
        one = self.lines(self.search("--seeds", "1..50", "--json", "--keep", "never").stdout)
        key = lambda line: (line["content"], line["world"], line["seed"])
        self.assertEqual([key(line) for line in merged], [key(line) for line in one])
        for a, b in zip(merged, one):
            self.assertEqual((a["checks"], a["events"], a["why"]), (b["checks"], b["events"], b["why"]))

    def test_a_lost_shard_can_be_cut_anew(self):
        self.whole(2, seeds="1..12")
        for k in range(1, 5):
            self.shard(k, 4, seeds="1..12", out="anew")
        one = self.search("--seeds", "1..12", "--json", "--keep", "never").stdout
        self.assertEqual(self.picklock("merge", "out1", "anew", "--json").stdout, one)

    def test_both_worlds_of_a_run_are_in_one_shard(self):
        for k in (1, 2):
            self.shard(k, 2, "--world", "sim,real", seeds="1..2", files=["alone.yaml"])
        lines = self.lines(self.picklock("merge", "out1", "out2", "--json").stdout)
        self.assertEqual([(line["world"], line["seed"]) for line in lines], [("sim", 1), ("sim", 2), ("real", 1), ("real", 2)])


class Counted(Shards):
    BROKEN = "wrong/no-recheck.yaml"

    def broken(self):
        """A scenario that is not as expected with most seeds, and the same with a few."""
        text = (SCENARIOS / self.BROKEN).read_text()
        place = self.folder / "broken" / "no-recheck.yaml"
        place.parent.mkdir(exist_ok=True)
        place.write_text(re.sub(r"^expect:.*", "expect: {section_exclusion: pass}\n", text, flags=re.S | re.M))
        return place

    def test_lines_of_unmet_runs_count_the_same(self):
        path = self.broken()
        for k in (1, 2, 3):
            for kind in ("all", "unmet"):
                self.shard(k, 3, "--lines", kind, files=[path, "random"], out=f"{kind}{k}", code=1)
        whole, counted = (self.picklock("merge", *[f"{kind}{k}" for k in (1, 2, 3)], "--keep", "never", code=1).stdout
                          for kind in ("all", "unmet"))
        self.assertEqual(whole, counted)
        lines = self.lines(self.picklock("merge", "unmet1", "unmet2", "unmet3", "--json", "--keep", "never", code=1).stdout)
        self.assertEqual({line["status"] for line in lines}, {"unmet"})
        self.assertLess(sum(path.stat().st_size for path in self.folder.glob("unmet*/*.jsonl")),
                        sum(path.stat().st_size for path in self.folder.glob("all*/*.jsonl")))

    def test_of_each_cause_the_shortest_run_is_kept_and_runs_again(self):
        path = self.broken()
        for k in (1, 2, 3):
            self.shard(k, 3, "--keep", "never", files=[path], code=1)
        self.assertEqual(list(self.folder.glob("out*/no-recheck")), [])
        said = self.picklock("merge", "out1", "out2", "out3", "--out", "kept", code=1).stdout
        lines = self.lines(self.picklock("merge", "out1", "out2", "out3", "--json", "--keep", "never", code=1).stdout)
        causes = {}
        for line in lines:
            if line["status"] == "unmet":
                cause = json.dumps([[name, one["verdict"], one.get("blame"), one.get("unmet")]
                                    for name, one in line["checks"].items() if one["verdict"] == "fail" or one.get("unmet")])
                causes.setdefault(cause, []).append((line["events"], line["seed"]))
        shortest = {min(runs)[1] for runs in causes.values()}
        kept = {int(folder.name) for folder in (self.folder / "kept" / "no-recheck").iterdir() if folder.name != "latest"}
        self.assertEqual(kept, shortest)
        self.assertEqual(len(set(re.findall(r"story: \S+ show \S+", said))), len(causes))
        for seed in kept:
            again = self.picklock("replay", f"kept/no-recheck/{seed}/sim", code=1).stdout
            self.assertIn("the same verdict as recorded", again)

    def test_what_a_shard_kept_of_a_real_run_is_taken_along(self):
        path = self.broken()
        self.shard(1, 1, "--world", "real", seeds="1..1", files=[path], code=1)
        self.picklock("merge", "out1", "--out", "kept", code=1)
        for name in ("history.jsonl", "report.html", "rerun.sh"):
            self.assertEqual((self.folder / "kept/no-recheck/1/real" / name).read_bytes(),
                             (self.folder / "out1/no-recheck/1/real" / name).read_bytes())


class Lost(Shards):
    def test_a_missing_shard_is_named(self):
        self.whole()
        self.refused(self.picklock("merge", "out1", "out3", code=3), "shard 2/3", "run what is missing again")
        partial = self.picklock("merge", "out1", "out3", "--partial", "-q", code=2)
        self.assertIn("160 runs", partial.stdout)

    def test_a_shard_that_was_cut_or_changed_is_named(self):
        paths = self.whole()
        whole = paths[1].read_bytes()
        end = whole.rindex(b'{"type":"end"')
        second = whole.index(b"\n", whole.index(b'"type":"run"')) + 1
        third = whole.index(b"\n", second) + 1
        events = re.search(rb'"events":(\d)', whole[second:])
        for harm in (whole[: len(whole) // 2], whole[:end], whole[:second], whole[:second] + whole[third:],
                     whole[: second + events.start(1)] + b"9" + whole[second + events.end(1):] if events[1] != b"9" else whole[:end],
                     b"", whole[:20]):
            with self.subTest(bytes=len(harm)):
                paths[1].write_bytes(harm)
                done = self.picklock("merge", "out1", "out2", "out3", code=None)
                self.assertIn(done.returncode, (3, 4))
                self.refused(done, "out2/shard-2-of-3.jsonl")
        paths[1].write_bytes(whole)
        self.picklock("merge", "out1", "out2", "out3")

    def test_noise_is_refused(self):
        (self.folder / "noise").mkdir()
        (self.folder / "noise" / "shard-1-of-1.jsonl").write_bytes(os.urandom(100000))
        self.refused(self.picklock("merge", "noise", code=None), "shard-1-of-1.jsonl")
        (self.folder / "noise" / "shard-1-of-1.jsonl").write_text('{"type":"shard"}\n' * 1000)
        self.refused(self.picklock("merge", "noise", code=4), "no file of a shard")

    def test_two_shards_with_one_number(self):
        self.whole(2)
        shutil.copytree(self.folder / "out2", self.folder / "again")
        done = self.picklock("merge", "out1", "out2", "again")
        self.assertIn("the same shard 2/2: counted once", done.stderr)
        self.assertIn("240 runs", done.stdout)
        for out in ("once", "twice"):
            self.shard(1, 1, "--world", "real", out=out, seeds="1..1", files=["alone.yaml"])
        self.refused(self.picklock("merge", "once", "twice", code=4), "two results of shard 1/1", "once/", "twice/")

    def test_another_version_is_refused(self):
        path = self.whole(2)[1]
        path.write_text(re.sub(r'"picklock":"[^"]*"', '"picklock":"0.0.9"', path.read_text(), count=1))
        self.refused(self.picklock("merge", "out1", "out2", code=4), "out2/shard-2-of-2.jsonl is of picklock 0.0.9")

    def test_searches_of_another_kind_are_refused(self):
        self.shard(1, 2)
        self.shard(2, 2, "--time-scale", "0.5")
        self.refused(self.picklock("merge", "out1", "out2", code=4), "time scale")
        self.shard(2, 2, "--stop-at-first", code=1)
        self.refused(self.picklock("merge", "out1", "out2", code=4), "--stop-at-first")
        self.shard(2, 2, "--lines", "unmet")
        self.refused(self.picklock("merge", "out1", "out2", code=4), "--lines")

    def test_bad_values(self):
        for bad in ("0/3", "4/3", "3", "x/3", "1/0", "1/3x", "-1/3", "1/99999999"):
            self.refused(self.search("--shard", bad, code=4), bad)
        self.refused(self.search("--lines", "unmet", code=4), "--shard")
        self.refused(self.picklock("merge", code=4), "which shards")
        self.refused(self.picklock("merge", "nowhere", code=4), "nowhere")
        (self.folder / "empty").mkdir()
        self.refused(self.picklock("merge", "empty", code=4), "no file of a shard")
        copy = self.folder / "alone.yaml"
        shutil.copy(SCENARIOS / "alone.yaml", copy)
        self.refused(self.picklock("run", copy, SCENARIOS / "alone.yaml", "--shard", "1/2", code=4), "say the same")


class Trouble(Shards):
    def left(self):
        return sorted(path.name for path in (self.folder / "out").glob("*"))

    def test_a_full_disk_in_the_middle_leaves_what_was_there(self):
        """The limit of a file's size stands for a full disk: the write is refused in the same place."""
        before = self.shard(1, 2, "--keep", "never", out="out").read_bytes()

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))

        arguments = [SCENARIOS / name for name in SEARCH]
        for number in (1, 2):
            done = self.picklock("run", *arguments, "--seeds", "1..40", "--shard", f"{number}/2", "--out", "out", "--keep", "never",
                                 "-q", code=3, preexec_fn=limit)
            self.assertEqual(len([line for line in done.stderr.splitlines() if "cannot write" in line]), 1, done.stderr)
            self.assertIn(f"out/shard-{number}-of-2.jsonl: File too large; shard {number}/2 leaves no file", done.stderr)
            self.assertEqual(self.left(), ["shard-1-of-2.jsonl"])
            self.assertEqual((self.folder / "out/shard-1-of-2.jsonl").read_bytes(), before)
        self.shard(2, 2, "--keep", "never", out="out")
        self.assertEqual(self.picklock("merge", "out", "--json").stdout,
                         self.search("--seeds", "1..40", "--json", "--keep", "never").stdout)

    @unittest.skipUnless(os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0,
                         "a disk of our own takes root and a mount namespace")
    def test_a_disk_that_is_really_full_is_one_line(self):
        (self.folder / "out").mkdir()
        command = ["run", *[str(SCENARIOS / name) for name in SEARCH], "--seeds", "1..40", "--shard", "1/1", "--out", "out",
                   "--keep", "never", "-q"]
        done = subprocess.run(["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=64k none out && "$@"; code=$?; ls -A out >&2; exit $code',
                               "sh", PICKLOCK, *command], cwd=self.folder, text=True, capture_output=True)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(done.stderr.count("No space left on device; shard 1/1 leaves no file"), 1, done.stderr)
        self.assertTrue(done.stderr.endswith("must be run again\n"), done.stderr)

    def start(self, *more):
        process = subprocess.Popen([PICKLOCK, "run", SCENARIOS / "random", "--seeds", "1..2000000", "--shard", "1/2", "--out", "out",
                                    "--keep", "never", "-q", *more], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        part = self.folder / "out" / "shard-1-of-2.jsonl.part"
        end = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size > 100000) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertGreater(part.stat().st_size, 100000)
        return process

    def test_an_interrupted_shard_leaves_no_file(self):
        process = self.start()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 130)
        self.assertFalse((self.folder / "out").exists())

    def test_a_killed_shard_is_named_and_can_be_run_again(self):
        process = self.start()
        process.kill()
        process.wait()
        self.assertEqual(self.left()[-1], "shard-1-of-2.jsonl.part")
        self.shard(2, 2, out="out", seeds="1..20")
        done = self.picklock("merge", "out", code=3)
        self.refused(done, "shard-1-of-2.jsonl.part is of a shard that was killed", "shard 1/2")
        self.shard(1, 2, out="out", seeds="1..20")
        self.picklock("merge", "out")

    def test_two_at_work_on_one_shard_do_not_meet(self):
        process = self.start()
        done = self.picklock("run", SCENARIOS / "alone.yaml", "--shard", "1/2", "--out", "out", code=3)
        self.refused(done, "another picklock is at work on this shard")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


if __name__ == "__main__":
    outcome = unittest.main(verbosity=1, exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - failed - len(outcome.skipped)} passed, {failed} failed")
    sys.exit(1 if failed or not outcome.testsRun else 0)
