/*
 * heap.h: the pending events of a world, the earliest first.
 *
 * One entry for each slot (a queue, a timer) that has something to do; its key is (time, tie). A
 * 4-ary heap with the place of every slot, so that a slot's time can be changed or taken back.
 * Equal keys go by slot number, never by address.
 */
#ifndef HARNESS_SIM_HEAP_H
#define HARNESS_SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_entry {
    int64_t time_ns;
    uint32_t tie;
    uint32_t slot;
};

/* Followed in memory by `slots` entries and `slots` places (0: not pending, else 1 + place). */
struct heap {
    uint32_t slots;
    uint32_t count;
    struct heap_entry entries[];
};

size_t heap_bytes(uint32_t slots);
void heap_init(struct heap *heap, uint32_t slots);

/* Make a slot pending at (time, tie), or change when it is. */
void heap_set(struct heap *heap, uint32_t slot, int64_t time_ns, uint32_t tie);

/* No longer pending; nothing happens if it was not. */
void heap_remove(struct heap *heap, uint32_t slot);

bool heap_has(const struct heap *heap, uint32_t slot);

/* The earliest entry; count > 0. */
static inline const struct heap_entry *heap_first(const struct heap *heap)
{
    return &heap->entries[0];
}

#endif
