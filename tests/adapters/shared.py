#!/usr/bin/env python3
"""shared.py: a correct lock on one node whose tasks share one connection, and bugs to be chosen by name.

    python3 tests/adapters/shared.py [--bug NAME]...
    python3 tests/adapters/shared.py --list

Each thread of a request is an asyncio task. An acquire asks again every 20 ms until it is granted, its ttl has gone by, or it
is given up: then its task is cancelled, and what it had sent is waited for and deleted.
"""
import asyncio
import contextlib
import json
import os
import sys

from shared_bugs import BUGS

CHOSEN = [b for a, b in zip(sys.argv, sys.argv[1:]) if a == "--bug"]
DELETE = "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0"
FEATURES = ["wait", "cancel", "threads", "several"]


class Connection:
    """One command at a time, for all tasks; made again where it broke."""

    def __init__(self, url):
        host, port = url[len("redis://") :].split(":")
        self.address, self.turn, self.streams = (host, int(port)), asyncio.Lock(), None

    async def exchange(self, words):
        async with self.turn:
            if "cancel-closes" in CHOSEN and self.streams and self.streams[1].is_closing():
                raise ConnectionError("closed")
            try:
                self.streams = self.streams or await asyncio.open_connection(*self.address)
                reader, writer = self.streams
                words = [str(word).encode() for word in words]
                writer.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
                line = await reader.readuntil(b"\r\n")
                return line if line != b"$-1\r\n" else None
            except (OSError, asyncio.IncompleteReadError) as error:
                self.streams = None
                raise ConnectionError("broken") from error

    async def ask(self, *words):
        """The reply; whoever is cancelled meanwhile leaves the connection as it was."""
        if "cancel-leaves-the-reply" in CHOSEN:
            return await self.exchange(words)
        return await asyncio.shield(asyncio.ensure_future(self.exchange(words)))

    def close(self):
        if self.streams:
            self.streams[1].close()


class Lock:
    def __init__(self, request):
        self.node, self.held, self.tasks = Connection(request["nodes"][0]), {}, {}

    async def delete(self, resource, value):
        return await self.node.ask("EVAL", DELETE, 1, resource, value)

    async def acquire(self, request):
        resource, ttl, value = request["resource"], request["ttl_ms"], os.urandom(20).hex()
        end = asyncio.get_running_loop().time() + ttl / 1000
        try:
            while asyncio.get_running_loop().time() < end:
                try:
                    if await self.node.ask("SET", resource, value, "NX", "PX", ttl) == b"+OK\r\n":
                        self.held[resource, request["thread"]] = value
                        return {"type": "ok", "value": value}
                except ConnectionError:  # it may have been set
                    with contextlib.suppress(ConnectionError):
                        await self.delete(resource, value)
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            if "cancel-closes" in CHOSEN:
                self.node.close()
            elif "cancel-leaves-the-reply" not in CHOSEN:
                await self.delete(resource, value)
        return {"type": "fail" if self.node.streams else "info", "error": "given up"}

    async def release(self, request):
        value = self.held.pop((request["resource"], request["thread"]), "")
        done = await self.delete(request["resource"], value) if value else b":0\r\n"
        return {"type": "ok"} if done == b":1\r\n" else {"type": "fail", "error": "was not held"}

    async def serve(self, request):
        whose = {"id": request["id"], "thread": request["thread"]}
        try:
            said = await getattr(self, request["op"])(request)
        except (ConnectionError, asyncio.CancelledError) as error:
            said = {"type": "info", "error": str(error)}
        say({**whose, **said})


def say(answer):
    os.write(1, json.dumps(answer).encode() + b"\n")


async def main():
    loop, lines, lock = asyncio.get_running_loop(), asyncio.StreamReader(), None
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        request = {"thread": 1, **json.loads(line)}
        if request["op"] == "init":
            lock = Lock(request)
            await lock.node.ask("PING")
            said = {"library": "shared 1", "features": FEATURES, "owner": "object", "nodes": 1}
            say({"id": request["id"], "type": "ok", **said})
        elif request["op"] == "shutdown":
            return
        elif request["op"] == "cancel":
            lock.tasks[request["thread"]].cancel()
            say({"id": request["id"], "type": "ok", "thread": request["thread"]})
        else:
            lock.tasks[request["thread"]] = loop.create_task(lock.serve(request))
            await asyncio.sleep(0)  # a task that is cancelled before it begins never answers


if "--list" in sys.argv:
    print("\n".join(f"{name}\t{row[0]}" for name, row in BUGS.items()))
elif any(name not in BUGS for name in CHOSEN):
    sys.exit("no such bug (--list shows those that are)")
else:
    asyncio.run(main())
