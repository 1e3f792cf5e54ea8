#!/usr/bin/env python3
"""bad.py: an adapter without a library, that keeps the protocol or breaks it as it is told.

    python3 tests/adapters/bad.py MODE [WORD...]

MODE is one of the words below; `init JSON` adds members to init's answer, `grant JSON` to a grant's,
`lost RESOURCE` tells of a loss as soon as r1 is granted.
"""
import json
import os
import signal
import sys
import time

mode = sys.argv[1] if len(sys.argv) > 1 else "good"
added = json.loads(sys.argv[2]) if mode in ("init", "grant") else {}
holders = []
declared = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}


def say(message, asked=None):
    if asked and "thread" in asked and mode != "threads-unsaid":
        message["thread"] = 3 - asked["thread"] if mode == "threads-mixed" else asked["thread"]
    print(json.dumps(message), flush=True)


def now_ms():
    return time.monotonic() * 1000


def coarse_ms():
    """A clock that goes in steps."""
    return now_ms() // 100 * 100


def misbehave():
    """What has nothing to do with requests."""
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "forks" and os.fork() == 0:
        while True:
            time.sleep(3600)
    if mode == "escapes" and os.fork() == 0:
        os.setsid()
        while True:
            time.sleep(3600)
    if mode == "escapes-bare" and os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve("/bin/sh", ["sh", "-c", "sleep 3600; exit", sys.argv[4]], {})
        os._exit(0)
    if mode == "floods":
        for _ in range(1 << 12):
            os.write(2, b"\x1b[2Jflood" * (1 << 17))
    if mode == "silent-at-init":
        time.sleep(3600)


def introduce(asked):
    misbehave()
    answer = {"id": asked["id"], "type": "ok", "library": "bad 1", **declared}
    if mode == "init":
        answer.update(added)
    if mode == "other-for-each":
        answer["drift_factor"] = asked["client"] / 100
    say(answer)


def acquire(asked):
    if mode == "threads-serial" and holders:
        time.sleep(0.4)
        say({"id": asked["id"], "type": "fail"}, asked)
        return
    holders.append(asked["id"])
    answer = {"id": asked["id"], "type": "ok", "validity_ms": 100}
    if mode == "grant":
        answer.update(added)
    if mode == "at":
        answer["at_ms"] = now_ms()
        time.sleep(0.05)
    if mode == "at-coarse":
        answer["at_ms"] = coarse_ms()
    if mode == "at-never":
        answer["at_ms"] = now_ms() - 3600000
    say(answer, asked)
    if mode == "lost" and asked["resource"] == "r1":
        say({"type": "lost", "resource": sys.argv[2]})
    if mode == "twice":
        say(answer)


def serve(asked):
    if asked["op"] == "init":
        introduce(asked)
    elif asked["op"] == "acquire":
        acquire(asked)
    elif asked["op"] == "clock":
        wall = {} if mode == "no-wall" else {"wall_ms": time.time() * 1000}
        if mode == "at-coarse":
            time.sleep((100 - now_ms() % 100) / 1000)  # asked when it is right, answered when not
        shown = coarse_ms() if mode == "at-coarse" else now_ms()
        say({"id": asked["id"], "type": "ok", "mono_ms": shown, **wall})
    else:
        if asked["op"] == "release":
            holders.clear()
        say({"id": asked["id"], "type": "ok"}, asked)


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "shutdown":
        break
    serve(request)
while mode == "stubborn":
    time.sleep(3600)
