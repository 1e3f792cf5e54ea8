/* heap.c: an indexed 4-ary heap. */
#include "harness/sim/heap.h"

#include "base/assert.h"

#include <string.h>

enum { HEAP_ARITY = 4 };

static uint32_t *heap_places(struct heap *heap)
{
    return (uint32_t *)(void *)&heap->entries[heap->slots];
}

size_t heap_bytes(uint32_t slots)
{
    return sizeof(struct heap) + slots * (sizeof(struct heap_entry) + sizeof(uint32_t));
}

void heap_init(struct heap *heap, uint32_t slots)
{
    ASSERT(slots > 0);
    heap->slots = slots;
    heap->count = 0;
    memset(heap_places(heap), 0, slots * sizeof(uint32_t));
}

__extension__ typedef unsigned __int128 heap_key;

/* Time, then tie, then slot, as one number: no branch that a processor could guess wrongly. */
static inline heap_key heap_key_of(const struct heap_entry *entry)
{
    uint64_t low = (uint64_t)entry->tie << 32 | entry->slot;
    return (heap_key)(uint64_t)entry->time_ns << 64 | low;
}

static inline bool heap_before(const struct heap_entry *a, const struct heap_entry *b)
{
    return heap_key_of(a) < heap_key_of(b);
}

static inline void heap_put(struct heap *heap, uint32_t place, const struct heap_entry *entry)
{
    heap->entries[place] = *entry;
    heap_places(heap)[entry->slot] = place + 1;
}

static void heap_rise(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / HEAP_ARITY;
        if (!heap_before(&entry, &heap->entries[parent])) {
            break;
        }
        heap_put(heap, place, &heap->entries[parent]);
        place = parent;
    }
    heap_put(heap, place, &entry);
}

static void heap_sink(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    for (;;) {
        uint32_t child = place * HEAP_ARITY + 1;
        if (child >= heap->count) {
            break;
        }
        uint32_t end = child + HEAP_ARITY < heap->count ? child + HEAP_ARITY : heap->count;
        uint32_t least = child;
        for (uint32_t i = child + 1; i < end; i++) {
            least = heap_before(&heap->entries[i], &heap->entries[least]) ? i : least;
        }
        if (!heap_before(&heap->entries[least], &entry)) {
            break;
        }
        heap_put(heap, place, &heap->entries[least]);
        place = least;
    }
    heap_put(heap, place, &entry);
}

bool heap_has(const struct heap *heap, uint32_t slot)
{
    ASSERT(slot < heap->slots);
    const uint32_t *places = (const uint32_t *)(const void *)&heap->entries[heap->slots];
    return places[slot] != 0;
}

void heap_set(struct heap *heap, uint32_t slot, int64_t time_ns, uint32_t tie)
{
    ASSERT(slot < heap->slots);
    struct heap_entry entry = {time_ns, tie, slot};
    uint32_t place = heap_places(heap)[slot];
    if (place == 0) {
        ASSERT(heap->count < heap->slots);
        heap_rise(heap, heap->count++, entry);
        return;
    }
    ASSERT(place <= heap->count);
    ASSERT(heap->entries[place - 1].slot == slot);
    if (heap_before(&entry, &heap->entries[place - 1])) {
        heap_rise(heap, place - 1, entry);
    } else {
        heap_sink(heap, place - 1, entry);
    }
}

void heap_remove(struct heap *heap, uint32_t slot)
{
    ASSERT(slot < heap->slots);
    uint32_t place = heap_places(heap)[slot];
    if (place == 0) {
        return;
    }
    ASSERT(place <= heap->count);
    ASSERT(heap->entries[place - 1].slot == slot);
    heap_places(heap)[slot] = 0;
    heap->count--;
    if (place - 1 == heap->count) {
        return;
    }
    struct heap_entry last = heap->entries[heap->count];
    if (heap_before(&last, &heap->entries[place - 1])) {
        heap_rise(heap, place - 1, last);
    } else {
        heap_sink(heap, place - 1, last);
    }
}
