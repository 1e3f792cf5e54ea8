#!/usr/bin/env python3
"""adapter.py: a template: put a lock library in Python behind picklock (docs/ADAPTERS.md).

    picklock run --adapter 'python3 adapters/templates/adapter.py'

Replace class Library by calls of yours, and say in DECLARES what it does.
"""
import json
import os
import socket
import sys
import time

DECLARES = {
    "library": "template 1",
    "features": ["validity", "extend", "clock"],  # all that it does: see docs/ADAPTERS.md
    "owner": "object",
    "nodes": 1,  # or "N", for a majority of several
}
DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
EXPIRE = DELETE.replace("'del',KEYS[1]", "'pexpire',KEYS[1],ARGV[2]")


class Library:
    """SET NX PX on one node, by hand: your library goes here."""

    def __init__(self, nodes):
        self.address, self.node = nodes[0][len("redis://") :].split(":"), None
        self.connect()

    def connect(self):
        self.node = socket.create_connection((self.address[0], int(self.address[1])))
        self.lines = self.node.makefile("rb")

    def ask(self, *words):
        words = [str(word).encode() for word in words]
        try:
            if self.node is None:
                self.connect()
            self.node.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
            reply = self.lines.readline()
        except OSError:
            self.node = None
            raise
        if not reply.startswith((b"+", b":", b"$")):
            self.node = None if reply == b"" else self.node
            raise ValueError(reply)  # cut off, or the server refused: nobody knows what became of it
        return reply[:2]

    def acquire(self, resource, ttl_ms):
        value, start = os.urandom(20).hex(), time.monotonic()
        if self.ask("SET", resource, value, "NX", "PX", ttl_ms) != b"+O":
            return None, 0
        validity = ttl_ms * 0.99 - 2 - (time.monotonic() - start) * 1000
        if validity <= 0:
            self.release(resource, value)  # too late: nobody could use it
            return None, 0
        return value, validity

    def extend(self, resource, value, ttl_ms):
        start = time.monotonic()
        if self.ask("EVAL", EXPIRE, 1, resource, value, ttl_ms) != b":1":
            return None
        validity = ttl_ms * 0.99 - 2 - (time.monotonic() - start) * 1000
        return validity if validity > 0 else None

    def release(self, resource, value):
        return self.ask("EVAL", DELETE, 1, resource, value) == b":1"


library, held = None, {}


def promise(validity_ms):
    """When it was computed, on our own monotonic clock: so that it counts from there."""
    return {"type": "ok", "validity_ms": validity_ms, "at_ms": time.monotonic() * 1000}


def serve(request):
    global library
    operation, resource, ttl = (request.get(key) for key in ("op", "resource", "ttl_ms"))
    if operation == "init":
        library = Library(request["nodes"])
        return {"type": "ok", **DECLARES}
    if operation == "clock":
        return {"type": "ok", "mono_ms": time.monotonic() * 1000, "wall_ms": time.time() * 1000}
    if operation == "acquire":
        value, validity = library.acquire(resource, ttl)
        if value is None:
            return {"type": "fail", "error": "held by another"}  # surely not held
        held[resource] = value
        return {"value": value, **promise(validity)}
    if operation == "extend":
        validity = library.extend(resource, held[resource], ttl)
        return promise(validity) if validity is not None else {"type": "fail", "error": "lost"}
    return {"type": "ok" if library.release(resource, held[resource]) else "fail"}


for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "shutdown":
        break
    try:
        answer = serve(asked)
    except (OSError, ValueError) as problem:
        answer = {"type": "info", "error": repr(problem)}  # nobody knows whether it happened
    print(json.dumps({"id": asked["id"], **answer}), flush=True)
