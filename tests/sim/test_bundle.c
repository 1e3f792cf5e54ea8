/* test_bundle.c: a failing run becomes a file that makes it happen again. */
#include "harness/sim/bundle.h"
#include "tests/real/place.h"
#include "tests/sim/sim_fixture.h"

#include <stdlib.h>
#include <sys/stat.h>

static struct fixture fixture;
static struct bundle bundle;
static struct bundle copy;
static struct trace now;
static struct place place;
static char path[256];
static char why_memory[FIXTURE_WHY_BYTES];
static struct text why;

#define RANDOM                                                                                     \
    HEAD("algorithm: redlock, ttl: 10s", "everysec")                                               \
    "clients: {count: 3, sections: 2}\nduration: 40s\n"                                            \
    "faults: {random: {kinds: [pause, kill, slow, clock_jump, clock_rate, crash, power_loss,"      \
    " shutdown, stall, refuse_writes, script_flush, evict, failover, latency, partition,"          \
    " lose_reply, delay_command], count: 6}}\n" TAIL

static void record(const char *yaml, uint64_t seed, const struct choices *choices)
{
    fixture_open(&fixture, yaml, seed);
    memset(&bundle, 0, sizeof bundle);
    bundle.seed = seed;
    bundle.plan = fixture.plan;
    bundle.choices = *choices;
    (void)snprintf(bundle.verdict, sizeof bundle.verdict, "exclusion fail assumption\n");
    why = text_over(why_memory, sizeof why_memory);
    struct result result = bundle_replay(&bundle, &fixture.recorder, &bundle.trace, &why);
    cr_assert(!result_failed(result), "%s", why.data);
}

static void store(void)
{
    place_make(&place);
    (void)snprintf(path, sizeof path, "%s/test.bundle", place.path);
    struct result result = bundle_write(path, &bundle, &why);
    cr_assert(!result_failed(result), "%s", why.data);
}

static void gone(void)
{
    place_remove(&place);
}

Test(bundle, replays_the_same_history_for_any_drawn_faults, .fini = gone)
{
    static const struct choices none;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        record(RANDOM, seed, &none);
        store();
        struct result result = bundle_read(path, &fixture.arena, &copy, &why);
        cr_assert(!result_failed(result), "%s", why.data);
        cr_assert_str_eq(copy.verdict, bundle.verdict);
        cr_assert_eq(copy.seed, seed);
        result = bundle_replay(&copy, NULL, &now, &why);
        cr_assert(!result_failed(result), "%s", why.data);
        cr_assert(trace_equal(&copy.trace, &now, &why), "seed %lu: %s", (unsigned long)seed,
                  why.data);
        struct stat status;
        cr_assert_eq(stat(path, &status), 0);
        cr_assert_leq(status.st_size, 4096);
        fixture_close(&fixture);
        if (seed < 50) {
            place_remove(&place);
        }
    }
}

Test(bundle, a_choice_departs_from_what_the_seed_decides_and_is_kept, .fini = gone)
{
    static const struct choices none;
    record(RANDOM, 3, &none);
    uint64_t hash = bundle.trace.hash;
    fixture_close(&fixture);
    struct choices choices = {0};
    cr_assert(choices_add(&choices, &(struct choice){CHOICE_LATENCY, 0, 0, 12345}));
    cr_assert(choices_add(&choices, &(struct choice){CHOICE_TIE, 1, 0, 7}));
    record(RANDOM, 3, &choices);
    cr_assert_neq(bundle.trace.hash, hash);
    store();
    struct result result = bundle_read(path, &fixture.arena, &copy, &why);
    cr_assert(!result_failed(result), "%s", why.data);
    cr_assert_eq(copy.choices.count, 2);
    cr_assert(!result_failed(bundle_replay(&copy, NULL, &now, &why)));
    cr_assert(trace_equal(&bundle.trace, &now, &why));
    fixture_close(&fixture);
}

Test(bundle, says_where_a_run_parts_and_goes_on, .fini = gone)
{
    static const struct choices none;
    record(RANDOM, 3, &none);
    store();
    cr_assert(!result_failed(bundle_read(path, &fixture.arena, &copy, &why)));
    copy.plan.scenario.hold_ns += 1; /* what a change of the code may do */
    cr_assert(!result_failed(bundle_replay(&copy, NULL, &now, &why)));
    cr_assert(!trace_equal(&copy.trace, &now, &why));
    cr_assert_not_null(strstr(why.data, "parts from the recorded one between event"), "%s",
                       why.data);
    cr_assert_gt(now.events, 20, "it goes on");
    fixture_close(&fixture);
}

/* Store the first `bytes` of a bundle, one word of it replaced, and expect a refusal. */
static void refuses(long bytes, const char *word, const char *other, const char *sentence)
{
    static char memory[1 << 16];
    FILE *file = fopen(path, "r");
    size_t length = fread(memory, 1, sizeof memory - 1, file);
    (void)fclose(file);
    memory[length] = '\0';
    char *at = word == NULL ? NULL : strstr(memory, word);
    if (at != NULL) {
        memcpy(at, other, strlen(other));
    }
    char broken[300];
    (void)snprintf(broken, sizeof broken, "%s.broken", path);
    file = fopen(broken, "w");
    cr_assert_eq(fwrite(memory, 1, bytes < 0 ? length : (size_t)bytes, file),
                 bytes < 0 ? length : (size_t)bytes);
    (void)fclose(file);
    text_clear(&why);
    struct result result = bundle_read(broken, &fixture.arena, &copy, &why);
    cr_assert_eq(result.code, ERROR_SCHEMA);
    cr_assert_not_null(strstr(why.data, sentence), "%s", why.data);
    cr_assert_null(strchr(why.data, '\n'), "one line: %s", why.data);
}

Test(bundle, of_another_version_or_cut_short_is_refused_in_one_line, .fini = gone)
{
    static const struct choices none;
    record(RANDOM, 3, &none);
    store();
    refuses(-1, "picklock-bundle 1", "picklock-bundle 9", ":1: a bundle of another format");
    refuses(-1, "picklock 0", "picklock 7", ":2: made by another version");
    refuses(-1, "picklock-bundle", "something-elsee", ":1: this is no bundle");
    refuses(0, NULL, NULL, ":1: this is no bundle");
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    for (long bytes = 20; bytes < status.st_size; bytes += 7) {
        refuses(bytes, NULL, NULL, "cut short");
    }
    fixture_close(&fixture);
}

Test(bundle, that_is_missing_is_an_error_of_the_system)
{
    why = text_over(why_memory, sizeof why_memory);
    fixture.arena = arena_empty(16 * MEBIBYTE);
    struct result result = bundle_read("/nowhere/x.bundle", &fixture.arena, &copy, &why);
    cr_assert_eq(result.code, ERROR_IO);
    result = bundle_read("/tmp", &fixture.arena, &copy, &why);
    cr_assert_eq(result.code, ERROR_IO);
    arena_release(&fixture.arena);
}
