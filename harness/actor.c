/* actor.c: joins the client's program to the lock core. */
#include "harness/actor.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* One call of actor_step: what it knows and where its effects go. */
struct actor_call {
    struct actor *actor;
    const struct client_program *program;
    const struct actor_event *event;
    struct actor_effects *effects;
    bool probing; /* a watched probe point is reached: nothing more happens in this call */
    enum probe_point point;
};

static struct actor_effect *actor_effect(struct actor_call *call, enum actor_effect_type type)
{
    ASSERT(call->effects->count < ACTOR_EFFECTS_MAX);
    ASSERT(!call->probing || type != ACTOR_EFFECT_SEND);
    struct actor_effect *effect = &call->effects->list[call->effects->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = (uint8_t)type;
    return effect;
}

static bool actor_watches(const struct actor_call *call, enum probe_point point)
{
    return (call->event->probes_watched >> point & 1u) != 0;
}

/* Stop at a probe point if anyone watches it. */
static void actor_probe(struct actor_call *call, enum probe_point point)
{
    ASSERT(!call->probing);
    if (actor_watches(call, point)) {
        call->probing = true;
        call->point = point;
    }
}

static enum history_cause actor_cause(enum lock_reason reason)
{
    switch (reason) {
    case LOCK_REASON_NONE:
        return CAUSE_NONE;
    case LOCK_REASON_NO_QUORUM:
        return CAUSE_NO_QUORUM;
    case LOCK_REASON_VALIDITY_SPENT:
        return CAUSE_VALIDITY_SPENT;
    case LOCK_REASON_TIMEOUT:
        return CAUSE_TIMEOUT;
    case LOCK_REASON_NOT_HOLDING:
        return CAUSE_NOT_HOLDING;
    case LOCK_REASON_EXTEND_LIMIT:
        return CAUSE_EXTEND_LIMIT;
    }
    UNREACHABLE();
}

static enum client_outcome actor_outcome(enum lock_told told)
{
    switch (told) {
    case LOCK_TOLD_GRANTED:
    case LOCK_TOLD_EXTENDED:
    case LOCK_TOLD_RELEASED:
        return OUTCOME_OK;
    case LOCK_TOLD_REFUSED:
    case LOCK_TOLD_NOT_EXTENDED:
    case LOCK_TOLD_NOT_HELD:
        return OUTCOME_FAIL;
    case LOCK_TOLD_UNKNOWN:
        return OUTCOME_INFO;
    case LOCK_TOLD_LOST:
        return OUTCOME_LOST;
    case LOCK_TOLD_RENEWED:
        return OUTCOME_RENEWED;
    case LOCK_TOLD_JEOPARDY:
        return OUTCOME_JEOPARDY;
    }
    UNREACHABLE();
}

/* Keep what the lock said until the client can hear it. */
static void actor_hear(struct actor *actor, uint32_t lock, const struct lock_effect *effect)
{
    ASSERT(actor->told_count < ACTOR_TOLD_MAX);
    struct client_event *told = &actor->told[actor->told_count++];
    memset(told, 0, sizeof *told);
    told->type = CLIENT_EVENT_TOLD;
    told->resource = lock % actor->resource_count;
    told->outcome = (uint8_t)actor_outcome((enum lock_told)effect->told);
    told->cause = (uint8_t)actor_cause((enum lock_reason)effect->reason);
    if (effect->told == LOCK_TOLD_NOT_HELD) {
        told->cause = CAUSE_NOT_HOLDING;
    } else if (effect->told == LOCK_TOLD_UNKNOWN) {
        told->cause = CAUSE_TIMEOUT;
    }
    if (effect->told == LOCK_TOLD_GRANTED || effect->told == LOCK_TOLD_EXTENDED ||
        effect->told == LOCK_TOLD_RENEWED) {
        told->has_until = effect->until_ns != TIME_NEVER;
        told->until_ns = effect->until_ns;
    }
    memcpy(told->value.bytes, effect->value.bytes, sizeof told->value.bytes);
    told->fence = effect->fence;
}

/*
 * Would this event, if the lock saw it now, start an attempt or complete a majority? Asked only
 * when somebody watches the probe points that stand before these; the answer is the lock's own.
 */
static enum actor_stash actor_stands_before(struct actor_call *call, uint32_t lock,
                                            const struct lock_event *event)
{
    bool sends = actor_watches(call, PROBE_BEFORE_SEND);
    bool answer = event->type == LOCK_EVENT_REPLY || event->type == LOCK_EVENT_PUSH;
    bool majority = actor_watches(call, PROBE_AFTER_MAJORITY) && answer;
    if (!sends && !majority) {
        return ACTOR_STASH_NONE;
    }
    struct lock trial = call->actor->locks[lock];
    struct lock_effects effects;
    lock_step(&trial, event, &effects);
    if (sends && (effects.marks & LOCK_MARK_ASKS) != 0) {
        return ACTOR_STASH_AS_IT_WAS;
    }
    if (majority && (effects.marks & LOCK_MARK_DECIDES) != 0) {
        return ACTOR_STASH_TIME_ANEW;
    }
    return ACTOR_STASH_NONE;
}

static void actor_lock_step(struct actor_call *call, uint32_t lock, const struct lock_event *event)
{
    struct lock_effects effects;
    lock_step(&call->actor->locks[lock], event, &effects);
    for (uint32_t i = 0; i < effects.count; i++) {
        const struct lock_effect *effect = &effects.list[i];
        if (effect->type == LOCK_EFFECT_SEND) {
            struct actor_effect *send = actor_effect(call, ACTOR_EFFECT_SEND);
            send->node_index = effect->node_index;
            send->resource = lock % call->actor->resource_count;
            send->lock = lock;
            send->u.command = effect->command;
        } else if (effect->type == LOCK_EFFECT_TELL) {
            actor_hear(call->actor, lock, effect);
        }
        /* A WAKE is read off the lock when the call ends. */
    }
    if ((effects.marks & LOCK_MARK_ASKS) != 0) {
        actor_probe(call, PROBE_BEFORE_REPLIES);
    }
}

/* Give an event to a lock, or keep it behind the probe point that stands before it. */
static void actor_lock(struct actor_call *call, uint32_t lock, const struct lock_event *event)
{
    struct actor *actor = call->actor;
    ASSERT(lock < actor->lock_count);
    enum actor_stash stash = actor_stands_before(call, lock, event);
    if (stash == ACTOR_STASH_NONE) {
        actor_lock_step(call, lock, event);
        return;
    }
    ASSERT(actor->stash == ACTOR_STASH_NONE);
    actor->stash = (uint8_t)stash;
    actor->stashed = *event;
    actor->stashed_lock = lock;
    actor_probe(call, stash == ACTOR_STASH_AS_IT_WAS ? PROBE_BEFORE_SEND : PROBE_AFTER_MAJORITY);
}

static struct lock_event actor_lock_event(const struct actor_call *call, enum lock_event_type type)
{
    struct lock_event event;
    memset(&event, 0, sizeof event);
    event.type = (uint8_t)type;
    event.now_ns = call->event->now_ns;
    event.wall_ns = call->event->wall_ns;
    memcpy(event.random, call->event->random, sizeof event.random);
    return event;
}

/*
 * Which lock: the first that the client's program has for the resource, or, to acquire what it
 * holds, the next object of that name. An object is one owner, so that it will be refused.
 */
static uint32_t actor_lock_asked(const struct actor *actor, const struct client_effect *ask)
{
    return ask->resource + ask->depth * actor->resource_count;
}

/* The client asks. What the lock cannot be asked in its state is answered at once. */
static void actor_ask(struct actor_call *call, const struct client_effect *ask)
{
    struct actor *actor = call->actor;
    uint32_t lock = actor_lock_asked(actor, ask);
    uint32_t state = actor->locks[lock].state;
    bool holds = state == LOCK_STATE_HELD;
    bool can = ask->f == HISTORY_EXTEND ? holds : holds || state == LOCK_STATE_SPENT;
    if (ask->f != HISTORY_ACQUIRE && !can) {
        struct lock_effect refusal = {.type = LOCK_EFFECT_TELL,
                                      .told = ask->f == HISTORY_EXTEND ? LOCK_TOLD_NOT_EXTENDED
                                                                       : LOCK_TOLD_NOT_HELD,
                                      .reason = LOCK_REASON_NOT_HOLDING};
        actor_hear(actor, lock, &refusal);
        return;
    }
    enum lock_event_type type = ask->f == HISTORY_ACQUIRE  ? LOCK_EVENT_ACQUIRE
                                : ask->f == HISTORY_EXTEND ? LOCK_EVENT_EXTEND
                                                           : LOCK_EVENT_RELEASE;
    struct lock_event event = actor_lock_event(call, type);
    actor_lock(call, lock, &event);
}

static void actor_client_effect(struct actor_call *call, const struct client_effect *effect)
{
    switch ((enum client_effect_type)effect->type) {
    case CLIENT_EFFECT_ASK:
        actor_ask(call, effect);
        return;
    case CLIENT_EFFECT_STORE: {
        struct actor_effect *store = actor_effect(call, ACTOR_EFFECT_STORE);
        store->f = effect->f;
        store->resource = effect->resource;
        store->u.store.value = effect->value;
        store->u.store.fence = effect->fence;
        store->u.store.basis = effect->basis;
        return;
    }
    case CLIENT_EFFECT_WAKE:
        call->actor->client_wake_ns = effect->at_ns;
        return;
    case CLIENT_EFFECT_RECORD:
        actor_effect(call, ACTOR_EFFECT_RECORD)->u.record = effect->record;
        return;
    case CLIENT_EFFECT_PROBE:
        call->actor->at_probe = true;
        actor_probe(call, (enum probe_point)effect->point);
        return;
    case CLIENT_EFFECT_CANCEL:
        return; /* nobody who can be asked this way: a scenario that cancels needs a library */
    case CLIENT_EFFECT_DONE:
        (void)actor_effect(call, ACTOR_EFFECT_DONE);
        return;
    }
    UNREACHABLE();
}

static void actor_client(struct actor_call *call, const struct client_event *event)
{
    struct client_effects effects;
    client_step(&call->actor->client, call->program, event, &effects);
    for (uint32_t i = 0; i < effects.count; i++) {
        actor_client_effect(call, &effects.list[i]);
    }
}

static struct client_event actor_client_event(const struct actor_call *call,
                                              enum client_event_type type)
{
    return (struct client_event){.type = (uint8_t)type, .now_ns = call->event->now_ns};
}

/* A timer of a lock comes before the client's own; what is due still is asked for again. */
static void actor_wake(struct actor_call *call)
{
    struct actor *actor = call->actor;
    int64_t now_ns = call->event->now_ns;
    actor->wake_ns = TIME_NEVER;
    for (uint32_t i = 0; i < actor->lock_count; i++) {
        if (actor->locks[i].wake_ns <= now_ns) {
            struct lock_event event = actor_lock_event(call, LOCK_EVENT_TIMER);
            actor_lock(call, i, &event);
            return;
        }
    }
    if (actor->client_wake_ns <= now_ns) {
        actor->client_wake_ns = TIME_NEVER;
        struct client_event event = actor_client_event(call, CLIENT_EVENT_WAKE);
        actor_client(call, &event);
    }
}

/* Every lock had commands on the broken link. */
static void actor_broken(struct actor_call *call)
{
    for (uint32_t i = 0; i < call->actor->lock_count; i++) {
        struct lock_event event = actor_lock_event(call, LOCK_EVENT_BROKEN);
        event.node_index = call->event->node_index;
        /* A break completes no majority; an attempt that it ends waits for a timer to go on. */
        actor_lock_step(call, i, &event);
    }
}

static void actor_take_event(struct actor_call *call)
{
    const struct actor_event *event = call->event;
    switch ((enum actor_event_type)event->type) {
    case ACTOR_EVENT_START: {
        struct client_event start = actor_client_event(call, CLIENT_EVENT_START);
        actor_client(call, &start);
        return;
    }
    case ACTOR_EVENT_REPLY:
    case ACTOR_EVENT_PUSH: {
        bool pushed = event->type == ACTOR_EVENT_PUSH;
        struct lock_event reply =
            actor_lock_event(call, pushed ? LOCK_EVENT_PUSH : LOCK_EVENT_REPLY);
        reply.node_index = event->node_index;
        reply.reply = event->reply;
        reply.command = event->command;
        actor_lock(call, event->lock, &reply);
        return;
    }
    case ACTOR_EVENT_BROKEN:
        actor_broken(call);
        return;
    case ACTOR_EVENT_WAKE:
        actor_wake(call);
        return;
    case ACTOR_EVENT_STORE: {
        struct client_event store = actor_client_event(call, CLIENT_EVENT_STORE);
        store.outcome = event->store_outcome;
        store.cause = event->store_cause;
        store.version = event->version;
        actor_client(call, &store);
        return;
    }
    case ACTOR_EVENT_AGAIN:
        return; /* only what was left over */
    }
    UNREACHABLE();
}

/* The freeze at a probe point is over: the lock sees the event that waited there. */
static void actor_unstash(struct actor_call *call)
{
    struct actor *actor = call->actor;
    struct lock_event event = actor->stashed;
    if (actor->stash == ACTOR_STASH_TIME_ANEW) {
        event.now_ns = call->event->now_ns;
        event.wall_ns = call->event->wall_ns;
    }
    actor->stash = ACTOR_STASH_NONE;
    actor_lock_step(call, actor->stashed_lock, &event);
}

static bool actor_has_more(const struct actor *actor)
{
    return actor->stash != ACTOR_STASH_NONE || actor->at_probe || actor->told_count > 0;
}

/* Go on until nothing is left over or a watched probe point is reached. */
static void actor_go_on(struct actor_call *call)
{
    struct actor *actor = call->actor;
    while (!call->probing && actor_has_more(actor)) {
        if (actor->stash != ACTOR_STASH_NONE) {
            actor_unstash(call);
        } else if (actor->at_probe) {
            actor->at_probe = false;
            struct client_event passed = actor_client_event(call, CLIENT_EVENT_PASSED);
            actor_client(call, &passed);
        } else {
            struct client_event told = actor->told[0];
            actor->told_count--;
            memmove(&actor->told[0], &actor->told[1], actor->told_count * sizeof actor->told[0]);
            told.now_ns = call->event->now_ns;
            actor_client(call, &told);
        }
    }
}

/* Ask for the earliest wake, if it changed; then the probe point, if one was reached. */
static void actor_finish(struct actor_call *call)
{
    struct actor *actor = call->actor;
    int64_t wake_ns = actor->client_wake_ns;
    for (uint32_t i = 0; i < actor->lock_count; i++) {
        wake_ns = actor->locks[i].wake_ns < wake_ns ? actor->locks[i].wake_ns : wake_ns;
    }
    if (wake_ns != actor->wake_ns) {
        actor->wake_ns = wake_ns;
        actor_effect(call, ACTOR_EFFECT_WAKE)->at_ns = wake_ns;
    }
    if (call->probing) {
        actor_effect(call, ACTOR_EFFECT_PROBE)->point = (uint8_t)call->point;
        if (actor_has_more(actor)) {
            (void)actor_effect(call, ACTOR_EFFECT_AGAIN);
        }
    }
}

static uint32_t actor_lock_count(const struct client_program *program)
{
    return (uint32_t)(program->resource_count * (1 + program->again));
}

size_t actor_bytes(const struct client_program *program)
{
    ASSERT(program->resource_count > 0);
    return sizeof(struct actor) + actor_lock_count(program) * sizeof(struct lock);
}

void actor_init(struct actor *actor, const struct client_program *program,
                const struct lock_config *config, int32_t index, uint64_t seed)
{
    memset(actor, 0, actor_bytes(program));
    actor->lock_count = actor_lock_count(program);
    actor->resource_count = (uint32_t)program->resource_count;
    actor->wake_ns = TIME_NEVER;
    actor->client_wake_ns = TIME_NEVER;
    client_init(&actor->client, program, index, seed);
    for (uint32_t i = 0; i < actor->lock_count; i++) {
        lock_init(&actor->locks[i], config);
    }
}

void actor_step(struct actor *actor, const struct client_program *program,
                const struct actor_event *event, struct actor_effects *effects)
{
    struct actor_call call = {actor, program, event, effects, false, PROBE_BEFORE_SEND};
    effects->count = 0;
    /* What waits from before comes first; the world holds events back until AGAIN was given. */
    ASSERT(event->type == ACTOR_EVENT_AGAIN || !actor_has_more(actor));
    actor_take_event(&call);
    actor_go_on(&call);
    actor_finish(&call);
}
