/*
 * event.h: the vocabulary of a recorded history: the one contract between running and judging.
 *
 *     header, event, event, event, ...        in order of true time
 *
 * Both worlds write these events, the checker reads nothing else. docs/HISTORY.md shows each as a
 * JSON line. An event is plain data without pointers, so that a simulator can record without
 * allocating and a check can be fed one event at a time.
 *
 * An operation is a pair in Jepsen's vocabulary: an invoke and, later, ok (it happened), fail (it
 * did not) or info (unknown). An invoke without an end may or may not have happened.
 */
#ifndef HISTORY_EVENT_H
#define HISTORY_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTORY_VALUE_BYTES = 20,
    HISTORY_NAME_BYTES = 64,          /* scenario, algorithm, library: terminated */
    HISTORY_COMMAND_BYTES = 16,       /* a command's name: terminated */
    HISTORY_WHY_BYTES = 160,          /* a sentence: terminated */
    HISTORY_SITES_BYTES = 2048,       /* a few words for each node: terminated */
    HISTORY_NODES_MAX = 64,           /* header */
    HISTORY_CLIENTS_MAX = 1 << 20,    /* header */
    HISTORY_RESOURCES_MAX = 1 << 20,  /* header, and different names in one history */
    HISTORY_FAULTS_MAX = 1024,        /* header */
    HISTORY_PROCESSES_MAX = 1 << 24,  /* a process is below it */
    HISTORY_LINE_BYTES_MAX = 1 << 20, /* of our own JSON lines */
    HISTORY_RESOURCE_BYTES_MAX = 255, /* a resource's name */
};

/* Names are what the JSON lines say. */
#define HISTORY_KIND_MAP(X)                                                                        \
    X(HISTORY_OP, "op")           /* a client's operation: type, f */                              \
    X(HISTORY_SECTION, "section") /* a client entered or left the critical section */              \
    X(HISTORY_NOTICE, "notice")   /* the lock told its client that it was lost, unasked */         \
    X(HISTORY_LEASE, "lease")   /* the promised end moved in true time: the holder's clock did */  \
    X(HISTORY_NODE, "node")     /* something happened to a key on a node */                        \
    X(HISTORY_FAULT, "fault")   /* a fault began, showed its effect, or ended */                   \
    X(HISTORY_CLIENT, "client") /* a client started, finished or died */                           \
    X(HISTORY_PHASE, "phase")   /* the run healed all faults, or ended */                          \
    X(HISTORY_LATE, "late")     /* whoever records stood still, through no fault of the plan */

#define HISTORY_TYPE_MAP(X)                                                                        \
    X(HISTORY_INVOKE, "invoke")                                                                    \
    X(HISTORY_OK, "ok")                                                                            \
    X(HISTORY_FAIL, "fail")                                                                        \
    X(HISTORY_INFO, "info")

/* What an event is about; which kinds use it stands behind. */
#define HISTORY_F_MAP(X)                                                                           \
    X(HISTORY_ACQUIRE, "acquire")       /* op */                                                   \
    X(HISTORY_EXTEND, "extend")         /* op */                                                   \
    X(HISTORY_RELEASE, "release")       /* op */                                                   \
    X(HISTORY_READ, "read")             /* op on the guarded store */                              \
    X(HISTORY_WRITE, "write")           /* op on the guarded store */                              \
    X(HISTORY_ENTER, "enter")           /* section */                                              \
    X(HISTORY_LEAVE, "leave")           /* section */                                              \
    X(HISTORY_LOST, "lost")             /* notice */                                               \
    X(HISTORY_MOVED, "moved")           /* lease */                                                \
    X(HISTORY_KEY_SET, "set")           /* node: granted, the key now holds `value` */             \
    X(HISTORY_KEY_REFUSED, "refused")   /* node: a set found the key held by `owner` */            \
    X(HISTORY_KEY_EXTENDED, "extended") /* node: the key of `owner` has a new ttl */               \
    X(HISTORY_KEY_DELETED, "deleted")   /* node: the key of `owner` was deleted by a command */    \
    X(HISTORY_KEY_KEPT, "kept")       /* node: a compare found no key, or another's: no effect */  \
    X(HISTORY_KEY_EXPIRED, "expired") /* node: the ttl ran out on the node's clock */              \
    X(HISTORY_KEY_LOST, "key-lost")   /* node: gone after a restart or a failover */               \
    X(HISTORY_KEY_EVICTED, "evicted") /* node: thrown out for want of memory */                    \
    X(HISTORY_KEY_BACK, "key-back")   /* node: in memory again after a restart or failover */      \
    X(HISTORY_NODE_ERROR, "node-error") /* node: a command was refused with an error */            \
    X(HISTORY_FAULT_START, "start")     /* fault */                                                \
    X(HISTORY_FAULT_EFFECT, "effect")   /* fault: what was observed */                             \
    X(HISTORY_FAULT_END, "end")         /* fault */                                                \
    X(HISTORY_CLIENT_START, "started")  /* client */                                               \
    X(HISTORY_CLIENT_DONE, "done")      /* client: its program is finished */                      \
    X(HISTORY_CLIENT_KILLED, "killed")  /* client */                                               \
    X(HISTORY_HEALED, "healed")         /* phase: from here on there is no fault */                \
    X(HISTORY_RUN_END, "run-end")       /* phase: `cause` says why */                              \
    X(HISTORY_OBSERVE, "observe")       /* op: asks who holds the lock; only in foreign files */   \
    X(HISTORY_KEY_TOUCHED, "touched") /* node: changed otherwise: a count, one of several keys */  \
    X(HISTORY_STOOD_STILL, "stood-still") /* late: `cause` says which part, numbers how long */    \
    X(HISTORY_VALUE_MISMATCH, "value-mismatch") /* client: it reported a value never sent */       \
    X(HISTORY_GIVEN_UP, "given-up") /* client: its acquire, which was not answered in time */      \
    X(HISTORY_UNASKED, "unasked")   /* client: it was answered, and had asked nothing */

/* Why: of a key's end, of a failed operation, of a run's end. */
#define HISTORY_CAUSE_MAP(X)                                                                       \
    X(CAUSE_NONE, "")                                                                              \
    X(CAUSE_TTL, "ttl")               /* key: its time was up on a sound clock */                  \
    X(CAUSE_CLOCK_JUMP, "clock-jump") /* key: expired early or late by a jump */                   \
    X(CAUSE_CLOCK_RATE, "clock-rate") /* key: ... by a wrong rate */                               \
    X(CAUSE_RESTART, "restart")       /* key: not in what the node read back */                    \
    X(CAUSE_FAILOVER, "failover")     /* key: not yet replicated */                                \
    X(CAUSE_DEPOSED, "deposed")       /* key: ended by a leader that was none any more */          \
    X(CAUSE_SPLIT, "split")           /* key: another part of its cluster knew nothing of it */    \
    X(CAUSE_SESSION, "session")       /* key: its connection ended, and it with that */            \
    X(CAUSE_SHARED, "shared-session") /* key: another client's statement was in its session */     \
    X(CAUSE_EVICTION, "eviction")                                                                  \
    X(CAUSE_FLUSH, "flush")                                                                        \
    X(CAUSE_RELEASED, "released")             /* key: deleted by its owner */                      \
    X(CAUSE_FOREIGN, "foreign")               /* key: deleted or extended by another client */     \
    X(CAUSE_NO_QUORUM, "no-quorum")           /* op */                                             \
    X(CAUSE_VALIDITY_SPENT, "validity-spent") /* op */                                             \
    X(CAUSE_TIMEOUT, "timeout")               /* op */                                             \
    X(CAUSE_NOT_HOLDING, "not-holding")       /* op */                                             \
    X(CAUSE_EXTEND_LIMIT, "extend-limit")     /* op */                                             \
    X(CAUSE_STALE_FENCE, "stale-fence")       /* write refused by the guarded store */             \
    X(CAUSE_OTHER_VALUE, "other-value")       /* write refused by the guarded store */             \
    X(CAUSE_LIBRARY_ERROR, "library-error")   /* op: the adapter's library said so */              \
    X(CAUSE_ALL_DONE, "all-done")             /* run end: every client finished */                 \
    X(CAUSE_DEADLINE, "deadline")             /* run end: the scenario's time was up */            \
    X(CAUSE_STOPPED, "stopped")               /* run end: at the first violation, or by hand */    \
    X(CAUSE_LOOP, "loop")                     /* late: the loop that stamps and answers */         \
    X(CAUSE_SCHEDULER, "scheduler")           /* late: a process was not given a processor */      \
    X(CAUSE_SUSPEND, "suspend")               /* late: the whole machine was */                    \
    X(CAUSE_CLOCK_STEP, "clock-step")         /* late: somebody set the machine's wall clock */    \
    X(CAUSE_TAP, "tap")     /* late: what happened on the node meanwhile was not told */           \
    X(CAUSE_START, "start") /* late: the node's server was started, and not up yet */              \
    X(CAUSE_AGENT, "agent") /* late: an order to the node was under way, and commands waited */    \
    X(CAUSE_LIVELOCK, "livelock") /* run end: a client's lock asked to be woken at once for ever   \
                                   */

/*
 * Kinds of fault (docs/FAULTS.md): a row is all that the two halves share about one.
 *
 *   word    as scenario files and histories name it
 *   nature  what it strikes, and of what sort it is: enum fault_nature
 *   life    enum fault_life
 *   unit    of what was asked (numbers[0]): enum fault_unit
 *   keys    of the scenario file, beside at, on, nth, do and, where it lasts, for, until,
 * until_nth;
 *           "!" behind those that it needs
 */
#define HISTORY_FAULT_MAP(X)                                                                       \
    X(FAULT_NONE, "none", 0, INSTANT, NONE, "")                                                    \
    X(FAULT_PAUSE, "pause", ON_CLIENT | ON_NODE, LASTS, LENGTH, "target")                          \
    X(FAULT_KILL, "kill", ON_CLIENT, INSTANT, NONE, "target")                                      \
    X(FAULT_SLOW, "slow", ON_CLIENT, LASTS, AMOUNT, "target delay! jitter")                        \
    X(FAULT_CLOCK_JUMP, "clock_jump", ON_CLIENT | ON_NODE | OF_CLOCK, STAYS, JUMP, "target by!")   \
    X(FAULT_CLOCK_RATE, "clock_rate", ON_CLIENT | ON_NODE | OF_CLOCK, LASTS, PPM, "target rate!")  \
    X(FAULT_CRASH, "crash", ON_NODE | OF_PROCESS, LASTS, LENGTH, "target")                         \
    X(FAULT_POWER_LOSS, "power_loss", ON_NODE | OF_PROCESS, LASTS, LENGTH, "target")               \
    X(FAULT_SHUTDOWN, "shutdown", ON_NODE | OF_PROCESS, LASTS, LENGTH, "target")                   \
    X(FAULT_STALL, "stall", ON_NODE, LASTS, LENGTH, "target")                                      \
    X(FAULT_REFUSE_WRITES, "refuse_writes", ON_NODE | OF_SERVER, LASTS, ERROR, "target error")     \
    X(FAULT_SCRIPT_FLUSH, "script_flush", ON_NODE | OF_SERVER, STAYS, NONE, "target")              \
    X(FAULT_EVICT, "evict", ON_NODE | OF_SERVER, INSTANT, NONE, "target")                          \
    X(FAULT_FAILOVER, "failover", ON_NODE | OF_SERVER, INSTANT, AMOUNT, "target lag")              \
    X(FAULT_LATENCY, "latency", ON_LINK, LASTS, AMOUNT, "from to direction delay! jitter")         \
    X(FAULT_PARTITION, "partition", ON_LINK, LASTS, MODE, "from to direction mode shape")          \
    X(FAULT_LOSE_REPLY, "lose_reply", ON_LINK | OF_COMMAND, LASTS, NONE, "from to command")        \
    X(FAULT_DELAY_COMMAND, "delay_command", ON_LINK | OF_COMMAND, LASTS, AMOUNT,                   \
      "delay! from to command")

/* What a lock under test says of itself. */
#define HISTORY_DECLARES_MAP(X)                                                                    \
    X(DECLARES_VALIDITY, "validity")   /* grants promise an end */                                 \
    X(DECLARES_EXTEND, "extend")       /* a grant can be extended when asked */                    \
    X(DECLARES_FENCE, "fence")         /* grants carry fences */                                   \
    X(DECLARES_NOTICE, "notice")       /* tells of a loss unasked */                               \
    X(DECLARES_RENEW, "renew")         /* extends by itself while it holds */                      \
    X(DECLARES_WAIT, "wait")           /* an acquire waits until it is granted */                  \
    X(DECLARES_DEADLINE, "deadline")   /* ... or until a time that the caller names */             \
    X(DECLARES_CANCEL, "cancel")       /* ... or until the caller gives up */                      \
    X(DECLARES_REENTRANT, "reentrant") /* an owner may acquire again what it holds */              \
    X(DECLARES_SEVERAL, "several")     /* one client may hold several resources at once */         \
    X(DECLARES_THREADS, "threads")     /* several threads of one program may use it at once */

/* Who the lock takes for one and the same owner. */
#define HISTORY_OWNERSHIP_MAP(X)                                                                   \
    X(OWNERSHIP_UNKNOWN, "")                                                                       \
    X(OWNERSHIP_PROCESS, "process") /* all of a program */                                         \
    X(OWNERSHIP_THREAD, "thread")   /* a thread or task of it */                                   \
    X(OWNERSHIP_OBJECT, "object")   /* the lock object: each acquire has its own */

/* Which links between the clients and nodes that a fault names it cuts: see history_links_cut. */
#define HISTORY_LINKS_MAP(X)                                                                       \
    X(LINKS_ALL, "")                                                                               \
    X(LINKS_RING, "ring")     /* client i sees only the majority that begins at node i */          \
    X(LINKS_BRIDGE, "bridge") /* odd clients see the lower half, even ones the upper, all the      \
                                 middle */

enum history_kind {
#define X(name, word) name,
    HISTORY_KIND_MAP(X)
#undef X
        HISTORY_KINDS,
};

enum history_type {
#define X(name, word) name,
    HISTORY_TYPE_MAP(X)
#undef X
        HISTORY_TYPES,
};

enum history_f {
#define X(name, word) name,
    HISTORY_F_MAP(X)
#undef X
        HISTORY_FS,
};

enum history_cause {
#define X(name, word) name,
    HISTORY_CAUSE_MAP(X)
#undef X
        HISTORY_CAUSES,
};

enum fault_kind {
#define X(name, word, nature, life, unit, keys) name,
    HISTORY_FAULT_MAP(X)
#undef X
        FAULT_KINDS,
};

/* What a fault strikes (at least one of the first three), and of what sort it is. */
enum fault_nature {
    FAULT_ON_CLIENT = 1 << 0,
    FAULT_ON_NODE = 1 << 1,
    FAULT_ON_LINK = 1 << 2,
    FAULT_OF_CLOCK = 1 << 3,
    FAULT_OF_PROCESS = 1 << 4, /* a node's process ends, and begins anew when the fault does */
    FAULT_OF_SERVER = 1 << 5,  /* an order that not every kind of server understands */
    FAULT_OF_COMMAND = 1 << 6, /* single commands on a link, by their role */
};

enum fault_life {
    FAULT_INSTANT, /* over as soon as it has struck */
    FAULT_STAYS,   /* the same, but what it did is there for all that follows */
    FAULT_LASTS,   /* until its end, which takes it back */
};

enum fault_unit {
    FAULT_UNIT_NONE,
    FAULT_UNIT_LENGTH, /* ns from beginning to end */
    FAULT_UNIT_AMOUNT, /* ns of what it does */
    FAULT_UNIT_JUMP,   /* the same, which may be negative */
    FAULT_UNIT_PPM,    /* millionths of the sound rate */
    FAULT_UNIT_MODE,   /* what becomes of the bytes: hold, drop, refuse, reset */
    FAULT_UNIT_ERROR,  /* what the node answers: OOM, READONLY, LOADING */
};

struct fault_trait {
    uint8_t nature; /* enum fault_nature */
    uint8_t life;   /* enum fault_life */
    uint8_t unit;   /* enum fault_unit */
    const char *keys;
};

/* The row of a kind. */
const struct fault_trait *fault_trait_of(enum fault_kind kind);

static inline bool fault_is(enum fault_kind kind, enum fault_nature nature)
{
    return (fault_trait_of(kind)->nature & nature) != 0;
}

enum history_declares {
#define X(name, word) name,
    HISTORY_DECLARES_MAP(X)
#undef X
        HISTORY_DECLARES,
};

enum history_ownership {
#define X(name, word) name,
    HISTORY_OWNERSHIP_MAP(X)
#undef X
        HISTORY_OWNERSHIPS,
};

enum history_links {
#define X(name, word) name,
    HISTORY_LINKS_MAP(X)
#undef X
        HISTORY_LINKS,
};

/* The value that proves who owns a key; all zero where there is none (see history_event). */
struct history_value {
    uint8_t bytes[HISTORY_VALUE_BYTES];
};

enum {
    HISTORY_HAS_VALUE = 1 << 0,
    HISTORY_HAS_OWNER = 1 << 1,
    HISTORY_HAS_FENCE = 1 << 2,
    HISTORY_HAS_UNTIL = 1 << 3, /* a lease with a promised end */
    HISTORY_AUDIT = 1 << 4,     /* by the auditor, who asks for the lock after the last heal */
    HISTORY_HAS_SINCE = 1 << 5, /* the time is not exact: see since_ns */
    HISTORY_HAS_UNTIL_LEAST = 1 << 6, /* the promise is not exact: see until_least_ns */
    HISTORY_HAS_TTL = 1 << 7,         /* node: the key was given an expiry */
    HISTORY_HAS_SENT = 1 << 8,        /* node: it is known when the client sent the command */
    HISTORY_HAS_REPLIED = 1 << 9,     /* node: ... and when the reply was back at the client */
    HISTORY_SEEN_PROCESS = 1 << 10,   /* observe ok: the holder is the process number[0] */
};

enum { HISTORY_NOBODY = -1, HISTORY_NO_NODE = -1, HISTORY_NO_FAULT = -1 };

/* Nodes and clients are counted from 0 here and from 1 in files and sentences. */
struct history_event {
    int64_t time_ns;    /* true time since the run began; never decreases */
    uint64_t index;     /* 0, 1, 2, ...: set by the recorder, or the reader */
    uint8_t kind;       /* enum history_kind */
    uint8_t type;       /* op: enum history_type */
    uint8_t f;          /* enum history_f */
    uint8_t cause;      /* enum history_cause */
    uint8_t fault_kind; /* fault: enum fault_kind */
    uint8_t links;      /* start of a fault: enum history_links between clients, nodes */
    uint16_t flags;     /* HISTORY_HAS_..., HISTORY_AUDIT */
    /* node: the command's name in the dialect of its kind of server (lockcore/dialect.h),
     * terminated;
     * "" where it has none */
    char command[HISTORY_COMMAND_BYTES];
    int32_t process;            /* the client; node: who sent the command; or HISTORY_NOBODY */
    int32_t node;               /* node, fault: the node, or HISTORY_NO_NODE */
    int32_t fault;              /* fault: its number in the scenario; node: the fault that did it */
    uint32_t resource;          /* op, section, notice, node: index of the resource's name */
    struct history_value value; /* op: of the grant; node: that the command named */
    struct history_value owner; /* node: that the key held before the command; op: the owner's name
                                   in a foreign history; observe ok: the holder */
    int64_t until_ns; /* op ok, lease: the promised end in true time; node: the key's expiry */
    int64_t since_ns; /* with HAS_SINCE: it happened in [since_ns, time_ns]; else at time_ns */
    int64_t until_least_ns; /* with HAS_UNTIL_LEAST: the promised end at its earliest reading;
                               until_ns is the latest; else until_ns is exact */
    int64_t ttl_ns;         /* node: the ttl that was set, on the node's clock */
    int64_t sent_ns;        /* node, with HAS_SENT: when its client sent the command; as seen by
                               the proxy where there is one */
    int64_t replied_ns;     /* node, with HAS_REPLIED: when the reply came to the client's socket,
                               or was let go there by the proxy; with HAS_SENT alone it never did */
    int64_t fence;          /* op: > 0 */
    int64_t version;        /* write: the store's version after it; read: the version that was seen;
                               observe ok without owner: 1 held by somebody, 0 free */
    int64_t basis;          /* write: the version that the writer had read */
    int64_t number[2]; /* fault: what was asked and observed; fault_numbers in docs/FAULTS.md */
    /* The start of a fault that strikes several names them all; one of one has them in process and
       node, and these are 0. */
    int32_t clients[2]; /* first and last */
    uint64_t nodes;     /* bit n */
    /* ... of links between nodes: those at their one end, while node and nodes are at the other. */
    uint64_t peers;
};

/* Whoever hashes or compares events may take their bytes. */
_Static_assert(sizeof(struct history_event) == 8 * sizeof(uint8_t) + HISTORY_COMMAND_BYTES + 4 * 4 +
                                                   2 * HISTORY_VALUE_BYTES + 2 * 4 + 15 * 8,
               "no padding");

/* Less than this nobody measures: a recorder that stood still for longer says so (HISTORY_LATE). */
#define HISTORY_LATE_NOTED_NS ((int64_t)1000000)

/* The first line. Names are terminated. */
struct history_header {
    uint32_t format; /* HISTORY_FORMAT; 0: another's, who counts processes from 0 */
    uint64_t seed;
    char scenario[HISTORY_NAME_BYTES];
    char world[8]; /* "sim", "real", or "" for a foreign history */
    char algorithm[HISTORY_NAME_BYTES];
    char library[HISTORY_NAME_BYTES]; /* "lockcore 0.1.0", "redlock 4.2.0", or "" */
    int32_t node_count;               /* 0 where unknown */
    int32_t client_count;             /* the auditor is process client_count; 0 where unknown */
    int32_t resource_count;           /* 0 where unknown */
    int32_t fault_count;              /* faults of the scenario: each must strike */
    int64_t ttl_ns;                   /* 0 where unknown */
    int64_t bound_ns;       /* after the last heal, the lock is free again within ttl + bound */
    int64_t drift_ppm;      /* the lock's own allowance */
    bool promises_validity; /* leases have a promised end */
    bool endless;           /* the lock asks the nodes for no ttl: its keys end otherwise */
    bool declared;          /* the lock said what it is: `declares` and `ownership` are its word */
    uint16_t declares;      /* bit n: enum history_declares */
    uint8_t ownership;      /* enum history_ownership */
    /* Votes; 0: as many as nodes. 1: all nodes are one store, and the first stands for it in what
     * is told of its keys; with replicas, the one that serves. */
    int32_t store_count;
    int32_t replica_count;  /* of the nodes of one store: all but the one that serves */
    int32_t thread_count;   /* of each program: client c is thread c % n of program c / n; 0: 1 */
    int32_t at_once;        /* resources that each client is to hold at once; 0: 1 */
    int32_t again;          /* so often each client is to acquire what it holds */
    int64_t deadline_ns;    /* each acquire was to be answered within so long; 0: no limit */
    int64_t patience_ns;    /* ... or, once it was given up, at once; this much later is forgiven */
    int64_t attempts_ns;    /* an acquire with all its retries takes so long at most; 0: no retry */
    int32_t tries;          /* an acquire makes so many attempts at most, each with a value of its
                               own; 0: unknown, and so are the next three */
    bool one_value;         /* ... no: each acquire has one, and whoever asks again for it tries
                               again */
    int64_t retry_delay_ns; /* ... with no less than this between them */
    int32_t extends;        /* ... so many extensions of a grant are done at most */
    int64_t allowance_ns;   /* ... and a promise ends so much before a ttl is over */
    int64_t renew_every_ns; /* how often a lock that renews does so; 0 where unknown */
    int64_t resend_ns;      /* a release that a node did not answer is sent to it again after so
                               long, until it does or a ttl is over; 0 where unknown */
    bool set_decides;       /* a majority that has set its key is all that a grant takes */
    char server[HISTORY_NAME_BYTES]; /* what the nodes run: "redis 7.0.15"; "" where unknown */
    char sites[HISTORY_SITES_BYTES]; /* nodes on other machines: where, and their clocks */
    int64_t clock_bound_ns; /* what is not known of those clocks; 0: nodes are where we are */
    char unwatched[HISTORY_WHY_BYTES]; /* why no node told what became of its keys; "": they did */
    bool tapped;      /* nodes were listened to, and tell all that became of their keys */
    bool fence_check; /* the guarded store refuses older fences */
    bool value_check; /* the guarded store refuses other values than the last claimed */
    bool fenced;      /* grants carry fences */
};

enum { HISTORY_FORMAT = 1 };

static inline int32_t history_stores(const struct history_header *header)
{
    return header->store_count > 0 ? header->store_count : header->node_count;
}

/* Several nodes that answer for one another: what is told of keys is the service's, of no node. */
static inline bool history_is_cluster(const struct history_header *header)
{
    return header->store_count == 1 && header->node_count > 1 && header->replica_count == 0;
}

/* The words of one idea, by the number of each. */
struct history_vocabulary {
    const char *const *words;
    size_t count;
};

extern const struct history_vocabulary history_kinds;
extern const struct history_vocabulary history_types;
extern const struct history_vocabulary history_fs;
extern const struct history_vocabulary history_causes;
extern const struct history_vocabulary history_fault_kinds;
extern const struct history_vocabulary history_declarations;
extern const struct history_vocabulary history_ownerships;
extern const struct history_vocabulary history_link_shapes;

const char *history_kind_name(enum history_kind kind);
const char *history_type_name(enum history_type type);
const char *history_f_name(enum history_f f);
const char *history_cause_name(enum history_cause cause);
const char *fault_kind_name(enum fault_kind kind);

/*
 * Find what a word names; false if nothing. `bytes` is the word's length, which need not be
 * terminated.
 */
bool history_kind_find(const char *word, size_t bytes, enum history_kind *kind);
bool history_type_find(const char *word, size_t bytes, enum history_type *type);
bool history_f_find(const char *word, size_t bytes, enum history_f *f);
bool history_cause_find(const char *word, size_t bytes, enum history_cause *cause);
bool fault_kind_find(const char *word, size_t bytes, enum fault_kind *kind);

/* The kind of event that an f belongs to: acquire -> op, key-lost -> node. */
enum history_kind history_f_kind(enum history_f f);

/* Whether these links lack the one between this client and this node. */
bool history_links_cut(enum history_links links, int32_t node_count, int32_t client, int32_t node);

/*
 * Whom the start of a fault strikes, as far as it says: a client that stops, a node, both ends of
 * the links. One that names neither, as older files have it, may strike anybody.
 */
bool history_fault_names_client(const struct history_event *start, int32_t client);
bool history_fault_names_node(const struct history_event *start, int32_t node);

/*
 * Make a value of any text: 40 hex digits are the value itself, at most 20 bytes are padded with
 * zeros, longer ones (a UUID of a foreign history) are hashed.
 */
void history_value_parse(const char *word, size_t bytes, struct history_value *value);
void history_value_print(const struct history_value *value, char hex[2 * HISTORY_VALUE_BYTES]);

/* Of a grant: above 0; 0: it has none. */
static inline int64_t history_fence(const struct history_event *event)
{
    return (event->flags & HISTORY_HAS_FENCE) != 0 && event->fence > 0 ? event->fence : 0;
}

static inline bool history_value_equal(const struct history_value *a, const struct history_value *b)
{
    for (int i = 0; i < HISTORY_VALUE_BYTES; i++) {
        if (a->bytes[i] != b->bytes[i]) {
            return false;
        }
    }
    return true;
}

#endif
