/* session_close.c: what is sent for a lock in a session, and sessions that must go. */
#include "lockcore/session_step.h"

#include "base/assert.h"

#include <string.h>

void session_send(const struct session_step *step, uint32_t kind, const struct lock_value *value,
                  uint32_t attempt)
{
    const struct lock_config *config = &step->lock->config;
    struct lock_command command = {.kind = kind, .attempt = attempt, .value = *value};
    if (kind == step->rules->open_kind) {
        command.ttl_ms = lock_ttl_ms(config);
    } else if (kind == step->rules->take_kind) {
        uint16_t percent = step->rules->delay_percent + step->rules->wait_percent;
        command.ttl_ms = session_share_ns(config, percent) / NS_PER_MS;
        bool numbered = step->rules->wait_percent != 0;
        command.number = numbered ? config->retry_count - step->lock->attempts_left + 1 : 0;
    } else if (step->rules->look_kind != 0 && kind == step->rules->look_kind) {
        command.number = step->session->place;
    }
    lock_send(step->lock, step->session->member, &command, step->effects);
}

void session_member_next(const struct session_step *step)
{
    step->session->member = (step->session->member + 1) % step->lock->config.node_count;
}

static void close_remove(struct session *session, uint32_t index)
{
    ASSERT(index < session->close_count);
    session->close_count--;
    for (uint32_t i = index; i < session->close_count; i++) {
        session->closes[i] = session->closes[i + 1];
    }
    memset(&session->closes[session->close_count], 0, sizeof session->closes[0]);
}

void session_close_begin(const struct session_step *step)
{
    struct session *session = step->session;
    struct lock *lock = step->lock;
    ASSERT(session->close_count < SESSION_CLOSES_MAX);
    lock->attempt++; /* from here on late answers to the question are not heard */
    session->closes[session->close_count++] = (struct session_close){
        .value = lock->value,
        .attempt = lock->attempt,
        .resend_ns = lock_time_after(step->event->now_ns, lock->config.node_timeout_ns),
        .deadline_ns = lock_time_after(step->event->now_ns, lock->config.ttl_ns),
    };
    session_send(step, step->rules->release_kind, &lock->value, lock->attempt);
}

/* Whether the reply is to one of them; an error is no answer. */
bool session_close_hear(const struct session_step *step)
{
    struct session *session = step->session;
    const struct lock_event *event = step->event;
    for (uint32_t i = 0; i < session->close_count; i++) {
        if (session->closes[i].attempt == event->command.attempt) {
            if (event->reply.type == LOCK_REPLY_YES || event->reply.type == LOCK_REPLY_NO) {
                close_remove(session, i);
            } else if (step->lock->pending == 0 && session->keep_attempt == 0 &&
                       event->node_index == session->member) {
                session_member_next(step);
            }
            return true;
        }
    }
    return false;
}

void session_closes_tick(const struct session_step *step)
{
    struct session *session = step->session;
    int64_t now_ns = step->event->now_ns;
    for (uint32_t i = session->close_count; i-- > 0;) {
        struct session_close *closing = &session->closes[i];
        if (now_ns >= closing->deadline_ns) {
            close_remove(session, i);
        } else if (now_ns >= closing->resend_ns) {
            closing->resend_ns = lock_time_after(now_ns, step->lock->config.node_timeout_ns);
            session_send(step, step->rules->release_kind, &closing->value, closing->attempt);
        }
    }
}

int64_t session_closes_wake_ns(const struct session *session)
{
    int64_t wake_ns = TIME_NEVER;
    for (uint32_t i = 0; i < session->close_count; i++) {
        wake_ns = lock_earlier(wake_ns, session->closes[i].resend_ns);
        wake_ns = lock_earlier(wake_ns, session->closes[i].deadline_ns);
    }
    return wake_ns;
}
