#!/usr/bin/env python3
"""patient.py: a lock on one node that waits for its turn, until a deadline or until it is given up.

    python3 tests/adapters/patient.py [deaf | short | hasty | asleep]

With deaf it declares all that and does none of it: it waits for 30 s, whatever it was told. With short it waits for 300 ms
where it is told nothing, with hasty not at all, and declares that it does. With asleep it looks every 2.8 s, and nothing wakes it.
"""
import json
import os
import select
import socket
import sys
import time

DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
DEAF = sys.argv[1:] == ["deaf"]
LIMIT_MS = {"short": 300, "hasty": 0}.get(sys.argv[1] if sys.argv[1:] else "", 30000)
PAUSE_S = 2.8 if sys.argv[1:] == ["asleep"] else 0.02
FEATURES = ["wait", "deadline", "cancel"]
held = {}
node = address = None


def ask(*words):
    """The first line of the reply; b"": there came none, and the next command tries another connection."""
    global node
    words = [str(word).encode() for word in words]
    try:
        node = node or socket.create_connection(address, timeout=0.3)  # with its first command
        node.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        reply = node.makefile("rb").readline()
    except OSError:
        reply = b""
    node = node if reply else None
    return reply


def say(answer):
    print(json.dumps(answer), flush=True)


def given_up(asked):
    """A cancel, where there is one, is answered; it is the only line that may come now."""
    if not select.select([sys.stdin], [], [], PAUSE_S)[0]:
        return False
    cancel = json.loads(sys.stdin.readline())
    say({"id": cancel["id"], "type": "ok"})
    print("cancelled", cancel["of"] == asked["id"], file=sys.stderr, flush=True)
    return not DEAF


def acquire(asked):
    end = time.monotonic() + (30 if DEAF else asked.get("deadline_ms", LIMIT_MS) / 1000)
    value, again = os.urandom(20).hex(), True
    while again:
        again = time.monotonic() < end
        if ask("SET", asked["resource"], value, "NX", "PX", asked["ttl_ms"])[:1] == b"+":
            held[asked["resource"]] = value
            return {"type": "ok", "value": value}
        if given_up(asked):
            return {"type": "fail", "error": "given up"}
    return {"type": "fail", "error": "too late"}


def release(asked):
    done = ask("EVAL", DELETE, 1, asked["resource"], held.get(asked["resource"], ""))
    return {"type": "ok" if done[:2] == b":1" else "fail" if done else "info"}


while True:
    line = sys.stdin.readline()
    request = json.loads(line) if line else {"op": "shutdown"}
    if request["op"] == "shutdown":
        break
    if request["op"] == "init":
        host, port = request["nodes"][0][len("redis://") :].split(":")
        address = host, int(port)
        say({"id": 0, "type": "ok", "library": "patient 1", "features": FEATURES, "nodes": 1})
    elif request["op"] == "cancel":
        say({"id": request["id"], "type": "ok"})  # it crossed the answer to its acquire
    else:
        answer = acquire(request) if request["op"] == "acquire" else release(request)
        say({"id": request["id"], **answer})
