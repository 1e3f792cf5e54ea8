/* place.h: a directory of its own for a test, removed afterwards. */
#ifndef TESTS_REAL_PLACE_H
#define TESTS_REAL_PLACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", place->path);
    if (strncmp(place->path, "/tmp/picklock-test-", 19) == 0 && system(command) != 0) {
        abort();
    }
}

#endif
