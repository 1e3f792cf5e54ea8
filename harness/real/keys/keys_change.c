/* keys_change.c: what one effect does to one key. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

#include <string.h>

/* NULL: the unit changes more keys than are followed. */
struct keys_change *keys_change_note(struct keys *keys, int32_t node, uint32_t name)
{
    struct keys_unit *unit = &keys->nodes[node].unit;
    ASSERT(unit->open);
    for (uint32_t i = 0; i < unit->change_count; i++) {
        if (unit->changes[i].name == name) {
            return &unit->changes[i];
        }
    }
    if (unit->change_count == KEYS_CHANGES_MAX) {
        return NULL;
    }
    struct keys_change *change = &unit->changes[unit->change_count++];
    *change = (struct keys_change){name, false, false, *keys_key_on(keys, name, node)};
    return change;
}

bool keys_change_is_open(const struct keys_node *node, uint32_t name)
{
    const struct keys_unit *unit = &node->unit;
    for (uint32_t i = 0; i < unit->change_count && unit->open; i++) {
        if (unit->changes[i].name == name) {
            return true;
        }
    }
    return false;
}

/* As a key that came to be by this unit is, before more is said of it. */
static void key_begin(struct keys_key *key, const struct keys_unit *unit)
{
    if (key->present) {
        return;
    }
    *key = (struct keys_key){
        .present = true,
        .owner = unit->process,
        .fault = HISTORY_NO_FAULT,
        .earliest_ns = TIME_NEVER,
        .latest_ns = TIME_NEVER,
    };
}

static void key_endless(struct keys_key *key)
{
    key->has_ttl = false;
    key->ttl_ns = 0;
    key->earliest_ns = TIME_NEVER;
    key->latest_ns = TIME_NEVER;
}

static int64_t whole_ms(int64_t wall_ns)
{
    return wall_ns - wall_ns % NS_PER_MS;
}

/*
 * A new end. Redis counts whole milliseconds of its clock from when the command began, somewhere
 * between the stamp before and its own, and a key is over when that is past its date.
 */
static void key_set_end(struct keys_key *key, const struct keys_unit *unit,
                        const struct effect *said)
{
    int64_t ms_max = DURATION_NS_MAX / NS_PER_MS;
    int64_t after_ms = said->expiry_ms > ms_max ? ms_max : said->expiry_ms;
    key->has_ttl = true;
    if (said->expiry == EXPIRY_AT) {
        int64_t ms_last = INT64_MAX / NS_PER_MS - 1;
        int64_t date_ns = (said->expiry_ms > ms_last ? ms_last : said->expiry_ms) * NS_PER_MS;
        key->ttl_ns = date_ns - unit->wall_ns;
        key->earliest_wall_ns = date_ns;
        key->latest_wall_ns = date_ns + NS_PER_MS;
        return;
    }
    if (said->expiry != EXPIRY_AFTER) {
        key->ttl_ns = 0; /* an end that no word tells: the node will say when it comes */
        key->earliest_wall_ns = unit->wall_ns;
        key->latest_wall_ns = INT64_MAX;
        return;
    }
    int64_t begun_ns = unit->since_wall_ns < unit->wall_ns ? unit->since_wall_ns : unit->wall_ns;
    bool near = unit->between || unit->wall_ns - begun_ns < NS_PER_MS;
    key->ttl_ns = after_ms * NS_PER_MS;
    key->earliest_wall_ns =
        whole_ms(near ? begun_ns : unit->wall_ns - NS_PER_MS) + after_ms * NS_PER_MS;
    key->latest_wall_ns = whole_ms(unit->wall_ns) + (after_ms + 1) * NS_PER_MS;
}

/* What is written into it, as far as the words say. */
static void key_write(struct keys_key *key, enum effect_shape shape, const struct effect *said)
{
    ASSERT(shape != SHAPE_HASH);
    int64_t number = 0;
    bool counts =
        shape == SHAPE_COUNTER && said->has_amount && (key->has_number || !key->has_value);
    if (shape == SHAPE_STRING && said->has_value) {
        keys_value(said->value.data, said->value.bytes, &key->value);
        key->has_value = true;
        key->has_number = resp_word_number(&said->value, &number);
        key->number = number;
        key->shape = SHAPE_STRING;
    } else if (counts) {
        key->number += said->amount;
        key->has_number = true;
        key->has_value = false;
        key->shape = SHAPE_COUNTER;
    } else if (shape != SHAPE_HASH && shape != SHAPE_UNKNOWN) {
        key->shape = (uint8_t)shape;
        key->has_value = false;
        key->has_number = false;
    }
}

static void key_change(struct keys_key *key, const struct keys_unit *unit, enum effect_shape shape,
                       const struct effect *said)
{
    if (shape == SHAPE_HASH) {
        keys_hash_write(key, unit, said);
    } else {
        key_write(key, shape, said);
    }
}

static void key_move_in(struct keys *keys, int32_t node, struct keys_key *key,
                        const struct keys_effect *effect, const struct effect *said)
{
    uint32_t source = said->source.bytes > 0
                          ? keys_table_find(&keys->table, &said->source, effect->database)
                          : UINT32_MAX;
    int32_t owner = keys->nodes[node].unit.process;
    if (source == UINT32_MAX) {
        key->shape = SHAPE_OTHER;
        key->has_value = false;
        return;
    }
    const struct keys_key *from = keys_key_on(keys, source, node);
    struct keys_unit *unit = &keys->nodes[node].unit;
    struct keys_key as_was = *from;
    for (uint32_t i = 0; i < unit->change_count; i++) {
        as_was = unit->changes[i].name == source ? unit->changes[i].before : as_was;
    }
    *key = as_was;
    key->present = true;
    key->owner = owner;
}

static void key_gone(struct keys *keys, int32_t node, uint32_t name)
{
    struct keys_key *key = keys_key_on(keys, name, node);
    key->present = false;
    key->lingers = false;
}

/* Its time was up, or there was no room for it: that is told at once, whatever the unit does. */
static void key_ended(struct keys *keys, int32_t node, uint32_t name, enum effect_event event)
{
    struct keys_node *from = &keys->nodes[node];
    struct keys_unit *unit = &from->unit;
    struct keys_key *key = keys_key_on(keys, name, node);
    bool was = key->present;
    if (was && event == EFFECT_EXPIRED) {
        keys_expire(keys, node, name, unit->true_ns);
    } else if (was) {
        keys_tell_ending(keys, node, name,
                         &(struct keys_ending){.f = HISTORY_KEY_EVICTED,
                                               .cause = CAUSE_EVICTION,
                                               .fault = from->evict_fault,
                                               .true_ns = unit->true_ns,
                                               .since_ns = TIME_NEVER});
    }
    key_gone(keys, node, name);
    for (uint32_t i = 0; i < unit->change_count; i++) {
        if (unit->changes[i].name == name) {
            unit->changes[i].before = *key;
        }
    }
}

/* Some servers say "expired" of a key that a command gave an end that had passed. */
static enum effect_event event_by(const struct keys_key *key, const struct keys_unit *unit,
                                  enum effect_event event, const struct effect *said)
{
    bool past = (said->expiry == EXPIRY_AFTER && said->expiry_ms <= 0) ||
                (said->expiry == EXPIRY_AT && said->expiry_ms <= unit->wall_ns / NS_PER_MS);
    bool in_time = !key->has_ttl || unit->wall_ns < key->earliest_wall_ns;
    return event == EFFECT_EXPIRED && past && in_time && !key->lingers ? EFFECT_GONE : event;
}

/* It is there after all, though its time seemed to be up: a clock that was set back. */
static void key_revive(struct keys_key *key)
{
    key->present = key->present || key->lingers;
    key->lingers = false;
}

static void key_apply(struct keys *keys, int32_t node, uint32_t name,
                      const struct keys_effect *effect, const struct effect *said)
{
    struct keys_unit *unit = &keys->nodes[node].unit;
    struct keys_key *key = keys_key_on(keys, name, node);
    enum effect_shape shape;
    enum effect_event event = event_by(key, unit, effect_event(&effect->text, &shape), said);
    switch (event) {
    case EFFECT_WRITTEN:
        key->lingers = false;
        key_begin(key, unit);
        key->owner = unit->process;
        if (said->expiry != EXPIRY_KEPT) {
            key_endless(key);
        }
        if (!said->has_value) {
            key->has_value = false;
        }
        key_write(key, shape, said);
        return;
    case EFFECT_CHANGED:
        key->lingers = false;
        key_begin(key, unit);
        key_change(key, unit, shape, said);
        return;
    case EFFECT_EXPIRY:
        key_revive(key);
        key_begin(key, unit);
        key_set_end(key, unit, said);
        keys_key_end(keys, node, name);
        return;
    case EFFECT_ENDLESS:
        key_endless(key);
        return;
    case EFFECT_MOVED_IN:
        key->lingers = false;
        key_begin(key, unit);
        key_move_in(keys, node, key, effect, said);
        keys_key_end(keys, node, name);
        return;
    case EFFECT_GONE:
        key_gone(keys, node, name);
        return;
    case EFFECT_EXPIRED:
    case EFFECT_EVICTED:
        key_ended(keys, node, name, event);
        return;
    case EFFECT_NOTHING:
        return;
    }
    UNREACHABLE();
}

void keys_change(struct keys *keys, int32_t node, const struct keys_effect *effect,
                 const struct resp_words *words)
{
    uint32_t name = keys_table_take(keys, &effect->key, effect->database);
    struct effect said;
    if (name == UINT32_MAX) {
        return; /* beyond what is followed */
    }
    memset(&said, 0, sizeof said);
    if (words != NULL) {
        effect_said(words, &effect->key, &said);
    }
    struct keys_change *change = keys_change_note(keys, node, name);
    enum effect_shape shape;
    enum effect_event event = effect_event(&effect->text, &shape);
    bool makes = event == EFFECT_WRITTEN || event == EFFECT_CHANGED || event == EFFECT_MOVED_IN;
    if (change != NULL) {
        change->made = change->made || makes;
        change->ends = change->ends || event == EFFECT_EXPIRY || event == EFFECT_ENDLESS;
    }
    key_apply(keys, node, name, effect, &said);
}
