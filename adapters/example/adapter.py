#!/usr/bin/env python3
"""adapter.py: the smallest adapter: SET NX PX on every node, by hand (docs/ADAPTERS.md).

    python3 adapters/example/adapter.py [MODE]

MODE "one" uses the first node only. The others misbehave on purpose, for tests: garbage, silent,
die, die-at-init, wrong-id, long-line.
"""
import json
import os
import socket
import sys
import time

DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
EXPIRE = DELETE.replace("'del',KEYS[1]", "'pexpire',KEYS[1],ARGV[2]")
DECLARES = {"features": ["validity", "extend", "clock"], "owner": "object", "drift_factor": 0.01}
mode = sys.argv[1] if len(sys.argv) > 1 else ""
nodes, held = [], {}


def ask(node, *words):
    words = [str(word).encode() for word in words]
    node.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
    return node.makefile("rb").readline()


def count(*words):
    return sum(ask(node, *words)[:2] in (b"+O", b":1") for node in nodes)


def serve(request):
    operation, resource, ttl = (request.get(key) for key in ("op", "resource", "ttl_ms"))
    resource = "lock:" + str(resource) if mode == "prefix" else resource
    if operation == "init":
        for url in request["nodes"][: 1 if mode == "one" else None]:
            host, port = url[len("redis://") :].split(":")
            nodes.append(socket.create_connection((host, int(port))))
        return {"type": "ok", "library": "example 1", "nodes": "N", **DECLARES}
    if operation == "clock":
        return {"type": "ok", "mono_ms": time.monotonic() * 1000, "wall_ms": time.time() * 1000}
    if operation == "acquire":
        misbehave(request)
        start, value = time.monotonic(), os.urandom(20).hex()
        granted = count("SET", resource, value, "NX", "PX", ttl)
        validity = ttl * 0.99 - 2 - (time.monotonic() - start) * 1000
        if granted > len(nodes) // 2 and validity > 0:
            held[resource] = value
            at = time.monotonic() * 1000
            return {"type": "ok", "value": value, "validity_ms": validity, "at_ms": at}
        count("EVAL", DELETE, 1, resource, value)
        return {"type": "fail", "error": "quorum not reached"}
    script = DELETE if operation == "release" else EXPIRE
    done = count("EVAL", script, 1, resource, held.get(resource, ""), ttl)
    return {"type": "ok" if done > len(nodes) // 2 else "fail"}


def misbehave(request):
    if mode == "garbage":
        print("I am not JSON", flush=True)
    elif mode == "silent":
        time.sleep(3600)
    elif mode == "die":
        print("the last words", file=sys.stderr, flush=True)
        os._exit(7)
    elif mode == "wrong-id":
        print(json.dumps({"id": request["id"] + 1, "type": "ok"}), flush=True)
    elif mode == "long-line":
        print("x" * 100000, flush=True)


if mode == "die-at-init":
    sys.exit("no library here")
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "shutdown":
        break
    print(json.dumps({"id": asked["id"], **serve(asked)}), flush=True)
