/*
 * wakes.h: who is to be woken when: a heap of times, earliest first.
 *
 * An entry is not moved when its time changes: whoever takes it out compares it with what is wanted
 * by then, and puts it back if it came too early.
 */
#ifndef LOCKCORE_DRIVERS_WAKES_H
#define LOCKCORE_DRIVERS_WAKES_H

#include <stdbool.h>
#include <stdint.h>

struct wake {
    int64_t at_ns;
    void *who; /* borrowed */
};

struct wakes {
    struct wake *heap; /* owned */
    uint32_t count;
    uint32_t count_max;
};

/* False if there is no memory. */
bool wakes_push(struct wakes *wakes, struct wake wake);

/* The earliest; the heap must not be empty. */
struct wake wakes_pop(struct wakes *wakes);

void wakes_release(struct wakes *wakes);

#endif
