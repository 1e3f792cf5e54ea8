/* names.h: the names of resources in one history, each with a small number. */
#ifndef HISTORY_NAMES_H
#define HISTORY_NAMES_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct history_names {
    uint32_t count;
    uint32_t count_max; /* room in `name` */
    const char **name;  /* owned; the texts are the arena's */
    uint32_t *slot;     /* owned; index + 1, 0: free; slots is a power of two */
    uint32_t slots;
    struct arena *arena; /* borrowed */
};

enum names_outcome { NAMES_FOUND, NAMES_FULL, NAMES_NO_MEMORY };

void history_names_init(struct history_names *names, struct arena *arena);

/* The number of a name: the one it got before, or the next. */
enum names_outcome history_names_number(struct history_names *names, const char *name, size_t bytes,
                                        uint32_t *number);

void history_names_release(struct history_names *names);

#endif
