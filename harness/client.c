/* client.c: the program of one simulated application, as a step. */
#include "harness/client_inner.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

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

/* Which resources it wants, in the order in which it asks for them. */
static void client_choose(struct client_call *call)
{
    struct client *client = call->client;
    const struct client_program *program = call->program;
    uint64_t resources = (uint64_t)program->resource_count;
    client->held = 0;
    client->holds[0].resource = 0;
    if (program->audit) {
        client->holds[0].resource = (uint32_t)(resources - (uint64_t)client->sections_left);
        return;
    }
    uint32_t sorted[SCENARIO_HOLDS_MAX] = {0};
    for (uint32_t i = 0; i < (uint32_t)program->at_once && resources > 1; i++) {
        uint32_t drawn =
            resources > i + 1 ? (uint32_t)random_below(&client->stream, resources - i) : 0;
        uint32_t place = 0;
        while (place < i && sorted[place] <= drawn) { /* of those that are left, the drawn one */
            drawn++;
            place++;
        }
        memmove(&sorted[place + 1], &sorted[place], (i - place) * sizeof sorted[0]);
        sorted[place] = drawn;
        client->holds[i].resource = drawn;
    }
    for (int32_t i = 0; i < program->at_once && program->order == ORDER_SAME && resources > 1;
         i++) {
        client->holds[i].resource = sorted[i];
    }
}

void client_acquire(struct client_call *call)
{
    struct client *client = call->client;
    client->at = client->held;
    client_at(call)->lost = false;
    client_at(call)->jeopardy = false;
    client_record(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_ACQUIRE);
    client_ask(call, CLIENT_STATE_ACQUIRING, HISTORY_ACQUIRE);
    struct client_effect *ask = &call->effects->list[call->effects->count - 1];
    ask->deadline_ns = call->program->deadline_ns;
    if (call->program->cancel_after_ns > 0) {
        client_wake(call, call->event->now_ns + call->program->cancel_after_ns);
    }
}

static void client_next_section(struct client_call *call)
{
    struct client *client = call->client;
    client->entered = false;
    client->left = false;
    client->outside = false;
    client->at = 0;
    if (client->sections_left > 0) {
        client_think(call);
        return;
    }
    client_go(call, CLIENT_STATE_DONE);
    client_record(call, HISTORY_CLIENT, HISTORY_INVOKE, HISTORY_CLIENT_DONE);
    (void)client_effect(call, CLIENT_EFFECT_DONE);
}

void client_give_back(struct client_call *call, int32_t times)
{
    ASSERT(call->client->held > 0);
    call->client->at = call->client->held - 1;
    call->client->releases_left = times;
    client_probe(call, CLIENT_STATE_LEFT, PROBE_BEFORE_RELEASE);
}

static void client_release(struct client_call *call)
{
    client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_RELEASE);
    client_ask(call, CLIENT_STATE_RELEASING, HISTORY_RELEASE);
}

static void client_told_acquire(struct client_call *call)
{
    const struct client_event *event = call->event;
    if (event->outcome != OUTCOME_OK) {
        bool unknown = event->outcome == OUTCOME_INFO;
        client_record(call, HISTORY_OP, unknown ? HISTORY_INFO : HISTORY_FAIL, HISTORY_ACQUIRE)
            ->cause = event->cause;
        client_probe(call, CLIENT_STATE_REFUSED, PROBE_AFTER_REFUSED);
        return;
    }
    client_at(call)->value = event->value;
    client_at(call)->fence = event->fence;
    call->client->held++;
    struct history_event *record =
        client_record_held(call, HISTORY_OP, HISTORY_OK, HISTORY_ACQUIRE);
    client_promise(record, event);
    client_probe(call, CLIENT_STATE_GRANTED, PROBE_AFTER_GRANTED);
}

static void client_granted(struct client_call *call)
{
    if (call->program->audit) {
        call->client->entered = true;
        call->client->releases_left = 1;
        client_release(call);
    } else if (call->client->entered) {
        client_hold(call);
    } else if (call->client->held < call->program->at_once) {
        client_acquire(call);
    } else {
        client_enter(call);
    }
}

/* A refusal: whoever has a part of what it wants gives that back, and tries it all again. */
static void client_refused(struct client_call *call)
{
    if (call->client->entered) {
        client_hold(call);
    } else if (call->client->held > 0) {
        client_give_back(call, 1);
    } else {
        client_next_section(call);
    }
}

static void client_released(struct client_call *call)
{
    struct client *client = call->client;
    if (client->held == 0) {
        client_next_section(call);
    } else if (client->entered && !client->left) {
        client_hold(call);
    } else {
        client_give_back(call, client->left ? call->program->releases : 1);
    }
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
    call->client->held--;
    call->client->sections_left -= call->client->held == 0 && call->client->entered ? 1 : 0;
    client_probe(call, CLIENT_STATE_RELEASED, PROBE_AFTER_RELEASE);
}

static void client_told_of(struct client_call *call, enum client_outcome outcome)
{
    if (outcome == OUTCOME_LOST) {
        client_record_held(call, HISTORY_NOTICE, HISTORY_INVOKE, HISTORY_LOST);
    } else if (outcome == OUTCOME_RENEWED) {
        client_promise(client_record_held(call, HISTORY_LEASE, HISTORY_INVOKE, HISTORY_MOVED),
                       call->event);
    }
}

/* What the lock says unasked matters while it is held. Of what was acquired again it says it once.
 */
static void client_told_unasked(struct client_call *call)
{
    struct client *client = call->client;
    enum client_outcome outcome = (enum client_outcome)call->event->outcome;
    uint8_t at = client->at;
    bool releases = client->state == CLIENT_STATE_RELEASING && outcome == OUTCOME_RENEWED;
    bool news = false;
    for (uint8_t i = 0; i < client->held; i++) {
        struct client_hold *hold = &client->holds[i];
        if (hold->resource != call->event->resource || hold->lost) {
            continue;
        }
        hold->jeopardy = outcome == OUTCOME_JEOPARDY;
        hold->lost = outcome == OUTCOME_LOST;
        client->at = i;
        if (!news && !(releases && at == i)) {
            client_told_of(call, outcome);
        }
        news = true;
    }
    client->at = at;
    if (news && client->state == CLIENT_STATE_HOLDING) {
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
    } else if (client->state == CLIENT_STATE_RELEASING) {
        client_told_release(call);
    } else {
        client_record(call, HISTORY_CLIENT, HISTORY_INVOKE, HISTORY_UNASKED);
    }
}

/* A probe point lies behind: go on with what comes after it. */
static void client_passed(struct client_call *call)
{
    switch ((enum client_state)call->client->state) {
    case CLIENT_STATE_REFUSED:
        client_refused(call);
        return;
    case CLIENT_STATE_RELEASED:
        client_released(call);
        return;
    case CLIENT_STATE_GRANTED:
        client_granted(call);
        return;
    case CLIENT_STATE_READ:
        if (client_in_jeopardy(call->client)) {
            client_hold(call); /* it reads anew when it may */
        } else {
            client_write(call);
        }
        return;
    case CLIENT_STATE_WRITTEN:
        client_hold(call);
        return;
    case CLIENT_STATE_EXTENDED:
        client_extended(call);
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
        client_choose(call);
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
    program->at_once = 1;
    if (audit) {
        program->think_ns = NS_PER_MS;
        return;
    }
    program->at_once = scenario->at_once;
    program->again = scenario->again;
    program->order = scenario->order;
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
