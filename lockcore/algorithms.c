/* algorithms.c: the table of lock algorithms. */
#include "lockcore/algorithms.h"

#include "base/assert.h"

#include <string.h>

/* A new algorithm is a file and a row. Wrong locks come last; their names begin with wrong/. */
#define ALGORITHM_MAP(X)                                                                           \
    X(single)                                                                                      \
    X(redlock)                                                                                     \
    X(fenced_redlock)

#define X(name) extern const struct lock_algorithm algorithm_##name;
ALGORITHM_MAP(X)
#undef X

#define X(name) &algorithm_##name,
static const struct lock_algorithm *const algorithms[] = {ALGORITHM_MAP(X)};
#undef X

size_t lock_algorithm_count(void)
{
    return sizeof algorithms / sizeof algorithms[0];
}

const struct lock_algorithm *lock_algorithm_at(lock_algorithm_index index)
{
    ASSERT(index < lock_algorithm_count());
    return algorithms[index];
}

bool lock_algorithm_find(const char *name, lock_algorithm_index *index)
{
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        if (strcmp(algorithms[i]->name, name) == 0) {
            *index = (lock_algorithm_index)i;
            return true;
        }
    }
    return false;
}
