/* test_needs.c: a scenario applies to a lock that is what it needs, and to no other. */
#include "harness/scenario_needs.h"
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>

enum { NEEDS_WHY_BYTES = 200 };

static const char *why_not(const struct scenario *scenario, const struct lock_nature *nature)
{
    static char memory[NEEDS_WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    return scenario_applies(scenario, nature, &why) ? "" : memory;
}

static struct scenario needing(uint16_t needs, int32_t nodes)
{
    struct scenario scenario;
    memset(&scenario, 0, sizeof scenario);
    scenario.needs = needs;
    scenario.node_count = nodes;
    return scenario;
}

Test(needs, what_a_lock_does_not_declare_is_named)
{
    struct lock_nature nature = {
        .declares = 1u << DECLARES_VALIDITY, .nodes_min = 1, .nodes_max = 16};
    struct scenario scenario = needing(1u << DECLARES_VALIDITY, 3);
    cr_assert_str_eq(why_not(&scenario, &nature), "");
    for (int need = DECLARES_EXTEND; need < HISTORY_DECLARES; need++) {
        scenario = needing((uint16_t)(1u << DECLARES_VALIDITY | 1u << need), 3);
        cr_assert_gt(strlen(why_not(&scenario, &nature)), 10, "%d", need);
    }
    scenario = needing(1u << DECLARES_RENEW, 3);
    cr_assert_str_eq(why_not(&scenario, &nature), "it does not renew by itself");
}

Test(needs, nodes_are_as_many_as_a_lock_takes)
{
    struct lock_nature one = {.nodes_min = 1, .nodes_max = 1};
    struct lock_nature many = {.nodes_min = 2, .nodes_max = 16};
    struct scenario single = needing(0, 1);
    struct scenario three = needing(0, 3);
    cr_assert_str_eq(why_not(&single, &one), "");
    cr_assert_str_eq(why_not(&three, &one), "it is for one node");
    cr_assert_str_eq(why_not(&single, &many), "it is for several nodes");
    cr_assert_str_eq(why_not(&three, &many), "");
}

Test(needs, our_own_locks_are_known)
{
    const struct parsed *parsed = parse(HEAD "needs: [validity, extend, notice]\n");
    cr_assert(!result_failed(parsed->result), "%s", parsed->told);
    struct lock_nature nature;
    nature_of_own(&parsed->scenario, &nature);
    cr_assert_str_eq(why_not(&parsed->scenario, &nature), "");
    struct scenario scenario = parsed->scenario;
    scenario.needs = 1u << DECLARES_FENCE;
    cr_assert_str_eq(why_not(&scenario, &nature), "it gives no fences");
}
