#!/usr/bin/env python3
"""tokens.py: a lock that is a list with one token in it, as semaphores are built: whoever takes the token holds.

    python3 tests/adapters/tokens.py [named]

Nothing has an end, a mark says that the list was made, and a hash tells who holds. `named` says which key is the lock.
"""
import os
import sys

from wire import Node, Script, serve

NAMED = "named" in sys.argv
sys.argv[1:] = []
MADE = "if redis.call('setnx',KEYS[1]..':made',1)==1 then redis.call('lpush',KEYS[1],'token') end "
TAKE = Script(MADE + "if redis.call('lpop',KEYS[1]) then return redis.call('hset',KEYS[1]..':held',ARGV[1],1) end return 0", 1)
GIVE = Script("if redis.call('hdel',KEYS[1]..':held',ARGV[1])==1 then return redis.call('lpush',KEYS[1],'token') end return 0", 1)


class Tokens:
    def __init__(self, loop, request):
        self.loop, self.node, self.held = loop, Node(loop, request["nodes"][0], (TAKE, GIVE)), {}
        loop.wait_until(lambda: self.node.up, 5)

    def declare(self):
        keys = {"keys": ["{resource}:held"]} if NAMED else {}
        return {"type": "ok", "library": "tokens 1", "owner": "object", "nodes": 1, "features": [], **keys}

    def ask(self, script, resource, value):
        request = self.node.call(script, resource, value)
        self.loop.wait([request], 0.2)
        return request.reply if request.done and not request.broken else None

    def acquire(self, request):
        value = os.urandom(20).hex()
        for _ in range(4):
            if self.ask(TAKE, request["resource"], value) == 1:
                self.held[request["resource"]] = value
                return {"type": "ok", "value": value}
            self.loop.sleep(0.05)
        return {"type": "fail", "error": "held by another"}

    def release(self, request):
        done = self.ask(GIVE, request["resource"], self.held.pop(request["resource"], ""))
        return {"type": "ok"} if done else {"type": "fail", "error": "was not held"}


if __name__ == "__main__":
    serve(Tokens, {})
