/* hold.c: the live holds of a history by resource and identity. */
#include "checker/linear/steps/stream.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

bool stream_judges(const struct linear *linear)
{
    if (linear->options.engine == LINEAR_ENGINE_FRONTIER ||
        linear->options.engine == LINEAR_ENGINE_NARROW ||
        linear->options.engine == LINEAR_ENGINE_WHOLE) {
        return false;
    }
    switch ((enum linear_model)linear->options.model) {
    case LINEAR_MUTEX:
    case LINEAR_OWNER:
    case LINEAR_REENTRANT:
    case LINEAR_FENCED:
    case LINEAR_REENTRANT_FENCED:
    case LINEAR_LEASE:
    case LINEAR_SEMAPHORE:
        return true;
    case LINEAR_LEASE_EXACT:
    case LINEAR_LEASE_REFRESHED:
    case LINEAR_TOKENS:
    case LINEAR_MODELS:
        return false;
    }
    UNREACHABLE();
}

enum { REST_WORDS_FIRST = 64, REST_ENTRIES_PER_WORD = 4, HOLDS_AWAKE_MAX = 4096 };

static uint64_t rest_bits(uint64_t hash)
{
    return (uint64_t)1 << (hash >> 58) | (uint64_t)1 << (hash >> 52 & 63);
}

static bool rest_may_have(const struct rest *rest, uint64_t hash)
{
    if (rest->filter == NULL) {
        return false;
    }
    uint64_t bits = rest_bits(hash);
    return (rest->filter[(hash >> 20) & rest->filter_mask] & bits) == bits;
}

static bool rest_grow(struct rest *rest, size_t bytes_max)
{
    uint32_t words =
        rest->filter == NULL ? (uint32_t)REST_WORDS_FIRST : 2 * (rest->filter_mask + 1);
    size_t bytes = words * sizeof *rest->filter;
    uint64_t *filter = bytes > bytes_max ? NULL : memory_resize(rest->filter, bytes);
    if (filter == NULL) {
        return false;
    }
    memset(filter, 0, bytes);
    rest->filter = filter;
    rest->filter_mask = words - 1;
    for (size_t i = 0; rest->table.entries != NULL && i <= rest->table.mask; i++) {
        const struct table_entry *entry = &rest->table.entries[i];
        if (entry->slot != TABLE_NONE) {
            filter[(entry->hash >> 20) & rest->filter_mask] |= rest_bits(entry->hash);
        }
    }
    return true;
}

static bool rest_put(struct rest *rest, uint64_t hash, uint32_t slot, size_t bytes_max)
{
    bool full =
        rest->filter == NULL || rest->table.count / REST_ENTRIES_PER_WORD > rest->filter_mask;
    if ((full && !rest_grow(rest, bytes_max)) || !table_put(&rest->table, hash, slot, bytes_max)) {
        return false;
    }
    rest->filter[(hash >> 20) & rest->filter_mask] |= rest_bits(hash);
    return true;
}

void rest_release(struct rest *rest)
{
    table_release(&rest->table);
    memory_release(rest->filter);
    *rest = (struct rest){0};
}

static uint32_t find_in(const struct linear *linear, const struct table *table,
                        struct stream_slot *slot)
{
    struct table_walk walk = table_walk_begin(table, slot->hash);
    for (uint32_t at = table_walk_next(table, &walk); at != TABLE_NONE;
         at = table_walk_next(table, &walk)) {
        if (at == HOLD_TAINTED) {
            slot->tainted = true;
            continue;
        }
        const struct stream_name *name = &linear->names[at];
        if (name->resource == slot->resource && identity_equal(&name->identity, &slot->identity)) {
            return at;
        }
    }
    return CHAIN_NO_HOLD;
}

uint32_t hold_find(const struct linear *linear, struct stream_slot *slot)
{
    slot->tainted = false;
    slot->hash = identity_hash(&slot->identity, slot->resource);
    uint32_t at = find_in(linear, &linear->by_identity, slot);
    if (rest_may_have(&linear->resting, slot->hash)) {
        uint32_t resting = find_in(linear, &linear->resting.table, slot);
        at = at == CHAIN_NO_HOLD ? resting : at;
    }
    return at;
}

static uint32_t hold_take(struct linear *linear)
{
    if (linear->hold_free != 0) {
        uint32_t at = linear->hold_free - 1;
        linear->hold_free = linear->names[at].next_free;
        return at;
    }
    if (linear->hold_count == linear->hold_room &&
        !stream_grow(linear, (void **)&linear->holds, &linear->hold_room,
                     sizeof linear->holds[0])) {
        return CHAIN_NO_HOLD;
    }
    if (linear->hold_count == linear->name_room &&
        !stream_grow(linear, (void **)&linear->names, &linear->name_room,
                     sizeof linear->names[0])) {
        return CHAIN_NO_HOLD;
    }
    return linear->hold_count++;
}

uint32_t hold_make(struct linear *linear, const struct stream_slot *slot)
{
    uint32_t at = hold_take(linear);
    if (at == CHAIN_NO_HOLD ||
        !table_put(&linear->by_identity, slot->hash, at, linear->options.bytes_max)) {
        linear->full = true;
        return CHAIN_NO_HOLD;
    }
    linear->holds[at] = hold_empty();
    linear->names[at] = (struct stream_name){
        .identity = slot->identity, .hash = slot->hash, .resource = slot->resource};
    return at;
}

/* Nothing is under way on it, but an operation of unknown outcome keeps it from being settled.
 * Where very many are under way anyway, on many locks, a second table would only be one more. */
static void hold_rest(struct linear *linear, uint32_t at)
{
    struct stream_name *name = &linear->names[at];
    if (name->resting || linear->by_identity.count > HOLDS_AWAKE_MAX) {
        return;
    }
    if (!rest_put(&linear->resting, name->hash, at, linear->options.bytes_max)) {
        linear->full = true;
        return;
    }
    table_remove(&linear->by_identity, name->hash, at);
    name->resting = true;
}

/* Remember that this identity was used, and may still take or free the lock. */
static void hold_taint(struct linear *linear, uint64_t hash)
{
    size_t bytes_max = linear->options.bytes_max;
    bool put = linear->by_identity.count > HOLDS_AWAKE_MAX
                   ? table_put(&linear->by_identity, hash, HOLD_TAINTED, bytes_max)
                   : rest_put(&linear->resting, hash, HOLD_TAINTED, bytes_max);
    linear->full = linear->full || !put;
}

void hold_drop_if_settled(struct linear *linear, uint32_t at)
{
    struct linear_hold *hold = &linear->holds[at];
    struct stream_name *name = &linear->names[at];
    bool settled = hold->released_ok || hold->grant == GRANT_NONE;
    bool uncertain = hold->released_unknown != POSITION_NEVER || hold->asked_again;
    if (hold->pending > 0) {
        return;
    }
    if (!settled) {
        if (uncertain || hold->grant == GRANT_UNKNOWN) {
            hold_rest(linear, at);
        }
        return;
    }
    if (uncertain) {
        hold_taint(linear, name->hash);
    }
    struct linear_chain *chain = &linear->keys[name->resource].chain;
    if (chain->last == at) {
        chain->last = CHAIN_NO_HOLD;
    }
    table_remove(name->resting ? &linear->resting.table : &linear->by_identity, name->hash, at);
    name->next_free = linear->hold_free;
    linear->hold_free = at + 1;
}

void hold_find_possible(struct linear *linear)
{
    const struct linear_hold *first = NULL;
    uint32_t resource = 0;
    uint64_t count = 0;
    for (uint32_t at = 0; at < linear->hold_count; at++) {
        const struct linear_hold *hold = &linear->holds[at];
        struct stream_key *key = &linear->keys[linear->names[at].resource];
        bool bound = hold->grant == GRANT_OK && hold->bound != POSITION_NEVER &&
                     hold->until > hold->bound && !hold->released_ok;
        if (!bound || key->mixed || key->chain.unclear || hold->release == CHAIN_NO_OPERATION) {
            continue;
        }
        key->possible = true;
        count++;
        if (first == NULL || hold->bound_by[0] < first->bound_by[0]) {
            first = hold;
            resource = linear->names[at].resource;
        }
    }
    if (first != NULL) {
        const uint64_t operations[3] = {first->acquire, first->release, first->bound_by[0]};
        stream_possible(linear, resource, operations, 3);
        linear->result.possible += count - 1;
    }
}
