/* checks.c: the table of checks, and the words of verdicts. */
#include "checker/check.h"
#include "checker/checks/rows.h"

#include "base/assert.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static const struct check *const checks[] = {
    &check_exclusion,    &check_section_exclusion, &check_store_integrity,
    &check_fence_order,  &check_ownership,         &check_validity,
    &check_linearizable, &check_deadlock_freedom,  &check_fault_tolerance,
    &check_loss_notice,  &check_no_leak,           &check_result_truth,
    &check_exercised,
};

size_t check_count(void)
{
    return COUNT(checks);
}

const struct check *check_at(size_t index)
{
    ASSERT(index < COUNT(checks));
    return checks[index];
}

const struct check *check_find(const char *name)
{
    for (size_t i = 0; i < COUNT(checks); i++) {
        if (strcmp(checks[i]->name, name) == 0) {
            return checks[i];
        }
    }
    return NULL;
}

enum verdict verdict_worse(enum verdict a, enum verdict b)
{
    static const int badness[] = {
        [VERDICT_NOTHING] = 0, [VERDICT_PASS] = 1, [VERDICT_UNKNOWN] = 2, [VERDICT_FAIL] = 3};
    ASSERT((size_t)a < COUNT(badness));
    ASSERT((size_t)b < COUNT(badness));
    return badness[a] >= badness[b] ? a : b;
}

#define X(name, word) word,
static const char *const verdict_words[] = {CHECK_VERDICT_MAP(X)};
static const char *const blame_words[] = {CHECK_BLAME_MAP(X)};
static const char *const grade_words[] = {CHECK_GRADE_MAP(X)};
static const char *const assumption_sentences[] = {CHECK_ASSUMPTION_MAP(X)};
#undef X

const char *verdict_name(enum verdict verdict)
{
    ASSERT((size_t)verdict < COUNT(verdict_words));
    return verdict_words[verdict];
}

const char *blame_name(enum blame blame)
{
    ASSERT((size_t)blame < COUNT(blame_words));
    return blame_words[blame];
}

const char *grade_name(enum grade grade)
{
    ASSERT((size_t)grade < COUNT(grade_words));
    return grade_words[grade];
}

const char *assumption_sentence(enum assumption assumption)
{
    ASSERT((size_t)assumption < COUNT(assumption_sentences));
    return assumption_sentences[assumption];
}
