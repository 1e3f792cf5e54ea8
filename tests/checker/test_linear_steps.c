/* test_linear_steps.c: histories judged as events arrive, with nothing kept. */
#include "checker/linear/linear.h"

#include <criterion/criterion.h>
#include <string.h>

struct steps {
    struct linear *linear;
    int64_t now_ns;
    uint64_t index;
    uint32_t lock;
};

static struct steps begin_for(enum linear_model model, uint32_t permits, size_t bytes_max)
{
    struct linear_options options = linear_options_default(model);
    options.permits = permits;
    options.bytes_max = bytes_max;
    return (struct steps){.linear = linear_open(&options)};
}

static struct steps begin(enum linear_model model, size_t bytes_max)
{
    return begin_for(model, 1, bytes_max);
}

/* One event at a time of its own, for a value (0: none). */
static void say_for(struct steps *steps, int process, enum history_f f, enum history_type type,
                    uint32_t value)
{
    struct history_event event = {.time_ns = steps->now_ns++,
                                  .index = steps->index++,
                                  .kind = HISTORY_OP,
                                  .type = (uint8_t)type,
                                  .f = (uint8_t)f,
                                  .process = process,
                                  .flags = value != 0 ? HISTORY_HAS_VALUE : 0,
                                  .resource = steps->lock};
    memcpy(event.value.bytes, &value, sizeof value);
    linear_event(steps->linear, &event);
}

static void say(struct steps *steps, int process, enum history_f f, enum history_type type)
{
    say_for(steps, process, f, type, 0);
}

static void acquire(struct steps *steps, uint32_t value)
{
    say_for(steps, 0, HISTORY_ACQUIRE, HISTORY_INVOKE, value);
    say_for(steps, 0, HISTORY_ACQUIRE, HISTORY_OK, value);
}

static void release(struct steps *steps, uint32_t value, enum history_type type)
{
    say_for(steps, 0, HISTORY_RELEASE, HISTORY_INVOKE, value);
    say_for(steps, 0, HISTORY_RELEASE, type, value);
}

static struct linear_result end(struct steps *steps)
{
    linear_finish(steps->linear);
    struct linear_result result = *linear_result(steps->linear);
    linear_close(steps->linear);
    return result;
}

Test(linear_steps, a_mutex_is_judged_in_memory_that_does_not_grow_with_the_history)
{
    struct steps steps = begin(LINEAR_MUTEX, (size_t)1 << 16);
    say(&steps, 8, HISTORY_ACQUIRE, HISTORY_INVOKE); /* these two never end */
    say(&steps, 9, HISTORY_RELEASE, HISTORY_INVOKE);
    for (int i = 0; i < 100000; i++) {
        say(&steps, 0, HISTORY_ACQUIRE, HISTORY_INVOKE);
        say(&steps, 1, HISTORY_ACQUIRE, HISTORY_INVOKE);
        say(&steps, 0, HISTORY_ACQUIRE, i % 7 == 0 ? HISTORY_INFO : HISTORY_OK);
        say(&steps, 0, HISTORY_RELEASE, HISTORY_INVOKE);
        say(&steps, 1, HISTORY_ACQUIRE, HISTORY_OK);
        say(&steps, 0, HISTORY_RELEASE, i % 5 == 0 ? HISTORY_INFO : HISTORY_OK);
        say(&steps, 1, HISTORY_RELEASE, HISTORY_INVOKE);
        say(&steps, 1, HISTORY_RELEASE, i % 3 == 0 ? HISTORY_INFO : HISTORY_OK);
    }
    struct linear_result result = end(&steps);
    cr_assert_eq(result.verdict, VERDICT_PASS);
    cr_assert_eq(result.fast_count, (uint64_t)1);
    cr_assert_eq(result.judged, (uint64_t)400002);
}

Test(linear_steps, an_idle_mutex_costs_little)
{
    struct steps steps = begin(LINEAR_MUTEX, (size_t)1 << 21);
    for (int i = 0; i < 10000; i++, steps.lock++) {
        say(&steps, 0, HISTORY_ACQUIRE, HISTORY_INVOKE);
        say(&steps, 0, HISTORY_ACQUIRE, HISTORY_OK);
        say(&steps, 0, HISTORY_RELEASE, HISTORY_INVOKE);
        say(&steps, 0, HISTORY_RELEASE, HISTORY_OK);
    }
    cr_assert_eq(end(&steps).verdict, VERDICT_PASS);
}

Test(linear_steps, an_unknown_release_does_not_explain_a_grant_before_it_was_called)
{
    struct steps steps = begin(LINEAR_MUTEX, (size_t)1 << 20);
    say(&steps, 0, HISTORY_RELEASE, HISTORY_INVOKE);
    for (int process = 1; process < 3; process++) {
        say(&steps, process, HISTORY_ACQUIRE, HISTORY_INVOKE);
        say(&steps, process, HISTORY_ACQUIRE, HISTORY_OK);
    }
    say(&steps, 3, HISTORY_RELEASE, HISTORY_INVOKE);
    say(&steps, 3, HISTORY_RELEASE, HISTORY_INFO);
    say(&steps, 4, HISTORY_RELEASE, HISTORY_INVOKE);
    say(&steps, 5, HISTORY_ACQUIRE, HISTORY_INVOKE);
    say(&steps, 5, HISTORY_ACQUIRE, HISTORY_OK);
    say(&steps, 0, HISTORY_RELEASE, HISTORY_FAIL);
    say(&steps, 4, HISTORY_RELEASE, HISTORY_OK);
    cr_assert_eq(end(&steps).verdict, VERDICT_FAIL);
}

Test(linear_steps, a_release_under_way_lets_two_grants_pass_until_it_is_refused)
{
    for (int refused = 0; refused < 2; refused++) {
        struct steps steps = begin(LINEAR_MUTEX, (size_t)1 << 20);
        say(&steps, 0, HISTORY_ACQUIRE, HISTORY_INVOKE);
        say(&steps, 0, HISTORY_ACQUIRE, HISTORY_OK);
        say(&steps, 0, HISTORY_RELEASE, HISTORY_INVOKE);
        say(&steps, 1, HISTORY_ACQUIRE, HISTORY_INVOKE);
        say(&steps, 1, HISTORY_ACQUIRE, HISTORY_OK);
        cr_assert_eq(linear_result(steps.linear)->violations, (uint64_t)0);
        say(&steps, 0, HISTORY_RELEASE, refused ? HISTORY_FAIL : HISTORY_OK);
        struct linear_result result = end(&steps);
        cr_assert_eq(result.verdict, refused ? VERDICT_FAIL : VERDICT_PASS);
        if (refused) {
            cr_assert_eq(result.operation_count, 2);
            cr_assert_eq(result.operations[0], (uint64_t)0);
            cr_assert_eq(result.operations[1], (uint64_t)3);
            cr_assert_not(result.helped);
        }
    }
}

Test(linear_steps, a_fail_says_so_where_the_operations_that_could_reconcile_it_are_forgotten)
{
    struct steps steps = begin(LINEAR_MUTEX, (size_t)1 << 20);
    say(&steps, 9, HISTORY_RELEASE, HISTORY_INVOKE);
    say(&steps, 0, HISTORY_ACQUIRE, HISTORY_INVOKE);
    say(&steps, 1, HISTORY_ACQUIRE, HISTORY_INVOKE);
    say(&steps, 0, HISTORY_ACQUIRE, HISTORY_OK);
    say(&steps, 1, HISTORY_ACQUIRE, HISTORY_OK);
    for (int i = 0; i < 100; i++) {
        say(&steps, 1, HISTORY_RELEASE, HISTORY_INVOKE);
        say(&steps, 1, HISTORY_RELEASE, HISTORY_OK);
        say(&steps, 1, HISTORY_ACQUIRE, HISTORY_INVOKE);
        say(&steps, 1, HISTORY_ACQUIRE, HISTORY_OK);
    }
    say(&steps, 9, HISTORY_RELEASE, HISTORY_FAIL); /* the first two were not told apart before */
    struct linear_result result = end(&steps);
    cr_assert_eq(result.verdict, VERDICT_FAIL);
    cr_assert_eq(result.operation_count, 2);
    cr_assert_eq(result.operations[0], (uint64_t)1);
    cr_assert_eq(result.operations[1], (uint64_t)2);
    cr_assert(result.helped);
}

Test(linear_steps, a_semaphore_is_judged_in_memory_that_does_not_grow_with_settled_holds)
{
    struct steps steps = begin_for(LINEAR_SEMAPHORE, 3, (size_t)1 << 18);
    acquire(&steps, 1);
    release(&steps, 1, HISTORY_INFO); /* of unknown outcome for good */
    for (uint32_t value = 2; value < 100000; value++) {
        acquire(&steps, value);
        release(&steps, value, value % 30 == 0 ? HISTORY_INFO : HISTORY_FAIL);
        acquire(&steps, value + 1000000);
        release(&steps, value, HISTORY_OK);
        release(&steps, value + 1000000, HISTORY_OK);
    }
    struct linear_result result = end(&steps);
    cr_assert_eq(result.verdict, VERDICT_PASS);
    cr_assert_eq(result.fast_count, (uint64_t)1);
}

/* After each release of unknown outcome, k - 1 holds begin, each with one less beside it. */
Test(linear_steps, of_many_windows_between_two_unknown_releases_one_is_kept)
{
    enum { PERMITS = 64, UNKNOWN = 50 };
    struct steps steps = begin_for(LINEAR_SEMAPHORE, PERMITS, (size_t)1 << 17);
    uint32_t next = 1;
    for (int round = 0; round < UNKNOWN; round++) {
        uint32_t held[PERMITS];
        acquire(&steps, next);
        release(&steps, next++, HISTORY_INFO);
        for (int i = 0; i < PERMITS; i++) {
            held[i] = next++;
            acquire(&steps, held[i]);
        }
        for (int i = PERMITS - 1; i > 0; i--) {
            release(&steps, held[i], HISTORY_OK);
            release(&steps, held[i - 1], HISTORY_OK);
            held[i - 1] = next++;
            acquire(&steps, held[i - 1]);
        }
        release(&steps, held[0], HISTORY_OK);
    }
    cr_assert_eq(end(&steps).verdict, VERDICT_PASS);
}

Test(linear_steps, a_release_that_came_too_late_shows_that_the_unknown_one_before_had_no_effect)
{
    struct steps steps = begin_for(LINEAR_SEMAPHORE, 2, (size_t)1 << 20);
    acquire(&steps, 1);
    acquire(&steps, 2);
    release(&steps, 1, HISTORY_INFO);
    acquire(&steps, 3);
    release(&steps, 1, HISTORY_OK);
    struct linear_result result = end(&steps);
    cr_assert_eq(result.verdict, VERDICT_FAIL);
    cr_assert_eq(result.reason, LINEAR_TOO_MANY);
    cr_assert_eq(result.operation_count, 4);
    cr_assert_eq(result.operations[3], (uint64_t)8);
    cr_assert_not(result.helped);
}

Test(linear_steps, a_crowd_says_so_where_a_release_that_it_needs_is_left_out)
{
    struct steps two = begin_for(LINEAR_SEMAPHORE, 2, (size_t)1 << 20);
    acquire(&two, 1);
    acquire(&two, 2);
    release(&two, 1, HISTORY_INFO);
    release(&two, 2, HISTORY_INFO);
    acquire(&two, 3);
    release(&two, 1, HISTORY_OK);
    release(&two, 2, HISTORY_OK);
    struct linear_result result = end(&two);
    cr_assert_eq(result.verdict, VERDICT_FAIL);
    cr_assert(result.helped);
    struct steps three = begin_for(LINEAR_SEMAPHORE, 3, (size_t)1 << 20);
    acquire(&three, 1);
    acquire(&three, 2);
    acquire(&three, 3);
    release(&three, 3, HISTORY_INFO);
    acquire(&three, 4);
    release(&three, 3, HISTORY_OK);
    result = end(&three);
    cr_assert_eq(result.verdict, VERDICT_FAIL);
    cr_assert_eq(result.operation_count, 4);
    cr_assert(result.helped);
}
