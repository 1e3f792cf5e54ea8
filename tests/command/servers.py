#!/usr/bin/env python3
"""Servers of every kind: which program is one, which is refused, what is told of one that dies. `servers.py ./picklock`."""
import os
import shutil
import signal
import subprocess
import time

from common import GOOD, PICKLOCK, SCENARIOS, Command, main

KINDS = {"redis": ("redis-server", "Redis server v=4.0.1", "5.0"), "sql": ("postgres", "postgres (PostgreSQL) 9.4.1", "9.5"),
         "etcd": ("etcd", "etcd Version: 3.3.27", "3.4"), "hazelcast": ("hazelcast-member", "hazelcast 5.3.6", "5.4")}
ALGORITHMS = {"redis": "single", "sql": "sql", "etcd": "etcd"}


class Programs(Command):
    def program(self, says):
        path = self.write("program", f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
        return path

    def tried(self, word):
        return self.picklock("run", self.good("one"), "--world", "real", "--server", word)

    def test_what_is_no_pair_of_a_kind_and_a_path_is_told_with_the_kinds(self):
        for word in ("etcd", "etcd=", "="):
            self.refused(self.tried(word), 4, "--server", "kinds that have one: redis")
        self.refused(self.tried("zoo=/bin/true"), 4, "no such kind")
        self.refused(self.tried("chubby=/bin/true"), 4, "not one program", "kinds that have one: redis")
        self.refused(self.tried("zookeeper=/bin/true"), 4, "not one program")

    def test_what_is_no_program_is_refused(self):
        plain = self.write("plain", "")
        for kind in KINDS:
            self.refused(self.tried(f"{kind}=/nowhere/at/all"), 4, "/nowhere/at/all is no file", kind)
            self.refused(self.tried(f"{kind}={self.folder}"), 4, "is no file")
            self.refused(self.tried(f"{kind}={plain}"), 4, "not executable")

    def test_another_program_is_refused_with_what_it_says(self):
        path = self.program("zoo 1.0")
        for kind, (name, _, _) in KINDS.items():
            self.refused(self.tried(f"{kind}={path}"), 4, f"is no {name}", "zoo 1.0")

    def test_a_version_that_is_too_old_is_refused_by_name(self):
        for kind, (name, says, least) in KINDS.items():
            self.refused(self.tried(f"{kind}={self.program(says)}"), 4, name, "not supported", f"{least} or newer")

    def test_the_program_that_is_named_is_run_and_named_again(self):
        server = shutil.which("redis-server")
        shutil.copy(server, self.folder / "other-redis")
        result = self.picklock("run", self.good("one"), "--world", "real", "--server", "redis=other-redis", "--keep", "always", "--out", "out")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(str(self.folder / "other-redis"), (self.folder / "out/one/1/real/rerun.sh").read_text())


class Draws(Command):
    def test_a_draw_that_cannot_strike_real_servers_is_told_before_the_run(self):
        path = SCENARIOS / "random" / "etcd-storm.yaml"
        result = self.picklock("run", path, "--world", "sim,real", "--seed", "2")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("does not apply: of what seed 2 draws, clock_rate is nothing that can strike real etcd servers", result.stdout)


HAZELCAST = GOOD.replace("{algorithm: redlock, ttl: 10s, node_timeout: 500ms}", "{algorithm: fenced_lock, ttl: 3s, node_timeout: 500ms}")


class Hazelcast(Command):
    """Its members are built where Maven is, and nowhere else: elsewhere its locks are skipped."""

    def test_where_none_is_built_its_locks_are_skipped_with_what_brings_them(self):
        picklock = self.folder / "picklock"
        shutil.copy(PICKLOCK, picklock)
        for words in (["run", self.good("one", HAZELCAST), "--world", "sim,real"], ["doctor"]):
            said = subprocess.run([picklock, *words], cwd=self.folder, env={**os.environ, "PATH": "/usr/bin:/bin"}, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            self.assertIn("hazelcast-member is not installed", said.stdout)
            self.assertIn("make adapters, which needs Maven", said.stdout)
            if words[0] == "run":
                self.assertEqual(said.returncode, 0, said.stdout)
                self.assertIn("0 errors, 1 do not apply", said.stdout)

    def test_fewer_than_a_group_are_not_begun(self):
        for count, sentence in ((1, "3 at least; here is 1"), (2, "3 at least; here are 2")):
            text = HAZELCAST.replace("count: 3", f"count: {count}")
            result = self.picklock("run", self.good("few", text), "--world", "sim,real")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(f"real hazelcast servers are {sentence}", result.stdout)

    def test_members_that_are_built_keep_a_lock(self):
        if "for hazelcast locks" not in self.picklock("doctor").stdout:
            self.skipTest("hazelcast-member is not built: make adapters, which needs Maven")
        result = self.picklock("run", self.good("one", HAZELCAST), "--world", "real", "--keep", "always", "--out", "out")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn('"server":"hazelcast 5.', (self.folder / "out/one/1/real/history.jsonl").read_text().splitlines()[0])


class Deaths(Command):
    """A server that ends by itself is nobody's verdict: exit 3, with the end of its log."""

    def test_of_every_kind_that_is_installed(self):
        for kind in ALGORITHMS:
            name = KINDS[kind][0]
            doctor = self.picklock("doctor").stdout
            if not any(name in line and "for " + kind in line for line in doctor.splitlines()) and kind != "redis":
                continue
            with self.subTest(kind=kind):
                self.dies(kind, name)

    def dies(self, kind, name):
        lock = f"{{algorithm: {ALGORITHMS[kind]}, ttl: 10s, node_timeout: 500ms}}"
        text = GOOD.replace("{algorithm: redlock, ttl: 10s, node_timeout: 500ms}", lock).replace("count: 3", "count: 1")
        # What is made once for all runs, by programs of the same name, is there before anybody is killed.
        first = self.picklock("run", self.good("first", text), "--world", "real", "--out", "out")
        self.assertEqual(first.returncode, 0, first.stdout)
        text = text.replace("sections: 2", "sections: 1000").replace("hold: 1ms", "hold: 100ms").replace("20s", "60s")
        process = subprocess.Popen([PICKLOCK, "run", self.good("death", text), "--world", "real", "--out", "out"], cwd=self.folder,
                                   env={**os.environ, "PICKLOCK_TEST": str(self.folder)}, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        marker = f"PICKLOCK_TEST={self.folder}".encode()
        end = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < end:
            for pid in self.servers(marker, name):
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.3)
        said = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 3, said)
        self.assertIn("ended by itself", said)
        self.assertIn("node-1.log", said)

    def servers(self, marker, name):
        """The first process of each server of this run: not a child of another of its name."""
        found = []
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    ours = marker in file.read()
                with open(f"/proc/{entry}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if ours and os.path.basename(words[0].decode(errors="replace")) == name and len(words) > 2:
                found.append(int(entry))
        return found


if __name__ == "__main__":
    main()
