/*
 * lock.h: one client's side of a lock algorithm, with no I/O in it.
 *
 *     lock_event  -->  lock_step()  -->  lock_effects
 *     what happened                      what the client must now do
 *
 *     struct lock lock;
 *     lock_init(&lock, &config);
 *     struct lock_event event = {.type = LOCK_EVENT_ACQUIRE, .now_ns = now, ...};
 *     lock_step(&lock, &event, &effects);
 *     for (uint32_t i = 0; i < effects.count; i++) { carry out effects.list[i]; }
 *
 * A lock never reads a clock, draws a random number, opens a socket or allocates.
 * The simulator and the hiredis driver both use this one door, so the code judged
 * in simulation is the code that runs against real servers.
 *
 * A value proves who set a key; a fence orders the grants. Neither is called a token.
 * A lock does not know its resource's name: whoever carries out the effects does.
 *
 * Life: lock_init, then lock_step until the run ends. The struct owns nothing and holds neither
 * pointer nor padding, so that it can be copied, compared with memcmp and thrown away. One lock
 * belongs to one client, one resource and one thread.
 */
#ifndef LOCKCORE_LOCK_H
#define LOCKCORE_LOCK_H

#include "lockcore/api.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LOCK_NODES_MAX = 16,    /* lock servers of one lock */
    LOCK_VALUE_BYTES = 20,  /* Redis docs: "20 bytes from /dev/urandom" */
    LOCK_RANDOM_WORDS = 4,  /* words 0 to 2: 20 bytes of value; word 3: jitter */
    LOCK_CLEANUPS_MAX = 16, /* values whose release is still unanswered somewhere */
    LOCK_RESENDS_MAX = 2,   /* values that one step asks for again */
    LOCK_EFFECTS_MAX = (LOCK_RESENDS_MAX + 2) * LOCK_NODES_MAX + 4,
};

/* The random string that proves who set a key. Sent as 40 lower-case hex digits. */
struct lock_value {
    uint8_t bytes[LOCK_VALUE_BYTES];
};

/*
 * What one node can be asked. command.h says how each is written on the wire.
 *
 *   name                          meaning                                        reply
 */
#define LOCK_COMMAND_MAP(X)                                                                        \
    X(LOCK_COMMAND_SET, "SET NX PX: set the key if there is none", OK or NIL)                      \
    X(LOCK_COMMAND_COMPARE_DELETE, "script: delete the key if it holds our value", INTEGER 1 or 0) \
    X(LOCK_COMMAND_COMPARE_EXPIRE, "script: new ttl if the key holds our value", INTEGER 1 or 0)   \
    X(LOCK_COMMAND_SET_FENCE, "script: SET NX PX, then count the grant", INTEGER fence or NIL)     \
    X(LOCK_COMMAND_RAISE_FENCE, "script: counter = max(counter, fence)", INTEGER counter)          \
    X(LOCK_COMMAND_DELETE, "DEL, whoever owns the key (wrong locks)", INTEGER 1 or 0)              \
    X(LOCK_COMMAND_SETNX, "SETNX, without a ttl (wrong locks)", INTEGER 1 or 0)                    \
    X(LOCK_COMMAND_EXPIRE, "PEXPIRE, whoever owns the key (wrong locks)", INTEGER 1 or 0)          \
    X(LOCK_COMMAND_SET_EXPIRE, "script: extend our key or create it (wrong locks)", INTEGER 1 or 0)

enum lock_command_kind {
#define X(kind, meaning, reply) kind,
    LOCK_COMMAND_MAP(X)
#undef X
        LOCK_COMMAND_KINDS,
};

/* How a script is sent. The core starts with EVALSHA and falls back to EVAL after NOSCRIPT. */
enum lock_command_form {
    LOCK_FORM_SHA,
    LOCK_FORM_TEXT,
};

struct lock_command {
    uint32_t kind;           /* enum lock_command_kind */
    uint32_t form;           /* enum lock_command_form; scripts only */
    uint32_t attempt;        /* the core's own number; comes back with the reply */
    struct lock_value value; /* whose key */
    int64_t ttl_ms;          /* SET, SET_FENCE, COMPARE_EXPIRE, EXPIRE, SET_EXPIRE */
    int64_t fence;           /* RAISE_FENCE */
};

enum lock_reply_type {
    LOCK_REPLY_OK,
    LOCK_REPLY_NIL,
    LOCK_REPLY_INTEGER,
    LOCK_REPLY_NOSCRIPT, /* the script is not in the node's cache: nothing was done */
    LOCK_REPLY_ERROR,    /* OOM, READONLY, LOADING, ...: nothing was done */
    LOCK_REPLY_GARBLED,  /* not a reply to this command: the effect is unknown */
};

struct lock_reply {
    uint8_t type;    /* enum lock_reply_type */
    int64_t integer; /* LOCK_REPLY_INTEGER */
};

/* Names an algorithm in the table of algorithms.h; stable within one build. */
typedef uint16_t lock_algorithm_index;

struct lock_config {
    lock_algorithm_index algorithm;
    uint16_t node_count;     /* 1..LOCK_NODES_MAX */
    uint16_t retry_count;    /* attempts after the first one */
    uint16_t extend_count;   /* successful extensions allowed for one grant */
    int64_t ttl_ns;          /* > 0; whole milliseconds reach the nodes, rounded up */
    int64_t node_timeout_ns; /* > 0: how long one node may take, small beside the ttl */
    int64_t drift_ppm;       /* of the ttl; 2 ms are added, as the reference libraries do */
    int64_t retry_delay_ns;  /* >= 0: before a new attempt, ... */
    int64_t retry_jitter_ns; /* >= 0: ... and up to this much more, drawn at random */
};

enum lock_event_type {
    LOCK_EVENT_ACQUIRE, /* the application asks; only while the lock is idle */
    LOCK_EVENT_EXTEND,  /* the application asks; while it holds or held (also after LOST) */
    LOCK_EVENT_RELEASE, /* the application asks; while it holds or held (also after LOST); gives
                           up an extension that is under way */
    LOCK_EVENT_REPLY,   /* node_index answered `command` with `reply` */
    LOCK_EVENT_BROKEN,  /* the link to node_index broke: what it owed us will never come */
    LOCK_EVENT_TIMER,   /* the time asked for with LOCK_EFFECT_WAKE has come (or passed). Replies
                           that have arrived by then are carried in first: whoever was slow to
                           look at them must not count them as missing */
};

struct lock_event {
    uint8_t type;                       /* enum lock_event_type */
    uint8_t node_index;                 /* REPLY, BROKEN */
    struct lock_reply reply;            /* REPLY */
    struct lock_command command;        /* REPLY: the command that is answered, as it was sent */
    int64_t now_ns;                     /* the client's monotonic clock */
    int64_t wall_ns;                    /* the client's wall clock; only wrong locks look at it */
    uint64_t random[LOCK_RANDOM_WORDS]; /* fresh with every event */
};

enum lock_effect_type {
    LOCK_EFFECT_SEND, /* send `command` to `node_index` */
    LOCK_EFFECT_WAKE, /* step again with TIMER at `at_ns` on the client's monotonic clock; replaces
                         the wake before; TIME_NEVER cancels it. A TIMER uses the wake up */
    LOCK_EFFECT_TELL, /* tell the application `told` */
};

#define LOCK_TOLD_MAP(X)                                                                           \
    X(LOCK_TOLD_GRANTED, "granted")                                                                \
    X(LOCK_TOLD_REFUSED, "refused")           /* surely not held */                                \
    X(LOCK_TOLD_EXTENDED, "extended")         /* until_ns is new */                                \
    X(LOCK_TOLD_NOT_EXTENDED, "not extended") /* the lease stands as it was */                     \
    X(LOCK_TOLD_RELEASED, "released")         /* a majority deleted our key */                     \
    X(LOCK_TOLD_NOT_HELD, "not held")         /* release: a majority of keys had gone before */    \
    X(LOCK_TOLD_UNKNOWN, "unknown")           /* release: too few nodes answered in time */        \
    X(LOCK_TOLD_LOST, "lost")                 /* unasked: the lease ran out while held */

enum lock_told {
#define X(told, name) told,
    LOCK_TOLD_MAP(X)
#undef X
};

/* Why an attempt was refused; the last attempt's reason is told. */
#define LOCK_REASON_MAP(X)                                                                         \
    X(LOCK_REASON_NONE, "")                                                                        \
    X(LOCK_REASON_NO_QUORUM, "quorum not reached")                                                 \
    X(LOCK_REASON_VALIDITY_SPENT, "the validity was spent before the quorum was counted")          \
    X(LOCK_REASON_TIMEOUT, "too few nodes answered in time")                                       \
    X(LOCK_REASON_NOT_HOLDING, "nothing is held")                                                  \
    X(LOCK_REASON_EXTEND_LIMIT, "the limit of extensions is reached")

enum lock_reason {
#define X(reason, sentence) reason,
    LOCK_REASON_MAP(X)
#undef X
};

struct lock_effect {
    uint8_t type;                /* enum lock_effect_type */
    uint8_t node_index;          /* SEND */
    uint8_t told;                /* TELL: enum lock_told */
    uint8_t reason;              /* TELL: enum lock_reason */
    struct lock_value value;     /* TELL: of the grant, or of the last attempt if refused */
    struct lock_command command; /* SEND */
    int64_t at_ns;               /* WAKE */
    int64_t validity_ns;         /* TELL GRANTED, EXTENDED: what is left, from now_ns */
    int64_t until_ns;            /* TELL GRANTED, EXTENDED: the lease's end, client's monotonic */
    int64_t fence;               /* TELL GRANTED: > 0, or 0 where the algorithm has none */
};

struct lock_effects {
    uint32_t count; /* entries of `list` that are filled; the rest is whatever was there */
    struct lock_effect list[LOCK_EFFECTS_MAX];
};

enum lock_state {
    LOCK_STATE_IDLE,      /* nothing held, nothing asked */
    LOCK_STATE_ACQUIRING, /* SETs are out */
    LOCK_STATE_FENCING,   /* granted by a majority; its fence is being written back */
    LOCK_STATE_WAITING,   /* between two attempts */
    LOCK_STATE_HELD,      /* inside the lease */
    LOCK_STATE_EXTENDING, /* inside the lease, with a new ttl asked for */
    LOCK_STATE_SPENT,     /* the lease ran out; the application has not released yet */
    LOCK_STATE_RELEASING, /* releases are out, the application waits for the outcome */
    LOCK_STATES,
};

/* A value that must go from every node: after a refused attempt, or a release. */
struct lock_cleanup {
    struct lock_value value;
    uint32_t attempt;    /* of the release's commands */
    uint32_t unanswered; /* bit i: node i has not answered the release yet; never 0 */
    uint32_t resends;    /* how often the unanswered ones were asked again */
    int64_t resend_ns;   /* when the unanswered ones are asked again */
    int64_t deadline_ns; /* when the ttl has run out and the rest expires by itself */
};

/* Read it for tests and pictures; only lock_step writes it. */
struct lock {
    struct lock_config config;
    uint16_t state;          /* enum lock_state */
    uint16_t reason;         /* enum lock_reason: why the last attempt failed */
    uint16_t attempts_left;  /* of this acquire, after the one under way */
    uint16_t extends_left;   /* of this grant */
    uint32_t attempt;        /* number of the newest attempt, extension or release */
    uint32_t pending;        /* bit i: node i still owes an answer to it */
    uint32_t agreed;         /* bit i: node i said yes */
    uint32_t refused;        /* bit i: node i said no */
    uint32_t cleanup_count;  /* entries of `cleanups` in use; the rest is zero */
    struct lock_value value; /* of the newest attempt */
    int64_t start_ns;        /* when it began, on the clock that the algorithm trusts */
    int64_t deadline_ns;     /* when waiting for its answers ends, or the next attempt begins */
    int64_t until_ns;        /* HELD, EXTENDING: the lease's end */
    int64_t wake_ns;         /* the wake that is asked for; TIME_NEVER if none */
    int64_t fence;           /* highest fence seen by the attempt; of the grant once held */
    struct lock_cleanup cleanups[LOCK_CLEANUPS_MAX]; /* oldest first */
};

/* Make an idle lock. The config is copied; one out of range asserts. */
LOCKCORE_API void lock_init(struct lock *lock, const struct lock_config *config);

/*
 * Advance the lock by one event and list what must happen next.
 *
 *   lock     in/out  State before the call; state after it.
 *   event    in      Borrowed for the call. now_ns is the client's own clock, in
 *                    nanoseconds; it may jump, even backwards.
 *   effects  out     Overwritten. At most LOCK_EFFECTS_MAX, to be carried out in order.
 *
 * Cannot fail. A reply that is late, doubled, garbled or missing is an ordinary event.
 * An impossible event (node_index >= node_count, acquire while held) is the driver's bug and
 * asserts. A command sent to a node whose link is down is answered with BROKEN. A link keeps
 * order: what is sent later to a node is carried out later by it.
 * The same lock and event give the same lock and effects, byte for byte, anywhere.
 */
LOCKCORE_API void lock_step(struct lock *lock, const struct lock_event *event,
                            struct lock_effects *effects);

/* N/2 + 1 of the nodes configured, not of those that can be reached. */
static inline uint32_t lock_quorum(uint32_t node_count)
{
    return node_count / 2 + 1;
}

/* Abort unless every invariant of the struct holds. Runs after every step. */
LOCKCORE_API void lock_assert_valid(const struct lock *lock);

LOCKCORE_API const char *lock_state_name(enum lock_state state);
LOCKCORE_API const char *lock_told_name(enum lock_told told);
LOCKCORE_API const char *lock_reason_sentence(enum lock_reason reason);

#endif
