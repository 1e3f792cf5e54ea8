/* toy_lock.c: a lock of a toy server: ask, and again when told that it is free; give back. */
#include "lockcore/toy/toy.h"

#include "base/assert.h"
#include "lockcore/algorithms.h"
#include "lockcore/state.h"

#include <string.h>

static const struct lock_command_row rows[TOY_COMMANDS] = {
    [TOY_TAKE] = {"take", "take it if nobody has it", LOCK_VERB_SET_ABSENT, LOCK_CARRIES_TTL,
                  LOCK_ANSWERS_YES_NO, false},
    [TOY_GIVE] = {"give", "give it back if we have it", LOCK_VERB_DELETE_COMPARE, 0,
                  LOCK_ANSWERS_YES_NO, false},
};

const struct lock_dialect toy_dialect = {
    .name = "toy",
    .rows = rows,
    .row_count = TOY_COMMANDS,
};

static const uint32_t moves[LOCK_STATES] = {
    [LOCK_STATE_IDLE] = LOCK_TO(ACQUIRING),
    [LOCK_STATE_ACQUIRING] = LOCK_TO(HELD) | LOCK_TO(IDLE),
    [LOCK_STATE_HELD] = LOCK_TO(SPENT) | LOCK_TO(RELEASING),
    [LOCK_STATE_SPENT] = LOCK_TO(RELEASING),
    [LOCK_STATE_RELEASING] = LOCK_TO(IDLE),
};

static void ask(struct lock *lock, uint32_t kind, int64_t now_ns, struct lock_effects *effects)
{
    lock->attempt++;
    lock->pending = 1;
    lock->deadline_ns = lock_time_after(now_ns, lock->config.node_timeout_ns);
    struct lock_command command = {.kind = kind,
                                   .attempt = lock->attempt,
                                   .value = lock->value,
                                   .ttl_ms = kind == TOY_TAKE ? lock_ttl_ms(&lock->config) : 0};
    lock_send(lock, (uint32_t)lock->config.node_count - 1, &command, effects);
}

static void end(struct lock *lock, enum lock_told told, enum lock_reason reason,
                struct lock_effects *effects)
{
    lock->pending = 0;
    lock_move(lock, LOCK_STATE_IDLE);
    (void)lock_tell(effects, told, reason, &lock->value);
}

static void answered(struct lock *lock, const struct lock_event *event, bool yes,
                     struct lock_effects *effects)
{
    if (lock->state == LOCK_STATE_RELEASING) {
        end(lock, yes ? LOCK_TOLD_RELEASED : LOCK_TOLD_UNKNOWN, LOCK_REASON_NONE, effects);
        return;
    }
    int64_t until_ns = lock->start_ns + lock->config.ttl_ns - lock->config.ttl_ns / 50;
    if (!yes && event->now_ns < lock->deadline_ns) {
        return; /* we are told when it is free */
    }
    if (!yes || until_ns <= event->now_ns) {
        end(lock, LOCK_TOLD_REFUSED, LOCK_REASON_NO_QUORUM, effects);
        return;
    }
    lock->pending = 0;
    lock->until_ns = until_ns;
    lock_move(lock, LOCK_STATE_HELD);
    struct lock_effect *told =
        lock_tell(effects, LOCK_TOLD_GRANTED, LOCK_REASON_NONE, &lock->value);
    told->until_ns = until_ns;
    told->validity_ns = until_ns - event->now_ns;
}

static void timer(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    if (lock->state == LOCK_STATE_HELD && event->now_ns >= lock->until_ns) {
        lock_move(lock, LOCK_STATE_SPENT);
        (void)lock_tell(effects, LOCK_TOLD_LOST, LOCK_REASON_NONE, &lock->value);
    } else if (lock->pending != 0 && event->now_ns >= lock->deadline_ns) {
        bool asked = lock->state == LOCK_STATE_ACQUIRING;
        end(lock, asked ? LOCK_TOLD_REFUSED : LOCK_TOLD_UNKNOWN, LOCK_REASON_TIMEOUT, effects);
    }
}

static void step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    bool ours = lock->pending != 0 && event->command.attempt == lock->attempt;
    if (event->type == LOCK_EVENT_ACQUIRE) {
        memcpy(lock->value.bytes, event->random, sizeof lock->value.bytes);
        lock->start_ns = event->now_ns;
        lock_move(lock, LOCK_STATE_ACQUIRING);
        ask(lock, TOY_TAKE, event->now_ns, effects);
    } else if (event->type == LOCK_EVENT_RELEASE) {
        lock_move(lock, LOCK_STATE_RELEASING);
        ask(lock, TOY_GIVE, event->now_ns, effects);
    } else if (event->type == LOCK_EVENT_EXTEND) {
        (void)lock_tell(effects, LOCK_TOLD_NOT_EXTENDED, LOCK_REASON_NONE, &lock->value);
    } else if (event->type == LOCK_EVENT_REPLY && ours) {
        answered(lock, event, event->reply.type == LOCK_REPLY_YES, effects);
    } else if (event->type == LOCK_EVENT_PUSH && ours && lock->state == LOCK_STATE_ACQUIRING) {
        lock->start_ns = event->now_ns;
        ask(lock, TOY_TAKE, event->now_ns, effects);
    } else if (event->type == LOCK_EVENT_TIMER) {
        timer(lock, event, effects);
    }
}

static int64_t wake_ns(const struct lock *lock)
{
    if (lock->pending != 0) {
        return lock->deadline_ns;
    }
    return lock->state == LOCK_STATE_HELD ? lock->until_ns : TIME_NEVER;
}

static void assert_valid(const struct lock *lock)
{
    ASSERT(lock->pending <= 1);
}

const struct lock_algorithm algorithm_toy = {
    .name = "toy",
    .about = "one toy server",
    .source = "a test",
    .nodes_min = 1,
    .nodes_max = 2,
    .reply_words = 1,
    .dialect = &toy_dialect,
    .moves = moves,
    .step = step,
    .wake_ns = wake_ns,
    .assert_valid = assert_valid,
};
