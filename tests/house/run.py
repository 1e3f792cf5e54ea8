#!/usr/bin/env python3
"""A new kind of lock server is two folders and two rows, in both worlds: added to a copy of the house, counted, built and run.

    python3 tests/house/run.py ./picklock
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROOMS = ["base", "lockcore", "history", "servers", "harness", "checker", "cli"]
HERE = ROOT / "tests" / "house"

FILES = {"lockcore/toy/toy.c": "toy_lock.c", "lockcore/toy/toy.h": "toy_lock.h", "servers/toy/toy.c": "toy_server.c",
         "servers/toy/real/real.h": "toy_real.h", "servers/toy/real/launch.c": "toy_launch.c",
         "servers/toy/real/wire.c": "toy_wire.c", "servers/toy/real/connect.c": "toy_connect.c"}
ROWS = {"lockcore/algorithms.c": ("    X(fenced_redlock)  ", "    X(toy) X(fenced_redlock)  "),
        "servers/kinds.h": ("    X(redis)  ", "    X(toy) X(redis)  ")}

SCENARIO = """version: 1
name: {name}
lock: {{algorithm: {algorithm}, ttl: 1s, node_timeout: {timeout}}}
nodes: {{{nodes}}}
clients: {{count: 3, sections: 4}}
{faults}
expect:
  exclusion: pass
"""


class Toy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.house = pathlib.Path(tempfile.mkdtemp(prefix="picklock-house-"))
        for name in [*ROOMS, "tools", "docs"]:
            shutil.copytree(ROOT / name, cls.house / name)
        shutil.copy2(ROOT / "Makefile", cls.house)
        built = ROOT / "build" / "default"
        for name in ROOMS + ["include"]:
            if (built / name).is_dir():
                shutil.copytree(built / name, cls.house / "build" / "default" / name)
        for place, source in FILES.items():
            (cls.house / place).parent.mkdir(exist_ok=True)
            shutil.copy(HERE / source, cls.house / place)
        for place, (before, after) in ROWS.items():
            text = (cls.house / place).read_text()
            assert text.count(before) == 1, f"{place} has no row to add one behind"
            (cls.house / place).write_text(text.replace(before, after))
        clean = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        made = subprocess.run(["make", "-s", "-j2", "BUILD=build/default", "build/default/picklock"], cwd=cls.house, env=clean,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for shim in built.glob("picklock-*.so"):
            shutil.copy2(shim, cls.house / "build" / "default")
        assert made.returncode == 0, made.stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.house)

    def picklock(self, *arguments, code=0):
        done = subprocess.run([self.house / "build/default/picklock", *arguments], cwd=self.house, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def real(self, name, code=0, keep=False, **parts):
        """A run on real servers; asked again where a busy machine left it undecided."""
        for _ in range(5):
            done = subprocess.run([self.house / "build/default/picklock", "run", self.file(name, **parts), "--world", "real",
                                   *(["--keep", "always"] if keep else [])],
                                  cwd=self.house, text=True, env={**os.environ, "PATH": f"{os.environ['PATH']}:{HERE}"},
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != 2:
                break
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def file(self, name, **parts):
        parts = {"algorithm": "toy", "nodes": "kind: toy, count: 1", "faults": "", "timeout": "50ms", **parts}
        (self.house / f"{name}.yaml").write_text(SCENARIO.format(name=name, **parts))
        return f"{name}.yaml"

    def test_it_cost_two_folders_and_two_rows(self):
        new, rows = [], 0
        for room in ROOMS:
            for path in sorted((self.house / room).rglob("*")):
                old = ROOT / path.relative_to(self.house)
                if path.is_file() and not old.exists():
                    new.append(str(path.relative_to(self.house)))
                elif path.is_file() and old.read_bytes() != path.read_bytes():
                    rows += 1
        self.assertEqual(sorted({"/".join(path.split("/")[:2]) for path in new}), ["lockcore/toy", "servers/toy"])
        self.assertEqual(rows, 2)

    def test_its_arrows_go_the_allowed_way(self):
        for words in (["bash", "tools/arrows.sh"], ["make", "-s", "purity", "BUILD=build/default"]):
            done = subprocess.run(words, cwd=self.house, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_it_runs_and_is_judged(self):
        done = self.picklock("run", self.file("toy-alone"), "--seeds", "1..50", "--json")
        self.assertIn('"exclusion":{"verdict":"pass"', done.stdout.replace(" ", ""))

    def test_faults_strike_it(self):
        fault = 'faults:\n  - {on: "client 1 after_granted", do: pause, for: 3s}'
        done = self.picklock("run", self.file("toy-paused", faults=fault), code=1)
        self.assertIn("assumption", done.stdout + done.stderr)
        crash = "faults:\n  - {at: 20ms, do: crash, target: node 1, for: 100ms}"
        self.picklock("run", self.file("toy-crashed", faults=crash), "--seeds", "1..20")

    def test_an_algorithm_of_another_kind_is_refused(self):
        done = self.picklock("lint", self.file("toy-redlock", algorithm="single"), code=4)
        self.assertIn("single speaks to redis servers, and these are toy", done.stderr)

    def test_the_kind_may_be_left_out(self):
        self.assertIn("kind: toy", self.picklock("lint", "--print", self.file("toy-short", nodes="count: 1")).stdout)

    def test_a_fault_that_it_cannot_have_is_refused(self):
        fault = "faults:\n  - {at: 20ms, do: evict, target: node 1}"
        done = self.picklock("lint", self.file("toy-evicted", faults=fault), code=4)
        self.assertIn("evict is nothing that can strike toy servers", done.stderr)

    def test_it_runs_on_real_servers(self):
        self.assertIn("1 as expected", self.real("toy-real"))

    def test_faults_strike_real_ones(self):
        crash = "faults:\n  - {at: 100ms, do: crash, target: node 1, for: 100ms}"
        self.real("toy-real-crashed", faults=crash)
        lost = 'faults:\n  - {on: "node 1 set from client 1", do: lose_reply}'
        self.real("toy-real-lost", faults=lost)
        pause = ('faults:\n  - {at: 0s, do: pause, target: clients 2-3, until: client 1 after_granted}\n'
                 '  - {on: "client 1 after_granted", do: pause, for: 3s}')
        self.assertIn("assumption", self.real("toy-real-paused", code=1, faults=pause))

    def refused(self, name, world):
        """How many acquires of a run were refused, and the histories' faults with an effect."""
        place = self.house / "picklock-out" / name
        path, = place.glob(f"*/{world}/history.jsonl")
        events = [json.loads(line) for line in path.read_text().splitlines()[1:]]
        return (sum(e.get("f") == "acquire" and e.get("type") == "fail" for e in events),
                sum(e.get("kind") == "fault" and e["f"] == "effect" for e in events))

    def test_nodes_speak_to_each_other_and_push_in_both_worlds(self):
        two = {"nodes": "kind: toy, count: 2", "timeout": "900ms"}
        self.picklock("run", self.file("toy-two", **two), "--keep", "always")
        self.real("toy-two", keep=True, **two)
        for world in "sim", "real":  # whoever is told that it is free waits for it and is never refused
            self.assertEqual(self.refused("toy-two", world), (0, 0), world)

    def test_links_between_nodes_are_struck_in_both_worlds(self):
        for mode in "hold", "drop", "refuse", "reset":
            cut = "faults:\n  - {at: 50ms, for: 400ms, do: partition, from: node 1, to: node 2, mode: %s}" % mode
            parts = {"nodes": "kind: toy, count: 2", "faults": cut}
            name = f"toy-cut-{mode}"
            self.file(name, **parts)
            for world in "sim", "real":  # who gives up leaves what it asked for: that is not the question here
                subprocess.run([self.house / "build/default/picklock", "run", f"{name}.yaml", "--world", world, "--keep", "always"],
                               cwd=self.house, env={**os.environ, "PATH": f"{os.environ['PATH']}:{HERE}"}, stdout=subprocess.DEVNULL)
            for world in "sim", "real":
                refused, effects = self.refused(name, world)
                self.assertEqual((refused > 0, effects > 0), (mode != "reset" or refused > 0, True), (mode, world))
        late = "faults:\n  - {at: 0s, do: latency, from: node 1, to: node 2, delay: 5ms}"
        self.real("toy-late", nodes="kind: toy, count: 2", faults=late)
        self.picklock("run", "toy-late.yaml")

    def test_a_link_to_nobody_is_refused(self):
        fault = "faults:\n  - {at: 20ms, do: partition, from: nodes 1-2, to: nodes 3-5}"
        done = self.picklock("lint", self.file("redis-cut", algorithm="redlock", nodes="count: 5", faults=fault), code=4)
        self.assertIn("redis servers do not speak to each other", done.stderr)
        self.assertIn("redis-cut.yaml:7:", done.stderr)

    def test_a_missing_server_is_skipped_with_its_package(self):
        missing = "toy-server is not installed (apt-get install toy-tools)"
        self.assertIn(missing, self.picklock("run", self.file("toy-missing"), "--world", "real", code=2).stdout)
        both = self.picklock("run", "toy-missing.yaml", "--world", "sim,real").stdout
        self.assertIn(missing, both)
        self.assertIn("1 as expected", both)
        self.assertIn("toy-server", self.picklock("doctor").stdout)

    def test_a_fault_that_real_ones_cannot_have_is_left_out_with_the_reason(self):
        jump = "faults:\n  - {at: 20ms, do: clock_jump, target: node 1, by: 1s}"
        alone = self.picklock("run", self.file("toy-real-jumped", faults=jump), "--world", "real", code=2)
        self.assertIn("clock_jump is nothing that can strike real toy servers", alone.stdout)

    def test_a_kind_that_the_real_world_lacks_is_left_out_of_it_with_the_reason(self):
        name = self.file("cell-real", algorithm="chubby", nodes="kind: chubby, count: 5")
        alone = self.picklock("run", name, "--world", "real", code=2)
        self.assertIn("chubby servers are in the simulator only", alone.stdout)
        both = self.picklock("run", name, "--world", "sim,real")
        self.assertIn("chubby servers are in the simulator only", both.stdout)
        self.assertIn("1 as expected", both.stdout)


if __name__ == "__main__":
    sys.argv = sys.argv[:1]
    unittest.main()
