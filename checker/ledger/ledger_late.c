/* ledger_late.c: follows when whoever recorded stood still. */
#include "checker/ledger/ledger_late.h"

#include "base/assert.h"

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Two become one that lasts as long as both and what was between: nothing late is forgotten. */
static void late_join(struct ledger_standstill *first, const struct ledger_standstill *second)
{
    ASSERT(first->to_ns <= second->to_ns);
    first->cause = second->longest_ns > first->longest_ns ? second->cause : first->cause;
    first->from_ns = first->from_ns < second->from_ns ? first->from_ns : second->from_ns;
    first->to_ns = second->to_ns;
    first->longest_ns = longer(first->longest_ns, second->longest_ns);
    first->sum_ns += second->sum_ns;
    first->causes |= second->causes;
}

/* Make room: join the two that are nearest to each other. */
static void late_make_room(struct ledger_late *late)
{
    ASSERT(late->count == LEDGER_STANDSTILLS);
    uint32_t nearest = 0;
    int64_t gap_ns = TIME_NEVER;
    for (uint32_t i = 0; i + 1 < late->count; i++) {
        int64_t between_ns = late->list[i + 1].from_ns - late->list[i].to_ns;
        if (between_ns < gap_ns) {
            gap_ns = between_ns;
            nearest = i;
        }
    }
    late_join(&late->list[nearest], &late->list[nearest + 1]);
    late->count--;
    memmove(&late->list[nearest + 1], &late->list[nearest + 2],
            (late->count - nearest - 1) * sizeof late->list[0]);
}

static struct ledger_late *node_late(const struct ledger *ledger, int32_t node)
{
    ASSERT(node >= 0 && node < ledger->node_count);
    return (struct ledger_late *)ledger_at(ledger, ledger->node_lates_at) + node;
}

/* Whose standstills an event tells of; NULL for a client that is not followed. */
static struct ledger_late *late_of(struct ledger *ledger, const struct history_event *event)
{
    uint32_t slot = ledger_slot(ledger, event->process);
    if (event->process >= 0) {
        return slot < ledger->process_count ? &ledger_process_at(ledger, slot)->late : NULL;
    }
    bool of_a_node = event->node >= 0 && event->node < ledger->node_count;
    return of_a_node && event->cause != CAUSE_TAP ? node_late(ledger, event->node) : &ledger->late;
}

void ledger_step_late(struct ledger *ledger, const struct history_event *event)
{
    ASSERT(event->kind == HISTORY_LATE);
    struct ledger_late *late = late_of(ledger, event);
    int64_t within_ns = longer(event->number[0], 0);
    int64_t stood_ns = event->number[1] < 0 ? -event->number[1] : event->number[1];
    stood_ns = stood_ns == 0 ? within_ns : stood_ns;
    if (late == NULL || stood_ns == 0) {
        return;
    }
    if (late->count == LEDGER_STANDSTILLS) {
        late_make_room(late);
    }
    ledger->lates++;
    ASSERT(late->count < LEDGER_STANDSTILLS);
    late->list[late->count++] = (struct ledger_standstill){
        .from_ns = event->time_ns - within_ns,
        .to_ns = event->time_ns,
        .longest_ns = stood_ns,
        .sum_ns = stood_ns,
        .causes = UINT32_C(1) << event->cause,
        .cause = event->cause,
    };
}

/* What waited while it stood still is stamped behind it, for as long again at the most. */
static bool late_touches(const struct ledger_standstill *late, const struct check_rest *rest)
{
    bool of_clocks = (late->causes & rest->causes & CHECK_LATE_KEYS) != 0;
    int64_t to_ns = of_clocks ? rest->to_ns : rest->stamped_ns;
    return (late->causes & rest->causes) != 0 && rest->from_ns <= late->to_ns + late->longest_ns &&
           to_ns >= late->from_ns;
}

/* How much of several standstills that were put together can lie in [from, to]. */
static int64_t late_within(const struct ledger_standstill *late, const struct check_rest *rest)
{
    int64_t from_ns = longer(late->from_ns, rest->from_ns);
    int64_t to_ns = late->to_ns < rest->to_ns ? late->to_ns : rest->to_ns;
    int64_t shared_ns = longer(to_ns - from_ns, 0);
    int64_t most_ns = longer(shared_ns, late->longest_ns);
    return late->sum_ns < most_ns ? late->sum_ns : most_ns;
}

struct late_sum {
    int64_t longest_ns;
    int64_t sum_ns;
    bool untold;
    uint8_t cause;
};

static void late_add(struct late_sum *sum, const struct ledger_late *late,
                     const struct check_rest *rest)
{
    ASSERT(late->count <= LEDGER_STANDSTILLS);
    for (uint32_t i = 0; i < late->count; i++) {
        const struct ledger_standstill *one = &late->list[i];
        if (!late_touches(one, rest)) {
            continue;
        }
        sum->cause = one->longest_ns > sum->longest_ns ? one->cause : sum->cause;
        sum->longest_ns = longer(sum->longest_ns, one->longest_ns);
        sum->sum_ns += late_within(one, rest);
        sum->untold |= (one->causes & rest->causes & UINT32_C(1) << CAUSE_TAP) != 0;
    }
}

struct ledger_lateness ledger_late(const struct ledger *ledger, const struct check_rest *rest)
{
    struct late_sum sum = {0};
    if (rest->causes == 0) {
        return (struct ledger_lateness){0};
    }
    late_add(&sum, &ledger->late, rest);
    for (uint32_t i = 0; i < CHECK_REST_PROCESSES; i++) {
        const struct ledger_process *process = ledger_process(ledger, rest->processes[i]);
        bool again = false;
        for (uint32_t j = 0; j < i; j++) {
            again |= rest->processes[j] == rest->processes[i];
        }
        if (process != NULL && !again) {
            late_add(&sum, &process->late, rest);
        }
    }
    /* A node that waits for a processor holds up whoever waits for it; it moves no stamp. Several
     * may have waited at one time: the one that did for longest counts. */
    struct late_sum most = {0};
    int64_t longest_ns = 0;
    for (int32_t node = 0; rest->adds_up && node < ledger->node_count; node++) {
        struct late_sum one = {0};
        late_add(&one, node_late(ledger, node), rest);
        longest_ns = longer(longest_ns, one.longest_ns);
        most = one.sum_ns > most.sum_ns ? one : most;
    }
    sum.cause = sum.longest_ns == 0 ? most.cause : sum.cause;
    sum.sum_ns += most.sum_ns;
    struct ledger_lateness lateness = {.cause = sum.cause};
    lateness.stood_ns =
        rest->adds_up && !rest->answered ? sum.sum_ns : longer(sum.longest_ns, longest_ns);
    lateness.late_ns = sum.untold ? TIME_NEVER : lateness.stood_ns;
    ASSERT(lateness.late_ns >= 0);
    return lateness;
}
