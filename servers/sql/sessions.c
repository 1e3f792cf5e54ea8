/* sessions.c: advisory locks: granted to a session as often as it asks, and gone with it. */
#include "servers/sql/sessions.h"

#include "lockcore/sql/command.h"

#include "base/assert.h"

#include <string.h>

static bool same_session(const struct sql_call *call)
{
    const struct sql_held *held = call->held;
    return call->sessions->pooled ||
           (held->client == call->ask->client && held->connection == call->ask->connection);
}

bool sql_session_may(const struct sql_call *call)
{
    return call->held->count == 0 || same_session(call);
}

static void done(const struct sql_call *call, enum history_f f, struct lock_reply reply)
{
    const struct sql_held *held = call->held;
    struct history_event event =
        server_command_event(&sql_dialect, call->ask, 0, f, held->told ? &held->owner : NULL);
    if (f == HISTORY_KEY_DELETED) {
        event.cause = CAUSE_RELEASED;
    }
    if (reply.type == LOCK_REPLY_NUMBER) {
        event.fence = reply.number;
        event.flags |= HISTORY_HAS_FENCE;
    }
    call->door->answer(call->door, call->ask, reply, call->door->record(call->door, &event));
}

/* Whoever had the lock has it no more. */
static void lost(struct sql_held *held, uint32_t resource, struct history_event *event,
                 struct server_door *door)
{
    event->resource = resource;
    memcpy(event->owner.bytes, held->owner.bytes, sizeof event->owner.bytes);
    event->flags |= HISTORY_HAS_OWNER;
    held->told = false;
    (void)door->record(door, event);
}

void sql_session_try(const struct sql_call *call)
{
    struct sql_held *held = call->held;
    const struct server_ask *ask = call->ask;
    if (!sql_session_may(call)) {
        done(call, HISTORY_KEY_REFUSED, (struct lock_reply){.type = LOCK_REPLY_NO});
        return;
    }
    if (held->told && held->client != ask->client) {
        /* Two clients in one session: neither keeps the other out. */
        struct history_event event = server_key_event(HISTORY_KEY_LOST, 0, ask->resource);
        event.cause = CAUSE_SHARED;
        lost(held, ask->resource, &event, call->door);
    }
    struct lock_reply reply = {.type = LOCK_REPLY_YES};
    if (call->fence != 0) {
        reply = (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = call->fence};
    }
    done(call, HISTORY_KEY_SET, reply);
    held->count++;
    held->client = ask->client;
    held->connection = ask->connection;
    held->owner = ask->command.value;
    held->told = true;
}

/* Of a lock that was granted several times it takes as many to free it. */
void sql_session_unlock(const struct sql_call *call)
{
    struct sql_held *held = call->held;
    if (held->count == 0 || !same_session(call)) {
        done(call, HISTORY_KEY_KEPT, (struct lock_reply){.type = LOCK_REPLY_NO});
        return;
    }
    held->count--;
    bool its = held->told && held->client == call->ask->client;
    bool frees = its && (held->count == 0 || call->sessions->pooled);
    struct lock_reply reply = {.type = LOCK_REPLY_YES};
    if (its) {
        done(call, frees ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT, reply);
    } else {
        call->door->answer(call->door, call->ask, reply, SERVER_NO_EVENT);
    }
    held->told = held->told && !frees;
    if (held->count == 0) {
        memset(held, 0, sizeof *held);
    }
}

void sql_session_over(const struct sql_sessions *sessions, struct sql_held *held,
                      const struct server_caller *caller, struct server_door *door)
{
    for (uint32_t i = 0; i < sessions->resource_count && !sessions->pooled; i++) {
        if (held[i].count == 0 || held[i].client != caller->client ||
            held[i].connection != caller->connection) {
            continue;
        }
        struct history_event event = server_key_event(HISTORY_KEY_LOST, 0, i);
        event.cause = CAUSE_SESSION;
        lost(&held[i], i, &event, door);
        memset(&held[i], 0, sizeof held[i]);
    }
}

uint32_t sql_sessions_over(const struct sql_sessions *sessions, struct sql_held *held,
                           const struct server_turn *turn, struct server_door *door)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sessions->resource_count; i++) {
        if (held[i].told) {
            struct history_event event = server_key_event(HISTORY_KEY_LOST, turn->node, i);
            event.cause = turn->cause;
            event.fault = turn->fault;
            lost(&held[i], i, &event, door);
            count++;
        }
        memset(&held[i], 0, sizeof held[i]);
    }
    return count;
}
