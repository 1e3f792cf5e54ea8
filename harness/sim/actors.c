/* actors.c: simulated clients: their steps, freezes, clocks and ends. */
#include "harness/sim/state.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

void sim_actor_init(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    bool audit = client + 1 == sim->actor_count;
    memset(actor, 0, sizeof *actor);
    actor->wall = (struct clock){0, SIM_WALL_START_NS, CLOCK_RATE_SOUND_PPM};
    actor->mono = (struct clock){0, SIM_MONO_START_NS, CLOCK_RATE_SOUND_PPM};
    actor->random = random_stream_at("lock", client, sim->plan->seed);
    actor->wake_ns = TIME_NEVER;
    actor->thawed_ns = -1;
    actor->state = SIM_ACTOR_NEW;
    actor_init(sim_actor_core(actor), audit ? &sim->audit : &sim->program,
               &sim->plan->scenario.lock, (int32_t)client, sim->plan->seed);
}

/* ---- effects --------------------------------------------------------------------------------- */

/* Where a lease of a grant is kept, or may be: one that is held already, or a free place. */
static struct sim_lease *sim_actor_lease(struct sim_actor *actor,
                                         const struct history_event *record)
{
    struct sim_lease *place = NULL;
    for (uint32_t i = 0; i < SCENARIO_HOLDS_MAX; i++) {
        struct sim_lease *lease = &actor->leases[i];
        bool same = lease->held && lease->resource == record->resource &&
                    history_value_equal(&lease->value, &record->value);
        if (same) {
            return lease;
        }
        place = lease->held || place != NULL ? place : lease;
    }
    return place;
}

static void sim_actor_note_lease(struct sim_actor *actor, const struct history_event *record)
{
    struct sim_lease *lease = sim_actor_lease(actor, record);
    bool granted = record->kind == HISTORY_OP && record->type == HISTORY_OK &&
                   (record->f == HISTORY_ACQUIRE || record->f == HISTORY_EXTEND);
    if ((granted || record->kind == HISTORY_LEASE) && (record->flags & HISTORY_HAS_UNTIL) != 0) {
        ASSERT(lease != NULL); /* a client holds no more than that at once */
        *lease = (struct sim_lease){.held = true,
                                    .resource = record->resource,
                                    .until_ns = record->until_ns,
                                    .value = record->value};
    } else if (lease != NULL && (record->kind == HISTORY_NOTICE || record->f == HISTORY_RELEASE)) {
        lease->held = false;
    }
}

static void sim_actor_record(struct sim *sim, uint32_t client, struct history_event *record)
{
    struct sim_actor *actor = sim_actor(sim, client);
    if (record->kind == HISTORY_OP || record->kind == HISTORY_NOTICE ||
        record->kind == HISTORY_LEASE) {
        sim_actor_note_lease(actor, record);
    }
    if ((record->flags & HISTORY_HAS_UNTIL) != 0) {
        record->until_ns = clock_true(&actor->mono, record->until_ns);
    }
    sim_record(sim, record);
}

static void sim_actor_set_wake(struct sim *sim, uint32_t client, int64_t wake_ns)
{
    struct sim_actor *actor = sim_actor(sim, client);
    actor->wake_ns = wake_ns;
    actor->wake_waits = false;
    int64_t true_ns = clock_true(&actor->mono, wake_ns);
    if (true_ns == TIME_NEVER) {
        heap_remove(sim->heap, sim->slots.wakes + client);
    } else {
        sim_arm(sim, sim->slots.wakes + client, sim_later(true_ns, sim->world->now_ns));
    }
}

static void sim_actor_ask_store(struct sim *sim, uint32_t client, const struct actor_effect *effect)
{
    struct sim_store_call *call = &sim_actor(sim, client)->store;
    ASSERT(call->state == SIM_STORE_IDLE);
    call->state = SIM_STORE_SENT;
    call->f = effect->f;
    call->resource = effect->resource;
    call->value = effect->u.store.value;
    call->fence = effect->u.store.fence;
    sim_arm(sim, sim->slots.stores + client, sim->world->now_ns + sim->plan->scenario.latency_ns);
}

static void sim_actor_probe(struct sim *sim, uint32_t client, uint8_t point)
{
    struct schedule_pass pass = {
        .point = point, .client = (int32_t)client, .true_ns = sim->world->now_ns};
    schedule_probe(sim->schedule, sim->plan, &pass, &sim->actions);
    sim_faults_act(sim, NULL);
}

static void sim_actor_done(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    ASSERT(actor->state == SIM_ACTOR_RUNNING);
    actor->state = SIM_ACTOR_DONE;
    ASSERT(sim->world->clients_left > 0);
    sim->world->clients_left--;
}

static void sim_actor_effect(struct sim *sim, uint32_t client, struct actor_effect *effect)
{
    switch ((enum actor_effect_type)effect->type) {
    case ACTOR_EFFECT_SEND:
        sim_link_send(sim, sim_link_of(sim, client, effect->node_index), &effect->u.command,
                      effect->lock);
        return;
    case ACTOR_EFFECT_WAKE:
        sim_actor_set_wake(sim, client, effect->at_ns);
        return;
    case ACTOR_EFFECT_STORE:
        sim_actor_ask_store(sim, client, effect);
        return;
    case ACTOR_EFFECT_RECORD:
        sim_actor_record(sim, client, &effect->u.record);
        return;
    case ACTOR_EFFECT_PROBE:
        sim_actor_probe(sim, client, effect->point);
        return;
    case ACTOR_EFFECT_AGAIN:
        sim_actor(sim, client)->again = true;
        return;
    case ACTOR_EFFECT_DONE:
        sim_actor_done(sim, client);
        return;
    }
    UNREACHABLE();
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void sim_actor_step_once(struct sim *sim, uint32_t client, struct actor_event *event)
{
    struct sim_actor *actor = sim_actor(sim, client);
    bool audit = client + 1 == sim->actor_count;
    event->now_ns = clock_local(&actor->mono, sim->world->now_ns);
    event->wall_ns = clock_local(&actor->wall, sim->world->now_ns);
    event->probes_watched = sim->schedule->probes_watched;
    /* A step that is cut in two by a probe point has the words that it would have had whole: it
     * must not matter to any stream whether somebody watches. */
    if (event->type == ACTOR_EVENT_AGAIN) {
        actor->random = actor->random_before;
    }
    actor->random_before = actor->random;
    for (int i = 0; i < LOCK_RANDOM_WORDS; i++) {
        event->random[i] = random_word(&actor->random);
    }
    actor_step(sim_actor_core(actor), audit ? &sim->audit : &sim->program, event, &sim->effects);
    for (uint32_t i = 0; i < sim->effects.count; i++) {
        sim_actor_effect(sim, client, &sim->effects.list[i]);
        if (actor->state == SIM_ACTOR_KILLED) {
            return;
        }
    }
}

/* `late_ns` is all of it, `stress_ns` what is no slow fault's. */
static void sim_actor_put_off(struct sim *sim, uint32_t client, int64_t late_ns, int64_t stress_ns)
{
    struct sim_actor *actor = sim_actor(sim, client);
    ASSERT(stress_ns >= 0 && stress_ns <= late_ns);
    actor->late = true;
    actor->stress_from_ns = sim->world->now_ns;
    actor->stress_ns = stress_ns;
    if (actor->stood_ns == 0) {
        actor->stood_from_ns = sim->world->now_ns;
    }
    heap_set(sim->heap, sim->slots.thaws + client, sim->world->now_ns + late_ns, SIM_TIE_AGAIN);
}

/* What was put off goes on, unless it is put off again before time does. */
static void sim_actor_stood(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    int64_t passed_ns = sim->world->now_ns - actor->stress_from_ns;
    actor->stood_ns += passed_ns < actor->stress_ns ? passed_ns : actor->stress_ns;
    actor->stress_ns = 0;
    sim->world->stood |= actor->stood_ns > 0;
}

/* Nobody chose this lateness but us: it must not be a library's. What was put off several times
 * without a break is late by all of them, so that it is one standstill. */
void sim_actors_tell_late(struct sim *sim)
{
    sim->world->stood = false;
    for (uint32_t client = 0; client < sim->actor_count; client++) {
        struct sim_actor *actor = sim_actor(sim, client);
        if (actor->late || actor->stood_ns == 0) {
            continue;
        }
        struct history_event event = sim_event(HISTORY_LATE, HISTORY_STOOD_STILL);
        event.process = (int32_t)client;
        event.cause = CAUSE_SCHEDULER;
        event.number[0] = sim->world->now_ns - actor->stood_from_ns;
        event.number[1] = actor->stood_ns;
        actor->stood_ns = 0;
        sim_record(sim, &event);
    }
}

/* How late the next step of a client is in a stressed run. */
static int64_t sim_actor_stress(struct sim *sim, uint32_t client)
{
    uint32_t nth = sim_actor(sim, client)->stressed_steps++;
    return sim_stress(sim, 2 * sim->link_count + client, nth);
}

/* Go on from probe point to probe point, until one of them froze it. */
static void sim_actor_go_on(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    while (actor->again && actor->freezes == 0 && actor->state != SIM_ACTOR_KILLED) {
        int64_t late_ns = actor->put_off ? 0 : sim_actor_stress(sim, client);
        if (late_ns > 0) {
            sim_actor_put_off(sim, client, late_ns, late_ns);
            return;
        }
        struct actor_event again;
        memset(&again, 0, sizeof again);
        again.type = ACTOR_EVENT_AGAIN;
        actor->again = false;
        actor->put_off = false;
        sim_actor_step_once(sim, client, &again);
    }
}

static void sim_actor_event(struct sim *sim, uint32_t client, struct actor_event *event)
{
    ASSERT(sim_actor(sim, client)->freezes == 0);
    ASSERT(!sim_actor(sim, client)->again);
    if (event->type != ACTOR_EVENT_WAKE) {
        sim_actor(sim, client)->spins = 0;
    }
    sim_actor_step_once(sim, client, event);
    sim_actor_go_on(sim, client);
}

/* How late its next step is, `*stress_ns` of it by stress; negative where that is not put off. */
static int64_t sim_actor_late(struct sim *sim, uint32_t client, int64_t *stress_ns)
{
    struct sim_actor *actor = sim_actor(sim, client);
    bool awake = actor->thawed_ns == sim->world->now_ns;
    *stress_ns = awake ? 0 : sim_actor_stress(sim, client);
    int64_t amount_ns = 0;
    int64_t jitter_ns = 0;
    if (sim->world->in_force[FAULT_SLOW] != 0) {
        sim_actor_lateness(sim, client, &amount_ns, &jitter_ns);
    }
    if (amount_ns + jitter_ns > 0) {
        struct choice key = {CHOICE_SLOW, client, actor->late_steps++, 0};
        return *stress_ns + amount_ns + (int64_t)sim_choose(sim, &key, (uint64_t)jitter_ns + 1);
    }
    return *stress_ns > 0 ? *stress_ns : -1;
}

bool sim_actor_takes(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    if (actor->freezes > 0 || actor->late || actor->again) {
        return false;
    }
    int64_t stress_ns = 0;
    int64_t late_ns = actor->put_off ? -1 : sim_actor_late(sim, client, &stress_ns);
    if (late_ns >= 0) {
        sim_actor_put_off(sim, client, late_ns, stress_ns);
        return false;
    }
    actor->put_off = false;
    return true;
}

/* So many wakes in so little time, with nothing else between them, are no waiting. */
enum { SIM_SPINS_MAX = 100000, SIM_SPINS_NS = 1000000 };

static void sim_actor_count_wake(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    if (actor->spins == 0 || sim->world->now_ns - actor->spins_ns > SIM_SPINS_NS) {
        actor->spins = 0;
        actor->spins_ns = sim->world->now_ns;
    }
    if (++actor->spins > SIM_SPINS_MAX) {
        sim->world->livelocked = true;
        sim->world->spinner = (int32_t)client;
    }
}

void sim_actor_wake(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    ASSERT(actor->state != SIM_ACTOR_KILLED);
    if (!sim_actor_takes(sim, client)) {
        actor->wake_waits = true;
        return;
    }
    sim_actor_count_wake(sim, client);
    struct actor_event event;
    memset(&event, 0, sizeof event);
    event.type = ACTOR_EVENT_WAKE;
    if (actor->state == SIM_ACTOR_NEW) {
        actor->state = SIM_ACTOR_RUNNING;
        event.type = ACTOR_EVENT_START;
    }
    sim_actor_event(sim, client, &event);
}

void sim_actor_reply(struct sim *sim, uint32_t link, const struct sim_message *message)
{
    uint32_t client = sim->links[link].client;
    struct actor_event event;
    memset(&event, 0, sizeof event);
    event.type = message->kind == SIM_BROKEN ? ACTOR_EVENT_BROKEN
                 : message->kind == SIM_PUSH ? ACTOR_EVENT_PUSH
                                             : ACTOR_EVENT_REPLY;
    event.node_index = (uint8_t)(sim->links[link].node);
    if (message->kind != SIM_BROKEN) {
        event.lock = message->lock;
        event.reply = message->reply;
        event.command = message->command;
    }
    sim_actor_event(sim, client, &event);
}

/* ---- the guarded store ----------------------------------------------------------------------- */

/* The call reaches the store, also if its client is frozen or dead by now. */
static void sim_store_carry_out(struct sim *sim, struct sim_store_call *call)
{
    const struct scenario *scenario = &sim->plan->scenario;
    struct store_guard guard = {scenario->fence_check, scenario->value_check};
    struct store_cell *cell = &sim->store[call->resource];
    call->answer = call->f == HISTORY_READ ? store_read(cell, &guard, &call->value, call->fence)
                                           : store_write(cell, &guard, &call->value, call->fence);
    call->state = SIM_STORE_ANSWERED;
}

void sim_actor_store(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    struct sim_store_call *call = &actor->store;
    ASSERT(call->state != SIM_STORE_IDLE);
    if (call->state == SIM_STORE_SENT) {
        sim_store_carry_out(sim, call);
    }
    if (actor->state == SIM_ACTOR_KILLED || !sim_actor_takes(sim, client)) {
        return;
    }
    call->state = SIM_STORE_IDLE;
    struct actor_event event;
    memset(&event, 0, sizeof event);
    event.type = ACTOR_EVENT_STORE;
    event.store_outcome = call->answer.accepted ? OUTCOME_OK : OUTCOME_FAIL;
    event.store_cause = call->answer.cause;
    event.version = call->answer.version;
    sim_actor_event(sim, client, &event);
}

/* ---- freezes --------------------------------------------------------------------------------- */

/* Let everything that waits come up now: what arrived first is first, timers are last. */
static void sim_actor_serve_waiting(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    uint32_t order[LOCK_NODES_MAX];
    int64_t arrived_ns[LOCK_NODES_MAX];
    uint32_t count = 0;
    for (uint32_t node = 0; node < sim->node_count; node++) {
        struct sim_queue *queue = &sim->links[sim_link_of(sim, client, node)].queue[SIM_REPLIES];
        if (!queue->parked || queue->head == SIM_NONE) {
            continue;
        }
        queue->parked = false;
        int64_t at_ns = sim->messages[queue->head].at_ns;
        uint32_t place = count++;
        while (place > 0 && arrived_ns[place - 1] > at_ns) {
            arrived_ns[place] = arrived_ns[place - 1];
            order[place] = order[place - 1];
            place--;
        }
        arrived_ns[place] = at_ns;
        order[place] = node;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = sim_link_slot(sim, sim_link_of(sim, client, order[i]), SIM_REPLIES);
        heap_set(sim->heap, slot, sim->world->now_ns, SIM_TIE_ARRIVED + i);
    }
    if (actor->store.state == SIM_STORE_ANSWERED) {
        heap_set(sim->heap, sim->slots.stores + client, sim->world->now_ns,
                 SIM_TIE_ARRIVED + count);
    }
    if (actor->wake_waits) {
        actor->wake_waits = false;
        heap_set(sim->heap, sim->slots.wakes + client, sim->world->now_ns, SIM_TIE_TIMER);
    }
}

void sim_actor_thawed(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    ASSERT(actor->state != SIM_ACTOR_KILLED);
    sim_actor_stood(sim, client);
    if (actor->freezes > 0) {
        actor->late = false;
        return;
    }
    actor->put_off = actor->late;
    actor->late = false;
    actor->thawed_ns = sim->world->now_ns;
    sim_actor_go_on(sim, client);
    if (actor->freezes == 0 && !actor->late && actor->state != SIM_ACTOR_KILLED) {
        sim_actor_serve_waiting(sim, client);
    }
}

void sim_actor_freeze(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    ASSERT(actor->freezes < UINT8_MAX);
    actor->freezes++;
}

void sim_actor_thaw(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    ASSERT(actor->freezes > 0);
    actor->freezes--;
    if (actor->freezes == 0 && actor->state != SIM_ACTOR_KILLED) {
        heap_set(sim->heap, sim->slots.thaws + client, sim->world->now_ns, SIM_TIE_AGAIN);
    }
}

void sim_actor_kill(struct sim *sim, uint32_t client, enum history_cause cause)
{
    struct sim_actor *actor = sim_actor(sim, client);
    ASSERT(actor->state != SIM_ACTOR_KILLED);
    if (actor->state != SIM_ACTOR_DONE) {
        ASSERT(sim->world->clients_left > 0);
        sim->world->clients_left--;
    }
    sim_actor_stood(sim, client);
    actor->late = false;
    actor->state = SIM_ACTOR_KILLED;
    memset(actor->leases, 0, sizeof actor->leases);
    heap_remove(sim->heap, sim->slots.wakes + client);
    heap_remove(sim->heap, sim->slots.thaws + client);
    for (uint32_t node = 0; node < sim->node_count; node++) {
        (void)sim_link_break(sim, sim_link_of(sim, client, node), SIM_BREAK_CLIENT);
    }
    struct history_event event = sim_event(HISTORY_CLIENT, HISTORY_CLIENT_KILLED);
    event.process = (int32_t)client;
    event.cause = (uint8_t)cause;
    sim_record(sim, &event);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

void sim_actor_rearm(struct sim *sim, uint32_t client)
{
    struct sim_actor *actor = sim_actor(sim, client);
    bool waiting = actor->wake_waits;
    if (actor->state == SIM_ACTOR_KILLED || actor->state == SIM_ACTOR_NEW || waiting) {
        return;
    }
    sim_actor_set_wake(sim, client, actor->wake_ns);
}

void sim_actor_tell_lease(struct sim *sim, uint32_t client, int32_t fault)
{
    const struct sim_actor *actor = sim_actor(sim, client);
    for (uint32_t i = 0; i < SCENARIO_HOLDS_MAX; i++) {
        const struct sim_lease *lease = &actor->leases[i];
        if (!lease->held) {
            continue;
        }
        struct history_event event = sim_event(HISTORY_LEASE, HISTORY_MOVED);
        event.process = (int32_t)client;
        event.resource = lease->resource;
        event.value = lease->value;
        event.until_ns = clock_true(&actor->mono, lease->until_ns);
        event.fault = fault;
        event.flags = HISTORY_HAS_VALUE | HISTORY_HAS_UNTIL;
        sim_record(sim, &event);
    }
}
