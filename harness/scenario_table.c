/* scenario_table.c: the one table of scenario keys. */
#include "harness/scenario_table.h"

#include "base/duration.h"
#include "servers/kinds.h"

#define FIELD(name)       sizeof(((struct scenario *)0)->name), offsetof(struct scenario, name)
#define FAULT_FIELD(name) sizeof(((struct fault *)0)->name), offsetof(struct fault, name)
#define NO_FIELD          0, 0

#define HOUR_NS (3600 * NS_PER_S)

#define X(name) {#name, SERVER_KIND_##name},
static const struct key_word node_kind_words[] = {SERVER_KIND_MAP(X){NULL, 0}};
#undef X
#define X(name, word) {word, name},
static const struct key_word fsync_words[] = {FSYNC_MAP(X){NULL, 0}};
static const struct key_word pooler_words[] = {POOLER_MAP(X){NULL, 0}};
static const struct key_word consensus_words[] = {CONSENSUS_MAP(X){NULL, 0}};
static const struct key_word mode_words[] = {PARTITION_MODE_MAP(X){NULL, 0}};
static const struct key_word error_words[] = {NODE_ERROR_MAP(X){NULL, 0}};
static const struct key_word on_lost_words[] = {ON_LOST_MAP(X){NULL, 0}};
static const struct key_word order_words[] = {ACQUIRE_ORDER_MAP(X){NULL, 0}};
static const struct key_word shape_words[] = {PARTITION_SHAPE_MAP(X){NULL, 0}};
const struct key_word probe_words[] = {PROBE_MAP(X){NULL, 0}};
const struct key_word role_words[] = {COMMAND_ROLE_MAP(X){NULL, 0}};
#undef X
#define X(name, word, nature, life, unit, keys) {word, name},
const struct key_word fault_kind_words[] = {HISTORY_FAULT_MAP(X){NULL, 0}};
#undef X
#define X(name, word) {word, name},
const struct key_word needs_words[] = {HISTORY_DECLARES_MAP(X){NULL, 0}};
#undef X

static const struct key_word direction_words[] = {{"request", DIRECTION_REQUEST},
                                                  {"reply", DIRECTION_REPLY},
                                                  {"both", DIRECTION_BOTH},
                                                  {NULL, 0}};

const struct scenario_key scenario_keys[] = {
    {"version", "the version of this format", NULL, KEY_VERSION, NO_FIELD, 1, 1, 1, NULL},
    {"name", "the file's name without .yaml", NULL, KEY_NAME, NO_FIELD, 0, SCENARIO_NAME_BYTES - 1,
     0, NULL},
    {"about", "what happens, in a sentence or two", "empty", KEY_TEXT, NO_FIELD, 0,
     SCENARIO_TEXT_BYTES - 1, 0, NULL},
    {"source", "where it comes from: a paper, an issue", "empty", KEY_TEXT, NO_FIELD, 0,
     SCENARIO_TEXT_BYTES - 1, 0, NULL},

    {"needs", "what the lock must declare; this does not apply to one that lacks any of it",
     "nothing", KEY_WORDS, FIELD(needs), 0, 0, 0, needs_words},
    {"lacks", "what the lock must not declare; this does not apply to one that declares any of it",
     "nothing", KEY_WORDS, FIELD(lacks), 0, 0, 0, needs_words},

    {"lock", "the lock under test", NULL, KEY_MAP, NO_FIELD, 0, 0, 0, NULL},
    {"lock.algorithm", "its name, as `picklock list` shows it", NULL, KEY_ALGORITHM, NO_FIELD, 0, 0,
     0, NULL},
    {"lock.ttl", "what is asked of the nodes", "10s", KEY_DURATION, FIELD(lock.ttl_ns),
     10 * NS_PER_MS, 24 * HOUR_NS, 10 * NS_PER_S, NULL},
    {"lock.node_timeout", "how long one node may take to answer; less than the ttl", "50ms",
     KEY_DURATION, FIELD(lock.node_timeout_ns), NS_PER_MS, HOUR_NS, 50 * NS_PER_MS, NULL},
    {"lock.drift", "what clocks may drift, as a part of the ttl", "1%", KEY_PERCENT,
     FIELD(lock.drift_ppm), 0, 500000, 10000, NULL},
    {"lock.retry", "what follows a refused attempt", "its defaults", KEY_MAP, NO_FIELD, 0, 0, 0,
     NULL},
    {"lock.retry.count", "attempts after the first one", "3", KEY_COUNT, FIELD(lock.retry_count), 0,
     60000, 3, NULL},
    {"lock.retry.delay", "before each of them", "200ms", KEY_DURATION, FIELD(lock.retry_delay_ns),
     0, HOUR_NS, 200 * NS_PER_MS, NULL},
    {"lock.retry.jitter", "up to this much more, drawn each time", "200ms", KEY_DURATION,
     FIELD(lock.retry_jitter_ns), 0, HOUR_NS, 200 * NS_PER_MS, NULL},
    {"lock.extend", "extensions of a grant", "its defaults", KEY_MAP, NO_FIELD, 0, 0, 0, NULL},
    {"lock.extend.count", "successful extensions that one grant may have", "3", KEY_COUNT,
     FIELD(lock.extend_count), 0, 60000, 3, NULL},

    {"lock.wait", "for replicas that have the key; of a lock that waits for them", "its defaults",
     KEY_MAP, NO_FIELD, 0, 0, 0, NULL},
    {"lock.wait.replicas", "how many must have it", "1", KEY_COUNT, FIELD(lock.wait_count), 1,
     LOCK_NODES_MAX - 1, 1, NULL},
    {"lock.wait.timeout", "how long the node waits for that; less than the node_timeout", "20ms",
     KEY_DURATION, FIELD(lock.wait_ns), NS_PER_MS, HOUR_NS, 20 * NS_PER_MS, NULL},

    {"nodes", "the lock servers", "its defaults", KEY_MAP, NO_FIELD, 0, 0, 0, NULL},
    {"nodes.kind", "what they are", "what the algorithm speaks to", KEY_WORD, FIELD(node_kind), 0,
     0, SERVER_KIND_redis, node_kind_words},
    {"nodes.count", "how many; the algorithm may allow fewer", "5, or the algorithm's most",
     KEY_COUNT, FIELD(node_count), 1, LOCK_NODES_MAX, 5, NULL},
    {"nodes.replicas",
     "how many of them follow the others: all but one, which are then one store; redis only", "0",
     KEY_COUNT, FIELD(lock.replica_count), 0, LOCK_NODES_MAX - 1, 0, NULL},
    {"nodes.sentinels",
     "what watches the replicas' primary and promotes one of them; each beside a node, the first "
     "beside the first",
     "nobody does", KEY_MAP, NO_FIELD, 0, 0, 0, NULL},
    {"nodes.sentinels.count", "how many; 0: none, and nobody promotes but a failover", "0",
     KEY_COUNT, FIELD(sentinels.count), 0, LOCK_NODES_MAX, 0, NULL},
    {"nodes.sentinels.quorum", "how many of them must miss the primary; 0: most of them", "0",
     KEY_COUNT, FIELD(sentinels.quorum), 0, LOCK_NODES_MAX, 0, NULL},
    {"nodes.sentinels.down_after", "a node that does not answer for so long is missed", "30s",
     KEY_DURATION, FIELD(sentinels.down_after_ns), NS_PER_MS, HOUR_NS, 30 * NS_PER_S, NULL},
    {"nodes.sentinels.failover_timeout",
     "twice that passes before they try again; and so much before a replica of another is told",
     "3m", KEY_DURATION, FIELD(sentinels.failover_timeout_ns), NS_PER_MS, HOUR_NS, 180 * NS_PER_S,
     NULL},
    {"nodes.fsync", "the append-only file: none, synced every second, synced before each reply",
     "none", KEY_WORD, FIELD(fsync), 0, 0, FSYNC_NONE, fsync_words},
    {"nodes.pooler",
     "what stands before a database and hands out its sessions; by transaction: to whoever asks "
     "next",
     "none", KEY_WORD, FIELD(pooler), 0, 0, POOLER_NONE, pooler_words},
    {"nodes.consensus",
     "whether a majority of them must agree; without, each part of a cluster that is cut in two "
     "answers by itself (Hazelcast's unsafe mode); hazelcast only",
     "majority", KEY_WORD, FIELD(consensus), 0, 0, CONSENSUS_MAJORITY, consensus_words},
    {"nodes.latency", "one way between client and node; in sim only, real has its own", "200us",
     KEY_DURATION, FIELD(latency_ns), 0, HOUR_NS, 200 * NS_PER_US, NULL},
    {"nodes.jitter", "up to this much more, drawn for each message; in sim only", "100us",
     KEY_DURATION, FIELD(latency_jitter_ns), 0, HOUR_NS, 100 * NS_PER_US, NULL},

    {"clients", "the applications that want the lock", "its defaults", KEY_MAP, NO_FIELD, 0, 0, 0,
     NULL},
    {"clients.count", "how many", "2", KEY_COUNT, FIELD(client_count), 1, SCENARIO_CLIENTS_MAX, 2,
     NULL},
    {"clients.threads",
     "so many of them are threads of one program, which faults strike as a whole; needs: [threads] "
     "for more than 1",
     "1", KEY_COUNT, FIELD(thread_count), 1, SCENARIO_THREADS_MAX, 1, NULL},
    {"clients.resources", "how many names are locked; each client draws one every time", "1",
     KEY_COUNT, FIELD(resource_count), 1, SCENARIO_RESOURCES_MAX, 1, NULL},
    {"clients.at_once",
     "how many of them each client holds in a section; needs: [several] for more than 1", "1",
     KEY_COUNT, FIELD(at_once), 1, SCENARIO_HOLDS_MAX, 1, NULL},
    {"clients.order",
     "in which it acquires them: the same for all clients, or any; a refused client gives back "
     "what it has",
     "same", KEY_WORD, FIELD(order), 0, 0, ORDER_SAME, order_words},
    {"clients.again",
     "how often a client acquires in its section what it holds already; given back in the middle "
     "of it",
     "0", KEY_COUNT, FIELD(again), 0, SCENARIO_HOLDS_MAX - 1, 0, NULL},
    {"clients.sections", "how often each client is granted the lock before it is done", "1",
     KEY_COUNT, FIELD(sections), 1, 1000000, 1, NULL},
    {"clients.hold", "length of a section; its writes are spread over it", "100ms", KEY_DURATION,
     FIELD(hold_ns), 0, 24 * HOUR_NS, 100 * NS_PER_MS, NULL},
    {"clients.think", "before each acquire", "0s", KEY_DURATION, FIELD(think_ns), 0, 24 * HOUR_NS,
     0, NULL},
    {"clients.think_jitter", "up to this much more, drawn each time", "0s", KEY_DURATION,
     FIELD(think_jitter_ns), 0, 24 * HOUR_NS, 0, NULL},
    {"clients.writes", "read-modify-writes of the guarded store in a section", "1", KEY_COUNT,
     FIELD(writes), 0, 1000, 1, NULL},
    {"clients.extend_every", "asks for more time this often; 0s: never", "0s", KEY_DURATION,
     FIELD(extend_every_ns), 0, 24 * HOUR_NS, 0, NULL},
    {"clients.on_lost",
     "when told that the lock was lost: finish the section, leave it, or finish it and ask for "
     "more "
     "time all the same",
     "finish", KEY_WORD, FIELD(on_lost), 0, 0, 0, on_lost_words},
    {"clients.releases",
     "how often each grant is released; more than once is a mistake of programs", "1", KEY_COUNT,
     FIELD(releases), 1, 8, 1, NULL},
    {"clients.deadline", "an acquire must be answered within this; needs: [deadline]; 0s: no limit",
     "0s", KEY_DURATION, FIELD(deadline_ns), 0, HOUR_NS, 0, NULL},
    {"clients.cancel_after",
     "an acquire that is not answered after this is given up; needs: [cancel]; 0s: never", "0s",
     KEY_DURATION, FIELD(cancel_after_ns), 0, HOUR_NS, 0, NULL},

    {"store", "the guarded store that holders read and write", "its defaults", KEY_MAP, NO_FIELD, 0,
     0, 0, NULL},
    {"store.fence_check", "refuses a fence older than the newest it has seen", "false", KEY_FLAG,
     FIELD(fence_check), 0, 1, 0, NULL},
    {"store.value_check", "refuses a write by any but the last holder that read", "false", KEY_FLAG,
     FIELD(value_check), 0, 1, 0, NULL},

    {"duration",
     "the clients' time; then all faults are healed and the lock is asked for once more", "60s",
     KEY_DURATION, FIELD(duration_ns), NS_PER_MS, 24 * HOUR_NS, 60 * NS_PER_S, NULL},
    {"bound", "after the last heal the lock must be free within ttl + bound", "2s", KEY_DURATION,
     FIELD(bound_ns), 0, HOUR_NS, 2 * NS_PER_S, NULL},

    {"faults", "a list of faults, or {random: ...}", "none", KEY_FAULTS, NO_FIELD, 0, 0, 0, NULL},
    {"faults.random", "faults that each seed draws", "none", KEY_MAP, NO_FIELD, 0, 0, 0, NULL},
    {"faults.random.kinds", "a list of the kinds that may be drawn", NULL, KEY_WORDS,
     FIELD(random.kinds), 0, 0, 0, fault_kind_words},
    {"faults.random.count", "at most this many in a run", "3", KEY_COUNT, FIELD(random.count_max),
     1, SCENARIO_FAULTS_MAX, 3, NULL},
    {"faults.random.from", "the earliest start", "0s", KEY_DURATION, FIELD(random.from_ns), 0,
     24 * HOUR_NS, 0, NULL},
    {"faults.random.to", "the latest start; where both are left out, faults also start at events",
     "the duration", KEY_DURATION, FIELD(random.to_ns), 0, 24 * HOUR_NS, 0, NULL},

    {"expect", "the verdict expected of each check", NULL, KEY_EXPECT, NO_FIELD, 0, 0, 0, NULL},
};

const struct scenario_key fault_keys[FAULT_KEYS] = {
    [FAULT_KEY_AT] = {"at", "begins at this time", "on", KEY_DURATION, FAULT_FIELD(start.at_ns), 0,
                      24 * HOUR_NS, 0, NULL},
    [FAULT_KEY_ON] = {"on", "begins at this event", "at", KEY_TRIGGER, NO_FIELD, 0, 0, 0, NULL},
    [FAULT_KEY_NTH] = {"nth", "... when it happens for the n-th time", "1", KEY_COUNT,
                       FAULT_FIELD(start.nth), 1, 1000000, 1, NULL},
    [FAULT_KEY_AFTER] = {"after", "... and so long behind it", "0s", KEY_DURATION,
                         FAULT_FIELD(after_ns), 0, 24 * HOUR_NS, 0, NULL},
    [FAULT_KEY_DO] = {"do", "the kind of fault", NULL, KEY_WORD, FAULT_FIELD(kind), 0, 0,
                      FAULT_NONE, fault_kind_words},
    [FAULT_KEY_TARGET] = {"target", "the clients or nodes that it strikes", "the one named in `on`",
                          KEY_TARGET, NO_FIELD, 0, 0, 0, NULL},
    [FAULT_KEY_SHAPE] = {"shape", "which links are cut, by name", "links", KEY_WORD,
                         FAULT_FIELD(shape), 0, 0, SHAPE_LINKS, shape_words},
    [FAULT_KEY_FROM] =
        {"from", "the clients at one end of the links, or nodes where they speak to each other",
         "all clients", KEY_TARGET, NO_FIELD, 0, 0, 0, NULL},
    [FAULT_KEY_TO] = {"to", "the nodes at the other end", "all nodes", KEY_TARGET, NO_FIELD, 0, 0,
                      0, NULL},
    [FAULT_KEY_COMMAND] = {"command", "which commands", "the one named in `on`, else every command",
                           KEY_WORD, FAULT_FIELD(role), 0, 0, ROLE_ANY, role_words},
    [FAULT_KEY_DIRECTION] = {"direction", "which way", "both", KEY_WORD, FAULT_FIELD(direction), 0,
                             0, DIRECTION_BOTH, direction_words},
    [FAULT_KEY_MODE] = {"mode", "what becomes of the bytes", "hold", KEY_WORD, FAULT_FIELD(mode), 0,
                        0, MODE_HOLD, mode_words},
    [FAULT_KEY_ERROR] = {"error", "what the node answers", "OOM", KEY_WORD, FAULT_FIELD(error), 0,
                         0, NODE_ERROR_OOM, error_words},
    [FAULT_KEY_BY] = {"by", "how far the wall clock jumps; negative: back", NULL, KEY_DURATION,
                      FAULT_FIELD(amount_ns), -24 * HOUR_NS, 24 * HOUR_NS, 0, NULL},
    [FAULT_KEY_RATE] = {"rate", "seconds that the clock shows in a second", NULL, KEY_FACTOR,
                        FAULT_FIELD(rate_ppm), 0, 100000000, 1000000, NULL},
    [FAULT_KEY_LAG] = {"lag", "how far the replica is behind", "0s", KEY_DURATION,
                       FAULT_FIELD(amount_ns), 0, HOUR_NS, 0, NULL},
    [FAULT_KEY_DELAY] = {"delay", "how late", NULL, KEY_DURATION, FAULT_FIELD(amount_ns), 0,
                         HOUR_NS, 0, NULL},
    [FAULT_KEY_JITTER] = {"jitter", "up to this much more, drawn each time", "0s", KEY_DURATION,
                          FAULT_FIELD(jitter_ns), 0, HOUR_NS, 0, NULL},
    [FAULT_KEY_FOR] = {"for", "ends after this time", "until", KEY_DURATION, FAULT_FIELD(for_ns), 0,
                       24 * HOUR_NS, TIME_NEVER, NULL},
    [FAULT_KEY_UNTIL] = {"until", "ends at this event", "the heal at the end of the duration",
                         KEY_TRIGGER, NO_FIELD, 0, 0, 0, NULL},
    [FAULT_KEY_UNTIL_NTH] = {"until_nth",
                             "... when it happens for the n-th time since the fault began", "1",
                             KEY_COUNT, FAULT_FIELD(until.nth), 1, 1000000, 1, NULL},
};

const size_t scenario_key_count = sizeof scenario_keys / sizeof scenario_keys[0];

const struct familiar_word familiar_words[] = {
    {"freeze", "pause"},
    {"stop", "pause"},
    {"suspend", "pause"},
    {"sigstop", "pause"},
    {"restart", "crash"},
    {"down", "crash"},
    {"reboot", "crash"},
    {"poweroff", "power_loss"},
    {"skew", "clock_jump"},
    {"clock_skew", "clock_jump"},
    {"drift", "clock_rate"},
    {"clock_drift", "clock_rate"},
    {"timeout", "partition with mode: drop"},
    {"reset_peer", "partition with mode: reset"},
    {"blackhole", "partition with mode: drop"},
    {"loss", "partition with mode: drop"},
    {"reject", "refuse"},
    {"cut", "partition"},
    {"disconnect", "partition"},
    {"isolate", "partition"},
    {"flaky", "latency"},
    {"bandwidth", "latency"},
    {"slow_close", "latency"},
    {"slicer", "latency"},
    {"netem", "latency"},
    {"hang", "stall"},
    {"oom", "refuse_writes with error: OOM"},
    {"flush", "script_flush"},
    {"promote", "failover"},
    {"upstream", "request"},
    {"downstream", "reply"},
    {"toxicity", "nth"},
    {"duration", "for"},
    {"action", "do"},
    {"type", "do"},
    {"kind", "do"},
    {"selector", "target"},
    {"node", "target: node 3"},
    {"client", "target: client 2"},
    {NULL, NULL},
};
