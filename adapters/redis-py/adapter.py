"""adapter.py: redis-py's Lock behind picklock's adapter protocol (docs/ADAPTERS.md).

    adapters/redis-py/venv/bin/python adapters/redis-py/adapter.py

Each thread number of the protocol is a thread of this program: the Lock keeps its token there.
"""
import json
import queue
import sys
import threading
import urllib.parse

import redis
from redis.exceptions import LockError, RedisError

held, asked, threads = {}, {}, {}


def connect(node):
    """As most programs do: so that the retries are its own."""
    address = urllib.parse.urlsplit(node)
    return redis.Redis(host=address.hostname, port=address.port)


def init(request):
    asked.update(request["options"], client=connect(request["nodes"][0]))
    asked["client"].ping()
    said = {"library": f"redis-py {redis.__version__}", "owner": "object", "nodes": 1}
    return {"type": "ok", **said, "features": ["extend", "wait", "deadline", "several", "threads"]}


def acquire(request):
    """Waits as a caller with this deadline does, else for as long as the retries of init say."""
    retries, delay = asked["retry_count"], asked["retry_delay_ms"] + asked["retry_jitter_ms"] / 2
    wait_ms = request.get("deadline_ms", retries * delay)
    lock = asked["client"].lock(
        request["resource"],
        timeout=request["ttl_ms"] / 1000,
        sleep=max(delay, 1) / 1000,
        blocking_timeout=wait_ms / 1000,
    )
    if not lock.acquire():
        return {"type": "fail", "error": "not acquired"}
    held[request.get("thread"), request["resource"]] = lock
    return {"type": "ok", "value": lock.local.token.decode()}


def extend(request):
    lock = held[request.get("thread"), request["resource"]]
    lock.extend(request["ttl_ms"] / 1000, replace_ttl=True)
    return {"type": "ok"}


def release(request):
    held.pop((request.get("thread"), request["resource"])).release()
    return {"type": "ok"}


def answer(request):
    try:
        said = globals()[request["op"]](request)
    except (LockError, KeyError) as error:  # the library says that it is not held
        said = {"type": "fail", "error": repr(error)}
    except RedisError as error:
        said = {"type": "info", "error": repr(error)}
    whose = {"thread": request["thread"]} if "thread" in request else {}
    sys.stdout.write(json.dumps({"id": request["id"], **whose, **said}) + "\n")
    sys.stdout.flush()


def thread(requests):
    while True:
        answer(requests.get())


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "shutdown":
        break
    if "thread" not in request:
        answer(request)
        continue
    if request["thread"] not in threads:
        threads[request["thread"]] = queue.Queue()
        threading.Thread(target=thread, args=(threads[request["thread"]],), daemon=True).start()
    threads[request["thread"]].put(request)
