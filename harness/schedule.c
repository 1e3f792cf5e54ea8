/* schedule.c: when each fault of a plan begins and ends. */
#include "harness/schedule.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* What just happened, to be held against triggers. */
struct schedule_moment {
    uint8_t kind; /* enum trigger_kind */
    uint8_t point;
    uint8_t role;
    int32_t client;
    int32_t node;
    int64_t true_ns;
};

/* A command is its program's: which of the program's threads sent it nobody can see. */
static int32_t trigger_party(const struct plan *plan, int32_t client, uint8_t kind)
{
    bool command = kind == TRIGGER_COMMAND || kind == TRIGGER_ARRIVAL;
    return command ? scenario_program(&plan->scenario, client) : client;
}

static bool trigger_matches(const struct plan *plan, const struct trigger *trigger,
                            const struct schedule_moment *moment)
{
    if (trigger->kind != moment->kind) {
        return false;
    }
    if (trigger->client != SCENARIO_ANY && trigger_party(plan, trigger->client, moment->kind) !=
                                               trigger_party(plan, moment->client, moment->kind)) {
        return false;
    }
    if (trigger->kind == TRIGGER_PROBE) {
        return trigger->point == moment->point;
    }
    if (trigger->node != SCENARIO_ANY && trigger->node != moment->node) {
        return false;
    }
    return trigger->role == ROLE_ANY || trigger->role == moment->role;
}

/* The trigger that fault k waits for now; NULL if it waits for none. */
static const struct trigger *schedule_awaited(const struct schedule *schedule,
                                              const struct plan *plan, uint32_t k)
{
    const struct fault *fault = &plan->scenario.faults[k];
    if (schedule->state[k] == SCHEDULE_WAITING) {
        return &fault->start;
    }
    return schedule->state[k] == SCHEDULE_ACTIVE ? &fault->until : NULL;
}

static void schedule_watch_probe(struct schedule *schedule, const struct trigger *trigger)
{
    if (trigger->kind == TRIGGER_PROBE) {
        schedule->probes_watched |= 1u << trigger->point;
    } else if (trigger->kind == TRIGGER_COMMAND || trigger->kind == TRIGGER_ARRIVAL) {
        schedule->commands_watched = true;
    }
}

/* Recompute what is watched and when the next time trigger is due. */
static void schedule_refresh(struct schedule *schedule, const struct plan *plan)
{
    schedule->next_ns = TIME_NEVER;
    schedule->probes_watched = 0;
    schedule->commands_watched = false;
    for (uint32_t k = 0; k < schedule->count; k++) {
        const struct fault *fault = &plan->scenario.faults[k];
        int64_t due_ns = TIME_NEVER;
        if (schedule->state[k] == SCHEDULE_WAITING) {
            /* Its `until` is watched from now on: it may begin at any moment. */
            schedule_watch_probe(schedule, &fault->start);
            schedule_watch_probe(schedule, &fault->until);
            due_ns = fault->start.kind == TRIGGER_TIME ? fault->start.at_ns : TIME_NEVER;
        } else if (schedule->state[k] == SCHEDULE_DUE) {
            schedule_watch_probe(schedule, &fault->until);
            due_ns = schedule->due_ns[k];
        } else if (schedule->state[k] == SCHEDULE_ACTIVE) {
            schedule_watch_probe(schedule, &fault->until);
            due_ns = schedule->end_ns[k];
        }
        schedule->next_ns = due_ns < schedule->next_ns ? due_ns : schedule->next_ns;
    }
}

static void schedule_act(struct schedule_actions *actions, enum schedule_action_type type,
                         uint32_t fault, const struct schedule_moment *moment)
{
    ASSERT(actions->count < sizeof actions->list / sizeof actions->list[0]);
    actions->list[actions->count++] = (struct schedule_action){
        .type = (uint8_t)type,
        .fault = (uint8_t)fault,
        .client = moment->client,
        .node = moment->node,
    };
}

static void schedule_end(struct schedule *schedule, uint32_t k,
                         const struct schedule_moment *moment, struct schedule_actions *actions)
{
    schedule->state[k] = SCHEDULE_ENDED;
    schedule->end_ns[k] = TIME_NEVER;
    schedule_act(actions, SCHEDULE_END, k, moment);
}

static void schedule_begin(struct schedule *schedule, const struct plan *plan, uint32_t k,
                           const struct schedule_moment *moment, struct schedule_actions *actions)
{
    const struct fault *fault = &plan->scenario.faults[k];
    schedule->state[k] = SCHEDULE_ACTIVE;
    schedule->passes[k] = 0;
    schedule->end_ns[k] = TIME_NEVER;
    schedule_act(actions, SCHEDULE_BEGIN, k, moment);
    if (fault->until.kind == TRIGGER_TIME) {
        schedule->end_ns[k] = fault->until.at_ns;
    } else if (fault->until.kind == TRIGGER_NEVER && fault->for_ns == 0) {
        schedule_end(schedule, k, moment, actions); /* done in an instant: kill, evict, ... */
    } else if (fault->for_ns > 0 && fault->for_ns != TIME_NEVER) {
        schedule->end_ns[k] = moment->true_ns + fault->for_ns;
    }
}

/* Its event happened; it begins later, on behalf of whom that was. */
static void schedule_put_off(struct schedule *schedule, const struct plan *plan, uint32_t k,
                             const struct schedule_moment *moment)
{
    ASSERT(schedule->state[k] == SCHEDULE_WAITING);
    schedule->state[k] = SCHEDULE_DUE;
    schedule->due_ns[k] = moment->true_ns + plan->scenario.faults[k].after_ns;
    schedule->causes[k] = (struct schedule_cause){moment->client, moment->node};
}

/* Hold a passing or a command against every trigger that is waited for. */
static void schedule_see(struct schedule *schedule, const struct plan *plan,
                         const struct schedule_moment *moment, struct schedule_actions *actions)
{
    bool seen = false;
    actions->count = 0;
    for (uint32_t k = 0; k < schedule->count; k++) {
        const struct trigger *trigger = schedule_awaited(schedule, plan, k);
        if (trigger == NULL || !trigger_matches(plan, trigger, moment)) {
            continue;
        }
        schedule->passes[k]++;
        if (schedule->passes[k] < trigger->nth) {
            continue;
        }
        if (schedule->state[k] == SCHEDULE_WAITING && plan->scenario.faults[k].after_ns > 0) {
            schedule_put_off(schedule, plan, k, moment);
            seen = true;
        } else if (schedule->state[k] == SCHEDULE_WAITING) {
            schedule_begin(schedule, plan, k, moment, actions);
        } else {
            schedule_end(schedule, k, moment, actions);
        }
    }
    actions->changed = seen || actions->count > 0;
    if (actions->changed) {
        schedule_refresh(schedule, plan);
    }
}

void schedule_init(struct schedule *schedule, const struct plan *plan)
{
    ASSERT(plan->scenario.fault_count <= SCENARIO_FAULTS_MAX);
    ASSERT(!plan->scenario.random.present);
    memset(schedule, 0, sizeof *schedule);
    schedule->count = (uint32_t)plan->scenario.fault_count;
    for (uint32_t k = 0; k < schedule->count; k++) {
        schedule->state[k] = SCHEDULE_WAITING;
        schedule->end_ns[k] = TIME_NEVER;
    }
    schedule_refresh(schedule, plan);
}

void schedule_probe(struct schedule *schedule, const struct plan *plan,
                    const struct schedule_pass *pass, struct schedule_actions *actions)
{
    struct schedule_moment moment = {
        .kind = TRIGGER_PROBE,
        .point = pass->point,
        .client = pass->client,
        .node = SCENARIO_ANY,
        .true_ns = pass->true_ns,
    };
    schedule_see(schedule, plan, &moment, actions);
}

void schedule_command(struct schedule *schedule, const struct plan *plan,
                      const struct schedule_sight *sight, struct schedule_actions *actions)
{
    ASSERT(sight->moment == TRIGGER_COMMAND || sight->moment == TRIGGER_ARRIVAL);
    struct schedule_moment moment = {
        .kind = sight->moment,
        .role = sight->role,
        .client = sight->client,
        .node = sight->node,
        .true_ns = sight->true_ns,
    };
    schedule_see(schedule, plan, &moment, actions);
}

void schedule_time(struct schedule *schedule, const struct plan *plan, int64_t true_ns,
                   struct schedule_actions *actions)
{
    struct schedule_moment moment = {
        .kind = TRIGGER_TIME, .client = SCENARIO_ANY, .node = SCENARIO_ANY, .true_ns = true_ns};
    actions->count = 0;
    actions->changed = true;
    for (uint32_t k = 0; k < schedule->count; k++) {
        const struct fault *fault = &plan->scenario.faults[k];
        if (schedule->state[k] == SCHEDULE_ACTIVE && schedule->end_ns[k] <= true_ns) {
            schedule_end(schedule, k, &moment, actions);
        } else if (schedule->state[k] == SCHEDULE_WAITING && fault->start.kind == TRIGGER_TIME &&
                   fault->start.at_ns <= true_ns) {
            schedule_begin(schedule, plan, k, &moment, actions);
        } else if (schedule->state[k] == SCHEDULE_DUE && schedule->due_ns[k] <= true_ns) {
            struct schedule_moment put_off = moment;
            put_off.client = schedule->causes[k].client;
            put_off.node = schedule->causes[k].node;
            schedule_begin(schedule, plan, k, &put_off, actions);
        }
    }
    schedule_refresh(schedule, plan);
}

void schedule_heal(struct schedule *schedule, const struct plan *plan, int64_t true_ns,
                   struct schedule_actions *actions)
{
    struct schedule_moment moment = {
        .kind = TRIGGER_TIME, .client = SCENARIO_ANY, .node = SCENARIO_ANY, .true_ns = true_ns};
    actions->count = 0;
    actions->changed = true;
    for (uint32_t k = 0; k < schedule->count; k++) {
        if (schedule->state[k] == SCHEDULE_ACTIVE) {
            schedule_end(schedule, k, &moment, actions);
        }
        schedule->state[k] = SCHEDULE_ENDED;
    }
    schedule_refresh(schedule, plan);
}
