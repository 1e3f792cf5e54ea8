/* session.c: a lock that lives in a session with one service. */
#include "lockcore/session_step.h"

#include "base/assert.h"

#include <string.h>

_Static_assert(sizeof(struct session_close) == LOCK_VALUE_BYTES + 4 + 2 * 8, "no padding");
_Static_assert(sizeof(struct session) ==
                   5 * 8 + 6 * 4 + SESSION_CLOSES_MAX * sizeof(struct session_close),
               "no padding");
_Static_assert(sizeof(struct session) <= LOCK_OWN_BYTES, "it fits into a lock");

const uint32_t session_moves[LOCK_STATES] = {
    [LOCK_STATE_IDLE] = LOCK_TO(ACQUIRING) | LOCK_TO(WAITING),
    [LOCK_STATE_ACQUIRING] = LOCK_TO(HELD) | LOCK_TO(WAITING) | LOCK_TO(IDLE),
    [LOCK_STATE_WAITING] = LOCK_TO(ACQUIRING),
    [LOCK_STATE_HELD] = LOCK_TO(SPENT) | LOCK_TO(RELEASING),
    [LOCK_STATE_SPENT] = LOCK_TO(HELD) | LOCK_TO(RELEASING),
    [LOCK_STATE_RELEASING] = LOCK_TO(IDLE),
};

/* ---- commands -------------------------------------------------------------------------------- */

/* It may have to wait for its turn there. */
static void take_ask(const struct session_step *step)
{
    struct lock *lock = step->lock;
    int64_t wait_ns = session_share_ns(&lock->config, step->rules->wait_percent);
    lock->deadline_ns =
        lock_time_after(step->event->now_ns, lock->config.node_timeout_ns + wait_ns);
    session_send(step, step->rules->take_kind, &lock->value, lock->attempt);
}

/* Put the question to the member that is taken for the master; it is given a node timeout. */
static void question_ask(const struct session_step *step)
{
    struct lock *lock = step->lock;
    lock->attempt++;
    lock->pending = lock_bit(step->session->member);
    lock->deadline_ns = lock_time_after(step->event->now_ns, lock->config.node_timeout_ns);
    if (lock->state == LOCK_STATE_RELEASING) {
        session_send(step, step->rules->release_kind, &lock->value, lock->attempt);
        return;
    }
    ASSERT(lock->state == LOCK_STATE_ACQUIRING);
    step->session->sent_ns = step->event->now_ns;
    if (step->session->place != 0) {
        session_send(step, step->rules->look_kind, &lock->value, lock->attempt);
        return;
    }
    step->session->lease_ns = INT64_MIN; /* what an open before this one gave is told anew */
    bool open = step->rules->opens_once && step->session->opened != 0;
    session_send(step, open ? step->rules->keep_kind : step->rules->open_kind, &lock->value,
                 lock->attempt);
    if (open || !step->rules->opens_first) {
        take_ask(step);
    }
}

/* This one is not the master. Whether there is another that was not asked yet. */
static bool member_refused(const struct session_step *step)
{
    session_member_next(step);
    step->session->refusals++;
    bool another = step->session->refusals < step->lock->config.node_count;
    step->session->refusals = another ? step->session->refusals : 0;
    return another;
}

/* ---- keeping it alive ------------------------------------------------------------------------ */

static void keep_stop(struct session *session)
{
    session->keep_attempt = 0;
    session->keep_due_ns = TIME_NEVER;
}

/* Ask to keep it. Whoever has not answered when little of the lease is left is asked no more. */
static void keep_ask(const struct session_step *step)
{
    struct lock *lock = step->lock;
    struct session *session = step->session;
    int64_t now_ns = step->event->now_ns;
    int64_t little_ns = session->lease_ns - lock->config.ttl_ns / 8;
    session->keep_attempt = ++lock->attempt;
    session->sent_ns = now_ns;
    bool waits = step->rules->keep_percent == 0 && now_ns < little_ns;
    session->keep_due_ns =
        waits ? little_ns : lock_time_after(now_ns, lock->config.node_timeout_ns);
    session_send(step, step->rules->keep_kind, &lock->value, session->keep_attempt);
}

/* It is kept for now: ask for more when that is due. */
static void keep_next(const struct session_step *step)
{
    const struct session_rules *rules = step->rules;
    if (rules->never_keeps) {
        keep_stop(step->session);
    } else if (rules->keep_percent == 0) {
        keep_ask(step);
    } else {
        step->session->keep_attempt = 0;
        step->session->keep_due_ns = lock_time_after(
            step->event->now_ns, session_share_ns(&step->lock->config, rules->keep_percent));
    }
}

/* The member that was asked does not keep it: the next one, or a pause when all were asked. */
static void keep_refused(const struct session_step *step)
{
    if (member_refused(step)) {
        keep_ask(step);
        return;
    }
    step->session->keep_attempt = 0;
    step->session->keep_due_ns =
        lock_time_after(step->event->now_ns, step->lock->config.node_timeout_ns);
}

/* The promise that goes with the present lease. */
static void promise(const struct session_step *step, struct lock_effect *told)
{
    struct lock *lock = step->lock;
    lock->until_ns =
        step->rules->ignores_jeopardy ? session_grace_end_ns(lock) : step->session->lease_ns;
    told->until_ns = lock->until_ns;
    told->validity_ns = lock->until_ns - step->event->now_ns;
}

static void lose(const struct session_step *step)
{
    struct lock *lock = step->lock;
    keep_stop(step->session);
    step->session->jeopardy = 0;
    if (lock->state == LOCK_STATE_HELD) {
        lock_move(lock, LOCK_STATE_SPENT);
    }
    (void)lock_tell(step->effects, LOCK_TOLD_LOST, LOCK_REASON_NONE, &lock->value);
}

/* "The client's local lease timeout": it counts from when the answered command was sent. */
static void kept(const struct session_step *step)
{
    struct lock *lock = step->lock;
    struct session *session = step->session;
    int64_t length_ns = step->event->reply.number * NS_PER_MS;
    int64_t lease_ns = session_lease_end_ns(step, length_ns);
    session->refusals = 0;
    if (lease_ns > session->lease_ns && lease_ns > step->event->now_ns &&
        session_time_went_on(step)) {
        session->lease_ns = lease_ns;
        session->jeopardy = 0;
        if (lock->state == LOCK_STATE_SPENT) {
            lock_move(lock, LOCK_STATE_HELD);
        }
        promise(step, lock_tell(step->effects, LOCK_TOLD_RENEWED, LOCK_REASON_NONE, &lock->value));
    }
    keep_next(step);
}

static bool lasts(int64_t length_ms)
{
    return length_ms > 0 && length_ms <= DURATION_NS_MAX / NS_PER_MS;
}

static void keep_answered(const struct session_step *step)
{
    const struct lock_reply *reply = &step->event->reply;
    if (reply->type == LOCK_REPLY_NUMBER && lasts(reply->number)) {
        kept(step);
    } else if (reply->type == LOCK_REPLY_NO) {
        lose(step);
    } else {
        keep_refused(step);
    }
}

/* ---- acquire --------------------------------------------------------------------------------- */

static int64_t retry_delay_ns(const struct session_step *step)
{
    const struct lock_config *config = &step->lock->config;
    return config->retry_delay_ns +
           lock_jitter_ns(config, step->event->random[LOCK_RANDOM_WORDS - 1]);
}

/* While old sessions fill all their places no new attempt begins. */
static void attempt_begin(const struct session_step *step)
{
    struct lock *lock = step->lock;
    if (step->session->close_count == SESSION_CLOSES_MAX) {
        if (lock->state != LOCK_STATE_WAITING) {
            lock_move(lock, LOCK_STATE_WAITING);
        }
        lock->deadline_ns = lock_time_after(step->event->now_ns, lock->config.node_timeout_ns);
        return;
    }
    lock_move(lock, LOCK_STATE_ACQUIRING);
    lock->start_ns = step->event->now_ns;
    step->session->refusals = 0;
    question_ask(step);
}

static void acquire(const struct session_step *step)
{
    struct lock *lock = step->lock;
    ASSERT(lock->state == LOCK_STATE_IDLE);
    lock->attempts_left = lock->config.retry_count;
    lock->fence = 0;
    memcpy(lock->value.bytes, step->event->random, sizeof lock->value.bytes);
    step->session->jeopardy = 0;
    step->session->repeated = 0;
    step->session->place = 0;
    step->session->opened = 0;
    keep_stop(step->session);
    attempt_begin(step);
}

static void refuse(const struct session_step *step, enum lock_reason reason)
{
    struct lock *lock = step->lock;
    lock->pending = 0;
    if (lock->attempts_left == 0) {
        session_close_begin(step);
        lock_move(lock, LOCK_STATE_IDLE);
        (void)lock_tell(step->effects, LOCK_TOLD_REFUSED, reason, &lock->value);
        return;
    }
    lock->attempts_left--;
    lock_move(lock, LOCK_STATE_WAITING);
    lock->deadline_ns = lock_time_after(step->event->now_ns, retry_delay_ns(step));
}

/* The time is looked at after the answer: a lease that is over by now is no grant. */
static void taken(const struct session_step *step)
{
    struct lock *lock = step->lock;
    struct session *session = step->session;
    if (session->lease_ns <= step->event->now_ns || !session_time_went_on(step)) {
        refuse(step, LOCK_REASON_VALIDITY_SPENT);
        return;
    }
    lock->pending = 0;
    session->refusals = 0;
    step->effects->marks |= LOCK_MARK_DECIDES;
    lock_move(lock, LOCK_STATE_HELD);
    lock->fence = step->event->reply.number;
    struct lock_effect *told =
        lock_tell(step->effects, LOCK_TOLD_GRANTED, LOCK_REASON_NONE, &lock->value);
    told->fence = step->rules->fenced ? lock->fence : 0;
    promise(step, told);
    keep_next(step);
}

/* The take is answered: with the grant, or (wrong) with a place in the queue. */
static void placed(const struct session_step *step)
{
    if (step->rules->look_kind == 0) {
        taken(step);
        return;
    }
    step->session->place = step->event->reply.number;
    question_ask(step);
}

/* Wrong: nobody is before that place; whether the session still is nobody asks. */
static void looked(const struct session_step *step)
{
    if (step->event->reply.type == LOCK_REPLY_NUMBER && step->event->reply.number > 0) {
        step->session->lease_ns = session_lease_end_ns(step, step->lock->config.ttl_ns);
        taken(step);
    } else if (step->event->reply.type == LOCK_REPLY_NO) {
        refuse(step, LOCK_REASON_NO_QUORUM);
    }
}

/* ---- release --------------------------------------------------------------------------------- */

static void release(const struct session_step *step)
{
    struct lock *lock = step->lock;
    ASSERT(lock->state == LOCK_STATE_HELD || lock->state == LOCK_STATE_SPENT);
    keep_stop(step->session);
    step->session->jeopardy = 0;
    step->session->refusals = 0;
    step->session->repeated = 0;
    lock_move(lock, LOCK_STATE_RELEASING);
    question_ask(step);
}

static void released(const struct session_step *step, enum lock_told told)
{
    struct lock *lock = step->lock;
    lock->pending = 0;
    if (told == LOCK_TOLD_UNKNOWN && step->session->close_count < SESSION_CLOSES_MAX) {
        session_close_begin(step);
    }
    lock_move(lock, LOCK_STATE_IDLE);
    (void)lock_tell(step->effects, told, LOCK_REASON_NONE, &lock->value);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Whoever was asked is not the master, or out of reach: the next one, within the deadline. */
static void question_refused(const struct session_step *step)
{
    bool another = member_refused(step);
    if (step->lock->state == LOCK_STATE_RELEASING) {
        if (another) {
            question_ask(step);
        } else {
            released(step, LOCK_TOLD_UNKNOWN);
        }
    } else if (another) {
        question_ask(step);
    } else {
        refuse(step, LOCK_REASON_NO_QUORUM);
    }
}

/* The session that was opened before: its new end, or that there is none any more. */
static void still_open(const struct session_step *step)
{
    const struct lock_reply *reply = &step->event->reply;
    if (reply->type == LOCK_REPLY_NUMBER && lasts(reply->number)) {
        step->session->lease_ns = session_lease_end_ns(step, reply->number * NS_PER_MS);
    } else if (reply->type == LOCK_REPLY_NO) {
        step->session->opened = 0;
    }
}

static void question_answered(const struct session_step *step)
{
    const struct lock_event *event = step->event;
    uint8_t reply = event->reply.type;
    if (event->command.kind == step->rules->open_kind) {
        if (reply == LOCK_REPLY_YES) {
            step->session->opened = 1;
            step->session->lease_ns = session_lease_end_ns(step, step->lock->config.ttl_ns);
            if (step->rules->opens_first) {
                take_ask(step);
            }
        } else if (reply == LOCK_REPLY_NO) {
            step->session->opened = 1; /* by a question whose answer was lost: since when? */
            if (step->rules->opens_first) {
                question_ask(step);
            }
        }
    } else if (event->command.kind == step->rules->keep_kind) {
        still_open(step);
    } else if (reply == LOCK_REPLY_ERROR) {
        question_refused(step);
    } else if (event->command.kind == step->rules->take_kind) {
        if (reply == LOCK_REPLY_NUMBER && event->reply.number > 0) {
            placed(step);
        } else if (reply == LOCK_REPLY_NO) {
            refuse(step, LOCK_REASON_NO_QUORUM);
        }
    } else if (step->session->place != 0 && step->lock->state == LOCK_STATE_ACQUIRING) {
        looked(step);
    } else if (reply == LOCK_REPLY_YES) {
        released(step, LOCK_TOLD_RELEASED);
    } else if (reply == LOCK_REPLY_NO) {
        /* What was asked before without an answer may have done it. */
        released(step, step->session->repeated ? LOCK_TOLD_UNKNOWN : LOCK_TOLD_NOT_HELD);
    }
}

static void answered(const struct session_step *step)
{
    const struct lock *lock = step->lock;
    const struct lock_event *event = step->event;
    if (session_close_hear(step)) {
        return;
    }
    if (lock->pending != 0 && event->command.attempt == lock->attempt) {
        question_answered(step);
    } else if (step->session->keep_attempt != 0 &&
               event->command.attempt == step->session->keep_attempt) {
        keep_answered(step);
    }
}

static void broken(const struct session_step *step)
{
    if (step->event->node_index != step->session->member) {
        return;
    }
    if (step->lock->pending != 0) {
        step->session->repeated = 1;
        question_refused(step);
    } else if (step->session->keep_attempt != 0) {
        keep_refused(step);
    } else {
        session_member_next(step);
    }
}

/* The lease is over, and then the grace period. */
static void held_timer(const struct session_step *step)
{
    struct lock *lock = step->lock;
    struct session *session = step->session;
    int64_t now_ns = step->event->now_ns;
    if (now_ns >= session_grace_end_ns(lock)) {
        lose(step);
        return;
    }
    if (lock->state == LOCK_STATE_HELD && now_ns >= lock->until_ns) {
        lock_move(lock, LOCK_STATE_SPENT);
        session->jeopardy = 1;
        (void)lock_tell(step->effects, LOCK_TOLD_JEOPARDY, LOCK_REASON_NONE, &lock->value);
    }
    if (now_ns >= session->keep_due_ns) {
        session->refusals = 0;
        if (session->keep_attempt != 0) {
            session_member_next(step);
        }
        keep_ask(step);
    }
}

static void timer(const struct session_step *step)
{
    struct lock *lock = step->lock;
    session_closes_tick(step);
    if (lock->state == LOCK_STATE_HELD || step->session->jeopardy != 0) {
        held_timer(step);
    } else if (step->event->now_ns < lock->deadline_ns) {
        return;
    } else if (lock->state == LOCK_STATE_WAITING) {
        attempt_begin(step);
    } else if (lock->state == LOCK_STATE_ACQUIRING) {
        session_member_next(step);
        refuse(step, LOCK_REASON_TIMEOUT);
    } else if (lock->state == LOCK_STATE_RELEASING) {
        session_member_next(step);
        released(step, LOCK_TOLD_UNKNOWN);
    }
}

void session_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    const struct session_step step = {lock, lock_own(lock), session_rules_of(lock), event, effects};
    switch ((enum lock_event_type)event->type) {
    case LOCK_EVENT_ACQUIRE:
        acquire(&step);
        return;
    case LOCK_EVENT_EXTEND: /* it keeps itself alive: there is nothing that could be asked for */
        ASSERT(lock->state == LOCK_STATE_HELD || lock->state == LOCK_STATE_SPENT);
        (void)lock_tell(effects, LOCK_TOLD_NOT_EXTENDED, LOCK_REASON_NONE, &lock->value);
        return;
    case LOCK_EVENT_RELEASE:
        release(&step);
        return;
    case LOCK_EVENT_REPLY:
        answered(&step);
        return;
    case LOCK_EVENT_BROKEN:
        broken(&step);
        return;
    case LOCK_EVENT_TIMER:
        timer(&step);
        return;
    case LOCK_EVENT_PUSH:
        return;
    }
    UNREACHABLE();
}

int64_t session_wake_ns(const struct lock *lock)
{
    const struct session *session = lock_own_const(lock);
    int64_t wake_ns = session_closes_wake_ns(session);
    if (lock->state == LOCK_STATE_HELD) {
        wake_ns = lock_earlier(wake_ns, lock->until_ns);
        wake_ns = lock_earlier(wake_ns, session->keep_due_ns);
    } else if (session->jeopardy != 0) {
        wake_ns = lock_earlier(wake_ns, session_grace_end_ns(lock));
        wake_ns = lock_earlier(wake_ns, session->keep_due_ns);
    } else if (lock->state != LOCK_STATE_IDLE && lock->state != LOCK_STATE_SPENT) {
        wake_ns = lock_earlier(wake_ns, lock->deadline_ns);
    }
    return wake_ns;
}

void session_assert_valid(const struct lock *lock)
{
    const struct session *session = lock_own_const(lock);
    bool asks = lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_RELEASING;
    ASSERT(session->member < lock->config.node_count);
    ASSERT(session->close_count <= SESSION_CLOSES_MAX);
    ASSERT(session->jeopardy == 0 || lock->state == LOCK_STATE_SPENT);
    ASSERT(lock->pending == 0 || asks);
    ASSERT(session->keep_attempt == 0 || lock->state == LOCK_STATE_HELD || session->jeopardy != 0);
}
