#!/usr/bin/env python3
"""Bare nodes that speak TLS: the proxies speak it towards them, and whoever reads the wire reads as ever.

usage: tls.py PICKLOCK     skipped, with the reason, where that one was built with hiredis 0.14
"""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agents import *  # noqa: E402,F403

PICKLOCK = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(ROOT, "picklock")
NODES = 3


def openssl(*words):
    made = subprocess.run(["openssl", *words], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


class Terminal:
    """A server of TLS that notes the name it was asked for, and passes what it hears to a plain one."""

    def __init__(self, port, certificate, key):
        self.names, self.port_behind = [], port
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.sni_callback = lambda _, name, __: self.names.append(name)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                guest, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.pass_on, args=(guest,), daemon=True).start()

    def pass_on(self, guest):
        with contextlib.suppress(OSError), guest, self.context.wrap_socket(guest, server_side=True) as secured, \
                socket.create_connection(("127.0.0.1", self.port_behind)) as plain:
            secured.settimeout(None)
            threading.Thread(target=self.copy, args=(plain, secured), daemon=True).start()
            self.copy(secured, plain)

    @staticmethod
    def copy(source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()


WITHOUT = without_tls(PICKLOCK)


@unittest.skipIf(WITHOUT, f"no TLS: {WITHOUT}")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.certificates = tempfile.mkdtemp(prefix="picklock-tls-")
        cls.addClassCleanup(shutil.rmtree, cls.certificates, ignore_errors=True)
        for authority in ("ca", "other"):
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={authority}", "-days", "2", "-keyout",
                    cls.file(f"{authority}.key"), "-out", cls.file(f"{authority}.crt"))
        for name in ("server", "client"):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-keyout", cls.file(f"{name}.key"), "-out",
                    cls.file(f"{name}.csr"))
            openssl("x509", "-req", "-in", cls.file(f"{name}.csr"), "-CA", cls.file("ca.crt"), "-CAkey", cls.file("ca.key"),
                    "-CAcreateserial", "-days", "2", "-out", cls.file(f"{name}.crt"))

    @classmethod
    def file(cls, name):
        return os.path.join(cls.certificates, name)

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="picklock-tls-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("ca.crt", "other.crt", "client.crt", "client.key"):
            shutil.copy(self.file(name), self.folder)

    def server(self, *words):
        """A redis-server of one port; it asks for a certificate unless it is told otherwise."""
        port = free_port()
        words = words or ("--port", "0", "--tls-port", str(port), "--tls-cert-file", self.file("server.crt"), "--tls-key-file",
                          self.file("server.key"), "--tls-ca-cert-file", self.file("ca.crt"), "--notify-keyspace-events", "KEx")
        words = [str(port) if word == "PORT" else word for word in words]
        process = subprocess.Popen(["redis-server", *words, "--bind", "127.0.0.1", "--save", "", "--dir", self.folder],
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        until(lambda: listens(port), why="a redis-server that speaks TLS")
        return port

    def ask(self, port, words):
        """A redis-server asked over TLS, by somebody else's hand."""
        context = ssl.create_default_context(cafile=self.file("ca.crt"))
        context.check_hostname = False
        context.load_cert_chain(self.file("client.crt"), self.file("client.key"))
        with socket.create_connection(("127.0.0.1", port), timeout=5) as plain, context.wrap_socket(plain) as guest:
            guest.sendall(words.encode() + b"\r\n")
            return guest.recv(4096)

    def cluster(self, ports, tls="{ca: ca.crt, cert: client.crt, key: client.key}"):
        nodes = [f"{{redis: 127.0.0.1:{port}, tls: {tls}}}" for port in ports]
        return cluster_file(self.folder, nodes, None)

    def scenario(self, name, faults="", more="clients: {count: 2, sections: 3, hold: 20ms}", expect="exclusion: pass"):
        path = os.path.join(self.folder, name + ".yaml")
        with open(path, "w") as file:
            file.write(f"version: 1\nname: {name}\nlock: {{algorithm: redlock, ttl: 5s, node_timeout: 2s}}\nnodes: {{count: {NODES}}}\n"
                       f"{more}\n{faults}expect: {{{expect}}}\n")
        return path

    def run_it(self, path, cluster, *more):
        return subprocess.run([PICKLOCK, "run", path, "--cluster", cluster, "--out", os.path.join(self.folder, "out"), "--keep",
                               "always", *more], capture_output=True, text=True, cwd=ROOT)

    def history(self, name):
        with open(os.path.join(self.folder, "out", name, "1", "real", "history.jsonl")) as file:
            return [json.loads(line) for line in file]

    def test_what_nodes_did_is_heard_and_they_are_left_as_they_were(self):
        ports = [self.server() for _ in range(NODES)]
        done = self.run_it(self.scenario("plain"), self.cluster(ports))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        header, *events = self.history("plain")
        self.assertNotIn("unwatched", header)
        grants = {event["node"] for event in events if event.get("f") == "set" and "node" in event}
        self.assertEqual(len(grants), NODES, {event.get("f") for event in events})
        for port in ports:
            self.assertRegex(self.ask(port, "CONFIG GET notify-keyspace-events"), rb"xKE|KEx")
            self.assertEqual(self.ask(port, "DBSIZE"), b":0\r\n")

    def test_links_are_struck_and_many_clients_wait(self):
        ports = [self.server() for _ in range(NODES)]
        for mode in ("hold", "drop", "refuse", "reset"):
            faults = (f"faults:\n  - {{on: client 1 before_send, do: partition, from: clients, to: node 1, mode: {mode}, "
                      "until: client 1 after_granted}\n")
            done = self.run_it(self.scenario(mode, faults), self.cluster(ports))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        faults = "faults:\n  - {on: client 1 before_send, do: latency, from: clients, to: nodes, delay: 5ms, until: client 1 after_granted}\n"
        many = self.scenario("many", faults, "clients: {count: 12, sections: 5, hold: 0s, think: 0s}")
        done = self.run_it(many, self.cluster(ports))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_server_whose_certificate_nobody_vouches_for(self):
        done = self.run_it(self.scenario("other"), self.cluster([self.server() for _ in range(NODES)], "{ca: other.crt}"))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"redis-server at 127\.0\.0\.1:\d+ does not answer PING: TLS: certificate verify failed")

    def test_a_server_that_wants_our_certificate(self):
        done = self.run_it(self.scenario("nobody"), self.cluster([self.server() for _ in range(NODES)], "{ca: ca.crt}"))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"redis-server at 127\.0\.0\.1:\d+ does not answer PING: TLS: .*certificate")

    def test_a_server_that_speaks_plainly(self):
        ports = [self.server("--port", "PORT") for _ in range(NODES)]
        done = self.run_it(self.scenario("plainly"), self.cluster(ports))
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"redis-server at 127\.0\.0\.1:\d+ does not answer PING: TLS: ")

    def test_a_server_is_asked_for_its_name(self):
        plain = [self.server("--port", "PORT") for _ in range(NODES)]
        terminals = [Terminal(port, self.file("server.crt"), self.file("server.key")) for port in plain]
        for terminal in terminals:
            self.addCleanup(terminal.close)
        done = self.run_it(self.scenario("named"), self.cluster([one.port for one in terminals], "{ca: ca.crt, sni: db.example}"))
        self.assertIn(done.returncode, (0, 2), done.stdout + done.stderr)
        self.assertEqual({name for one in terminals for name in one.names}, {"db.example"})
        self.assertIn("it sees us come from port", self.history("named")[0]["unwatched"])

    def test_files_that_are_not_fit(self):
        ports = [free_port() for _ in range(NODES)]
        for tls, said in (("{ca: missing.crt}", r"TLS: .*/missing\.crt: No such file"),
                          ("{ca: client.key}", r"TLS: Failed to load CA Certificate"),
                          ("{ca: ca.crt, cert: client.key, key: client.key}", r"TLS: Failed to load client certificate"),
                          ("{ca: ca.crt, cert: client.crt, key: client.crt}", r"TLS: Failed to load private key")):
            done = self.run_it(self.scenario("unfit"), self.cluster(ports, tls))
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
            self.assertRegex(done.stderr, said)


if __name__ == "__main__":
    unittest.main()
