/* linear.c: opens, feeds and closes a linearizability check; words and policies. */
#include "checker/linear/linear.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "checker/linear/settle.h"

#include <string.h>

struct linear *linear_open(const struct linear_options *options)
{
    ASSERT(options->model < LINEAR_MODELS);
    ASSERT(options->permits >= 1 && options->permits <= LINEAR_PERMITS_MAX);
    struct linear *linear = memory_resize(NULL, sizeof *linear);
    if (linear == NULL) {
        return NULL;
    }
    *linear = (struct linear){.options = *options, .now_ns = INT64_MIN};
    linear->result.operation_count = 0;
    linear->judges = stream_judges(linear);
    linear->delay_ns = 2 * options->skew_ns;
    linear->reentrant =
        options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
    linear->fenced = options->model == LINEAR_FENCED || options->model == LINEAR_REENTRANT_FENCED;
    linear->leased = options->model == LINEAR_LEASE || options->model == LINEAR_LEASE_REFRESHED;
    linear->by_value = !options->by_owner && !linear->reentrant;
    linear->log.bytes_max = options->log_bytes_max;
    return linear;
}

static bool is_judged(const struct history_event *event)
{
    return event->kind == HISTORY_OP &&
           (event->f == HISTORY_ACQUIRE || event->f == HISTORY_RELEASE ||
            event->f == HISTORY_EXTEND || event->f == HISTORY_OBSERVE);
}

void linear_event(struct linear *linear, const struct history_event *event)
{
    ASSERT(!linear->finished);
    bool unasked = event->kind == HISTORY_NOTICE || event->kind == HISTORY_LEASE;
    if (linear->full || !(is_judged(event) || unasked)) {
        return;
    }
    if (event->time_ns > linear->now_ns) {
        stream_flush(linear, event->time_ns);
        linear->now_ns = event->time_ns;
    }
    if (unasked) {
        stream_notice(linear, event);
    } else if (event->type == HISTORY_INVOKE) {
        stream_call(linear, event);
    } else {
        stream_defer(linear, event);
    }
}

/* Resources that the fast paths did not decide; *limit says why of one of them. */
static uint64_t count_left(const struct linear *linear, uint8_t *limit)
{
    uint64_t left = 0;
    for (uint32_t i = 0; i < linear->key_room; i++) {
        const struct stream_key *key = &linear->keys[i];
        if (settle_is_left(linear, i)) {
            left++;
            *limit = key->limit == LINEAR_LIMIT_NONE ? (uint8_t)LINEAR_LIMIT_MODEL : key->limit;
        }
    }
    return left;
}

/* Those that nothing decided; `all` of which no violation was found, or what was left. */
static void leave_unsettled(struct linear *linear, bool all)
{
    for (uint32_t i = 0; i < linear->key_room; i++) {
        struct stream_key *key = &linear->keys[i];
        key->unsettled = settle_is_left(linear, i) || (all && key->used && !key->violated);
    }
}

void linear_finish(struct linear *linear)
{
    ASSERT(!linear->finished);
    struct linear_result *result = &linear->result;
    stream_end(linear);
    linear->finished = true;
    bool chained = linear->judges && linear->options.model != LINEAR_MUTEX &&
                   linear->options.model != LINEAR_SEMAPHORE;
    if (chained) {
        hold_find_possible(linear);
    }
    uint64_t used = 0;
    for (uint32_t i = 0; i < linear->key_room; i++) {
        const struct stream_key *key = &linear->keys[i];
        bool told = (chained || linear->options.model == LINEAR_MUTEX) && linear->judges &&
                    key->limit == LINEAR_LIMIT_NONE;
        used += key->used ? 1 : 0;
        result->untold += key->let_go && !key->possible && !told ? 1 : 0;
    }
    uint8_t left_limit = LINEAR_LIMIT_NONE;
    uint64_t left = linear->full ? 0 : count_left(linear, &left_limit);
    result->fast_count = used - left;
    bool logged = linear->log.bytes_max > 0 && !linear->log.full;
    if (left > 0 && logged) {
        settle_resources(linear);
    } else if (left > 0) {
        result->limit = linear->log.full ? (uint8_t)LINEAR_LIMIT_LOG : left_limit;
        result->again = !linear->log.full && result->violations == 0;
        leave_unsettled(linear, false);
    }
    if (linear->full) {
        result->limit = LINEAR_LIMIT_BYTES;
        leave_unsettled(linear, true);
    }
    if (result->violations > 0) {
        result->verdict = VERDICT_FAIL;
        return;
    }
    bool passed = result->limit == LINEAR_LIMIT_NONE;
    result->verdict = !passed              ? VERDICT_UNKNOWN
                      : result->judged > 0 ? VERDICT_PASS
                                           : VERDICT_SKIPPED;
    result->grade = result->possible > 0 && passed ? GRADE_POSSIBLE : GRADE_NONE;
}

const struct linear_result *linear_result(const struct linear *linear)
{
    return &linear->result;
}

void linear_close(struct linear *linear)
{
    if (linear == NULL) {
        return;
    }
    table_release(&linear->by_process);
    table_release(&linear->by_identity);
    rest_release(&linear->resting);
    memory_release(linear->dense);
    log_release(&linear->log);
    memory_release(linear->slots);
    memory_release(linear->holds);
    memory_release(linear->names);
    memory_release(linear->turns.items);
    memory_release(linear->crowds.nodes);
    memory_release(linear->recent.blocks);
    memory_release(linear->keys);
    memory_release(linear->waiting);
    memory_release(linear->order);
    memory_release(linear);
}

size_t linear_order(const struct linear *linear, const uint64_t **invokes)
{
    *invokes = linear->order;
    return linear->order_count;
}

uint64_t linear_locks(const struct linear *linear, bool settled, uint32_t *resources, uint32_t room)
{
    uint64_t count = 0;
    ASSERT(linear->finished);
    for (uint32_t i = 0; i < linear->key_room; i++) {
        if (linear->keys[i].used && linear->keys[i].unsettled == !settled) {
            if (count < room) {
                resources[count] = i;
            }
            count++;
        }
    }
    return count;
}
