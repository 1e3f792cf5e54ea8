#!/usr/bin/env python3
"""reentrant.py: a correct re-entrant lock on one node, kept in a hash, and bugs to be chosen by name.

    python3 tests/adapters/reentrant.py [--owner-process | --guarded] [--bug NAME]...
    python3 tests/adapters/reentrant.py --list

Redisson's way, in scripts of our own: the hash of a resource has one field, its owner (process and
thread), which counts how often it was acquired; the last release deletes the hash and wakes who waits.
--guarded: the owner is the program, whose threads a mutex of its own keeps apart (as Spring's registry does).
"""
import os
import random
import sys
import threading
import time

from reentrant_bugs import BUGS, MISSED, UNSEEN
from wire import Node, Refusal, Script, bug, serve

# Free or mine: one more. Else how long it is another's.
TAKE = """
if redis.call('exists',KEYS[1])==0 or redis.call('hexists',KEYS[1],ARGV[2])==1 then
  redis.call('hincrby',KEYS[1],ARGV[2],1) redis.call('pexpire',KEYS[1],ARGV[1]) return nil
end
return redis.call('pttl',KEYS[1])"""
# One less: nil if it is not mine, 0 while some are left, 1 if it is free now.
GIVE = """
if redis.call('hexists',KEYS[1],ARGV[2])==0 then return nil end
if redis.call('hincrby',KEYS[1],ARGV[2],-1)>0 then redis.call('pexpire',KEYS[1],ARGV[1]) return 0 end
redis.call('del',KEYS[1]) redis.call('publish','free:'..KEYS[1],'1') return 1"""
KEEP = """
if redis.call('hexists',KEYS[1],ARGV[2])==1 then return redis.call('pexpire',KEYS[1],ARGV[1]) end
return 0"""
OWNER = "process" if "--owner-process" in sys.argv else "thread"  # both are right: it says which
GUARDED = "--guarded" in sys.argv
MUTEXES = {f"r{i}": threading.RLock() for i in range(16)}
ANYBODY = "redis.call('hexists',KEYS[1],ARGV[2])==1"


def scripts():
    """The scripts, with what the chosen bug makes of them."""
    take, give, keep = TAKE, GIVE, KEEP
    if bug("take-from-anybody"):
        take = take.replace("redis.call('exists',KEYS[1])==0", "true")
    if bug("take-without-end"):
        take = take.replace("redis.call('pexpire',KEYS[1],ARGV[1]) return nil", "return nil")
    if bug("take-in-seconds"):
        take = take.replace("'pexpire'", "'expire'")
    if bug("take-moves-no-end"):
        take = take.replace(" redis.call('pexpire'", " if redis.call('pttl',KEYS[1])<0 then redis.call('pexpire'")
        take = take.replace("ARGV[1]) return nil", "ARGV[1]) end return nil")
    if bug("give-by-anybody"):
        give = give.replace("redis.call('hexists',KEYS[1],ARGV[2])==0", "redis.call('exists',KEYS[1])==0")
    if bug("give-all-at-once"):
        give = give.replace("redis.call('hincrby',KEYS[1],ARGV[2],-1)>0", "false")
    if bug("give-never-all"):
        give = give.replace(",-1)>0", ",-1)>=0")
    if bug("give-ends-at-zero-only"):
        give = give.replace("redis.call('del',KEYS[1])", "redis.call('hset',KEYS[1],ARGV[2],0)")
    if bug("keep-of-anybody"):
        keep = keep.replace(ANYBODY, "redis.call('exists',KEYS[1])==1")
    if bug("keep-creates"):
        keep = keep.replace("return 0", "redis.call('hset',KEYS[1],ARGV[2],1) return redis.call('pexpire',KEYS[1],ARGV[1])")
    undo = give
    if bug("undo-frees-all"):
        undo = undo.replace("redis.call('hincrby',KEYS[1],ARGV[2],-1)>0", "false")
    return [Script(text, 1) for text in (take, give, keep, undo)]


class Reentrant:
    def __init__(self, loop, request):
        options = request["options"]
        self.take, self.give, self.keep, self.undo = scripts()
        self.loop = loop
        self.node = Node(loop, request["nodes"][0], (self.take, self.give, self.keep, self.undo))
        self.timeout_s = options.get("node_timeout_ms", 50) / 1000
        self.retries = options.get("retry_count", 3)
        self.delay_ms = options.get("retry_delay_ms", 200)
        self.jitter_ms = options.get("retry_jitter_ms", 200)
        self.process, self.client = request["process"], request["client"]
        self.counts = {}  # (resource, thread) -> how often it was granted and not released
        loop.wait_until(lambda: self.node.up, 5)

    def declare(self):
        said = {"type": "ok", "library": "reentrant 1", "owner": OWNER, "nodes": 1}
        return {**said, "features": ["extend", "reentrant", "several", "threads"]}

    def owner(self, thread):
        if bug("owner-of-nobody"):
            return "owner"
        of_program = bug("owner-of-program") or OWNER == "process" or GUARDED
        return self.process if of_program else f"{self.process}:{thread}"

    def ask(self, script, request, ttl, again_s=0.0):
        resource, thread = request["resource"], request.get("thread", 1)
        key = "lock" if bug("key-one-for-all") else f"locks:{{{resource}}}"
        owner = f"{self.process}:0" if bug("owner-other-at-release") and script in (self.give, self.undo) else self.owner(thread)
        again = time.monotonic() + again_s if again_s else 0.0
        asked = self.node.call(script, key, ttl, owner, again_until=again)
        hangs = bug("hang") and self.counts
        self.loop.wait([asked], 3600 if hangs else self.timeout_s)
        asked.known = asked.done and not asked.broken and not isinstance(asked.reply, Refusal)
        return asked

    def acquire(self, request):
        mutex = MUTEXES[request["resource"]] if GUARDED else None
        if mutex and not mutex.acquire(timeout=self.retries * self.delay_ms / 1000):
            return {"type": "fail", "error": "another thread's"}
        answer = self.acquire_at_node(request)
        if mutex and answer["type"] != "ok":
            mutex.release()
        return answer

    def acquire_at_node(self, request):
        name = (request["resource"], request.get("thread", 1))
        for attempt in range(self.retries + 1):
            if attempt:
                self.loop.sleep((self.delay_ms + random.random() * self.jitter_ms) / 1000)
            asked = self.ask(self.take, request, request["ttl_ms"])
            if asked.known and asked.reply is None:
                self.counts[name] = self.counts.get(name, 0) + 1
                return {"type": "ok", "value": self.owner(name[1])}
            if bug("refusal-counts") and asked.known or bug("error-grants") and isinstance(asked.reply, Refusal):
                return {"type": "ok", "value": self.owner(name[1])}
            if bug("timeout-grants") and not asked.done:
                return {"type": "ok", "value": self.owner(name[1])}
            if not asked.known and not isinstance(asked.reply, Refusal) and not bug("cleanup-none"):
                # It may have been counted: one less again, as soon as the node hears of it.
                self.ask(self.undo, request, request["ttl_ms"], request["ttl_ms"] / 1000)
        return {"type": "fail", "error": "another's"}

    def extend(self, request):
        asked = self.ask(self.keep, request, request["ttl_ms"])
        if bug("keep-always-ok"):
            return {"type": "ok"}
        if not asked.known:
            return {"type": "info", "error": "no answer"}
        return {"type": "ok"} if asked.reply == 1 else {"type": "fail", "error": "not held"}

    def release(self, request):
        name = (request["resource"], request.get("thread", 1))
        if not self.counts.get(name):
            return {"type": "fail", "error": "not held"}
        self.counts[name] -= 1
        answer = self.release_at_node(request)
        if GUARDED:
            MUTEXES[request["resource"]].release()
        return answer

    def release_at_node(self, request):
        if bug("release-nothing"):
            return {"type": "ok"}
        ttl = request.get("ttl_ms", 1000)
        asked = self.ask(self.give, request, ttl, ttl / 1000)
        if bug("release-always-ok"):
            return {"type": "ok"}
        if not asked.known:
            return {"type": "info", "error": "no answer"}
        return {"type": "fail", "error": "not held"} if asked.reply is None else {"type": "ok"}


if __name__ == "__main__":
    serve(Reentrant, {**BUGS, **UNSEEN, **MISSED})
