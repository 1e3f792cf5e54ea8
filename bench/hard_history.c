/* hard_history.c: simulates a lock, its clients and what they are told. */
#include "bench/hard_history.h"

#include "base/assert.h"

#include <string.h>

enum { LATE_MAX = 64, HOLDERS_MAX = 32, PATIENCE = 6 };

/* An operation that is under way, or whose outcome its client does not know. */
struct hard_act {
    uint32_t invoke; /* index of its event */
    uint32_t name;   /* who: an owner or a value, from 1 */
    int64_t called;
    uint8_t f;
    bool done; /* it took effect, or was refused */
    bool ok;   /* ... took effect */
    bool seen; /* an observation: somebody held it */
    int64_t fence, until;
    uint32_t tries;
};

struct hard_client {
    struct hard_act act;
    bool busy;
    bool holds; /* or believes so */
    uint32_t value;
};

struct hard_lock {
    uint32_t holders[HOLDERS_MAX];
    uint32_t count, depth;
    int64_t fence, highest, taken_ns, until, renewed_ns;
};

struct hard {
    const struct hard_shape *shape;
    struct random_stream dice;
    struct hard_lock lock;
    struct hard_client clients[HARD_CLIENTS_MAX];
    struct hard_act late[LATE_MAX]; /* unknown, not in effect yet */
    uint32_t late_count;
    struct history_event *events;
    uint32_t count, operations, values;
    int64_t now_ns;
};

static uint32_t draw(struct hard *hard, uint32_t bound)
{
    return (uint32_t)random_below(&hard->dice, bound);
}

static bool is_exact(const struct hard *hard)
{
    return hard->shape->model == LINEAR_LEASE_EXACT;
}

static bool is_leased(const struct hard *hard)
{
    return hard->shape->model == LINEAR_LEASE || hard->shape->model == LINEAR_LEASE_REFRESHED ||
           is_exact(hard);
}

static bool nests(const struct hard *hard)
{
    return hard->shape->model == LINEAR_REENTRANT || hard->shape->model == LINEAR_REENTRANT_FENCED;
}

static bool holds(const struct hard *hard, uint32_t name)
{
    for (uint32_t i = 0; i < hard->lock.count; i++) {
        if (hard->lock.holders[i] == name) {
            return true;
        }
    }
    return false;
}

static void drop(struct hard *hard, uint32_t name)
{
    struct hard_lock *lock = &hard->lock;
    for (uint32_t i = 0; i < lock->count; i++) {
        if (lock->holders[i] == name) {
            lock->holders[i] = lock->holders[--lock->count];
            lock->depth = 0;
            return;
        }
    }
}

/* Leases end by themselves. */
static void expire(struct hard *hard)
{
    struct hard_lock *lock = &hard->lock;
    if (is_leased(hard) && lock->count > 0 && lock->until <= hard->now_ns) {
        lock->count = 0;
    }
}

static bool take(struct hard *hard, struct hard_act *act)
{
    struct hard_lock *lock = &hard->lock;
    uint32_t room = hard->shape->model == LINEAR_SEMAPHORE ? hard->shape->permits : 1;
    bool again = nests(hard) && holds(hard, act->name);
    bool tokens = hard->shape->model == LINEAR_TOKENS;
    if (!tokens && ((!again && lock->count >= room) ||
                    (again && hard->shape->depth > 0 && lock->depth >= hard->shape->depth))) {
        return false;
    }
    lock->depth = again ? lock->depth + 1 : 1;
    lock->fence = again ? lock->fence : lock->highest + 1 + draw(hard, 3);
    lock->highest = lock->fence;
    act->fence = draw(hard, 20) == 0 ? 0 : lock->fence;
    act->until = act->called + hard->shape->ttl_ns;
    lock->until = is_exact(hard) ? hard->now_ns + hard->shape->ttl_ns : act->until;
    if (!again && !tokens) {
        lock->holders[lock->count++] = act->name;
    }
    return true;
}

/* It takes effect, or is refused; false if it waits. */
static bool happen(struct hard *hard, struct hard_act *act)
{
    struct hard_lock *lock = &hard->lock;
    expire(hard);
    act->ok = true;
    if (act->f == HISTORY_ACQUIRE) {
        act->ok = take(hard, act);
        bool again = nests(hard) && holds(hard, act->name) && !act->ok;
        act->done = act->ok || ++act->tries > PATIENCE || again;
    } else if (act->f == HISTORY_RELEASE) {
        bool mine =
            holds(hard, act->name) || (hard->shape->model == LINEAR_MUTEX && lock->count > 0);
        act->ok = mine || hard->shape->model == LINEAR_TOKENS;
        act->done = true;
        if (mine && nests(hard) && lock->depth > 1) {
            lock->depth--;
        } else if (mine) {
            drop(hard, hard->shape->model == LINEAR_MUTEX ? lock->holders[0] : act->name);
        }
    } else if (act->f == HISTORY_EXTEND) {
        act->ok = holds(hard, act->name);
        act->done = true;
        act->until = act->called + hard->shape->ttl_ns;
        int64_t until = is_exact(hard) ? hard->now_ns + hard->shape->ttl_ns : act->until;
        lock->until = act->ok && until > lock->until ? until : lock->until;
    } else {
        act->done = true;
        act->seen = lock->count > 0;
        act->name = act->seen && draw(hard, 2) == 0 ? lock->holders[0] : 0;
    }
    return act->done;
}

static struct history_event *tell(struct hard *hard, const struct hard_act *act, int32_t process)
{
    struct history_event *event = &hard->events[hard->count];
    *event = (struct history_event){.index = hard->count,
                                    .time_ns = hard->now_ns,
                                    .kind = HISTORY_OP,
                                    .f = act->f,
                                    .process = process};
    if (act->name != 0) {
        event->flags = hard->shape->owners == 0 ? HISTORY_HAS_VALUE : HISTORY_HAS_OWNER;
        memcpy(event->value.bytes, &act->name, sizeof act->name);
        memcpy(event->owner.bytes, &act->name, sizeof act->name);
    }
    hard->count++;
    return event;
}

static void begin(struct hard *hard, uint32_t c)
{
    struct hard_client *client = &hard->clients[c];
    const struct hard_shape *shape = hard->shape;
    uint32_t dice = draw(hard, 100);
    uint8_t f = client->holds != (draw(hard, 12) == 0) ? HISTORY_RELEASE : HISTORY_ACQUIRE;
    if (dice < shape->look_percent) {
        f = HISTORY_OBSERVE;
    } else if (dice < shape->look_percent + shape->extend_percent && client->holds) {
        f = HISTORY_EXTEND;
    } else if (nests(hard) && client->holds && draw(hard, 3) == 0) {
        f = HISTORY_ACQUIRE;
    }
    if (f == HISTORY_ACQUIRE && shape->owners == 0) {
        client->value = ++hard->values;
    }
    uint32_t name = shape->owners == 0 ? client->value : 1 + c % shape->owners;
    client->act = (struct hard_act){.invoke = hard->count,
                                    .name = f == HISTORY_OBSERVE ? 0 : name,
                                    .called = hard->now_ns,
                                    .f = f};
    client->busy = true;
    (void)tell(hard, &client->act, (int32_t)c);
    hard->operations++;
}

static void finish(struct hard *hard, uint32_t c, bool unknown)
{
    struct hard_client *client = &hard->clients[c];
    const struct hard_act *act = &client->act;
    struct history_event *event = tell(hard, act, (int32_t)c);
    event->type = unknown ? HISTORY_INFO : act->ok ? HISTORY_OK : HISTORY_FAIL;
    event->version = act->seen ? 1 : 0;
    if (!unknown && act->ok && act->f == HISTORY_ACQUIRE) {
        event->fence = act->fence;
    }
    client->busy = false;
    bool told = unknown ? draw(hard, 2) == 0 : act->ok;
    if (act->f == HISTORY_ACQUIRE) {
        client->holds = told || (nests(hard) && client->holds);
    } else if (act->f == HISTORY_RELEASE) {
        client->holds = nests(hard) && told && draw(hard, 2) == 0;
    }
}

static void step(struct hard *hard)
{
    uint32_t c = draw(hard, hard->shape->clients);
    struct hard_client *client = &hard->clients[c];
    hard->now_ns += draw(hard, 3);
    if (hard->late_count > 0 && draw(hard, 10) == 0) {
        uint32_t i = draw(hard, hard->late_count);
        (void)happen(hard, &hard->late[i]);
        hard->late[i] = hard->late[--hard->late_count];
    }
    if (!client->busy) {
        begin(hard, c);
        return;
    }
    bool unknown = draw(hard, 100) < hard->shape->unknown_percent;
    if (client->act.done) {
        finish(hard, c, unknown && client->act.f != HISTORY_OBSERVE);
    } else if (!happen(hard, &client->act) && unknown) {
        bool later = hard->late_count < LATE_MAX && draw(hard, 2) == 0;
        if (later) {
            hard->late[hard->late_count++] = client->act;
        }
        finish(hard, c, true);
    }
}

/* One operation is told otherwise. */
static void change(struct hard *hard)
{
    struct history_event *event = &hard->events[draw(hard, hard->count)];
    uint32_t name =
        1 + draw(hard, hard->shape->owners > 0 ? hard->shape->owners : hard->values + 1);
    switch (draw(hard, 4)) {
    case 0:
        if (event->type == HISTORY_OK || event->type == HISTORY_FAIL) {
            event->type = event->type == HISTORY_OK ? HISTORY_FAIL : HISTORY_OK;
        }
        return;
    case 1:
        event->type = event->type == HISTORY_INFO ? HISTORY_OK : event->type;
        return;
    case 2:
        event->fence = event->fence > 0 ? event->fence - (int64_t)draw(hard, 3) : 0;
        return;
    default:
        if (event->type == HISTORY_INVOKE && event->f == HISTORY_RELEASE) {
            memcpy(event->value.bytes, &name, sizeof name);
            memcpy(event->owner.bytes, &name, sizeof name);
        }
        return;
    }
}

uint32_t hard_history(const struct hard_shape *shape, uint64_t seed, struct history_event *events)
{
    static struct hard hard;
    ASSERT(shape->clients <= HARD_CLIENTS_MAX && shape->permits <= HOLDERS_MAX);
    hard = (struct hard){
        .shape = shape, .dice = random_stream("hard history", seed), .events = events};
    while (hard.operations < shape->operations) {
        step(&hard);
    }
    for (uint32_t i = 0; i < shape->changes; i++) {
        change(&hard);
    }
    return hard.count;
}

struct hard_shape hard_shape(enum linear_model model, uint64_t seed)
{
    static const uint32_t operations[] = {100, 300, 700, 1000, 3000, 10000};
    static const uint32_t clients[] = {2, 3, 5, 8, 16, 30};
    struct random_stream dice = random_stream(linear_model_name(model), seed);
    struct hard_shape shape = {.model = (uint8_t)model};
    bool leased =
        model == LINEAR_LEASE || model == LINEAR_LEASE_EXACT || model == LINEAR_LEASE_REFRESHED;
    shape.operations = operations[random_below(&dice, 6)];
    shape.clients = clients[random_below(&dice, 6)];
    uint32_t shared = (uint32_t)random_below(&dice, 4);
    shape.owners = shared == 0   ? 0
                   : shared == 1 ? 1 + (uint32_t)random_below(&dice, shape.clients)
                                 : shape.clients;
    bool nests = model == LINEAR_REENTRANT || model == LINEAR_REENTRANT_FENCED;
    shape.owners = shape.owners == 0 && nests ? shape.clients : shape.owners;
    shape.unknown_percent = (uint32_t)random_below(&dice, 11);
    shape.look_percent = random_below(&dice, 3) == 0 ? 10 : 0;
    shape.extend_percent = leased && model != LINEAR_LEASE ? (uint32_t)random_below(&dice, 30) : 0;
    shape.permits = model == LINEAR_SEMAPHORE ? 1 + (uint32_t)random_below(&dice, 6) : 1;
    shape.depth = random_below(&dice, 2) == 0 ? 2 : 0;
    shape.ttl_ns = leased ? 20 + (int64_t)random_below(&dice, 200) : 0;
    shape.strong = random_below(&dice, 3) == 0;
    shape.not_held = random_below(&dice, 3) == 0 && model != LINEAR_LEASE;
    shape.changes = random_below(&dice, 2) == 0 ? 0 : 1 + (uint32_t)random_below(&dice, 3);
    return shape;
}

struct linear_options hard_options(const struct hard_shape *shape)
{
    struct linear_options options = linear_options_default((enum linear_model)shape->model);
    options.permits = shape->permits;
    options.depth_max = shape->depth;
    options.ttl_ns = shape->ttl_ns;
    options.refused_acquire = shape->strong ? LINEAR_REFUSED_HELD : LINEAR_REFUSED_NOTHING;
    options.failed_release = shape->not_held ? LINEAR_RELEASE_NOT_HELD : LINEAR_RELEASE_NOTHING;
    options.by_owner = shape->owners > 0;
    return options;
}
