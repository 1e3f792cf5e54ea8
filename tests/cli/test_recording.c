/* test_recording.c: a run that would record more than there is memory for is given up early. */
#include "cli/recording.h"

#include <criterion/criterion.h>

enum { EVENTS_MAX = 3 << 20, EVENT_NS = 1000, NS = 1000000000 };

/* How many events, one a microsecond, are taken until it is enough; 0: all were. */
static uint64_t taken(int64_t duration_ns, int64_t cycle_ns, uint64_t sections, const char *said)
{
    char memory[256];
    struct text why = text_over(memory, sizeof memory);
    struct recording *recording = recording_open(false);
    struct recorder *recorder = recording_recorder(recording);
    struct history_header header = {.world = "sim"};
    struct recording_length length = {duration_ns, cycle_ns, sections};
    uint64_t count = 0;
    recording_expect(recording, &length);
    cr_assert_not(result_failed(recording_begin(recording, &header, &why)));
    while (count < EVENTS_MAX && !recorder->should_stop(recorder)) {
        struct history_event event = {.kind = HISTORY_SECTION,
                                      .time_ns = (int64_t)++count * EVENT_NS};
        event.f = count % 2 == 0 ? HISTORY_ENTER : HISTORY_LEAVE;
        recorder->event(recorder, &event);
    }
    if (count < EVENTS_MAX) {
        cr_assert(result_failed(recording_judge(recording, &header, &why)));
        cr_assert_not_null(strstr(why.data, said), "%s", why.data);
    }
    recording_close(recording);
    return count < EVENTS_MAX ? count : 0;
}

Test(recording, a_run_that_is_far_too_long_is_given_up_with_what_it_would_take)
{
    /* 10,000 s of a million events each. */
    uint64_t count = taken((int64_t)10000 * NS, NS / 2, UINT32_MAX, "its events would take about");
    cr_assert_gt(count, 0);
}

Test(recording, a_first_rush_or_sections_that_end_it_are_no_reason)
{
    cr_assert_eq(taken((int64_t)10000 * NS, (int64_t)1000 * NS, UINT32_MAX, "for more than"), 0,
                 "until each client was refused once, nobody knows");
    cr_assert_eq(taken((int64_t)10000 * NS, NS / 2, EVENTS_MAX, "for more than"), 0,
                 "its sections are over long before its time");
}
