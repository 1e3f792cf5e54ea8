"""What was claimed, in numbered sentences, and the scenarios that show it.

A row: number, the claim in our words, what the runs say of it, scenarios where it holds, scenarios where it breaks.
No scenario on either side: it is an opinion, a measurement, or not answered yet, and the third column says which.
"""

DOCUMENTATION = ("The documentation", 'Redis documentation, "Distributed Locks with Redis"', [
    ("D1", "At any moment only one client holds the lock.", "True within the assumptions; the table above shows which faults are outside of them.",
     ["contenders-20", "partition-bridge"], ["restart-forgets", "clock-jump-one-node"]),
    ("D2", "A lock can always be had in the end, also when its holder crashes or is cut off.", "True, after a ttl.",
     ["kill-holder", "partition-from-majority"], ["wrong/setnx-expire"]),
    ("D3", "While a majority is up, clients acquire and release.", "True; without a majority nobody is granted anything, and it goes on when the majority is back.",
     ["minority-down", "minority-stalled"], ["wrong/quorum-reachable"]),
    ("D4", "A primary with an asynchronous replica breaks safety at a failover.", "True; and it breaks Redlock as well where the node that fails over decides, and a row in a database. "
     "WAIT narrows the window and does not close it, and the holder is not told ([how often](ALGORITHMS.md#a-primary-and-its-replicas)).",
     ["replicas/primary-dies-wait", "replicas/wait-all-promoted", "replicas/split-wait-most"],
     ["failover-loses-key", "debate/failover-redlock", "sql/sql-failover", "replicas/primary-dies-single", "replicas/wait-other-promoted",
      "replicas/wait-replica-forgets", "replicas/split-single", "replicas/split-wait"]),
    ("D5", "A release must compare the value: a plain DEL removes another's lock.", "True.", ["release-after-expiry"], ["wrong/plain-delete"]),
    ("D6", "A value is unique among all clients and requests.", "Needed: with one value for all, a late release frees another's lock.",
     ["release-after-expiry"], ["wrong/constant-value"]),
    ("D7", "A node timeout small beside the ttl keeps a dead node from blocking.", "True where nodes are asked one after the other. Asked all at once, "
     "a majority is enough, whatever the timeout.", ["minority-paused"], []),
    ("D8", "Granted only if a majority agreed and the time elapsed is less than the validity.", "Needed.", ["twins/no-recheck-twin"], ["wrong/no-recheck"]),
    ("D9", "After a failure all nodes are unlocked, also those that seemed not to grant.", "Needed: a reply may be lost whose SET was applied.",
     ["lost-replies"], ["wrong/cleanup-acquired-only", "wrong/no-cleanup"]),
    ("D10", "All keys exist together for at least ttl - (T2 - T1) - drift.", "True while clocks keep to the drift that was allowed for.",
     ["clock-drift-within-allowance", "late-replies"], ["clock-drift-beyond-allowance", "wrong/no-drift"]),
    ("D11", "A client that needed about the ttl treats its lock as invalid and unlocks.", "True of a lock that looks at its clock again.",
     ["pause-after-majority"], ["wrong/timer-after-quorum"]),
    ("D12", "Several clients at once may split the votes; a random delay makes that rare.", "Each of twenty gets it. How rare a split is, is a rate, not a verdict.",
     ["contenders-20"], []),
    ("D13", "Partial locks are released at once; in a partition one pays a ttl.", "True.", ["partition-from-majority"], ["wrong/no-cleanup"]),
    ("D14", "With endless partitions the penalty is endless.", "A ttl each time: three of them here.", ["partition-each-round"], []),
    ("D15", "Without persistence a restarted node lets a second client in.", "True.", ["restart-after-ttl"], ["restart-forgets"]),
    ("D16", "A clean shutdown with an append-only file is safe: expiry runs on while it is down.", "True.", ["shutdown-and-restart"], []),
    ("D17", "fsync every second may lose keys at a power cut; fsync always does not.", "True; a killed process alone loses nothing with either.",
     ["power-loss-fsync-always", "crash-fsync-everysec"], ["power-loss-fsync-everysec"]),
    ("D18", "A delayed restart, longer than the largest ttl, is safe without persistence.", "The lock is not given twice. What the holder was promised "
     "breaks all the same: a majority of its keys is gone before its lease is over, and only the waiting saves it.", ["restart-after-ttl"], ["restart-forgets"]),
    ("D19", "Extension on a majority inside the validity does not change the algorithm; its number must be limited.", "True.",
     ["extend-in-time", "extend-limit"], ["wrong/extend-any-owner", "wrong/extend-creates", "wrong/extend-no-recheck"]),
    ("D20", "The guarantee holds only while the holder ends its work within the validity.", "True, and nothing in the lock enforces it.",
     ["library/many-spent"], ["library/many-outstays"]),
])

KLEPPMANN = ("Kleppmann", 'Kleppmann 2016, "How to do distributed locking"', [
    ("K1", "A lock with expiry needs a fence at the resource: a holder paused past its lease writes late.", "True of every lock in the table.",
     ["pause-saved-by-fence"], ["pause-after-granted", "debate/paused-after-check-single"]),
    ("K2", "The resource must refuse a fence that went back.", "True: the same fences, not looked at, save nothing.", ["pause-saved-by-fence"], ["pause-fence-unchecked"]),
    ("K3", "Safety rests on timing: nodes keep keys about as long as they should.", "True of the node that decides; one of five that does not decide does no harm.",
     ["clock-jump-one-of-five"], ["clock-jump-one-node", "clock-drift-beyond-allowance"]),
    ("K4", "... network delay is small beside the ttl.", "Not needed: what comes late is refused by the clock and cleaned up. It costs time, not safety.",
     ["late-requests", "late-replies", "late-set"], []),
    ("K5", "... pauses are shorter than the ttl.", "Needed after the last look at the clock, and nowhere before it.",
     ["pause-before-replies", "pause-after-majority"], ["pause-after-granted", "pause-before-write"]),
    ("K6", "A client paused with replies in its buffers believes that it holds the lock.", "Not of Redlock, which looks at its clock after the replies; "
     "true of libraries that do not.", ["pause-before-replies"], ["wrong/no-recheck"]),
    ("K7", "Clocks jump: an administrator, a daemon that steps.", "No harm at a client that goes by a monotonic clock. At a node that decides it breaks the lock: Redis "
     "expires by its wall clock, and so does a row in a database.", ["client-wall-clock-jump"],
     ["wrong/wall-clock", "clock-jump-one-node", "sql/sql-database-clock-jump"]),
    ("K8", "Redlock has no way to make fences.", "As documented it has none. Counters of a majority, written back to a majority, make one, which withstands a "
     "pause; it is no better than the nodes' memory.", ["pause-saved-by-fence", "debate/node-forgets-redlock-fence"], ["wrong/fence-not-raised"]),
])

ANTIREZ = ("antirez", 'antirez 2016, "Is Redlock safe?"', [
    ("A1", "A lock without automatic release is useless: a crashed holder blocks for ever.", "True.", ["kill-holder"], ["wrong/setnx-expire"]),
    ("A2", "A store that refuses old fences is linearizable, and could number the grants itself.", "An argument about design; the store of a run could, and does not.", [], []),
    ("A3", "A unique value with check-and-set at the resource does what a fence does.", "True where a write depends on a read: the last who read may write.",
     ["pause-saved-by-value"], ["debate/late-write-redlock"]),
    ("A4", "The order of fences need not be the order of the work.", "True: a value accepts either order, a fence only its own.", ["pause-saved-by-value", "pause-saved-by-fence"], []),
    ("A5", "Time is looked at again after the majority: delay before that, of any length, is harmless.", "True.",
     ["pause-before-replies", "pause-after-majority", "late-replies"], ["wrong/no-recheck"]),
    ("A6", "Delay after the check is every expiring lock's problem.", "True of every lock of the table.",
     [], ["debate/late-write-single", "debate/late-write-redlock", "debate/late-write-sql", "debate/late-write-etcd", "debate/late-write-zookeeper",
          "debate/late-write-hazelcast", "debate/late-write-chubby"]),
    ("A7", "Processes need only count time at about the same rate, with an error of 10 % even.", "True if the lock allows for 10 %. With the 1 % that libraries "
     "allow for, a node that is fast by 9 % breaks it.", ["clock-drift-within-allowance"], ["clock-drift-tenth"]),
    ("A8", "With monotonic clocks an administrator or a stepping daemon does no harm.", "True of the client. Not of the node: Redis expires by its wall clock to this day.",
     ["client-wall-clock-jump"], ["clock-jump-one-node"]),
    ("A9", "Slewing instead of stepping keeps clocks within bounds.", "True: what the allowance covers does no harm.", ["clock-drift-within-allowance"], ["clock-jump-one-node"]),
    ("A10", "Delayed restart is optional: fsync always is what other strong systems do.", "Both hold.", ["power-loss-fsync-always", "restart-after-ttl"], ["restart-forgets"]),
    ("A11", "Without disks a few nodes serve hundreds of thousands of locks a second.", "A measurement: `make bench`, [PERFORMANCE.md](PERFORMANCE.md).", [], []),
    ("A12", "A process is never partitioned from its own clock.", "A clock may be slow or stand still while the process runs; then the lease outlives its keys.",
     [], ["client-clock-slow", "client-clock-stopped"]),
    ("A13", "Checking the time before and after should be common practice.", "Libraries that do not are caught.", ["pause-before-replies"],
     ["wrong/no-recheck", "wrong/timer-after-quorum", "wrong/second-clock"]),
])

SURVEY = ("The survey and notes", "A survey of distributed locks (SQL, Redis, ZooKeeper, etcd, Chubby, Hazelcast), and notes on Redlock in practice", [
    ("S1", "A ttl solves deadlock and thereby weakens exclusion: a fence is needed, on Redis as on ZooKeeper.", "True of Redis, of a row in a database, of etcd, of ZooKeeper, of Hazelcast and of Chubby.",
     ["pause-saved-by-fence", "sql/sql-holder-paused-fence", "etcd/etcd-holder-paused-revision", "zookeeper/zookeeper-holder-paused-fence",
      "hazelcast/hazelcast-holder-paused-fence", "chubby/chubby-holder-paused-sequencer"],
     ["pause-after-granted", "sql/sql-holder-paused", "etcd/etcd-holder-paused", "zookeeper/zookeeper-holder-paused",
      "hazelcast/hazelcast-holder-paused", "chubby/chubby-holder-paused"]),
    ("S2", "A lock in a database: unique row, ttl column, owner, cleaner; replication makes failover hard.", "True: the owner must be compared, and "
     "the time must be the database's. Whether rows that are over are deleted makes no difference to a lock. A replica that is behind knows nothing of "
     "the row; fences save the store even then, as a sequence is written 32 numbers ahead: all but its first.",
     ["sql/sql-alone", "sql/sql-crash", "sql/sql-power-loss", "sql/sql-failover-fence"],
     ["sql/sql-failover", "sql/sql-failover-first-fence", "sql/sql-database-clock-jump", "wrong/sql-app-clock", "wrong/sql-release-any", "wrong/sql-early-now"]),
    ("S3", "Polling locks against waiting ones: no herd if each watches its predecessor only.", "A number of commands, not a verdict: the nineteen "
     "that come behind another look 19 times in vain where each watches its predecessor, 190 times where all are woken by any change.",
     ["zookeeper/zookeeper-twenty-wait", "zookeeper/zookeeper-twenty-wait-herd"], []),
    ("S4", "Consensus services count in terms and epochs, not clocks.", "The sessions of Chubby and ZooKeeper and the leases of "
     "etcd end by a clock as well: one that nobody sets, and whose rate matters. Those of Hazelcast end by the leader's wall clock.",
     ["chubby/chubby-clock-jump", "debate/node-clock-jumps-etcd", "debate/node-clock-jumps-zookeeper"],
     ["chubby/chubby-clock-rate", "debate/node-clock-fast-etcd", "debate/node-clock-fast-zookeeper", "debate/node-clock-jumps-hazelcast"]),
    ("S5", "An ephemeral node goes when the session ends; detection is late by the heartbeat.", "True, late by the session's timeout: a closed connection ends "
     "nothing, and a holder that only stood still has lost the lock before it hears of it.",
     ["zookeeper/zookeeper-killed-holder", "zookeeper/zookeeper-connection-closed"], ["zookeeper/zookeeper-holder-paused"]),
    ("S6", "A create whose reply was lost must be looked up by its guid.", "True; and what is found must be of the session that asks.", ["zookeeper/zookeeper-lost-reply"],
     ["wrong/zookeeper-found-own"]),
    ("S7", "etcd: transaction, lease, revision, prefix, watch of the next smaller revision; renewal.", "It works as described, and a lease that is "
     "not watched is a lock that is lost untold. A leader that was paused may end leases that are kept alive.",
     ["etcd/etcd-alone", "etcd/etcd-leader-crash", "etcd/etcd-holder-paused-revision"],
     ["etcd/etcd-holder-paused", "etcd/etcd-paused-leader", "wrong/etcd-dead-lease", "wrong/etcd-no-deadline"]),
    ("S8", "Chubby: sequencer, lock-delay, keepalives, jeopardy and grace period.", "Shown in the simulator. The sequencer saves the store; lock-delay only as long as it lasts.",
     ["chubby/chubby-late-write-refused", "chubby/chubby-late-write-within-delay", "chubby/chubby-failover-inside-grace"],
     ["chubby/chubby-late-write-beyond-delay", "chubby/chubby-holder-paused"]),
    ("S9", "FencedLock passed Jepsen.", "In the simulator it withstands what that test does: partitions, pauses and crashes of a minority; its fences "
     "save the store. It does not withstand a leader whose wall clock is set, nor the loss of a majority, as nothing is on disk, nor what is the default: unsafe mode.",
     ["hazelcast/hazelcast-split", "hazelcast/hazelcast-leader-apart", "hazelcast/hazelcast-leader-crash", "hazelcast/hazelcast-holder-paused-fence"],
     ["hazelcast/hazelcast-leader-clock-jump", "hazelcast/hazelcast-all-restarted", "hazelcast/hazelcast-unsafe-split", "wrong/hazelcast-goes-on"]),
    ("S10", "Speed: single Redis first, etcd between Redis and ZooKeeper.", "Not answered yet.", [], []),
    ("S11", "Bounded clock drift is not a safe assumption.", "An opinion on the world. What follows from it is shown.", ["clock-drift-within-allowance"], ["clock-drift-tenth"]),
    ("N1", "A node that hung during unlock: retry in the background for a while, then leave it to the ttl.", "True.", ["library/many-release-held"], ["wrong/release-ignores-error"]),
    ("N2", "ZooKeeper needs no ttl: the session's end releases.", "The session has a timeout: a ttl by another name, kept up by pings.", ["zookeeper/zookeeper-killed-holder"],
     ["zookeeper/zookeeper-holder-paused"]),
    ("N3", "Renewal by a watchdog stops with the process: a pause defeats it.", "True of extensions too: whoever asks for them stands still.",
     ["extend-in-time"], ["library/many-extend-outstays"]),
    ("N4", "A request taken for failed because it was late leads to locking twice.", "Not of a lock that cleans up on the same connection.", ["late-set", "lost-replies"], ["wrong/cleanup-acquired-only"]),
])

CLAIMS = [DOCUMENTATION, KLEPPMANN, ANTIREZ, SURVEY]
