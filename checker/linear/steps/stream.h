/*
 * stream.h: pairs events to operations, in the order in which closed intervals overlap, and feeds
 * the holds of each resource (chain.h) and the log (log.h).
 */
#ifndef CHECKER_LINEAR_STREAM_H
#define CHECKER_LINEAR_STREAM_H

#include "checker/linear/steps/crowd.h"
#include "checker/linear/steps/turns.h"
#include "checker/linear/whole/log.h"

/* An operation under way. */
struct stream_slot {
    uint64_t invoke;
    int64_t called; /* position */
    struct identity identity;
    uint64_t hash; /* of the identity and the resource */
    uint32_t resource;
    uint32_t hold; /* CHAIN_NO_HOLD: none, or not known yet */
    int32_t process;
    uint8_t f; /* enum history_f */
    bool used;
    bool identified;
    bool clash;   /* acquire: the identity was in use when it was called */
    bool edge;    /* semaphore release: the end of its core can move from here */
    bool inner;   /* reentrant release: does not end the session */
    bool over;    /* it returned and is being judged */
    bool tainted; /* the identity was let go before, with an operation still unknown */
};

/* Stands in the table of holds for an identity that was let go with an operation still unknown. */
#define HOLD_TAINTED (UINT32_MAX - 1)

/* Processes below it find their slot in an array, the others in a table. */
enum { STREAM_PROCESSES_DENSE = 1 << 20 };

/* A return that waits until time goes on: what is invoked at the same time is concurrent. */
struct stream_return {
    struct identity identity; /* that the return named, if `named` */
    int64_t returned;         /* position */
    int64_t until;            /* lease: position of the promised end, else POSITION_NEVER */
    int64_t fence;
    uint32_t slot;
    uint32_t logged; /* its place in the log, from 1; 0: not kept */
    uint8_t type;    /* enum history_type, after the policies */
    bool named;
    bool held; /* observe: by somebody */
    bool says; /* fail: it tells of the lock, by the policies and its cause */
};

/* Whose hold it is. */
struct stream_name {
    struct identity identity;
    uint64_t hash;
    uint32_t resource;
    uint32_t next_free;
    bool resting;
};

struct stream_key {
    union {
        struct {
            struct linear_chain chain;
            struct crowd crowd; /* semaphore */
        };
        struct turns turns; /* mutex */
    };
    uint32_t anonymous; /* acquires under way or unknown whose value is not known */
    uint8_t limit;      /* enum linear_limit: why it must be judged otherwise */
    bool used;
    bool violated;
    bool mixed; /* who held it cannot be told as events arrive: what they seemed to say is void */
    bool possible;  /* something is legal only because an unknown release took effect */
    bool let_go;    /* a release is of unknown outcome */
    bool unsettled; /* a limit was reached before there was a verdict */
};

/*
 * Holds that may never be heard of again grow in number with the history, and each new identity
 * must be looked for among them. They have a table of their own, and a Bloom filter small enough
 * for the processor's cache answers first: one word of it for each identity, two bits in it.
 */
struct rest {
    struct table table;
    uint64_t *filter; /* owned */
    uint32_t filter_mask;
};

struct linear {
    struct linear_options options;
    struct linear_result result;
    int64_t now_ns;
    uint32_t *dense; /* owned; of each small process: its slot + 1, or 0 */
    uint32_t dense_room;
    struct table by_process; /* of slots, of large processes */
    struct stream_slot *slots;
    uint32_t slot_count, slot_room, slot_free;
    struct table by_identity; /* of holds with an operation under way, or granted for sure */
    struct rest resting;      /* of holds that an unknown operation keeps from being settled */
    struct linear_hold *holds;
    struct stream_name *names; /* of the holds, by the same index */
    uint32_t hold_count, hold_room, hold_free, name_room;
    struct turns_pool turns;
    struct crowd_pool crowds;
    struct recent_pool recent;
    struct stream_key *keys;
    uint32_t key_room;
    struct stream_return *waiting;
    uint32_t waiting_count, waiting_room;
    struct log log;
    uint64_t *order; /* owned */
    size_t order_count, order_room;
    size_t bytes;     /* of the arrays above, without the log's */
    int64_t delay_ns; /* an operation may take effect so much behind its return: clocks differ */
    bool judges;      /* the fast paths take events as they arrive */
    bool reentrant;   /* what the model and the options say, once and for all ... */
    bool fenced;
    bool leased;
    bool by_value; /* identities are values where there are some */
    bool full;
    bool finished;
};

/* Room for one more item; false, and linear->full, at the memory limit. */
bool stream_grow(struct linear *linear, void **items, uint32_t *room, size_t item_bytes);

/* Remember a violation; the first one is described. */
void stream_find(struct linear *linear, uint32_t resource, const struct linear_finding *finding);
/* Remember what is legal only because a release of unknown outcome took effect. */
void stream_possible(struct linear *linear, uint32_t resource, const uint64_t *operations,
                     uint8_t count);
/* At the end: as above, of holds whose releases are all known now. Also of locks that are judged
 * otherwise because of what was seen of them: seeing more makes nothing legal that was not. */
void hold_find_possible(struct linear *linear);
/* The fast path does not apply to the resource. */
void stream_limit(struct linear *linear, uint32_t resource, enum linear_limit limit);

void stream_call(struct linear *linear, const struct history_event *event);
void stream_defer(struct linear *linear, const struct history_event *event);
/* Judge the returns that come before everything that is called from now on. */
void stream_flush(struct linear *linear, int64_t now_ns);
/* Whether a release of the same process returned at the very time of this call: an acquire that
 * names nobody may then have come before it. */
bool stream_has_touched(const struct linear *linear, const struct stream_slot *slot);
/* A lease's end moved, or its holder was told that it is lost. */
void stream_notice(struct linear *linear, const struct history_event *event);
/* What the policies make of an operation that returned: enum operation_kind. */
uint8_t stream_kind(const struct stream_slot *slot, const struct stream_return *returned);
/* The history is over: what is open stays unknown. */
void stream_end(struct linear *linear);

/* hold.c: holds by identity. */
bool stream_judges(const struct linear *linear);
/* The hold of the slot's identity, or CHAIN_NO_HOLD; sets slot->tainted. */
uint32_t hold_find(const struct linear *linear, struct stream_slot *slot);
uint32_t hold_make(struct linear *linear, const struct stream_slot *slot);
void hold_drop_if_settled(struct linear *linear, uint32_t at);
void rest_release(struct rest *rest);

/* outcome.c: what a call and a return mean for the holds. */
void stream_judge_call(struct linear *linear, uint32_t slot);
void stream_judge_return(struct linear *linear, const struct stream_return *returned);

#endif
