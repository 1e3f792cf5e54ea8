/* redlock.c: the steps of the Redlock algorithm; what each step decides stands in its rules. */
#include "lockcore/redis/redlock.h"

#include "base/assert.h"
#include "lockcore/cleanup.h"

/* From each state, the states that may follow. */
const uint32_t redlock_moves[LOCK_STATES] = {
    [LOCK_STATE_IDLE] = LOCK_TO(ACQUIRING) | LOCK_TO(WAITING),
    [LOCK_STATE_ACQUIRING] = LOCK_TO(IDLE) | LOCK_TO(WAITING) | LOCK_TO(FENCING) | LOCK_TO(HELD),
    [LOCK_STATE_FENCING] = LOCK_TO(IDLE) | LOCK_TO(WAITING) | LOCK_TO(HELD),
    [LOCK_STATE_WAITING] = LOCK_TO(ACQUIRING),
    [LOCK_STATE_HELD] = LOCK_TO(EXTENDING) | LOCK_TO(SPENT) | LOCK_TO(RELEASING),
    [LOCK_STATE_EXTENDING] = LOCK_TO(HELD) | LOCK_TO(RELEASING),
    [LOCK_STATE_SPENT] = LOCK_TO(RELEASING),
    [LOCK_STATE_RELEASING] = LOCK_TO(IDLE),
};

/* One step's inputs and outputs, so that every function below has them. */
struct step {
    struct lock *lock;
    const struct redlock_rules *rules;
    const struct lock_event *event;
    struct lock_effects *effects;
};

/* A rule of the lock's own, or the documented one. */
#define RULE(step, rule) ((step)->rules->rule != 0 ? (step)->rules->rule : redlock_documented.rule)

/*
 * What is left of the ttl that the round has bought: computed after the replies, at this event.
 * A monotonic clock that has gone back since the round began cannot tell: then nothing is left.
 */
static int64_t validity_left_ns(const struct step *step)
{
    const struct lock *lock = step->lock;
    if (step->event->now_ns < lock->deadline_ns - lock->config.node_timeout_ns) {
        return 0;
    }
    int64_t elapsed_ns = RULE(step, elapsed_ns)(lock, RULE(step, clock_ns)(step->event));
    int64_t left_ns;
    if (__builtin_sub_overflow(lock->config.ttl_ns, elapsed_ns, &left_ns)) {
        return 0;
    }
    return left_ns - RULE(step, drift_ns)(&lock->config);
}

static int64_t retry_delay_ns(const struct step *step)
{
    const struct lock_config *config = &step->lock->config;
    int64_t jitter_ns = RULE(step, jitter_ns)(config, step->event->random[3]);
    ASSERT(jitter_ns >= 0 && jitter_ns <= config->retry_jitter_ns);
    return config->retry_delay_ns + jitter_ns;
}

/* Put a question to all nodes, with the number of the rule where there is one. */
static void ask_all(const struct step *step, uint32_t kind)
{
    struct lock *lock = step->lock;
    int64_t fence = lock->fence;
    if (step->rules->number != NULL) {
        lock->fence = step->rules->number(step->event);
    }
    round_ask(lock, kind, step->event->now_ns, step->effects);
    lock->fence = fence;
}

/* "It tries to acquire the lock in all the N instances", to all at once. */
static void attempt_begin(const struct step *step)
{
    struct lock *lock = step->lock;
    ASSERT(cleanup_has_room(lock));
    lock_move(lock, LOCK_STATE_ACQUIRING);
    lock->value = RULE(step, value)(step->event);
    lock->fence = 0;
    lock->start_ns = RULE(step, clock_ns)(step->event);
    ask_all(step, RULE(step, set_kind));
}

/* While old releases fill all their slots no new attempt begins: what it leaves behind could not
 * be remembered. Sooner than a node timeout there is nothing to look for. */
static void wait_for_room(const struct step *step)
{
    int64_t delay_ns = retry_delay_ns(step);
    int64_t delay_ns_min = step->lock->config.node_timeout_ns;
    delay_ns = delay_ns < delay_ns_min ? delay_ns_min : delay_ns;
    step->lock->deadline_ns = lock_time_after(step->event->now_ns, delay_ns);
}

static void attempt_begin_or_wait(const struct step *step)
{
    if (cleanup_has_room(step->lock)) {
        attempt_begin(step);
        return;
    }
    if (step->lock->state != LOCK_STATE_WAITING) {
        lock_move(step->lock, LOCK_STATE_WAITING);
    }
    wait_for_room(step);
}

static void acquire(const struct step *step)
{
    struct lock *lock = step->lock;
    ASSERT(lock->state == LOCK_STATE_IDLE);
    lock->attempts_left = lock->config.retry_count;
    attempt_begin_or_wait(step);
}

static void refuse(const struct step *step, enum lock_reason reason)
{
    struct lock *lock = step->lock;
    ASSERT(reason != LOCK_REASON_NONE);
    uint32_t nodes = RULE(step, refused_release)(lock);
    lock->pending = 0;
    cleanup_begin(lock, RULE(step, release_kind), nodes, step->event->now_ns, step->effects);
    if (lock->attempts_left == 0) {
        lock_move(lock, LOCK_STATE_IDLE);
        lock_tell(step->effects, LOCK_TOLD_REFUSED, reason, &lock->value);
        return;
    }
    lock->attempts_left--;
    lock_move(lock, LOCK_STATE_WAITING);
    lock->deadline_ns = lock_time_after(step->event->now_ns, retry_delay_ns(step));
}

static void hold(const struct step *step, enum lock_told told, int64_t validity_ns)
{
    struct lock *lock = step->lock;
    lock->pending = 0; /* answers that come later are not needed and not heard */
    lock_move(lock, LOCK_STATE_HELD);
    lock->until_ns = lock_time_after(step->event->now_ns, validity_ns);
    struct lock_effect *effect = lock_tell(step->effects, told, LOCK_REASON_NONE, &lock->value);
    effect->validity_ns = validity_ns;
    effect->until_ns = lock->until_ns;
    effect->fence = told == LOCK_TOLD_GRANTED ? lock->fence : 0;
}

/* A majority has agreed: to the keys, or to the fence. */
static void grant_or_refuse(const struct step *step)
{
    struct lock *lock = step->lock;
    int64_t validity_ns = validity_left_ns(step);
    if (!RULE(step, grant_stands)(validity_ns)) {
        refuse(step, LOCK_REASON_VALIDITY_SPENT);
        return;
    }
    if (lock->state == LOCK_STATE_ACQUIRING) {
        step->effects->marks |= LOCK_MARK_DECIDES;
    }
    if (lock->state == LOCK_STATE_ACQUIRING && step->rules->raise_kind != 0) {
        lock_move(lock, LOCK_STATE_FENCING);
        round_ask(lock, step->rules->raise_kind, step->event->now_ns, step->effects);
        return;
    }
    lock->extends_left = lock->config.extend_count;
    hold(step, LOCK_TOLD_GRANTED, validity_ns);
}

static void spend(const struct step *step)
{
    lock_move(step->lock, LOCK_STATE_SPENT);
    lock_tell(step->effects, LOCK_TOLD_LOST, LOCK_REASON_NONE, &step->lock->value);
}

static void not_extended(const struct step *step, enum lock_reason reason)
{
    lock_tell(step->effects, LOCK_TOLD_NOT_EXTENDED, reason, &step->lock->value);
}

/* The lease stands as it was: a failed extension takes nothing away. */
static void extension_fail(const struct step *step, enum lock_reason reason)
{
    struct lock *lock = step->lock;
    uint32_t nodes = RULE(step, unextended_release)(lock);
    lock->pending = 0;
    lock_move(lock, LOCK_STATE_HELD);
    not_extended(step, reason);
    if (nodes != 0) {
        cleanup_begin(lock, RULE(step, release_kind), nodes, step->event->now_ns, step->effects);
    }
    if (step->event->now_ns >= lock->until_ns) {
        spend(step);
    }
}

static void extension_judge(const struct step *step)
{
    struct lock *lock = step->lock;
    int64_t validity_ns = validity_left_ns(step);
    if (!RULE(step, extension_stands)(lock, validity_ns, step->event->now_ns)) {
        extension_fail(step, LOCK_REASON_VALIDITY_SPENT);
        return;
    }
    ASSERT(lock->extends_left > 0);
    lock->extends_left--;
    step->effects->marks |= LOCK_MARK_DECIDES;
    hold(step, LOCK_TOLD_EXTENDED, validity_ns);
}

static void extend(const struct step *step)
{
    struct lock *lock = step->lock;
    ASSERT(lock->state == LOCK_STATE_HELD || lock->state == LOCK_STATE_SPENT);
    if (lock->state == LOCK_STATE_SPENT) {
        not_extended(step, LOCK_REASON_NOT_HOLDING);
        return;
    }
    if (step->event->now_ns >= lock->until_ns) {
        not_extended(step, LOCK_REASON_NOT_HOLDING);
        spend(step);
        return;
    }
    if (lock->extends_left == 0) {
        not_extended(step, LOCK_REASON_EXTEND_LIMIT);
        return;
    }
    lock_move(lock, LOCK_STATE_EXTENDING);
    lock->start_ns = RULE(step, clock_ns)(step->event);
    ask_all(step, RULE(step, extend_kind));
}

static void release(const struct step *step)
{
    struct lock *lock = step->lock;
    ASSERT(lock->state == LOCK_STATE_HELD || lock->state == LOCK_STATE_EXTENDING ||
           lock->state == LOCK_STATE_SPENT);
    if (lock->state == LOCK_STATE_EXTENDING) {
        not_extended(step, LOCK_REASON_NOT_HOLDING);
    }
    lock_move(lock, LOCK_STATE_RELEASING);
    int64_t now_ns = step->event->now_ns;
    cleanup_begin(lock, RULE(step, release_kind), round_nodes(lock), now_ns, step->effects);
    lock->pending = round_nodes(lock); /* the same commands are a round, judged below */
    lock_quorum_part(lock)->agreed = 0;
    lock_quorum_part(lock)->refused = 0;
    lock->deadline_ns = lock_time_after(now_ns, lock->config.node_timeout_ns);
}

static void release_tell(const struct step *step, enum lock_told told)
{
    step->lock->pending = 0;
    lock_move(step->lock, LOCK_STATE_IDLE);
    lock_tell(step->effects, told, LOCK_REASON_NONE, &step->lock->value);
}

static void release_judge(const struct step *step)
{
    const struct lock *lock = step->lock;
    uint32_t quorum = RULE(step, quorum)(lock);
    if (round_reached(lock, quorum)) {
        release_tell(step, LOCK_TOLD_RELEASED);
    } else if (lock_count(lock_quorum_seen(lock)->refused) > lock_votes(&lock->config) - quorum) {
        release_tell(step, LOCK_TOLD_NOT_HELD); /* too many had no key of ours for a majority */
    } else if (lock->pending == 0) {
        release_tell(step, RULE(step, release_unanswered));
    }
}

/* Decide the open round as soon as it can be decided: after each answer, break or timeout. */
static void judge(const struct step *step, enum lock_reason reason)
{
    const struct lock *lock = step->lock;
    uint32_t quorum = RULE(step, quorum)(lock);
    switch ((enum lock_state)lock->state) {
    case LOCK_STATE_ACQUIRING:
    case LOCK_STATE_FENCING:
        if (round_reached(lock, quorum)) {
            grant_or_refuse(step);
        } else if (!round_reachable(lock, quorum)) {
            refuse(step, reason);
        }
        return;
    case LOCK_STATE_EXTENDING:
        if (round_reached(lock, quorum)) {
            extension_judge(step);
        } else if (!round_reachable(lock, quorum)) {
            extension_fail(step, reason);
        }
        return;
    case LOCK_STATE_RELEASING:
        release_judge(step);
        return;
    case LOCK_STATE_IDLE:
    case LOCK_STATE_WAITING:
    case LOCK_STATE_HELD:
    case LOCK_STATE_SPENT:
        return;
    case LOCK_STATES:
        break;
    }
    UNREACHABLE();
}

/* One that does not answer, or takes no writes, is not the primary, or not any more. */
static void follow(const struct step *step, uint32_t failed)
{
    struct lock *lock = step->lock;
    if (lock->config.replica_count > 0 && (failed & round_nodes(lock)) != 0) {
        round_follow(lock);
    }
}

static void reply(const struct step *step)
{
    struct lock *lock = step->lock;
    const struct lock_event *event = step->event;
    bool in_round = round_waits_for(lock, event);
    uint32_t failed = event->reply.type == LOCK_REPLY_ERROR ? lock_bit(event->node_index) : 0;
    cleanup_hear(lock, event);
    if (!in_round) {
        follow(step, failed); /* late or doubled: it belongs to nothing that is still open */
        return;
    }
    bool acquiring = lock->state == LOCK_STATE_ACQUIRING;
    bool may_ask_more = acquiring || lock->state == LOCK_STATE_EXTENDING;
    enum lock_answer answer =
        may_ask_more ? RULE(step, set_answer)(lock, event, step->effects) : round_read(lock, event);
    round_hear(lock, event->node_index, answer);
    bool of_set = lock_verb_asks((enum lock_verb)lock_row_of(lock, event->command.kind)->verb);
    bool counted =
        acquiring && of_set && answer == LOCK_ANSWER_YES && event->reply.type == LOCK_REPLY_NUMBER;
    if (counted && event->reply.number > lock->fence) {
        lock->fence = event->reply.number; /* the highest of a majority orders the grants */
    }
    judge(step, LOCK_REASON_NO_QUORUM);
    follow(step, failed); /* a replica takes no writes */
}

/* What the node owed to the open round will not come; releases stay in the clean-up. */
static void broken(const struct step *step)
{
    struct lock *lock = step->lock;
    uint32_t owed = lock->pending & lock_bit(step->event->node_index);
    lock->pending &= ~owed;
    judge(step, LOCK_REASON_NO_QUORUM);
    follow(step, owed | (cleanup_owed(lock) & lock_bit(step->event->node_index)));
}

static void timer(const struct step *step)
{
    struct lock *lock = step->lock;
    int64_t now_ns = step->event->now_ns;
    cleanup_tick(lock, now_ns, step->effects);
    switch ((enum lock_state)lock->state) {
    case LOCK_STATE_ACQUIRING:
    case LOCK_STATE_FENCING:
    case LOCK_STATE_EXTENDING:
    case LOCK_STATE_RELEASING:
        if (lock->state == LOCK_STATE_EXTENDING && now_ns >= lock->until_ns) {
            extension_fail(step, LOCK_REASON_VALIDITY_SPENT);
        } else if (now_ns >= lock->deadline_ns) {
            uint32_t owed = lock->pending;
            lock->pending = 0; /* whoever has not answered by now counts as unreachable */
            judge(step, LOCK_REASON_TIMEOUT);
            follow(step, owed);
        }
        return;
    case LOCK_STATE_WAITING:
        if (now_ns >= lock->deadline_ns) {
            attempt_begin_or_wait(step);
        }
        return;
    case LOCK_STATE_HELD:
        if (now_ns >= lock->until_ns) {
            spend(step);
        }
        return;
    case LOCK_STATE_IDLE:
    case LOCK_STATE_SPENT:
        return;
    case LOCK_STATES:
        break;
    }
    UNREACHABLE();
}

void redlock_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    const struct redlock_rules *rules = lock_algorithm_at(lock->config.algorithm)->rules;
    const struct step step = {lock, rules, event, effects};
    switch ((enum lock_event_type)event->type) {
    case LOCK_EVENT_ACQUIRE:
        acquire(&step);
        return;
    case LOCK_EVENT_EXTEND:
        extend(&step);
        return;
    case LOCK_EVENT_RELEASE:
        release(&step);
        return;
    case LOCK_EVENT_REPLY:
        reply(&step);
        return;
    case LOCK_EVENT_BROKEN:
        broken(&step);
        return;
    case LOCK_EVENT_TIMER:
        timer(&step);
        return;
    case LOCK_EVENT_PUSH:
        break; /* nothing of it watches: a redis node tells nothing unasked */
    }
    UNREACHABLE();
}

/* When the state itself next needs the clock. */
static int64_t state_wake_ns(const struct lock *lock)
{
    switch ((enum lock_state)lock->state) {
    case LOCK_STATE_IDLE:
    case LOCK_STATE_SPENT:
        return TIME_NEVER;
    case LOCK_STATE_ACQUIRING:
    case LOCK_STATE_FENCING:
    case LOCK_STATE_WAITING:
    case LOCK_STATE_RELEASING:
        return lock->deadline_ns;
    case LOCK_STATE_HELD:
        return lock->until_ns;
    case LOCK_STATE_EXTENDING:
        return lock_earlier(lock->deadline_ns, lock->until_ns);
    case LOCK_STATES:
        break;
    }
    UNREACHABLE();
}

int64_t redlock_wake_ns(const struct lock *lock)
{
    return lock_earlier(state_wake_ns(lock), cleanup_wake_ns(lock));
}

void redlock_assert_valid(const struct lock *lock)
{
    bool asking = lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_FENCING ||
                  lock->state == LOCK_STATE_EXTENDING || lock->state == LOCK_STATE_RELEASING;
    ASSERT(asking == (lock->pending != 0)); /* a round without open answers has been judged */
    quorum_assert_valid(lock);
}

const struct lock_algorithm algorithm_redlock = {
    REDLOCK_ALGORITHM,
    .name = "redlock",
    .about = "a majority of N independent nodes inside the validity time",
    .source = "Redis documentation, The Redlock Algorithm",
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &redlock_documented,
};
