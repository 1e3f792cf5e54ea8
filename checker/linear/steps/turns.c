/* turns.c: acquires and releases take turns; early operations wait to learn which they were. */
#include "checker/linear/steps/turns.h"

#include "base/assert.h"
#include "checker/linear/steps/stream.h"

enum { SIDE_ACQUIRE, SIDE_RELEASE };

/* One lock's early operations of one side, and where to find them. */
struct queue {
    struct linear *linear;
    uint32_t resource;
    struct turns_side *side;
    bool releases;
};

struct turns turns_empty(void)
{
    struct turns_side empty = {.first = TURNS_NONE, .last = TURNS_NONE};
    return (struct turns){.sides = {empty, empty}, .happened = {.invoke = CHAIN_NO_OPERATION}};
}

static struct queue queue_of(struct linear *linear, uint32_t resource, int side)
{
    return (struct queue){.linear = linear,
                          .resource = resource,
                          .side = &linear->keys[resource].turns.sides[side],
                          .releases = side == SIDE_RELEASE};
}

static struct turns_early *early_at(const struct queue *queue, uint32_t at)
{
    ASSERT(at < queue->linear->turns.count);
    return &queue->linear->turns.items[at];
}

static void queue_push(struct queue *queue, const struct turns_early *early)
{
    struct turns_pool *pool = &queue->linear->turns;
    uint32_t at = pool->free == 0 ? pool->count : pool->free - 1;
    if (at == pool->room &&
        !stream_grow(queue->linear, (void **)&pool->items, &pool->room, sizeof pool->items[0])) {
        return;
    }
    if (pool->free == 0) {
        pool->count++;
    } else {
        pool->free = pool->items[at].next;
    }
    pool->items[at] = *early;
    struct turns_side *side = queue->side;
    uint32_t *link = side->early == 0 ? &side->first : &early_at(queue, side->last)->next;
    *link = side->last = at;
    side->early++;
}

/* Remove the early operation behind `before` (TURNS_NONE: the first). */
static void queue_remove(struct queue *queue, uint32_t before)
{
    struct turns_side *side = queue->side;
    uint32_t *link = before == TURNS_NONE ? &side->first : &early_at(queue, before)->next;
    uint32_t at = *link;
    struct turns_early *early = early_at(queue, at);
    *link = early->next;
    uint32_t *gap =
        early->next == TURNS_NONE ? &side->unknown : &early_at(queue, early->next)->unknown;
    *gap += early->unknown;
    side->last = side->last == at ? before : side->last;
    side->early--;
    early->next = queue->linear->turns.free;
    queue->linear->turns.free = at + 1;
}

/* An early operation up to `end` (TURNS_NONE: the newest of all) was of unknown outcome: the one
 * called last of those that can be it. */
static void use_unknown(struct queue *queue, uint32_t end, const struct turns_early *late)
{
    uint32_t *latest = NULL;
    for (uint32_t at = queue->side->first; at != TURNS_NONE; at = early_at(queue, at)->next) {
        struct turns_early *early = early_at(queue, at);
        latest = early->unknown > 0 ? &early->unknown : latest;
        if (at == end) {
            break;
        }
    }
    if (end == TURNS_NONE && queue->side->unknown > 0) {
        latest = &queue->side->unknown;
    }
    if (latest == NULL) {
        recent_find(queue->linear, queue->resource,
                    queue->linear->keys[queue->resource].turns.recent,
                    (const struct recent_operation[2]){late->due, late->before});
        return;
    }
    --*latest;
    if (queue->releases) {
        stream_possible(queue->linear, queue->resource,
                        (const uint64_t[2]){late->before.invoke, late->due.invoke}, 2);
    }
}

/* One operation must have happened before `early.due` returned. */
static void happen_early(struct queue *queue, struct turns_early early)
{
    struct turns_side *side = queue->side;
    ASSERT(side->early <= side->pending);
    if (side->early == side->pending) {
        use_unknown(queue, TURNS_NONE, &early);
        return;
    }
    early.pending = side->pending;
    early.unknown = side->unknown;
    side->unknown = 0;
    queue_push(queue, &early);
}

/* An operation called at `called` returned ok. True if it was an early one: of those behind its
 * call the first. */
static bool was_early(struct queue *queue, int64_t called)
{
    uint32_t before = TURNS_NONE, found_behind = TURNS_NONE;
    bool found = false;
    for (uint32_t at = queue->side->first; at != TURNS_NONE;
         before = at, at = early_at(queue, at)->next) {
        struct turns_early *early = early_at(queue, at);
        if (early->due.returned > called) {
            found_behind = found ? found_behind : before;
            found = true;
            early->pending--;
        }
    }
    if (found) {
        queue_remove(queue, found_behind);
    }
    return found;
}

/* An operation called at `called` was refused, or its outcome stays unknown: one early operation
 * may now find none under way. */
static void withdraw(struct queue *queue, int64_t called, bool unknown)
{
    uint32_t before = TURNS_NONE, short_behind = TURNS_NONE, short_at = TURNS_NONE;
    uint32_t place = 0;
    uint32_t *gap = NULL;
    for (uint32_t at = queue->side->first; at != TURNS_NONE;
         before = at, at = early_at(queue, at)->next) {
        struct turns_early *early = early_at(queue, at);
        place++;
        if (early->due.returned < called) {
            continue;
        }
        gap = gap == NULL ? &early->unknown : gap;
        early->pending--;
        if (early->pending < place && short_at == TURNS_NONE) {
            short_at = at;
            short_behind = before;
        }
    }
    gap = gap == NULL ? &queue->side->unknown : gap;
    *gap += unknown ? 1 : 0;
    if (short_at != TURNS_NONE) {
        struct turns_early early = *early_at(queue, short_at);
        use_unknown(queue, short_at, &early);
        queue_remove(queue, short_behind);
    }
}

static void happen(struct linear *linear, uint32_t resource, const struct recent_operation *due)
{
    struct turns *turns = &linear->keys[resource].turns;
    bool acquire = due->kind == OPERATION_TAKE;
    if (turns->locked == acquire) {
        struct queue opposite = queue_of(linear, resource, acquire ? SIDE_RELEASE : SIDE_ACQUIRE);
        struct turns_early early = {.due = *due, .before = turns->happened, .next = TURNS_NONE};
        happen_early(&opposite, early);
    }
    turns->locked = acquire;
    turns->happened = *due;
}

void turns_call(struct linear *linear, const struct stream_slot *slot)
{
    if (slot->f == HISTORY_ACQUIRE || slot->f == HISTORY_RELEASE) {
        int side = slot->f == HISTORY_ACQUIRE ? SIDE_ACQUIRE : SIDE_RELEASE;
        linear->keys[slot->resource].turns.sides[side].pending++;
    }
}

void turns_return(struct linear *linear, const struct stream_slot *slot,
                  const struct stream_return *returned)
{
    struct stream_key *key = &linear->keys[slot->resource];
    uint8_t kind =
        slot->f == HISTORY_EXTEND ? (uint8_t)OPERATION_NONE : stream_kind(slot, returned);
    if (operation_kind_observes(kind)) {
        stream_limit(linear, slot->resource, LINEAR_LIMIT_MODEL);
    }
    bool acquire = slot->f == HISTORY_ACQUIRE;
    bool moves = acquire || slot->f == HISTORY_RELEASE;
    if (!moves || key->violated || key->limit != LINEAR_LIMIT_NONE) {
        return;
    }
    struct queue own = queue_of(linear, slot->resource, acquire ? SIDE_ACQUIRE : SIDE_RELEASE);
    bool ok = kind == OPERATION_TAKE || kind == OPERATION_FREE;
    struct recent_operation ended = {.called = slot->called,
                                     .returned = ok ? returned->returned : POSITION_NEVER,
                                     .invoke = slot->invoke,
                                     .kind = kind};
    own.side->pending--;
    /* A block begins with how it found the lock. */
    if (key->turns.recent == 0 && key->turns.happened.invoke != CHAIN_NO_OPERATION) {
        recent_add(linear, &key->turns.recent, &key->turns.happened);
    }
    if (kind != OPERATION_NONE) {
        recent_add(linear, &key->turns.recent, &ended);
    }
    if (!ok) {
        withdraw(&own, slot->called, kind != OPERATION_NONE);
    } else if (!was_early(&own, slot->called)) {
        happen(linear, slot->resource, &ended);
    }
    if (key->turns.sides[0].pending + key->turns.sides[1].pending == 0) {
        recent_forget(linear, &key->turns.recent, &key->turns.happened);
    }
}
