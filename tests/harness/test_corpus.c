/* test_corpus.c: the scenarios that come with picklock say what they are and whence they come. */
#include "harness/scenario.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CORPUS_MAX = 1000, CORPUS_TOLD_BYTES = 1 << 14 };

static glob_t corpus;

static void corpus_find(void)
{
    cr_assert_eq(glob("scenarios/*.yaml", 0, NULL, &corpus), 0, "run from the top folder");
    cr_assert_eq(glob("scenarios/*/*.yaml", GLOB_APPEND, NULL, &corpus), 0);
    cr_assert_eq(glob("scenarios/*/*/*.yaml", GLOB_APPEND, NULL, &corpus), 0);
    cr_assert_lt(corpus.gl_pathc, CORPUS_MAX);
}

static void corpus_forget(void)
{
    globfree(&corpus);
}

static const struct scenario *corpus_read(size_t index)
{
    static struct scenario scenario;
    static char told[CORPUS_TOLD_BYTES];
    struct text errors = text_over(told, sizeof told);
    struct arena arena = arena_empty(16 * MEBIBYTE);
    struct result result = scenario_read(corpus.gl_pathv[index], NULL, &arena, &scenario, &errors);
    arena_release(&arena);
    cr_assert(!result_failed(result), "%s", told);
    return &scenario;
}

TestSuite(corpus, .init = corpus_find, .fini = corpus_forget);

Test(corpus, every_scenario_says_what_it_is_about_and_its_source)
{
    cr_assert_gt(corpus.gl_pathc, 24);
    for (size_t i = 0; i < corpus.gl_pathc; i++) {
        const struct scenario *scenario = corpus_read(i);
        cr_assert_gt(strlen(scenario->about), 20, "%s", scenario->path);
        cr_assert_gt(strlen(scenario->source), 5, "%s", scenario->path);
    }
}

/* Results lie in a folder of the scenario's name. */
/* Shards and bundles carry scenarios as they are printed. */
Test(corpus, every_scenario_is_read_as_it_is_printed)
{
    static char first[CORPUS_TOLD_BYTES];
    static char second[CORPUS_TOLD_BYTES];
    static char told[CORPUS_TOLD_BYTES];
    static struct scenario again;
    for (size_t i = 0; i < corpus.gl_pathc; i++) {
        struct text printed = text_over(first, sizeof first);
        struct text reprinted = text_over(second, sizeof second);
        struct text errors = text_over(told, sizeof told);
        struct arena arena = arena_empty(16 * MEBIBYTE);
        scenario_print(corpus_read(i), &printed);
        const struct scenario_source source = {corpus.gl_pathv[i], first, printed.length, NULL};
        struct result result = scenario_parse(&source, &arena, &again, &errors);
        cr_assert(!result_failed(result), "%s", told);
        scenario_print(&again, &reprinted);
        cr_assert_str_eq(first, second);
        arena_release(&arena);
    }
}

Test(corpus, names_are_unique)
{
    static char names[CORPUS_MAX][SCENARIO_NAME_BYTES];
    for (size_t i = 0; i < corpus.gl_pathc; i++) {
        memcpy(names[i], corpus_read(i)->name, sizeof names[i]);
        for (size_t k = 0; k < i; k++) {
            cr_assert_str_neq(names[i], names[k]);
        }
    }
}

/* A wrong lock is caught, and the library is blamed; each has the scenario of its name. */
Test(corpus, wrong_locks_are_expected_to_be_caught_and_blamed)
{
    for (size_t i = 0; i < corpus.gl_pathc; i++) {
        const struct scenario *scenario = corpus_read(i);
        if (strncmp(scenario->algorithm, "wrong/", 6) != 0) {
            continue;
        }
        const char *wrong = scenario->algorithm + 6;
        cr_assert_eq(strncmp(wrong, scenario->name, strlen(wrong)), 0, "%s", scenario->path);
        bool blamed = false;
        for (size_t k = 0; k < scenario->expect_count; k++) {
            blamed |= strcmp(scenario->expects[k].blame, "library") == 0;
        }
        cr_assert(blamed, "%s", scenario->path);
    }
}

static bool corpus_of_libraries(const struct scenario *scenario)
{
    return strncmp(scenario->path, "scenarios/library/", strlen("scenarios/library/")) == 0;
}

/* What a maintainer reads in the table: the first sentence, beside the name. */
Test(corpus, scenarios_for_libraries_begin_with_a_short_sentence)
{
    size_t count = 0;
    for (size_t i = 0; i < corpus.gl_pathc; i++) {
        const struct scenario *scenario = corpus_read(i);
        const char *stop = strstr(scenario->about, ". ");
        size_t bytes = stop != NULL ? (size_t)(stop - scenario->about) : strlen(scenario->about);
        count += corpus_of_libraries(scenario) ? 1 : 0;
        cr_assert(!corpus_of_libraries(scenario) || bytes <= 80, "%s", scenario->path);
    }
    cr_assert_gt(count, 100);
}

/* A lock for one node is tried on one, any other on several; each takes a ttl of 1 s, but for one
 * that asks what becomes of a fraction of it. */
Test(corpus, scenarios_for_libraries_say_in_their_names_for_how_many_nodes_they_are)
{
    for (size_t i = 0; i < corpus.gl_pathc; i++) {
        const struct scenario *scenario = corpus_read(i);
        if (!corpus_of_libraries(scenario)) {
            continue;
        }
        const char *prefix = scenario->node_count == 1 ? "one-" : "many-";
        cr_assert_eq(strncmp(scenario->name, prefix, strlen(prefix)), 0, "%s", scenario->path);
        bool fraction = strcmp(scenario->name + strlen(prefix), "fraction") == 0;
        cr_assert_eq(scenario->lock.ttl_ns, fraction ? 1500000000 : 1000000000, "%s",
                     scenario->path);
    }
}

static bool strikes(const struct scenario *scenario, enum fault_kind kind)
{
    for (size_t i = 0; i < scenario->fault_count; i++) {
        if (scenario->faults[i].kind == kind) {
            return true;
        }
    }
    return (scenario->random.kinds >> kind & 1u) != 0;
}

/* Whatever can go wrong for a library is tried on it. */
Test(corpus, every_kind_of_fault_is_tried_on_libraries)
{
    for (int kind = FAULT_NONE + 1; kind < FAULT_KINDS; kind++) {
        bool tried = false;
        for (size_t i = 0; i < corpus.gl_pathc && !tried; i++) {
            const struct scenario *scenario = corpus_read(i);
            tried = corpus_of_libraries(scenario) && strikes(scenario, (enum fault_kind)kind);
        }
        cr_assert(tried, "%s", fault_kind_name((enum fault_kind)kind));
    }
}

/* Each file for a wrong lock has its twin: the same done to the right one, which breaks nothing. */
Test(corpus, every_wrong_lock_has_a_twin_that_the_library_is_not_blamed_for)
{
    size_t twins = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < corpus.gl_pathc; i++) {
        const struct scenario *scenario = corpus_read(i);
        wrong += strncmp(scenario->algorithm, "wrong/", 6) == 0 ? 1 : 0;
        if (strstr(scenario->path, "/twins/") == NULL) {
            continue;
        }
        char path[SCENARIO_TEXT_BYTES];
        size_t name = strlen(scenario->name) - strlen("-twin");
        (void)snprintf(path, sizeof path, "scenarios/wrong/%.*s.yaml", (int)name, scenario->name);
        cr_assert_eq(access(path, R_OK), 0, "%s", path);
        cr_assert_neq(strncmp(scenario->algorithm, "wrong/", 6), 0, "%s", scenario->path);
        for (size_t k = 0; k < scenario->expect_count; k++) {
            cr_assert_str_neq(scenario->expects[k].blame, "library", "%s", scenario->path);
        }
        twins++;
    }
    cr_assert_gt(twins, 18);
    cr_assert_eq(twins, wrong);
}
