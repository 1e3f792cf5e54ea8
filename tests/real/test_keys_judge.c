/* test_keys_judge.c: what a reply says about a key whose time may be up. */
#include "harness/real/keys/keys_inner.h"

#include <criterion/criterion.h>

/* A set that needs the key to be absent, sent and answered at these times, on a key that ends
 * between 1000 and 2000. */
static enum keys_agreement judge_set(bool present, bool yes, int64_t sent_ns, int64_t true_ns)
{
    struct keys_entry entry = {
        .present = present, .has_ttl = true, .earliest_ns = 1000, .latest_ns = 2000};
    struct keys_command command = {.verb = KEYS_SET_ABSENT, .sent_ns = sent_ns};
    struct keys_fact fact = {&command, 1, yes, true_ns, true_ns};
    return keys_judge(&entry, &fact);
}

Test(keys_judge, a_set_that_succeeds_says_that_the_key_before_has_expired)
{
    cr_assert_eq(judge_set(true, true, 500, 1500), KEYS_AGREES_EXPIRED);
    cr_assert_eq(judge_set(true, true, 1500, 2500), KEYS_AGREES_EXPIRED);
    /* Its time was up long before, and on a busy machine nobody has said so yet. */
    cr_assert_eq(judge_set(true, true, 3000, 3500), KEYS_AGREES_EXPIRED);
    cr_assert_eq(judge_set(false, true, 3000, 3500), KEYS_AGREES);
    cr_assert_eq(judge_set(true, true, 500, 900), KEYS_CONTRADICTS);
}

Test(keys_judge, a_set_that_is_refused_needs_a_key)
{
    cr_assert_eq(judge_set(true, false, 500, 900), KEYS_AGREES);
    cr_assert_eq(judge_set(true, false, 500, 1500), KEYS_AGREES);
    cr_assert_eq(judge_set(true, false, 3000, 3500), KEYS_CONTRADICTS);
    cr_assert_eq(judge_set(false, false, 500, 900), KEYS_CONTRADICTS);
}
