#!/usr/bin/env python3
"""planted.py: a correct Redlock that is no code of ours, and bugs to be chosen by name.

    python3 tests/adapters/planted.py [--fence] [--bug NAME]...
    python3 tests/adapters/planted.py --list

Written from Redis' documentation ("Distributed Locks with Redis") and docs/ADAPTERS.md. Each bug is
one deviation behind bug("NAME"); BUGS says in a sentence what is wrong with it.
"""
import os
import random
import sys
import time

from planted_bugs import BUGS, MISSED, UNSEEN
from wire import CHOSEN, Node, Refusal, Request, Script, bug, say, serve

COMPARE = "if redis.call('get',KEYS[1])==ARGV[1] then "
DELETE = Script(COMPARE + "return redis.call('del',KEYS[1]) end return 0", 1)
EXTEND = Script(COMPARE + "return redis.call('pexpire',KEYS[1],ARGV[2]) end return 0", 1)
# Counters begin at the node's clock, so that a node which lost its memory does not begin at 1.
COUNT = Script(
    "if not redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2]) then return false end "
    "local t=redis.call('time') local c=tonumber(redis.call('get',KEYS[2]) or '0')+1 "
    "c=string.format('%.0f',math.max(c,t[1]*1000000+t[2])) redis.call('set',KEYS[2],c) return c",
    2,
)
RAISE = Script(
    COMPARE + "if tonumber(redis.call('get',KEYS[2]) or '0')<tonumber(ARGV[2]) then "
    "redis.call('set',KEYS[2],ARGV[2]) end return 1 end return 0",
    2,
)
# What bugs send instead.
INVERTED = Script(DELETE.text.replace("==", "~="), 1)
SECONDS = Script(EXTEND.text.replace("pexpire", "expire"), 1)
ADDS = Script(EXTEND.text.replace("ARGV[2]", "ARGV[2]+redis.call('pttl',KEYS[1])"), 1)
SET_IF_NONE = "redis.call('set',KEYS[1],ARGV[1],'NX','PX',ARGV[2])"
CREATES = Script(EXTEND.text.replace("return 0", f"return {SET_IF_NONE} and 1 or 0"), 1)
OWN_OR_SET = Script(f"if redis.call('get',KEYS[1])==ARGV[1] then return 'OK' end return {SET_IF_NONE}", 1)
COUNT_PLAIN = Script(COUNT.text.replace("math.max(c,t[1]*1000000+t[2])", "c"), 2)
COUNT_EXPIRES = Script(COUNT_PLAIN.text.replace("'set',KEYS[2],c", "'set',KEYS[2],c,'PX',ARGV[2]"), 2)
DELETE_BOTH = Script(DELETE.text.replace("'del',KEYS[1]", "'del',KEYS[1],KEYS[2]"), 2)


class Lease:
    """What one grant left behind."""

    def __init__(self, resource, key, value, ttl):
        self.resource, self.key, self.value, self.ttl = resource, key, value, ttl
        self.until, self.fence, self.alarm = 0.0, None, None
        self.lost = self.forgotten = False


def count(requests, what):
    """How many were answered, and are such."""
    return sum(bool(what(r)) for r in requests if r.done and not r.broken)


def granted(request):
    """OK of a SET, 1 of a SETNX, a count of a fence."""
    reply = request.reply
    return reply is not None and reply != 0 and not isinstance(reply, Refusal)


class Redlock:
    def __init__(self, loop, request):
        options = request["options"]
        self.loop, self.client = loop, request["client"]
        self.fences = "--fence" in sys.argv or any(name.startswith("fence") for name in CHOSEN)
        self.nodes = [Node(loop, url, (DELETE, EXTEND)) for url in request["nodes"]]
        self.quorum = len(self.nodes) // 2 + 1
        self.timeout_ms = options.get("node_timeout_ms", 50)
        self.drift = options.get("drift_factor", 0.01)
        self.retries = options.get("retry_count", 3)
        self.delay_ms = options.get("retry_delay_ms", 200)
        self.jitter_ms = options.get("retry_jitter_ms", 200)
        self.held = {}
        self.whose = {"thread": request["thread"]} if "thread" in request else {}
        self.memory = Memory(self)
        self.loop.wait_until(lambda: all(node.up for node in self.nodes), 5)

    def declare(self):
        features = ["validity", "extend", "notice", "several", "threads", "clock"]
        features += ["fence"] if self.fences else []
        said = {"type": "ok", "library": "planted 1", "features": features, "owner": "object"}
        if bug("fence-taken-first"):
            said["keys"] = ["redlock:{resource}", "fence:redlock:{resource}"]
        return {**said, "drift_factor": self.drift, "nodes": "N"}

    # ---- the operations ------------------------------------------------------------------------
    def acquire(self, request):
        resource, ttl, attempt = request["resource"], request["ttl_ms"], 0
        if (bug("hang-after-refusal") and self.memory.refused) or (
            bug("hang-after-loss") and self.memory.lost
        ):
            self.loop.sleep(3600)
        if bug("lie-refuse-after-first") and self.memory.grants:
            return {"type": "fail", "error": "quorum not reached"}
        if bug("lie-refuse-after-refusal") and self.memory.refused:
            return {"type": "fail", "error": "quorum not reached"}
        self.memory.begins()
        early = self.take_fence(resource) if bug("fence-taken-first") else None
        lease = Lease(resource, self.key(resource, 0), self.new_value(resource), ttl)
        while attempt <= self.retries or bug("hang-retrying"):
            if attempt:
                unit = 1.0 if bug("unit-retry-in-seconds") else 0.001
                self.loop.sleep((self.delay_ms + random.random() * self.jitter_ms) * unit)
                if not bug("retry-counts-own-key"):
                    value = self.new_value(resource)
                    lease = Lease(resource, self.key(resource, attempt), value, ttl)
            attempt += 1
            if self.attempt(lease, attempt > self.retries):
                lease.fence = early if bug("fence-taken-first") else lease.fence
                return self.granted(lease)
        self.memory.refused = True
        if bug("lie-grant-at-last"):
            lease.until = self.now() + ttl
            return self.granted(lease)
        return {"type": "fail", "error": "quorum not reached"}

    def attempt(self, lease, last):
        """One try on all nodes: a lease with its end, or everything is cleaned up again."""
        start = self.now()
        requests = [self.ask(node, lease) for node in self.nodes]
        self.wait(requests, "hang-acquire")
        votes = self.votes(requests)
        if self.fences and votes >= self.quorum and not bug("fence-taken-first"):
            votes = self.raise_fence(lease, requests)
        if bug("validity-timer-at-first-reply"):
            start = min([r.answered_at for r in requests if r.done], default=start)
        if bug("validity-timer-after-replies"):
            start = self.now()
        elapsed = self.memory.elapsed(self.now() - start)
        validity = self.validity(lease.ttl, elapsed)
        lease.until = self.now() + validity
        if bug("error-aborts") and any(isinstance(r.reply, Refusal) for r in requests):
            return False
        if bug("lie-fail-though-granted") and votes >= self.quorum and not self.memory.lied:
            self.memory.lied = True
            return False
        spent = validity <= 0
        if votes >= self.needed(requests) and (not spent or bug("validity-not-looked-at-again")):
            return True
        if not (bug("cleanup-not-when-spent") and votes >= self.quorum):
            self.clean_up(lease, requests, last)
        return False

    def granted(self, lease):
        self.forget(lease.resource)
        self.memory.grants += 1
        self.held[lease.resource] = lease
        self.watch(lease)
        answer = {"type": "ok", "value": lease.value, **self.promise(lease)}
        if self.fences:
            answer["fence"] = self.memory.fence(lease.fence)
        if bug("lie-value"):
            answer["value"] = os.urandom(20).hex()
        if bug("notice-false"):
            self.loop.at(time.monotonic() + 0.02, lambda: self.notice(lease))
        return answer

    def extend(self, request):
        lease, ttl = self.held.get(request["resource"]), request["ttl_ms"]
        if lease is None:
            return {"type": "fail", "error": "not held"}
        if bug("lie-extended"):
            return self.extended(lease, ttl * 0.98)
        if bug("lie-not-extended"):
            return {"type": "fail", "error": "a majority of the keys is gone"}
        if self.now() >= lease.until and not bug("extend-after-the-end"):
            return {"type": "fail", "error": "the lease is over"}
        start = self.now("extend")
        requests = [self.ask_extension(node, lease, ttl) for node in self.nodes]
        self.wait(requests, "hang-extend")
        yes = count(requests, lambda r: r.reply in (1, "OK")) + self.memory.stale_extensions(requests)
        no = count(requests, lambda r: r.reply == 0)
        yes += no if bug("extend-counts-zeros") else 0
        if bug("error-extends"):
            yes += count(requests, lambda r: isinstance(r.reply, Refusal))
        if bug("extend-not-looked-at-again") or bug("extend-after-the-end"):
            start = self.now("extend")
        validity = self.validity(ttl, self.now("extend") - start)
        if bug("extend-from-the-old-end"):
            validity += lease.until - self.now()
        if yes >= (1 if bug("quorum-extend-one") else self.quorum) and validity > 0:
            return self.extended(lease, validity)
        if bug("extend-failed-unlocks"):
            self.wait([self.delete(node, lease) for node in self.nodes])
        if no > len(self.nodes) - self.quorum:
            self.notice(lease)
            return {"type": "fail", "error": "a majority of the keys is gone"}
        return {"type": "info", "error": "no majority has extended"}

    def extended(self, lease, validity):
        lease.until = self.now() + validity
        self.watch(lease)
        return {"type": "ok", **self.promise(lease)}

    def release(self, request):
        lease = self.held.get(request["resource"])
        if lease is None:
            return {"type": "fail", "error": "not held"}
        self.forget(lease.resource)
        if bug("release-nothing") or lease.forgotten:
            return {"type": "ok"}
        if bug("release-answers-first"):
            late = lambda: [self.delete(node, lease) for node in self.nodes]
            self.loop.at(time.monotonic() + 0.3, late)
            return {"type": "ok"}
        last = 1 if bug("release-one-node") else len(self.nodes)
        last = self.quorum if bug("release-majority-only") else last
        requests = []
        for node in self.nodes[:last]:
            requests.append(self.delete(node, lease, "release"))
            if bug("release-ends-at-silence"):
                self.wait(requests)
                if not requests[-1].done:
                    break
        self.wait(requests, "hang-release")
        yes, no = count(requests, lambda r: r.reply == 1), count(requests, lambda r: r.reply == 0)
        if bug("error-releases"):
            yes += count(requests, lambda r: isinstance(r.reply, Refusal))
        if bug("error-noscript-is-done"):
            yes += count(requests, lambda r: str(r.reply).startswith("NOSCRIPT"))
        if bug("release-says-fail"):
            return {"type": "fail", "error": "not held"}
        if yes >= min(self.quorum, last) or bug("release-always-ok") or (bug("quorum-release-one") and yes):
            return {"type": "ok"}
        if no > len(self.nodes) - self.quorum or bug("error-noscript-fatal"):
            return {"type": "fail", "error": "a majority of the keys is gone"}
        return {"type": "info", "error": "no majority has answered"}

    # ---- counting and time ---------------------------------------------------------------------
    def votes(self, requests):
        votes = count(requests, granted)
        if bug("quorum-timeouts-count"):
            votes += sum(not r.done for r in requests)
        if bug("error-grants"):
            votes += count(requests, lambda r: isinstance(r.reply, Refusal))
        if bug("quorum-refusals-count"):
            votes += count(requests, lambda r: r.reply is None)
        if bug("quorum-first-node-twice"):
            votes += granted(requests[0])
        if bug("retry-adds-votes"):
            self.memory.votes = votes = votes + self.memory.votes
        return votes + self.memory.stale_grants(requests)

    def needed(self, requests):
        if bug("quorum-one"):
            return 1
        if bug("quorum-half"):
            return len(self.nodes) // 2
        if bug("quorum-all"):
            return len(self.nodes)
        if bug("quorum-of-those-that-answer"):
            return count(requests, lambda r: True) // 2 + 1
        if bug("quorum-of-those-connected"):
            return sum(node.up for node in self.nodes) // 2 + 1
        return self.quorum

    def now(self, what="acquire"):
        """Milliseconds on a clock that nobody sets."""
        if bug("clock-wall") or (bug("clock-wall-for-extensions") and what == "extend"):
            return time.time() * 1000
        if bug("clock-of-the-processor"):
            return time.process_time() * 1000
        if bug("clock-of-whole-seconds"):
            return time.monotonic() // 1 * 1000
        if bug("clock-of-the-loop"):
            return self.loop.woke_at * 1000
        return time.monotonic() * 1000

    def validity(self, ttl, elapsed):
        drift = 0 if bug("validity-without-drift") else ttl * self.drift + 2
        if bug("validity-of-the-whole-ttl"):
            return ttl
        if bug("validity-doubled"):
            return ttl * 2 - elapsed - drift
        return ttl - elapsed - drift

    def promise(self, lease):
        at, validity = time.monotonic() * 1000, lease.until - self.now()
        unit = 1000 if bug("unit-validity-in-microseconds") else 1
        return {"validity_ms": validity * unit, "at_ms": at}

    def wait(self, requests, hangs=None):
        seconds = self.timeout_ms * (1 if bug("unit-timeout-in-seconds") else 0.001)
        self.loop.wait(requests, 3600 if hangs and bug(hangs) else seconds)
        if bug("stale-replies-shift"):
            for request in requests:
                if not request.done:
                    request.node.pending.remove(request)

    # ---- notices -------------------------------------------------------------------------------
    def watch(self, lease):
        """Tell of the loss when the promise ends."""
        if not bug("notice-not-stopped"):
            self.loop.cancel(lease.alarm)
        after = lease.until - self.now() + (lease.ttl if bug("notice-late") else 0)
        lease.alarm = self.loop.at(time.monotonic() + after / 1000, lambda: self.notice(lease))

    def notice(self, lease):
        if lease.lost:
            return
        lease.lost = self.memory.lost = True
        if not bug("notice-none"):
            other = "r0" if lease.resource != "r0" else "r1"
            name = other if bug("notice-of-another") else lease.resource
            say({"type": "lost", "resource": name, **self.whose})

    def forget(self, resource):
        lease = self.held.pop(resource, None)
        if lease and not bug("notice-not-stopped"):
            self.loop.cancel(lease.alarm)

    # ---- commands ------------------------------------------------------------------------------
    def key(self, resource, attempt):
        if bug("key-one-for-all-resources"):
            return "redlock:lock"
        if bug("key-with-client"):
            return f"redlock:{self.client}:{resource}"
        if bug("key-with-attempt"):
            return f"redlock:{resource}:{attempt}"
        return f"redlock:{resource}"

    def new_value(self, resource):
        if bug("value-constant"):
            return "locked"
        if bug("value-of-the-second"):
            return str(int(time.time()))
        if bug("value-one-bit"):
            return str(random.randrange(2))
        if bug("value-of-the-resource"):
            return "owner-of-" + resource
        return os.urandom(20).hex()

    def ask(self, node, lease):
        """Set the key at one node, if nobody has it there."""
        if self.fences and not bug("fence-taken-first"):
            plain = ("fence-not-raised", "fence-deleted", "fence-lowest")
            script = COUNT_PLAIN if any(bug(name) for name in plain) else COUNT
            script = COUNT_EXPIRES if bug("fence-expires") else script
            return node.call(script, lease.key, self.counter(lease), lease.value, lease.ttl)
        if bug("script-setnx-then-expire"):
            expire = lambda done: done.reply == 1 and node.send("PEXPIRE", lease.key, lease.ttl)
            return node.send("SETNX", lease.key, lease.value, on_reply=expire)
        if bug("retry-counts-own-key"):
            return node.call(OWN_OR_SET, lease.key, lease.value, lease.ttl)
        if bug("unit-seconds-for-milliseconds"):
            return node.send("SET", lease.key, lease.value, "NX", "EX", lease.ttl)
        if bug("unit-whole-seconds-down"):
            return node.send("SET", lease.key, lease.value, "NX", "EX", lease.ttl // 1000)
        if bug("unit-whole-seconds"):
            return node.send("SET", lease.key, lease.value, "NX", "EX", lease.ttl // 1000 + 1)
        if bug("unit-milliseconds-for-seconds"):
            return node.send("SET", lease.key, lease.value, "NX", "PX", lease.ttl // 1000 + 1)
        if bug("script-no-end"):
            return node.send("SET", lease.key, lease.value, "NX")
        if bug("script-no-nx"):
            return node.send("SET", lease.key, lease.value, "PX", lease.ttl)
        return node.send("SET", lease.key, lease.value, "NX", "PX", lease.ttl)

    def ask_extension(self, node, lease, ttl):
        key = lease.resource if bug("key-other-for-extend") or bug("extend-counts-zeros") else lease.key
        if bug("extend-any-owner"):
            return node.send("PEXPIRE", key, ttl)
        if bug("extend-overwrites"):
            return node.send("SET", key, lease.value, "XX", "PX", ttl)
        script = DELETE if bug("script-extend-deletes") else EXTEND
        script = SECONDS if bug("unit-extend-in-seconds") else script
        script = CREATES if bug("extend-creates") or bug("extend-after-the-end") else script
        script = ADDS if bug("extend-adds") else script
        return node.call(script, key, lease.value, ttl // 2 if bug("extend-by-half") else ttl)

    def delete(self, node, lease, why="cleanup"):
        """Compare and delete at one node; again after a broken connection, until the ttl is over."""
        again = 0.0 if bug("release-not-again") else time.monotonic() + lease.ttl / 1000
        keys, value, script = [lease.key], lease.value, DELETE
        if bug(why + "-deletes-plainly"):
            return node.send("DEL", lease.key, again_until=again)
        if bug("script-get-then-delete"):
            return self.get_then_delete(node, lease)
        if bug(why + "-with-another-value"):
            value = os.urandom(20).hex()
        if bug("key-other-for-" + why):
            keys = [lease.resource]
        if bug("script-inverted"):
            script = INVERTED
        if bug("fence-deleted") and why == "release":
            script, keys = DELETE_BOTH, [lease.key, self.counter(lease)]
        if bug("error-noscript-fatal") or bug("error-noscript-is-done"):
            return node.send("EVALSHA", script.sha, len(keys), *keys, value, again_until=again)
        return node.call(script, *keys, value, again_until=again)

    def get_then_delete(self, node, lease):
        request = Request(node, ("DEL", lease.key))

        def then(got):
            if got.reply == lease.value:
                node.push(request)
            else:
                request.answered(0)

        if node.send("GET", lease.key, on_reply=then).broken:
            request.fails()
        return request

    def clean_up(self, lease, requests, last):
        """Delete on all nodes, also where the answer was no, an error, or none."""
        where = self.nodes
        if bug("cleanup-none") or bug("cleanup-not-after-the-last" if last else "cleanup-only-after-the-last"):
            return
        if bug("retry-counts-own-key") and not last:
            return
        if bug("cleanup-acquired-only"):
            where = [r.node for r in requests if r.done and granted(r)]
        if bug("cleanup-answered-only"):
            where = [r.node for r in requests if r.done and not r.broken]
        if bug("cleanup-first-majority-only"):
            where = self.nodes[: self.quorum]
        self.wait([self.delete(node, lease) for node in where])

    # ---- fences --------------------------------------------------------------------------------
    def take_fence(self, resource):
        """Count at every node before the lock is asked for; the highest is the fence."""
        counter = "fence:" + self.key(resource, 0)
        counts = [node.send("INCR", counter) for node in self.nodes]
        self.wait(counts)
        return max(r.reply for r in counts if r.done and not r.broken)

    def counter(self, lease):
        return "fence:" + lease.key

    def raise_fence(self, lease, requests):
        """Take the highest count of a majority, and write it to a majority before the grant."""
        counts = [int(r.reply) for r in requests if r.done and granted(r)]
        lease.fence = min(counts) if bug("fence-lowest") else max(counts)
        if bug("fence-not-raised"):
            return len(counts)
        keys = (lease.key, self.counter(lease))
        raised = [node.call(RAISE, *keys, lease.value, lease.fence) for node in self.nodes]
        self.wait(raised)
        return count(raised, lambda r: r.reply == 1)


class Memory:
    """What a correct Redlock needs not remember; bugs do."""

    def __init__(self, lock):
        self.lock, self.grants, self.votes, self.unsent = lock, 0, 0, []
        self.refused = self.lost = self.lied = False
        self.first, self.late = None, []
        for node in lock.nodes:
            node.on_down.append(self.went_down)
            node.on_up.append(self.came_up)

    def begins(self):
        self.votes, self.first = 0, None

    def elapsed(self, elapsed):
        if bug("validity-from-the-first-attempt"):
            self.first = elapsed if self.first is None else self.first
            return self.first
        return elapsed

    def came_late(self, requests, yes):
        """How many answers of requests before these have come since, and were yes."""
        came = [r for r in self.late if r.done]
        self.late = [r for r in self.late if not r.done] + [r for r in requests if not r.done]
        return sum(not r.broken and yes(r) for r in came)

    def stale_grants(self, requests):
        return self.came_late(requests, granted) if bug("stale-grants-count") else 0

    def stale_extensions(self, requests):
        yes = lambda r: r.reply == 1
        return self.came_late(requests, yes) if bug("stale-extensions-count") else 0

    def fence(self, fence):
        if bug("fence-of-the-process"):
            return self.grants
        if bug("fence-of-the-second"):
            return int(time.time())
        if bug("fence-random"):
            return random.randrange(1, 1 << 40)
        return fence

    def went_down(self, node, waiting):
        if bug("reconnect-never"):
            node.RETRY_S = 1e6
        if bug("reconnect-to-another-node"):
            nodes = self.lock.nodes
            node.address = nodes[(nodes.index(node) + 1) % len(nodes)].address
        if bug("reconnect-sends-again"):
            self.unsent += [r for r in waiting if r.words[0] == "SET"]
        if bug("reconnect-forgets-what-is-held"):
            for lease in self.lock.held.values():
                lease.forgotten = True

    def came_up(self, node):
        again = [r for r in self.unsent if r.node is node]
        self.unsent = [r for r in self.unsent if r.node is not node]
        for request in again:
            node.send(*request.words)


if __name__ == "__main__":
    serve(Redlock, {**BUGS, **UNSEEN, **MISSED})
