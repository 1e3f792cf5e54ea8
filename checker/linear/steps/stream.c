/* stream.c: pairs invokes with their ends, calls before returns of the same time. */
#include "checker/linear/steps/stream.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

bool stream_grow(struct linear *linear, void **items, uint32_t *room, size_t item_bytes)
{
    uint32_t grown_room = *room == 0 ? 64 : *room + *room / 2;
    size_t more = (size_t)(grown_room - *room) * item_bytes;
    void *grown = NULL;
    if (linear->bytes + more <= linear->options.bytes_max) {
        grown = memory_resize(*items, grown_room * item_bytes);
    }
    if (grown == NULL) {
        linear->full = true;
        return false;
    }
    memset((char *)grown + *room * item_bytes, 0, more);
    linear->bytes += more;
    *items = grown;
    *room = grown_room;
    return true;
}

/* Name the operations that the result is about, in the order of their invokes. */
static void result_name(struct linear_result *result, uint32_t resource, const uint64_t *operations,
                        uint8_t count)
{
    result->resource = resource;
    result->operation_count = 0;
    for (uint8_t i = 0; i < count; i++) {
        uint8_t at = result->operation_count++;
        while (at > 0 && result->operations[at - 1] > operations[i]) {
            result->operations[at] = result->operations[at - 1];
            at--;
        }
        result->operations[at] = operations[i];
    }
}

void stream_find(struct linear *linear, uint32_t resource, const struct linear_finding *finding)
{
    struct stream_key *key = &linear->keys[resource];
    struct linear_result *result = &linear->result;
    if (finding->reason == LINEAR_LEGAL || key->limit != LINEAR_LIMIT_NONE) {
        return;
    }
    key->violated = true;
    result->violations++;
    if (result->violations > 1) {
        return;
    }
    result->reason = finding->reason;
    result->grade = finding->grade;
    result->helped = finding->helped;
    result_name(result, resource, finding->operations, finding->count);
}

void stream_possible(struct linear *linear, uint32_t resource, const uint64_t *operations,
                     uint8_t count)
{
    struct linear_result *result = &linear->result;
    if (linear->keys[resource].mixed) {
        return;
    }
    linear->keys[resource].possible = true;
    result->possible++;
    if (result->possible == 1 && result->violations == 0) {
        result_name(result, resource, operations, count);
    }
}

void stream_limit(struct linear *linear, uint32_t resource, enum linear_limit limit)
{
    linear->keys[resource].mixed |= limit != LINEAR_LIMIT_MODEL;
    if (linear->keys[resource].limit == LINEAR_LIMIT_NONE) {
        linear->keys[resource].limit = (uint8_t)limit;
    }
}

static bool stream_key_ready(struct linear *linear, uint32_t resource)
{
    while (resource >= linear->key_room) {
        uint32_t first = linear->key_room;
        if (!stream_grow(linear, (void **)&linear->keys, &linear->key_room,
                         sizeof linear->keys[0])) {
            return false;
        }
        for (uint32_t i = first; i < linear->key_room; i++) {
            if (linear->options.model == LINEAR_MUTEX) {
                linear->keys[i].turns = turns_empty();
            } else {
                linear->keys[i].chain = chain_empty();
                linear->keys[i].crowd = crowd_empty();
            }
        }
    }
    linear->keys[resource].used = true;
    return true;
}

static uint64_t process_hash(int32_t process)
{
    return table_mix((uint64_t)(uint32_t)process + 1);
}

/* Bind a process to its operation under way. */
static bool process_bind(struct linear *linear, int32_t process, uint32_t slot)
{
    if (process < 0 || process >= STREAM_PROCESSES_DENSE) {
        return table_put(&linear->by_process, process_hash(process), slot,
                         linear->options.bytes_max);
    }
    while ((uint32_t)process >= linear->dense_room) {
        if (!stream_grow(linear, (void **)&linear->dense, &linear->dense_room,
                         sizeof linear->dense[0])) {
            return false;
        }
    }
    linear->dense[process] = slot + 1;
    return true;
}

/* Give the process's operation under way, which ends; TABLE_NONE if there is none. */
static uint32_t process_unbind(struct linear *linear, int32_t process)
{
    if (process >= 0 && process < STREAM_PROCESSES_DENSE) {
        if ((uint32_t)process >= linear->dense_room || linear->dense[process] == 0) {
            return TABLE_NONE;
        }
        uint32_t slot = linear->dense[process] - 1;
        linear->dense[process] = 0;
        return slot;
    }
    struct table_walk walk = table_walk_begin(&linear->by_process, process_hash(process));
    uint32_t slot = table_walk_next(&linear->by_process, &walk);
    while (slot != TABLE_NONE && linear->slots[slot].process != process) {
        slot = table_walk_next(&linear->by_process, &walk);
    }
    if (slot != TABLE_NONE) {
        table_remove(&linear->by_process, process_hash(process), slot);
    }
    return slot;
}

bool stream_has_touched(const struct linear *linear, const struct stream_slot *slot)
{
    for (uint32_t i = 0; i < linear->waiting_count; i++) {
        const struct stream_slot *other = &linear->slots[linear->waiting[i].slot];
        if (other->process == slot->process && other->f == HISTORY_RELEASE &&
            other->resource == slot->resource) {
            return true;
        }
    }
    return false;
}

static uint32_t slot_take(struct linear *linear)
{
    if (linear->slot_free != 0) {
        uint32_t slot = linear->slot_free - 1;
        linear->slot_free = linear->slots[slot].hold;
        return slot;
    }
    if (linear->slot_count == linear->slot_room &&
        !stream_grow(linear, (void **)&linear->slots, &linear->slot_room,
                     sizeof linear->slots[0])) {
        return TABLE_NONE;
    }
    return linear->slot_count++;
}

static void slot_give(struct linear *linear, uint32_t slot)
{
    linear->slots[slot].used = false;
    linear->slots[slot].hold = linear->slot_free;
    linear->slot_free = slot + 1;
}

static int64_t time_clamped(int64_t time_ns)
{
    int64_t low = time_ns < -LINEAR_TIME_MAX ? -LINEAR_TIME_MAX : time_ns;
    return low > LINEAR_TIME_MAX ? LINEAR_TIME_MAX : low;
}

/* Who the operation is for. A process answers only for operations that name nobody. */
static bool identity_of(const struct linear *linear, const struct history_event *event,
                        struct identity *identity)
{
    bool by_value = linear->by_value && (event->flags & HISTORY_HAS_VALUE) != 0;
    bool by_owner = !by_value && (event->flags & HISTORY_HAS_OWNER) != 0;
    bool seen = (event->flags & HISTORY_SEEN_PROCESS) != 0;
    int32_t process = seen ? (int32_t)event->number[0] : event->process;
    *identity = (struct identity){.words = {(uint64_t)(uint32_t)process, 0, 1}};
    if (by_value || by_owner) {
        const struct history_value *name = by_value ? &event->value : &event->owner;
        uint32_t tail = 0;
        memcpy(&identity->words[0], name->bytes, 8);
        memcpy(&identity->words[1], name->bytes + 8, 8);
        memcpy(&tail, name->bytes + 16, 4);
        identity->words[2] = (uint64_t)tail << 8 | (by_value ? 2 : 3);
    }
    return by_value || by_owner || seen;
}

void stream_call(struct linear *linear, const struct history_event *event)
{
    uint32_t at = slot_take(linear);
    if (at == TABLE_NONE || !stream_key_ready(linear, event->resource) ||
        !process_bind(linear, event->process, at)) {
        linear->full = true;
        return;
    }
    struct stream_slot *slot = &linear->slots[at];
    *slot = (struct stream_slot){.invoke = event->index,
                                 .called = position_of_call(time_clamped(event->time_ns)),
                                 .resource = event->resource,
                                 .hold = CHAIN_NO_HOLD,
                                 .process = event->process,
                                 .f = event->f,
                                 .used = true};
    bool named = identity_of(linear, event, &slot->identity);
    /* An acquire may learn its value, or its owner's name, only when it is granted. */
    slot->identified = named || event->f != HISTORY_ACQUIRE;
    linear->result.judged++;
    if (linear->judges) {
        stream_judge_call(linear, at);
    }
}

/* A failure for another cause (it was never sent, it took too long) tells nothing of the lock. */
static bool failure_says(const struct linear_options *options, uint8_t f, uint8_t cause)
{
    if (f == HISTORY_RELEASE || f == HISTORY_EXTEND) {
        return options->failed_release == LINEAR_RELEASE_NOT_HELD &&
               (cause == CAUSE_NONE || cause == CAUSE_NOT_HOLDING);
    }
    return f == HISTORY_ACQUIRE && options->refused_acquire == LINEAR_REFUSED_HELD &&
           (cause == CAUSE_NONE || cause == CAUSE_NO_QUORUM);
}

uint8_t stream_kind(const struct stream_slot *slot, const struct stream_return *returned)
{
    bool ok = returned->type == HISTORY_OK;
    bool unknown = returned->type == HISTORY_INFO;
    if (slot->f == HISTORY_ACQUIRE) {
        return ok               ? OPERATION_TAKE
               : unknown        ? OPERATION_MAYBE_TAKE
               : returned->says ? OPERATION_BUSY
                                : OPERATION_NONE;
    }
    if (slot->f == HISTORY_RELEASE) {
        return ok               ? OPERATION_FREE
               : unknown        ? OPERATION_MAYBE_FREE
               : returned->says ? OPERATION_NOT_HELD
                                : OPERATION_NONE;
    }
    if (slot->f == HISTORY_EXTEND) {
        return ok               ? OPERATION_EXTEND
               : unknown        ? OPERATION_MAYBE_EXTEND
               : returned->says ? OPERATION_NOT_HELD
                                : OPERATION_NONE;
    }
    if (slot->f != HISTORY_OBSERVE || !ok) {
        return OPERATION_NONE;
    }
    return returned->named  ? OPERATION_SEEN_OWNER
           : returned->held ? OPERATION_SEEN_HELD
                            : OPERATION_SEEN_FREE;
}

/* The promised end that follows from the request. */
static int64_t until_asked(const struct linear *linear, const struct stream_slot *slot)
{
    const struct linear_options *options = &linear->options;
    return linear->leased && options->ttl_ns > 0
               ? slot->called + 2 * (options->ttl_ns - options->drift_ns)
               : POSITION_NEVER;
}

static int64_t until_of(const struct linear *linear, const struct stream_slot *slot,
                        const struct history_event *event)
{
    bool told = (event->flags & HISTORY_HAS_UNTIL) != 0 && event->until_ns < LINEAR_TIME_MAX;
    return linear->leased && told ? position_of_call(time_clamped(event->until_ns))
                                  : until_asked(linear, slot);
}

/* An extension is an operation of its own where it proves a hold; of a `lease` it moves an end
 * (settle.c). Only tokens count where nobody holds anything. */
static bool is_kept(const struct linear *linear, uint8_t f, uint8_t kind)
{
    uint8_t model = linear->options.model;
    bool extends = model == LINEAR_LEASE_EXACT || model == LINEAR_LEASE_REFRESHED ||
                   (model == LINEAR_LEASE && kind == OPERATION_EXTEND);
    bool takes = kind == OPERATION_TAKE || kind == OPERATION_MAYBE_TAKE;
    bool says_nothing = kind == OPERATION_NONE || (f == HISTORY_EXTEND && !extends) ||
                        (kind == OPERATION_MAYBE_EXTEND && model == LINEAR_LEASE_REFRESHED);
    return !says_nothing && (takes || model != LINEAR_TOKENS);
}

static void log_return(struct linear *linear, const struct stream_slot *slot,
                       const struct stream_return *returned)
{
    uint8_t kind = stream_kind(slot, returned);
    if (kind == OPERATION_NONE && slot->f == HISTORY_RELEASE) {
        struct ask ask = {.called = slot->called,
                          .returned = returned->returned,
                          .resource = slot->resource,
                          .name = log_identity(&linear->log, &slot->identity)};
        log_ask(&linear->log, &ask);
    }
    if (!is_kept(linear, slot->f, kind)) {
        return;
    }
    bool unknown = kind == OPERATION_MAYBE_TAKE || kind == OPERATION_MAYBE_FREE ||
                   kind == OPERATION_MAYBE_EXTEND;
    struct operation operation = {
        .called = slot->called,
        .returned = unknown ? POSITION_NEVER : returned->returned,
        .fence = returned->fence,
        .until = returned->until,
        .promised = returned->until,
        .invoke = slot->invoke,
        .resource = slot->resource,
        .identity = log_identity(&linear->log, &slot->identity),
        .kind = kind,
        .nameless = kind == OPERATION_MAYBE_TAKE && !slot->identified && !returned->named,
    };
    operation.name = operation.identity;
    if (linear->leased) {
        operation.told = INT64_MIN; /* never; a lease has no fence */
    }
    log_add(&linear->log, &operation);
}

static void stream_return(struct linear *linear, struct stream_return *returned)
{
    struct stream_slot *slot = &linear->slots[returned->slot];
    if (returned->named && (!slot->identified || slot->f == HISTORY_OBSERVE)) {
        slot->identity = returned->identity;
    }
    if (linear->log.bytes_max > 0) {
        log_return(linear, slot, returned);
        returned->logged = linear->log.count > UINT32_MAX ? 0 : (uint32_t)linear->log.count;
    }
    slot->over = true;
    linear->keys[slot->resource].let_go |=
        slot->f == HISTORY_RELEASE && returned->type == HISTORY_INFO;
    if (linear->judges) {
        stream_judge_return(linear, returned);
    }
    slot_give(linear, returned->slot);
}

void stream_defer(struct linear *linear, const struct history_event *event)
{
    uint32_t at = process_unbind(linear, event->process);
    if (at == TABLE_NONE) {
        return;
    }
    if (linear->waiting_count == linear->waiting_room &&
        !stream_grow(linear, (void **)&linear->waiting, &linear->waiting_room,
                     sizeof linear->waiting[0])) {
        return;
    }
    const struct stream_slot *slot = &linear->slots[at];
    struct stream_return *returned = &linear->waiting[linear->waiting_count++];
    *returned = (struct stream_return){
        .returned = position_of_return(time_clamped(event->time_ns + linear->delay_ns)),
        .until = until_of(linear, slot, event),
        .fence = event->fence,
        .slot = at,
        .type = event->type,
        .held = event->version != 0,
        .says = failure_says(&linear->options, slot->f, event->cause),
    };
    if (!slot->identified || slot->f == HISTORY_OBSERVE) {
        returned->named = identity_of(linear, event, &returned->identity);
    }
    bool forgiven = event->type == HISTORY_FAIL && slot->f == HISTORY_RELEASE &&
                    linear->options.failed_release == LINEAR_RELEASE_DONE &&
                    event->cause != CAUSE_NOT_HOLDING;
    if (forgiven) {
        returned->type = HISTORY_OK;
    }
}

void stream_flush(struct linear *linear, int64_t now_ns)
{
    uint32_t first = 0;
    int64_t now = position_of_call(time_clamped(now_ns));
    while (first < linear->waiting_count && linear->waiting[first].returned < now &&
           !linear->full) {
        stream_return(linear, &linear->waiting[first++]);
    }
    linear->waiting_count -= first;
    if (linear->waiting_count > 0 && first > 0) {
        memmove(linear->waiting, linear->waiting + first,
                linear->waiting_count * sizeof linear->waiting[0]);
    }
}

/* The log must know, too. */
static void log_told(struct linear *linear, const struct linear_hold *hold, int64_t position)
{
    if (hold->logged > 0 && !linear->log.full) {
        ASSERT(hold->logged <= linear->log.count);
        linear->log.operations[hold->logged - 1].until = hold->until;
        linear->log.operations[hold->logged - 1].told = position;
    }
}

void stream_notice(struct linear *linear, const struct history_event *event)
{
    struct stream_slot named = {.resource = event->resource};
    if (!linear->leased || event->resource >= linear->key_room) {
        return;
    }
    (void)identity_of(linear, event, &named.identity);
    uint32_t slot = hold_find(linear, &named);
    if (slot == CHAIN_NO_HOLD) {
        return;
    }
    bool lost = event->kind == HISTORY_NOTICE;
    int64_t until = position_of_call(time_clamped(lost ? event->time_ns : event->until_ns));
    struct linear_hold *hold = &linear->holds[slot];
    struct linear_moment moment = {.invoke = CHAIN_NO_OPERATION,
                                   .called = until,
                                   .returned = until,
                                   .until = lost && hold->until < until ? hold->until : until};
    struct linear_finding finding = {0};
    chain_until(hold, &moment, &finding);
    log_told(linear, hold, position_of_call(time_clamped(event->time_ns)));
    stream_find(linear, event->resource, &finding);
}

void stream_end(struct linear *linear)
{
    stream_flush(linear, INT64_MAX);
    for (uint32_t i = 0; i < linear->slot_count && !linear->full; i++) {
        if (linear->slots[i].used) {
            struct stream_return open = {.returned = POSITION_NEVER,
                                         .until = until_asked(linear, &linear->slots[i]),
                                         .slot = i,
                                         .type = HISTORY_INFO};
            stream_return(linear, &open);
        }
    }
}
