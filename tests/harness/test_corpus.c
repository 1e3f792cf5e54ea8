/* test_corpus.c: the scenarios that come with picklock say what they are and whence they come. */
#include "harness/scenario.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <string.h>

enum { CORPUS_MAX = 400, CORPUS_TOLD_BYTES = 1 << 14 };

static glob_t corpus;

static void corpus_find(void)
{
    cr_assert_eq(glob("scenarios/*.yaml", 0, NULL, &corpus), 0, "run from the top folder");
    cr_assert_eq(glob("scenarios/*/*.yaml", GLOB_APPEND, NULL, &corpus), 0);
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
        cr_assert_str_eq(scenario->algorithm + 6, scenario->name);
        bool blamed = false;
        for (size_t k = 0; k < scenario->expect_count; k++) {
            blamed |= strcmp(scenario->expects[k].blame, "library") == 0;
        }
        cr_assert(blamed, "%s", scenario->path);
    }
}
