/*
 * redlock.h: the Redlock algorithm as a table of rules, so that a variant names what differs.
 *
 *     static const struct redlock_rules rules = {.quorum = half};
 *     const struct lock_algorithm algorithm_NAME = {REDLOCK_ALGORITHM, .name = ..., .rules =
 * &rules};
 *
 * The rules are those of the Redis documentation, "Distributed Locks with Redis" (quoted at each
 * function in redlock.c and redlock_rules.c); whatever a table leaves out is as the documentation
 * has it. `single` is the same with one node, `fenced_redlock` sets two entries, and each lock in
 * wrong/ sets one to the mistake that it is about.
 */
#ifndef LOCKCORE_REDIS_REDLOCK_H
#define LOCKCORE_REDIS_REDLOCK_H

#include "lockcore/quorum.h"
#include "lockcore/redis/command.h"

/* 0 and NULL: as in the documentation. */
struct redlock_rules {
    uint32_t set_kind;     /* takes the key on a node; else REDIS_SET */
    uint32_t raise_kind;   /* writes the fence back; else the set's own number is the fence */
    uint32_t extend_kind;  /* gives our key a new ttl; else REDIS_COMPARE_EXPIRE */
    uint32_t release_kind; /* deletes our key; else REDIS_COMPARE_DELETE */
    /* What the application is told of a release that a majority has not confirmed in time; else
     * LOCK_TOLD_UNKNOWN. */
    enum lock_told release_unanswered;

    /* The value of an attempt that `event` begins. */
    struct lock_value (*value)(const struct lock_event *event);
    /* The clock by which the time of an attempt is measured. */
    int64_t (*clock_ns)(const struct lock_event *event);
    /* The number that sets and extensions carry; else the fence. */
    int64_t (*number)(const struct lock_event *event);
    /* What a node's answer to set_kind, or extend_kind, says; may ask it for more. */
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
};

/* The documentation's. */
extern const struct redlock_rules redlock_documented;

/* What every algorithm has whose rules are a struct redlock_rules. */
#define REDLOCK_ALGORITHM                                                                          \
    .dialect = &redis_dialect, .moves = redlock_moves, .step = redlock_step,                       \
    .wake_ns = redlock_wake_ns, .assert_valid = redlock_assert_valid, .reply_words = 1

extern const uint32_t redlock_moves[LOCK_STATES];
void redlock_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects);
int64_t redlock_wake_ns(const struct lock *lock);
void redlock_assert_valid(const struct lock *lock);

#endif
