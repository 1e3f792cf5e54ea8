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
 *
 *     frontier_search.c  how many configurations are followed, and from where
 *     frontier.c         one event: what is called, due, over
 *     frontier_expand.c  what can happen before what is due: everything, or what is in its way
 *     frontier_moves.c   one thing happens in one configuration
 *     frontier_late.c    holds of no length
 *     frontier_clock.c   promised ends, each as an event of its own
 *     frontier_reserve.c exact leases: what makes no difference any more
 *     frontier_ahead.c   semaphores: what dies far ahead
 *     frontier_first.c   semaphores: what may as well wait for something else
 *     frontier_permits.c semaphores: no more permits than can be held at a time
 *     frontier_parts.c   few that may be illegal without all others
 *     frontier_plan.c    what is known before: owners, sizes, when unknown operations were called
 *     frontier_order.c   the legal order of a pass
 */
#ifndef CHECKER_LINEAR_FRONTIER_INSIDE_H
#define CHECKER_LINEAR_FRONTIER_INSIDE_H

#include "base/arena.h"
#include "checker/linear/whole/config.h"
#include "checker/linear/whole/whole.h"

#define NO_TRACK     UINT32_MAX
#define NO_SLOT      UINT32_MAX
#define NO_OPERATION UINT32_MAX
#define NO_OWNER     UINT32_MAX

/* What an operation of unknown outcome does. */
enum unknown_kind { UNKNOWN_TAKE, UNKNOWN_FREE, UNKNOWN_EXTEND, UNKNOWN_KINDS };

/* One identity of this resource. */
struct someone {
    uint32_t events;                /* that it has in all ... */
    uint32_t left;                  /* ... and that are to come */
    bool for_good;                  /* stays as it is when they are over */
    bool nameless;                  /* goes into the reserve then (frontier_reserve.c) */
    uint32_t track;                 /* its counter while it has unknown operations, or NO_TRACK */
    uint32_t called[UNKNOWN_KINDS]; /* unknown operations called so far */
    uint32_t first[UNKNOWN_KINDS];  /* where their list begins in `unknown_calls` */
    uint32_t takes;                 /* acquires, known or not */
    uint32_t maybe[UNKNOWN_KINDS];  /* unknown operations in all */
    int64_t asked;                  /* when the last of those called so far was called */
    uint32_t next;                  /* while sizes are found out: who waits for the reserve, too */
    int64_t busy;                   /* until when its known operations so far were under way */
};

struct trail {
    uint32_t operation; /* or, from `count` on, an unknown one: count + 3 * someone + its kind */
    uint32_t before;
};

enum { PART_CHOSEN_MAX = 12 };

/* What a part of a history leaves out. Without all that was seen, laziness is complete. Without
 * all that some identities did, others find more room; only those who saw that somebody held can
 * miss them. Where one holds, of who is left out it stays known that nobody else held when he, for
 * sure, did something: that counts as if somebody had looked. */
struct part {
    bool sightless;
    uint32_t chosen[PART_CHOSEN_MAX];
    uint32_t count;
    uint32_t near; /* of these: who asked, or held the lock */
};

/* What someone in the reserve can do (frontier_reserve.c). */
enum { RESERVE_EXTENDS = 4, RESERVE_KINDS = 2 * RESERVE_EXTENDS, RESERVE_WORDS = 8 };

/* How thorough. */
enum frontier_way {
    FRONTIER_LAZY, /* only what is in the way of what is due happens before it (see below) */
    FRONTIER_FULL, /* everything that can */
};

/* Semaphores: how many permits each owner holds, at least when a grant returns, and at most while
 * an acquire was refused (frontier_ahead.c). */
struct ahead {
    bool known;
    uint32_t grants_max, grant_count, refusals_max, refusal_count;
    uint32_t grants_room, refusals_room; /* of an owner's row: whole blocks */
    int16_t *least;         /* by owner and grant: less the unknown acquires that were used */
    int16_t *least_ever;    /* ... whatever was used */
    int16_t *least_after;   /* ... the most of `least` from there on */
    int16_t *least_block;   /* ... the most of `least` in a block of AHEAD_BLOCK, which begins at */
    int16_t *ever_block;    /* ... a multiple of it; of `least_ever` */
    int16_t *most;          /* by owner and refusal: if no unknown release was used */
    int16_t *most_after;    /* ... the least of it from there on */
    int16_t *most_block;    /* ... the least of it in a block */
    int16_t *used;          /* by owner: what a configuration used of one kind */
    uint32_t *grant_from;   /* by return: the first grant that is to return */
    uint32_t *refusal_from; /* by call: the first refusal that is to be called */
};

/* What says most of one owner of a semaphore (frontier_first.c). */
enum to_come { TO_COME_END, TO_COME_MISSED, TO_COME_SEEN, TO_COME_KINDS };

/* What others may wait for: slots, or NO_SLOT. */
struct first {
    uint32_t take, free;
};

struct frontier {
    struct whole *whole;
    struct state_rules rules;
    enum frontier_way way;
    uint32_t width;           /* configurations that are kept */
    bool narrowed;            /* ... and some were not */
    uint64_t budget;          /* configurations that may still be looked at */
    size_t call, next_return; /* the events that are next */
    bool replays;             /* no configuration is followed, only who is where */
    bool moments;             /* free_at is kept */
    struct ahead ahead;
    uint32_t *to_come;       /* by someone and kind: his next operation that is not called yet */
    uint32_t *first_of_kind; /* ... at the start */
    uint32_t *next_of_kind;  /* by operation: the next one of its kind and owner */
    bool forgets; /* also those who should stay for good: what they could do may be missing then */
    uint64_t *loose; /* slots of which nobody knows whether they were placed: in a window */
    struct arena arena;
    uint32_t *owners; /* of each operation: index of someone */
    struct someone *someone;
    uint32_t someone_count;
    int64_t *unknown_calls; /* by identity, kind, in order */
    uint32_t *by_return;
    size_t return_count;
    uint32_t slot_words, track_count;
    uint32_t *slot_operation; /* by pending slot */
    uint64_t *slots_used;
    uint64_t *kept;           /* those that are still used when what is due has returned */
    uint32_t *operation_slot; /* by operation */
    uint32_t *track_owner;    /* by track: someone, or NO_TRACK */
    struct config_set now, next;
    struct config *scratch;
    struct trail *trail; /* owned */
    uint32_t trail_count, trail_room;
    uint32_t eternals; /* unknown acquires that nothing ends, which some configuration may use */
    int64_t *eternal_calls; /* of exact leases: when they were called, in order */
    int64_t ghost_called;   /* from when on ghosts act, at the latest */
    int64_t floor;          /* exact leases: no configuration can go back behind this position */
    uint32_t reserve[RESERVE_KINDS]; /* how many there are of each kind, used or not */
    uint32_t reserve_words;          /* of a configuration: RESERVE_WORDS or none */
    uint32_t ghosts;                 /* complete ghosts that some configuration may use */
    bool observed;                   /* some operation sees that the lock is held */
    bool seen_free;                  /* ... that it is free, or not held by somebody */
    bool nests;                      /* how long a hold lasts can be seen, or it keeps its fence */
    bool optional;      /* unknown acquires have slots of their own: their leases end */
    bool early;         /* some promise was over before it arrived */
    bool clocked;       /* promised ends are gone through in order (frontier_clock.c) */
    uint32_t *by_until; /* acquires, by their promised ends */
    size_t until_count, next_until;
    uint64_t *ending; /* slots of those whose promise ends now */
    int64_t position; /* of the return at hand */
    bool exhausted;   /* a limit is reached */
    uint32_t steps;   /* since the clock was looked at */
};

/*
 * Lazy. An operation that is not due happens only where it is in the way of what is due: a holder
 * lets go, or somebody takes the lock because it was seen held. Of one owner's releases the one due
 * first goes first, and one that must have happened goes before one that may have: whatever the
 * others can do later, they can do in its place (exchange).
 *
 * What laziness leaves out is a hold that was over before anything due needed it: a grant that an
 * unknown release ended before it returned, or a release that succeeded for an unknown acquire: a
 * hold of no length. It can be put wherever the lock had room while it was under way, and disturbs
 * nobody there. So it is enough to remember the last moment at which there was room (free_at), and
 * to use it when the operation is due. Only fences forbid it: there all smaller ones come first.
 */
static inline bool is_mutex(const struct frontier *frontier)
{
    return frontier->rules.options->model == LINEAR_MUTEX;
}

static inline bool is_exact(const struct frontier *frontier)
{
    return frontier->rules.options->model == LINEAR_LEASE_EXACT;
}

/* Whether nothing more will come from someone whose unknown operations are counted. */
static inline bool is_over(const struct frontier *frontier, const struct someone *who)
{
    return who->left == 0 && who->track != NO_TRACK && !who->nameless &&
           (!who->for_good || frontier->forgets);
}

static inline enum unknown_kind unknown_kind(const struct operation *operation)
{
    return operation->kind == OPERATION_MAYBE_TAKE   ? UNKNOWN_TAKE
           : operation->kind == OPERATION_MAYBE_FREE ? UNKNOWN_FREE
                                                     : UNKNOWN_EXTEND;
}

/* Counted, or with a slot of its own? */
static inline bool is_counted(const struct frontier *frontier, const struct operation *operation)
{
    return operation_is_unknown(operation) &&
           !(frontier->optional && operation->kind == OPERATION_MAYBE_TAKE);
}

static inline bool is_placed(const struct config *config, uint32_t slot)
{
    return (config->words[slot / 64] >> (slot % 64) & 1) != 0;
}

static inline void place(struct config *config, uint32_t slot)
{
    config->words[slot / 64] |= (uint64_t)1 << (slot % 64);
}

static inline bool is_loose(const struct frontier *frontier, uint32_t slot)
{
    return frontier->rules.wild && (frontier->loose[slot / 64] >> (slot % 64) & 1) != 0;
}

static inline const struct operation *in_slot(const struct frontier *frontier, uint32_t slot)
{
    return &frontier->whole->operations[frontier->slot_operation[slot]];
}

/* Name the owners, size the configurations and make the first one; sets `exhausted`. */
void frontier_prepare(struct frontier *frontier);

/* Go through one more event; false at the end, and where no configuration is left. */
bool frontier_advance(struct frontier *frontier);

/* All of `now` is to be expanded, by `position`; the next of them, which stands before
 * *first_open, or NULL; then `next` and the slots of `kept` are what is left. */
void frontier_open(struct frontier *frontier, int64_t position);
struct config *frontier_next_open(struct frontier *frontier, uint32_t *first_open);
void frontier_close(struct frontier *frontier);

/* frontier_clock.c: list the promised ends; go through those before `position`, one a call; false
 * if there is none. */
void frontier_list_ends(struct frontier *frontier);
bool frontier_pass_end(struct frontier *frontier, int64_t position);

/* Stand before the first event again, without a configuration. */
void frontier_restart(struct frontier *frontier);

/* Write whole->order of a legal history. */
void frontier_write_order(struct frontier *frontier);

/* A piece of the engine's memory; NULL, and `exhausted`, at the limit. */
void *frontier_take(struct frontier *frontier, size_t bytes);

/* ---- frontier_moves.c: each changes frontier->scratch, a copy of `config` ------------------- */

void frontier_copy(struct frontier *frontier, const struct config *config);
/* Whether an unknown operation is left that was called by `position`: the earliest go first. */
bool frontier_has_left(const struct frontier *frontier, const struct config *config,
                       const struct someone *who, enum unknown_kind kind, int64_t position);
/* How many are left of those called so far. */
uint32_t frontier_count_left(const struct frontier *frontier, const struct config *config,
                             const struct someone *who, enum unknown_kind kind);
void frontier_use(const struct frontier *frontier, struct config *config, uint32_t track,
                  enum unknown_kind kind);
/* A pending operation that was called by `position` and is not placed: the one that is due first;
 * NO_SLOT if there is none. */
uint32_t frontier_find(const struct frontier *frontier, const struct config *config,
                       enum operation_kind kind, uint32_t identity, int64_t position);
/* Fences grow: those that are smaller come first, or never. */
bool frontier_is_overtaken(const struct frontier *frontier, const struct config *config,
                           const struct operation *take);
/* An unknown operation of someone who is still tracked; what a ghost does. */
bool frontier_try_unknown(struct frontier *frontier, uint32_t at, uint32_t track,
                          enum unknown_kind kind);
bool frontier_try_ghost(struct frontier *frontier, uint32_t at, uint32_t ghost,
                        enum unknown_kind kind);
/* Place every pending observer that the state satisfies: it can only be in the way later. */
void frontier_absorb(struct frontier *frontier, struct config *config);
/* The pending operation in `slot` happens in `config`; false, and nothing changed, if the state
 * does not allow it. */
bool frontier_happen(struct frontier *frontier, struct config *config, uint32_t slot);
/* The same in a copy of the configuration `at`, if no smaller fence waits. */
bool frontier_try(struct frontier *frontier, uint32_t at, uint32_t slot);
/* The lease at hand ends by itself. */
bool frontier_try_expire(struct frontier *frontier, uint32_t at);
/* A holder that nobody knows is none any more. */
bool frontier_try_vanish(struct frontier *frontier, uint32_t at);
/* What is due can have been a hold of no length, when there was room. */
bool frontier_try_late(struct frontier *frontier, uint32_t at, uint32_t slot);
/* Put everything that can happen before `due` behind the configuration `at` of `now`; NO_SLOT:
 * nothing is due, and laziness only makes room. */
void frontier_expand(struct frontier *frontier, uint32_t at, uint32_t due, uint32_t *first_open);

/* frontier_ahead.c: find out what is to come; whether a configuration that has just used an unknown
 * operation of an owner dies of it, however far ahead. */
void frontier_look_ahead(struct frontier *frontier);
bool frontier_is_doomed(const struct frontier *frontier, const struct config *config,
                        uint32_t owner, enum unknown_kind used);

/* ---- frontier_first.c: semaphores ----------------------------------------------------------- */

/* List what says something of an owner alone; stand at the start again; one of them is called. */
void frontier_list_to_come(struct frontier *frontier);
void frontier_restart_to_come(struct frontier *frontier);
void frontier_pass_to_come(struct frontier *frontier, uint32_t operation);
/* What goes before others of its kind in the configuration `at`; whether a pending operation, or an
 * unknown one of an identity, may as well wait for that. */
struct first frontier_first(const struct frontier *frontier, uint32_t at);
bool frontier_can_wait(const struct frontier *frontier, uint32_t at, const struct first *first,
                       uint32_t slot);
bool frontier_unknown_can_wait(const struct frontier *frontier, uint32_t at,
                               const struct first *first, uint32_t identity,
                               enum unknown_kind kind);

/* frontier_permits.c: how many permits of a semaphore make a difference. */
uint32_t frontier_permits(struct whole *whole);

/* frontier_parts.c: who asked for what fitted nowhere, who held the lock then, and who did
 * something last; make of an operation what a part has of it, false if nothing. */
struct part frontier_part_near(const struct frontier *frontier);
bool frontier_part_of(const struct part *part, const struct linear_options *options,
                      struct operation *operation);

/* ---- frontier_reserve.c: exact leases ------------------------------------------------------- */

/* Whether someone's counters can go once nothing can happen before his last call any more. */
static inline bool is_for_reserve(const struct frontier *frontier, const struct someone *who)
{
    return who->nameless && who->left == 0 && who->track != NO_TRACK &&
           who->asked <= frontier->floor;
}

/* All who can go into the reserve do. */
void frontier_fill_reserve(struct frontier *frontier);
/* One of a kind takes the lock, or one of them holds it and lets go or extends. */
bool frontier_try_reserve(struct frontier *frontier, uint32_t at, enum unknown_kind what,
                          uint32_t kind);
/* What makes no difference becomes equal. */
void frontier_even_out(const struct frontier *frontier, struct config *config);

/* Put the scratch configuration into `set`. An item that is new or better is still to expand. */
void frontier_put(struct frontier *frontier, struct config_set *set, uint32_t *first_open);

#endif
