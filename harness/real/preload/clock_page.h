/*
 * clock_page.h: a piecewise linear clock in shared memory: one writer, readers in other processes.
 *
 *     shown = base_shown + (sound - base_sound) * rate        a change never moves what is shown
 *
 * Header only, and no call out of it, because the preload shim uses it inside an allocator's start.
 * The writer bumps `sequence` to odd, writes, bumps it to even; a reader tries again meanwhile.
 */
#ifndef HARNESS_REAL_PRELOAD_CLOCK_PAGE_H
#define HARNESS_REAL_PRELOAD_CLOCK_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

__extension__ typedef __int128 clock_page_product;

enum { CLOCK_PAGE_PPM = 1000000 };

struct clock_page {
    _Atomic uint32_t sequence; /* 0: never set, the clock is the sound one */
    _Atomic int64_t base_sound_ns;
    _Atomic int64_t base_shown_ns;
    _Atomic int64_t rate_ppm;
};

/* What the clock shows when the sound clock says `sound_ns`. */
static inline int64_t clock_page_shown(struct clock_page *page, int64_t sound_ns)
{
    for (;;) {
        uint32_t before = atomic_load_explicit(&page->sequence, memory_order_acquire);
        if (before == 0) {
            return sound_ns;
        }
        int64_t base_sound_ns = atomic_load_explicit(&page->base_sound_ns, memory_order_relaxed);
        int64_t base_shown_ns = atomic_load_explicit(&page->base_shown_ns, memory_order_relaxed);
        int64_t rate_ppm = atomic_load_explicit(&page->rate_ppm, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        uint32_t after = atomic_load_explicit(&page->sequence, memory_order_relaxed);
        if (before == after && before % 2 == 0) {
            clock_page_product passed = (clock_page_product)(sound_ns - base_sound_ns) * rate_ppm;
            return base_shown_ns + (int64_t)(passed / CLOCK_PAGE_PPM);
        }
    }
}

static inline int64_t clock_page_rate_ppm(struct clock_page *page)
{
    uint32_t sequence = atomic_load_explicit(&page->sequence, memory_order_acquire);
    return sequence == 0 ? CLOCK_PAGE_PPM
                         : atomic_load_explicit(&page->rate_ppm, memory_order_relaxed);
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

/* When the sound clock will say so that the clock shows `shown_ns`; INT64_MAX if it stands still.
 */
static inline int64_t clock_page_sound(struct clock_page *page, int64_t shown_ns)
{
    int64_t rate_ppm = clock_page_rate_ppm(page);
    if (atomic_load_explicit(&page->sequence, memory_order_acquire) == 0) {
        return shown_ns;
    }
    if (rate_ppm <= 0) {
        return INT64_MAX;
    }
    int64_t base_shown_ns = atomic_load_explicit(&page->base_shown_ns, memory_order_relaxed);
    clock_page_product left = (clock_page_product)(shown_ns - base_shown_ns) * CLOCK_PAGE_PPM;
    return atomic_load_explicit(&page->base_sound_ns, memory_order_relaxed) +
           (int64_t)(left / rate_ppm);
}

#endif
