#!/usr/bin/env python3
"""reversed.py: a correct lock on one node whose scripts say 0 for done, and bugs to be chosen by name.

    python3 tests/adapters/reversed.py [--bug NAME]...
    python3 tests/adapters/reversed.py --list

As in C and in shells, 0 is success, and what went wrong is a number above it. It promises a validity.
"""
import os
import random
import time

from reversed_bugs import BUGS, MISSED, UNSEEN
from wire import Node, Refusal, Script, bug, serve

DONE, ANOTHERS, GONE = 0, 1, 2
TAKE = """
if redis.call('exists',KEYS[1])==1 then return 1 end
redis.call('psetex',KEYS[1],ARGV[2],ARGV[1]) return 0"""
OWN = """
local value=redis.call('get',KEYS[1])
if not value then return 2 end
if value~=ARGV[1] then return 1 end
"""
GIVE = OWN + "redis.call('del',KEYS[1]) return 0"
KEEP = OWN + "redis.call('pexpire',KEYS[1],ARGV[2]) return 0"


def scripts():
    take, give, keep = TAKE, GIVE, KEEP
    if bug("take-answers-one"):
        take = take.replace("return 0", "return 1")
    if bug("take-whoever-has-it"):
        take = take.replace("==1 then", "==2 then")
    if bug("take-in-seconds"):
        take = take.replace("psetex", "setex")
    if bug("give-whoever-has-it"):
        give = give.replace("value~=ARGV[1]", "not value")
    if bug("give-inverted"):
        give = give.replace("~=", "==")
    if bug("keep-whoever-has-it"):
        keep = keep.replace("value~=ARGV[1]", "not value")
    if bug("keep-deletes"):
        keep = keep.replace("redis.call('pexpire',KEYS[1],ARGV[2])", "redis.call('pexpire',KEYS[1],0)")
    return [Script(text, 1) for text in (take, give, keep)]


class Reversed:
    def __init__(self, loop, request):
        options = request["options"]
        self.take, self.give, self.keep = scripts()
        self.loop, self.held = loop, {}
        self.node = Node(loop, request["nodes"][0], (self.take, self.give, self.keep))
        self.timeout_s = options.get("node_timeout_ms", 50) / 1000
        self.drift = options.get("drift_factor", 0.01)
        self.retries = options.get("retry_count", 3)
        self.delay_ms = options.get("retry_delay_ms", 200)
        self.jitter_ms = options.get("retry_jitter_ms", 200)
        loop.wait_until(lambda: self.node.up, 5)

    def declare(self):
        said = {"type": "ok", "library": "reversed 1", "owner": "object", "nodes": 1}
        said["drift_factor"] = self.drift
        return {**said, "features": ["validity", "extend", "several", "clock"]}

    def ask(self, script, resource, *arguments, again_s=0.0):
        again = time.monotonic() + again_s if again_s else 0.0
        asked = self.node.call(script, "mutex/" + resource, *arguments, again_until=again)
        self.loop.wait([asked], self.timeout_s)
        asked.known = asked.done and not asked.broken and not isinstance(asked.reply, Refusal)
        return asked

    def promise(self, asked_at, ttl):
        now = time.monotonic()
        start = now if bug("validity-from-the-reply") else asked_at
        return {"validity_ms": ttl * (1 - self.drift) - 2 - (now - start) * 1000, "at_ms": now * 1000}

    def acquire(self, request):
        resource, ttl = request["resource"], request["ttl_ms"]
        for attempt in range(self.retries + 1):
            if attempt:
                self.loop.sleep((self.delay_ms + random.random() * self.jitter_ms) / 1000)
            value, at = os.urandom(20).hex(), time.monotonic()
            asked = self.ask(self.take, resource, value, ttl)
            done = asked.known and asked.reply == DONE
            if bug("one-is-done"):
                done = asked.known and asked.reply == 1
            if bug("anything-but-one-is-done"):
                done = asked.reply != ANOTHERS
            promise = self.promise(at, ttl)
            if done and (promise["validity_ms"] > 0 or bug("validity-not-looked-at")):
                self.held[resource] = (value, ttl)
                return {"type": "ok", "value": value, **promise}
            if not (asked.known and asked.reply == ANOTHERS) and not bug("cleanup-none"):
                self.ask(self.give, resource, value, again_s=ttl / 1000)
        return {"type": "fail", "error": "another's"}

    def extend(self, request):
        resource, ttl, at = request["resource"], request["ttl_ms"], time.monotonic()
        if resource not in self.held:
            return {"type": "fail", "error": "not held"}
        asked = self.ask(self.keep, resource, self.held[resource][0], ttl)
        promise = self.promise(at, ttl)
        if bug("keep-gone-is-done") and asked.known or asked.known and asked.reply == DONE and promise["validity_ms"] > 0:
            return {"type": "ok", **promise}
        if asked.known and asked.reply != DONE:
            return {"type": "fail", "error": "gone" if asked.reply == GONE else "another's"}
        return {"type": "info", "error": "no answer in time"}

    def release(self, request):
        value, ttl = self.held.pop(request["resource"], (None, 0))
        if value is None:
            return {"type": "fail", "error": "not held"}
        if bug("give-compares-the-resource"):
            value = request["resource"]
        asked = self.ask(self.give, request["resource"], value, again_s=ttl / 1000)
        if bug("give-answer-turned"):
            return {"type": "ok" if asked.reply else "fail"}
        if not asked.known:
            return {"type": "ok"} if bug("give-silence-is-done") else {"type": "info", "error": "no answer"}
        return {"type": "ok"} if asked.reply == DONE or bug("keep-gone-is-done") else {"type": "fail", "error": "not held"}


if __name__ == "__main__":
    serve(Reversed, {**BUGS, **UNSEEN, **MISSED})
