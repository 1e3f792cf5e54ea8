/*
 * clock_page.h: a clock (base/clock.h) in shared memory: one writer, readers in other processes.
 *
 * Header only, and no call out of it, because the preload shim uses it inside an allocator's start.
 * The writer bumps `sequence` to odd, writes, bumps it to even; a reader tries again meanwhile.
 */
#ifndef HARNESS_REAL_PRELOAD_CLOCK_PAGE_H
#define HARNESS_REAL_PRELOAD_CLOCK_PAGE_H

#include "base/clock.h"

#include <stdatomic.h>

enum { CLOCK_PAGE_PPM = CLOCK_RATE_SOUND_PPM };

struct clock_page {
    _Atomic uint32_t sequence; /* 0: never set, the clock is the sound one */
    _Atomic int64_t base_sound_ns;
    _Atomic int64_t base_shown_ns;
    _Atomic int64_t rate_ppm;
};

/* The clock of this moment; its true time is the sound clock. */
static inline struct clock clock_page_read(struct clock_page *page)
{
    for (;;) {
        uint32_t before = atomic_load_explicit(&page->sequence, memory_order_acquire);
        if (before == 0) {
            return CLOCK_SOUND;
        }
        struct clock clock = {
            .true_ns = atomic_load_explicit(&page->base_sound_ns, memory_order_relaxed),
            .local_ns = atomic_load_explicit(&page->base_shown_ns, memory_order_relaxed),
            .rate_ppm = atomic_load_explicit(&page->rate_ppm, memory_order_relaxed),
        };
        atomic_thread_fence(memory_order_acquire);
        uint32_t after = atomic_load_explicit(&page->sequence, memory_order_relaxed);
        if (before == after && before % 2 == 0) {
            return clock;
        }
    }
}

/* What the clock shows when the sound clock says `sound_ns`. */
static inline int64_t clock_page_shown(struct clock_page *page, int64_t sound_ns)
{
    struct clock clock = clock_page_read(page);
    return clock_local(&clock, sound_ns);
}

static inline int64_t clock_page_rate_ppm(struct clock_page *page)
{
    return clock_page_read(page).rate_ppm;
}

/* From now (`sound_ns`) on the clock is moved by `jump_ns` and runs at `rate_ppm`. */
static inline void clock_page_set(struct clock_page *page, int64_t sound_ns, int64_t jump_ns,
                                  int64_t rate_ppm)
{
    int64_t shown_ns = clock_page_shown(page, sound_ns) + jump_ns;
    uint32_t sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed);
    atomic_store_explicit(&page->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&page->base_sound_ns, sound_ns, memory_order_relaxed);
    atomic_store_explicit(&page->base_shown_ns, shown_ns, memory_order_relaxed);
    atomic_store_explicit(&page->rate_ppm, rate_ppm, memory_order_relaxed);
    atomic_store_explicit(&page->sequence, sequence + 2, memory_order_release);
}

/* The first moment of the sound clock at which this one shows `shown_ns`, or the segment's
 * beginning where that was before; TIME_NEVER if it stands still. */
static inline int64_t clock_page_sound(struct clock_page *page, int64_t shown_ns)
{
    struct clock clock = clock_page_read(page);
    return clock_true(&clock, shown_ns);
}

#endif
