/* recipe.c: the recipe of the lock: what is asked in a session, and what its end means. */
#include "lockcore/zookeeper/zookeeper.h"

#include "base/assert.h"

#include <string.h>

_Static_assert(sizeof(struct zookeeper) == 9 * 8 + 2 * LOCK_VALUE_BYTES + 14 * 4, "no padding");
_Static_assert(sizeof(struct zookeeper) <= LOCK_OWN_BYTES, "it fits into a lock");

bool recipe_holds(const struct lock *lock)
{
    const struct zookeeper *own = lock_own_const(lock);
    return lock->state == LOCK_STATE_HELD || own->jeopardy != 0;
}

bool recipe_needs_session(const struct lock *lock)
{
    const struct zookeeper *own = lock_own_const(lock);
    return lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_RELEASING ||
           recipe_holds(lock) || own->stale_place != 0 || own->orphan != 0;
}

/* ---- questions ------------------------------------------------------------------------------- */

static void ask(const struct zookeeper_step *step, uint32_t kind, int64_t number)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    ASSERT(own->link == ZOOKEEPER_CONNECTED);
    own->question = ++lock->attempt;
    own->asked_ns = step->event->now_ns;
    lock->pending = lock_bit(own->member);
    handle_send(step, kind, &lock->value, number, own->question);
}

/* "1. Call create", then "2. Call getChildren". */
static void look(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    own->ahead = 0;
    if (own->place == 0) {
        own->created = 1;
        ask(step, step->rules->finds_own ? ZOOKEEPER_CREATE_FOUND : ZOOKEEPER_CREATE, 0);
    } else {
        ask(step, step->rules->herd ? ZOOKEEPER_CHILDREN_WATCH : ZOOKEEPER_CHILDREN, own->place);
    }
}

static void stale_ask(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    own->stale_attempt = ++step->lock->attempt;
    own->stale_ns = step->event->now_ns;
    handle_send(step, ZOOKEEPER_DELETE, &own->stale, own->stale_place, own->stale_attempt);
}

/* Our node must go, though nobody waits for that: in this session, or with it. */
static void leave_behind(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    if (step->rules->forgets_delete && step->lock->state == LOCK_STATE_RELEASING) {
        own->orphan = own->known;
    } else if (own->place != 0 && own->known != 0 && own->stale_place == 0) {
        own->stale_place = own->place;
        own->stale = step->lock->value;
        if (own->link == ZOOKEEPER_CONNECTED) {
            stale_ask(step);
        }
    } else if (own->place != 0 || own->created != 0) {
        handle_forget(step);
    }
    own->place = 0;
    own->created = 0;
}

/* ---- acquire --------------------------------------------------------------------------------- */

static void refuse(const struct zookeeper_step *step, enum lock_reason reason)
{
    struct lock *lock = step->lock;
    lock->pending = 0;
    lock_move(lock, LOCK_STATE_IDLE);
    leave_behind(step);
    (void)lock_tell(step->effects, LOCK_TOLD_REFUSED, reason, &lock->value);
}

/* Go on with the handle's session while it is surely there, else begin one. */
static void attempt_begin(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    bool first = lock->state == LOCK_STATE_IDLE;
    lock_move(lock, LOCK_STATE_ACQUIRING);
    if (first || !step->rules->finds_own) {
        memcpy(lock->value.bytes, step->event->random, sizeof lock->value.bytes);
    }
    own->refusals = 0;
    if (own->known == 0 || step->event->now_ns >= handle_end_ns(lock)) {
        handle_forget(step);
        memcpy(own->session.bytes, step->event->random, sizeof own->session.bytes);
    }
    if (own->link == ZOOKEEPER_CONNECTED) {
        look(step);
    } else if (own->link == ZOOKEEPER_DISCONNECTED) {
        handle_connect(step);
    }
}

static void acquire(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    const struct lock_config *config = &lock->config;
    ASSERT(lock->state == LOCK_STATE_IDLE);
    int64_t patience_ns = config->node_timeout_ns +
                          config->retry_count * (config->retry_delay_ns + config->retry_jitter_ns);
    step->own->give_up_ns = lock_time_after(step->event->now_ns, patience_ns);
    step->own->expired = 0;
    step->own->repeated = 0;
    lock->attempts_left = config->retry_count;
    lock->fence = 0;
    lock->start_ns = step->event->now_ns;
    attempt_begin(step);
}

/* What was done in the session is gone with it: from the beginning, after a while. */
static void attempt_again(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    step->own->place = 0;
    step->own->created = step->rules->finds_own ? step->own->created : 0;
    if (lock->attempts_left == 0 || step->event->now_ns >= step->own->give_up_ns) {
        refuse(step, LOCK_REASON_TIMEOUT);
        return;
    }
    lock->attempts_left--;
    lock_move(lock, LOCK_STATE_WAITING);
    lock->deadline_ns = lock_time_after(
        step->event->now_ns,
        lock->config.retry_delay_ns +
            lock_jitter_ns(&lock->config, step->event->random[LOCK_RANDOM_WORDS - 1]));
}

static void promise(const struct zookeeper_step *step, struct lock_effect *told)
{
    struct lock *lock = step->lock;
    int64_t end_ns = handle_promise_ns(lock);
    lock->until_ns =
        step->rules->ignores_events ? lock_time_after(end_ns, 10 * lock->config.ttl_ns) : end_ns;
    told->until_ns = lock->until_ns;
    told->validity_ns = lock->until_ns - step->event->now_ns;
}

static void spent(const struct zookeeper_step *step)
{
    if (step->event->now_ns >= step->own->give_up_ns) {
        refuse(step, LOCK_REASON_VALIDITY_SPENT);
    } else {
        look(step);
    }
}

/* "the client has the lock": unless the answer was so long under way that nobody knows. */
static void lowest(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    handle_touched(step, own->asked_ns);
    if (handle_promise_ns(lock) <= step->event->now_ns || own->touched_ns > step->event->now_ns) {
        spent(step);
        return;
    }
    step->effects->marks |= LOCK_MARK_DECIDES;
    lock_move(lock, LOCK_STATE_HELD);
    lock->fence = own->place;
    struct lock_effect *told =
        lock_tell(step->effects, LOCK_TOLD_GRANTED, LOCK_REASON_NONE, &lock->value);
    told->fence = lock->fence;
    promise(step, told);
}

/* "4. call exists() with the watch flag set on the path with the next lowest sequence number." */
static void not_lowest(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    if (step->event->now_ns >= own->give_up_ns) {
        refuse(step, LOCK_REASON_NO_QUORUM);
        return;
    }
    own->ahead = step->event->reply.number;
    if (!step->rules->herd) {
        ask(step, ZOOKEEPER_EXISTS, own->ahead);
    }
}

/* Whether it is an answer to the question at all. */
static bool acquire_answered(const struct zookeeper_step *step)
{
    const struct lock_reply *reply = &step->event->reply;
    struct zookeeper *own = step->own;
    bool number = reply->type == LOCK_REPLY_NUMBER && reply->number > 0;
    bool yes = reply->type == LOCK_REPLY_YES;
    if (own->place == 0 && number) {
        own->place = reply->number;
        look(step);
    } else if (own->place == 0) {
        return false;
    } else if (step->event->command.kind == ZOOKEEPER_EXISTS && yes) {
        return true; /* we wait to be told */
    } else if (yes) {
        lowest(step);
    } else if (number && reply->number < own->place) {
        not_lowest(step);
    } else if (reply->type == LOCK_REPLY_NO) {
        /* "if exists() returns null, go to step 2"; and if it is ours that is not there, to 1. */
        own->place = step->event->command.kind == ZOOKEEPER_EXISTS ? own->place : 0;
        look(step);
    } else {
        return false;
    }
    return true;
}

/* ---- release --------------------------------------------------------------------------------- */

static void released(const struct zookeeper_step *step, enum lock_told told)
{
    struct lock *lock = step->lock;
    lock->pending = 0;
    if (told == LOCK_TOLD_UNKNOWN) {
        leave_behind(step);
    }
    step->own->place = 0;
    step->own->created = 0;
    lock_move(lock, LOCK_STATE_IDLE);
    (void)lock_tell(step->effects, told, LOCK_REASON_NONE, &lock->value);
}

/* "simply delete the node they created in step 1"; where that went with the session, nothing is. */
static void release(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    ASSERT(lock->state == LOCK_STATE_HELD || lock->state == LOCK_STATE_SPENT);
    own->jeopardy = 0;
    own->repeated = 0;
    own->give_up_ns = lock_time_after(step->event->now_ns, lock->config.node_timeout_ns);
    lock_move(lock, LOCK_STATE_RELEASING);
    if (own->place == 0) {
        released(step, own->expired != 0 ? LOCK_TOLD_NOT_HELD : LOCK_TOLD_UNKNOWN);
    } else if (own->link == ZOOKEEPER_CONNECTED) {
        ask(step, ZOOKEEPER_DELETE, own->place);
    } else if (own->link == ZOOKEEPER_DISCONNECTED) {
        handle_connect(step);
    }
}

static bool release_answered(const struct zookeeper_step *step)
{
    uint8_t reply = step->event->reply.type;
    bool repeated = step->own->repeated != 0;
    if (reply != LOCK_REPLY_YES && reply != LOCK_REPLY_NO) {
        return false;
    }
    step->own->place = 0; /* it is gone */
    step->own->created = 0;
    released(step, reply == LOCK_REPLY_YES ? LOCK_TOLD_RELEASED
                   : repeated              ? LOCK_TOLD_UNKNOWN
                                           : LOCK_TOLD_NOT_HELD);
    return true;
}

/* ---- what the handle tells ------------------------------------------------------------------- */

static void renew(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    if (handle_promise_ns(lock) <= step->event->now_ns) {
        return;
    }
    if (lock->state == LOCK_STATE_SPENT) {
        lock_move(lock, LOCK_STATE_HELD);
        step->own->jeopardy = 0;
    }
    promise(step, lock_tell(step->effects, LOCK_TOLD_RENEWED, LOCK_REASON_NONE, &lock->value));
}

void recipe_connected(const struct zookeeper_step *step)
{
    const struct lock *lock = step->lock;
    if (step->own->stale_place != 0) {
        stale_ask(step);
    }
    if (lock->state == LOCK_STATE_ACQUIRING) {
        look(step);
    } else if (lock->state == LOCK_STATE_RELEASING) {
        ask(step, ZOOKEEPER_DELETE, step->own->place);
    } else if (step->own->jeopardy != 0 || lock->state == LOCK_STATE_HELD) {
        renew(step);
    }
}

/* "ConnectionLoss": what was asked may have been done. A holder stands still from here on. */
void recipe_disconnected(const struct zookeeper_step *step, bool nobody_left)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    if (lock->state == LOCK_STATE_HELD && !step->rules->ignores_events) {
        lock_move(lock, LOCK_STATE_SPENT);
        own->jeopardy = 1;
        (void)lock_tell(step->effects, LOCK_TOLD_JEOPARDY, LOCK_REASON_NONE, &lock->value);
    } else if (lock->state == LOCK_STATE_RELEASING) {
        own->repeated = 1;
        if (nobody_left || step->rules->forgets_delete) {
            released(step, LOCK_TOLD_UNKNOWN);
        }
    }
}

/* Also out of jeopardy: where the answer that connected it came too late to promise anything. */
void recipe_renewed(const struct zookeeper_step *step)
{
    if (recipe_holds(step->lock)) {
        renew(step);
    }
}

void recipe_over(const struct zookeeper_step *step, bool expired)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    own->expired = expired;
    if (lock->state == LOCK_STATE_ACQUIRING) {
        attempt_again(step);
    } else if (lock->state == LOCK_STATE_RELEASING) {
        bool gone = expired && own->repeated == 0;
        own->place = 0;
        own->created = 0;
        released(step, gone ? LOCK_TOLD_NOT_HELD : LOCK_TOLD_UNKNOWN);
    } else if (own->jeopardy != 0) {
        own->jeopardy = 0;
        own->place = 0;
        own->created = 0;
        (void)lock_tell(step->effects, LOCK_TOLD_LOST, LOCK_REASON_NONE, &lock->value);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static void answered(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    const struct lock_event *event = step->event;
    if (handle_hear(step) || lock->pending == 0 || event->command.attempt != step->own->question) {
        return;
    }
    if (event->reply.type == LOCK_REPLY_ERROR || event->reply.type == LOCK_REPLY_UNSURE) {
        handle_disconnected(step);
        return;
    }
    if (event->reply.type == LOCK_REPLY_GARBLED) {
        return;
    }
    uint32_t pending = lock->pending;
    lock->pending = 0;
    bool acquires = lock->state == LOCK_STATE_ACQUIRING;
    if (!(acquires ? acquire_answered(step) : release_answered(step))) {
        lock->pending = pending;
    }
}

/* The one before us is gone, or (herd) anything changed; or the member ends the connection. */
static void pushed(const struct zookeeper_step *step)
{
    const struct lock *lock = step->lock;
    const struct zookeeper *own = step->own;
    const struct lock_command *command = &step->event->command;
    if (own->link != ZOOKEEPER_CONNECTED || step->event->node_index != own->member) {
        return;
    }
    if (command->kind == ZOOKEEPER_OPEN || command->kind == ZOOKEEPER_ATTACH) {
        if (command->attempt == own->connect_attempt) {
            handle_disconnected(step);
        }
    } else if (lock->state == LOCK_STATE_ACQUIRING && lock->pending == 0 &&
               command->attempt == own->question) {
        look(step);
    }
}

static void broken(const struct zookeeper_step *step)
{
    if (step->event->node_index == step->own->member && step->own->link != ZOOKEEPER_DISCONNECTED) {
        handle_disconnected(step);
    }
}

static void timer(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    int64_t now_ns = step->event->now_ns;
    handle_timer(step);
    if (lock->state == LOCK_STATE_WAITING && now_ns >= lock->deadline_ns) {
        attempt_begin(step);
    } else if (lock->state == LOCK_STATE_ACQUIRING && now_ns >= own->give_up_ns) {
        refuse(step, own->ahead != 0 ? LOCK_REASON_NO_QUORUM : LOCK_REASON_TIMEOUT);
    } else if (lock->state == LOCK_STATE_RELEASING && now_ns >= own->give_up_ns) {
        released(step, LOCK_TOLD_UNKNOWN);
    }
}

void zookeeper_step(struct lock *lock, const struct lock_event *event, struct lock_effects *effects)
{
    const struct zookeeper_step step = {
        lock, lock_own(lock), lock_algorithm_at(lock->config.algorithm)->rules, event, effects};
    switch ((enum lock_event_type)event->type) {
    case LOCK_EVENT_ACQUIRE:
        acquire(&step);
        return;
    case LOCK_EVENT_EXTEND: /* it keeps itself alive: there is nothing that could be asked for */
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
        pushed(&step);
        return;
    }
    UNREACHABLE();
}

int64_t zookeeper_wake_ns(const struct lock *lock)
{
    const struct zookeeper *own = lock_own_const(lock);
    int64_t wake_ns = handle_wake_ns(lock);
    if (lock->state == LOCK_STATE_HELD) {
        wake_ns = lock_earlier(wake_ns, lock->until_ns);
    } else if (lock->state == LOCK_STATE_WAITING) {
        wake_ns = lock_earlier(wake_ns, lock->deadline_ns);
    } else if (lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_RELEASING) {
        wake_ns = lock_earlier(wake_ns, own->give_up_ns);
    }
    return wake_ns;
}
