/* session_step.h: what the files of a lock in a session share; inside lockcore only. */
#ifndef LOCKCORE_SESSION_STEP_H
#define LOCKCORE_SESSION_STEP_H

#include "lockcore/session.h"

/* One step: the lock, what happened, and where its effects go. */
struct session_step {
    struct lock *lock;
    struct session *session;
    const struct session_rules *rules;
    const struct lock_event *event;
    struct lock_effects *effects;
};

/* A share of the ttl. */
static inline int64_t session_share_ns(const struct lock_config *config, uint16_t percent)
{
    return config->ttl_ns / 100 * percent;
}

const struct session_rules *session_rules_of(const struct lock *lock);

/* The lease that an answer gives, which says for how long from when the service read the question:
 * that was not before it was sent. And the end of the grace period behind the lease. */
int64_t session_lease_end_ns(const struct session_step *step, int64_t length_ns);
int64_t session_grace_end_ns(const struct lock *lock);

/* A monotonic clock that has gone back since the question cannot tell how long that took. */
bool session_time_went_on(const struct session_step *step);

/* Send a command about a session to the member that is taken for the master; take the next. */
void session_send(const struct session_step *step, uint32_t kind, const struct lock_value *value,
                  uint32_t attempt);
void session_member_next(const struct session_step *step);

/* Release the lock's session as a new attempt, and again until that is answered or its time is
 * over. There must be room. */
void session_close_begin(const struct session_step *step);

/* Whether the reply is to one of these; an error is no answer. */
bool session_close_hear(const struct session_step *step);

/* Send again what is due, and drop what is over; when that next is so. */
void session_closes_tick(const struct session_step *step);
int64_t session_closes_wake_ns(const struct session *session);

#endif
