/* gap.c: for how long nobody has got a lock that was asked for, though it was free. */
#include "checker/gap.h"

#include "base/assert.h"
#include "checker/verdict.h"

void gap_init(struct gap *gap)
{
    *gap = (struct gap){.holder = HISTORY_NOBODY,
                        .first_asker = HISTORY_NOBODY,
                        .answered = HISTORY_NOBODY,
                        .since_ns = TIME_NEVER};
}

void gap_count_on(struct gap *gap, int64_t now_ns)
{
    gap->since_ns = gap->asking > 0 && !gap->split ? now_ns : TIME_NEVER;
}

void gap_reset(struct gap *gap, int64_t now_ns)
{
    gap_count_on(gap, now_ns);
    gap->first_ns = now_ns;
    gap->first_asker = HISTORY_NOBODY;
    gap->before_ns = 0;
    gap->failed_ns = 0;
    gap->refusing = false;
}

int64_t gap_length(struct gap *gap, int64_t now_ns)
{
    if (gap->since_ns == TIME_NEVER) {
        return gap->before_ns;
    }
    int64_t held_ns = gap->taken_ns > gap->late_ns ? gap->taken_ns : gap->late_ns;
    int64_t free_ns = held_ns < now_ns ? held_ns : now_ns;
    if (free_ns > gap->since_ns) {
        gap->since_ns = free_ns;
        gap->first_ns = free_ns;
        gap->first_asker = HISTORY_NOBODY;
        gap->before_ns = 0;
        gap->failed_ns = 0;
    }
    return gap->before_ns + now_ns - gap->since_ns;
}

void gap_goes_on(struct gap *gap, int64_t now_ns)
{
    gap->before_ns = gap_length(gap, now_ns);
    gap_count_on(gap, now_ns);
}

void gap_asked(struct gap *gap, const struct history_event *event, bool counted)
{
    gap->asking += counted ? 1 : 0;
    if (!counted || gap->asking > 1) {
        return;
    }
    if (gap->before_ns + gap->failed_ns == 0) {
        gap->index = event->index;
        gap->first_asker = event->process;
        gap->first_ns = event->time_ns;
    }
    gap_count_on(gap, event->time_ns);
}

void gap_answered(struct gap *gap, const struct history_event *event)
{
    gap->asking -= gap->asking > 0 ? 1 : 0;
    if (event->type == HISTORY_OK) {
        gap->holder = event->process;
        gap->taken_ns = (event->flags & HISTORY_HAS_UNTIL) != 0 ? event->until_ns : TIME_NEVER;
        gap_reset(gap, event->time_ns);
        return;
    }
    gap_goes_on(gap, event->time_ns);
}

/* Whether nothing is in anybody's way: no lease runs, no node has a key, and no fault left any. */
static bool gap_is_free(const struct gap *gap, const struct ledger *ledger, uint32_t resource)
{
    bool keys = false;
    for (int32_t node = 0; node < ledger->node_count; node++) {
        keys |= ledger_key_at(ledger, node, resource)->present;
    }
    return !keys && gap->taken_ns <= ledger->now_ns && gap->late_ns <= ledger->now_ns &&
           ledger_resource_at(ledger, resource)->keys_seen &&
           ledger_is_calm_since(ledger, ledger->now_ns);
}

void gap_refuses(struct gap *gap, const struct ledger *ledger, const struct history_event *event)
{
    if (event->kind == HISTORY_NODE) {
        gap->refusing = false;
        return;
    }
    ASSERT(event->f == HISTORY_ACQUIRE);
    if (event->type == HISTORY_INVOKE && !gap->refusing) {
        gap->refusing = gap_is_free(gap, ledger, event->resource);
        gap->refusals = 0;
        gap->at_once = 0;
        gap->refused = event->process;
        gap->refused_ns = event->time_ns;
        gap->refused_index = event->index;
    }
    if (event->type == HISTORY_FAIL || event->type == HISTORY_INFO) {
        const struct ledger_process *process = ledger_process(ledger, event->process);
        bool counts = process != NULL && process->given_up_ns == TIME_NEVER;
        bool at_once =
            counts && event->time_ns - process->open_ns <= ledger->ttl_ns / CHECK_AT_ONCE_PARTS;
        gap->refusals += counts ? 1 : 0;
        gap->at_once += at_once ? 1 : 0;
        gap->refusing = gap->refusing && gap->taken_ns <= ledger->now_ns;
    }
}

bool gap_refuses_at_once(const struct gap *gap)
{
    return gap->at_once >= GAP_REFUSALS;
}

int64_t gap_refused_ns(const struct gap *gap, int64_t now_ns)
{
    return gap->refusing && gap->refusals >= GAP_REFUSALS ? now_ns - gap->refused_ns : 0;
}
