/* crowd.c: what can be said for sure about who held a semaphore when, one event at a time. */
#include "checker/linear/steps/crowd.h"

#include "base/assert.h"
#include "checker/linear/steps/stream.h"

struct crowd crowd_empty(void)
{
    return (struct crowd){.oldest = CROWD_NONE, .newest = CROWD_NONE, .last = CHAIN_NO_HOLD};
}

/* Nobody asks any more. */
static bool is_decided(const struct linear *linear, uint32_t resource)
{
    const struct stream_key *key = &linear->keys[resource];
    return key->violated || key->limit != LINEAR_LIMIT_NONE || key->chain.unclear;
}

/* ---- edges and limits ---------------------------------------------------------------------- */

static struct crowd_node *node_at(const struct linear *linear, uint32_t at)
{
    ASSERT(at < linear->crowds.count);
    return &linear->crowds.nodes[at];
}

/* Put a node behind all others. */
static uint32_t node_push(struct linear *linear, struct crowd *crowd,
                          const struct crowd_node *content)
{
    struct crowd_pool *pool = &linear->crowds;
    uint32_t at = pool->free == 0 ? pool->count : pool->free - 1;
    if (at == pool->room &&
        !stream_grow(linear, (void **)&pool->nodes, &pool->room, sizeof pool->nodes[0])) {
        return CROWD_NONE;
    }
    if (pool->free == 0) {
        pool->count++;
    } else {
        pool->free = pool->nodes[at].newer;
    }
    struct crowd_node *node = &pool->nodes[at];
    *node = *content;
    node->older = crowd->newest;
    node->newer = CROWD_NONE;
    uint32_t *link =
        crowd->newest == CROWD_NONE ? &crowd->oldest : &pool->nodes[crowd->newest].newer;
    *link = crowd->newest = at;
    return at;
}

static void node_remove(struct linear *linear, struct crowd *crowd, uint32_t at)
{
    struct crowd_node *node = node_at(linear, at);
    uint32_t *newer =
        node->older == CROWD_NONE ? &crowd->oldest : &node_at(linear, node->older)->newer;
    uint32_t *older =
        node->newer == CROWD_NONE ? &crowd->newest : &node_at(linear, node->newer)->older;
    *newer = node->newer;
    *older = node->older;
    node->newer = linear->crowds.free;
    linear->crowds.free = at + 1;
}

/* Of two limits between the same edges: whatever breaks `weak` breaks `strict`. */
static bool is_stricter(const struct crowd_node *strict, const struct crowd_node *weak)
{
    return strict->from >= weak->from && strict->room <= weak->room;
}

/* Compare a limit with the older ones behind the same edge: only the strictest stay. */
static void limit_settle(struct linear *linear, struct crowd *crowd, uint32_t at)
{
    struct crowd_node *limit = node_at(linear, at);
    uint32_t edge = limit->older;
    while (!node_at(linear, edge)->is_edge) {
        edge = node_at(linear, edge)->older;
    }
    /* What can still move began before its edge. */
    limit->from = limit->from > node_at(linear, edge)->at ? POSITION_NEVER : limit->from;
    for (uint32_t other = limit->older; other != edge;) {
        uint32_t next = node_at(linear, other)->older;
        if (is_stricter(node_at(linear, other), limit)) {
            node_remove(linear, crowd, at);
            return;
        }
        if (is_stricter(limit, node_at(linear, other))) {
            node_remove(linear, crowd, other);
        }
        other = next;
    }
}

static void limit_add(struct linear *linear, struct crowd *crowd, const struct crowd_node *limit)
{
    if (crowd->newest == CROWD_NONE) {
        return; /* nothing can move over it */
    }
    uint32_t at = node_push(linear, crowd, limit);
    if (at != CROWD_NONE) {
        limit_settle(linear, crowd, at);
    }
}

static void edge_add(struct linear *linear, struct crowd *crowd, int64_t called)
{
    struct crowd_node edge = {.at = called, .is_edge = true};
    (void)node_push(linear, crowd, &edge);
}

/* No end can move from this call any more: the limits behind it join those before it. */
static void edge_remove(struct linear *linear, struct crowd *crowd, int64_t called)
{
    uint32_t edge = crowd->newest;
    while (!node_at(linear, edge)->is_edge || node_at(linear, edge)->at != called) {
        edge = node_at(linear, edge)->older;
    }
    uint32_t at = node_at(linear, edge)->newer;
    node_remove(linear, crowd, edge);
    while (at != CROWD_NONE && !node_at(linear, at)->is_edge) {
        uint32_t next = node_at(linear, at)->newer;
        if (crowd->oldest == at) {
            node_remove(linear, crowd, at);
        } else {
            limit_settle(linear, crowd, at);
        }
        at = next;
    }
}

static void limit_tell(const struct crowd_node *limit, struct linear_finding *finding)
{
    finding_begin(finding, (enum linear_reason)limit->reason, GRADE_NOT_LINEARIZABLE);
    for (int i = 0; i < LINEAR_OPERATIONS_SHOWN; i++) {
        finding_add(finding, limit->by[i]);
    }
    finding->helped = limit->helped;
}

/* The end of a core moved from one position to another, over all limits between. */
static void ends_move(struct linear *linear, const struct crowd *crowd,
                      const struct linear_hold *hold, const struct linear_hold *before,
                      struct linear_finding *finding)
{
    uint64_t release = hold->released_ok ? hold->release : CHAIN_NO_OPERATION;
    for (uint32_t at = crowd->newest; at != CROWD_NONE; at = node_at(linear, at)->older) {
        struct crowd_node *limit = node_at(linear, at);
        if (limit->at < before->released) {
            return;
        }
        if (limit->is_edge || limit->at > hold->released || limit->from < hold->granted) {
            continue;
        }
        if (limit->room == 0) {
            limit_tell(limit, finding);
            finding_add(finding, hold->acquire);
            finding->helped = finding->helped || (release != CHAIN_NO_OPERATION &&
                                                  finding->count == LINEAR_OPERATIONS_SHOWN);
            finding_add(finding, release);
            return;
        }
        limit->room--;
        limit->helped = limit->helped || release != CHAIN_NO_OPERATION;
        for (int i = 0; i < LINEAR_OPERATIONS_SHOWN; i++) {
            if (limit->by[i] == CHAIN_NO_OPERATION) {
                limit->by[i] = hold->acquire;
                break;
            }
        }
    }
}

/* ---- open cores, by their beginnings ------------------------------------------------------- */

static void open_insert(struct linear *linear, struct crowd *crowd, uint32_t slot)
{
    struct linear_hold *hold = &linear->holds[slot];
    uint32_t newer = CHAIN_NO_HOLD;
    uint32_t older = crowd->last;
    while (older != CHAIN_NO_HOLD && linear->holds[older].granted > hold->granted) {
        newer = older;
        older = linear->holds[older].open_older;
    }
    hold->open_older = older;
    hold->open_newer = newer;
    hold->is_open = true;
    if (older != CHAIN_NO_HOLD) {
        linear->holds[older].open_newer = slot;
    }
    *(newer == CHAIN_NO_HOLD ? &crowd->last : &linear->holds[newer].open_older) = slot;
    crowd->open++;
}

static void open_remove(struct linear *linear, struct crowd *crowd, struct linear_hold *hold)
{
    if (hold->open_older != CHAIN_NO_HOLD) {
        linear->holds[hold->open_older].open_newer = hold->open_newer;
    }
    *(hold->open_newer == CHAIN_NO_HOLD ? &crowd->last
                                        : &linear->holds[hold->open_newer].open_older) =
        hold->open_older;
    hold->is_open = false;
    crowd->open--;
}

/* Open cores that began before the window must leave it a place. */
static void window_ask(struct linear *linear, uint32_t resource, struct crowd_node *window,
                       struct linear_finding *finding)
{
    struct crowd *crowd = &linear->keys[resource].crowd;
    uint32_t newest = crowd->last;
    uint32_t open = crowd->open;
    while (newest != CHAIN_NO_HOLD && linear->holds[newest].granted > window->from) {
        newest = linear->holds[newest].open_older;
        open--;
    }
    int by = 0;
    while (by < LINEAR_OPERATIONS_SHOWN && window->by[by] != CHAIN_NO_OPERATION) {
        by++;
    }
    for (uint32_t at = newest; at != CHAIN_NO_HOLD && by < LINEAR_OPERATIONS_SHOWN;
         at = linear->holds[at].open_older) {
        window->by[by++] = linear->holds[at].acquire;
    }
    if (open >= linear->options.permits) {
        limit_tell(window, finding);
        return;
    }
    window->room = linear->options.permits - 1 - open;
    limit_add(linear, crowd, window);
}

/* A hold of no length needs a place in [from, to]. */
static void ask_point(struct linear *linear, uint32_t resource, const int64_t window[2],
                      const uint64_t operations[2], struct linear_finding *finding)
{
    struct crowd_node point = {
        .at = window[1],
        .from = window[0],
        .by = {operations[0], operations[1], CHAIN_NO_OPERATION, CHAIN_NO_OPERATION},
        .reason = LINEAR_POINT_INSIDE};
    if (operations[0] == CHAIN_NO_OPERATION) {
        point.by[0] = operations[1];
        point.by[1] = CHAIN_NO_OPERATION;
    }
    window_ask(linear, resource, &point, finding);
}

/* ---- events -------------------------------------------------------------------------------- */

void crowd_grant(struct linear *linear, const struct stream_slot *slot, int64_t returned,
                 struct linear_finding *finding)
{
    struct linear_hold *hold = &linear->holds[slot->hold];
    hold->granted = returned;
    if (is_decided(linear, slot->resource)) {
        return;
    }
    if (hold->released < returned) {
        int64_t from = hold->asked > hold->released ? hold->asked : hold->released;
        ask_point(linear, slot->resource, (const int64_t[2]){from, returned},
                  (const uint64_t[2]){hold->acquire, hold->release}, finding);
        return;
    }
    struct crowd_node start = {
        .at = returned,
        .from = returned,
        .by = {hold->acquire, CHAIN_NO_OPERATION, CHAIN_NO_OPERATION, CHAIN_NO_OPERATION},
        .reason = LINEAR_TOO_MANY};
    window_ask(linear, slot->resource, &start, finding);
    hold->in_chain = true;
    open_insert(linear, &linear->keys[slot->resource].crowd, slot->hold);
}

void crowd_release_called(struct linear *linear, struct stream_slot *slot)
{
    struct linear_hold *hold = &linear->holds[slot->hold];
    struct crowd *crowd = &linear->keys[slot->resource].crowd;
    if (!hold->in_chain || hold->released_ok || is_decided(linear, slot->resource)) {
        return;
    }
    slot->edge = true;
    edge_add(linear, crowd, slot->called);
    if (hold->is_open) {
        open_remove(linear, crowd, hold);
    }
}

/* Of the releases of a core, only those under way and the first unknown one are edges. */
static void remove_edges(struct linear *linear, const struct stream_slot *slot,
                         const struct linear_hold *before)
{
    const struct linear_hold *hold = &linear->holds[slot->hold];
    struct crowd *crowd = &linear->keys[slot->resource].crowd;
    bool unknown = !before->released_ok && !hold->released_ok &&
                   hold->released_unknown != before->released_unknown;
    bool replaced = !before->released_ok && (hold->released_ok || unknown) &&
                    before->released_unknown != POSITION_NEVER;
    if (slot->edge && !unknown) {
        edge_remove(linear, crowd, slot->called);
    }
    if (replaced) {
        edge_remove(linear, crowd, before->released_unknown);
    }
}

void crowd_release_returned(struct linear *linear, const struct stream_slot *slot,
                            const struct linear_hold *before, const struct linear_moment *release,
                            struct linear_finding *finding)
{
    struct linear_hold *hold = &linear->holds[slot->hold];
    struct stream_key *key = &linear->keys[slot->resource];
    if (is_decided(linear, slot->resource) || finding->reason != LINEAR_LEGAL) {
        return;
    }
    if (hold->in_chain) {
        if (hold->released > before->released) {
            ends_move(linear, &key->crowd, hold, before, finding);
        }
        if (hold->released == POSITION_NEVER && finding->reason == LINEAR_LEGAL) {
            open_insert(linear, &key->crowd, slot->hold);
        }
        remove_edges(linear, slot, before);
    } else if (hold->granted != POSITION_NEVER && !before->released_ok) {
        /* Its place was asked for with another release in mind. */
        key->chain.unclear = key->chain.unclear || hold->released != before->released;
    } else if (hold->released_ok && !before->released_ok) {
        int64_t from = hold->asked > release->called ? hold->asked : release->called;
        ask_point(linear, slot->resource, (const int64_t[2]){from, release->returned},
                  (const uint64_t[2]){hold->acquire, release->invoke}, finding);
    }
}
