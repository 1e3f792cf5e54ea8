/*
 * cleanup.h: values that must go from the nodes, asked for until every node has answered.
 *
 * A release that got no answer is sent again every node timeout, to the nodes that have not
 * answered, until they have or the ttl has run out and the keys are gone by themselves. Every
 * attempt has its own value, so that a late or repeated release deletes no newer attempt's key.
 */
#ifndef LOCKCORE_CLEANUP_H
#define LOCKCORE_CLEANUP_H

#include "lockcore/quorum.h"

/* Whether another value can be taken in. An attempt begins only then: its end may need it. */
bool cleanup_has_room(const struct lock *lock);

/* Send `kind` for the lock's value to `nodes` as a new attempt, and again until answered. */
void cleanup_begin(struct lock *lock, uint32_t kind, uint32_t nodes, int64_t now_ns,
                   struct lock_effects *effects);

/* Count a node's answer to a release; an error or garble is none. */
void cleanup_hear(struct lock *lock, const struct lock_event *event);

/* Send again what is due, at most QUORUM_RESENDS_MAX values, and drop what has expired. */
void cleanup_tick(struct lock *lock, int64_t now_ns, struct lock_effects *effects);

/* When cleanup_tick next has something to do; TIME_NEVER if it has nothing. */
int64_t cleanup_wake_ns(const struct lock *lock);

/* The nodes that owe an answer to any release. */
uint32_t cleanup_owed(const struct lock *lock);

#endif
