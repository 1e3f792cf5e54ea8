/* linear.c: opens, feeds and closes a linearizability check; words and policies. */
#include "checker/linear/linear.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "checker/linear/whole.h"

#include <string.h>

struct linear_options linear_options_default(enum linear_model model)
{
    return (struct linear_options){
        .model = (uint8_t)model,
        .failed_release = LINEAR_RELEASE_NOTHING,
        .refused_acquire = LINEAR_REFUSED_NOTHING,
        .engine = LINEAR_ENGINE_AUTO,
        .permits = 1,
        .bytes_max = 4 * GIBIBYTE,
    };
}

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
    linear->reentrant =
        options->model == LINEAR_REENTRANT || options->model == LINEAR_REENTRANT_FENCED;
    linear->fenced = options->model == LINEAR_FENCED || options->model == LINEAR_REENTRANT_FENCED;
    linear->leased = options->model == LINEAR_LEASE;
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
        stream_flush(linear);
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
        bool all = !linear->judges || linear->options.order;
        if (key->used && !key->violated && (all || key->limit != LINEAR_LIMIT_NONE)) {
            left++;
            *limit = key->limit == LINEAR_LIMIT_NONE ? (uint8_t)LINEAR_LIMIT_MODEL : key->limit;
        }
    }
    return left;
}

void linear_finish(struct linear *linear)
{
    ASSERT(!linear->finished);
    struct linear_result *result = &linear->result;
    stream_end(linear);
    linear->finished = true;
    uint64_t used = 0;
    for (uint32_t i = 0; i < linear->key_room; i++) {
        used += linear->keys[i].used ? 1 : 0;
    }
    uint8_t left_limit = LINEAR_LIMIT_NONE;
    uint64_t left = linear->full ? 0 : count_left(linear, &left_limit);
    result->fast_count = used - left;
    bool logged = linear->log.bytes_max > 0 && !linear->log.full;
    if (left > 0 && logged) {
        whole_judge_all(linear);
    } else if (left > 0) {
        result->limit = linear->log.full ? (uint8_t)LINEAR_LIMIT_LOG : left_limit;
        result->again = !linear->log.full && result->violations == 0;
    }
    if (linear->full) {
        result->limit = LINEAR_LIMIT_BYTES;
    }
    if (result->violations > 0) {
        result->verdict = VERDICT_FAIL;
        return;
    }
    bool passed = result->limit == LINEAR_LIMIT_NONE;
    result->verdict = !passed              ? VERDICT_UNKNOWN
                      : result->judged > 0 ? VERDICT_PASS
                                           : VERDICT_NOTHING;
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

/* ---- words --------------------------------------------------------------------------------- */

static const char *const model_names[] = {
#define X(name, word) word,
    LINEAR_MODEL_MAP(X)
#undef X
};

static const char *const reason_sentences[] = {
#define X(name, sentence) sentence,
    LINEAR_REASON_MAP(X)
#undef X
};

static const char *const limit_sentences[] = {
#define X(name, sentence) sentence,
    LINEAR_LIMIT_MAP(X)
#undef X
};

static const char *const release_words[] = {
#define X(name, word) word,
    LINEAR_FAILED_RELEASE_MAP(X)
#undef X
};

static const char *const refused_words[] = {
#define X(name, word) word,
    LINEAR_REFUSED_ACQUIRE_MAP(X)
#undef X
};

const char *linear_model_name(enum linear_model model)
{
    ASSERT(model < LINEAR_MODELS);
    return model_names[model];
}

const char *linear_reason_sentence(enum linear_reason reason)
{
    ASSERT(reason < LINEAR_REASONS);
    return reason_sentences[reason];
}

const char *linear_limit_sentence(enum linear_limit limit)
{
    ASSERT(limit < LINEAR_LIMITS);
    return limit_sentences[limit];
}

static bool word_find(const char *const *words, size_t count, const char *word, uint8_t *found)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            *found = (uint8_t)i;
            return true;
        }
    }
    return false;
}

bool linear_model_find(const char *word, uint8_t *model)
{
    return word_find(model_names, LINEAR_MODELS, word, model);
}

bool linear_failed_release_find(const char *word, uint8_t *policy)
{
    return word_find(release_words, LINEAR_FAILED_RELEASES, word, policy);
}

bool linear_refused_acquire_find(const char *word, uint8_t *policy)
{
    return word_find(refused_words, LINEAR_REFUSED_ACQUIRES, word, policy);
}

void linear_policy_print(const struct linear_options *options, struct text *text)
{
    static const char *const release_says[] = {
        "says nothing", "says that its caller did not hold the lock", "counts as done"};
    static const char *const refused_says[] = {"says nothing", "says that someone held the lock"};
    text_add(text, "model %s", linear_model_name(options->model));
    if (options->model == LINEAR_SEMAPHORE) {
        text_add(text, " of %u", options->permits);
    }
    if (options->model == LINEAR_LEASE && options->ttl_ns > 0) {
        text_add(text, " that ends ");
        duration_print(options->ttl_ns - options->drift_ns, text);
        text_add(text, " after the request");
    }
    if (options->model == LINEAR_LEASE_EXACT) {
        text_add(text, " of ");
        duration_print(options->ttl_ns, text);
        text_add(text, " to ");
        duration_print(options->ttl_ns + options->drift_ns, text);
    }
    text_add(text,
             "; a failed release %s; a refused acquire %s; unknown operations may have "
             "taken effect at any time, or never",
             release_says[options->failed_release], refused_says[options->refused_acquire]);
}
