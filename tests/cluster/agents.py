"""Agents, clusters of them, and the protocol spoken by hand: for the tests of nodes that are somewhere else."""
import contextlib
import hashlib
import hmac
import os
import select
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECRET = b"a secret that only tests know"
HARNESS, AGENT = b"\x01", b"\x02"
ORDER, DONE, REFUSED, ALIVE, NOTE = 1, 2, 3, 4, 5


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def listens(port):
    with socket.socket() as guest:
        return guest.connect_ex(("127.0.0.1", port)) == 0


def until(question, seconds=10, why="it did not come"):
    """Ask until the answer is true; how long that took."""
    begun = time.monotonic()
    while not question():
        if time.monotonic() - begun > seconds:
            raise AssertionError(f"{why} within {seconds} s")
        time.sleep(0.01)
    return time.monotonic() - begun


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def name(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def without_tls(picklock):
    """What `picklock doctor` says of a hiredis that has no TLS; an empty word where it has."""
    told = subprocess.run([picklock, "doctor"], capture_output=True, text=True).stdout
    line = next(line for line in told.splitlines() if "TLS to bare nodes" in line)
    return "" if line.startswith("ok") else line.split("TLS to bare nodes", 1)[1].strip()


class Agent:
    """`picklock node` on a free port of loopback."""

    def __init__(self, picklock, folder, number, before=(), secret=None):
        self.port = free_port()
        self.name = f"127.0.0.1:{self.port}"
        self.data = os.path.join(folder, f"data-{number}")
        self.log = os.path.join(folder, f"agent-{number}.log")
        self.secret = secret or os.path.join(folder, "secret")
        os.makedirs(self.data, exist_ok=True)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [*before, picklock, "node", "--listen", self.name, "--secret", self.secret, "--data", self.data],
                stderr=log, stdin=subprocess.DEVNULL)
        until(lambda: "listens" in self.said(), why="the agent does not listen")

    def said(self):
        with open(self.log) as log:
            return log.read()

    def pid(self):
        """Of the agent itself, also where another program started it."""
        inner = children(self.process.pid)
        return inner[0] if name(self.process.pid) != "picklock" and inner else self.process.pid

    def servers(self):
        return [pid for pid in children(self.pid()) if state(pid) not in ("", "Z")]

    def serves(self):
        """Its servers run: what it has begun to start is still the agent, with all that the agent has open."""
        return {name(pid) for pid in self.servers()} == {"redis-server"}

    def is_at_rest(self):
        return not self.servers() and not os.listdir(self.data)

    def stop(self):
        if self.process.poll() is None:
            for pid in {self.pid(), self.process.pid}:
                try:
                    os.kill(pid, signal.SIGCONT)
                    os.kill(pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class FarWay:
    """The way to an agent, on which orders of one word take long."""

    def __init__(self, agent, word, seconds):
        self.agent, self.word, self.seconds = agent, word.encode(), seconds
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.name = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                guest, _ = self.listener.accept()
                agent = socket.create_connection(("127.0.0.1", self.agent.port))
            except OSError:
                return
            threading.Thread(target=self.carry, args=(self.messages, guest, agent), daemon=True).start()
            threading.Thread(target=self.carry, args=(self.bytes, agent, guest), daemon=True).start()

    def bytes(self, source):
        while data := source.recv(65536):
            yield data

    def messages(self, source):
        with source.makefile("rb") as stream:
            yield stream.read(72)
            while len(head := stream.read(13)) == 13:
                rest = stream.read(struct.unpack(">I", head[:4])[0] + 32)
                if rest.startswith(self.word):
                    time.sleep(self.seconds)
                yield head + rest

    @staticmethod
    def carry(parts, source, sink):
        try:
            for part in parts(source):
                sink.sendall(part)
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        finally:
            source.close()

    def close(self):
        self.listener.close()


class Tunnel:
    """To a server that speaks TLS, for guests who do not: what stunnel does."""

    def __init__(self, port, certificate):
        self.there, self.guests = port, 0
        self.context = ssl.create_default_context(cafile=certificate)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                guest, _ = self.listener.accept()
            except OSError:
                return
            self.guests += 1
            threading.Thread(target=self.carry, args=(guest,), daemon=True).start()

    def carry(self, guest):
        """One thread for both ways: a TLS connection is not for two."""
        with guest, contextlib.suppress(OSError):
            plain = socket.create_connection(("127.0.0.1", self.there))
            with self.context.wrap_socket(plain, server_hostname="localhost") as far:
                while True:
                    ready = [far] if far.pending() else select.select([guest, far], [], [])[0]
                    for source, sink in ((guest, far), (far, guest)):
                        if source in ready:
                            data = source.recv(65536)
                            if not data:
                                return
                            sink.sendall(data)

    def close(self):
        self.listener.close()


def cluster_file(folder, nodes, secret="secret"):
    path = os.path.join(folder, "cluster.yaml")
    with open(path, "w") as file:
        file.write("nodes:\n" + "".join(f"  - {node}\n" for node in nodes))
        if secret:
            file.write(f"secret: {secret}\n")
    return path


class Session:
    """One connection to an agent, by hand: every byte can be changed."""

    def __init__(self, port, secret=SECRET, version=1):
        self.secret = secret
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.nonce = os.urandom(32)
        self.sent = self.received = 0
        head = b"PLKA" + struct.pack(">HH", version, 0) + self.nonce
        self.hello = head + hmac.new(secret, HARNESS + bytes(32) + head, hashlib.sha256).digest()

    def greet(self, hello=None):
        """Send a hello; the welcome's version and status."""
        self.socket.sendall(hello or self.hello)
        welcome = self.read(72)
        nonce = welcome[8:40]
        self.key = hmac.new(self.secret, b"picklock session\0" + self.nonce + nonce, hashlib.sha256).digest()
        return struct.unpack(">HH", welcome[4:8])

    def read(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def frame(self, body, kind=ORDER, number=None):
        self.sent += 1
        head = struct.pack(">IBQ", len(body), kind, number or self.sent) + body
        return head + hmac.new(self.key, HARNESS + head, hashlib.sha256).digest()

    def answer(self):
        """The next answer: its type and words. Signs of life are passed over."""
        while True:
            head = self.read(13)
            length, kind, number = struct.unpack(">IBQ", head)
            body = self.read(length)
            mac = self.read(32)
            self.received += 1
            assert number == self.received
            assert mac == hmac.new(self.key, AGENT + head + body, hashlib.sha256).digest()
            if kind != ALIVE:
                return kind, body.decode()

    def ask(self, words):
        self.socket.sendall(self.frame(words.encode()))
        return self.answer()

    def attach(self, name="a test"):
        self.greet()
        return self.ask(f"attach {name}")

    def is_closed(self):
        """Does the other side close the connection, whatever it says before?"""
        try:
            while self.socket.recv(4096):
                pass
        except ConnectionError:
            pass
        except socket.timeout:
            return False
        return True

    def close(self):
        self.socket.close()
