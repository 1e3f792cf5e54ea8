/* test_trace.c: a fingerprint sees every field of every event. */
#include "harness/sim/trace.h"

#include <criterion/criterion.h>
#include <string.h>

static uint64_t hash_of(const struct history_event *event)
{
    struct trace trace;
    trace_init(&trace, NULL);
    trace.recorder.event(&trace.recorder, event);
    return trace.hash;
}

Test(trace, every_byte_of_an_event_changes_the_hash)
{
    struct history_event event;
    memset(&event, 0, sizeof event);
    uint64_t plain = hash_of(&event);
    for (size_t i = 0; i < sizeof event; i++) {
        ((uint8_t *)&event)[i] = 1;
        cr_assert_neq(hash_of(&event), plain, "byte %zu", i);
        ((uint8_t *)&event)[i] = 0;
    }
}

Test(trace, the_same_events_at_another_time_or_in_another_order_are_another_run)
{
    struct history_event first = {.time_ns = 1, .process = 1};
    struct history_event second = {.time_ns = 2, .process = 2};
    struct history_event later = {.time_ns = 3, .process = 2};
    const struct history_event *const runs[][2] = {
        {&first, &second}, {&second, &first}, {&first, &later}};
    struct trace traces[3];
    for (size_t i = 0; i < 3; i++) {
        trace_init(&traces[i], NULL);
        traces[i].recorder.event(&traces[i].recorder, runs[i][0]);
        traces[i].recorder.event(&traces[i].recorder, runs[i][1]);
    }
    char memory[WHY_BYTES];
    struct text where = text_over(memory, sizeof memory);
    cr_assert(trace_equal(&traces[0], &traces[0], &where));
    cr_assert(!trace_equal(&traces[0], &traces[1], &where));
    cr_assert(!trace_equal(&traces[0], &traces[2], &where));
    cr_assert_not_null(strstr(where.data, "between event 1 and event 2"), "%s", where.data);
}
