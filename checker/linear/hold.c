/* hold.c: the live holds of a history by resource and identity. */
#include "checker/linear/stream.h"

#include "base/assert.h"

bool stream_is_reentrant(const struct linear *linear)
{
    return linear->options.model == LINEAR_REENTRANT ||
           linear->options.model == LINEAR_REENTRANT_FENCED;
}

bool stream_judges(const struct linear *linear)
{
    if (linear->options.engine == LINEAR_ENGINE_FRONTIER) {
        return false;
    }
    switch ((enum linear_model)linear->options.model) {
    case LINEAR_MUTEX:
    case LINEAR_OWNER:
    case LINEAR_REENTRANT:
    case LINEAR_FENCED:
    case LINEAR_REENTRANT_FENCED:
    case LINEAR_LEASE:
        return true;
    case LINEAR_LEASE_EXACT:
    case LINEAR_SEMAPHORE:
    case LINEAR_MODELS:
        return false;
    }
    UNREACHABLE();
}

uint32_t hold_find(const struct linear *linear, struct stream_slot *slot)
{
    slot->tainted = false;
    slot->hash = identity_hash(&slot->identity, slot->resource);
    struct table_walk walk = table_walk_begin(&linear->by_identity, slot->hash);
    for (uint32_t at = table_walk_next(&linear->by_identity, &walk); at != TABLE_NONE;
         at = table_walk_next(&linear->by_identity, &walk)) {
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

void hold_drop_if_settled(struct linear *linear, uint32_t at)
{
    struct linear_hold *hold = &linear->holds[at];
    bool settled = hold->released_ok || hold->grant == GRANT_NONE;
    if (!settled || hold->pending > 0) {
        return;
    }
    struct stream_name *name = &linear->names[at];
    bool uncertain = hold->released_unknown != POSITION_NEVER || hold->asked_again;
    if (uncertain &&
        !table_put(&linear->by_identity, name->hash, HOLD_TAINTED, linear->options.bytes_max)) {
        linear->full = true;
    }
    struct linear_chain *chain = &linear->keys[name->resource].chain;
    if (chain->last == at) {
        chain->last = CHAIN_NO_HOLD;
    }
    table_remove(&linear->by_identity, name->hash, at);
    name->next_free = linear->hold_free;
    linear->hold_free = at + 1;
}
