/* model.c: words and sentences of models, policies, reasons and limits. */
#include "checker/linear/model.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"

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
