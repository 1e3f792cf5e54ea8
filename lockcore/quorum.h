/*
 * quorum.h: one question put to all nodes that are asked, and the count of their answers.
 *
 *     round_ask -> pending = round_nodes -> round_hear, one bit at a time -> agreed, refused
 *
 * A round is over when its judge (redis/redlock.c) says so; answers to an older one are not heard.
 * An algorithm that counts rounds keeps a struct quorum as its own part of the lock.
 */
#ifndef LOCKCORE_QUORUM_H
#define LOCKCORE_QUORUM_H

#include "lockcore/state.h"

enum {
    QUORUM_CLEANUPS_MAX = 16, /* values whose release is still unanswered somewhere */
    QUORUM_RESENDS_MAX = 2,   /* values that one step asks for again */
};

/* A value that must go from every node: after a refused attempt, or a release. See cleanup.h. */
struct lock_cleanup {
    struct lock_value value;
    uint32_t attempt;    /* of the release's commands */
    uint32_t kind;       /* of them: a row of the dialect */
    uint32_t unanswered; /* bit i: node i has not answered the release yet; never 0 */
    int64_t resend_ns;   /* when the unanswered ones are asked again */
    int64_t deadline_ns; /* when the ttl has run out and the rest expires by itself */
};

/* The own part of a lock that asks all its nodes at once. */
struct quorum {
    uint32_t agreed;        /* bit i: node i said yes */
    uint32_t refused;       /* bit i: node i said no */
    uint32_t primary;       /* with replicas: the node that is asked */
    uint32_t cleanup_count; /* entries of `cleanups` in use; the rest is zero */
    struct lock_cleanup cleanups[QUORUM_CLEANUPS_MAX]; /* oldest first */
};

static inline struct quorum *lock_quorum_part(struct lock *lock)
{
    return lock_own(lock);
}

static inline const struct quorum *lock_quorum_seen(const struct lock *lock)
{
    return lock_own_const(lock);
}

enum lock_answer {
    LOCK_ANSWER_YES,
    LOCK_ANSWER_NO,
    LOCK_ANSWER_UNCLEAR, /* garbled, or an error where that says nothing */
    LOCK_ANSWER_LATER,   /* the node was asked something more */
};

/* The nodes that are asked: all, or the one that is taken for the primary. */
static inline uint32_t round_nodes(const struct lock *lock)
{
    return lock->config.replica_count > 0 ? lock_bit(lock_quorum_seen(lock)->primary)
                                          : lock_all_nodes(lock);
}

/* Take the next node for the primary: what is to be released is released there, too. */
void round_follow(struct lock *lock);

/* The command of `kind` about the lock's value and fence, in the newest attempt. */
struct lock_command round_command(const struct lock *lock, uint32_t kind);

/* Begin a round: a new attempt number, `kind` sent to round_nodes at once, a node timeout. */
void round_ask(struct lock *lock, uint32_t kind, int64_t now_ns, struct lock_effects *effects);

/* Whether the reply in `event` is the first one of that node to the round that is open. */
bool round_waits_for(const struct lock *lock, const struct lock_event *event);

/* What the reply in `event` says, by the kind of its command. */
enum lock_answer round_read(const struct lock *lock, const struct lock_event *event);

/* Count one answer. */
void round_hear(struct lock *lock, uint32_t node_index, enum lock_answer answer);

/* Whether enough nodes have agreed; whether enough still could. */
static inline bool round_reached(const struct lock *lock, uint32_t quorum)
{
    return lock_count(lock_quorum_seen(lock)->agreed) >= quorum;
}

static inline bool round_reachable(const struct lock *lock, uint32_t quorum)
{
    return lock_count(lock_quorum_seen(lock)->agreed | lock->pending) >= quorum;
}

/* Abort unless the part is as it must be. */
void quorum_assert_valid(const struct lock *lock);

#endif
