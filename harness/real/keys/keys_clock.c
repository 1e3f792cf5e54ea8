/* keys_clock.c: the node's clock, and the ends of keys that it brings. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

/* number * multiplier / divisor without overflow. */
static int64_t scale(int64_t number, int64_t multiplier, int64_t divisor)
{
    return number / divisor * multiplier + number % divisor * multiplier / divisor;
}

int64_t keys_clock_wall(const struct keys_clock *clock, int64_t true_ns)
{
    return clock->base_wall_ns +
           scale(true_ns - clock->base_true_ns, clock->rate_ppm, KEYS_RATE_SOUND_PPM);
}

/* When the clock shows wall_ns; TIME_NEVER if it stands still before that. */
int64_t keys_clock_true(const struct keys_clock *clock, int64_t wall_ns)
{
    int64_t ahead_ns = wall_ns - clock->base_wall_ns;
    if (wall_ns == INT64_MAX || (clock->rate_ppm == 0 && ahead_ns > 0)) {
        return TIME_NEVER;
    }
    if (clock->rate_ppm == 0) {
        return clock->base_true_ns;
    }
    return clock->base_true_ns + scale(ahead_ns, KEYS_RATE_SOUND_PPM, clock->rate_ppm);
}

/*
 * A stamp that lies before the clock's last change, or in the time to come, was made by the clock
 * as it was: the change overtook it on the way here.
 */
int64_t keys_stamp_seen(const struct keys_node *node, int64_t wall_ns)
{
    int64_t now_ns = loop_now_ns();
    int64_t true_ns = keys_clock_true(&node->clock, wall_ns);
    if (node->clock.rate_ppm == 0 || true_ns == TIME_NEVER) {
        true_ns = now_ns;
    } else if (true_ns < node->clock.base_true_ns || true_ns > now_ns) {
        int64_t before_ns = keys_clock_true(&node->clock_before, wall_ns);
        bool fits = before_ns <= node->clock.base_true_ns + NS_PER_MS;
        true_ns = fits ? before_ns : true_ns;
    }
    return true_ns > now_ns ? now_ns : true_ns;
}

int64_t keys_stamp_true(const struct keys_node *node, int64_t wall_ns, int64_t least_ns)
{
    int64_t true_ns = keys_stamp_seen(node, wall_ns);
    true_ns = true_ns < least_ns ? least_ns : true_ns;
    return true_ns < node->told_ns ? node->told_ns : true_ns;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void key_schedule(struct keys *keys, const struct keys_key *key)
{
    if (key->present && key->has_ttl && key->latest_ns < keys->next_ns) {
        keys->next_ns = key->latest_ns;
    }
}

static void key_recompute(const struct keys_clock *clock, struct keys_key *key)
{
    key->earliest_ns = keys_clock_true(clock, key->earliest_wall_ns);
    key->latest_ns = keys_clock_true(clock, key->latest_wall_ns);
}

/* A new end was set by the node's open unit: carry it over to true time. */
void keys_key_end(struct keys *keys, int32_t node, uint32_t name)
{
    const struct keys_node *from = &keys->nodes[node];
    struct keys_key *key = keys_key_on(keys, name, node);
    const struct keys_clock *clock = &from->clock;
    bool overtaken =
        clock->cause != CAUSE_NONE && from->unit.open && from->unit.true_ns < clock->base_true_ns;
    bool sound = clock->rate_ppm == KEYS_RATE_SOUND_PPM && !overtaken;
    key->cause = sound ? CAUSE_TTL : overtaken ? clock->cause : CAUSE_CLOCK_RATE;
    key->fault = (int16_t)(sound ? HISTORY_NO_FAULT : clock->fault);
    key_recompute(clock, key);
    /* An end that was over when it was set came then, or when the clock was moved past it. */
    int64_t least_ns = overtaken ? clock->base_true_ns : from->unit.open ? from->unit.true_ns : 0;
    key->earliest_ns = key->earliest_ns > least_ns ? key->earliest_ns : least_ns;
    key->latest_ns = key->latest_ns > least_ns ? key->latest_ns : least_ns;
    key_schedule(keys, key);
}

void keys_expire(struct keys *keys, int32_t node, uint32_t name, int64_t true_ns)
{
    struct keys_key *key = keys_key_on(keys, name, node);
    bool known = key->has_ttl && key->latest_ns != TIME_NEVER;
    ASSERT(key->present);
    keys_tell_ending(keys, node, name,
                     &(struct keys_ending){
                         .f = HISTORY_KEY_EXPIRED,
                         .cause = key->cause != CAUSE_NONE ? key->cause : CAUSE_TTL,
                         .fault = key->fault,
                         .true_ns = known && key->latest_ns < true_ns ? key->latest_ns : true_ns,
                         .since_ns = TIME_NEVER,
                     });
    key->present = false;
    key->lingers = true;
}

/* Each lock that is known on a node, one after the other; UINT32_MAX at the end. */
static uint32_t lock_next(const struct keys *keys, uint32_t *resource)
{
    while (*resource < keys->options.resource_count) {
        uint32_t lock = keys->resources[(*resource)++].lock;
        if (lock != 0) {
            return lock - 1;
        }
    }
    return UINT32_MAX;
}

void keys_expire_until(struct keys *keys, int32_t node, int64_t true_ns)
{
    uint32_t resource = 0;
    if (loop_now_ns() < keys->next_ns) {
        return; /* nothing can be over */
    }
    for (uint32_t name = lock_next(keys, &resource); name != UINT32_MAX;
         name = lock_next(keys, &resource)) {
        const struct keys_key *key = keys_key_on(keys, name, node);
        if (key->present && key->has_ttl && key->latest_ns <= true_ns) {
            keys_expire(keys, node, name, loop_now_ns());
        }
    }
}

/*
 * Is all that the node did until now known? A command on its way may have given a key another end,
 * and one that is being read is not told yet: then a barrier tells.
 */
static bool node_is_known(struct keys_node *node, uint32_t name, const struct keys_key *key)
{
    bool told = !keys_change_is_open(node, name);
    if (!node->watched || (told && (node->open == 0 || node->seen_ns >= key->latest_ns))) {
        return true;
    }
    node->ask = node->ask || node->tap.asked == node->tap.passed;
    return false;
}

void keys_time(struct keys *keys, int64_t true_ns)
{
    uint32_t resource = 0;
    if (true_ns < keys->next_ns) {
        return;
    }
    keys->next_ns = TIME_NEVER;
    for (uint32_t name = lock_next(keys, &resource); name != UINT32_MAX;
         name = lock_next(keys, &resource)) {
        for (int32_t node = 0; node < keys->options.node_count; node++) {
            struct keys_key *key = keys_key_on(keys, name, node);
            bool over = key->present && key->has_ttl && key->latest_ns <= true_ns;
            if (over && node_is_known(&keys->nodes[node], name, key)) {
                keys_expire(keys, node, name, true_ns);
            } else if (over) {
                keys->next_ns = true_ns + NS_PER_MS; /* look again */
            }
            key_schedule(keys, key);
        }
    }
    if (keys->next_ns <= true_ns) {
        keys->next_ns = true_ns + NS_PER_MS;
    }
}

int64_t keys_next_ns(const struct keys *keys)
{
    return keys->next_ns;
}

/* ---- the clock is moved ---------------------------------------------------------------------- */

/* A key whose end moved with the clock. */
static void key_moved(struct keys *keys, const struct keys_clock_change *change, uint32_t name)
{
    const struct keys_clock *clock = &keys->nodes[change->node].clock;
    struct keys_key *key = keys_key_on(keys, name, change->node);
    if (!key->has_ttl || (!key->present && !key->lingers)) {
        return;
    }
    key_recompute(clock, key);
    key->cause = clock->cause;
    key->fault = (int16_t)change->fault;
    if (key->present && key->latest_ns <= change->true_ns) {
        key->latest_ns = change->true_ns;
        if (!keys_change_is_open(&keys->nodes[change->node], name)) {
            keys_expire(keys, change->node, name, change->true_ns);
        } /* else time ends it, when what made it is told */
    } else if (key->lingers && key->latest_ns > change->true_ns) {
        /* The node had not looked at it yet: it is there again. */
        key->lingers = false;
        key->present = true;
        struct keys_return back = {
            .node = change->node, .fault = change->fault, .cause = clock->cause};
        keys_tell_back(keys, &back, name, change->true_ns);
    }
    key_schedule(keys, key);
}

void keys_clock_changed(struct keys *keys, const struct keys_clock_change *change)
{
    ASSERT(change->rate_ppm >= 0);
    ASSERT(change->node >= 0 && change->node < keys->options.node_count);
    struct keys_node *node = &keys->nodes[change->node];
    struct keys_clock *clock = &node->clock;
    bool changed = change->jump_ns != 0 || change->rate_ppm != clock->rate_ppm;
    uint32_t resource = 0;
    node->clock_before = *clock;
    clock->base_wall_ns = keys_clock_wall(clock, change->true_ns) + change->jump_ns;
    clock->base_true_ns = change->true_ns;
    clock->rate_ppm = change->rate_ppm;
    clock->fault = change->fault;
    clock->cause = change->jump_ns != 0 ? CAUSE_CLOCK_JUMP : CAUSE_CLOCK_RATE;
    for (uint32_t name = lock_next(keys, &resource); changed && name != UINT32_MAX;
         name = lock_next(keys, &resource)) {
        key_moved(keys, change, name);
    }
}
