/* test_linear_hard.c: histories that a search once gave up on are settled in a few thousand steps,
 * however long the machine takes for them. */
#include "base/arena.h"
#include "checker/linear/linear.h"

#include <criterion/criterion.h>

#include "bench/hard_history.c"

enum { LOOKS_MAX = 400, OPERATIONS_MAX = 10000 }; /* the clock is looked at every 256 steps */

struct hard_seed {
    enum linear_model model;
    uint64_t seed;
};

static bool is_patient_no_more(void *context)
{
    uint32_t *looks = context;
    return ++*looks > LOOKS_MAX;
}

static struct linear_result judge_hard(const struct hard_seed *hard, struct history_event *events)
{
    uint32_t looks = 0;
    struct hard_shape shape = hard_shape(hard->model, hard->seed);
    struct linear_options options = hard_options(&shape);
    uint32_t count = hard_history(&shape, hard->seed, events);
    options.stop = is_patient_no_more;
    options.stop_context = &looks;
    options.log_bytes_max = options.bytes_max / 2;
    struct linear *linear = linear_open(&options);
    for (uint32_t i = 0; i < count; i++) {
        linear_event(linear, &events[i]);
    }
    linear_finish(linear);
    struct linear_result result = *linear_result(linear);
    linear_close(linear);
    cr_expect(shape.changes > 0 || result.verdict != VERDICT_FAIL, "%s %llu is legal",
              linear_model_name(hard->model), (unsigned long long)hard->seed);
    return result;
}

static void expect_settled(const struct hard_seed *seeds, size_t count)
{
    struct history_event *events = memory_resize(NULL, 2 * (OPERATIONS_MAX + 1) * sizeof *events);
    cr_assert_not_null(events);
    for (size_t i = 0; i < count; i++) {
        struct linear_result result = judge_hard(&seeds[i], events);
        cr_expect_neq(result.verdict, VERDICT_UNKNOWN, "%s seed %llu is not settled",
                      linear_model_name(seeds[i].model), (unsigned long long)seeds[i].seed);
    }
    memory_release(events);
}

/* Many values were asked for and never heard of again: each could hold once more. */
Test(linear_hard, exact_leases_that_others_may_have_had)
{
    static const struct hard_seed seeds[] = {{LINEAR_LEASE_EXACT, 1021},
                                             {LINEAR_LEASE_EXACT, 1067},
                                             {LINEAR_LEASE_EXACT, 1175},
                                             {LINEAR_LEASE_EXACT, 1222},
                                             {LINEAR_LEASE_EXACT, 1226}};
    expect_settled(seeds, sizeof seeds / sizeof *seeds);
}

/* Many clients wait for longer than the lease lasts, are refused because somebody holds, and look.
 */
Test(linear_hard, leases_that_are_seen_by_a_crowd)
{
    static const struct hard_seed seeds[] = {
        {LINEAR_LEASE, 1019}, {LINEAR_LEASE, 1073}, {LINEAR_LEASE, 1103}, {LINEAR_LEASE, 1188},
        {LINEAR_LEASE, 1217}, {LINEAR_LEASE, 1260}, {LINEAR_LEASE, 1289},
    };
    expect_settled(seeds, sizeof seeds / sizeof *seeds);
}

/* Which of unknown acquires and releases happened shows far ahead, where permits are missing, or
 * where a refusal needs all of them to be held. */
Test(linear_hard, semaphores_whose_permits_are_missed_much_later)
{
    static const struct hard_seed seeds[] = {{LINEAR_SEMAPHORE, 2270}, {LINEAR_SEMAPHORE, 2955}};
    expect_settled(seeds, sizeof seeds / sizeof *seeds);
}

/* What a few clients did near the place is impossible without all others. */
Test(linear_hard, few_clients_contradict_each_other)
{
    static const struct hard_seed seeds[] = {{LINEAR_SEMAPHORE, 3093},
                                             {LINEAR_LEASE_EXACT, 1090},
                                             {LINEAR_LEASE_EXACT, 1149},
                                             {LINEAR_LEASE_EXACT, 157}};
    expect_settled(seeds, sizeof seeds / sizeof *seeds);
}

/* Of unknown acquires and releases of an owner who holds many times, most make no difference. */
Test(linear_hard, reentrant_locks_that_are_held_very_deep)
{
    static const struct hard_seed seeds[] = {
        {LINEAR_REENTRANT, 131}, {LINEAR_REENTRANT, 487}, {LINEAR_REENTRANT, 2957}};
    expect_settled(seeds, sizeof seeds / sizeof *seeds);
}

/* A fence that is smaller than one that was told before needs no search, however deep the holds. */
Test(linear_hard, reentrant_locks_with_a_fence_that_fell)
{
    static const struct hard_seed seeds[] = {{LINEAR_REENTRANT_FENCED, 30087}};
    expect_settled(seeds, sizeof seeds / sizeof *seeds);
}

/* Refusals that a lease may or may not have been the cause of: each costs it no more than to last
 * until then. */
Test(linear_hard, exact_leases_that_a_crowd_is_refused)
{
    static const struct hard_seed seeds[] = {{LINEAR_LEASE_EXACT, 2125}};
    expect_settled(seeds, sizeof seeds / sizeof *seeds);
}

enum { CROWD = 30, CROWD_PERMITS = 15, ROUNDS = 3 };

struct crowd {
    struct linear *linear;
    uint64_t events;
};

/* The step of a client at a time. */
static void tell_step(struct crowd *crowd, int64_t time_ns, int32_t process, uint8_t f,
                      uint8_t type)
{
    const struct history_event event = {.index = crowd->events++,
                                        .time_ns = time_ns,
                                        .kind = HISTORY_OP,
                                        .f = f,
                                        .process = process,
                                        .type = type};
    linear_event(crowd->linear, &event);
}

/* All ask at a time; the first is refused because all permits are held, long before it is known by
 * whom: those who are granted one hear of it last first, and let go. `free`: how many permits
 * nobody ever had. */
static int judge_crowd(uint32_t free)
{
    uint32_t looks = 0;
    struct linear_options options = linear_options_default(LINEAR_SEMAPHORE);
    options.permits = CROWD_PERMITS + free;
    options.refused_acquire = LINEAR_REFUSED_HELD;
    options.failed_release = LINEAR_RELEASE_NOT_HELD;
    options.stop = is_patient_no_more;
    options.stop_context = &looks;
    options.log_bytes_max = options.bytes_max / 2;
    struct crowd crowd = {.linear = linear_open(&options)};
    for (int64_t round = 0; round < ROUNDS; round++) {
        int64_t begin = 1000 * round;
        for (int32_t c = 0; c < CROWD; c++) {
            tell_step(&crowd, begin, c, HISTORY_ACQUIRE, HISTORY_INVOKE);
        }
        tell_step(&crowd, begin + 10, 0, HISTORY_ACQUIRE, HISTORY_FAIL);
        for (int32_t i = 1; i < CROWD; i++) {
            bool granted = i <= CROWD_PERMITS;
            tell_step(&crowd, begin + 20 + i, CROWD - i, HISTORY_ACQUIRE,
                      granted ? HISTORY_OK : HISTORY_FAIL);
        }
        for (int32_t i = 1; i <= CROWD_PERMITS; i++) {
            tell_step(&crowd, begin + 100, CROWD - i, HISTORY_RELEASE, HISTORY_INVOKE);
            tell_step(&crowd, begin + 101, CROWD - i, HISTORY_RELEASE, HISTORY_OK);
        }
    }
    linear_finish(crowd.linear);
    int verdict = linear_result(crowd.linear)->verdict;
    linear_close(crowd.linear);
    return verdict;
}

/* Who holds when one is refused is any fifteen of thirty, but those who hear of it first will do.
 */
Test(linear_hard, semaphores_that_a_crowd_asks_for_at_once)
{
    cr_expect_eq(judge_crowd(0), VERDICT_PASS);
    cr_expect_eq(judge_crowd(1), VERDICT_FAIL, "nobody ever had the last permit");
}
