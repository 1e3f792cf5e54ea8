/* wakes.c: a binary heap of times. */
#include "lockcore/drivers/wakes.h"

#include "base/arena.h"
#include "base/assert.h"

enum { WAKES_MIN = 64 };

bool wakes_push(struct wakes *wakes, struct wake wake)
{
    if (wakes->count == wakes->count_max) {
        uint32_t count_max = wakes->count_max == 0 ? WAKES_MIN : 2 * wakes->count_max;
        struct wake *grown = memory_resize(wakes->heap, count_max * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        wakes->heap = grown;
        wakes->count_max = count_max;
    }
    uint32_t at = wakes->count++;
    while (at > 0 && wakes->heap[(at - 1) / 2].at_ns > wake.at_ns) {
        wakes->heap[at] = wakes->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    wakes->heap[at] = wake;
    return true;
}

struct wake wakes_pop(struct wakes *wakes)
{
    ASSERT(wakes->count > 0);
    struct wake first = wakes->heap[0];
    struct wake last = wakes->heap[--wakes->count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < wakes->count; child = 2 * at + 1) {
        bool right =
            child + 1 < wakes->count && wakes->heap[child + 1].at_ns < wakes->heap[child].at_ns;
        child += right ? 1 : 0;
        if (wakes->heap[child].at_ns >= last.at_ns) {
            break;
        }
        wakes->heap[at] = wakes->heap[child];
        at = child;
    }
    wakes->heap[at] = last;
    return first;
}

void wakes_release(struct wakes *wakes)
{
    memory_release(wakes->heap);
    *wakes = (struct wakes){.heap = 0};
}
