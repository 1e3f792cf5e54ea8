#!/usr/bin/env python3
"""Nodes under agents: attacked, paused, killed, shared, bare; and the corpus with the verdicts of local nodes.

usage: run.py PICKLOCK [--all]     --all runs the whole corpus, else a slice of it
"""
import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agents import *  # noqa: E402,F403

PICKLOCK = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(ROOT, "picklock")
ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")
SLICE = ["alone", "restart-forgets", "clock-jump-one-node", "clock-drift-within-allowance", "minority-paused", "script-flush",
         "shutdown-and-restart", "power-loss-fsync-always", "failover-loses-key", "eviction", "minority-out-of-memory"]
LONG = """version: 1
name: long
about: A long time in which something can happen to a node.
lock: {algorithm: redlock, ttl: 10s}
nodes: {count: 2}
clients: {count: 1, sections: 1000, hold: 50ms, think: 10ms}
duration: 60s
expect: {exclusion: pass}
"""


class Base(unittest.TestCase):
    count = 2

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="picklock-cluster-")
        with open(os.path.join(self.folder, "secret"), "wb") as file:
            file.write(SECRET + b"\n")
        self.agents = [Agent(PICKLOCK, self.folder, i) for i in range(self.count)]
        self.cluster = cluster_file(self.folder, [f"agent: {agent.name}" for agent in self.agents])
        self.long = os.path.join(self.folder, "long.yaml")
        with open(self.long, "w") as file:
            file.write(LONG)

    def tearDown(self):
        for agent in self.agents:
            agent.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, files, cluster=None, more=()):
        return [PICKLOCK, "run", *files, "--cluster", cluster or self.cluster, "--out",
                os.path.join(self.folder, "out"), *more]

    def run_it(self, *files, cluster=None, more=()):
        return subprocess.run(self.command(files, cluster, more), capture_output=True, text=True, cwd=ROOT)

    def begin(self, *more):
        """A long run that holds both agents."""
        harness = subprocess.Popen([*self.command([self.long]), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=ROOT)
        until(lambda: all(agent.serves() for agent in self.agents), why="no server runs")
        self.addCleanup(self.forget, harness)
        return harness

    def forget(self, harness):
        if harness.poll() is None:
            harness.kill()
        harness.communicate()

    def finish(self, harness):
        out, error = harness.communicate(timeout=30)
        return harness.returncode, out + error

    def all_at_rest(self):
        return all(agent.is_at_rest() for agent in self.agents)


class Attacked(Base):
    count = 1

    def session(self, **more):
        session = Session(self.agents[0].port, **more)
        self.addCleanup(session.close)
        return session

    def still_works(self):
        session = self.session()
        self.assertEqual(session.attach()[0], DONE)
        kind, words = session.ask("time")
        self.assertEqual((kind, len(words.split())), (DONE, 2))
        session.close()
        until(self.all_at_rest)

    def test_bytes_that_are_not_ours(self):
        for attack in (b"GET / HTTP/1.1\r\n" + bytes(100), b"*1\r\n$4\r\nPING\r\n" + bytes(100), os.urandom(4096)):
            session = self.session()
            session.socket.sendall(attack)
            self.assertTrue(session.is_closed())
        self.assertIn("it does not speak our language", self.agents[0].said())
        self.still_works()

    def test_another_secret(self):
        session = self.session(secret=b"not this one, surely")
        self.assertEqual(session.greet()[1], 3)
        self.assertTrue(session.is_closed())
        self.assertIn("it has another secret", self.agents[0].said())
        self.still_works()

    def test_another_version(self):
        session = self.session(version=2)
        self.assertEqual(session.greet(), (1, 2))
        self.assertTrue(session.is_closed())
        self.assertIn("it is of another version", self.agents[0].said())
        self.still_works()

    def test_a_session_that_is_played_again(self):
        session = self.session()
        session.greet()
        attach = session.frame(b"attach a test")
        session.socket.sendall(attach)
        self.assertEqual(session.answer()[0], DONE)
        session.close()
        until(self.all_at_rest)
        again = self.session()
        again.greet(session.hello)
        again.socket.sendall(attach)
        self.assertTrue(again.is_closed())
        self.assertIn("its seal is not right", self.agents[0].said())
        self.still_works()

    def test_an_order_that_comes_again(self):
        session = self.session()
        session.attach()
        order = session.frame(b"time")
        session.socket.sendall(order + order)
        self.assertEqual(session.answer()[0], DONE)
        self.assertTrue(session.is_closed())
        self.assertIn("its number is not the next", self.agents[0].said())
        self.still_works()

    def test_orders_in_another_order(self):
        session = self.session()
        session.attach()
        first, second = session.frame(b"time"), session.frame(b"time")
        session.socket.sendall(second + first)
        self.assertTrue(session.is_closed())
        self.still_works()

    def test_an_order_that_is_cut(self):
        session = self.session()
        session.attach()
        session.socket.sendall(session.frame(b"time")[:-10])
        session.socket.shutdown(socket.SHUT_WR)
        self.assertTrue(session.is_closed())
        self.still_works()

    def test_an_order_with_a_changed_byte(self):
        session = self.session()
        session.attach()
        order = bytearray(session.frame(b"prepare 0 0 0 0"))
        order[13 + 8] ^= 1
        session.socket.sendall(order)
        self.assertTrue(session.is_closed())
        self.assertEqual(os.listdir(self.agents[0].data), [])
        self.still_works()

    def test_orders_that_cannot_be(self):
        session = self.session()
        session.attach()
        for order in ("crash 0", "start 1", "prepare 2 0 0 0", "prepare 0 0 9 0", "freeze -1", "log 7"):
            self.assertEqual(session.ask(order)[0], REFUSED, order)
        self.assertEqual(session.ask("prepare 0 0 0 0")[0], DONE)
        for order in ("freeze 0", "thaw 0", "shutdown 0", "clock 0 1 1", "prepare 0 0 0 0"):
            self.assertEqual(session.ask(order)[0], REFUSED, order)
        session.close()
        until(self.all_at_rest)
        self.still_works()

    def test_who_says_nothing_is_sent_away(self):
        session = self.session()
        begun = time.monotonic()
        self.assertTrue(session.is_closed())
        self.assertLess(time.monotonic() - begun, 4)
        self.still_works()

    def test_many_who_say_nothing_keep_nobody_out_for_long(self):
        crowd = [self.session() for _ in range(40)]
        self.assertTrue(all(session.is_closed() for session in crowd))
        self.still_works()


class InTheMiddle(Base):
    def test_two_harnesses(self):
        harness = self.begin()
        second = self.run_it(self.long)
        self.assertEqual(second.returncode, 3)
        self.assertRegex(second.stdout, r"in use by 127\.0\.0\.1:\d+ \(picklock \d+ on .*: long\)")
        harness.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(harness)[0], 130)
        until(self.all_at_rest)

    def test_a_harness_that_is_killed(self):
        harness = self.begin()
        harness.kill()
        harness.wait()
        self.assertLess(until(self.all_at_rest), 5)

    def test_a_harness_that_is_silent(self):
        harness = self.begin()
        run = children(harness.pid)
        for pid in run:
            os.kill(pid, signal.SIGSTOP)
        self.assertLess(until(self.all_at_rest), 5)
        self.assertIn("silent for too long", self.agents[0].said())
        for pid in run:
            os.kill(pid, signal.SIGCONT)
        code, said = self.finish(harness)
        self.assertEqual(code, 3, said)

    def test_an_agent_that_is_paused(self):
        harness = self.begin()
        begun = time.monotonic()
        os.kill(self.agents[1].pid(), signal.SIGSTOP)
        code, said = self.finish(harness)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(code, 3, said)
        # Silence, or an order on its way that is not answered.
        self.assertRegex(said, f"node 2: the agent at {self.agents[1].name} (has been silent for 1000 ms|does not answer)")
        os.kill(self.agents[1].pid(), signal.SIGCONT)
        until(self.all_at_rest)

    def test_its_servers_answer_nobody_else(self):
        harness = self.begin()
        for agent in self.agents:
            with open(f"/proc/{agent.servers()[0]}/cmdline") as file:
                words = file.read().split("\0")
            port = int(words[words.index("--port") + 1])
            until(lambda: listens(port), why="no server listens")
            with socket.create_connection(("127.0.0.1", port), 5) as stranger:
                stranger.sendall(b"GET r0\r\n")
                self.assertRegex(stranger.recv(100), b"^-NOAUTH")
        harness.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(harness)[0], 130)

    def test_an_agent_that_dies(self):
        harness = self.begin()
        servers = self.agents[1].servers()
        self.agents[1].process.kill()
        until(lambda: all(state(pid) in ("", "Z") for pid in servers), why="its servers did not die with it")
        code, said = self.finish(harness)
        self.assertEqual(code, 3, said)
        self.assertIn(f"node 2: the agent at {self.agents[1].name} has closed the connection", said)

    def test_an_agent_that_dies_before_we_are_ended(self):
        harness = self.begin()
        self.agents[1].process.kill()
        self.agents[1].process.wait()
        harness.send_signal(signal.SIGTERM)
        code, said = self.finish(harness)
        self.assertEqual(code, 3, said)

    def test_an_agent_that_dies_and_we_are_ended_while_we_say_so(self):
        """The JUnit file takes nothing more: so the signal comes when the runs are over."""
        path = os.path.join(self.folder, "junit")
        os.mkfifo(path)
        fifo = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, fifo)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(fifo, b"x" * 4096)
        harness = self.begin("--junit", path)
        self.agents[1].process.kill()
        until(lambda: not children(harness.pid) and state(harness.pid) == "S", why="it is still at work")
        harness.send_signal(signal.SIGTERM)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.read(fifo, 65536)
        code, said = self.finish(harness)
        self.assertEqual(code, 3, said)
        self.assertIn(f"node 2: the agent at {self.agents[1].name} has closed the connection", said)

    def test_a_server_that_dies_by_itself(self):
        harness = self.begin()
        os.kill(self.agents[0].servers()[0], signal.SIGKILL)
        code, said = self.finish(harness)
        self.assertEqual(code, 3, said)
        # It may be asked who it is when it dies.
        self.assertRegex(said, r"node 1 ended by itself: signal 9|the redis-server at [\d.:]+ does not answer INFO")


class BadInput(Base):
    def refused(self, cluster, code, *sentences):
        done = self.run_it(self.long, cluster=cluster)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for sentence in sentences:
            self.assertIn(sentence, done.stdout + done.stderr)

    def test_secrets(self):
        nodes = [f"agent: {agent.name}" for agent in self.agents]
        self.refused(cluster_file(self.folder, nodes, None), 4, "agents have a secret")
        self.refused(cluster_file(self.folder, nodes, "nowhere"), 4, "the secret cannot be read")
        with open(os.path.join(self.folder, "short"), "w") as file:
            file.write("short")
        self.refused(cluster_file(self.folder, nodes, "short"), 4, "has 5 bytes: it must have 16")
        with open(os.path.join(self.folder, "other"), "w") as file:
            file.write("another secret than theirs")
        self.refused(cluster_file(self.folder, nodes, "other"), 3, "has another secret than we")

    def test_files(self):
        self.refused(os.path.join(self.folder, "none.yaml"), 4, "No such file")
        self.refused(cluster_file(self.folder, ["agnet: n1"]), 4, 'unknown key "agnet"', "cluster.yaml:2:5")
        self.refused(cluster_file(self.folder, ["{agent: n1, redis: n2}"]), 4, 'a node is "agent: HOST:PORT" or "redis: HOST:PORT"')
        self.refused(cluster_file(self.folder, ["{agent: n1, tls: {ca: ca.crt}}"]), 4, "an agent has a secret, and speaks no TLS")
        self.refused(cluster_file(self.folder, ["agent: 127.0.0.1:1", "agent: 127.0.0.1:1"]), 4, "are one and the same")
        self.refused(cluster_file(self.folder, ["agent: no.such.host.invalid", "agent: 127.0.0.1:1"]), 3, "has no IPv4 address")
        self.refused(cluster_file(self.folder, [f"agent: {self.agents[0].name}"]), 4, "it wants 2 nodes, and the cluster has 1")

    def test_tls_as_it_is_written(self):
        if hiredis := without_tls(PICKLOCK):
            for node in ("redis: rediss://n1", "{redis: n1, tls: {ca: ca.crt}}"):
                self.refused(cluster_file(self.folder, [node]), 4, f"TLS: {hiredis}: let a tunnel such as stunnel speak it")
            return
        for node, told in (("redis: rediss://n1", 'TLS wants to know whom to believe: "tls: {ca: FILE}"'),
                           ("{redis: n1, tls: yes}", '"tls: {ca: FILE}" names the certificates'),
                           ("{redis: n1, tls: {cert: a, key: b}}", '"tls: {ca: FILE}" names the certificates'),
                           ("{redis: n1, tls: {ca: a, cert: b}}", '"cert:" and "key:" belong together'),
                           ("{redis: n1, tls: {ca: []}}", '"ca:" names a file'),
                           ("{redis: n1, tls: {ca: a, sin: b}}", 'unknown key "sin"; there are "ca", "cert", "key" and "sni"')):
            self.refused(cluster_file(self.folder, [node]), 4, told, "cluster.yaml:2:")

    def test_hosts(self):
        good = f"agent: {self.agents[0].name}"
        self.refused(cluster_file(self.folder, [good, f"agent: 127.0.0.1:{free_port()}"]), 3, "cannot be reached: Connection refused")
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            self.refused(cluster_file(self.folder, [good, "agent: 127.0.0.1:%d" % silent.getsockname()[1]]), 3,
                         "does not answer within 1000 ms")
        until(self.all_at_rest)

    def test_an_agent_of_another_version(self):
        def answer(listener):
            guest, _ = listener.accept()
            guest.recv(72)
            guest.sendall(b"PLKA" + struct.pack(">HH", 7, 0) + bytes(64))
            guest.recv(1)
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            threading.Thread(target=answer, args=(other,), daemon=True).start()
            self.refused(cluster_file(self.folder, ["agent: 127.0.0.1:%d" % other.getsockname()[1], f"agent: {self.agents[0].name}"]),
                         3, "speaks version 7 of the protocol, we speak 1")

    def test_an_agent_without_a_secret_or_an_address(self):
        for words in ([], ["--listen", "127.0.0.1:1"], ["--listen", "127.0.0.1:1", "--secret", "/nowhere"]):
            self.assertEqual(subprocess.run([PICKLOCK, "node", *words], capture_output=True).returncode, 4, words)

    def test_probe(self):
        self.assertEqual(subprocess.run([PICKLOCK, "node", "--probe", self.agents[0].name]).returncode, 0)
        gone = subprocess.run([PICKLOCK, "node", "--probe", f"127.0.0.1:{free_port()}"], capture_output=True, text=True)
        self.assertEqual(gone.returncode, 3)


class Bare(Base):
    count = 1
    LATE = "  - {on: client 1 before_send, do: latency, from: clients, to: nodes, delay: 5ms, until: client 1 after_granted}\n"

    def setUp(self):
        super().setUp()
        self.servers = []
        for _ in range(3):
            port = free_port()
            server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder,
                                       "--notify-keyspace-events", "KEx"], stdout=subprocess.DEVNULL)
            server.port = port
            self.servers.append(server)
        for server in self.servers:
            until(lambda: self.ask(server.port, "PING") == b"+PONG\r\n", why="a redis-server")
        self.bare = cluster_file(self.folder, [f"redis: 127.0.0.1:{server.port}" for server in self.servers], None)

    def tearDown(self):
        for server in self.servers:
            server.kill()
            server.wait()
        super().tearDown()

    def ask(self, port, words):
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as guest:
                guest.sendall(words.encode() + b"\r\n")
                return guest.recv(4096)
        except OSError:
            return b""

    def scenario(self, name, faults):
        path = os.path.join(self.folder, name + ".yaml")
        with open(path, "w") as file:
            file.write(f"version: 1\nname: {name}\nlock: {{algorithm: redlock, ttl: 5s}}\nnodes: {{count: 3}}\n"
                       f"clients: {{count: 2, sections: 3, hold: 20ms}}\nfaults:\n{faults}expect: {{exclusion: pass}}\n")
        return path

    def test_links_and_clients_are_struck_and_the_servers_left_as_they_were(self):
        path = self.scenario("links", self.LATE + "  - {on: client 1 after_granted, nth: 2, do: pause, for: 50ms}\n")
        done = self.run_it(path, cluster=self.bare, more=["--keep", "always"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for server in self.servers:
            self.assertIn(b"xKE" if b"xKE" in self.ask(server.port, "CONFIG GET notify-keyspace-events") else b"KEx",
                          self.ask(server.port, "CONFIG GET notify-keyspace-events"))
            self.assertEqual(self.ask(server.port, "DBSIZE"), b":0\r\n")

    def test_what_strikes_a_node_is_refused_before_anything_runs(self):
        path = self.scenario("crash", "  - {at: 10ms, for: 50ms, do: crash, target: node 2}\n")
        done = self.run_it(path, cluster=self.bare)
        self.assertEqual(done.returncode, 4)
        self.assertIn("fault 1 (crash) strikes node 2", done.stderr)
        self.assertIn("it needs an agent", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out", "crash")))

    def test_a_server_that_has_such_a_key_is_left_alone(self):
        self.ask(self.servers[1].port, "SET r0 precious")
        done = self.run_it(self.scenario("links", "  - {at: 0s, for: 9ms, do: stall, target: node 1}\n"), cluster=self.bare)
        self.assertEqual(done.returncode, 3)
        self.assertIn('has a key "r0": it is left alone', done.stdout)
        self.assertIn(b"precious", self.ask(self.servers[1].port, "GET r0"))

    def test_a_server_that_speaks_tls_behind_a_tunnel(self):
        key, certificate = (os.path.join(self.folder, name) for name in ("key.pem", "cert.pem"))
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "1",
                               "-keyout", key, "-out", certificate], capture_output=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        port = free_port()
        server = subprocess.Popen(["redis-server", "--port", "0", "--tls-port", str(port), "--tls-cert-file", certificate, "--tls-key-file", key,
                                   "--tls-auth-clients", "no", "--tls-ca-cert-file", certificate, "--bind", "127.0.0.1", "--save", "",
                                   "--dir", self.folder], stdout=subprocess.DEVNULL)
        server.port = port
        self.servers.append(server)
        until(lambda: listens(port), why="a redis-server that speaks TLS")
        tunnel = Tunnel(port, certificate)
        self.addCleanup(tunnel.close)
        nodes = [f"redis: 127.0.0.1:{one.port}" for one in self.servers[:2]]
        path = self.scenario("tls", self.LATE)
        done = self.run_it(path, cluster=cluster_file(self.folder, [*nodes, f"redis: 127.0.0.1:{tunnel.port}"], None),
                           more=["--keep", "always", "--json"])
        self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
        self.assertGreater(tunnel.guests, 1)
        # Whose a command is cannot be told then: nobody is blamed for what is not known.
        checks = json.loads(done.stdout.splitlines()[0])["checks"]
        self.assertEqual([name for name, check in checks.items() if check["verdict"] == "fail"], [])
        with open(os.path.join(self.folder, "out", "tls", "1", "real", "history.jsonl")) as history:
            self.assertIn("node 3: it sees us come from port", json.loads(history.readline())["unwatched"])

    def test_another_redis(self):
        def serve(listener):
            while True:
                guest, _ = listener.accept()
                threading.Thread(target=speak, args=(guest,), daemon=True).start()

        def speak(guest):
            info = b"# Server\r\nredis_version:6.0.16\r\n"
            while True:
                words = guest.recv(4096)
                if not words:
                    return
                guest.sendall(b"$%d\r\n%s\r\n" % (len(info), info) if b"INFO" in words else b"+PONG\r\n")
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            threading.Thread(target=serve, args=(other,), daemon=True).start()
            nodes = [f"redis: 127.0.0.1:{server.port}" for server in self.servers[:2]] + ["redis: 127.0.0.1:%d" % other.getsockname()[1]]
            done = self.run_it(self.scenario("other", "  - {at: 0s, for: 9ms, do: stall, target: node 1}\n"),
                               cluster=cluster_file(self.folder, nodes, None))
        self.assertEqual(done.returncode, 3)
        self.assertIn("node 3 runs redis 6.0.16: give all nodes the same server", done.stdout)


class AnotherServer(Base):
    count = 0

    def run_server(self, server):
        return subprocess.run([PICKLOCK, "run", "scenarios/restart-after-ttl.yaml", "--world", "real", "--redis-server", server, "--out",
                               os.path.join(self.folder, "out"), "--keep", "always"], capture_output=True, text=True, cwd=ROOT)

    def test_what_it_is_stands_in_the_history_and_on_the_page(self):
        server = os.path.join(self.folder, "another")
        with open(server, "w") as file:
            file.write(f"#!/bin/sh\ntouch '{self.folder}/used'\nexec redis-server \"$@\"\n")
        os.chmod(server, 0o755)
        done = self.run_server(server)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "used")))
        kept = os.path.join(self.folder, "out", "restart-after-ttl", "1", "real")
        with open(os.path.join(kept, "history.jsonl")) as file:
            name = json.loads(file.readline())["server"]
        self.assertRegex(name, r"^(redis|valkey) \d+\.\d+\.\d+")
        with open(os.path.join(kept, "report.html")) as file:
            self.assertIn(name, file.read())
        with open(os.path.join(kept, "rerun.sh")) as file:
            self.assertIn(f"--redis-server {server}", file.read().replace("'", ""))

    def test_one_that_is_not_there(self):
        done = self.run_server("/nowhere/redis-server")
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot start /nowhere/redis-server: No such file or directory", done.stdout)


class Corpus(Base):
    count = 5

    def test_the_verdicts_of_local_nodes(self):
        files = ["scenarios"] if ALL else [f"scenarios/{name}.yaml" for name in SLICE]
        remote = self.run_it(*files, more=["-q", "--json"])
        lines = [json.loads(line) for line in remote.stdout.splitlines()]
        runs = [line for line in lines if line.get("world") == "real"]
        self.assertGreaterEqual(len(runs), len(SLICE))
        unmet = [(line["scenario"], line["status"], line.get("why")) for line in runs if line["status"] != "met"]
        said = "".join(agent.said()[-2000:] for agent in self.agents)
        self.assertEqual((remote.returncode, unmet), (0, []), remote.stderr + said)
        until(self.all_at_rest)

    def test_scenarios_of_other_servers_are_set_apart(self):
        """The corpus has them: it is what five containers run."""
        done = self.run_it("scenarios/alone.yaml", "scenarios/chubby")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"its nodes are chubby, and those of a cluster are redis-servers")
        self.assertRegex(done.stdout, r"1 as expected, .* [1-9][0-9]* do not apply; 1 runs")


class AtTheNthCommand(Base):
    count = 3

    def test_no_client_is_served_between_the_trigger_and_the_strike(self):
        path = os.path.join(self.folder, "nth.yaml")
        with open(path, "w") as file:
            file.write("version: 1\nname: nth\nlock: {algorithm: redlock, ttl: 2s}\nnodes: {count: 3}\n"
                       "clients: {count: 8, resources: 8, sections: 12, hold: 1ms, think: 0s}\n"
                       "faults:\n  - {on: node 1 before set, nth: 30, do: crash, for: 20ms}\n"
                       "  - {on: node 2 before set, nth: 50, do: pause, for: 20ms}\nexpect: {exclusion: any, linearizable: any}\n")
        done = self.run_it(path, more=["--keep", "always"])
        self.assertIn(done.returncode, (0, 1, 2), done.stdout + done.stderr)
        with open(os.path.join(self.folder, "out", "nth", "1", "real", "history.jsonl")) as file:
            events = [json.loads(line) for line in file][1:]
        for node, fault, nth in ((1, 1, 30), (2, 2, 50)):
            struck = next(i for i, event in enumerate(events) if event.get("kind", "op") == "fault" and event["fault"] == fault and event["f"] == "effect")
            begun = next(event["time"] for event in events if event.get("kind", "op") == "fault" and event["fault"] == fault and event["f"] == "start")
            seen = [event for event in events[:struck] if event.get("kind", "op") == "node" and event["node"] == node
                    and event["f"] in ("set", "refused") and event["since"] <= begun]
            later = [event for event in events[:struck] if event.get("kind", "op") == "node" and event["node"] == node and event.get("since", 0) > begun
                     and event.get("fault") != fault]   # what the strike itself took is no service
            self.assertEqual(later, [])
            # Those before may be on their way to a node that is killed.
            self.assertTrue(0 < len(seen) < nth, len(seen))
            held = [event for event in events if event.get("cause") == "agent" and event["node"] == node]
            self.assertTrue(held and all(0 < event["numbers"][0] < 2 * 10**9 for event in held))


class OrdersThatTakeLong(Base):
    """The run waits for an order, and with it every command: no longer than the order may take, and at no lock's expense."""
    count = 3

    def run_far(self, fault, word, seconds):
        way = FarWay(self.agents[0], word, seconds)
        self.addCleanup(way.close)
        path = os.path.join(self.folder, "far.yaml")
        with open(path, "w") as file:
            file.write("version: 1\nname: far\nlock: {algorithm: redlock, ttl: 600ms}\nnodes: {count: 3}\n"
                       "clients: {count: 2, sections: 5, hold: 50ms}\n"
                       f"faults: [{{on: node 1 before set, nth: 3, do: {fault}, for: 50ms}}]\nexpect: {{exclusion: pass, linearizable: pass}}\n")
        nodes = [f"agent: {name}" for name in (way.name, self.agents[1].name, self.agents[2].name)]
        done = self.run_it(path, cluster=cluster_file(self.folder, nodes), more=["--keep", "always", "--json"])
        until(self.all_at_rest)
        return done

    def test_twice_the_ttl_is_recorded_and_nobody_is_blamed(self):
        for fault, word in (("crash", "crash"), ("pause", "freeze")):
            with self.subTest(order=word):
                done = self.run_far(fault, word, 1.2)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                checks = json.loads(done.stdout.splitlines()[0])["checks"]
                self.assertEqual([name for name, check in checks.items() if check["verdict"] == "fail"], [])
                with open(os.path.join(self.folder, "out", "far", "1", "real", "history.jsonl")) as file:
                    events = [json.loads(line) for line in file][1:]
                held = [event for event in events if event.get("cause") == "agent" and event["numbers"][0] >= 1.2 * 10**9]
                self.assertEqual([event["node"] for event in held], [1])

    def test_who_waits_while_another_clock_is_looked_at_is_not_forgotten(self):
        ways = [FarWay(agent, "time", 0.15) for agent in self.agents[1:]]
        for way in ways:
            self.addCleanup(way.close)
        nodes = [f"agent: {name}" for name in (self.agents[0].name, ways[0].name, ways[1].name)]
        path = os.path.join(self.folder, "slow.yaml")
        with open(path, "w") as file:
            file.write("version: 1\nname: slow\nlock: {algorithm: redlock, ttl: 2s}\nnodes: {count: 3}\nexpect: {exclusion: pass}\n")
        done = self.run_it(path, cluster=cluster_file(self.folder, nodes))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + self.agents[0].said())
        until(self.all_at_rest)

    def test_longer_than_it_may_take_ends_the_run(self):
        done = self.run_far("crash", "crash", 2.5)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn('does not answer \\"crash\\": it is paused or cut off', done.stdout)


class Faults(Base):
    count = 5

    def test_each_has_the_effect_that_it_has_on_local_nodes(self):
        programs = [os.path.join(ROOT, "build/default/tests/real", name) for name in ("test_run", "test_orders")]
        if not ALL or not all(map(os.path.exists, programs)):
            self.skipTest("make cluster-test runs the unit tests of faults on agents as well")
        for program in programs:
            done = subprocess.run([program, "--jobs", "1"], capture_output=True, text=True, cwd=ROOT,
                                  env={**os.environ, "PICKLOCK_CLUSTER": self.cluster})
            self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-3000:])
            until(self.all_at_rest)


class Elsewhere(Base):
    count = 0

    def setUp(self):
        super().setUp()
        before = ["unshare", "-T", "--monotonic", "1000", "--fork", "--kill-child"]
        if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
            self.skipTest("no time namespace to be had (root, CONFIG_TIME_NS)")
        self.agents = [Agent(PICKLOCK, self.folder, i, before if i == 0 else ()) for i in range(3)]
        self.cluster = cluster_file(self.folder, [f"agent: {agent.name}" for agent in self.agents])

    def test_another_clock_decides_nothing(self):
        path = os.path.join(self.folder, "elsewhere.yaml")
        with open(path, "w") as file:
            file.write("version: 1\nname: elsewhere\nlock: {algorithm: redlock, ttl: 2s}\nnodes: {count: 3}\nclients: {count: 2, sections: 5, hold: 20ms}\n"
                       "faults:\n  - {at: 50ms, for: 50ms, do: crash, target: node 1}\n  - {at: 200ms, for: 50ms, do: pause, target: node 2}\n"
                       "expect: {exclusion: pass, linearizable: pass, validity: pass}\n")
        done = self.run_it(path, more=["--keep", "always"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(self.folder, "out", "elsewhere", "1", "real", "history.jsonl")) as file:
            events = [json.loads(line) for line in file]
        ahead = int(events[0]["sites"].split(":")[2].split()[0])
        bound = events[0]["clock_bound"]
        self.assertLess(abs(ahead - 1000 * 10**9), bound + 10**6)
        self.assertLess(bound, 50 * 10**6)
        self.assertTrue(events[0]["server"].startswith("redis "))
        told = [event for event in events if event.get("kind") == "node" and event["f"] in ("set", "deleted")]
        self.assertTrue(told and all(event["since"] <= event["time"] for event in told))
        self.assertTrue(all(0 <= event["time"] < 60 * 10**9 for event in events[1:]))
        self.assertTrue([event for event in events if event.get("cause") == "agent" and event["numbers"][0] > 0])


if __name__ == "__main__":
    unittest.main(verbosity=1)
