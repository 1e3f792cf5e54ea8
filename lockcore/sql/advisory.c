/* advisory.c: a lock that lives as long as its connection. */
#include "lockcore/sql/advisory.h"

#include "base/assert.h"

#include <string.h>

enum { ADVISORY_NODE = 0 };

const uint32_t advisory_moves[LOCK_STATES] = {
    [LOCK_STATE_IDLE] = LOCK_TO(ACQUIRING),
    [LOCK_STATE_ACQUIRING] = LOCK_TO(HELD) | LOCK_TO(WAITING) | LOCK_TO(IDLE),
    [LOCK_STATE_WAITING] = LOCK_TO(ACQUIRING),
    [LOCK_STATE_HELD] = LOCK_TO(SPENT) | LOCK_TO(RELEASING),
    [LOCK_STATE_SPENT] = LOCK_TO(IDLE),
    [LOCK_STATE_RELEASING] = LOCK_TO(IDLE),
};

/* One step: the lock, what happened, and where its effects go. */
struct advisory_step {
    struct lock *lock;
    const struct advisory_rules *rules;
    const struct lock_event *event;
    struct lock_effects *effects;
};

static void ask(const struct advisory_step *step, uint32_t kind)
{
    struct lock *lock = step->lock;
    const struct lock_command command = {
        .kind = kind, .attempt = ++lock->attempt, .value = lock->value};
    lock->pending = lock_bit(ADVISORY_NODE);
    lock->deadline_ns = lock_time_after(step->event->now_ns, lock->config.node_timeout_ns);
    lock_send(lock, ADVISORY_NODE, &command, step->effects);
}

/* ---- acquire --------------------------------------------------------------------------------- */

static void attempt_begin(const struct advisory_step *step)
{
    struct lock *lock = step->lock;
    lock_move(lock, LOCK_STATE_ACQUIRING);
    lock->start_ns = step->event->now_ns;
    memcpy(lock->value.bytes, step->event->random, sizeof lock->value.bytes);
    ask(step, step->rules->try_kind);
}

static void refuse(const struct advisory_step *step, enum lock_reason reason)
{
    struct lock *lock = step->lock;
    const struct lock_config *config = &lock->config;
    lock->pending = 0;
    if (lock->attempts_left == 0) {
        lock_move(lock, LOCK_STATE_IDLE);
        (void)lock_tell(step->effects, LOCK_TOLD_REFUSED, reason, &lock->value);
        return;
    }
    lock->attempts_left--;
    lock_move(lock, LOCK_STATE_WAITING);
    lock->deadline_ns =
        lock_time_after(step->event->now_ns,
                        config->retry_delay_ns +
                            lock_jitter_ns(config, step->event->random[LOCK_RANDOM_WORDS - 1]));
}

/* "Multiple lock requests stack": what is under way may yet be granted, and is unlocked then. */
static void attempt_late(const struct advisory_step *step)
{
    if (!step->rules->stacks) {
        ask(step, SQL_UNLOCK);
    }
    refuse(step, LOCK_REASON_TIMEOUT);
}

static void granted(const struct advisory_step *step)
{
    struct lock *lock = step->lock;
    lock->pending = 0;
    lock->until_ns = TIME_NEVER;
    step->effects->marks |= LOCK_MARK_DECIDES;
    lock_move(lock, LOCK_STATE_HELD);
    lock->fence = step->event->reply.type == LOCK_REPLY_NUMBER ? step->event->reply.number : 0;
    struct lock_effect *told =
        lock_tell(step->effects, LOCK_TOLD_GRANTED, LOCK_REASON_NONE, &lock->value);
    told->fence = lock->fence;
    told->until_ns = TIME_NEVER;
    told->validity_ns = TIME_NEVER;
}

static bool says_granted(const struct advisory_step *step)
{
    const struct lock_reply *reply = &step->event->reply;
    bool counts = lock_row_of(step->lock, step->rules->try_kind)->answers == LOCK_ANSWERS_NUMBER;
    return counts ? reply->type == LOCK_REPLY_NUMBER && reply->number > 0
                  : reply->type == LOCK_REPLY_YES;
}

/* ---- release --------------------------------------------------------------------------------- */

static void released(const struct advisory_step *step, enum lock_told told)
{
    struct lock *lock = step->lock;
    lock->pending = 0;
    lock_move(lock, LOCK_STATE_IDLE);
    (void)lock_tell(step->effects, told, LOCK_REASON_NONE, &lock->value);
}

/* Of a session that is over nobody knows when the server noticed. */
static void release(const struct advisory_step *step)
{
    if (step->lock->state == LOCK_STATE_SPENT) {
        released(step, LOCK_TOLD_UNKNOWN);
        return;
    }
    lock_move(step->lock, LOCK_STATE_RELEASING);
    ask(step, SQL_UNLOCK);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void answered(const struct advisory_step *step)
{
    const struct lock *lock = step->lock;
    uint8_t reply = step->event->reply.type;
    if (lock->pending == 0 || step->event->command.attempt != lock->attempt) {
        return;
    }
    if (lock->state == LOCK_STATE_ACQUIRING) {
        if (says_granted(step)) {
            granted(step);
        } else if (reply == LOCK_REPLY_NO || reply == LOCK_REPLY_ERROR) {
            refuse(step, LOCK_REASON_NO_QUORUM);
        }
    } else if (reply == LOCK_REPLY_YES) {
        released(step, LOCK_TOLD_RELEASED);
    } else if (reply == LOCK_REPLY_NO) {
        released(step, LOCK_TOLD_NOT_HELD);
    } else if (reply == LOCK_REPLY_ERROR) {
        released(step, LOCK_TOLD_UNKNOWN);
    }
}

/* The session is over, and what it held with it. */
static void broken(const struct advisory_step *step)
{
    struct lock *lock = step->lock;
    if (lock->state == LOCK_STATE_ACQUIRING) {
        refuse(step, LOCK_REASON_TIMEOUT);
    } else if (lock->state == LOCK_STATE_RELEASING) {
        released(step, LOCK_TOLD_UNKNOWN);
    } else if (lock->state == LOCK_STATE_HELD && !step->rules->reconnects) {
        lock_move(lock, LOCK_STATE_SPENT);
        (void)lock_tell(step->effects, LOCK_TOLD_LOST, LOCK_REASON_NONE, &lock->value);
    }
}

static void timer(const struct advisory_step *step)
{
    struct lock *lock = step->lock;
    if (lock->state == LOCK_STATE_HELD || step->event->now_ns < lock->deadline_ns) {
        return;
    }
    if (lock->state == LOCK_STATE_WAITING) {
        attempt_begin(step);
    } else if (lock->state == LOCK_STATE_ACQUIRING) {
        attempt_late(step);
    } else if (lock->state == LOCK_STATE_RELEASING) {
        released(step, LOCK_TOLD_UNKNOWN);
    }
}

void advisory_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    const struct advisory_step step = {lock, lock_algorithm_at(lock->config.algorithm)->rules,
                                       event, effects};
    switch ((enum lock_event_type)event->type) {
    case LOCK_EVENT_ACQUIRE:
        ASSERT(lock->state == LOCK_STATE_IDLE);
        lock->attempts_left = lock->config.retry_count;
        lock->fence = 0;
        attempt_begin(&step);
        return;
    case LOCK_EVENT_EXTEND: /* it has no end: there is nothing that could be asked for */
        ASSERT(lock->state == LOCK_STATE_HELD || lock->state == LOCK_STATE_SPENT);
        (void)lock_tell(effects, LOCK_TOLD_NOT_EXTENDED, LOCK_REASON_NONE, &lock->value);
        return;
    case LOCK_EVENT_RELEASE:
        ASSERT(lock->state == LOCK_STATE_HELD || lock->state == LOCK_STATE_SPENT);
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

int64_t advisory_wake_ns(const struct lock *lock)
{
    bool waits = lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_WAITING ||
                 lock->state == LOCK_STATE_RELEASING;
    return waits ? lock->deadline_ns : TIME_NEVER;
}

void advisory_assert_valid(const struct lock *lock)
{
    bool asks = lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_RELEASING;
    ASSERT((lock->pending != 0) == asks);
    ASSERT(lock->state != LOCK_STATE_HELD || lock->until_ns == TIME_NEVER);
}

/* ---- the algorithms -------------------------------------------------------------------------- */

static const struct advisory_rules plain = {.try_kind = SQL_TRY_LOCK};

const struct lock_algorithm algorithm_advisory = {
    ADVISORY_ALGORITHM,
    .name = "advisory",
    .about = "an advisory lock of the session, which is free when the connection ends",
    .source = "PostgreSQL documentation, 13.3.5 Advisory Locks",
    .rules = &plain,
};

static const struct advisory_rules fenced = {.try_kind = SQL_TRY_LOCK_FENCE};

const struct lock_algorithm algorithm_fenced_advisory = {
    ADVISORY_ALGORITHM,
    .name = "fenced_advisory",
    .about = "the same, and a fence from a sequence, drawn when the lock is ours",
    .source = "PostgreSQL documentation, 13.3.5 Advisory Locks; Kleppmann 2016",
    .fenced = true,
    .rules = &fenced,
};
