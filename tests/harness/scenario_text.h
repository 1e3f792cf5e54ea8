/* scenario_text.h: scenarios in tests: parse from a string, with what was told about it. */
#ifndef TESTS_HARNESS_SCENARIO_TEXT_H
#define TESTS_HARNESS_SCENARIO_TEXT_H

#include "harness/scenario.h"

#include <string.h>

/* The parts that every scenario needs; line 1 to 4. Line 5 is the test's. */
#define HEAD                                                                                       \
    "version: 1\n"                                                                                 \
    "name: demo\n"                                                                                 \
    "lock: {algorithm: redlock, ttl: 2s}\n"                                                        \
    "expect: {exclusion: pass}\n"

enum { TOLD_BYTES = 1 << 16 };

struct parsed {
    struct scenario scenario;
    struct result result;
    char told[TOLD_BYTES];
};

static inline const struct scenario_checks *test_checks(void)
{
    static const char *const names[] = {"exclusion", "section_exclusion", "store_integrity",
                                        "exercised"};
    static const struct scenario_checks checks = {4, names};
    return &checks;
}

/* Parse bytes as "demo.yaml"; the answer is static, one at a time. */
static inline const struct parsed *parse_bytes(const char *bytes, size_t length)
{
    static struct parsed parsed;
    struct arena arena = arena_empty(64 * MEBIBYTE);
    struct text told = text_over(parsed.told, sizeof parsed.told);
    struct scenario_source source = {"demo.yaml", bytes, length, test_checks()};
    parsed.result = scenario_parse(&source, &arena, &parsed.scenario, &told);
    arena_release(&arena);
    return &parsed;
}

static inline const struct parsed *parse(const char *yaml)
{
    return parse_bytes(yaml, strlen(yaml));
}

#endif
