/* keys_table.c: names of keys, and each of them on each node. */
#include "harness/real/keys/keys_inner.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

enum { TABLE_SLOTS = 2 * KEYS_NAMES_MAX };

_Static_assert((KEYS_NAMES_MAX & (KEYS_NAMES_MAX - 1)) == 0, "a power of two");

bool keys_table_init(struct keys_table *table)
{
    table->count = 0;
    table->slot_mask = TABLE_SLOTS - 1;
    table->slot = memory_resize(NULL, TABLE_SLOTS * sizeof *table->slot);
    if (table->slot == NULL) {
        return false;
    }
    memset(table->slot, 0, TABLE_SLOTS * sizeof *table->slot);
    return true;
}

static void name_release(struct keys_name *name)
{
    memory_release(name->text);
    memory_release(name->on);
    name->text = NULL;
    name->on = NULL;
}

void keys_table_release(struct keys_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        name_release(&table->names[i]);
    }
    memory_release(table->slot);
    table->slot = NULL;
    table->count = 0;
}

/* The slot of a name, or the free one where it would be. The same name may stand in several. */
static uint32_t *table_slot(const struct keys_table *table, const struct resp_word *name,
                            int32_t database)
{
    uint64_t hash = keys_hash(name->data, name->bytes);
    uint32_t at = (uint32_t)hash & table->slot_mask;
    while (table->slot[at] != 0) {
        const struct keys_name *known = &table->names[table->slot[at] - 1];
        bool here = known->database == database || database == KEYS_ANY_DATABASE;
        if (known->hash == hash && known->bytes == name->bytes && here &&
            memcmp(known->text, name->data, name->bytes) == 0) {
            break;
        }
        at = (at + 1) & table->slot_mask;
    }
    return &table->slot[at];
}

uint32_t keys_table_find(const struct keys_table *table, const struct resp_word *name,
                         int32_t database)
{
    uint32_t slot = *table_slot(table, name, database);
    return slot != 0 ? slot - 1 : UINT32_MAX;
}

static bool name_is_needed(const struct keys *keys, const struct keys_name *name)
{
    bool needed = name->part != KEYS_PART_NONE || name->resource != KEYS_NO_RESOURCE;
    for (int32_t node = 0; node < keys->options.node_count; node++) {
        needed = needed || name->on[node].present;
    }
    return needed;
}

/* A name stands elsewhere now: its resource knows it by its place. */
static void name_moved(struct keys *keys, uint32_t from, uint32_t to)
{
    const struct keys_name *name = &keys->table.names[to];
    if (name->resource == KEYS_NO_RESOURCE) {
        return;
    }
    struct keys_resource *resource = &keys->resources[name->resource];
    resource->lock = resource->lock == from + 1 ? to + 1 : resource->lock;
    for (uint32_t i = 0; i < resource->count; i++) {
        resource->name[i] = resource->name[i] == from ? to : resource->name[i];
    }
}

/* Names that are nobody's and stand for no key make room. */
static void table_sweep(struct keys *keys)
{
    struct keys_table *table = &keys->table;
    for (uint32_t i = table->count; i > 0; i--) {
        struct keys_name *name = &table->names[i - 1];
        if (name_is_needed(keys, name)) {
            continue;
        }
        name_release(name);
        table->count--;
        if (i - 1 != table->count) {
            *name = table->names[table->count];
            name_moved(keys, table->count, i - 1);
        }
    }
    memset(table->slot, 0, TABLE_SLOTS * sizeof *table->slot);
    for (uint32_t i = 0; i < table->count; i++) {
        struct resp_word word = {table->names[i].text, table->names[i].bytes};
        *table_slot(table, &word, table->names[i].database) = i + 1;
    }
}

static bool table_add(struct keys *keys, const struct resp_word *word, int32_t database)
{
    struct keys_table *table = &keys->table;
    size_t nodes = (size_t)keys->options.node_count;
    struct keys_name name = {
        .text = memory_resize(NULL, word->bytes + 1u),
        .bytes = word->bytes,
        .database = database,
        .hash = keys_hash(word->data, word->bytes),
        .resource = KEYS_NO_RESOURCE,
        .on = memory_resize(NULL, nodes * sizeof *name.on),
    };
    if (name.text == NULL || name.on == NULL) {
        name_release(&name);
        return false;
    }
    memcpy(name.text, word->data, word->bytes);
    name.text[word->bytes] = '\0';
    memset(name.on, 0, nodes * sizeof *name.on);
    for (size_t node = 0; node < nodes; node++) {
        name.on[node].owner = HISTORY_NOBODY;
        name.on[node].fault = HISTORY_NO_FAULT;
    }
    table->names[table->count++] = name;
    return true;
}

uint32_t keys_table_take(struct keys *keys, const struct resp_word *name, int32_t database)
{
    struct keys_table *table = &keys->table;
    uint32_t found = keys_table_find(table, name, database);
    if (found != UINT32_MAX || name->bytes > KEYS_NAME_BYTES_MAX) {
        return found;
    }
    if (table->count == KEYS_NAMES_MAX) {
        return UINT32_MAX;
    }
    if (!table_add(keys, name, database)) {
        return UINT32_MAX;
    }
    found = table->count - 1;
    *table_slot(table, name, database) = found + 1;
    keys_name_bind(keys, found);
    return found;
}

/* A unit knows what it changes by its place: while one is open nothing moves. */
void keys_table_tidy(struct keys *keys)
{
    bool open = false;
    if (keys->table.count <= KEYS_NAMES_MAX - KEYS_NAMES_MAX / 4) {
        return;
    }
    for (int32_t node = 0; node < keys->options.node_count; node++) {
        open = open || keys->nodes[node].unit.open;
    }
    if (!open) {
        table_sweep(keys);
    }
}
