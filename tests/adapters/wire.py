"""wire.py: sockets, RESP and time for the locks in this folder; standard library only.

One loop carries everything: connections to the nodes that come back by themselves, replies matched
to their own requests in order, timers, and the lines of standard input.
"""
import collections
import errno
import hashlib
import heapq
import itertools
import json
import os
import selectors
import socket
import sys
import threading
import time
import traceback

CHOSEN = []  # the bugs that were switched on
KNOWN = {}  # name -> sentence, of the lock that is running


def bug(name):
    """Is this deviation switched on?"""
    assert name in KNOWN, f"{name} stands in no table of bugs"
    return name in CHOSEN


class Refusal(str):
    """An error reply of a node."""


class Script:
    """A script that is asked for by its hash, and sent whole to a node that forgot it."""

    def __init__(self, text, keys):
        self.text, self.keys = text, keys
        self.sha = hashlib.sha1(text.encode()).hexdigest()

    def words(self, arguments):
        return ("EVALSHA", self.sha, self.keys, *arguments)

    def whole(self, arguments):
        return ("EVAL", self.text, self.keys, *arguments)


class Request:
    """One command to one node: done once it is answered, or once it is known that it never will be."""

    def __init__(self, node, words, script=None, again_until=0.0):
        self.node, self.words, self.script, self.again_until = node, words, script, again_until
        self.reply, self.done, self.broken = None, False, False
        self.answered_at, self.on_reply = time.monotonic() * 1000, None

    def answered(self, reply):
        if self.script and isinstance(reply, Refusal) and reply.startswith("NOSCRIPT"):
            self.words, self.script = self.script.whole(self.words[3:]), None
            self.node.push(self)
            return
        self.reply, self.done = reply, True
        self.answered_at = time.monotonic() * 1000
        if self.on_reply:
            self.on_reply(self)

    def fails(self):
        """The connection broke: what has to be done is asked for again on the next one."""
        self.done = self.broken = True
        if time.monotonic() < self.again_until:
            self.node.again.append(self)


def parse(data, at):
    """One reply of data from at on: (reply, where the next begins), or None while it is cut."""
    end = data.find(b"\r\n", at)
    if end < 0:
        return None
    kind, rest, after = data[at : at + 1], data[at + 1 : end], end + 2
    if kind == b"+":
        return rest.decode(), after
    if kind == b"-":
        return Refusal(rest.decode()), after
    if kind == b":":
        return int(rest), after
    if kind == b"$":
        length = int(rest)
        if length < 0:
            return None if len(data) < after else (None, after)
        if len(data) < after + length + 2:
            return None
        return data[after : after + length].decode(), after + length + 2
    assert kind == b"*", f"no reply: {data[at:at + 40]!r}"
    if int(rest) < 0:
        return None, after
    items = []
    for _ in range(int(rest)):
        one = parse(data, after)
        if one is None:
            return None
        items.append(one[0])
        after = one[1]
    return items, after


class Node:
    """A connection to one node, made again whenever it breaks."""

    RETRY_S = 0.02

    def __init__(self, loop, url, scripts=()):
        host, port = url[len("redis://") :].split(":")
        self.loop, self.address = loop, (host, int(port))
        self.socket, self.up, self.received, self.unsent = None, False, b"", b""
        self.pending, self.again = collections.deque(), []
        self.on_up, self.on_down, self.scripts = [], [], scripts
        self.connect()

    def connect(self):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = self.socket.connect_ex(self.address)
        if code not in (0, errno.EINPROGRESS):
            return self.breaks()
        self.loop.selector.register(self.socket, selectors.EVENT_WRITE, self)

    def breaks(self):
        try:
            self.loop.selector.unregister(self.socket)
        except (KeyError, ValueError):
            pass
        self.socket.close()
        was_up, self.up = self.up, False
        waiting, self.pending = self.pending, collections.deque()
        self.received = self.unsent = b""
        for request in waiting:
            request.fails()
        for callback in self.on_down if was_up else ():
            callback(self, waiting)
        self.loop.at(time.monotonic() + self.RETRY_S, self.connect)

    def event(self, mask):
        if not self.up:
            if self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return self.breaks()
            self.up = True
            for script in self.scripts:
                self.send("SCRIPT", "LOAD", script.text)
            waiting, self.again = self.again, []
            for request in waiting:
                if time.monotonic() < request.again_until:
                    self.push(request)
            for callback in self.on_up:
                callback(self)
        try:
            if mask & selectors.EVENT_READ:
                data = self.socket.recv(65536)
                if not data:
                    return self.breaks()
                self.received += data
                self.take()
            if self.up:
                self.flush()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.breaks()

    def take(self):
        at = 0
        while self.pending:
            one = parse(self.received, at)
            if one is None:
                break
            at = one[1]
            self.pending.popleft().answered(one[0])
        self.received = self.received[at:]

    def flush(self):
        if self.unsent:
            self.unsent = self.unsent[self.socket.send(self.unsent) :]
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.unsent else 0)
        self.loop.selector.modify(self.socket, mask, self)

    def push(self, request):
        """Send a request on this connection; without one it fails at once."""
        if not self.up:
            request.fails()
            return request
        words = [str(word).encode() for word in request.words]
        self.unsent += b"*%d\r\n" % len(words)
        self.unsent += b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
        self.pending.append(request)
        try:
            self.flush()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.breaks()
        return request

    def send(self, *words, again_until=0.0, on_reply=None):
        request = Request(self, words, None, again_until)
        request.on_reply = on_reply
        return self.push(request)

    def call(self, script, *arguments, again_until=0.0):
        return self.push(Request(self, script.words(arguments), script, again_until))


class Loop:
    """Waits for sockets, timers and lines at once."""

    def __init__(self, source=0):
        self.selector, self.source = selectors.DefaultSelector(), source
        self.timers, self.order, self.woke_at = [], itertools.count(), time.monotonic()
        self.lines, self.typed, self.ended = collections.deque(), b"", False
        self.selector.register(source, selectors.EVENT_READ, None)

    def at(self, when, function):
        """Call function at a time of the monotonic clock; gives what cancel takes."""
        entry = [when, next(self.order), function]
        heapq.heappush(self.timers, entry)
        return entry

    def cancel(self, entry):
        if entry:
            entry[2] = None

    def once(self, deadline):
        """Carry on until something happened, at the latest until deadline."""
        if self.timers:
            deadline = min(deadline, self.timers[0][0])
        for key, mask in self.selector.select(max(0.0, deadline - time.monotonic())):
            if key.data is None:
                self.type()
            elif key.data.socket is key.fileobj:
                key.data.event(mask)
        while self.timers and self.timers[0][0] <= time.monotonic():
            function = heapq.heappop(self.timers)[2]
            if function:
                function()

    def type(self):
        data = os.read(self.source, 65536)
        if not data:
            self.ended = True
            os._exit(0)
        *whole, self.typed = (self.typed + data).split(b"\n")
        for request in map(json.loads, whole):
            if request["op"] == "clock":  # comes at any time, and is answered at once
                clocks = {"mono_ms": time.monotonic() * 1000, "wall_ms": time.time() * 1000}
                say({"id": request["id"], "type": "ok", **clocks})
            else:
                self.lines.append(request)

    def wait_until(self, holds, seconds):
        self.woke_at = time.monotonic()  # before it waits: for a bug
        end, over = self.woke_at + seconds, False
        while not holds() and not over:
            over = time.monotonic() >= end  # what has come by then is still read
            self.once(end)

    def wait(self, requests, seconds):
        """Until every request is done, or the seconds are over."""
        self.wait_until(lambda: all(request.done for request in requests), seconds)

    def sleep(self, seconds):
        self.wait_until(lambda: False, seconds)

    def next_line(self):
        while not self.lines:
            self.once(time.monotonic() + 3600)
        return self.lines.popleft()


def say(answer):
    os.write(1, json.dumps(answer).encode() + b"\n")


class Thread:
    """A thread of the program, with a lock object, a loop and connections of its own."""

    def __init__(self, make, init):
        source, self.input = os.pipe()
        self.make, self.init, self.source = make, init, source
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        try:
            loop = Loop(self.source)
            lock = self.make(loop, self.init)
            while True:
                request = loop.next_line()
                answer(request, getattr(lock, request["op"])(request))
        except BaseException:
            traceback.print_exc()
            os._exit(1)  # a program that has lost a thread is of no use

    def ask(self, request):
        os.write(self.input, json.dumps(request).encode() + b"\n")


def answer(request, said):
    whose = {"thread": request["thread"]} if "thread" in request else {}
    say({"id": request["id"], **whose, **said})


def serve(make, known):
    """Speak the adapter protocol (docs/ADAPTERS.md): make(loop, request) gives the lock of init."""
    KNOWN.update((name, row[0]) for name, row in known.items())
    arguments = sys.argv[1:]
    if "--list" in arguments:
        for name, sentence in KNOWN.items():
            print(f"{name}\t{sentence}")
        return
    CHOSEN.extend(b for a, b in zip(arguments, arguments[1:]) if a == "--bug")
    unknown = [name for name in CHOSEN if name not in known]
    if unknown:
        sys.exit(f"no bug is called {unknown[0]} (--list shows those that are)")
    loop, lock, init, threads = Loop(), None, None, {}
    while True:
        request = loop.next_line()
        operation = request["op"]
        if operation == "shutdown":
            say({"id": request["id"], "type": "ok"})
            return
        if operation == "init":
            init = {**request, "process": os.urandom(10).hex()}
            lock = make(loop, init)
            answer(request, lock.declare())
        elif "thread" in request:
            if request["thread"] not in threads:
                threads[request["thread"]] = Thread(make, {**init, "thread": request["thread"]})
            threads[request["thread"]].ask(request)
        else:
            answer(request, getattr(lock, operation)(request))
