/* test_linear_holds.c: identities are told apart among very many that may never be heard of again.
 */
#include "checker/linear/linear.h"

#include <criterion/criterion.h>
#include <string.h>

enum { UNKNOWN_MAX = 5000, CLIENTS = 24 };

/* One operation by process `process` for a value, from `time` to `time` + 1. */
static void operate(struct linear *linear, enum history_f f, uint32_t value, int32_t process,
                    enum history_type type)
{
    static uint64_t index;
    struct history_event event = {.index = index++,
                                  .kind = HISTORY_OP,
                                  .type = HISTORY_INVOKE,
                                  .f = (uint8_t)f,
                                  .flags = HISTORY_HAS_VALUE,
                                  .process = process};
    event.time_ns = (int64_t)event.index;
    memcpy(event.value.bytes, &value, sizeof value);
    linear_event(linear, &event);
    event.index = index++;
    event.time_ns = (int64_t)event.index;
    event.type = (uint8_t)type;
    linear_event(linear, &event);
}

/* Thousands of acquires of unknown outcome, each with a value of its own. */
static struct linear *after_unknown_acquires(uint32_t count)
{
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear *linear = linear_open(&options);
    for (uint32_t i = 0; i < count; i++) {
        operate(linear, HISTORY_ACQUIRE, i, (int32_t)i, HISTORY_INFO);
    }
    return linear;
}

Test(linear_holds, a_new_value_is_new_among_thousands_that_rest)
{
    struct linear *linear = after_unknown_acquires(UNKNOWN_MAX);
    for (uint32_t i = 0; i < UNKNOWN_MAX; i++) {
        operate(linear, HISTORY_ACQUIRE, UNKNOWN_MAX + i, 0, HISTORY_OK);
        operate(linear, HISTORY_RELEASE, UNKNOWN_MAX + i, 0, HISTORY_OK);
    }
    linear_finish(linear);
    cr_expect_eq(linear_result(linear)->verdict, VERDICT_PASS);
    cr_expect_not(linear_result(linear)->again);
    linear_close(linear);
}

Test(linear_holds, each_value_that_rests_is_found_again)
{
    for (uint32_t i = 0; i < UNKNOWN_MAX; i += 97) {
        struct linear *linear = after_unknown_acquires(UNKNOWN_MAX);
        operate(linear, HISTORY_ACQUIRE, i, 0, HISTORY_OK);
        linear_finish(linear);
        cr_expect_eq(linear_result(linear)->limit, LINEAR_LIMIT_VALUE_SHARED, "value %u", i);
        linear_close(linear);
    }
}

Test(linear_holds, a_release_wakes_the_hold_that_rests_and_what_it_proves_is_judged)
{
    struct linear *linear = after_unknown_acquires(UNKNOWN_MAX);
    for (uint32_t i = 0; i < UNKNOWN_MAX; i++) {
        operate(linear, HISTORY_RELEASE, i, 0, HISTORY_OK);
    }
    operate(linear, HISTORY_RELEASE, 4242, 0, HISTORY_OK);
    linear_finish(linear);
    cr_expect_eq(linear_result(linear)->verdict, VERDICT_FAIL);
    cr_expect_eq(linear_result(linear)->violations, 1);
    linear_close(linear);
}

Test(linear_holds, a_value_that_was_settled_with_an_operation_unknown_is_not_new)
{
    struct linear *linear = after_unknown_acquires(0);
    for (uint32_t i = 0; i < UNKNOWN_MAX; i++) {
        operate(linear, HISTORY_ACQUIRE, i, 0, HISTORY_OK);
        operate(linear, HISTORY_RELEASE, i, 0, HISTORY_INFO);
        operate(linear, HISTORY_RELEASE, i, 0, HISTORY_OK);
    }
    operate(linear, HISTORY_ACQUIRE, 1234, 0, HISTORY_OK);
    linear_finish(linear);
    cr_expect_eq(linear_result(linear)->limit, LINEAR_LIMIT_VALUE_SHARED);
    linear_close(linear);
}

/* One event of a process that is its own owner. */
static void tell(struct linear *linear, enum history_f f, int32_t process, enum history_type type)
{
    static uint64_t index;
    index++;
    struct history_event event = {.index = index,
                                  .time_ns = (int64_t)index,
                                  .kind = HISTORY_OP,
                                  .type = (uint8_t)type,
                                  .f = (uint8_t)f,
                                  .process = process};
    linear_event(linear, &event);
}

/* Every client has an unknown release to spend while all of them wait for the lock. */
static struct linear_result wait_with_unknown_releases(enum linear_model model)
{
    struct linear_options options = linear_options_default(model);
    options.log_bytes_max = (size_t)1 << 24;
    struct linear *linear = linear_open(&options);
    for (int32_t i = 0; i < CLIENTS; i++) {
        tell(linear, HISTORY_ACQUIRE, i, HISTORY_INVOKE);
        tell(linear, HISTORY_ACQUIRE, i, HISTORY_OK);
        tell(linear, HISTORY_RELEASE, i, HISTORY_INVOKE);
        tell(linear, HISTORY_RELEASE, i, HISTORY_INFO);
        tell(linear, HISTORY_RELEASE, i, HISTORY_INVOKE);
        tell(linear, HISTORY_RELEASE, i, HISTORY_OK);
    }
    for (int round = 0; round < 4; round++) {
        for (int32_t i = 0; i < CLIENTS; i++) {
            tell(linear, HISTORY_ACQUIRE, i, HISTORY_INVOKE);
        }
        for (int32_t i = 0; i < CLIENTS; i++) {
            tell(linear, HISTORY_ACQUIRE, i, HISTORY_OK);
            tell(linear, HISTORY_RELEASE, i, HISTORY_INVOKE);
            tell(linear, HISTORY_RELEASE, i, HISTORY_OK);
        }
    }
    linear_finish(linear);
    struct linear_result result = *linear_result(linear);
    linear_close(linear);
    return result;
}

Test(linear_holds, waiting_clients_with_unknown_releases_are_not_tried_as_sets)
{
    static const enum linear_model models[] = {LINEAR_OWNER, LINEAR_REENTRANT};
    for (int i = 0; i < 2; i++) {
        struct linear_result result = wait_with_unknown_releases(models[i]);
        cr_expect_eq(result.verdict, VERDICT_PASS);
        cr_expect_eq(result.frontier_count, (uint64_t)1, "it is not searched any more");
        cr_expect_leq(result.frontier_peak, (uint64_t)(8 * CLIENTS), "%d configurations",
                      (int)result.frontier_peak);
    }
}
