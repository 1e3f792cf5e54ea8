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
