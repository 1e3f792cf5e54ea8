/* test_wrong_locks.c: every lock that is wrong on purpose is caught in the simulator, by its own
 * scenario, and blamed on the library; the right lock is not. */
#include "checker/judge.h"
#include "lockcore/algorithms.h"
#include "lockcore/redis/command.h"
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

/* The number of checks that fail and blame the lock itself. */
static int library_fails(void)
{
    struct history_header header;
    plan_header(&fixture.plan, "sim", &header);
    void *memory = arena_take(&fixture.arena, judge_bytes(&header, JUDGE_ALL));
    cr_assert_not_null(memory);
    struct judge *judge = judge_init(memory, &header, JUDGE_ALL);
    for (uint64_t i = 0; i < fixture.count; i++) {
        judge_event(judge, &fixture.events[i]);
    }
    judge_finish(judge);
    int fails = 0;
    for (size_t i = 0; i < check_count(); i++) {
        const struct check_result *result = judge_result(judge, i);
        fails += result->verdict == VERDICT_FAIL && result->blame == BLAME_LIBRARY;
    }
    return fails;
}

/* Run the scenario of a wrong lock; with `instead` as its algorithm, if one is given. */
static void run_scenario(const char *name, const char *instead)
{
    static char memory[FIXTURE_WHY_BYTES];
    static char yaml[1 << 16];
    char path[256];
    struct text why = text_over(memory, sizeof memory);
    (void)snprintf(path, sizeof path, "scenarios/wrong/%s.yaml", name);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s: every wrong lock needs its scenario", path);
    size_t bytes = fread(yaml, 1, sizeof yaml - 1, file);
    (void)fclose(file);
    memset(&fixture, 0, sizeof fixture);
    fixture.recorder =
        (struct recorder){.event = fixture_event, .should_stop = fixture_should_stop};
    fixture.arena = arena_empty(GIBIBYTE);
    struct scenario_source source = {path, yaml, bytes, NULL};
    cr_assert(!result_failed(scenario_parse(&source, &fixture.arena, &fixture.scenario, &why)),
              "%s", why.data);
    if (instead != NULL) {
        cr_assert(lock_algorithm_find(instead, &fixture.scenario.lock.algorithm));
    }
    scenario_plan(&fixture.scenario, 1, 1000000, &fixture.plan);
    cr_assert(!result_failed(
        sim_create(&fixture.arena, &fixture.plan, &fixture.options, &fixture.sim, &why)));
    sim_reset(fixture.sim, &fixture.plan);
    fixture_finish(&fixture);
}

/* The right lock of the same sort, with fences if the wrong one has them. */
static const char *right_one(const struct lock_algorithm *wrong)
{
    if (wrong->dialect == &redis_dialect) {
        return wrong->fenced ? "fenced_redlock" : "redlock";
    }
    const char *found = NULL;
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        const struct lock_algorithm *right = lock_algorithm_at((lock_algorithm_index)i);
        if (right->dialect != wrong->dialect ||
            strncmp(right->name, "wrong/", strlen("wrong/")) == 0) {
            continue;
        }
        if (right->step == wrong->step) {
            return right->name; /* the sound ones come first */
        }
        found = found != NULL ? found : right->name;
    }
    cr_assert_not_null(found, "%s has no right lock", wrong->name);
    return found;
}

Test(wrong_locks, each_is_caught_by_its_scenario_and_blamed_on_the_library)
{
    int caught = 0;
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        const struct lock_algorithm *algorithm = lock_algorithm_at((lock_algorithm_index)i);
        if (strncmp(algorithm->name, "wrong/", strlen("wrong/")) != 0) {
            continue;
        }
        const char *name = algorithm->name + strlen("wrong/");
        run_scenario(name, NULL);
        cr_expect_gt(library_fails(), 0, "%s", name);
        fixture_close(&fixture);
        run_scenario(name, right_one(algorithm));
        cr_expect_eq(library_fails(), 0, "the right lock in the scenario of %s", name);
        fixture_close(&fixture);
        caught++;
    }
    cr_assert_geq(caught, 16);
}
