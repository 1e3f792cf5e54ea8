/* keys_tell.c: what a unit did to a resource's lock, as events. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

#include <string.h>

/* An event about a resource's lock on a node. */
static struct history_event event_of(const struct keys *keys, int32_t node, uint32_t resource,
                                     enum history_f f)
{
    (void)keys;
    return (struct history_event){
        .kind = HISTORY_NODE,
        .f = (uint8_t)f,
        .process = HISTORY_NOBODY,
        .node = node,
        .fault = HISTORY_NO_FAULT,
        .resource = resource,
    };
}

/* The command by its name, where it is one of lockcore's or resembles one. */
static void event_command(const struct keys *keys, struct history_event *event, uint8_t kind)
{
    if (kind < keys->kind->dialect->row_count) {
        memcpy(event->command, keys->kind->dialect->rows[kind].name, sizeof event->command);
    }
}

static void event_owner(struct history_event *event, const struct keys_key *key)
{
    if (key->present && key->has_value) {
        event->owner = key->value;
        event->flags |= HISTORY_HAS_OWNER;
    }
}

static void event_until(const struct keys *keys, struct history_event *event,
                        const struct keys_key *key)
{
    if (key->has_ttl && key->latest_ns != TIME_NEVER) {
        event->until_ns = key->latest_ns - keys->options.start_ns;
        event->flags |= HISTORY_HAS_UNTIL;
    }
}

/* It happened between this and its time. */
static void event_since(const struct keys *keys, struct history_event *event, int64_t since_ns)
{
    int64_t least_ns = since_ns - keys->options.start_ns;
    event->since_ns = least_ns > 0 ? least_ns : 0;
    event->flags |= HISTORY_HAS_SINCE;
}

/* One more event of a command. What stands between its events is nobody's command. */
static void told_add(struct keys_told *told, uint64_t number)
{
    if (number == KEYS_NO_EVENT) {
        return;
    }
    told->first = told->count == 0 ? number : told->first;
    told->count = number - told->first + 1;
}

/* Whose command it was, and when it came. */
static void event_sent(const struct keys *keys, struct history_event *event,
                       const struct keys_command *command)
{
    if (command->came_ns > 0 && event->process != HISTORY_NOBODY) {
        event->sent_ns = command->came_ns - keys->options.start_ns;
        event->sent_ns = event->sent_ns > 0 ? event->sent_ns : 0;
        event->flags |= HISTORY_HAS_SENT;
    }
}

static uint64_t event_emit(struct keys *keys, struct history_event *event, int64_t true_ns)
{
    struct keys_node *node = &keys->nodes[event->node];
    int64_t time_ns = true_ns < node->told_ns ? node->told_ns : true_ns;
    node->told_ns = time_ns;
    event->time_ns = time_ns - keys->options.start_ns;
    if (node->distant && node->unit.open && node->unit.since_ns < time_ns) {
        event_since(keys, event, node->unit.since_ns);
    }
    keys->resources[event->resource].told = true;
    return keys->unwatched[0] == '\0' ? keys->options.emit(keys->options.emit_data, event)
                                      : KEYS_NO_EVENT;
}

/* The resource whose lock this is; KEYS_NO_RESOURCE: of no consequence. */
static uint32_t lock_of(const struct keys *keys, uint32_t name)
{
    const struct keys_name *known = &keys->table.names[name];
    return known->part == KEYS_PART_LOCK ? known->resource : KEYS_NO_RESOURCE;
}

/* ---- what ended by itself, and what came back ------------------------------------------------ */

void keys_tell_ending(struct keys *keys, int32_t node, uint32_t name,
                      const struct keys_ending *ending)
{
    const struct keys_key *key = keys_key_on(keys, name, node);
    uint32_t resource = lock_of(keys, name);
    if (resource == KEYS_NO_RESOURCE || !keys_key_holds(key)) {
        return;
    }
    struct history_event event = event_of(keys, node, resource, (enum history_f)ending->f);
    event.cause = ending->cause;
    event.fault = ending->fault;
    event_owner(&event, key);
    event_until(keys, &event, key);
    if (ending->since_ns != TIME_NEVER) {
        event_since(keys, &event, ending->since_ns);
    } else if (keys->nodes[node].distant && key->earliest_ns < ending->true_ns) {
        event_since(keys, &event, key->earliest_ns);
    }
    /* It ended when its time was up, though other things were told since. */
    event.time_ns = ending->true_ns - keys->options.start_ns;
    if (keys->unwatched[0] == '\0') {
        (void)keys->options.emit(keys->options.emit_data, &event);
    }
}

void keys_tell_back(struct keys *keys, const struct keys_return *back, uint32_t name,
                    int64_t true_ns)
{
    const struct keys_key *key = keys_key_on(keys, name, back->node);
    uint32_t resource = lock_of(keys, name);
    if (resource == KEYS_NO_RESOURCE || !keys_key_holds(key)) {
        return;
    }
    struct history_event event = event_of(keys, back->node, resource, HISTORY_KEY_BACK);
    event.cause = back->cause;
    event.fault = back->fault;
    event_owner(&event, key);
    event_until(keys, &event, key);
    (void)event_emit(keys, &event, true_ns);
}

struct keys_told keys_tell_error(struct keys_channel *channel, const struct keys_command *command,
                                 int64_t true_ns)
{
    struct keys *keys = channel->keys;
    struct keys_told told = {0, 0};
    if (command->key_count == 0 || command->role == ROLE_OTHER) {
        return told;
    }
    struct history_event event =
        event_of(keys, channel->route.node, command->resource[0], HISTORY_NODE_ERROR);
    const struct keys_resource *resource = &keys->resources[command->resource[0]];
    event_command(keys, &event, command->kind);
    event.process = command->client;
    event.value = command->value;
    event.flags |= command->has_value ? HISTORY_HAS_VALUE : 0;
    if (resource->lock != 0) {
        event_owner(&event, keys_key_on(keys, resource->lock - 1, channel->route.node));
    }
    event_sent(keys, &event, command);
    event.time_ns = true_ns - keys->options.start_ns;
    told_add(&told, keys->options.emit(keys->options.emit_data, &event));
    return told;
}

/* ---- units ----------------------------------------------------------------------------------- */

/*
 * The value that a unit names: the one that its command sets, or one of its words that is the key's
 * own value or was set by its client before.
 */
static bool unit_value(const struct keys *keys, const struct keys_unit *unit,
                       const struct keys_key *before, struct history_value *value)
{
    if (unit->command.has_value) {
        *value = unit->command.value;
        return true;
    }
    const struct keys_client *client =
        unit->process >= 0 && unit->process < keys->options.client_count
            ? &keys->clients[unit->process]
            : NULL;
    for (uint32_t i = 0; i < unit->word_count; i++) {
        bool named = before->has_value && history_value_equal(&unit->words[i], &before->value);
        uint32_t count = client == NULL                          ? 0
                         : client->value_count < KEYS_VALUES_MAX ? client->value_count
                                                                 : KEYS_VALUES_MAX;
        for (uint32_t j = 0; j < count && !named; j++) {
            named = history_value_equal(&unit->words[i], &client->values[j]);
        }
        if (named) {
            *value = unit->words[i];
            return true;
        }
    }
    return false;
}

static struct history_event unit_event(struct keys *keys, int32_t node, uint32_t resource,
                                       enum history_f f)
{
    const struct keys_unit *unit = &keys->nodes[node].unit;
    struct history_event event = event_of(keys, node, resource, f);
    event.process = unit->process;
    event_command(keys, &event, unit->command.kind);
    event_sent(keys, &event, &unit->command);
    return event;
}

/* By whoever owns the key, or names what it holds. */
static bool unit_is_owners(const struct keys_unit *unit, const struct keys_key *before,
                           const struct history_event *event)
{
    return before->owner == unit->process ||
           ((event->flags & HISTORY_HAS_VALUE) != 0 && before->has_value &&
            history_value_equal(&event->value, &before->value));
}

/* Tell it, and remember it where it may turn out to be another thread's. */
static void unit_tell(struct keys *keys, const struct keys_unit *unit, struct history_event *event,
                      struct keys_deed *deed)
{
    uint64_t number = event_emit(keys, event, unit->true_ns);
    told_add(&deed->told, number);
    if (unit->command.doubtful && number != KEYS_NO_EVENT && event->process == unit->process) {
        keys_thread_doubt(keys, number, event);
    }
}

/* What became of the lock by this unit: an f, or HISTORY_FS for nothing. */
static enum history_f change_f(const struct keys_change *change, const struct keys_key *after)
{
    const struct keys_key *before = &change->before;
    bool was = keys_key_holds(before);
    bool is = keys_key_holds(after);
    if (!was || !is) {
        return is ? HISTORY_KEY_SET : was ? HISTORY_KEY_DELETED : HISTORY_FS;
    }
    bool same_value = before->has_value == after->has_value &&
                      (!after->has_value || history_value_equal(&before->value, &after->value));
    bool other = after->shape == SHAPE_STRING || (after->shape == SHAPE_HASH && before->has_value);
    bool rewritten = other && !same_value;
    bool moved = change->ends || before->has_ttl != after->has_ttl;
    return rewritten ? HISTORY_KEY_SET : moved ? HISTORY_KEY_EXTENDED : HISTORY_KEY_TOUCHED;
}

static uint8_t did_of(enum history_f f)
{
    return f == HISTORY_KEY_SET        ? KEYS_DID_SET
           : f == HISTORY_KEY_EXTENDED ? KEYS_DID_EXTEND
           : f == HISTORY_KEY_DELETED  ? KEYS_DID_DELETE
           : f == HISTORY_KEY_REFUSED  ? KEYS_DID_REFUSED
           : f == HISTORY_KEY_KEPT     ? KEYS_DID_KEPT
                                       : KEYS_DID_TOUCH;
}

static void deed_add(struct keys_deed *deed, uint32_t resource, enum history_f f, bool holds)
{
    if (deed->resource == KEYS_NO_RESOURCE) {
        deed->resource = resource;
        deed->holds = holds;
    }
    deed->did |= deed->resource == resource ? did_of(f) : 0;
}

/* Deleted by the harness for a fault, by its owner, or by another. */
static void deletion_cause(const struct keys_node *node, const struct keys_unit *unit,
                           const struct keys_key *before, struct history_event *event)
{
    if (unit->process == HISTORY_NOBODY && node->evict_fault != HISTORY_NO_FAULT) {
        event->f = HISTORY_KEY_EVICTED;
        event->cause = CAUSE_EVICTION;
        event->fault = node->evict_fault;
    } else if (unit->process == HISTORY_NOBODY) {
        event->cause = CAUSE_NONE; /* nobody's whose command was seen */
    } else {
        event->cause = unit_is_owners(unit, before, event) ? CAUSE_RELEASED : CAUSE_FOREIGN;
    }
}

/* Who owns what in a list or a sorted set is not followed: nobody is accused of its change. */
static bool owner_is_followed(const struct keys_key *key)
{
    return key->shape != SHAPE_OTHER;
}

static void tell_change(struct keys *keys, int32_t node, const struct keys_change *change,
                        struct keys_deed *deed)
{
    struct keys_node *from = &keys->nodes[node];
    const struct keys_unit *unit = &from->unit;
    const struct keys_key *before = &change->before;
    struct keys_key *after = keys_key_on(keys, change->name, node);
    uint32_t resource = lock_of(keys, change->name);
    enum history_f f = change_f(change, after);
    bool aside = from->deposed && f != HISTORY_KEY_SET;
    if (resource == KEYS_NO_RESOURCE || f == HISTORY_FS || aside) {
        return;
    }
    if (before->lingers && f == HISTORY_KEY_SET && !change->made) {
        /* Only its end is new: it was there all the time, though it seemed to be over. */
        struct keys_return back = {.node = node, .fault = before->fault, .cause = before->cause};
        keys_tell_back(keys, &back, change->name, unit->true_ns);
        f = HISTORY_KEY_EXTENDED;
    }
    if (f == HISTORY_KEY_SET && !keys_key_holds(before)) {
        after->owner = unit->process; /* a counter may have been there, at 0 */
    }
    struct history_event event = unit_event(keys, node, resource, f);
    event_owner(&event, before);
    bool named =
        f == HISTORY_KEY_SET ? after->has_value : unit_value(keys, unit, before, &event.value);
    event.value = f == HISTORY_KEY_SET ? after->value : event.value;
    event.flags |= named ? HISTORY_HAS_VALUE : 0;
    if (f == HISTORY_KEY_SET || f == HISTORY_KEY_EXTENDED) {
        event_until(keys, &event, after);
        event.ttl_ns = after->ttl_ns;
        event.flags |= after->has_ttl && after->ttl_ns > 0 ? HISTORY_HAS_TTL : 0;
    }
    if (f == HISTORY_KEY_EXTENDED && !unit_is_owners(unit, before, &event)) {
        event.cause = CAUSE_FOREIGN;
    }
    if (f == HISTORY_KEY_DELETED) {
        deletion_cause(from, unit, before, &event);
    }
    if (!owner_is_followed(before->present ? before : after) && before->owner != unit->process) {
        event.process = f == HISTORY_KEY_SET ? event.process : HISTORY_NOBODY;
        event.flags &= event.process != HISTORY_NOBODY ? UINT16_MAX : UINT16_MAX - HISTORY_HAS_SENT;
        event.cause = event.cause == CAUSE_FOREIGN ? CAUSE_NONE : event.cause;
    }
    struct keys_client *client = keys_client_at(keys, unit->process);
    if (f == HISTORY_KEY_SET && client != NULL) {
        client->sets++;
        keys_client_value(client, &after->value);
    }
    deed_add(deed, resource, f, keys_key_holds(after) && after->owner == unit->process);
    unit_tell(keys, unit, &event, deed);
    if (from->deposed) {
        keys_tell_ending(keys, node, change->name,
                         &(struct keys_ending){.f = HISTORY_KEY_LOST,
                                               .cause = CAUSE_FAILOVER,
                                               .fault = from->deposed_fault,
                                               .true_ns = from->told_ns,
                                               .since_ns = TIME_NEVER});
        after->present = false;
    }
}

/* A lock that the unit named and did not change: it found it held, or not its own. */
static void tell_mention(struct keys *keys, int32_t node, uint32_t resource, struct keys_deed *deed)
{
    const struct keys_unit *unit = &keys->nodes[node].unit;
    uint32_t lock = keys->resources[resource].lock;
    uint8_t role = unit->command.role;
    bool did_run = unit->command.ask != ASK_SCRIPT || unit->ran;
    if (lock == 0 || role == ROLE_OTHER || !did_run || keys->nodes[node].deposed) {
        return;
    }
    const struct keys_key *key = keys_key_on(keys, lock - 1, node);
    enum history_f f = role == ROLE_SET ? HISTORY_KEY_REFUSED : HISTORY_KEY_KEPT;
    if (f == HISTORY_KEY_REFUSED && !keys_key_holds(key)) {
        return; /* it asked for something else */
    }
    struct history_event event = unit_event(keys, node, resource, f);
    event_owner(&event, key);
    event.flags |= unit_value(keys, unit, key, &event.value) ? HISTORY_HAS_VALUE : 0;
    event_until(keys, &event, key);
    deed_add(deed, resource, f, keys_key_holds(key) && key->owner == unit->process);
    unit_tell(keys, unit, &event, deed);
}

static bool unit_changed(const struct keys *keys, const struct keys_unit *unit, uint32_t resource)
{
    bool changed = false;
    for (uint32_t i = 0; i < unit->change_count; i++) {
        changed = changed || lock_of(keys, unit->changes[i].name) == resource;
    }
    return changed;
}

void keys_tell_unit(struct keys *keys, int32_t node, struct keys_deed *deed)
{
    const struct keys_unit *unit = &keys->nodes[node].unit;
    ASSERT(unit->open);
    for (uint32_t i = 0; i < unit->change_count; i++) {
        tell_change(keys, node, &unit->changes[i], deed);
    }
    for (uint32_t i = 0; i < unit->mention_count && unit->process != HISTORY_NOBODY; i++) {
        if (!unit_changed(keys, unit, unit->mentions[i])) {
            tell_mention(keys, node, unit->mentions[i], deed);
        }
    }
}
