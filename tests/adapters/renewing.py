#!/usr/bin/env python3
"""renewing.py: a correct Redlock that renews by itself, and bugs to be chosen by name.

    python3 tests/adapters/renewing.py [--bug NAME]...
    python3 tests/adapters/renewing.py --list

planted.py's acquires and releases; while a lock is held all nodes are asked for another ttl at every third
of it, and a majority has to give it. The notice comes when a majority of the keys is known to be gone, or
when what the last renewal gave is over. It promises no validity: whoever holds it is told.
"""
import time

import planted_bugs
from planted import CREATES, EXTEND, Redlock
from renewing_bugs import BUGS, MISSED, UNSEEN
from wire import Script, bug, serve

OVERWRITES = Script(EXTEND.text.replace("return 0", "redis.call('set',KEYS[1],ARGV[1],'PX',ARGV[2]) return 1"), 1)


class Renewing(Redlock):
    def __init__(self, loop, request):
        super().__init__(loop, request)
        self.every_s = request["options"]["ttl_ms"] / 3000

    def declare(self):
        said = {"type": "ok", "library": "renewing 1", "owner": "object", "nodes": "N"}
        said["features"] = ["renew", "notice", "several"]
        return {**said, "renew_every_ms": self.every_s * 1000}

    def promise(self, lease):
        return {}

    def granted(self, lease):
        answer = super().granted(lease)
        lease.over = False
        self.renews(lease, time.monotonic())
        return answer

    def forget(self, resource):
        lease = self.held.get(resource)
        super().forget(resource)
        if lease and not bug("renew-after-release"):
            lease.over = True
            self.loop.cancel(lease.renewal)

    # ---- while it is held ----------------------------------------------------------------------
    def renews(self, lease, asked_s):
        lease.renewal = None
        if not bug("renew-never"):
            period_s = self.every_s * (4 if bug("renew-too-late") else 1)
            lease.renewal = self.loop.at(asked_s + period_s, lambda: self.renew(lease))

    def renew(self, lease):
        """Each answer is counted as it comes: a node that is away holds nothing up."""
        asked_s, asked, requests = time.monotonic(), self.now(), []
        counted = lambda done: self.renewed(lease, asked, requests)
        script = CREATES if bug("renew-creates-if-none") else EXTEND
        script = OVERWRITES if bug("renew-creates") else script
        for node in self.nodes[: 1 if bug("renew-first-node-only") else len(self.nodes)]:
            requests.append(node.call(script, lease.key, lease.value, lease.ttl))
            requests[-1].on_reply = counted
            if bug("renew-waits-for-each"):
                self.loop.wait([requests[-1]], 3600)
        if bug("renew-all"):
            self.loop.wait(requests, self.timeout_ms / 1000)
            if not all(r.done and r.reply == 1 for r in requests):
                return
        if not lease.over and (not lease.lost or bug("renew-after-loss")) and not bug("renew-again-when-answered"):
            self.renews(lease, asked_s)

    def renewed(self, lease, asked, requests):
        yes = sum(r.done and r.reply == 1 for r in requests)
        no = sum(r.done and r.reply == 0 for r in requests)
        if bug("renew-again-when-answered"):
            if all(r.done for r in requests):
                self.renews(lease, time.monotonic())
        elif lease.over:
            return
        if lease.lost:
            return
        if yes >= (1 if bug("renew-one-is-enough") or bug("renew-first-node-only") else self.quorum):
            start = self.now() if bug("renew-counts-from-the-reply") else asked
            lease.until = max(lease.until, start + self.validity(lease.ttl, 0))
            self.watch(lease)
        elif no > len(self.nodes) - self.quorum and not bug("loss-not-told"):
            self.notice(lease)

    def notice(self, lease):
        self.loop.cancel(lease.alarm)
        super().notice(lease)
        if not bug("renew-after-loss"):
            self.loop.cancel(lease.renewal)

    def extend(self, request):
        return {"type": "fail", "error": "this lock renews by itself"}


if __name__ == "__main__":
    serve(Renewing, {**planted_bugs.BUGS, **planted_bugs.UNSEEN, **planted_bugs.MISSED, **BUGS, **UNSEEN, **MISSED})
