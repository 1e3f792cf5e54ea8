/*
 * scenario.h: one scenario: the set-up, the faults, and the verdict expected of every check.
 *
 *     FILE.yaml --scenario_read()--> struct scenario --scenario_plan(seed)--> struct plan
 *
 * docs/SCENARIO.md describes the file; the table in scenario_table.c is what the parser, the JSON
 * schema and the canonical print all use. A plan is a scenario in which nothing is left to chance:
 * random faults are drawn, names of partitions are resolved, times are scaled. Both worlds run a
 * plan. Counting is from 0 here and from 1 in files.
 */
#ifndef HARNESS_SCENARIO_H
#define HARNESS_SCENARIO_H

#include "base/arena.h"
#include "base/duration.h"
#include "base/result.h"
#include "base/text.h"
#include "history/event.h"
#include "lockcore/dialect.h"
#include "servers/server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SCENARIO_BYTES_MAX = 1 << 20, /* a file */
    SCENARIO_NAME_BYTES = HISTORY_NAME_BYTES,
    SCENARIO_TEXT_BYTES = 1024, /* about, source */
    SCENARIO_PATH_BYTES = 4096, /* no system takes a longer one */
    SCENARIO_FAULTS_MAX = 64,
    SCENARIO_EXPECTS_MAX = 24,
    SCENARIO_CLIENTS_MAX = 10000,
    SCENARIO_RESOURCES_MAX = 1024,
    SCENARIO_HOLDS_MAX = 4, /* grants that a client has at once */
    SCENARIO_THREADS_MAX = 8,
    SCENARIO_ANY = -1, /* any client, any node */
};

/* Named places in a client's life where a fault can strike, in the order of that life. */
#define PROBE_MAP(X)                                                                               \
    X(PROBE_BEFORE_SEND, "before_send")       /* the start time is taken, no SET is sent yet */    \
    X(PROBE_BEFORE_REPLIES, "before_replies") /* every SET is sent, no reply was read */           \
    X(PROBE_AFTER_MAJORITY,                                                                        \
      "after_majority") /* the reply that makes the majority, of a grant or an extension, has      \
                           arrived and was not looked at yet */                                    \
    X(PROBE_AFTER_GRANTED, "after_granted")   /* the lock said yes, the section is not entered */  \
    X(PROBE_BEFORE_WRITE, "before_write")     /* the store was read, the write is not sent */      \
    X(PROBE_AFTER_WRITE, "after_write")       /* the store answered the write */                   \
    X(PROBE_BEFORE_EXTEND, "before_extend")   /* about to ask for more time */                     \
    X(PROBE_AFTER_EXTEND, "after_extend")     /* the outcome of an extension is known */           \
    X(PROBE_BEFORE_RELEASE, "before_release") /* the section is left, the release is not asked */  \
    X(PROBE_AFTER_RELEASE, "after_release")   /* the outcome of the release is known */            \
    X(PROBE_AFTER_REFUSED, "after_refused")   /* an acquire ended without a grant */

enum probe_point {
#define X(name, word) name,
    PROBE_MAP(X)
#undef X
        PROBE_POINTS,
};

/* Commands as scenarios name them: a role, whatever algorithm or library sends them. */
#define COMMAND_ROLE_MAP(X)                                                                        \
    X(ROLE_SET, "set")       /* asks for the key: SET NX PX, SETNX, an acquire script */           \
    X(ROLE_EXTEND, "extend") /* new ttl for a key */                                               \
    X(ROLE_DELETE, "delete") /* DEL, a release script */                                           \
    X(ROLE_OTHER, "other")                                                                         \
    X(ROLE_ANY, "command")

enum command_role {
#define X(name, word) name,
    COMMAND_ROLE_MAP(X)
#undef X
        COMMAND_ROLES,
};

/* When something happens: at a time, at the nth passing of a probe, at the nth command. */
enum trigger_kind {
    TRIGGER_NEVER,
    TRIGGER_TIME,    /* at: 30s */
    TRIGGER_PROBE,   /* on: client 1 after_granted */
    TRIGGER_COMMAND, /* on: node 3 set [from client 1]: it was applied, the reply is not out yet */
    TRIGGER_ARRIVAL, /* on: node 3 before set [from client 1]: it is about to reach the node */
};

struct trigger {
    uint8_t kind;   /* enum trigger_kind */
    uint8_t point;  /* PROBE: enum probe_point */
    uint8_t role;   /* COMMAND, ARRIVAL: enum command_role */
    int32_t client; /* PROBE, COMMAND, ARRIVAL: or SCENARIO_ANY */
    int32_t node;   /* COMMAND, ARRIVAL: or SCENARIO_ANY */
    uint32_t nth;   /* >= 1: which passing, counted from the start of the run (an `until`: from
                       the beginning of its fault) */
    int64_t at_ns;  /* TIME */
};

#define PARTITION_MODE_MAP(X)                                                                      \
    X(MODE_HOLD, "hold") /* nothing passes; all of it is delivered after the heal, as TCP does */  \
    X(MODE_DROP, "drop") /* bytes vanish; the connection is reset at the heal */                   \
    X(MODE_REFUSE, "refuse") /* connections are cut and new ones refused */                        \
    X(MODE_RESET, "reset")   /* connections are cut, new ones are accepted */

enum partition_mode {
#define X(name, word) name,
    PARTITION_MODE_MAP(X)
#undef X
};

enum { DIRECTION_REQUEST = 1, DIRECTION_REPLY = 2, DIRECTION_BOTH = 3 };

struct fault {
    uint8_t kind;      /* enum fault_kind */
    uint8_t mode;      /* PARTITION: enum partition_mode */
    uint8_t direction; /* PARTITION, LATENCY: DIRECTION_... */
    uint8_t error;     /* REFUSE_WRITES: enum node_error */
    uint8_t role;      /* LOSE_REPLY, DELAY_COMMAND: which commands */
    struct trigger start;
    int64_t after_ns;     /* how long behind the event of `start` it begins; 0: at once */
    struct trigger until; /* NEVER: ends after for_ns; TIME_NEVER there: lasts to the heal */
    int64_t for_ns;       /* CRASH, POWER_LOSS, SHUTDOWN: until the restart; LOSE_REPLY,
                             DELAY_COMMAND, 0: only the command that pulled the trigger; 0 for
                             faults that happen once: KILL, CLOCK_JUMP, SCRIPT_FLUSH, EVICT,
                             FAILOVER */
    int32_t client_first; /* clients concerned: first..last; -1..-1 for none */
    int32_t client_last;
    uint32_t node_mask;    /* nodes concerned: bit i */
    uint32_t peer_mask;    /* LATENCY, PARTITION of links between nodes: those at the other end; 0:
                              its links are between clients and nodes */
    uint8_t shape;         /* PARTITION: enum partition_shape; then clients and nodes follow it */
    int64_t amount_ns;     /* CLOCK_JUMP: signed; LATENCY, SLOW, DELAY_COMMAND, FAILOVER lag */
    int64_t jitter_ns;     /* LATENCY, SLOW: up to this much more */
    int64_t rate_ppm;      /* CLOCK_RATE: 1000000 is a sound clock, 0 a stopped one */
    uint32_t line, column; /* where it stands in the file */
};

/* Which links a partition cuts; the seed draws what a name leaves open when a plan is made. */
#define PARTITION_SHAPE_MAP(X)                                                                     \
    X(SHAPE_LINKS, "links")       /* from: clients, to: nodes */                                   \
    X(SHAPE_ONE, "one")           /* all clients from one drawn node */                            \
    X(SHAPE_MINORITY, "minority") /* all clients from a drawn minority of nodes */                 \
    X(SHAPE_MAJORITY, "majority") /* all clients from a drawn majority of nodes */                 \
    X(SHAPE_RING, "ring")         /* client i sees the majority that begins at node i */           \
    X(SHAPE_BRIDGE, "bridge") /* even clients see the lower half, odd the upper, all the middle */

enum partition_shape {
#define X(name, word) name,
    PARTITION_SHAPE_MAP(X)
#undef X
};

/* Whether the fault touches the link between this client and this node. */
bool fault_touches_link(const struct fault *fault, int32_t node_count, int32_t client,
                        int32_t node);

/* How a fault touches what one node sends to another. */
enum fault_way {
    FAULT_WAY_NONE,
    FAULT_WAY_REQUEST, /* it goes the way of the fault's `from` and `to` ... */
    FAULT_WAY_REPLY,   /* ... or back */
};

enum fault_way fault_way_between(const struct fault *fault, int32_t sender, int32_t receiver);

/* Name in the event of a fault's start whom it strikes. */
void fault_name_targets(const struct fault *fault, struct history_event *start);

/* What the scenario asked for, in the unit of the fault's kind: docs/FAULTS.md. */
int64_t fault_asked(const struct fault *fault);

/* The one client, the one node that a fault is about; HISTORY_NOBODY, HISTORY_NO_NODE if it is
 * about none or about several. */
int32_t fault_one_client(const struct fault *fault);
int32_t fault_one_node(const struct fault *fault);

/* What a client does that is told that its lock was lost. */
#define ON_LOST_MAP(X)                                                                             \
    X(ON_LOST_FINISH, "finish") /* finishes its section, as most programs do */                    \
    X(ON_LOST_LEAVE, "leave")   /* leaves it at once */                                            \
    X(ON_LOST_EXTEND, "extend") /* finishes it, and goes on asking for more time */

enum on_lost {
#define X(name, word) name,
    ON_LOST_MAP(X)
#undef X
};

/* In which order a client acquires what it wants at once. */
#define ACQUIRE_ORDER_MAP(X)                                                                       \
    X(ORDER_SAME, "same") /* all clients in the same one: nobody waits in a circle */              \
    X(ORDER_ANY, "any")   /* as they are drawn */

enum acquire_order {
#define X(name, word) name,
    ACQUIRE_ORDER_MAP(X)
#undef X
};

struct expectation {
    char check[SCENARIO_NAME_BYTES];
    char verdict[12]; /* "pass", "fail", "unknown", "skipped"; "any": no fail that the library is to
                         blame for */
    char blame[16];   /* "" where the file does not say */
    uint32_t line, column;
};

/* faults: {random: ...}: each seed switches a subset on. */
struct random_faults {
    bool present;
    uint32_t kinds;     /* bit k: enum fault_kind k may be drawn */
    uint32_t count_max; /* at most this many faults a run */
    int64_t from_ns;    /* earliest ... */
    int64_t to_ns;      /* ... and latest start */
};

struct scenario {
    char name[SCENARIO_NAME_BYTES];
    char about[SCENARIO_TEXT_BYTES];
    char source[SCENARIO_TEXT_BYTES];
    char path[SCENARIO_PATH_BYTES];
    uint16_t needs; /* bit n: enum history_declares; without them it does not apply to a lock, */
    uint16_t lacks; /* ... nor to one that declares any of these */

    struct lock_config lock;
    char algorithm[SCENARIO_NAME_BYTES];

    int32_t node_count;
    uint8_t node_kind; /* of servers/kinds.h */
    uint8_t fsync;     /* enum fsync_setting */
    uint8_t pooler;    /* enum pooler_setting */
    uint8_t consensus; /* enum consensus_setting */
    struct server_sentinels sentinels;

    int32_t client_count;
    int32_t thread_count; /* clients of one program: client c is thread c % n of program c / n */
    int32_t resource_count;
    int32_t at_once;         /* of them, in each section */
    uint8_t order;           /* enum acquire_order */
    int32_t again;           /* so often a holder acquires what it holds */
    int32_t sections;        /* per client */
    int32_t writes;          /* per section */
    int64_t hold_ns;         /* length of a section, its writes spread over it */
    int64_t think_ns;        /* before each acquire, ... */
    int64_t think_jitter_ns; /* ... and up to this much more */
    int64_t extend_every_ns; /* 0: never extends */
    uint8_t on_lost;         /* enum on_lost */
    int32_t releases;        /* of each section: >= 1 */
    int64_t deadline_ns;     /* an acquire must be answered within this; 0: no limit */
    int64_t cancel_after_ns; /* gives up an acquire that is not answered after this; 0: never */

    bool fence_check; /* guarded store: refuses older fences */
    bool value_check; /* guarded store: refuses a value that is not the last that read it */

    int64_t latency_ns; /* nodes: one way, before faults; sim only (real has its own) */
    int64_t latency_jitter_ns;
    int64_t duration_ns; /* the clients' time; then everything is healed and audited */
    int64_t bound_ns;    /* after the heal the lock must be free within ttl + bound */

    size_t fault_count;
    struct fault faults[SCENARIO_FAULTS_MAX];
    struct random_faults random;

    size_t expect_count;
    struct expectation expects[SCENARIO_EXPECTS_MAX];
    uint32_t expect_line; /* of the key above them */
};

/* The first client of the program of which this one is a thread; without threads, itself. */
static inline int32_t scenario_program(const struct scenario *scenario, int32_t client)
{
    return scenario->thread_count > 1 ? client - client % scenario->thread_count : client;
}

/* The number of that program, from 0. */
static inline int32_t scenario_program_number(const struct scenario *scenario, int32_t client)
{
    return scenario->thread_count > 1 ? client / scenario->thread_count : client;
}

/* A scenario with nothing left open: `faults` is what will strike, `random` is absent. */
#define STRESS_NS_MAX (10 * NS_PER_S)

struct plan {
    struct scenario scenario;
    uint64_t seed;
    bool drawn;        /* the faults are drawn ones: not each of them needs to strike */
    int64_t stress_ns; /* sim: messages and steps are put off by up to this much; 0: nothing is */
};

/* The checks that `expect` may name: the harness does not know the checker. */
struct scenario_checks {
    size_t count;
    const char *const *names;
};

/* The bytes of a scenario file, wherever they come from. */
struct scenario_source {
    const char *path; /* for messages; the scenario's name must be its last part without .yaml */
    const char *bytes;
    size_t length;
    const struct scenario_checks *checks; /* NULL: any name will do */
};

/*
 * Read and check a scenario file.
 *
 *   path      in   A regular file of at most SCENARIO_BYTES_MAX bytes.
 *   checks    in   What `expect` may name; NULL: any name.
 *   arena     in   For the time of the call only.
 *   scenario  out  Filled on success.
 *   errors    out  On failure every problem found, each as "FILE:LINE:COLUMN: sentence", the
 *                  source line, a caret, and "did you mean".
 *
 * Returns ERROR_USAGE (no such file, a directory), ERROR_IO, ERROR_SYNTAX, ERROR_SCHEMA or
 * ERROR_LIMIT.
 */
MUST_USE struct result scenario_read(const char *path, const struct scenario_checks *checks,
                                     struct arena *arena, struct scenario *scenario,
                                     struct text *errors);

/* May the first `bytes` bytes of `word` name a scenario, and so its file? And what a name is. */
#define SCENARIO_NAME_IS "one word of letters, digits, \"-\", \"_\" and \".\""
bool scenario_is_name(const char *word, size_t bytes);

/* The same for bytes that are in memory already. */
MUST_USE struct result scenario_parse(const struct scenario_source *source, struct arena *arena,
                                      struct scenario *scenario, struct text *errors);

/* Print in canonical form; parses back to the same scenario. */
void scenario_print(const struct scenario *scenario, struct text *text);

/* One fault as its line in the file: "{at: 1s, do: crash, target: node 3}". */
void fault_print(const struct scenario *scenario, const struct fault *fault, struct text *text);

/* Print the JSON schema (draft-07) of scenario files, for editors; checks may be NULL. */
void scenario_schema_print(const struct scenario_checks *checks, struct text *text);

/*
 * Leave nothing to chance: draw random faults and partition names from `seed`, multiply every
 * duration by time_scale_ppm / 1e6.
 */
void scenario_plan(const struct scenario *scenario, uint64_t seed, int64_t time_scale_ppm,
                   struct plan *plan);

/* The header that both worlds record for this plan. `world` is "sim" or "real". */
void plan_header(const struct plan *plan, const char *world, struct history_header *header);

/* Take back what a header says of how the lock goes about it: of another's nobody knows it. */
void plan_header_unsay(struct history_header *header);

/* How long a run may go on for what is still to be seen of it: longer than a lock may take to come
 * free, so that one that comes late is told from one that never does. */
int64_t plan_linger_ns(const struct plan *plan);

/* What an acquire with all its retries takes at most; 0 where it is not tried again. */
int64_t plan_attempts_ns(const struct plan *plan);

const char *probe_point_name(enum probe_point point);
const char *command_role_name(enum command_role role);
enum command_role command_role_of(enum lock_verb verb);

#endif
