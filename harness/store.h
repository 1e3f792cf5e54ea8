/*
 * store.h: the protected resource that a holder reads and writes, with or without a guard.
 *
 * A read gives the version and, with value_check, claims the resource for the reader's value
 * (antirez 2016, "the unique token ... in order to perform a check and set"). A write makes a new
 * version. With fence_check a fence older than the highest seen is refused (Kleppmann 2016, "making
 * the lock safe with fencing"); an equal one is accepted. Plain memory without pointers; the same
 * code serves both worlds.
 */
#ifndef HARNESS_STORE_H
#define HARNESS_STORE_H

#include "history/event.h"

#include <stdbool.h>

struct store_cell {
    int64_t version; /* 0 at first, +1 a write */
    int64_t fence;   /* highest seen */
    bool claimed;
    struct history_value value; /* the last that claimed it */
};

struct store_guard {
    bool fence_check;
    bool value_check;
};

struct store_answer {
    bool accepted;
    uint8_t cause; /* enum history_cause where it was refused */
    int64_t version;
};

struct store_answer store_read(struct store_cell *cell, const struct store_guard *guard,
                               const struct history_value *value, int64_t fence);
struct store_answer store_write(struct store_cell *cell, const struct store_guard *guard,
                                const struct history_value *value, int64_t fence);

#endif
