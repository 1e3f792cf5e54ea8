/* test_docs.c: docs/CHECKS.md has every check, with its question, and every word of a verdict. */
#include "checker/check.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { DOCS_BYTES = 64 * 1024 };

static char docs[DOCS_BYTES];

static void docs_read(void)
{
    FILE *file = fopen("docs/CHECKS.md", "r");
    cr_assert_not_null(file, "run the tests from the top folder");
    size_t bytes = fread(docs, 1, sizeof docs - 1, file);
    docs[bytes] = '\0';
    cr_assert_eq(fclose(file), 0);
}

static void says(const char *text)
{
    cr_assert_not_null(strstr(docs, text), "docs/CHECKS.md does not say \"%s\"", text);
}

Test(docs, every_check_is_described_with_its_question, .init = docs_read)
{
    const char *before = docs;
    for (size_t i = 0; i < check_count(); i++) {
        const struct check *check = check_at(i);
        char heading[320];
        (void)snprintf(heading, sizeof heading, "\n### `%s`\n%s", check->name, check->question);
        const char *at = strstr(docs, heading);
        cr_assert_not_null(at, "docs/CHECKS.md lacks \"%s\"", heading);
        cr_assert(at >= before, "docs/CHECKS.md has %s out of order", check->name);
        before = at;
    }
}

Test(docs, every_word_of_a_verdict_is_described, .init = docs_read)
{
    char row[160];
#define X(name, word)                                                                              \
    (void)snprintf(row, sizeof row, "| `%s` |", word);                                             \
    says(row);
    CHECK_VERDICT_MAP(X)
    CHECK_BLAME_MAP(X)
    CHECK_GRADE_MAP(X)
#undef X
#define X(name, word)                                                                              \
    if (word[0] != '\0') {                                                                         \
        (void)snprintf(row, sizeof row, "| %s |", word);                                           \
        says(row);                                                                                 \
    }
    CHECK_ASSUMPTION_MAP(X)
#undef X
}
