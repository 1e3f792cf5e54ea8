/* client.c: the program of one simulated application, as a step. */
#include "harness/client.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* One call of client_step: what it knows and where its effects go. */
struct client_call {
    struct client *client;
    const struct client_program *program;
    const struct client_event *event;
    struct client_effects *effects;
};

static struct client_effect *client_effect(struct client_call *call, enum client_effect_type type)
{
    ASSERT(call->effects->count < CLIENT_EFFECTS_MAX);
    struct client_effect *effect = &call->effects->list[call->effects->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = (uint8_t)type;
    effect->resource = call->client->resource;
    return effect;
}

static struct history_event *client_record(struct client_call *call, enum history_kind kind,
                                           enum history_type type, enum history_f f)
{
    struct history_event *record = &client_effect(call, CLIENT_EFFECT_RECORD)->record;
    record->kind = (uint8_t)kind;
    record->type = (uint8_t)type;
    record->f = (uint8_t)f;
    record->flags = call->program->audit ? HISTORY_AUDIT : 0;
    record->process = call->client->index;
    record->node = HISTORY_NO_NODE;
    record->fault = HISTORY_NO_FAULT;
    record->resource = call->client->resource;
    return record;
}

/* A record about the grant that the client holds: with its value and fence. */
static struct history_event *client_record_held(struct client_call *call, enum history_kind kind,
                                                enum history_type type, enum history_f f)
{
    struct history_event *record = client_record(call, kind, type, f);
    record->value = call->client->value;
    record->fence = call->client->fence;
    record->flags |= HISTORY_HAS_VALUE;
    if (call->client->fence > 0) {
        record->flags |= HISTORY_HAS_FENCE;
    }
    return record;
}

static void client_go(struct client_call *call, enum client_state state)
{
    call->client->state = (uint8_t)state;
}

static void client_probe(struct client_call *call, enum client_state state, enum probe_point point)
{
    client_go(call, state);
    client_effect(call, CLIENT_EFFECT_PROBE)->point = (uint8_t)point;
}

static void client_wake(struct client_call *call, int64_t at_ns)
{
    client_effect(call, CLIENT_EFFECT_WAKE)->at_ns = at_ns;
}

static void client_ask(struct client_call *call, enum client_state state, enum history_f f)
{
    client_go(call, state);
    client_effect(call, CLIENT_EFFECT_ASK)->f = (uint8_t)f;
}

static void client_think(struct client_call *call)
{
    const struct client_program *program = call->program;
    int64_t pause_ns = program->think_ns;
    if (program->think_jitter_ns > 0) {
        pause_ns +=
            (int64_t)random_below(&call->client->stream, (uint64_t)program->think_jitter_ns + 1);
    }
    client_go(call, CLIENT_STATE_THINKING);
    client_wake(call, call->event->now_ns + pause_ns);
}

static void client_acquire(struct client_call *call)
{
    struct client *client = call->client;
    uint64_t resources = (uint64_t)call->program->resource_count;
    if (call->program->audit) {
        client->resource = (uint32_t)(resources - (uint64_t)client->sections_left);
    } else if (resources > 1) {
        client->resource = (uint32_t)random_below(&client->stream, resources);
    }
    client_record(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_ACQUIRE);
    client_ask(call, CLIENT_STATE_ACQUIRING, HISTORY_ACQUIRE);
    call->effects->list[call->effects->count - 1].deadline_ns = call->program->deadline_ns;
    if (call->program->cancel_after_ns > 0) {
        client_wake(call, call->event->now_ns + call->program->cancel_after_ns);
    }
}

static void client_next_section(struct client_call *call)
{
    struct client *client = call->client;
    if (client->sections_left > 0) {
        client_think(call);
        return;
    }
    client_go(call, CLIENT_STATE_DONE);
    client_record(call, HISTORY_CLIENT, HISTORY_INVOKE, HISTORY_CLIENT_DONE);
    (void)client_effect(call, CLIENT_EFFECT_DONE);
}

static void client_release(struct client_call *call)
{
    client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_RELEASE);
    client_ask(call, CLIENT_STATE_RELEASING, HISTORY_RELEASE);
}

/* The end that the lock promised, if it did. */
static void client_promise(struct history_event *record, const struct client_event *event)
{
    if (!event->has_until) {
        return;
    }
    record->flags |= HISTORY_HAS_UNTIL;
    record->until_ns = event->until_ns;
    if (event->until_least_ns != 0 && event->until_least_ns != event->until_ns) {
        record->flags |= HISTORY_HAS_UNTIL_LEAST;
        record->until_least_ns = event->until_least_ns;
    }
}

static void client_told_acquire(struct client_call *call)
{
    struct client *client = call->client;
    const struct client_event *event = call->event;
    if (event->outcome != OUTCOME_OK) {
        bool unknown = event->outcome == OUTCOME_INFO;
        client_record(call, HISTORY_OP, unknown ? HISTORY_INFO : HISTORY_FAIL, HISTORY_ACQUIRE)
            ->cause = event->cause;
        client_probe(call, CLIENT_STATE_REFUSED, PROBE_AFTER_REFUSED);
        return;
    }
    client->value = event->value;
    client->fence = event->fence;
    client->lost = false;
    client->jeopardy = false;
    client->outside = false;
    struct history_event *record =
        client_record_held(call, HISTORY_OP, HISTORY_OK, HISTORY_ACQUIRE);
    client_promise(record, event);
    client_probe(call, CLIENT_STATE_GRANTED, PROBE_AFTER_GRANTED);
}

/* When the next write is due; the writes are spread evenly over the section. */
static int64_t client_write_due(const struct client_call *call)
{
    const struct client *client = call->client;
    if (client->writes_left == 0) {
        return TIME_NEVER;
    }
    int64_t done = call->program->writes - client->writes_left;
    return client->enter_ns + call->program->hold_ns / call->program->writes * done;
}

static void client_leave(struct client_call *call)
{
    if (!call->client->outside) {
        client_record_held(call, HISTORY_SECTION, HISTORY_INVOKE, HISTORY_LEAVE);
    }
    client_probe(call, CLIENT_STATE_LEFT, PROBE_BEFORE_RELEASE);
}

/* In jeopardy it stands outside and waits for what comes of it; then it is inside again. */
static bool client_stands_still(struct client_call *call)
{
    struct client *client = call->client;
    if (client->jeopardy != client->outside && !client->lost) {
        client_record_held(call, HISTORY_SECTION, HISTORY_INVOKE,
                           client->jeopardy ? HISTORY_LEAVE : HISTORY_ENTER);
        client->outside = client->jeopardy;
    }
    return client->jeopardy;
}

/* In the section with nothing outstanding: do what is due, or wait for it. */
static void client_hold(struct client_call *call)
{
    struct client *client = call->client;
    if (client_stands_still(call)) {
        client_go(call, CLIENT_STATE_HOLDING);
        client_wake(call, TIME_NEVER);
        return;
    }
    int64_t now_ns = call->event->now_ns;
    int64_t write_ns = client_write_due(call);
    int64_t leave_ns = client->enter_ns + call->program->hold_ns;
    bool extends = !client->lost || call->program->on_lost == ON_LOST_EXTEND;
    if (client->lost && (client->outside || call->program->on_lost == ON_LOST_LEAVE)) {
        client_leave(call);
        return;
    }
    if (client->extend_ns <= now_ns && extends) {
        client_probe(call, CLIENT_STATE_OVERDUE, PROBE_BEFORE_EXTEND);
        return;
    }
    if (write_ns <= now_ns) {
        client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_READ);
        struct client_effect *effect = client_effect(call, CLIENT_EFFECT_STORE);
        effect->f = HISTORY_READ;
        effect->value = client->value;
        effect->fence = client->fence;
        client_go(call, CLIENT_STATE_READING);
        return;
    }
    if (write_ns == TIME_NEVER && leave_ns <= now_ns) {
        client_leave(call);
        return;
    }
    client_go(call, CLIENT_STATE_HOLDING);
    int64_t wake_ns = write_ns != TIME_NEVER ? write_ns : leave_ns;
    if (extends && client->extend_ns < wake_ns) {
        wake_ns = client->extend_ns;
    }
    client_wake(call, wake_ns);
}

static void client_enter(struct client_call *call)
{
    struct client *client = call->client;
    if (call->program->audit) {
        client_release(call);
        return;
    }
    client->enter_ns = call->event->now_ns;
    client->releases_left = call->program->releases;
    client->writes_left = call->program->writes;
    client->extend_ns = call->program->extend_every_ns > 0
                            ? client->enter_ns + call->program->extend_every_ns
                            : TIME_NEVER;
    client->outside = client->jeopardy;
    if (!client->outside) {
        client_record_held(call, HISTORY_SECTION, HISTORY_INVOKE, HISTORY_ENTER);
    }
    client_hold(call);
}

static void client_write(struct client_call *call)
{
    struct client *client = call->client;
    client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_WRITE)->basis = client->basis;
    struct client_effect *effect = client_effect(call, CLIENT_EFFECT_STORE);
    effect->f = HISTORY_WRITE;
    effect->value = client->value;
    effect->fence = client->fence;
    effect->basis = client->basis;
    client_go(call, CLIENT_STATE_WRITING);
}

static void client_store(struct client_call *call)
{
    struct client *client = call->client;
    const struct client_event *event = call->event;
    bool reading = client->state == CLIENT_STATE_READING;
    ASSERT(reading || client->state == CLIENT_STATE_WRITING);
    bool ok = event->outcome == OUTCOME_OK;
    struct history_event *record = client_record_held(
        call, HISTORY_OP, ok ? HISTORY_OK : HISTORY_FAIL, reading ? HISTORY_READ : HISTORY_WRITE);
    record->cause = event->cause;
    record->version = event->version;
    record->basis = reading ? 0 : client->basis;
    if (reading && ok) {
        client->basis = event->version;
        client_probe(call, CLIENT_STATE_READ, PROBE_BEFORE_WRITE);
        return;
    }
    client->writes_left--;
    client_probe(call, CLIENT_STATE_WRITTEN, PROBE_AFTER_WRITE);
}

static void client_extend(struct client_call *call)
{
    client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_EXTEND);
    client_ask(call, CLIENT_STATE_EXTENDING, HISTORY_EXTEND);
}

static enum history_type client_outcome_type(enum client_outcome outcome)
{
    switch (outcome) {
    case OUTCOME_OK:
        return HISTORY_OK;
    case OUTCOME_FAIL:
        return HISTORY_FAIL;
    case OUTCOME_INFO:
        return HISTORY_INFO;
    case OUTCOME_LOST:
    case OUTCOME_RENEWED:
    case OUTCOME_JEOPARDY:
        break;
    }
    UNREACHABLE();
}

static void client_told_extend(struct client_call *call)
{
    const struct client_event *event = call->event;
    struct history_event *record = client_record_held(
        call, HISTORY_OP, client_outcome_type((enum client_outcome)event->outcome), HISTORY_EXTEND);
    record->cause = event->cause;
    if (event->outcome == OUTCOME_OK) {
        client_promise(record, event);
    }
    call->client->extend_ns = event->now_ns + call->program->extend_every_ns;
    client_probe(call, CLIENT_STATE_EXTENDED, PROBE_AFTER_EXTEND);
}

static void client_told_release(struct client_call *call)
{
    const struct client_event *event = call->event;
    client_record_held(call, HISTORY_OP, client_outcome_type((enum client_outcome)event->outcome),
                       HISTORY_RELEASE)
        ->cause = event->cause;
    if (--call->client->releases_left > 0) {
        client_release(call);
        return;
    }
    call->client->sections_left--;
    client_probe(call, CLIENT_STATE_RELEASED, PROBE_AFTER_RELEASE);
}

static bool client_in_section(const struct client *client)
{
    return client->state >= CLIENT_STATE_GRANTED && client->state <= CLIENT_STATE_RELEASING;
}

/* What the lock says unasked matters while it is held. */
static void client_told_unasked(struct client_call *call)
{
    struct client *client = call->client;
    enum client_outcome outcome = (enum client_outcome)call->event->outcome;
    if (!client_in_section(client) || client->lost) {
        return;
    }
    client->jeopardy = outcome == OUTCOME_JEOPARDY;
    if (outcome == OUTCOME_LOST) {
        client->lost = true;
        client_record_held(call, HISTORY_NOTICE, HISTORY_INVOKE, HISTORY_LOST);
    } else if (outcome == OUTCOME_RENEWED && client->state != CLIENT_STATE_RELEASING) {
        client_promise(client_record_held(call, HISTORY_LEASE, HISTORY_INVOKE, HISTORY_MOVED),
                       call->event);
    }
    if (client->state == CLIENT_STATE_HOLDING) {
        client_hold(call);
    }
}

static void client_told(struct client_call *call)
{
    struct client *client = call->client;
    if (call->event->outcome >= OUTCOME_LOST) {
        client_told_unasked(call);
        return;
    }
    if (client->state == CLIENT_STATE_ACQUIRING) {
        client_told_acquire(call);
    } else if (client->state == CLIENT_STATE_EXTENDING) {
        client_told_extend(call);
    } else {
        ASSERT(client->state == CLIENT_STATE_RELEASING);
        client_told_release(call);
    }
}

/* A probe point lies behind: go on with what comes after it. */
static void client_passed(struct client_call *call)
{
    switch ((enum client_state)call->client->state) {
    case CLIENT_STATE_REFUSED:
    case CLIENT_STATE_RELEASED:
        client_next_section(call);
        return;
    case CLIENT_STATE_GRANTED:
        client_enter(call);
        return;
    case CLIENT_STATE_READ:
        if (call->client->jeopardy) {
            client_hold(call); /* it reads anew when it may */
        } else {
            client_write(call);
        }
        return;
    case CLIENT_STATE_WRITTEN:
    case CLIENT_STATE_EXTENDED:
        client_hold(call);
        return;
    case CLIENT_STATE_OVERDUE:
        client_extend(call);
        return;
    case CLIENT_STATE_LEFT:
        client_release(call);
        return;
    case CLIENT_STATE_NEW:
    case CLIENT_STATE_THINKING:
    case CLIENT_STATE_ACQUIRING:
    case CLIENT_STATE_HOLDING:
    case CLIENT_STATE_READING:
    case CLIENT_STATE_WRITING:
    case CLIENT_STATE_EXTENDING:
    case CLIENT_STATE_RELEASING:
    case CLIENT_STATE_DONE:
    case CLIENT_STATES:
        break;
    }
    UNREACHABLE();
}

static void client_woken(struct client_call *call)
{
    if (call->client->state == CLIENT_STATE_THINKING) {
        client_acquire(call);
    } else if (call->client->state == CLIENT_STATE_HOLDING) {
        client_hold(call);
    } else if (call->client->state == CLIENT_STATE_ACQUIRING &&
               call->program->cancel_after_ns > 0) {
        (void)client_effect(call, CLIENT_EFFECT_CANCEL);
    }
    /* Elsewhere the wake is an old one: something else came first. */
}

void client_program_init(struct client_program *program, const struct plan *plan, bool audit)
{
    const struct scenario *scenario = &plan->scenario;
    memset(program, 0, sizeof *program);
    program->resource_count = scenario->resource_count;
    program->sections = audit ? scenario->resource_count : scenario->sections;
    program->audit = audit;
    if (audit) {
        program->think_ns = NS_PER_MS;
        return;
    }
    program->writes = scenario->writes;
    program->hold_ns = scenario->hold_ns;
    program->think_ns = scenario->think_ns;
    program->think_jitter_ns = scenario->think_jitter_ns;
    program->extend_every_ns = scenario->extend_every_ns;
    program->on_lost = scenario->on_lost;
    program->releases = scenario->releases;
    program->deadline_ns = scenario->deadline_ns;
    program->cancel_after_ns = scenario->cancel_after_ns;
}

void client_init(struct client *client, const struct client_program *program, int32_t index,
                 uint64_t seed)
{
    ASSERT(index >= 0);
    ASSERT(program->resource_count > 0);
    memset(client, 0, sizeof *client);
    client->state = CLIENT_STATE_NEW;
    client->index = index;
    client->sections_left = program->sections;
    client->extend_ns = TIME_NEVER;
    client->stream = random_stream_at("client", (uint64_t)index, seed);
}

void client_step(struct client *client, const struct client_program *program,
                 const struct client_event *event, struct client_effects *effects)
{
    struct client_call call = {client, program, event, effects};
    effects->count = 0;
    if (client->state == CLIENT_STATE_DONE) {
        return;
    }
    switch ((enum client_event_type)event->type) {
    case CLIENT_EVENT_START:
        ASSERT(client->state == CLIENT_STATE_NEW);
        client_record(&call, HISTORY_CLIENT, HISTORY_INVOKE, HISTORY_CLIENT_START);
        client_next_section(&call);
        return;
    case CLIENT_EVENT_WAKE:
        client_woken(&call);
        return;
    case CLIENT_EVENT_TOLD:
        client_told(&call);
        return;
    case CLIENT_EVENT_STORE:
        client_store(&call);
        return;
    case CLIENT_EVENT_PASSED:
        client_passed(&call);
        return;
    }
    UNREACHABLE();
}
