/*
 * operation.h: one operation on a lock as the algorithms see it, and what they find.
 *
 * Positions: two per nanosecond, calls and promised ends before returns, so that intervals which
 * only touch are concurrent and no two positions that are compared are equal.
 */
#ifndef CHECKER_LINEAR_OPERATION_H
#define CHECKER_LINEAR_OPERATION_H

#include "checker/linear/model.h"

#define POSITION_NEVER     INT64_MAX
#define CHAIN_NO_OPERATION UINT64_MAX

/* Times that give a position without overflow: 146 years around zero. */
#define LINEAR_TIME_MAX (((int64_t)1 << 62) - 1)

static inline int64_t position_of_call(int64_t time_ns)
{
    return 2 * time_ns;
}

static inline int64_t position_of_return(int64_t time_ns)
{
    return 2 * time_ns + 1;
}

/* What an operation does to the lock, or says about it. */
enum operation_kind {
    OPERATION_TAKE,       /* acquire, ok */
    OPERATION_MAYBE_TAKE, /* acquire, unknown */
    OPERATION_BUSY,       /* acquire, refused, and someone held it */
    OPERATION_FREE,       /* release, ok */
    OPERATION_MAYBE_FREE, /* release, unknown */
    OPERATION_EXTEND,     /* extension, ok: its caller held; the lease begins anew */
    OPERATION_MAYBE_EXTEND,
    OPERATION_NOT_HELD,   /* release, failed: its caller did not hold it */
    OPERATION_SEEN_FREE,  /* observe */
    OPERATION_SEEN_HELD,  /* observe: by somebody */
    OPERATION_SEEN_OWNER, /* observe: by this identity */
    OPERATION_KINDS,
    OPERATION_NONE = OPERATION_KINDS, /* says nothing */
};

struct operation {
    int64_t called;
    int64_t returned; /* POSITION_NEVER where the outcome is unknown */
    union {
        int64_t fence; /* 0 where unknown */
        int64_t told;  /* lease: when its end was told otherwise, unasked; else INT64_MIN */
    };
    int64_t until; /* lease: position of the promised end, else POSITION_NEVER; of a release: from
                      where on it says nothing, filled in by the search */
    int64_t promised; /* lease: the end as it was granted */
    uint64_t invoke;  /* index of its invoke event: its name */
    uint32_t resource;
    uint32_t identity; /* 1, 2, ...: who owns what it takes; 0 where it has none */
    uint32_t name;     /* the same, and never renumbered */
    uint8_t kind;      /* enum operation_kind */
    bool nameless;     /* an acquire of unknown outcome that never told whose it was */
};

static inline bool operation_is_unknown(const struct operation *operation)
{
    return operation->kind == OPERATION_MAYBE_TAKE || operation->kind == OPERATION_MAYBE_FREE ||
           operation->kind == OPERATION_MAYBE_EXTEND;
}

/* It says something about the lock's state, and does nothing to it. */
static inline bool operation_kind_observes(uint8_t kind)
{
    return kind == OPERATION_BUSY || (kind >= OPERATION_NOT_HELD && kind < OPERATION_KINDS);
}

static inline bool operation_is_observer(const struct operation *operation)
{
    return operation_kind_observes(operation->kind);
}

/* Why a lock's operations are illegal, and the few that show it. */
struct linear_finding {
    uint8_t reason; /* LINEAR_LEGAL: nothing was found */
    uint8_t grade;
    uint8_t count;
    bool helped; /* other operations could reconcile these, but are needed elsewhere */
    uint64_t operations[LINEAR_OPERATIONS_SHOWN];
};

/* Start a finding; name one more operation in it, once, while there is room. */
void finding_begin(struct linear_finding *finding, enum linear_reason reason, enum grade grade);
void finding_add(struct linear_finding *finding, uint64_t invoke);

#endif
