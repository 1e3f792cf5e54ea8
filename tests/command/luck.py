#!/usr/bin/env python3
"""No verdict by luck: what a busy machine may change, and what it must not. `luck.py ./picklock`."""
import json
import os

from common import SCENARIOS, Command, main

# The holder has half a second of its own; whether client 2 asks in it is left to luck.
RACE = """\
version: 1
name: race
about: the release cannot reach a majority, and whether anybody else asked meanwhile is luck
lock: {algorithm: wrong/release-ignores-error, ttl: 1s, node_timeout: 300ms, retry: {count: 3, delay: 50ms, jitter: 50ms}}
clients: {count: 2, hold: 20ms}
duration: 20s
faults:
  - {at: 0s, do: pause, target: client 2, until: client 1 after_granted}
  - {on: client 1 before_release, do: partition, to: nodes 1-3, mode: refuse, until: client 2 after_granted}
expect:
  result_truth: {verdict: fail, blame: library}
"""


class Stress(Command):
    def test_a_file_that_leaves_its_verdict_to_luck_is_found(self):
        path = self.write("race.yaml", RACE)
        self.assertEqual(self.picklock("run", path, "--seeds", "1..20").returncode, 0)
        said = self.picklock("lint", path).stderr
        self.assertIn("race.yaml:8:5: warning: what waits here goes on when client 1 stands after_granted", said)
        self.assertIn("its section of 20ms: whether they meet is luck", said)
        stressed = self.picklock("run", path, "--seeds", "1..20", "--stress")
        self.assertEqual(stressed.returncode, 1, stressed.stdout)
        self.assertIn("--stress=100ms --keep always", stressed.stdout)

    def test_no_verdict_of_the_corpus_changes(self):
        folders = [SCENARIOS, SCENARIOS / "wrong", SCENARIOS / "adapters"]
        # A lock that spins does so from its first refusal on, and each run of it is a million steps.
        files = [path for folder in folders for path in sorted(folder.glob("*.yaml")) if path.stem != "spins"]
        for size in ("20ms", "100ms"):
            result = self.picklock("run", *files, "--seeds", "1..150", f"--stress={size}", "--keep", "never", "-q")
            self.assertEqual(result.returncode, 0, result.stdout)

    def test_no_verdict_of_other_kinds_and_libraries_changes(self):
        for name in sorted(path.name for path in SCENARIOS.iterdir() if path.is_dir()):
            if name in ("wrong", "adapters"):
                continue
            for size in ("20ms", "100ms"):
                result = self.picklock("run", SCENARIOS / name, "--world", "sim", "--seeds", "1..20", f"--stress={size}",
                                       "--keep", "never", "-q")
                self.assertEqual(result.returncode, 0, result.stdout)
                self.assertRegex(result.stdout, r"[1-9][0-9]* as expected, 0 not as expected, 0 unknown, 0 errors")

    def test_no_right_lock_is_blamed_however_busy_the_machine(self):
        files = sorted((SCENARIOS / "random").glob("*.yaml"))
        self.assertGreater(len(files), 20)
        for size in ("300ms", "1s"):
            result = self.picklock("run", *files, "--world", "sim", "--seeds", "1..100", f"--stress={size}", "--keep", "never")
            self.assertIn(f"0 errors; {len(files)}00 runs", result.stdout)
            self.assertNotIn("blame library", result.stdout)

    def test_a_stressed_run_is_replayed_byte_for_byte(self):
        path = SCENARIOS / "pause-after-granted.yaml"
        calm, stressed = [json.loads(self.picklock("run", path, "--json", "--keep", "always", *more).stdout)
                          for more in ([], ["--stress"])]
        self.assertNotEqual(calm["hash"], stressed["hash"])
        self.assertIn("--stress=100ms", stressed["rerun"])
        replayed = self.picklock("replay", self.folder / stressed["folder"])
        self.assertIn("the same history as recorded", replayed.stdout)
        again = self.picklock("run", path, "--json", "--keep", "always", "--stress=100ms")
        self.assertEqual(json.loads(again.stdout)["hash"], stressed["hash"])

    def test_a_bundle_whose_stress_is_none_is_refused(self):
        self.picklock("run", SCENARIOS / "pause-after-granted.yaml", "--keep", "always", "--stress=5ms")
        bundle = self.folder / "picklock-out" / "latest" / "run.bundle"
        text = bundle.read_text()
        self.assertIn("\nstress 5000000\n", text)
        for bad in ("-1", "0", "x", "99999999999999"):
            bundle.write_text(text.replace("stress 5000000", f"stress {bad}"))
            self.refused(self.picklock("replay", bundle), 4, "run.bundle:4", "stress")

    def test_stress_is_the_simulators(self):
        path = SCENARIOS / "alone.yaml"
        self.refused(self.picklock("run", path, "--stress", "--world", "real"), 4, "--stress", "busy")
        self.refused(self.picklock("run", path, "--stress", "--shard", "1/2"), 4, "--stress")
        self.refused(self.picklock("run", path, "--stress=0s"), 4, "--stress")
        self.refused(self.picklock("run", path, "--stress=11s"), 4, "--stress")


if __name__ == "__main__":
    main()
