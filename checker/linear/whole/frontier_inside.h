/*
 * frontier_inside.h: what the parts of the frontier engine share.
 *
 * Just-in-time linearization (Lowe 2017): the events are gone through in order, and what must have
 * happened is placed only when it returns. A configuration is the lock's state, the set of
 * *pending* operations that are placed already, and counters of unknown operations: never a set
 * over the history. Unknown operations of an identity are counted while that identity still has
 * events to come; then what is left of them becomes a number of interchangeable ghosts, which may
 * hold the lock for a while, so that the number of configurations stays about twice the
 * concurrency.
 */
#ifndef CHECKER_LINEAR_FRONTIER_INSIDE_H
#define CHECKER_LINEAR_FRONTIER_INSIDE_H

#include "base/arena.h"
#include "checker/linear/whole/config.h"
#include "checker/linear/whole/whole.h"

#define NO_TRACK UINT32_MAX

/* One identity of this resource. */
struct someone {
    uint32_t events; /* that it has in all ... */
    uint32_t left;   /* ... and that are to come */
    bool for_good;   /* stays as it is when they are over */
    uint32_t track;  /* its counter while it has unknown operations, or NO_TRACK */
    uint32_t takes;  /* unknown acquires called so far */
    uint32_t frees;  /* unknown releases called so far */
    bool uncertain;  /* has unknown operations at all */
    int64_t busy;    /* until when its known operations so far were under way */
};

struct trail {
    uint32_t
        operation; /* or, from `count` on, an unknown one: count + 2 * someone + is-a-release */
    uint32_t before;
};

struct frontier {
    struct whole *whole;
    struct arena arena;
    uint32_t *owners; /* of each operation: index of someone */
    struct someone *someone;
    uint32_t someone_count;
    uint32_t *by_return;
    size_t return_count;
    uint32_t slot_words, track_count;
    uint32_t *slot_operation; /* by pending slot */
    uint64_t *slots_used;
    uint32_t *operation_slot; /* by operation */
    uint32_t *track_owner;    /* by track: someone, or NO_TRACK */
    struct config_set now, next;
    struct config *scratch;
    struct trail *trail; /* owned */
    uint32_t trail_count, trail_room;
    uint32_t ghosts;  /* complete ghosts that some configuration may use */
    bool observed;    /* some operation sees that the lock is held */
    bool nests;       /* how long a hold lasts can be seen, or it keeps its fence */
    bool late;        /* holds of no length are placed when they are due (see below) */
    int64_t position; /* of the return at hand */
    bool exhausted;   /* the memory limit is reached */
};

/*
 * Late points. A grant that an unknown release ended before it returned, or a release that
 * succeeded for an unknown acquire, is a hold of no length. It can be put wherever the lock was
 * free while it was under way, and disturbs nobody there. Which of the waiting clients had one need
 * not be guessed when the lock is free: it is enough to remember the last moment at which it was.
 * So, where nobody sees how long a hold lasts and each owner does one thing at a time, no unknown
 * acquire is tried, and no unknown release of a grant that did not return; the states are as many
 * as holders, not as many as sets of clients.
 */
static inline bool is_mutex(const struct frontier *frontier)
{
    return frontier->whole->options->model == LINEAR_MUTEX;
}

/* Whether nothing more will come from someone whose unknown operations are counted. */
static inline bool is_over(const struct someone *who)
{
    return who->left == 0 && who->track != NO_TRACK && !who->for_good;
}

/* Name the owners, size the configurations and make the first one; sets `exhausted`. */
void frontier_prepare(struct frontier *frontier);

/* Write whole->order of a legal history. */
void frontier_write_order(struct frontier *frontier);

/* A piece of the engine's memory; NULL, and `exhausted`, at the limit. */
void *frontier_take(struct frontier *frontier, size_t bytes);

#endif
