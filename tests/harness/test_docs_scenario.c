/* test_docs_scenario.c: docs/SCENARIO.md and docs/FAULTS.md say what the table says. */
#include "harness/scenario_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { DOCS_BYTES = 1 << 17 };

/* Tests run from the folder that holds docs/. */
static const char *page(const char *path)
{
    static char bytes[DOCS_BYTES];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s: run the tests from the top folder", path);
    size_t length = fread(bytes, 1, sizeof bytes - 1, file);
    (void)fclose(file);
    bytes[length] = '\0';
    return bytes;
}

static void assert_row(const char *docs, const struct scenario_key *key)
{
    char range[400];
    char row[1000];
    struct text text = text_over(range, sizeof range);
    key_range_print(key, &text);
    (void)snprintf(row, sizeof row, "\n| `%s` | %s | %s | %s | %s |\n", key->path,
                   key_type_name((enum key_type)key->type),
                   key->missing == NULL ? "required" : key->missing, range, key->doc);
    cr_assert_not_null(strstr(docs, row), "docs/SCENARIO.md lacks this row:%s", row);
}

Test(docs_scenario, every_key_has_its_row)
{
    const char *docs = page("docs/SCENARIO.md");
    for (size_t i = 0; i < scenario_key_count; i++) {
        assert_row(docs, &scenario_keys[i]);
    }
    for (size_t i = 0; i < FAULT_KEYS; i++) {
        assert_row(docs, &fault_keys[i]);
    }
}

Test(docs_scenario, every_probe_point_and_role_is_described)
{
    const char *docs = page("docs/SCENARIO.md");
    char quoted[80];
    for (const struct key_word *word = probe_words; word->name != NULL; word++) {
        (void)snprintf(quoted, sizeof quoted, "\n| `%s` |", word->name);
        cr_assert_not_null(strstr(docs, quoted), "%s", word->name);
    }
    for (const struct key_word *word = role_words; word->name != NULL; word++) {
        (void)snprintf(quoted, sizeof quoted, "`%s`", word->name);
        cr_assert_not_null(strstr(docs, quoted), "%s", word->name);
    }
}

/* The part of docs/FAULTS.md under the heading of a kind, up to the next heading. */
static void assert_section(const char *docs, const struct key_word *kind)
{
    static char section[DOCS_BYTES];
    char heading[80];
    (void)snprintf(heading, sizeof heading, "\n## `%s`\n", kind->name);
    const char *start = strstr(docs, heading);
    cr_assert_not_null(start, "docs/FAULTS.md lacks %s", kind->name);
    start += strlen(heading);
    const char *end = strstr(start, "\n## ");
    size_t length = end == NULL ? strlen(start) : (size_t)(end - start);
    memcpy(section, start, length);
    section[length] = '\0';
    struct fault_rule rule = fault_rule_of((enum fault_kind)kind->value);
    const char *keys = strstr(section, "| keys | ");
    cr_assert_not_null(keys, "%s", kind->name);
    *strchr(keys, '\n') = '\0';
    for (uint32_t k = 0; k < FAULT_KEYS; k++) {
        char key[40];
        (void)snprintf(key, sizeof key, "`%s`", fault_keys[k].path);
        bool takes = (rule.allowed >> k & 1) != 0;
        cr_assert_eq(strstr(keys, key) != NULL, takes, "%s and %s", kind->name, key);
    }
    const char *rest = keys + strlen(keys) + 1;
    static const char *const rows[] = {"| sim | ", "| real | ", "| numbers[0] | ",
                                       "| numbers[1] | "};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_not_null(strstr(rest, rows[i]), "%s lacks %s", kind->name, rows[i]);
    }
}

Test(docs_scenario, every_kind_of_fault_has_its_section)
{
    const char *docs = page("docs/FAULTS.md");
    for (const struct key_word *kind = fault_kind_words; kind->name != NULL; kind++) {
        if (kind->value != FAULT_NONE) {
            assert_section(docs, kind);
        }
    }
}
