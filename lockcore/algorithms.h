/*
 * algorithms.h: the table of lock algorithms: name -> algorithm.
 *
 *     lock_algorithm_index index;
 *     if (lock_algorithm_find("redlock", &index)) { config.algorithm = index; }
 */
#ifndef LOCKCORE_ALGORITHMS_H
#define LOCKCORE_ALGORITHMS_H

#include "lockcore/dialect.h"

/* Constant data. What is called gets the lock of one step; none of it keeps a pointer. */
struct lock_algorithm {
    const char *name;     /* "redlock", "wrong/no-recheck" */
    const char *about;    /* one sentence; for a wrong lock, what is wrong */
    const char *source;   /* the document or bug report that it comes from */
    bool fenced;          /* grants carry a fence */
    bool extends_unasked; /* sends commands that extend of its own accord */
    bool endless;         /* grants have no end of their own: until_ns is TIME_NEVER */
    bool waits;           /* until replicas have the key: lock_config.wait_count of them */
    bool asks_more;       /* once a majority has set the key, a grant takes another question */
    uint8_t nodes_min;    /* 1 */
    uint8_t nodes_max;    /* 1 for single */
    uint8_t reply_words;  /* random words that a reply may use: the last ones of four */
    const struct lock_dialect *dialect;
    const void *rules;     /* the algorithm's own table, or NULL */
    const uint32_t *moves; /* [LOCK_STATES]: LOCK_TO the states that may follow each */

    /* One event: see lock_step, which has checked it, has emptied the effects, and asks for the
     * next wake and for the invariants when it returns. */
    void (*step)(struct lock *lock, const struct lock_event *event, struct lock_effects *effects);
    /* The earliest time at which anything is due; TIME_NEVER if nothing is. */
    int64_t (*wake_ns)(const struct lock *lock);
    /* Abort unless the algorithm's own part is as it must be; the head was looked at. */
    void (*assert_valid)(const struct lock *lock);
};

LOCKCORE_API size_t lock_algorithm_count(void);
LOCKCORE_API const struct lock_algorithm *lock_algorithm_at(lock_algorithm_index index);
LOCKCORE_API bool lock_algorithm_find(const char *name, lock_algorithm_index *index);

#endif
