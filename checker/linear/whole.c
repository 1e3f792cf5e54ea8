/* whole.c: hands each resource's operations to the algorithm that can decide them. */
#include "checker/linear/whole.h"

#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/frontier.h"
#include "checker/linear/order.h"

static enum whole_verdict judge(struct whole *whole, struct linear_result *result)
{
    enum linear_engine engine = whole->options->engine;
    enum whole_verdict verdict = WHOLE_NOT_FOR_ME;
    if (engine != LINEAR_ENGINE_FRONTIER) {
        verdict = whole_fast_judge(whole);
    }
    if (verdict == WHOLE_NOT_FOR_ME && engine == LINEAR_ENGINE_FAST) {
        whole->limit = LINEAR_LIMIT_MODEL;
        return WHOLE_UNKNOWN;
    }
    if (verdict != WHOLE_NOT_FOR_ME) {
        result->fast_count++;
        return verdict;
    }
    result->frontier_count++;
    verdict = whole->options->model == LINEAR_LEASE ? lease_judge(whole) : frontier_judge(whole);
    if (whole->frontier_peak > result->frontier_peak) {
        result->frontier_peak = whole->frontier_peak;
    }
    return verdict;
}

static bool order_ready(struct linear *linear, size_t count)
{
    if (!linear->options.order) {
        return true;
    }
    size_t bytes = (linear->order_count + count + 1) * sizeof *linear->order;
    uint64_t *grown = memory_resize(linear->order, bytes);
    if (grown == NULL) {
        return false;
    }
    linear->order = grown;
    return true;
}

static void judge_resource(struct linear *linear, size_t begin, size_t end)
{
    struct operation *operations = &linear->log.operations[begin];
    uint32_t resource = operations->resource;
    struct whole whole = {
        .options = &linear->options, .operations = operations, .count = end - begin};
    struct arena arena = arena_empty(linear->options.bytes_max);
    bool ready = order_ready(linear, whole.count);
    if (linear->options.order && ready) {
        whole.order = arena_take(&arena, (whole.count + 1) * sizeof *whole.order);
        ready = whole.order != NULL;
    }
    enum whole_verdict verdict = ready ? judge(&whole, &linear->result) : WHOLE_UNKNOWN;
    if (verdict == WHOLE_ILLEGAL) {
        ASSERT(whole.finding.reason != LINEAR_LEGAL);
        linear->keys[resource].limit = LINEAR_LIMIT_NONE;
        stream_find(linear, resource, &whole.finding);
    } else if (verdict == WHOLE_UNKNOWN) {
        linear->result.limit = ready ? whole.limit : (uint8_t)LINEAR_LIMIT_BYTES;
    }
    if (verdict == WHOLE_LEGAL && whole.order_count > 0) {
        ASSERT(order_holds(&whole));
    }
    for (size_t i = 0; i < whole.order_count && verdict == WHOLE_LEGAL; i++) {
        linear->order[linear->order_count++] = operations[whole.order[i]].invoke;
    }
    arena_release(&arena);
}

static bool is_left(const struct linear *linear, uint32_t resource)
{
    const struct stream_key *key = &linear->keys[resource];
    bool all = !linear->judges || linear->options.order;
    return !key->violated && (all || key->limit != LINEAR_LIMIT_NONE);
}

void whole_judge_all(struct linear *linear)
{
    struct log *log = &linear->log;
    log_sort(log);
    size_t begin = 0;
    while (begin < log->count) {
        uint32_t resource = log->operations[begin].resource;
        size_t end = begin;
        while (end < log->count && log->operations[end].resource == resource) {
            end++;
        }
        if (is_left(linear, resource)) {
            judge_resource(linear, begin, end);
        }
        begin = end;
    }
}
