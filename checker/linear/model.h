/*
 * model.h: what a lock promises, and what is made of operations that failed: models, policies, and
 * the reasons and limits of a verdict, each with its word or sentence. docs/LINEARIZABLE.md has
 * them in full.
 */
#ifndef CHECKER_LINEAR_MODEL_H
#define CHECKER_LINEAR_MODEL_H

#include "base/text.h"
#include "checker/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINEAR_MODEL_MAP(X)                                                                        \
    X(LINEAR_MUTEX, "mutex")         /* anyone may release */                                      \
    X(LINEAR_OWNER, "owner")         /* only the owner, or the owner's value, releases */          \
    X(LINEAR_REENTRANT, "reentrant") /* the owner may acquire again, to any depth */               \
    X(LINEAR_FENCED, "fenced")       /* owner, and fences grow with every grant */                 \
    X(LINEAR_REENTRANT_FENCED, "reentrant-fenced")                                                 \
    X(LINEAR_LEASE, "lease") /* owner; the holder holds until a promised end at the latest */      \
    X(LINEAR_LEASE_EXACT, "lease-exact")         /* owner; the server ends a grant ttl after it */ \
    X(LINEAR_SEMAPHORE, "semaphore")             /* at most k holders */                           \
    X(LINEAR_LEASE_REFRESHED, "lease-refreshed") /* expires silently; a refresh proves a hold */   \
    X(LINEAR_TOKENS, "tokens")                   /* nobody holds; every token is greater */

enum linear_model {
#define X(name, word) name,
    LINEAR_MODEL_MAP(X)
#undef X
        LINEAR_MODELS,
};

/* What a release that failed says. */
#define LINEAR_FAILED_RELEASE_MAP(X)                                                               \
    X(LINEAR_RELEASE_NOTHING, "nothing")   /* it says nothing: it had no effect, for any reason */ \
    X(LINEAR_RELEASE_NOT_HELD, "not-held") /* the caller did not hold the lock at that moment */   \
    X(LINEAR_RELEASE_DONE, "released")     /* it counts as a release that succeeded */

enum linear_failed_release {
#define X(name, word) name,
    LINEAR_FAILED_RELEASE_MAP(X)
#undef X
        LINEAR_FAILED_RELEASES,
};

/* What an acquire that was refused says. */
#define LINEAR_REFUSED_ACQUIRE_MAP(X)                                                              \
    X(LINEAR_REFUSED_NOTHING, "nothing") /* weak: it says nothing */                               \
    X(LINEAR_REFUSED_HELD, "held")       /* strong: someone held the lock at that moment */

enum linear_refused_acquire {
#define X(name, word) name,
    LINEAR_REFUSED_ACQUIRE_MAP(X)
#undef X
        LINEAR_REFUSED_ACQUIRES,
};

/* Which algorithm decides. WHOLE keeps all operations first, so that evidence is picked from all of
 * them; FAST and FRONTIER are for comparing. */
enum linear_engine {
    LINEAR_ENGINE_AUTO,
    LINEAR_ENGINE_WHOLE,
    LINEAR_ENGINE_FAST,
    LINEAR_ENGINE_FRONTIER,
    LINEAR_ENGINE_NARROW, /* as FRONTIER, giving up places at once: for tests */
};

enum {
    LINEAR_PERMITS_MAX = 4096,
    LINEAR_OPERATIONS_SHOWN = 4,
    LINEAR_PATHS_MAX = 8,
};

typedef bool linear_stop(void *context);

struct linear_options {
    uint8_t model;           /* enum linear_model */
    uint8_t failed_release;  /* enum linear_failed_release */
    uint8_t refused_acquire; /* enum linear_refused_acquire */
    uint8_t engine;          /* enum linear_engine */
    bool by_owner;           /* identities are owners or processes, also where there are values */
    bool order;              /* keep a legal order for linear_order */
    uint32_t permits;        /* semaphore: k */
    uint32_t depth_max;      /* reentrant: 0 for any depth */
    int64_t ttl_ns;          /* lease, where the history promises no end: it ends ttl - drift ... */
    int64_t drift_ns;        /* ... after the acquire was invoked; exact: [ttl, ttl + drift] */
    int64_t skew_ns;         /* the clocks of two processes may differ by so much */
    size_t log_bytes_max;    /* 0: judge as events arrive, keep none */
    size_t bytes_max;        /* all memory; beyond it the verdict is unknown */
    linear_stop *stop;       /* asked now and then while searching: is the time up? NULL: never */
    void *stop_context;
};

struct linear_options linear_options_default(enum linear_model model);

/* Why a history is illegal. */
#define LINEAR_REASON_MAP(X)                                                                       \
    X(LINEAR_LEGAL, "a legal order exists")                                                        \
    X(LINEAR_TWO_HOLDS, "two holders at once: the second was granted while the first held")        \
    X(LINEAR_POINT_INSIDE, "a release succeeded, so its acquire had taken effect, but only while " \
                           "another held the lock")                                                \
    X(LINEAR_NOT_HELD_WHILE_HELD,                                                                  \
      "a release was told \"not held\" while its caller held the lock")                            \
    X(LINEAR_RELEASED_TWICE, "one grant was released successfully twice")                          \
    X(LINEAR_NEVER_ACQUIRED, "a release succeeded for an acquire that was never asked for")        \
    X(LINEAR_FENCE_ORDER, "a later grant has a fence that is not greater")                         \
    X(LINEAR_FENCE_CHANGED, "an owner that acquired again got another fence than the one held")    \
    X(LINEAR_TOO_MANY, "more holders at once than there are permits")                              \
    X(LINEAR_UNEXPLAINED, "an acquire was refused while nobody can have held the lock")            \
    X(LINEAR_SEEN, "what was seen of the lock fits no legal order")                                \
    X(LINEAR_NO_ORDER, "the operations have no legal order")

enum linear_reason {
#define X(name, sentence) name,
    LINEAR_REASON_MAP(X)
#undef X
        LINEAR_REASONS,
};

/* Why a verdict is unknown, or why the fast path stepped aside. */
#define LINEAR_LIMIT_MAP(X)                                                                        \
    X(LINEAR_LIMIT_NONE, "")                                                                       \
    X(LINEAR_LIMIT_VALUE_SHARED,                                                                   \
      "a value is used by two acquires at a time, so holds cannot be told apart by it")            \
    X(LINEAR_LIMIT_OWNER_WENT_ON,                                                                  \
      "an owner went on after an operation of unknown outcome, so holds cannot be told apart")     \
    X(LINEAR_LIMIT_TIE, "a grant was released before it returned")                                 \
    X(LINEAR_LIMIT_PROMISE, "a promise was over before it arrived, or when a release succeeded")   \
    X(LINEAR_LIMIT_MODEL, "the model or a policy needs the whole history")                         \
    X(LINEAR_LIMIT_PERMITS, "more clients than are searched may hold a permit at a time: 32")      \
    X(LINEAR_LIMIT_LOG, "the operations do not fit into the memory set aside for them")            \
    X(LINEAR_LIMIT_BYTES, "the memory limit is reached")                                           \
    X(LINEAR_LIMIT_TIME, "the time limit is reached")

enum linear_limit {
#define X(name, sentence) name,
    LINEAR_LIMIT_MAP(X)
#undef X
        LINEAR_LIMITS,
};

struct linear_result {
    uint8_t verdict;         /* enum verdict */
    uint8_t grade;           /* enum grade */
    uint8_t reason;          /* enum linear_reason, of the first violation */
    uint8_t limit;           /* enum linear_limit: why unknown, or why not the fast path */
    bool again;              /* unknown only because nothing was kept: judge again with a log */
    bool helped;             /* others could reconcile the certificate, but are needed elsewhere */
    uint8_t operation_count; /* of the certificate; with verdict pass: of a possible violation */
    uint64_t operations[LINEAR_OPERATIONS_SHOWN]; /* indices of their invokes, in order */
    uint32_t resource;                            /* of the first violation */
    uint64_t judged;                              /* operations */
    uint64_t violations;     /* counted where the algorithm can go on behind the first */
    uint64_t possible;       /* what is legal only because an unknown release took effect */
    uint64_t untold;         /* resources of which that cannot be told */
    uint64_t fast_count;     /* resources decided without a search */
    uint64_t frontier_count; /* resources decided by the frontier engine */
    uint64_t frontier_peak;  /* most configurations at once */
};

const char *linear_model_name(enum linear_model model);
const char *linear_reason_sentence(enum linear_reason reason);
const char *linear_limit_sentence(enum linear_limit limit);

/* Find a word of the maps above; false if there is none. */
bool linear_model_find(const char *word, uint8_t *model);
bool linear_failed_release_find(const char *word, uint8_t *policy);
bool linear_refused_acquire_find(const char *word, uint8_t *policy);

/* "model owner; a failed release says nothing; a refused acquire says nothing; ..." */
void linear_policy_print(const struct linear_options *options, struct text *text);

#endif
