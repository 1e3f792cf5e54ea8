/* client_say.c: the effects and records of a client's step. */
#include "harness/client_inner.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

struct client_hold *client_at(const struct client_call *call)
{
    ASSERT(call->client->at < SCENARIO_HOLDS_MAX);
    return &call->client->holds[call->client->at];
}

struct client_effect *client_effect(struct client_call *call, enum client_effect_type type)
{
    ASSERT(call->effects->count < CLIENT_EFFECTS_MAX);
    struct client_effect *effect = &call->effects->list[call->effects->count++];
    memset(effect, 0, sizeof *effect);
    effect->type = (uint8_t)type;
    effect->resource = client_at(call)->resource;
    return effect;
}

struct history_event *client_record(struct client_call *call, enum history_kind kind,
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
    record->resource = client_at(call)->resource;
    return record;
}

struct history_event *client_record_held(struct client_call *call, enum history_kind kind,
                                         enum history_type type, enum history_f f)
{
    struct history_event *record = client_record(call, kind, type, f);
    record->value = client_at(call)->value;
    record->fence = client_at(call)->fence;
    record->flags |= HISTORY_HAS_VALUE;
    if (record->fence > 0) {
        record->flags |= HISTORY_HAS_FENCE;
    }
    return record;
}

void client_go(struct client_call *call, enum client_state state)
{
    call->client->state = (uint8_t)state;
}

void client_probe(struct client_call *call, enum client_state state, enum probe_point point)
{
    client_go(call, state);
    client_effect(call, CLIENT_EFFECT_PROBE)->point = (uint8_t)point;
}

void client_wake(struct client_call *call, int64_t at_ns)
{
    client_effect(call, CLIENT_EFFECT_WAKE)->at_ns = at_ns;
}

void client_ask(struct client_call *call, enum client_state state, enum history_f f)
{
    int32_t depth = call->client->at - call->program->at_once + 1;
    client_go(call, state);
    struct client_effect *ask = client_effect(call, CLIENT_EFFECT_ASK);
    ask->f = (uint8_t)f;
    ask->depth = depth > 0 ? (uint8_t)depth : 0;
}

void client_promise(struct history_event *record, const struct client_event *event)
{
    if (!event->has_until) {
        return;
    }
    record->flags |= HISTORY_HAS_UNTIL;
    record->until_ns = event->until_ns;
    if (event->since_ns != 0) {
        record->flags |= HISTORY_HAS_SINCE;
        record->since_ns = event->since_ns;
    }
    if (event->until_least_ns != 0 && event->until_least_ns != event->until_ns) {
        record->flags |= HISTORY_HAS_UNTIL_LEAST;
        record->until_least_ns = event->until_least_ns;
    }
}

enum history_type client_outcome_type(enum client_outcome outcome)
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
