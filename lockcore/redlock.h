/*
 * redlock.h: the Redlock algorithm as a table of rules, so that a variant names what differs.
 *
 *     static const struct redlock_rules rules = {REDLOCK_RULES, .release_kind =
 * LOCK_COMMAND_DELETE};
 *
 * The rules are those of the Redis documentation, "Distributed Locks with Redis" (quoted at each
 * function in redlock.c). `single` is the same with one node, `fenced_redlock` sets two entries,
 * and each lock in wrong/ sets one to the mistake that it is about.
 */
#ifndef LOCKCORE_REDLOCK_H
#define LOCKCORE_REDLOCK_H

#include "lockcore/algorithms.h"
#include "lockcore/quorum.h"

struct redlock_rules {
    enum lock_command_kind set_kind;     /* takes the key on a node */
    enum lock_command_kind raise_kind;   /* writes the fence back; LOCK_COMMAND_KINDS: no fence */
    enum lock_command_kind extend_kind;  /* gives our key a new ttl */
    enum lock_command_kind release_kind; /* deletes our key */

    /* The value of an attempt that `event` begins. */
    struct lock_value (*value)(const struct lock_event *event);
    /* The clock by which the time of an attempt is measured. */
    int64_t (*clock_ns)(const struct lock_event *event);
    /* What a node's answer to set_kind says; may ask it for more. */
    enum lock_answer (*set_answer)(const struct lock *lock, const struct lock_event *event,
                                   struct lock_effects *effects);
    /* How many nodes must agree. */
    uint32_t (*quorum)(const struct lock *lock);
    /* What is taken off the validity: the time since the attempt's start; and for clock drift. */
    int64_t (*elapsed_ns)(const struct lock *lock, int64_t clock_ns);
    int64_t (*drift_ns)(const struct lock_config *config);
    /* Whether a majority's yes still makes a grant; an extension. */
    bool (*grant_stands)(int64_t validity_ns);
    bool (*extension_stands)(const struct lock *lock, int64_t validity_ns, int64_t now_ns);
    /* The nodes on which a refused attempt is released; a failed extension. */
    uint32_t (*refused_release)(const struct lock *lock);
    uint32_t (*unextended_release)(const struct lock *lock);
    /* What is added to the retry delay, at most retry_jitter_ns. */
    int64_t (*jitter_ns)(const struct lock_config *config, uint64_t random);
    /* What the application is told of a release that a majority has not confirmed in time. */
    enum lock_told release_unanswered;
};

#define REDLOCK_RULES .set_kind = LOCK_COMMAND_SET, .raise_kind = LOCK_COMMAND_KINDS, SHARED_RULES

#define FENCED_REDLOCK_RULES                                                                       \
    .set_kind = LOCK_COMMAND_SET_FENCE, .raise_kind = LOCK_COMMAND_RAISE_FENCE, SHARED_RULES

#define SHARED_RULES                                                                               \
    .extend_kind = LOCK_COMMAND_COMPARE_EXPIRE, .release_kind = LOCK_COMMAND_COMPARE_DELETE,       \
    .value = redlock_value, .clock_ns = redlock_clock_ns, .set_answer = redlock_set_answer,        \
    .quorum = redlock_quorum, .elapsed_ns = redlock_elapsed_ns, .drift_ns = redlock_drift_ns,      \
    .grant_stands = redlock_grant_stands, .extension_stands = redlock_extension_stands,            \
    .refused_release = redlock_refused_release, .unextended_release = redlock_unextended_release,  \
    .jitter_ns = redlock_jitter_ns, .release_unanswered = LOCK_TOLD_UNKNOWN

struct lock_value redlock_value(const struct lock_event *event);
int64_t redlock_clock_ns(const struct lock_event *event);
enum lock_answer redlock_set_answer(const struct lock *lock, const struct lock_event *event,
                                    struct lock_effects *effects);
uint32_t redlock_quorum(const struct lock *lock);
int64_t redlock_elapsed_ns(const struct lock *lock, int64_t clock_ns);
int64_t redlock_drift_ns(const struct lock_config *config);
bool redlock_grant_stands(int64_t validity_ns);
bool redlock_extension_stands(const struct lock *lock, int64_t validity_ns, int64_t now_ns);
uint32_t redlock_refused_release(const struct lock *lock);
uint32_t redlock_unextended_release(const struct lock *lock);
int64_t redlock_jitter_ns(const struct lock_config *config, uint64_t random);

/* The step of every algorithm whose rules are a struct redlock_rules. */
void redlock_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects);

#endif
