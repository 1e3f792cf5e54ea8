"""The table of the debate: what strikes (rows), at which lock (columns), and the scenario of each cell."""

# name, heading, what the lock is, what the store does, its nodes.
LOCKS = [
    ("single", "one server", "algorithm: single", "", 1),
    ("redlock", "Redlock", "algorithm: redlock", "", 5),
    ("redlock-value", "Redlock, value checked", "algorithm: redlock", "value_check: true", 5),
    ("redlock-fence", "Redlock, fence checked", "algorithm: fenced_redlock", "fence_check: true", 5),
]

# Which nodes a client reaches: node 3 alone is in both majorities.
SPLIT = ["{at: 0s, do: partition, from: client 1, to: nodes 4-5, mode: refuse}",
         "{at: 0s, do: partition, from: client 2, to: nodes 1-2, mode: refuse}"]

SECOND_WAITS = "{at: 0s, do: pause, target: client 2, until: client 1 before_write}"
FIRST_WAITS = "{on: client 1 before_write, do: pause, until: client 2 after_write}"


def decides(fault):
    """The node that decides between two clients is struck while one holds the lock."""
    return lambda nodes: [*(SPLIT if nodes > 1 else []), SECOND_WAITS,
                          fault.replace("NODE", "node 3" if nodes > 1 else "node 1"), FIRST_WAITS]


def several(*faults):
    """Needs more than one node."""
    return lambda nodes: list(faults) if nodes > 1 else None


# name, heading, what happens, its faults for a number of nodes (None: not of such a lock), other keys.
FAULTS = [
    ("paused-before-check", "holder paused before it looks at its clock",
     "Client 1 stops with the replies in its buffers until client 2 has been granted the lock.",
     # Client 2 comes first, so that nodes know the scripts by which a grant with a fence is asked for.
     lambda nodes: ["{at: 0s, do: pause, target: client 1, until: client 2 after_release}",
                    f"{{on: client 2 after_release, do: pause, until: any node set from client 1, until_nth: {nodes // 2 + 1}}}",
                    "{on: client 1 before_replies, do: pause, until: client 2 after_granted}"], {"sections": "2"}),
    ("paused-after-check", "holder paused after that",
     "Client 1 stops when it has been granted the lock, until client 2 has written.",
     lambda nodes: ["{at: 0s, do: pause, target: client 2, until: client 1 after_granted}",
                    "{on: client 1 after_granted, do: pause, until: client 2 after_write}",
                    "{on: client 2 after_write, do: pause, until: client 1 after_write}"], {}),
    ("late-write", "delayed write",
     "What client 1 writes is held back until client 2 has written.",
     lambda nodes: [SECOND_WAITS, FIRST_WAITS, "{on: client 2 after_write, do: pause, until: client 1 after_write}"], {}),
    ("node-clock-jumps", "clock of a node jumps",
     "The clock of the node that decides jumps by more than the ttl.",
     decides("{on: client 1 after_granted, do: clock_jump, target: NODE, by: 6s}"), {"ttl": "5s"}),
    ("node-clock-fast", "clock of a node is fast",
     "The clock of the node that decides runs at four times its speed.",
     decides("{at: 0s, do: clock_rate, target: NODE, rate: 4}"), {"ttl": "5s", "delay": "200ms"}),
    ("client-clock-jumps", "clock of the client jumps",
     "The wall clock of client 1 is set back by a minute while it asks for the lock.",
     lambda nodes: ["{at: 0s, do: pause, target: client 2, until: client 1 after_granted}",
                    "{on: client 1 before_replies, do: clock_jump, by: -60s}",
                    "{on: client 1 before_release, do: pause, until: client 2 after_granted}"], {}),
    ("client-clock-slow", "clock of the client is slow",
     "The clocks of client 1 run at a quarter of their speed, and client 2 comes before its lease is over by them.",
     lambda nodes: ["{at: 0s, do: clock_rate, target: client 1, rate: 0.25}", SECOND_WAITS, FIRST_WAITS], {}),
    ("node-forgets", "node forgets",
     "The node that decides has no disk, is killed while client 1 holds the lock, and is back at once.",
     decides("{on: client 1 after_granted, do: crash, target: NODE, for: 0s}"), {"ttl": "5s", "delay": "1s"}),
    ("delayed-restart", "node forgets, back after the ttl",
     "The same node stays down for longer than the ttl.",
     lambda nodes: [*(SPLIT if nodes > 1 else []), "{at: 0s, do: pause, target: client 2, until: client 1 after_granted}",
                    f"{{on: client 1 after_granted, do: crash, target: node {3 if nodes > 1 else 1}, for: 2s}}"],
     {"ttl": "1500ms", "hold": "500ms"}),
    ("failover", "failover to a replica that is behind",
     "The replica that takes over from the node that decides is a second behind.",
     decides("{on: client 1 before_write, do: failover, target: NODE, lag: 1s}"), {"ttl": "5s"}),
    ("holder-cut-off", "holder cut off from every node",
     "Client 1 reaches no node from its grant on, is told when its lease ends, and leaves.",
     lambda nodes: ["{at: 0s, do: pause, target: client 2, until: client 1 after_granted}",
                    "{on: client 1 after_granted, do: partition, to: nodes, mode: hold, until: client 2 after_release}"],
     {"hold": "3s", "clients": "on_lost: leave"}),
    ("minority-cut-off", "minority of the nodes cut off",
     "Nobody reaches two of the five nodes.",
     several("{at: 0s, do: partition, shape: minority, mode: hold}"), {"sections": "3"}),
    ("ring", "each client sees another majority",
     "Each client reaches three of the five nodes, each three others.",
     several("{at: 0s, do: partition, shape: ring, mode: refuse}"), {"count": "5"}),
    ("bridge", "two halves with one node in common",
     "Two halves of the clients reach two halves of the nodes and share the one in the middle.",
     several("{at: 0s, do: partition, shape: bridge, mode: refuse}"), {"count": "4"}),
    ("lost-reply", "lost reply",
     "A majority sets the key and its replies to client 1 are lost.",
     lambda nodes: ["{at: 0s, do: pause, target: client 2, until: client 1 after_granted}",
                    *(f"{{on: node {node} set from client 1, do: lose_reply}}" for node in range(1, nodes // 2 + 2)),
                    "{on: client 1 before_release, do: pause, until: client 2 before_replies}"], {"hold": "150ms", "ttl": "2s"}),
    ("late-request", "late request",
     "The first command of client 1 reaches one node 800 ms late.",
     lambda nodes: ["{at: 0s, do: pause, target: client 2, until: client 1 after_granted}",
                    "{on: node 1 before set from client 1, do: delay_command, delay: 800ms}",
                    "{on: client 1 before_release, do: pause, until: client 2 before_replies}"], {"hold": "150ms", "ttl": "3s"}),
    ("holder-dies", "holder dies",
     "Client 1 dies when it has been granted the lock.",
     lambda nodes: ["{at: 0s, do: pause, target: client 2, until: client 1 after_granted}",
                    "{on: client 1 after_granted, do: kill}"], {}),
]

SCENARIO = """# yaml-language-server: $schema=../../picklock.schema.json
version: 1
name: {name}
about: >
  {about}
source: 'docs/DEBATE.md, made by `make debate`'
lock: {{{lock}, ttl: {ttl}, node_timeout: 300ms, retry: {{count: 3, delay: {delay}, jitter: 50ms}}}}
nodes: {{count: {nodes}}}
clients: {{count: {count}, sections: {sections}, hold: {hold}{clients}}}
{store}duration: 20s
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
    column, _, words, store, nodes = lock
    lines = faults(nodes)
    if lines is None:
        return None
    name = f"{name}-{column}"
    # A grant with a fence takes a round more.
    ttl = keys.get("ttl", "2s" if "fenced" in words else "1s")
    clients = f", {keys['clients']}" if "clients" in keys else ""
    return name, SCENARIO.format(name=name, about=about, lock=words, ttl=ttl, nodes=nodes, delay=keys.get("delay", "50ms"), hold=keys.get("hold", "20ms"),
                                 count=keys.get("count", "2"), sections=keys.get("sections", "1"), clients=clients,
                                 store=f"store: {{{store}}}\n" if store else "",
                                 faults="".join(f"  - {line}\n" for line in lines))
