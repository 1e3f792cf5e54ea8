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
    LOCK_NODES_MAX = 16,                 /* lock servers of one lock */
    LOCK_VALUE_BYTES = 20,               /* Redis docs: "20 bytes from /dev/urandom" */
    LOCK_RANDOM_WORDS = 4,               /* words 0 to 2: 20 bytes of value; word 3: jitter */
    LOCK_SENDS_MAX = 4 * LOCK_NODES_MAX, /* commands of one step */
    LOCK_EFFECTS_MAX = LOCK_SENDS_MAX + 4,
    LOCK_OWN_BYTES = 784, /* what an algorithm may keep beside the head */
};

/* The random string that proves who set a key. Written as 40 lower-case hex digits. */
struct lock_value {
    uint8_t bytes[LOCK_VALUE_BYTES];
};

/* How a command is sent where there are two ways. The short one names what the node knows already
 * (a script by its SHA-1, a prepared statement); whoever does not know it answers LONG_FORM. */
enum lock_command_form {
    LOCK_FORM_SHORT,
    LOCK_FORM_LONG,
};

/* What one node is asked. dialect.h says what each kind means and carries. */
struct lock_command {
    uint32_t kind;           /* a row of the algorithm's dialect */
    uint32_t form;           /* enum lock_command_form */
    uint32_t attempt;        /* the core's own number; comes back with the reply */
    struct lock_value value; /* whose key, whose session */
    int64_t ttl_ms;          /* where the row carries one, else 0 */
    int64_t number;          /* ... the same: a fence, a revision, a place in a queue */
};

enum lock_reply_type {
    LOCK_REPLY_YES,       /* done */
    LOCK_REPLY_NO,        /* not done, as the node's state forbids it */
    LOCK_REPLY_NUMBER,    /* done, and here is the number that was asked for */
    LOCK_REPLY_LONG_FORM, /* the node does not know the short form: nothing was done */
    LOCK_REPLY_ERROR,     /* refused (out of memory, read-only, ...): nothing was done */
    LOCK_REPLY_UNSURE,    /* the node does not know itself whether it was or will be done */
    LOCK_REPLY_GARBLED,   /* not a reply to this command: the effect is unknown */
    LOCK_REPLY_TYPES,
};

struct lock_reply {
    uint8_t type;   /* enum lock_reply_type */
    int64_t number; /* LOCK_REPLY_NUMBER, else 0 */
};

/* Names an algorithm in the table of algorithms.h; stable within one build. */
typedef uint16_t lock_algorithm_index;

struct lock_config {
    lock_algorithm_index algorithm;
    uint16_t node_count;     /* 1..LOCK_NODES_MAX */
    uint16_t retry_count;    /* attempts after the first one */
    uint16_t extend_count;   /* successful extensions allowed for one grant */
    uint32_t replica_count;  /* of the nodes, all but one, or 0: they follow one that may change,
                                and the lock asks only the one that it takes for that */
    uint32_t wait_count;     /* single-wait: so many replicas must have the key, ... */
    int64_t wait_ns;         /* ... within this; less than the node timeout */
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
    LOCK_EVENT_PUSH,    /* node_index tells, after its reply to `command`, what that one asked to be
                           told of: the key watched is gone, the session is over (`reply`: NO) */
};

struct lock_event {
    uint8_t type;                       /* enum lock_event_type */
    uint8_t node_index;                 /* REPLY, PUSH, BROKEN */
    struct lock_reply reply;            /* REPLY, PUSH */
    struct lock_command command;        /* REPLY, PUSH: the command that is answered, as sent */
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
    X(LOCK_TOLD_LOST, "lost")                 /* unasked: the lease ran out while held */          \
    X(LOCK_TOLD_RENEWED, "renewed")           /* unasked: until_ns is new; out of jeopardy */      \
    X(LOCK_TOLD_JEOPARDY, "in jeopardy") /* unasked: the promise ran out, and nobody knows whether \
                                            it is held still: stand still until RENEWED or LOST */

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
    int64_t validity_ns;         /* TELL GRANTED, EXTENDED, RENEWED: what is left, from now_ns */
    int64_t until_ns;            /* the same: the lease's end, client's monotonic. Both are
                                    TIME_NEVER where the algorithm promises none */
    int64_t fence;               /* TELL GRANTED: > 0, or 0 where the algorithm has none */
};

/* What an event meant, for whoever wants to stand before it (harness/actor.h). */
enum lock_mark {
    LOCK_MARK_ASKS = 1 << 0,    /* an attempt: commands are sent that ask for the key */
    LOCK_MARK_DECIDES = 1 << 1, /* the reply that a grant or an extension was waiting for */
};

struct lock_effects {
    uint32_t count; /* entries of `list` that are filled; the rest is whatever was there */
    uint32_t marks; /* LOCK_MARK_... */
    struct lock_effect list[LOCK_EFFECTS_MAX];
};

/* What the application may ask for hangs on it. An algorithm that has no use for a state never
 * enters it; steps within a state are its own. */
enum lock_state {
    LOCK_STATE_IDLE,      /* nothing held, nothing asked */
    LOCK_STATE_ACQUIRING, /* asked for */
    LOCK_STATE_FENCING,   /* granted by a majority; its fence is being written back */
    LOCK_STATE_WAITING,   /* between two attempts */
    LOCK_STATE_HELD,      /* inside the lease */
    LOCK_STATE_EXTENDING, /* inside the lease, with a new ttl asked for */
    LOCK_STATE_SPENT,     /* the lease ran out; the application has not released yet */
    LOCK_STATE_RELEASING, /* releases are out, the application waits for the outcome */
    LOCK_STATES,
};

/*
 * Read it for tests and pictures; only lock_step writes it. The head is what every algorithm has;
 * `own` is the algorithm's, which alone knows its layout.
 */
struct lock {
    struct lock_config config;
    uint32_t state;          /* enum lock_state */
    uint32_t attempts_left;  /* of this acquire, after the one under way */
    uint32_t extends_left;   /* of this grant */
    uint32_t attempt;        /* number of the newest attempt, extension or release */
    uint32_t pending;        /* bit i: node i still owes an answer to it */
    struct lock_value value; /* of the newest attempt */
    int64_t start_ns;        /* when it began, on the clock that the algorithm trusts */
    int64_t deadline_ns;     /* when waiting for its answers ends, or the next attempt begins */
    int64_t until_ns;        /* HELD, EXTENDING: the lease's end */
    int64_t wake_ns;         /* the wake that is asked for; TIME_NEVER if none */
    int64_t fence;           /* highest fence seen by the attempt; of the grant once held */
    _Alignas(8) uint8_t own[LOCK_OWN_BYTES];
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

/* Nothing is held, nothing asked for, and nothing left to do later: it can be thrown away without
 * leaving anything behind that it would still have taken care of. */
LOCKCORE_API bool lock_at_rest(const struct lock *lock);

/* Nodes that cast a vote: all, or together one, where all but one are replicas. */
static inline uint32_t lock_votes(const struct lock_config *config)
{
    return config->node_count - config->replica_count;
}

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
