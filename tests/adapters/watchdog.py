#!/usr/bin/env python3
"""watchdog.py: a correct lock on one node that renews by itself, and bugs to be chosen by name.

    python3 tests/adapters/watchdog.py [--bug NAME]...
    python3 tests/adapters/watchdog.py --list

SET NX PX with a random value, compare and delete, compare and expire at every third of the ttl while it
is held, and a notice as soon as it is known to be lost or cannot be known to be held any more. It
promises no validity: whoever holds it is told when it is over.
"""
import os
import random
import time

from watchdog_bugs import BUGS, MISSED, UNSEEN
from wire import Node, Refusal, Script, bug, say, serve

COMPARE = "if redis.call('get',KEYS[1])==ARGV[1] then "
DELETE = Script(COMPARE + "return redis.call('del',KEYS[1]) end return 0", 1)
EXTEND = Script(COMPARE + "return redis.call('pexpire',KEYS[1],ARGV[2]) end return 0", 1)
CREATES = Script(EXTEND.text.replace("return 0", "redis.call('set',KEYS[1],ARGV[1],'PX',ARGV[2]) return 1"), 1)

SET_IF_NONE = "redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2])"
CREATES_IF_NONE = Script(EXTEND.text.replace("return 0", f"return {SET_IF_NONE} and 1 or 0"), 1)


class Held:
    def __init__(self, resource, value, ttl_s):
        self.resource, self.value, self.ttl_s, self.key = resource, value, ttl_s, "lock:" + resource
        self.renewal, self.alarm, self.lost, self.over, self.until = None, None, False, False, 0.0


class Watchdog:
    def __init__(self, loop, request):
        options = request["options"]
        self.loop, self.node, self.held = loop, Node(loop, request["nodes"][0]), {}
        self.client, self.url, self.other = request["client"], request["nodes"][0], None
        self.timeout_s = options.get("node_timeout_ms", 50) / 1000
        self.retries = options.get("retry_count", 3)
        self.delay_ms = options.get("retry_delay_ms", 200)
        self.jitter_ms = options.get("retry_jitter_ms", 200)
        self.every_s, self.ever = options["ttl_ms"] / 3000, []
        loop.wait_until(lambda: self.node.up, 5)
        if bug("renew-creates-behind-the-release"):
            self.other = Node(loop, self.url)
            loop.wait_until(lambda: self.other.up, 5)

    def declare(self):
        said = {"type": "ok", "library": "watchdog 1", "owner": "object", "nodes": 1}
        said["features"] = ["renew", "notice", "several"]
        return {**said, "renew_every_ms": self.every_s * 1000}

    def acquire(self, request):
        resource, ttl = request["resource"], request["ttl_ms"]
        for attempt in range(self.retries + 1):
            if attempt:
                self.loop.sleep((self.delay_ms + random.random() * self.jitter_ms) / 1000)
            value = "locked" if bug("value-constant") else os.urandom(20).hex()
            value = f"{self.client:040}" if bug("value-of-client") else value
            held, asked = Held(resource, value, ttl / 1000), time.monotonic()
            if bug("asks-nobody"):
                return self.granted(held, asked)
            reply = self.ask(held, ttl)
            spent = time.monotonic() >= asked + held.ttl_s and not bug("grant-not-looked-at-again")
            if reply.reply == "OK" and spent:
                self.delete(held)
                continue
            if reply.reply == "OK" or (bug("refusal-counts") and reply.done and reply.reply is None):
                return self.granted(held, asked)
            if bug("error-grants") and isinstance(reply.reply, Refusal):
                return self.granted(held, asked)
            if not reply.done or reply.broken:  # it may have been set
                if bug("timeout-grants"):
                    return self.granted(held, asked)
                if not bug("cleanup-none"):
                    self.delete(held)
        return {"type": "fail", "error": "held by another"}

    def ask(self, held, ttl):
        ends = ("PX", ttl)
        if bug("unit-whole-seconds-down"):
            ends = ("EX", ttl // 1000)
        if bug("unit-seconds-for-milliseconds"):
            ends = ("EX", ttl)
        if bug("no-end"):
            ends = ()
        ifs = () if bug("no-nx") else ("NX",)
        request = (self.other if self.other and bug("value-of-client") else self.node).send("SET", held.key, held.value, *ifs, *ends)
        self.loop.wait([request], 3600 if bug("hang-acquire") else self.timeout_s)
        if request.broken and bug("retry-meets-its-own-key"):
            self.loop.wait_until(lambda: self.node.up, self.timeout_s)
            request = self.node.send("SET", held.key, held.value, *ifs, *ends)
            self.loop.wait([request], self.timeout_s)
        return request

    def granted(self, held, asked):
        old = self.held.pop(held.resource, None)
        if old:
            self.stops(old)
        self.held[held.resource] = held
        held.until = asked + held.ttl_s
        self.watch(held)
        second = bug("renew-one-of-several") and len(self.held) > 1
        if not bug("renew-never") and not second:
            held.renewal = self.loop.at(time.monotonic() + self.every_s, lambda: self.renew(held))
        value = "locked" if bug("value-constant") else held.value
        return {"type": "ok", "value": value}

    # ---- while it is held ----------------------------------------------------------------------
    def renew(self, held):
        """Asks for another ttl; the alarm moves when the node said yes, by when it was asked."""
        asked, ttl = time.monotonic(), round(held.ttl_s * 1000)
        if bug("renew-by-a-tenth"):
            ttl //= 10
        if bug("renew-any-owner"):
            request = self.node.send("PEXPIRE", held.key, ttl)
        else:
            script = CREATES if bug("renew-creates") else EXTEND
            overtaken = bug("renew-creates-behind-the-release")
            script = CREATES_IF_NONE if bug("renew-creates-if-none") or overtaken else script
            request = (self.other if overtaken else self.node).call(script, held.key, held.value, ttl)
        request.on_reply = lambda done: self.renewed(held, asked, done)
        period = self.every_s * (4 if bug("renew-too-late") else 1)
        if bug("renew-dies-at-the-first-error") or bug("renew-once") or bug("renew-again-when-answered"):
            held.renewal = None
        elif not held.lost or bug("renew-after-loss"):
            held.renewal = self.loop.at(asked + period, lambda: self.renew(held))

    def renewed(self, held, asked, done):
        if bug("renew-dies-at-the-first-error") and not done.broken and not isinstance(done.reply, Refusal):
            held.renewal = self.loop.at(asked + self.every_s, lambda: self.renew(held))
        if bug("renew-again-when-answered"):
            held.renewal = self.loop.at(asked + self.every_s, lambda: self.renew(held))
        elif held.lost or held.over:
            return
        if done.reply == 1 or (bug("error-renews") and isinstance(done.reply, Refusal)):
            late = bug("renew-counts-from-the-reply") or bug("renew-counts-from-the-reply-in-time")
            if bug("renew-counts-from-the-reply-in-time") and time.monotonic() > asked + self.timeout_s:
                return
            now = time.monotonic() if late else asked
            held.until = now + held.ttl_s
            self.watch(held)
        elif done.reply == 0 and not bug("loss-not-told"):
            self.lose(held)

    def watch(self, held):
        """If no renewal comes through until then, it is lost."""
        self.loop.cancel(held.alarm)
        after = 10 * held.ttl_s if bug("alarm-too-late") else 0
        if not bug("alarm-none"):
            held.alarm = self.loop.at(held.until + after, lambda: self.lose(held))

    def lose(self, held):
        if not held.lost:
            held.lost = True
            if not bug("renew-after-loss"):
                self.stops(held)
            self.loop.cancel(held.alarm)
            say({"type": "lost", "resource": held.resource})

    def stops(self, held):
        self.loop.cancel(held.alarm)
        if not bug("renew-after-release"):
            held.over = True  # the answer to a renewal may still be on its way
            self.loop.cancel(held.renewal)

    # ---- the end -------------------------------------------------------------------------------
    def release(self, request):
        held = self.held.pop(request["resource"], None)
        if held is None:
            return {"type": "fail", "error": "not held"}
        self.stops(held)
        if bug("release-nothing"):
            return {"type": "ok"}
        done = self.delete(held)
        if bug("release-always-ok"):
            return {"type": "ok"}
        if not done.done or done.broken or isinstance(done.reply, Refusal):
            return {"type": "info", "error": "no answer"}
        return {"type": "ok"} if done.reply == 1 else {"type": "fail", "error": "was not held"}

    def delete(self, held):
        again = time.monotonic() + held.ttl_s
        if bug("release-deletes-plainly"):
            request = self.node.send("DEL", held.key, again_until=again)
        else:
            value = os.urandom(20).hex() if bug("release-with-another-value") else held.value
            request = self.node.call(DELETE, held.key, value, again_until=again)
        if bug("value-of-client"):  # and what has no answer in time is sent again, on another connection
            self.loop.wait([request], self.timeout_s)
            self.other = self.other or Node(self.loop, self.url)
            self.loop.wait_until(lambda: self.other.up, self.timeout_s)
            request = request if request.done else self.other.call(DELETE, held.key, value)
        self.loop.wait([request], 3600 if bug("hang-release") else self.timeout_s)
        return request

    def extend(self, request):
        return {"type": "fail", "error": "this lock renews by itself"}


if __name__ == "__main__":
    serve(Watchdog, {**BUGS, **UNSEEN, **MISSED})
