/* adapter_clock.c: the clocks of adapters, and when a promise was computed. */
#include "harness/real/adapter/adapter_inner.h"

enum {
    CLOCK_ANSWERS_FIRST = 3,     /* before the run: the quickest of them counts */
    CLOCK_ROUNDING_NS = 1000000, /* what milliseconds with or without a fraction may be off */
    CLOCK_FINEST_NS = 1000,      /* a finer step is the rounding of a fraction */
};

void adapter_clock_ask(struct adapter *adapter, int32_t index)
{
    struct adapter_process *process = adapter->clients[index].process;
    if (!adapter->declaration.clock || process->clock_id != 0 || process->gone) {
        return;
    }
    process->clock_id = ++process->last_id;
    process->clock_asked_ns = loop_now_ns();
    adapter_send(process, &(struct adapter_request){.op = ADAPTER_CLOCK, .id = process->clock_id});
}

bool adapter_tells_clocks(const struct adapter *adapter)
{
    return adapter->declaration.clock;
}

void adapter_clock_first(struct adapter_process *process)
{
    if (process->clock.answers < CLOCK_ANSWERS_FIRST && process->adapter->declaration.clock) {
        adapter_clock_ask(process->adapter, process->first);
    } else {
        adapter_ready(process);
    }
}

/* Its monotonic clock was read between the question and the answer. */
static void clock_narrow(struct adapter_clock *clock, int64_t least_ns, int64_t most_ns)
{
    bool apart = least_ns > clock->offset_most_ns || most_ns < clock->offset_least_ns;
    if (clock->answers++ == 0 || apart) {
        clock->offset_least_ns = least_ns;
        clock->offset_most_ns = most_ns;
        return;
    }
    clock->offset_least_ns = least_ns > clock->offset_least_ns ? least_ns : clock->offset_least_ns;
    clock->offset_most_ns = most_ns < clock->offset_most_ns ? most_ns : clock->offset_most_ns;
}

/* What it shows is whole steps: the greatest that divides all of it. */
static void clock_measure(struct adapter_clock *clock, int64_t shown_ns)
{
    int64_t shown = (shown_ns + CLOCK_FINEST_NS / 2) / CLOCK_FINEST_NS;
    int64_t step = clock->step_ns / CLOCK_FINEST_NS;
    while (shown != 0) {
        int64_t rest = step % shown;
        step = shown;
        shown = rest < 0 ? -rest : rest;
    }
    clock->step_ns = (step < 0 ? -step : step) * CLOCK_FINEST_NS;
}

/* How far what it shows may be from what it was. */
static int64_t clock_rounding_ns(const struct adapter_clock *clock)
{
    int64_t step_ns = clock->step_ns < NS_PER_S ? clock->step_ns : NS_PER_S;
    return step_ns > CLOCK_ROUNDING_NS ? step_ns : CLOCK_ROUNDING_NS;
}

void adapter_clock_told(struct adapter_process *process, const struct adapter_answer *answer)
{
    const struct adapter_callbacks *callbacks = &process->adapter->options.callbacks;
    process->clock_id = 0;
    if (answer->type != ANSWER_OK || !answer->has_mono || !answer->has_wall) {
        adapter_fail(process,
                     "line %llu of its output: op clock was not answered with ok, mono_ms and "
                     "wall_ms, although the feature clock is declared",
                     (unsigned long long)process->line_number);
        return;
    }
    clock_measure(&process->clock, answer->mono_ns);
    clock_narrow(&process->clock, process->clock_asked_ns - answer->mono_ns,
                 answer->heard_ns - answer->mono_ns);
    if (adapter_first(process)->state == ADAPTER_STARTING) {
        adapter_clock_first(process);
        return;
    }
    struct adapter_clocks clocks = {
        .wall_ns = answer->wall_ns,
        .mono_ns = answer->mono_ns,
        .asked_ns = process->clock_asked_ns,
        .heard_ns = answer->heard_ns,
    };
    if (callbacks->clocks != NULL) {
        callbacks->clocks(callbacks->data, process->first, &clocks);
    }
}

bool adapter_clock_moment(const struct adapter_client *client, const struct adapter_answer *answer,
                          struct adapter_moment *moment)
{
    *moment = (struct adapter_moment){answer->asked_ns, answer->heard_ns};
    if (!answer->has_at) {
        return true;
    }
    struct adapter_clock *clock = &client->process->clock;
    clock_measure(clock, answer->at_ns);
    int64_t rounding_ns = clock_rounding_ns(clock);
    int64_t least_ns = answer->at_ns + clock->offset_least_ns - rounding_ns;
    int64_t most_ns = answer->at_ns + clock->offset_most_ns + rounding_ns;
    if (most_ns < moment->least_ns || least_ns > moment->most_ns) {
        return false;
    }
    moment->least_ns = least_ns > moment->least_ns ? least_ns : moment->least_ns;
    moment->most_ns = most_ns < moment->most_ns ? most_ns : moment->most_ns;
    return true;
}
