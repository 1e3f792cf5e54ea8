"""The table of the debate: what strikes (rows), at which lock (columns), and the scenario of each cell."""

from collections import namedtuple

# votes: how many stores decide. leader: the node that is in both majorities, the only one, or the master. ttl: the shortest
# that it can do with, in ms.
# duration, bound: until what it holds is over.
# replicas: of the one node that serves. tries: attempts of an acquire; a new primary needs a replica before it grants.
Lock = namedtuple("Lock", "column heading words store nodes votes leader ttl duration bound replicas tries", defaults=(0, 3))

LOCKS = [
    Lock("single", "one server", "algorithm: single", "", 1, 1, 1, 1000, "20s", "2s"),
    # Two replicas; an answer of one of them is enough.
    Lock("wait", "WAIT for 1 of 2 replicas", "algorithm: single-wait, wait: {replicas: 1, timeout: 250ms}", "", 1, 1, 1, 1000, "20s", "2s", replicas=2, tries=10),
    Lock("redlock", "Redlock", "algorithm: redlock", "", 5, 5, 3, 1000, "20s", "2s"),
    Lock("redlock-value", "Redlock, value checked", "algorithm: redlock", "value_check: true", 5, 5, 3, 1000, "20s", "2s"),
    # A grant with a fence takes a round more.
    Lock("redlock-fence", "Redlock, fence checked", "algorithm: fenced_redlock", "fence_check: true", 5, 5, 3, 2000, "20s", "2s"),
    Lock("sql", "a row in SQL", "algorithm: sql", "", 1, 1, 1, 1000, "20s", "2s"),
    Lock("sql-fence", "a row, fence checked", "algorithm: sql", "fence_check: true", 1, 1, 1, 1000, "20s", "2s"),
    # Its session's for as long as that has a connection: no ttl ends it, and no time counts.
    Lock("advisory", "advisory lock", "algorithm: advisory", "", 1, 1, 1, 2000, "20s", "5s"),
    Lock("advisory-fence", "advisory, fence checked", "algorithm: fenced_advisory", "fence_check: true", 1, 1, 1, 2000, "20s", "5s"),
    Lock("etcd", "etcd", "algorithm: etcd", "", 3, 1, 1, 2000, "30s", "10s"),
    Lock("etcd-fence", "etcd, revision checked", "algorithm: etcd", "fence_check: true", 3, 1, 1, 2000, "30s", "10s"),
    Lock("zookeeper", "ZooKeeper", "algorithm: zookeeper", "", 3, 1, 3, 2000, "30s", "10s"),
    Lock("zookeeper-fence", "ZooKeeper, sequence checked", "algorithm: zookeeper", "fence_check: true", 3, 1, 3, 2000, "30s", "10s"),
    # A session counts in whole seconds, and is looked at in every one.
    Lock("hazelcast", "FencedLock", "algorithm: fenced_lock", "", 3, 1, 1, 2000, "30s", "10s"),
    Lock("hazelcast-fence", "FencedLock, fence checked", "algorithm: fenced_lock", "fence_check: true", 3, 1, 1, 2000, "30s", "10s"),
    Lock("chubby", "Chubby", "algorithm: chubby", "", 5, 1, 1, 12000, "10m", "60s"),
    Lock("chubby-fence", "Chubby, sequencer checked", "algorithm: chubby", "fence_check: true", 5, 1, 1, 12000, "10m", "60s"),
]

# Which nodes a client reaches: node 3 alone is in both majorities.
SPLIT = ["{at: 0s, do: partition, from: client 1, to: nodes 4-5, mode: refuse}",
         "{at: 0s, do: partition, from: client 2, to: nodes 1-2, mode: refuse}"]

SECOND_WAITS = "{at: 0s, do: pause, target: client 2, until: client 1 before_write}"
SECOND_COMES_LATER = "{at: 0s, do: pause, target: client 2, until: client 1 after_granted}"
FIRST_WAITS = "{on: client 1 before_write, do: pause, until: client 2 after_write}"


# Who is struck while it holds the lock: its ttl in ms. The other one asks on while a node takes seconds to come back, and
# no more than 16 of its attempts can wait to be cleaned up where a node is out of reach.
HELD, ASKS = 9000, "500ms"


def split(lock):
    return SPLIT if lock.votes > 1 else []


def decider(lock):
    """The node that is in both majorities, the only one, or the master."""
    return f"node {lock.leader}"


def majority(lock):
    return lock.votes // 2 + 1


def minority(lock):
    """Of all its nodes, with the one that leads."""
    return f"node {lock.leader}" if lock.nodes < 5 else "nodes 1-2"


def decides(fault):
    """The node that decides between two clients is struck while one holds the lock, and stands still for a part of its ttl."""
    return lambda lock: [*split(lock), SECOND_WAITS, fault.replace("NODE", decider(lock)),
                         f"{{on: client 1 before_write, do: pause, for: {max(HELD, lock.ttl) * 2 // 3}ms}}"]


def several(fault):
    """Needs more than one node."""
    return lambda lock: [fault.replace("MINORITY", minority(lock))] if lock.nodes > 1 else None


def failover(lock):
    """Of a kind whose nodes have replicas that may be behind."""
    kind = lock.column.split("-")[0]
    if lock.replicas > 0:
        # The other replica is the one that answers.
        return [SECOND_WAITS, "{at: 0s, do: partition, from: nodes 1, to: nodes 3, until: client 2 after_granted}", FIRST_WAITS,
                "{on: client 1 before_write, do: crash, target: node 1, for: 1s}", "{on: client 1 before_write, do: failover, target: node 3}"]
    fault = decides("{on: client 1 before_write, do: failover, target: NODE, lag: 1s}")
    return fault(lock) if kind in ("single", "redlock", "sql", "advisory") else None


def by_session(lock):
    """Nobody comes in while the holder's connection is there: a fault that would wait for that has an end of its own."""
    return lock.column.startswith("advisory")


def meanwhile(lock, event):
    return f"for: {4 * lock.ttl}ms" if by_session(lock) else f"until: {event}"


def paused_after_check(lock):
    # A client with a session hears that it is over just when it goes on: so that this comes too late, it stops before its write.
    if "chubby" in lock.words or "zookeeper" in lock.words:
        stops = [SECOND_WAITS, FIRST_WAITS]
    else:
        stops = [SECOND_COMES_LATER, f"{{on: client 1 after_granted, do: pause, {meanwhile(lock, 'client 2 after_write')}}}"]
    return [*stops, *overtaken(lock)]


def overtaken(lock):
    """Client 2, which has written, is still inside when client 1 writes."""
    return [] if by_session(lock) else ["{on: client 2 after_write, do: pause, until: client 1 after_write}"]


def late_write(lock):
    stops = f"{{on: client 1 before_write, do: pause, {meanwhile(lock, 'client 2 after_write')}}}"
    return [SECOND_COMES_LATER if by_session(lock) else SECOND_WAITS, stops, *overtaken(lock)]


def holder_cut_off(lock):
    cut = f"{{on: client 1 after_granted, do: partition, to: nodes, mode: hold, {meanwhile(lock, 'client 2 after_release')}}}"
    return [SECOND_COMES_LATER, cut, *([] if by_session(lock) else ["{on: client 2 before_replies, do: pause, until: client 1 after_release}"])]


def inside_ms(keys, lock):
    """How long a section lasts. Whoever has a session hears of its end when it goes on: it is still inside then, not leaving
    at that moment, where it would be luck whether it hears of it before."""
    struck = keys.get("hears") and by_session(lock)
    return HELD * 2 // 3 + 1000 if struck else keys.get("hold", 20) * lock.ttl // 1000


def node_forgets(lock):
    # Whose session breaks is told so at once: that this comes too late, it stops at the same moment.
    when = "before_write" if by_session(lock) else "after_granted"
    return decides(f"{{on: client 1 {when}, do: crash, target: NODE, for: 0s}}")(lock)


def holder_dies(lock):
    if not by_session(lock):
        return [SECOND_COMES_LATER, "{on: client 1 after_granted, do: kill}"]
    # Its session ends with it: client 2 asks before that.
    return [SECOND_COMES_LATER, "{on: client 1 before_write, do: pause, until: client 2 before_replies}", "{on: client 1 after_write, do: kill}"]


def paused_before_check(lock):
    stops = f"{{on: client 1 before_replies, do: pause, {meanwhile(lock, 'client 2 after_granted')}}}"
    if lock.column.startswith(("advisory", "etcd", "zookeeper", "hazelcast")):
        return ["{at: 0s, do: pause, target: client 2, until: client 1 before_replies}", stops]
    # Client 2 comes first, so that nodes know the scripts by which a grant with a fence is asked for.
    return ["{at: 0s, do: pause, target: client 1, until: client 2 after_release}",
            f"{{on: client 2 after_release, do: pause, until: any node set from client 1, until_nth: {majority(lock)}}}", stops]


# name, heading, what happens, its faults for a lock (None: there is no such thing), other keys; times are Redlock's.
FAULTS = [
    ("paused-before-check", "holder paused before it looks at its clock",
     "Client 1 stops with the replies in its buffers until client 2 has been granted the lock.",
     paused_before_check, {"sections": 2}),
    ("paused-after-check", "holder paused after that",
     "Client 1 stops when it has been granted the lock, until client 2 has written.",
     paused_after_check, {}),
    ("late-write", "delayed write",
     "What client 1 writes is held back until client 2 has written.",
     late_write, {}),
    ("node-clock-jumps", "clock of a node jumps",
     "The clock of the node that decides jumps by more than the ttl.",
     decides("{on: client 1 after_granted, do: clock_jump, target: NODE, by: 1h}"), {"ttl": HELD, "delay": ASKS}),
    ("node-clock-fast", "clock of a node is fast",
     "The clock of the node that decides runs at four times its speed.",
     decides("{at: 0s, do: clock_rate, target: NODE, rate: 4}"), {"ttl": HELD, "delay": ASKS}),
    ("client-clock-jumps", "clock of the client jumps",
     "The wall clock of client 1 is set back by a minute while it asks for the lock.",
     lambda lock: [SECOND_COMES_LATER,
                    "{on: client 1 before_replies, do: clock_jump, by: -60s}",
                    f"{{on: client 1 before_release, do: pause, {meanwhile(lock, 'client 2 after_granted')}}}"], {}),
    ("client-clock-slow", "clock of the client is slow",
     "The clocks of client 1 run at a tenth of their speed: what it does in half a ttl takes five.",
     # ZooKeeper tells its client that the session is over at about the moment when it grants the next one: luck.
     lambda lock: None if "zookeeper" in lock.words else ["{at: 0s, do: clock_rate, target: client 1, rate: 0.1}", SECOND_COMES_LATER],
     {"hold": 500, "clients": "writes: 3"}),
    ("node-forgets", "node forgets",
     "The node that decides has no disk, is killed while client 1 holds the lock, and is back at once.",
     node_forgets, {"ttl": HELD, "delay": ASKS, "hears": True}),
    ("delayed-restart", "node forgets, back after the ttl",
     "The same node stays down for longer than the ttl.",
     lambda lock: [*split(lock), SECOND_COMES_LATER,
                   f"{{on: client 1 after_granted, do: crash, target: {decider(lock)}, for: {2 * lock.ttl}ms}}"],
     {"ttl": 1500, "hold": 500}),
    ("failover", "failover to a replica that is behind",
     "The replica that takes over from the node that decides is a second behind.",
     failover, {"ttl": HELD, "delay": ASKS, "hears": True}),
    ("holder-cut-off", "holder cut off from every node",
     "Client 1 reaches no node from its grant on, is told when its lease ends, and leaves.",
     holder_cut_off, {"hold": 3000, "clients": "on_lost: leave", "delay": ASKS}),
    ("minority-cut-off", "minority of the nodes cut off",
     "Nobody reaches two of five nodes, or one of three, the master among them where there is one, once client 1 has the lock.",
     several("{on: client 1 after_granted, do: partition, from: clients, to: MINORITY, mode: refuse}"), {"sections": 3}),
    ("ring", "each client sees another majority",
     "Each client reaches three of the five nodes, each three others.",
     several("{at: 0s, do: partition, shape: ring, mode: refuse}"), {"count": 5}),
    ("bridge", "two halves with one node in common",
     "Two halves of the clients reach two halves of the nodes and share the one in the middle.",
     several("{at: 0s, do: partition, shape: bridge, mode: refuse}"), {"count": 4}),
    ("lost-reply", "lost reply",
     "A majority sets the key and its replies to client 1 are lost.",
     lambda lock: [SECOND_COMES_LATER,
                    *(f"{{on: node {node} set from client 1, do: lose_reply}}" for node in range(1, majority(lock) + 1)),
                    "{on: client 1 before_release, do: pause, until: client 2 before_replies}"], {"hold": 150, "ttl": 2000}),
    ("late-request", "late request",
     "The first command of client 1 reaches one node 800 ms late.",
     lambda lock: [SECOND_COMES_LATER,
                    "{on: node 1 before set from client 1, do: delay_command, delay: 800ms}",
                    "{on: client 1 before_release, do: pause, until: client 2 before_replies}"], {"hold": 150, "ttl": 3000}),
    ("holder-dies", "holder dies",
     "Client 1 dies when it has been granted the lock.",
     holder_dies, {}),
]

SCENARIO = """# yaml-language-server: $schema=../../picklock.schema.json
version: 1
name: {name}
about: >
  {about}
source: 'docs/DEBATE.md, made by `make debate`'
lock: {{{lock}, ttl: {ttl}, node_timeout: 300ms, retry: {{count: {tries}, delay: {delay}, jitter: 50ms}}}}
nodes: {{{nodes}}}
clients: {{count: {count}, sections: {sections}, hold: {hold}{clients}}}
{store}duration: {duration}
bound: {bound}
faults:
{faults}expect:
  exclusion: pass
  section_exclusion: pass
  store_integrity: pass
  ownership: pass
  deadlock_freedom: pass
  exercised: pass
"""


def cell(fault, lock):
    """The name and the text of a cell's scenario, before anything is expected but passes; None where there is none."""
    name, _, about, faults, keys = fault
    lines = faults(lock)
    if by_session(lock):
        about += "\n  Nobody can come in while its session lasts, so what would wait for that ends after four ttls."
    if lines is None:
        return None
    name = f"{name}-{lock.column}"
    return name, SCENARIO.format(name=name, about=about, lock=lock.words, ttl=f"{max(keys.get('ttl', 0), lock.ttl)}ms", nodes=f"replicas: {lock.replicas}" if lock.replicas > 0 else f"count: {lock.nodes}",
                                 hold=f"{inside_ms(keys, lock)}ms", count=keys.get("count", 2),
                                 sections=keys.get("sections", 1), clients=f", {keys['clients']}" if "clients" in keys else "",
                                 tries=lock.tries, delay=keys.get("delay", "50ms"), store=f"store: {{{lock.store}}}\n" if lock.store else "",
                                 duration=lock.duration, bound=lock.bound, faults="".join(f"  - {line}\n" for line in lines))
