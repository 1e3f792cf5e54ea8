#!/usr/bin/env python3
"""kept.py: a right lock of one node, which is kept from running for 5 s of its first release.

    python3 tests/adapters/kept.py [child]

The kernel keeps whoever starts a program until that runs (vfork), and this one's input is a pipe that is opened for
writing 5 s later. With child it is a program of its own that starts that, and it waits for both.
"""
import os
import subprocess
import sys
import tempfile

from wire import Node, Script, serve

CHILD = sys.argv[1:2] == ["child"]
GIVE = Script("if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0", 1)


def is_kept(fifo):
    """Start a program, and return when it runs and is over."""
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, fifo, os.O_RDONLY, 0)]), 0)


def keeps():
    with tempfile.TemporaryDirectory() as place:
        fifo = os.path.join(place, "fifo")
        os.mkfifo(fifo)
        opens = subprocess.Popen(["sh", "-c", 'sleep 5; : >"$0"', fifo])
        if CHILD:
            subprocess.run([sys.executable, __file__, "--is-kept", fifo], check=True)
        else:
            is_kept(fifo)
        opens.wait()


class Kept:
    def __init__(self, loop, request):
        self.loop, self.node, self.value = loop, Node(loop, request["nodes"][0], (GIVE,)), None
        self.kept = request["client"] != 1
        loop.wait_until(lambda: self.node.up, 5)

    def declare(self):
        return {"type": "ok", "library": "kept 1", "owner": "object", "nodes": 1, "features": []}

    def says_yes(self, request):
        self.loop.wait([request], 0.2)
        return request.done and not request.broken and request.reply not in (None, 0)

    def acquire(self, request):
        self.value = os.urandom(20).hex()
        if self.says_yes(self.node.send("SET", request["resource"], self.value, "NX", "PX", request["ttl_ms"])):
            return {"type": "ok", "value": self.value}
        return {"type": "fail", "error": "held by another"}

    def release(self, request):
        done = self.says_yes(self.node.call(GIVE, request["resource"], self.value))
        if not self.kept:
            self.kept = True
            keeps()
        return {"type": "ok"} if done else {"type": "fail", "error": "was not held"}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--is-kept"]:
        is_kept(sys.argv[2])
    else:
        sys.argv[1:] = []
        serve(Kept, {})
