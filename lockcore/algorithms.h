/*
 * algorithms.h: the table of lock algorithms: name -> algorithm.
 *
 *     lock_algorithm_index index;
 *     if (lock_algorithm_find("redlock", &index)) { config.algorithm = index; }
 */
#ifndef LOCKCORE_ALGORITHMS_H
#define LOCKCORE_ALGORITHMS_H

#include "lockcore/lock.h"

#include <stddef.h>

struct lock_algorithm {
    const char *name;   /* "redlock", "wrong/no-recheck" */
    const char *about;  /* one sentence; for a wrong lock, what is wrong */
    const char *source; /* the document or bug report that it comes from */
    bool fenced;        /* grants carry a fence */
    uint8_t nodes_min;  /* 1 */
    uint8_t nodes_max;  /* 1 for single */
    const void *rules;  /* the algorithm's own table */
    void (*step)(struct lock *lock, const struct lock_event *event, struct lock_effects *effects);
};

LOCKCORE_API size_t lock_algorithm_count(void);
LOCKCORE_API const struct lock_algorithm *lock_algorithm_at(lock_algorithm_index index);
LOCKCORE_API bool lock_algorithm_find(const char *name, lock_algorithm_index *index);

#endif
