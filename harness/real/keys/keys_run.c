/* keys_run.c: what time and the run do to keys. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

void keys_time(struct keys *keys, int64_t true_ns)
{
    if (true_ns < keys->next_ns) {
        return;
    }
    keys->next_ns = TIME_NEVER;
    size_t count = (size_t)keys->options.node_count * keys->options.resource_count;
    for (size_t i = 0; i < count; i++) {
        struct keys_entry *entry = &keys->entries[i];
        if (entry->present && entry->has_ttl && entry->pending == 0 &&
            entry->latest_ns <= true_ns) {
            keys_expire(keys, entry, true_ns);
        }
        keys_entry_schedule(keys, entry);
    }
}

int64_t keys_next_ns(const struct keys *keys)
{
    return keys->next_ns;
}

void keys_clock_changed(struct keys *keys, const struct keys_clock_change *change)
{
    ASSERT(change->rate_ppm >= 0);
    struct keys_clock *clock = &keys->clocks[change->node];
    bool rate_changed = change->rate_ppm != clock->rate_ppm;
    clock->base_wall_ns = keys_clock_wall(clock, change->true_ns) + change->jump_ns;
    clock->base_true_ns = change->true_ns;
    clock->rate_ppm = change->rate_ppm;
    clock->fault = change->fault;
    for (uint32_t resource = 0; resource < keys->options.resource_count; resource++) {
        struct keys_entry *entry = keys_entry(keys, change->node, resource);
        if (!entry->present || !entry->has_ttl) {
            continue;
        }
        bool perhaps_over = entry->earliest_ns <= change->true_ns;
        keys_entry_recompute(clock, entry);
        if (perhaps_over && entry->earliest_ns > change->true_ns) {
            /* Gone already, or saved by the clock's step back: nobody can tell. */
            entry->earliest_wall_ns = clock->base_wall_ns;
            entry->earliest_ns = change->true_ns;
        }
        if (change->jump_ns != 0 || rate_changed) {
            entry->cause = change->jump_ns != 0 ? CAUSE_CLOCK_JUMP : CAUSE_CLOCK_RATE;
            entry->fault = (int16_t)change->fault;
        }
        if (entry->latest_ns <= change->true_ns) {
            entry->latest_ns = change->true_ns;
            keys_expire(keys, entry, change->true_ns);
        }
        keys_entry_schedule(keys, entry);
    }
}

static const struct keys_found *keys_found_find(const struct keys *keys, uint32_t resource,
                                                const struct keys_restart *restart)
{
    for (uint32_t i = 0; i < restart->found_count; i++) {
        const char *name = restart->found[i].name;
        if (keys_resource(keys, name, strlen(name)) == resource) {
            return &restart->found[i];
        }
    }
    return NULL;
}

/* The node read this key back. Its end is an absolute date, so what was known of it holds. */
static void keys_back(struct keys *keys, struct keys_entry *entry, const struct keys_found *found,
                      const struct keys_restart *restart)
{
    const struct keys_clock *clock = &keys->clocks[restart->node];
    struct history_value value;
    keys_value(found->value, found->value_bytes, &value);
    bool known = entry->present && history_value_equal(&entry->value, &value);
    if (!known) {
        bool maybe = entry->maybe_set && history_value_equal(&entry->maybe.value, &value);
        entry->owner = maybe ? entry->maybe_process : HISTORY_NOBODY;
        entry->cause = CAUSE_TTL;
        entry->fault = HISTORY_NO_FAULT;
    }
    entry->present = true;
    entry->maybe_set = false;
    entry->value = value;
    entry->has_ttl = found->ttl_ns >= 0;
    if (entry->has_ttl && !known) {
        int64_t wall_ns = keys_clock_wall(clock, restart->back_ns) + found->ttl_ns;
        entry->earliest_wall_ns = wall_ns - NS_PER_MS;
        entry->latest_wall_ns = wall_ns + NS_PER_MS;
    }
    entry->earliest_ns = TIME_NEVER;
    entry->latest_ns = TIME_NEVER;
    if (entry->has_ttl) {
        keys_entry_recompute(clock, entry);
    }
    struct history_event event = keys_event(keys, entry, HISTORY_KEY_BACK, restart->back_ns);
    event.cause = restart->cause;
    event.fault = restart->fault;
    keys_event_until(keys, entry, &event);
    keys_entry_schedule(keys, entry);
    keys->options.emit(keys->options.emit_data, &event);
}

void keys_restarted(struct keys *keys, const struct keys_restart *restart)
{
    ASSERT(restart->cause == CAUSE_RESTART || restart->cause == CAUSE_FAILOVER);
    for (uint32_t resource = 0; resource < keys->options.resource_count; resource++) {
        struct keys_entry *entry = keys_entry(keys, restart->node, resource);
        const struct keys_found *found = keys_found_find(keys, resource, restart);
        if (found != NULL) {
            keys_back(keys, entry, found, restart);
            continue;
        }
        entry->maybe_set = false;
        if (!entry->present) {
            continue;
        }
        if (entry->has_ttl && entry->earliest_ns <= restart->back_ns) {
            keys_expire(keys, entry, restart->back_ns);
        } else {
            keys_gone(keys, entry,
                      &(struct keys_ending){.f = HISTORY_KEY_LOST,
                                            .cause = restart->cause,
                                            .fault = restart->fault,
                                            .true_ns = restart->lost_ns});
        }
    }
}

void keys_evicted(struct keys *keys, const struct keys_eviction *eviction)
{
    bool all = eviction->resource == KEYS_NO_RESOURCE;
    uint32_t first = all ? 0 : eviction->resource;
    uint32_t last = all ? keys->options.resource_count : first + 1;
    for (uint32_t resource = first; resource < last; resource++) {
        struct keys_entry *entry = keys_entry(keys, eviction->node, resource);
        if (entry->present) {
            keys_gone(keys, entry,
                      &(struct keys_ending){
                          .f = all ? HISTORY_KEY_LOST : HISTORY_KEY_EVICTED,
                          .cause = all ? CAUSE_FLUSH : CAUSE_EVICTION,
                          .fault = eviction->fault,
                          .true_ns = eviction->true_ns,
                      });
        }
    }
}
