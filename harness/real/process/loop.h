/*
 * loop.h: the real world's one door to libuv: alarms in nanoseconds and watched descriptors.
 *
 *     uv_loop_t loop;                            one loop a process
 *     loop_alarm_init(&alarm, &loop, ring, context, why);
 *     loop_alarm_set(&alarm, loop_now_ns() + 3 * NS_PER_MS);
 *
 * Times are CLOCK_MONOTONIC. libuv's own timers count milliseconds from a cached clock, too coarse
 * for faults that are ordered by microseconds: an alarm is a timerfd. The caller owns the memory
 * of alarms and watches; it must outlive the loop's last turn (closing is asynchronous).
 */
#ifndef HARNESS_REAL_LOOP_H
#define HARNESS_REAL_LOOP_H

#include "base/duration.h"
#include "base/result.h"
#include "base/text.h"

#include <uv.h>

/* The machine's true time: CLOCK_MONOTONIC. */
int64_t loop_now_ns(void);

struct loop_alarm {
    uv_poll_t poll;
    int fd;
    int64_t at_ns; /* TIME_NEVER while it is not set */
    void (*ring)(struct loop_alarm *alarm);
    void *context; /* borrowed, for `ring` */
};

MUST_USE struct result loop_alarm_init(struct loop_alarm *alarm, uv_loop_t *loop,
                                       void (*ring)(struct loop_alarm *alarm), void *context,
                                       struct text *why);

/* Ring once at `at_ns`, or at once where that has passed; replaces; TIME_NEVER cancels. */
void loop_alarm_set(struct loop_alarm *alarm, int64_t at_ns);
void loop_alarm_close(struct loop_alarm *alarm); /* one of zeros was never made: nothing */

/* Call `ready` whenever `fd` (borrowed) can be read or has been closed by its other side. */
struct loop_watch {
    uv_poll_t poll;
    int fd;
    void (*ready)(struct loop_watch *watch);
    void *context; /* borrowed, for `ready` */
};

MUST_USE struct result loop_watch_init(struct loop_watch *watch, uv_loop_t *loop, int fd,
                                       void (*ready)(struct loop_watch *watch), struct text *why);
void loop_watch_close(struct loop_watch *watch); /* one of zeros was never made: nothing */

#endif
