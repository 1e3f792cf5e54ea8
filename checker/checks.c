/* checks.c: the table of checks, and the words of verdicts. */
#include "checker/check.h"

#include "base/assert.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* One row a check, in the order of docs/CHECKS.md. */
#define CHECK_ROWS(X)                                                                              \
    X(check_exclusion)                                                                             \
    X(check_section_exclusion)                                                                     \
    X(check_store_integrity)                                                                       \
    X(check_fence_order)                                                                           \
    X(check_ownership)                                                                             \
    X(check_validity)                                                                              \
    X(check_linearizable)                                                                          \
    X(check_deadlock_freedom)                                                                      \
    X(check_fault_tolerance)                                                                       \
    X(check_loss_notice)                                                                           \
    X(check_no_leak)                                                                               \
    X(check_result_truth)                                                                          \
    X(check_ttl_truth)                                                                             \
    X(check_conduct)                                                                               \
    X(check_renewal)                                                                               \
    X(check_promptness)                                                                            \
    X(check_answer_consistency)                                                                    \
    X(check_exercised)

#define X(row) extern const struct check row;
CHECK_ROWS(X)
#undef X

#define X(row) &row,
static const struct check *const checks[] = {CHECK_ROWS(X)};
#undef X

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

bool check_inapplicable(const struct check *check, const struct history_header *header)
{
    return header->declared && check->needs != 0 && (header->declares & check->needs) == 0;
}

void check_print_skipped(const struct check *check, bool inapplicable, struct text *text)
{
    if (!inapplicable) {
        text_add(text, "%s", check->nothing);
        return;
    }
    text_add(text, "the lock declares no ");
    const char * or = "";
    for (size_t i = 0; i < HISTORY_DECLARES; i++) {
        if ((check->needs >> i & 1) != 0) {
            text_add(text, "%s%s", or, history_declarations.words[i]);
            or = " or ";
        }
    }
}

enum verdict verdict_worse(enum verdict a, enum verdict b)
{
    static const int badness[] = {
        [VERDICT_SKIPPED] = 0, [VERDICT_PASS] = 1, [VERDICT_UNKNOWN] = 2, [VERDICT_FAIL] = 3};
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
