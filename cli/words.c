/* words.c: the options and arguments that take one of a few words. */
#include "cli/words.h"

#include "base/assert.h"
#include "checker/check.h"
#include "checker/linear/model.h"

#include <string.h>

enum { WORDS_MAX = 12 };

struct option_words {
    const char *option;
    const char *words[WORDS_MAX]; /* ends with NULL */
};

#define X(name, word) word,
static const struct option_words option_words[] = {
    {"world", {"sim", "real", "sim,real", "real,sim", NULL}}, /* run.c: parse_worlds */
    {"keep", {"on-failure", "always", "never", NULL}},        /* enum run_keep */
    {"color", {"auto", "always", "never", NULL}},
    {"lines", {"all", "unmet", NULL}}, /* enum shard_lines */
    {"model", {LINEAR_MODEL_MAP(X) NULL}},
    {"failed-release", {LINEAR_FAILED_RELEASE_MAP(X) NULL}},
    {"refused-acquire", {LINEAR_REFUSED_ACQUIRE_MAP(X) NULL}},
    {"picklock list", {"scenarios", "checks", "faults", "algorithms", "probes", NULL}}, /* list.c */
    {"picklock completion", {"bash", "zsh", "fish", NULL}},
    {"picklock manual", {"picklock", "picklock-scenario", "picklock-history", NULL}},
};
#undef X

static const char *const *words_of(const char *option)
{
    for (size_t i = 0; i < sizeof option_words / sizeof option_words[0]; i++) {
        if (strcmp(option_words[i].option, option) == 0) {
            return option_words[i].words;
        }
    }
    return NULL;
}

const char *words_at(const char *option, size_t index)
{
    if (strcmp(option, "check") == 0) {
        return index < check_count() ? check_at(index)->name : NULL;
    }
    const char *const *words = words_of(option);
    if (words == NULL) {
        return NULL;
    }
    ASSERT(index < WORDS_MAX);
    return words[index];
}

int words_index(const char *option, const char *word)
{
    for (size_t i = 0; words_at(option, i) != NULL; i++) {
        if (strcmp(words_at(option, i), word) == 0) {
            return (int)i;
        }
    }
    return -1;
}
