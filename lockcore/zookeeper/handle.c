/* handle.c: a session with a ZooKeeper ensemble, kept alive by whichever member can be had. */
#include "lockcore/zookeeper/zookeeper.h"

#include "base/assert.h"

void handle_send(const struct zookeeper_step *step, uint32_t kind, const struct lock_value *value,
                 int64_t number, uint32_t attempt)
{
    struct lock_command command = {
        .kind = kind, .attempt = attempt, .value = *value, .number = number};
    if (kind == ZOOKEEPER_OPEN) {
        command.ttl_ms = lock_ttl_ms(&step->lock->config);
    }
    lock_send(step->lock, step->own->member, &command, step->effects);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* What a clock that runs at another rate may be off by in a ttl; 2 ms are for rounding. */
static int64_t drift_ns(const struct lock_config *config)
{
    int64_t million = 1000000;
    return config->ttl_ns / million * config->drift_ppm +
           config->ttl_ns % million * config->drift_ppm / million + 2 * NS_PER_MS;
}

int64_t handle_end_ns(const struct lock *lock)
{
    const struct zookeeper *own = lock_own_const(lock);
    return lock_time_after(own->touched_ns, lock->config.ttl_ns - drift_ns(&lock->config));
}

/*
 * A ping is answered by the member that is asked, also while it reaches no other: for syncLimit
 * ticks, at most a quarter of the session. The newest touch that the leader heard of may be a ping
 * before that, another quarter. What is left, less half a tick, may be promised.
 */
int64_t handle_promise_ns(const struct lock *lock)
{
    const struct zookeeper *own = lock_own_const(lock);
    int64_t length_ns = lock->config.ttl_ns / 100 * 45 - drift_ns(&lock->config);
    return lock_time_after(own->touched_ns, length_ns);
}

static int64_t ping_after_ns(const struct zookeeper_step *step)
{
    return lock_time_after(step->event->now_ns, step->lock->config.ttl_ns / 4);
}

static int64_t timeout_ns(const struct lock *lock, int64_t from_ns)
{
    return lock_time_after(from_ns, lock->config.node_timeout_ns);
}

/* A monotonic clock that has gone back since it was sent cannot tell how long that took. */
void handle_touched(const struct zookeeper_step *step, int64_t sent_ns)
{
    struct zookeeper *own = step->own;
    int64_t now_ns = step->event->now_ns;
    if (sent_ns <= now_ns && (sent_ns > own->touched_ns || own->touched_ns > now_ns)) {
        own->touched_ns = sent_ns;
    }
}

/* ---- connecting ------------------------------------------------------------------------------ */

void handle_connect(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    ASSERT(own->link == ZOOKEEPER_DISCONNECTED);
    own->link = ZOOKEEPER_CONNECTING;
    own->connect_attempt = ++step->lock->attempt;
    own->connect_ns = step->event->now_ns;
    handle_send(step, own->known != 0 ? ZOOKEEPER_ATTACH : ZOOKEEPER_OPEN, &own->session, 0,
                own->connect_attempt);
}

/* The next member, at once; or after a while, when all were asked in vain. */
void handle_disconnected(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    ASSERT(own->link != ZOOKEEPER_DISCONNECTED);
    own->link = ZOOKEEPER_DISCONNECTED;
    own->ping_attempt = 0;
    own->stale_attempt = 0;
    lock->pending = 0;
    own->member = (own->member + 1) % lock->config.node_count;
    own->refusals++;
    bool nobody_left = own->refusals >= lock->config.node_count;
    own->refusals = nobody_left ? 0 : own->refusals;
    own->connect_ns = nobody_left ? timeout_ns(lock, step->event->now_ns) : step->event->now_ns;
    recipe_disconnected(step, nobody_left);
    if (!nobody_left && own->link == ZOOKEEPER_DISCONNECTED && recipe_needs_session(lock)) {
        handle_connect(step);
    }
}

static void connected(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    handle_touched(step, own->connect_ns);
    own->link = ZOOKEEPER_CONNECTED;
    own->known = 1;
    own->refusals = 0;
    own->ping_ns = ping_after_ns(step);
    recipe_connected(step);
}

void handle_forget(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    own->link = ZOOKEEPER_DISCONNECTED;
    own->known = 0;
    own->ping_attempt = 0;
    own->stale_attempt = 0;
    own->stale_place = 0; /* it goes with the session */
    own->orphan = 0;
    own->touched_ns = INT64_MIN;
    step->lock->pending = 0;
}

/* "Expired": told by whoever is asked to go on with it, and by nobody before. */
static void over(const struct zookeeper_step *step, bool expired)
{
    handle_forget(step);
    recipe_over(step, expired);
}

static void connect_answered(const struct zookeeper_step *step)
{
    const struct lock_event *event = step->event;
    if (event->reply.type == LOCK_REPLY_YES) {
        connected(step);
    } else if (event->reply.type == LOCK_REPLY_NO && event->command.kind == ZOOKEEPER_ATTACH) {
        over(step, true);
    } else if (event->reply.type != LOCK_REPLY_GARBLED) {
        handle_disconnected(step);
    }
}

/* ---- keeping it alive ------------------------------------------------------------------------ */

/*
 * Where the leader has ended the session, a member answers pings in it all the same until it is
 * told. A holder believes it where it asked while the session was surely there; else it goes to the
 * next, which has to ask the leader.
 */
static bool answers_in_vain(const struct zookeeper_step *step)
{
    return recipe_holds(step->lock) && step->own->ping_ns >= handle_promise_ns(step->lock);
}

static void ping_answered(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    if (step->event->reply.type == LOCK_REPLY_YES && !answers_in_vain(step)) {
        handle_touched(step, own->ping_ns);
        own->ping_attempt = 0;
        own->ping_ns = ping_after_ns(step);
        recipe_renewed(step);
    } else if (step->event->reply.type != LOCK_REPLY_GARBLED) {
        handle_disconnected(step);
    }
}

static void stale_answered(const struct zookeeper_step *step)
{
    uint8_t reply = step->event->reply.type;
    if (reply == LOCK_REPLY_YES || reply == LOCK_REPLY_NO) {
        step->own->stale_attempt = 0;
        step->own->stale_place = 0;
    } else if (reply != LOCK_REPLY_GARBLED) {
        handle_disconnected(step);
    }
}

bool handle_hear(const struct zookeeper_step *step)
{
    const struct zookeeper *own = step->own;
    uint32_t attempt = step->event->command.attempt;
    if (step->event->node_index != own->member || own->link == ZOOKEEPER_DISCONNECTED) {
        return false;
    }
    if (own->link == ZOOKEEPER_CONNECTING) {
        if (attempt == own->connect_attempt) {
            connect_answered(step);
        }
        return true;
    }
    if (own->ping_attempt != 0 && attempt == own->ping_attempt) {
        ping_answered(step);
        return true;
    }
    if (own->stale_attempt != 0 && attempt == own->stale_attempt) {
        stale_answered(step);
        return true;
    }
    return false;
}

/* ---- timers ---------------------------------------------------------------------------------- */

static bool silent(const struct zookeeper_step *step)
{
    const struct lock *lock = step->lock;
    const struct zookeeper *own = step->own;
    int64_t now_ns = step->event->now_ns;
    if (own->link == ZOOKEEPER_CONNECTING) {
        return now_ns >= timeout_ns(lock, own->connect_ns);
    }
    return (own->ping_attempt != 0 && now_ns >= timeout_ns(lock, own->ping_ns)) ||
           (own->stale_attempt != 0 && now_ns >= timeout_ns(lock, own->stale_ns)) ||
           (lock->pending != 0 && now_ns >= timeout_ns(lock, own->asked_ns));
}

static void ping(const struct zookeeper_step *step)
{
    struct zookeeper *own = step->own;
    own->ping_attempt = ++step->lock->attempt;
    own->ping_ns = step->event->now_ns;
    handle_send(step, ZOOKEEPER_PING, &own->session, 0, own->ping_attempt);
}

void handle_timer(const struct zookeeper_step *step)
{
    struct lock *lock = step->lock;
    struct zookeeper *own = step->own;
    int64_t now_ns = step->event->now_ns;
    if (!recipe_needs_session(lock)) {
        return;
    }
    bool spent = lock->state == LOCK_STATE_HELD && now_ns >= lock->until_ns;
    if (own->link != ZOOKEEPER_DISCONNECTED && (silent(step) || spent)) {
        handle_disconnected(step);
    }
    if (own->known != 0 && own->link != ZOOKEEPER_CONNECTED && now_ns >= handle_end_ns(lock)) {
        over(step, false);
    }
    if (!recipe_needs_session(lock)) {
        return;
    }
    if (own->link == ZOOKEEPER_DISCONNECTED && now_ns >= own->connect_ns) {
        handle_connect(step);
    } else if (own->link == ZOOKEEPER_CONNECTED && own->ping_attempt == 0 &&
               now_ns >= own->ping_ns) {
        ping(step);
    }
}

int64_t handle_wake_ns(const struct lock *lock)
{
    const struct zookeeper *own = lock_own_const(lock);
    int64_t wake_ns = TIME_NEVER;
    if (!recipe_needs_session(lock)) {
        return wake_ns;
    }
    if (own->known != 0 && own->link != ZOOKEEPER_CONNECTED) {
        wake_ns = lock_earlier(wake_ns, handle_end_ns(lock));
    }
    if (own->link == ZOOKEEPER_DISCONNECTED) {
        return lock_earlier(wake_ns, own->connect_ns);
    }
    if (own->link == ZOOKEEPER_CONNECTING) {
        return lock_earlier(wake_ns, timeout_ns(lock, own->connect_ns));
    }
    int64_t ping_ns = own->ping_attempt != 0 ? timeout_ns(lock, own->ping_ns) : own->ping_ns;
    wake_ns = lock_earlier(wake_ns, ping_ns);
    if (own->stale_attempt != 0) {
        wake_ns = lock_earlier(wake_ns, timeout_ns(lock, own->stale_ns));
    }
    if (lock->pending != 0) {
        wake_ns = lock_earlier(wake_ns, timeout_ns(lock, own->asked_ns));
    }
    return wake_ns;
}
