/*
 * quorum.h: one question put to all nodes, and the count of their answers.
 *
 *     round_ask -> pending = all nodes -> round_hear, one bit at a time -> agreed, refused
 *
 * A round is over when its judge (redlock.c) says so; answers to an older one are not heard.
 */
#ifndef LOCKCORE_QUORUM_H
#define LOCKCORE_QUORUM_H

#include "lockcore/state.h"

enum lock_answer {
    LOCK_ANSWER_YES,
    LOCK_ANSWER_NO,
    LOCK_ANSWER_UNCLEAR, /* garbled, or an error where that says nothing */
    LOCK_ANSWER_LATER,   /* the node was asked something more */
};

/* The command of `kind` about the lock's value and fence, in the newest attempt. */
struct lock_command round_command(const struct lock *lock, enum lock_command_kind kind);

/* Begin a round: a new attempt number, `kind` sent to all nodes at once, a node timeout. */
void round_ask(struct lock *lock, enum lock_command_kind kind, int64_t now_ns,
               struct lock_effects *effects);

/* Whether the reply in `event` is the first one of that node to the round that is open. */
bool round_waits_for(const struct lock *lock, const struct lock_event *event);

/* What the reply in `event` says, by the kind of its command. */
enum lock_answer round_read(const struct lock_event *event);

/* Count one answer. */
void round_hear(struct lock *lock, uint32_t node_index, enum lock_answer answer);

/* Whether enough nodes have agreed; whether enough still could. */
static inline bool round_reached(const struct lock *lock, uint32_t quorum)
{
    return lock_count(lock->agreed) >= quorum;
}

static inline bool round_reachable(const struct lock *lock, uint32_t quorum)
{
    return lock_count(lock->agreed | lock->pending) >= quorum;
}

#endif
