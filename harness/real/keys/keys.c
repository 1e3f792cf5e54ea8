/* keys.c: the view of what nodes hold: made and freed, looked at. */
#include "harness/real/keys/keys.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/machine_clock.h"
#include "harness/real/keys/keys_inner.h"
#include "harness/real/process/loop.h"

#include <string.h>
#include <time.h>

/* What CLOCK_REALTIME shows when CLOCK_MONOTONIC shows true_ns: the closest of a few looks. */
static int64_t machine_wall_ns(int64_t true_ns)
{
    enum { LOOKS = 8 };
    int64_t least_ns = INT64_MAX;
    int64_t wall_ns = 0;
    for (int i = 0; i < LOOKS; i++) {
        int64_t before_ns = loop_now_ns();
        int64_t shown_ns = realtime_ns();
        int64_t took_ns = loop_now_ns() - before_ns;
        if (took_ns < least_ns) {
            least_ns = took_ns;
            wall_ns = shown_ns + (true_ns - before_ns - took_ns / 2);
        }
    }
    return wall_ns;
}

static bool keys_nodes_init(struct keys *keys)
{
    size_t bytes = (size_t)keys->options.node_count * sizeof *keys->nodes;
    keys->nodes = memory_resize(NULL, bytes);
    if (keys->nodes == NULL) {
        return false;
    }
    memset(keys->nodes, 0, bytes);
    int64_t now_ns = loop_now_ns();
    struct keys_clock clock = {
        .base_true_ns = now_ns,
        .base_wall_ns = machine_wall_ns(now_ns),
        .rate_ppm = KEYS_RATE_SOUND_PPM,
        .cause = CAUSE_NONE,
        .fault = HISTORY_NO_FAULT,
    };
    for (int32_t i = 0; i < keys->options.node_count; i++) {
        keys->nodes[i].tap = TAP_CLOSED;
        keys->nodes[i].clock = clock;
        keys->nodes[i].clock_before = clock;
        keys->nodes[i].evict_fault = HISTORY_NO_FAULT;
    }
    return true;
}

struct keys *keys_new(const struct keys_options *options)
{
    ASSERT(options->node_count > 0);
    ASSERT(options->emit != NULL);
    struct keys *keys = memory_resize(NULL, sizeof *keys);
    if (keys == NULL) {
        return NULL;
    }
    memset(keys, 0, sizeof *keys);
    keys->options = *options;
    keys->kind = server_kind_at(options->kind);
    keys->next_ns = TIME_NEVER;
    keys->learns = true;
    keys_habits_init(keys);
    if (!keys_table_init(&keys->table) || !keys_resources_init(keys) || !keys_nodes_init(keys)) {
        keys_free(keys);
        return NULL;
    }
    return keys;
}

void keys_free(struct keys *keys)
{
    if (keys == NULL) {
        return;
    }
    for (int32_t i = 0; i < keys->options.node_count && keys->nodes != NULL; i++) {
        keys_channels_free(&keys->nodes[i], true);
        tap_close(&keys->nodes[i].tap);
    }
    keys_table_release(&keys->table);
    memory_release(keys->resources);
    memory_release(keys->clients);
    memory_release(keys->nodes);
    memory_release(keys);
}

void keys_look(const struct keys *keys, int32_t node, uint32_t resource, int64_t true_ns,
               struct keys_view *view)
{
    ASSERT(node >= 0 && node < keys->options.node_count);
    ASSERT(resource < keys->options.resource_count);
    memset(view, 0, sizeof *view);
    view->owner = HISTORY_NOBODY;
    uint32_t lock = keys->resources[resource].lock;
    if (lock == 0) {
        return;
    }
    const struct keys_key *key = &keys->table.names[lock - 1].on[node];
    if (keys_key_holds(key) && (!key->has_ttl || true_ns < key->latest_ns)) {
        view->present = true;
        view->has_value = key->has_value;
        view->value = key->value;
        view->owner = key->owner;
        view->earliest_ns = key->has_ttl ? key->earliest_ns : TIME_NEVER;
        view->latest_ns = key->has_ttl ? key->latest_ns : TIME_NEVER;
    }
}

void keys_names_of(const struct keys *keys, int32_t node, uint32_t resource,
                   struct keys_names *names)
{
    ASSERT(resource < keys->options.resource_count);
    const struct keys_resource *owner = &keys->resources[resource];
    names->count = 0;
    for (uint32_t i = 0; i < owner->count; i++) {
        const struct keys_name *name = &keys->table.names[owner->name[i]];
        if (name->on[node].present) {
            names->name[names->count] = (struct resp_word){name->text, name->bytes};
            names->database[names->count++] = name->database;
        }
    }
}

void keys_evicting(struct keys *keys, int32_t node, int32_t fault)
{
    ASSERT(node >= 0 && node < keys->options.node_count);
    keys->nodes[node].evict_fault = fault;
}
