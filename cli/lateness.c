/* lateness.c: holds what is not as expected against how long this machine stood still. */
#include "cli/lateness.h"

#include "base/duration.h"
#include "harness/world.h"

#include <string.h>

enum { LATE_TTL_PARTS = 4 };

/*
 * The longest that this machine kept the run or a process of it from going on. A server that starts
 * and an order to an agent take their time by plan.
 */
static int64_t longest_standstill_ns(const struct explain_history *history)
{
    int64_t longest_ns = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_event *event = &history->events[i];
        bool planned = event->cause == CAUSE_START || event->cause == CAUSE_AGENT;
        if (event->kind == HISTORY_LATE && !planned && event->number[1] > longest_ns) {
            longest_ns = event->number[1];
        }
    }
    return longest_ns;
}

bool lateness_alone(const struct recording *recording, const struct run_report *report)
{
    struct explain_history history = recording_history(recording);
    bool real = strcmp(history.header->world, world_real.name) == 0;
    int64_t ttl_ns = history.header->ttl_ns;
    bool stood = real && ttl_ns > 0 && longest_standstill_ns(&history) >= ttl_ns / LATE_TTL_PARTS;
    bool late = report->unmet != 0;
    for (size_t i = 0; i < check_count(); i++) {
        bool went_by = stood && report->verdicts[i] != VERDICT_FAIL;
        bool excused = went_by || recording_result(recording, i)->reason == CHECK_REASON_LATE;
        late = late && ((report->unmet >> i & 1u) == 0 || excused);
    }
    return late;
}

void lateness_print(const struct recording *recording, struct text *text)
{
    struct explain_history history = recording_history(recording);
    text_add(text, "this machine stood still for ");
    duration_print_rounded(longest_standstill_ns(&history), text);
    text_add(text, ", and what was expected may have gone by for it\n");
}
