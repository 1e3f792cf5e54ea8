/* hints.c: why a scenario that was meant to break a lock did not. */
#include "cli/hints.h"

#include "base/duration.h"

#include <string.h>

enum { HINTS_MAX = 3 };

/* What became of one fault. */
struct fault_seen {
    bool begun;
    bool effect;
    bool healed; /* it ended only because all faults did */
    int64_t begun_ns;
    int64_t length_ns; /* -1: it did not end */
};

struct hints {
    const struct scenario *scenario;
    const struct explain_history *history;
    struct text *text;
    uint32_t count;
    int64_t healed_ns;
    uint32_t timeouts; /* acquires that ended because nodes were late */
    uint32_t grants;
    uint32_t struck_nodes; /* bit i: a fault of a node, or a cut to it, struck node i */
    struct fault_seen seen[SCENARIO_FAULTS_MAX];
};

static void see_fault(struct hints *hints, const struct history_event *event)
{
    const struct fault *fault = &hints->scenario->faults[event->fault];
    struct fault_seen *seen = &hints->seen[event->fault];
    switch (event->f) {
    case HISTORY_FAULT_START:
        seen->begun = true;
        seen->begun_ns = event->time_ns;
        seen->length_ns = -1;
        hints->struck_nodes |= fault->node_mask;
        return;
    case HISTORY_FAULT_EFFECT:
        seen->effect = true;
        return;
    default:
        seen->length_ns = event->time_ns - seen->begun_ns;
        return;
    }
}

static void see(struct hints *hints)
{
    const struct explain_history *history = hints->history;
    hints->healed_ns = TIME_NEVER;
    for (size_t i = 0; i < history->count; i++) {
        const struct history_event *event = &history->events[i];
        if (event->kind == HISTORY_FAULT && event->fault >= 0 &&
            (size_t)event->fault < hints->scenario->fault_count) {
            see_fault(hints, event);
        } else if (event->kind == HISTORY_PHASE && event->f == HISTORY_HEALED) {
            hints->healed_ns = event->time_ns;
        } else if (event->kind == HISTORY_OP && event->f == HISTORY_ACQUIRE) {
            hints->timeouts += event->type == HISTORY_FAIL && event->cause == CAUSE_TIMEOUT;
            hints->grants += event->type == HISTORY_OK;
        }
    }
    for (size_t k = 0; k < hints->scenario->fault_count; k++) {
        struct fault_seen *seen = &hints->seen[k];
        seen->healed = seen->begun && seen->length_ns >= 0 &&
                       seen->begun_ns + seen->length_ns >= hints->healed_ns;
    }
}

static struct text *begin(struct hints *hints)
{
    hints->count++;
    text_add(hints->text, "why not: ");
    return hints->text;
}

static struct text *begin_fault(struct hints *hints, size_t k)
{
    const struct fault *fault = &hints->scenario->faults[k];
    struct text *text = begin(hints);
    text_add(text, "fault %zu (%s, line %u) ", k + 1, fault_kind_name((enum fault_kind)fault->kind),
             fault->line);
    return text;
}

static bool is_late(const struct fault *fault)
{
    return fault->kind == FAULT_LATENCY || fault->kind == FAULT_DELAY_COMMAND;
}

/* What one fault did instead of what it was meant for. */
static void hint_fault(struct hints *hints, size_t k)
{
    const struct fault *fault = &hints->scenario->faults[k];
    const struct fault_seen *seen = &hints->seen[k];
    const struct lock_config *lock = &hints->scenario->lock;
    bool waits = fault->until.kind != TRIGGER_NEVER && fault->until.kind != TRIGGER_TIME;
    if (!seen->begun) {
        text_add(begin_fault(hints, k), "struck nobody: what it begins at never happened\n");
    } else if (!seen->effect) {
        text_add(begin_fault(hints, k), "struck nobody: nothing was seen of it\n");
    } else if (waits && seen->healed) {
        text_add(begin_fault(hints, k), "waited for an event that did not come any more, and ended "
                                        "with all others: had it passed before?\n");
    } else if (is_late(fault) && fault->amount_ns > lock->node_timeout_ns && hints->timeouts > 0) {
        struct text *text = begin_fault(hints, k);
        text_add(text, "came to nothing: node_timeout ");
        duration_print(lock->node_timeout_ns, text);
        text_add(text, " refused the lock before its ");
        duration_print(fault->amount_ns, text);
        text_add(text, " mattered\n");
    } else if (fault->kind == FAULT_PAUSE && fault->client_first >= 0 && seen->length_ns >= 0 &&
               seen->length_ns < lock->ttl_ns && fault->start.kind != TRIGGER_TIME) {
        struct text *text = begin_fault(hints, k);
        text_add(text, "lasted ");
        duration_print_short(seen->length_ns, text);
        text_add(text, ", less than the ttl of ");
        duration_print(lock->ttl_ns, text);
        text_add(text, ": the lease outlasted it\n");
    }
}

void hints_print(const struct scenario *scenario, const struct explain_history *history,
                 struct text *text)
{
    static struct hints hints;
    if (scenario->random.present) {
        return; /* what a seed draws is not meant for anything */
    }
    hints = (struct hints){.scenario = scenario, .history = history, .text = text};
    see(&hints);
    if (scenario->fault_count == 0) {
        text_add(begin(&hints), "there is no fault in this file\n");
        return;
    }
    for (size_t k = 0; k < scenario->fault_count && hints.count < HINTS_MAX; k++) {
        hint_fault(&hints, k);
    }
    int struck = __builtin_popcount(hints.struck_nodes);
    int majority = scenario->node_count / 2 + 1;
    if (struck > 0 && struck < majority && hints.count < HINTS_MAX) {
        text_add(begin(&hints), "faults struck %d of %d nodes: a majority, %d, was never broken\n",
                 struck, (int)scenario->node_count, majority);
    }
    if (hints.grants == 0 && hints.count < HINTS_MAX) {
        text_add(begin(&hints), "the lock was never granted\n");
    }
}
