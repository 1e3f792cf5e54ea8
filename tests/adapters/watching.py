#!/usr/bin/env python3
"""watching.py: a lock without scripts: it watches the key, looks at it, and sets or deletes it in a transaction.

    python3 tests/adapters/watching.py

The lock of books from before scripts. Where another holds, it looks and sends nothing more.
"""
import os

from wire import Node, Refusal, serve


class Watching:
    def __init__(self, loop, request):
        self.loop, self.node, self.held = loop, Node(loop, request["nodes"][0]), {}
        self.patience_s = request["options"].get("node_timeout_ms", 200) / 1000
        loop.wait_until(lambda: self.node.up, 5)

    def declare(self):
        return {"type": "ok", "library": "watching 1", "owner": "object", "nodes": 1, "features": []}

    def ask(self, *commands):
        """Replies to the commands, sent together; None where one was not answered in time."""
        requests = [self.node.send(*words) for words in commands]
        self.loop.wait(requests, self.patience_s)
        return [r.reply for r in requests] if all(r.done and not r.broken for r in requests) else None

    def changed(self, key, before, words):
        """Change the key if it is what it was to be: True, False, or None where nobody knows."""
        looked = self.ask(("WATCH", key), ("GET", key))
        if looked is None or looked[1] != before:
            self.node.send("UNWATCH")
            return None if looked is None else False
        done = self.ask(("MULTI",), words, ("EXEC",))
        # EXEC gives a list, nothing where the key was changed meanwhile, or an error: nothing is said of the key.
        return None if done is None or isinstance(done[2], Refusal) else done[2] is not None

    def acquire(self, request):
        key, value, sure = request["resource"], os.urandom(20).hex(), True
        for _ in range(4):
            set_ = ("SET", key, value, "PX", request["ttl_ms"])
            done = self.changed(key, None, set_)
            if done:
                self.held[key] = value
                return {"type": "ok", "value": value}
            # Nobody knows whether it was set: what was is taken back before it is asked for again.
            sure = sure and (done is not None or self.changed(key, value, ("DEL", key)) is not None)
            self.loop.sleep(0.05)
        return {"type": "fail" if sure else "info", "error": "held by another"}

    def release(self, request):
        key = request["resource"]
        done = self.changed(key, self.held.pop(key, ""), ("DEL", key))
        return {"type": "info" if done is None else "ok" if done else "fail"}


if __name__ == "__main__":
    serve(Watching, {})
