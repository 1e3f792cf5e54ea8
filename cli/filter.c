/* filter.c: some of the scenarios, by name and by tag. */
#include "cli/filter.h"

#include "history/event.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 128 };

/* Whether one of the folders of the path is named so. */
static bool in_folder(const char *path, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(path, '/')) {
        if ((size_t)(slash - path) == bytes && memcmp(path, word, bytes) == 0) {
            return true;
        }
        path = slash + 1;
    }
    return false;
}

static bool has_fault(const struct scenario *scenario, const char *word)
{
    for (size_t i = 0; i < scenario->fault_count; i++) {
        if (strcmp(fault_kind_name((enum fault_kind)scenario->faults[i].kind), word) == 0) {
            return true;
        }
    }
    for (int kind = FAULT_NONE + 1; scenario->random.present && kind < FAULT_KINDS; kind++) {
        if ((scenario->random.kinds >> kind & 1u) != 0 &&
            strcmp(fault_kind_name((enum fault_kind)kind), word) == 0) {
            return true;
        }
    }
    return scenario->random.present && strcmp(word, "random") == 0;
}

static bool matches(const struct scenario *scenario, const char *word)
{
    char pattern[WORD_BYTES + 2];
    (void)snprintf(pattern, sizeof pattern, "*%.*s*", WORD_BYTES - 1, word);
    return fnmatch(pattern, scenario->name, 0) == 0 || strcmp(scenario->algorithm, word) == 0 ||
           has_fault(scenario, word) || in_folder(scenario->path, word);
}

static bool is_wanted(const struct scenario *scenario, const char *words)
{
    bool any = false; /* some word asks for scenarios */
    bool wanted = false;
    while (*words != '\0') {
        char word[WORD_BYTES];
        size_t bytes = strcspn(words, ",");
        size_t not_bytes = *words == '!' ? 1 : 0;
        (void)snprintf(word, sizeof word, "%.*s", (int)(bytes - not_bytes), words + not_bytes);
        bool match = matches(scenario, word);
        if (not_bytes > 0 && match) {
            return false;
        }
        any = any || not_bytes == 0;
        wanted = wanted || match;
        words += bytes + (words[bytes] == ',');
    }
    return wanted || !any;
}

struct result filter_scenarios(const char *words, struct scenario_list *scenarios, struct text *why)
{
    size_t kept = 0;
    for (size_t i = 0; i < scenarios->count; i++) {
        if (is_wanted(&scenarios->list[i], words)) {
            scenarios->contents[kept] = scenarios->contents[i];
            if (kept < i) {
                scenarios->list[kept] = scenarios->list[i];
            }
            kept++;
        }
    }
    if (kept == 0) {
        text_add(why, "--filter %.200s: none of the %zu scenarios has that name or tag", words,
                 scenarios->count);
        return result_error(ERROR_USAGE);
    }
    scenarios->count = kept;
    return RESULT_OK;
}
