/* client_section.c: what a client does with what it holds. */
#include "harness/client_inner.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

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

bool client_in_jeopardy(const struct client *client)
{
    bool jeopardy = false;
    for (uint32_t i = 0; i < client->held; i++) {
        jeopardy = jeopardy || client->holds[i].jeopardy;
    }
    return jeopardy;
}

/* It enters or leaves the sections of all that it wanted at once. */
static void client_section(struct client_call *call, enum history_f f)
{
    uint8_t at = call->client->at;
    for (int32_t i = 0; i < call->program->at_once; i++) {
        call->client->at = (uint8_t)i;
        client_record_held(call, HISTORY_SECTION, HISTORY_INVOKE, f);
    }
    call->client->at = at;
}

static void client_leave(struct client_call *call)
{
    if (!call->client->outside) {
        client_section(call, HISTORY_LEAVE);
    }
    call->client->left = true;
    client_give_back(call, call->program->releases);
}

static bool client_lost_any(const struct client *client)
{
    bool lost = false;
    for (uint32_t i = 0; i < client->held; i++) {
        lost = lost || client->holds[i].lost;
    }
    return lost;
}

/* In jeopardy it stands outside and waits for what comes of it; then it is inside again. */
static bool client_stands_still(struct client_call *call)
{
    struct client *client = call->client;
    bool jeopardy = client_in_jeopardy(client);
    if (jeopardy != client->outside && !client_lost_any(client)) {
        client_section(call, jeopardy ? HISTORY_LEAVE : HISTORY_ENTER);
        client->outside = jeopardy;
    }
    return jeopardy;
}

/* The first grant from `from` on that more time is asked for; at_once: none. */
static uint32_t client_extends(const struct client_call *call, uint32_t from)
{
    uint32_t at_once = (uint32_t)call->program->at_once;
    while (from < at_once && call->client->holds[from].lost &&
           call->program->on_lost != ON_LOST_EXTEND) {
        from++;
    }
    return from;
}

/* What it acquired again is given back in the middle of the section: the outer grant must stay. */
static int64_t client_inner_due(const struct client_call *call)
{
    bool again = call->client->held > call->program->at_once;
    return again ? call->client->enter_ns + call->program->hold_ns / 2 : TIME_NEVER;
}

static void client_read(struct client_call *call)
{
    struct client *client = call->client;
    int32_t done = call->program->writes - client->writes_left;
    client->at = (uint8_t)(done % call->program->at_once);
    client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_READ);
    struct client_effect *effect = client_effect(call, CLIENT_EFFECT_STORE);
    effect->f = HISTORY_READ;
    effect->value = client_at(call)->value;
    effect->fence = client_at(call)->fence;
    client_go(call, CLIENT_STATE_READING);
}

static void client_acquire_again(struct client_call *call)
{
    struct client *client = call->client;
    client->again_left--;
    client->holds[client->held].resource = client->holds[0].resource;
    client_acquire(call);
}

void client_hold(struct client_call *call)
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
    int64_t inner_ns = client_inner_due(call);
    uint32_t extends = client_extends(call, 0);
    int64_t extend_ns = extends < (uint32_t)call->program->at_once ? client->extend_ns : TIME_NEVER;
    bool leaves = client->outside || call->program->on_lost == ON_LOST_LEAVE;
    if (leaves && client_lost_any(client)) {
        client_leave(call);
    } else if (client->again_left > 0 && !client_lost_any(client)) {
        client_acquire_again(call);
    } else if (inner_ns <= now_ns) {
        client_give_back(call, 1);
    } else if (extend_ns <= now_ns) {
        client->at = (uint8_t)extends;
        client_probe(call, CLIENT_STATE_OVERDUE, PROBE_BEFORE_EXTEND);
    } else if (write_ns <= now_ns) {
        client_read(call);
    } else if (write_ns == TIME_NEVER && leave_ns <= now_ns) {
        client_leave(call);
    } else {
        int64_t wake_ns = write_ns != TIME_NEVER ? write_ns : leave_ns;
        wake_ns = extend_ns < wake_ns ? extend_ns : wake_ns;
        client_go(call, CLIENT_STATE_HOLDING);
        client_wake(call, inner_ns < wake_ns ? inner_ns : wake_ns);
    }
}

void client_enter(struct client_call *call)
{
    struct client *client = call->client;
    ASSERT(!call->program->audit);
    client->entered = true;
    client->enter_ns = call->event->now_ns;
    client->again_left = (uint8_t)call->program->again;
    client->writes_left = call->program->writes;
    client->extend_ns = call->program->extend_every_ns > 0
                            ? client->enter_ns + call->program->extend_every_ns
                            : TIME_NEVER;
    client->outside = client_in_jeopardy(client);
    if (!client->outside) {
        client_section(call, HISTORY_ENTER);
    }
    client_hold(call);
}

void client_extended(struct client_call *call)
{
    uint32_t next = client_extends(call, call->client->at + 1u);
    if (next == (uint32_t)call->program->at_once) {
        client_hold(call);
        return;
    }
    call->client->at = (uint8_t)next;
    client_probe(call, CLIENT_STATE_OVERDUE, PROBE_BEFORE_EXTEND);
}

void client_write(struct client_call *call)
{
    struct client *client = call->client;
    client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_WRITE)->basis = client->basis;
    struct client_effect *effect = client_effect(call, CLIENT_EFFECT_STORE);
    effect->f = HISTORY_WRITE;
    effect->value = client_at(call)->value;
    effect->fence = client_at(call)->fence;
    effect->basis = client->basis;
    client_go(call, CLIENT_STATE_WRITING);
}

void client_store(struct client_call *call)
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

void client_extend(struct client_call *call)
{
    client_record_held(call, HISTORY_OP, HISTORY_INVOKE, HISTORY_EXTEND);
    client_ask(call, CLIENT_STATE_EXTENDING, HISTORY_EXTEND);
}

void client_told_extend(struct client_call *call)
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
