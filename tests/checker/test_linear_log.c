/* test_linear_log.c: operations that are kept for the algorithms that need all of them. */
#include "checker/linear/whole/log.h"

#include <criterion/criterion.h>

static void add(struct log *log, uint32_t resource, int64_t called, uint64_t owner)
{
    uint32_t name = log_identity(log, &(struct identity){.words = {owner, 0, 1}});
    struct operation operation = {.called = called,
                                  .returned = called + 1,
                                  .resource = resource,
                                  .identity = name,
                                  .name = name,
                                  .kind = OPERATION_TAKE};
    log_add(log, &operation);
}

Test(linear_log, identities_are_numbered_from_one_in_each_resource)
{
    struct log log = {.bytes_max = (size_t)1 << 20};
    add(&log, 1, 0, 70);
    add(&log, 0, 2, 80);
    add(&log, 0, 4, 90);
    add(&log, 1, 6, 90);
    add(&log, 0, 8, 80);
    add(&log, 1, 10, 70);
    log_sort(&log);
    static const uint32_t resources[] = {0, 0, 0, 1, 1, 1};
    static const uint32_t identities[] = {1, 2, 1, 1, 2, 1};
    static const uint32_t names[] = {2, 3, 2, 1, 3, 1};
    cr_assert_eq(log.count, (size_t)6);
    for (size_t i = 0; i < log.count; i++) {
        cr_assert_eq(log.operations[i].resource, resources[i]);
        cr_assert_eq(log.operations[i].identity, identities[i]);
        cr_assert_eq(log.operations[i].name, names[i], "it was renamed");
    }
    log_release(&log);
}
