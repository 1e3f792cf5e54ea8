/* place.h: a directory of its own for a test, removed afterwards. */
#ifndef TESTS_REAL_PLACE_H
#define TESTS_REAL_PLACE_H

#include "harness/real/process/guard.h"

#include <stdio.h>
#include <stdlib.h>

struct place {
    char path[128];
};

static inline void place_make(struct place *place)
{
    (void)snprintf(place->path, sizeof place->path, "/tmp/picklock-test-XXXXXX");
    if (mkdtemp(place->path) == NULL) {
        abort();
    }
}

static inline void place_remove(const struct place *place)
{
    guard_remove_tree(place->path);
}

#endif
