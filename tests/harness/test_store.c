/* test_store.c: what each guard of the store lets through. */
#include "harness/store.h"

#include <criterion/criterion.h>

static const struct history_value first = {{1}};
static const struct history_value second = {{2}};

Test(store, without_a_guard_everyone_may_write)
{
    struct store_cell cell = {0};
    struct store_guard guard = {0};
    cr_assert(store_read(&cell, &guard, &first, 1).accepted);
    cr_assert(store_write(&cell, &guard, &second, 2).accepted);
    struct store_answer late = store_write(&cell, &guard, &first, 1);
    cr_assert(late.accepted);
    cr_assert_eq(late.version, 2);
}

Test(store, a_fence_check_refuses_older_fences_and_accepts_equal_ones)
{
    struct store_cell cell = {0};
    struct store_guard guard = {.fence_check = true};
    cr_assert(store_write(&cell, &guard, &first, 33).accepted);
    cr_assert(store_write(&cell, &guard, &first, 33).accepted);
    cr_assert(store_write(&cell, &guard, &second, 34).accepted);
    struct store_answer stale = store_write(&cell, &guard, &first, 33);
    cr_assert(!stale.accepted);
    cr_assert_eq(stale.cause, CAUSE_STALE_FENCE);
    cr_assert_eq(stale.version, 3);
}

Test(store, reading_raises_the_fence)
{
    struct store_cell cell = {0};
    struct store_guard guard = {.fence_check = true};
    cr_assert(store_read(&cell, &guard, &second, 34).accepted);
    cr_assert(!store_write(&cell, &guard, &first, 33).accepted);
    cr_assert(!store_read(&cell, &guard, &first, 33).accepted);
}

Test(store, a_value_check_lets_only_the_last_reader_write)
{
    struct store_cell cell = {0};
    struct store_guard guard = {.value_check = true};
    cr_assert(!store_write(&cell, &guard, &first, 0).accepted, "nobody has claimed it");
    cr_assert(store_read(&cell, &guard, &first, 0).accepted);
    cr_assert(store_read(&cell, &guard, &second, 0).accepted);
    struct store_answer overtaken = store_write(&cell, &guard, &first, 0);
    cr_assert(!overtaken.accepted);
    cr_assert_eq(overtaken.cause, CAUSE_OTHER_VALUE);
    cr_assert(store_write(&cell, &guard, &second, 0).accepted);
}
