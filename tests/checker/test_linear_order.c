/* test_linear_order.c: an order that is not legal is not confirmed, for any of the ways to be so.
 */
#include "checker/linear/whole/order.h"

#include <criterion/criterion.h>

enum { OPERATIONS_MAX = 8 };

/* One lock's operations, and an order of them, by index. */
struct story {
    struct linear_options options;
    struct operation operations[OPERATIONS_MAX];
    size_t count;
};

static struct story story_of(enum linear_model model)
{
    return (struct story){.options = linear_options_default(model)};
}

static struct operation *add(struct story *story, enum operation_kind kind, uint32_t identity,
                             int64_t called, int64_t returned)
{
    struct operation *operation = &story->operations[story->count];
    bool unknown = kind == OPERATION_MAYBE_TAKE || kind == OPERATION_MAYBE_FREE;
    *operation =
        (struct operation){.called = position_of_call(called),
                           .returned = unknown ? POSITION_NEVER : position_of_return(returned),
                           .until = POSITION_NEVER,
                           .invoke = story->count,
                           .identity = identity,
                           .kind = (uint8_t)kind};
    story->count++;
    return operation;
}

/* Whether the order "021" is confirmed. */
static bool holds(struct story *story, const char *order)
{
    size_t indices[OPERATIONS_MAX];
    struct whole whole = {.options = &story->options,
                          .operations = story->operations,
                          .count = story->count,
                          .order = indices};
    for (; order[whole.order_count] != '\0'; whole.order_count++) {
        indices[whole.order_count] = (size_t)(order[whole.order_count] - '0');
    }
    return order_holds(&whole);
}

Test(linear_order, who_takes_a_lock_that_is_held_or_frees_one_that_is_not_is_refused)
{
    struct story story = story_of(LINEAR_OWNER);
    add(&story, OPERATION_TAKE, 1, 0, 9);
    add(&story, OPERATION_FREE, 1, 0, 9);
    add(&story, OPERATION_TAKE, 2, 0, 9);
    cr_expect(holds(&story, "012"));
    cr_expect_not(holds(&story, "021"));
    cr_expect_not(holds(&story, "102"));
    story.operations[1].identity = 2;
    cr_expect_not(holds(&story, "012"), "another's release");
}

Test(linear_order, what_is_left_out_or_stands_twice_is_refused)
{
    struct story story = story_of(LINEAR_OWNER);
    add(&story, OPERATION_TAKE, 1, 0, 9);
    add(&story, OPERATION_FREE, 1, 0, 9);
    add(&story, OPERATION_MAYBE_TAKE, 2, 0, 9);
    cr_expect(holds(&story, "01"), "what is unknown may be left out");
    cr_expect(holds(&story, "012"));
    cr_expect_not(holds(&story, "0"));
    cr_expect_not(holds(&story, "0101"));
}

Test(linear_order, what_returned_before_another_was_called_stands_before_it)
{
    struct story story = story_of(LINEAR_OWNER);
    add(&story, OPERATION_TAKE, 1, 0, 4);
    add(&story, OPERATION_FREE, 1, 0, 9);
    add(&story, OPERATION_TAKE, 2, 4, 9);
    add(&story, OPERATION_FREE, 2, 4, 9);
    cr_expect(holds(&story, "2301"), "touching intervals are concurrent");
    story.operations[0].returned = position_of_return(3);
    cr_expect_not(holds(&story, "2301"));
    cr_expect(holds(&story, "0123"));
}

Test(linear_order, what_observers_saw_must_be_so)
{
    struct story story = story_of(LINEAR_OWNER);
    add(&story, OPERATION_TAKE, 1, 0, 9);
    struct operation *seen = add(&story, OPERATION_BUSY, 2, 0, 9);
    static const enum operation_kind held[] = {OPERATION_BUSY, OPERATION_SEEN_HELD};
    static const enum operation_kind not [] = {OPERATION_SEEN_FREE, OPERATION_NOT_HELD};
    for (int i = 0; i < 2; i++) {
        seen->identity = 2;
        seen->kind = (uint8_t)held[i];
        cr_expect(holds(&story, "01"));
        cr_expect_not(holds(&story, "10"));
        seen->identity = 1;
        seen->kind = (uint8_t) not [i];
        cr_expect(holds(&story, "10"));
        cr_expect_not(holds(&story, "01"));
    }
    seen->kind = OPERATION_SEEN_OWNER;
    cr_expect(holds(&story, "01"));
    seen->identity = 2;
    cr_expect_not(holds(&story, "01"));
}

Test(linear_order, fences_depth_and_permits_are_kept_to)
{
    struct story fenced = story_of(LINEAR_FENCED);
    add(&fenced, OPERATION_TAKE, 1, 0, 9)->fence = 7;
    add(&fenced, OPERATION_FREE, 1, 0, 9);
    add(&fenced, OPERATION_TAKE, 2, 0, 9)->fence = 8;
    cr_expect(holds(&fenced, "012"));
    fenced.operations[2].fence = 7;
    cr_expect_not(holds(&fenced, "012"));

    struct story reentrant = story_of(LINEAR_REENTRANT);
    add(&reentrant, OPERATION_TAKE, 1, 0, 9);
    add(&reentrant, OPERATION_TAKE, 1, 0, 9);
    add(&reentrant, OPERATION_FREE, 1, 0, 9);
    add(&reentrant, OPERATION_TAKE, 2, 0, 9);
    cr_expect_not(holds(&reentrant, "0123"), "taken twice, freed once");
    reentrant.count = 3;
    cr_expect(holds(&reentrant, "012"));
    reentrant.options.depth_max = 1;
    cr_expect_not(holds(&reentrant, "012"));

    struct story semaphore = story_of(LINEAR_SEMAPHORE);
    add(&semaphore, OPERATION_TAKE, 1, 0, 9);
    add(&semaphore, OPERATION_TAKE, 2, 0, 9);
    semaphore.options.permits = 2;
    cr_expect(holds(&semaphore, "01"));
    semaphore.options.permits = 1;
    cr_expect_not(holds(&semaphore, "01"));
}

Test(linear_order, a_lease_is_taken_over_only_when_it_may_be_over)
{
    struct story story = story_of(LINEAR_LEASE);
    add(&story, OPERATION_TAKE, 1, 0, 2)->until = position_of_call(20);
    struct operation *next = add(&story, OPERATION_TAKE, 2, 3, 25);
    cr_expect(holds(&story, "01"));
    next->returned = position_of_return(19);
    cr_expect_not(holds(&story, "01"));
    add(&story, OPERATION_FREE, 1, 4, 10);
    cr_expect(holds(&story, "021"), "it was released in time");
    cr_expect_not(holds(&story, "012"));
}
