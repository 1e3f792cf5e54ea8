#!/usr/bin/env python3
"""three_keys.py: a lock of which two of three keys of one node are enough. `--adapter 'python3 tests/adapters/three_keys.py'`

Whoever died in the middle has one of them; the others hold without it, rightly.
"""
import os
import sys
import time

from wire import Node, Script, serve

sys.argv[1:] = []
KEYS = [f"three:{i}:{{resource}}" for i in range(3)]
GIVE = Script("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0", 1)


class ThreeKeys:
    def __init__(self, loop, request):
        self.loop, self.node, self.held = loop, Node(loop, request["nodes"][0], (GIVE,)), {}
        loop.wait_until(lambda: self.node.up, 5)

    def declare(self):
        return {"type": "ok", "library": "three keys 1", "owner": "object", "nodes": 1, "features": ["validity"], "keys": KEYS}

    def each(self, resource, ask):
        """To how many of the keys, asked one after the other, the node says yes."""
        count = 0
        for key in KEYS:
            one = ask(key.replace("{resource}", resource))
            self.loop.wait([one], 0.2)
            count += one.done and not one.broken and one.reply not in (None, 0)
        return count

    def acquire(self, request):
        resource, ttl, begun = request["resource"], request["ttl_ms"], time.monotonic()
        for _ in range(4):
            value = os.urandom(20).hex()
            if self.each(resource, lambda key: self.node.send("SET", key, value, "NX", "PX", ttl)) >= 2:
                self.held[resource] = value
                left = ttl - (time.monotonic() - begun) * 1000 - ttl * 0.01 - 2
                return {"type": "ok", "value": value, "validity_ms": max(left, 0)}
            self.each(resource, lambda key: self.node.call(GIVE, key, value))
            self.loop.sleep(0.05)
            begun = time.monotonic()
        return {"type": "fail", "error": "held by another"}

    def release(self, request):
        value = self.held.pop(request["resource"], "")
        done = self.each(request["resource"], lambda key: self.node.call(GIVE, key, value)) >= 2
        return {"type": "ok"} if done else {"type": "fail", "error": "was not held"}


if __name__ == "__main__":
    serve(ThreeKeys, {})
