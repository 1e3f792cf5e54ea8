/* test_renewal.c: a lock that renews its leases does so when it says, and promises what that gave.
 */
#include "tests/checker/story.h"

/* Renewed every 300 ms of a ttl of 1 s, and 12 ms off each promise. */
#define SAYS_OF(stores)                                                                            \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'stores':" #stores ",'tries':3,'one_value':true,"  \
    "'retry_delay':50000000,'allowance':12000000,'renew_every':300000000}\n"
#define SAYS SAYS_OF(1)
/* A renewal that was sent at `sent`, came at `ms`, and gave the key a ttl of `ttl` up to `end`; its
 * answer was back at `back`. */
#define RENEWS(ms, sent, back, ttl_ms, end)                                                        \
    ON(ms, 1, "extended")                                                                          \
    ",'process':1,'value':'a','owner':'a','until':" #end "000000,'ttl':" #ttl_ms                   \
    "000000,'sent':" #sent "000000,'replied':" #back "000000,'command':'keep-alive'}\n"
#define HOLDS SAYS ASK(1, 1) SET(2, 1, 1, "a", 1002) GRANT(3, 1, "a", 989)
/* Sent at 303, told at 304 what it gives: a ttl from when it was sent, less 12 ms. */
#define RENEWED HOLDS RENEWS(303, 302, 304, 1000, 1303) MOVED(304, 1, 1290)

static void assert_blamed(const char *lines, const char *said)
{
    assert_fails(judge_lines("renewal", lines), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("renewal", lines), said);
}

static void assert_passes(const char *lines)
{
    assert_verdict(judge_lines("renewal", lines), VERDICT_PASS);
}

Test(renewal, lease_that_is_renewed_as_it_says_passes)
{
    assert_passes(RENEWED RENEWS(604, 603, 605, 1000, 1604) MOVED(605, 1, 1591) FREE(700, 1)
                      FREED(701, 1));
}

Test(renewal, lock_that_says_nothing_of_it_is_nothing_judged)
{
    assert_verdict(judge_lines("renewal", HEADER ASK(1, 1) SET3(5, 1, "a", 1005)
                                              GRANT(10, 1, "a", 900) MOVED(20, 1, 9000)),
                   VERDICT_SKIPPED);
}

Test(renewal, lease_that_is_given_no_time_for_too_long_fails)
{
    assert_blamed(RENEWED FREE(705, 1),
                  "renewal: client 1's lease was given no more time for 401 ms, "
                  "and the lock renews every 300 ms");
    assert_passes(RENEWED FREE(704, 1));
    assert_blamed(HOLDS FREE(404, 1),
                  "renewal: client 1's lease was given no more time for 401 ms, "
                  "and the lock renews every 300 ms");
    assert_verdict(judge_lines("renewal", HOLDS LOST(404, 1)), VERDICT_FAIL);
    assert_verdict(judge_lines("renewal", HOLDS RENEWS(404, 403, 405, 1000, 1404)), VERDICT_FAIL);
    assert_verdict(judge_lines("renewal", HOLDS DELETED(402, 1, 1, "a") LOST(403, 1) FREE(900, 1)),
                   VERDICT_SKIPPED);
}

Test(renewal, lease_that_is_renewed_too_often_fails)
{
    assert_blamed(RENEWED RENEWS(582, 581, 583, 1000, 1582),
                  "renewal: client 1's lease was renewed again after 279 ms, and the lock renews "
                  "every 300 ms");
    assert_passes(RENEWED RENEWS(602, 581, 603, 1000, 1602) MOVED(603, 1, 1590) FREE(610, 1));
    assert_passes(RENEWED RENEWS(583, 582, 584, 1000, 1583) MOVED(584, 1, 1570) FREE(600, 1));
}

Test(renewal, promise_beyond_what_was_given_fails)
{
    assert_blamed(HOLDS RENEWS(303, 302, 304, 1000, 1303) MOVED(304, 1, 1292),
                  "renewal: client 1's renewal promises more than a ttl less the lock's allowance: "
                  "by 1 ms");
    assert_passes(HOLDS RENEWS(303, 302, 304, 1000, 1303) MOVED(304, 1, 1291) FREE(400, 1));
    assert_verdict(judge_lines("renewal", HOLDS MOVED(304, 1, 1293)), VERDICT_FAIL);
    assert_passes(HOLDS MOVED(304, 1, 1292));
}

Test(renewal, promise_of_less_than_was_given_fails)
{
    assert_blamed(HOLDS RENEWS(303, 302, 304, 1000, 1303) FREE(306, 1),
                  "renewal: client 1's lease was renewed, and it was promised less than that gave: "
                  "by 301 ms");
    assert_passes(HOLDS RENEWS(303, 302, 304, 1000, 1303) FREE(305, 1));
    assert_passes(HOLDS RENEWS(303, 302, 304, 2000, 2303) FREE(306, 1));
    assert_passes(HOLDS RENEWS(303, 302, 304, 1000, 1303) MOVED(304, 1, 1289) FREE(306, 1));
    assert_verdict(judge_lines("renewal", HOLDS RENEWS(303, 302, 304, 1000, 1303)
                                              MOVED(304, 1, 1288) FREE(306, 1)),
                   VERDICT_FAIL);
}

Test(renewal, promise_that_is_over_when_it_is_told_fails)
{
    assert_blamed(RENEWED MOVED(400, 1, 398),
                  "renewal: client 1 was told of a renewal whose end had passed before by 2 ms");
    assert_verdict(judge_lines("renewal", RENEWED MOVED(400, 1, 400)), VERDICT_FAIL);
    assert_passes(RENEWED MOVED(400, 1, 401));
}

/* A ttl behind its end a fault explains nothing any more; one of a clock always does. */
Test(renewal, faults_explain_what_is_late_and_clocks_what_is_promised)
{
#define STALLED(from, to)                                                                          \
    FAULT_OF_NODE(from, 1, "stall", "start", 1) FAULT_OF_NODE(to, 1, "stall", "end", 1)
    assert_passes(HOLDS STALLED(10, 20) FREE(1420, 1));
    assert_blamed(HOLDS STALLED(10, 20) FREE(1421, 1),
                  "renewal: client 1's lease was given no more time for 401 ms, and the lock "
                  "renews every 300 ms");
    assert_passes(HOLDS FAULT_OF_NODE(10, 1, "stall", "start", 1) FREE(1900, 1));
    assert_verdict(judge_lines("renewal", HOLDS STALLED(10, 20) MOVED(304, 1, 1293)), VERDICT_FAIL);
    assert_passes(HOLDS STALLED(10, 20) RENEWS(303, 302, 304, 1000, 1303) MOVED(310, 1, 1298)
                      FREE(400, 1));
    assert_passes(HOLDS FAULT_OF_NODE(10, 1, "clock_jump", "start", 1) MOVED(304, 1, 1293)
                      FREE(305, 1));
    assert_passes(HOLDS FAULT_OF_CLIENT(10, 1, "pause", "start", 1)
                      FAULT_OF_CLIENT(350, 1, "pause", "end", 1) MOVED(351, 1, 300) FREE(352, 1));
    assert_verdict(judge_lines("renewal",
                               HOLDS FAULT_OF_CLIENT(10, 1, "pause", "start", 2)
                                   FAULT_OF_CLIENT(350, 1, "pause", "end", 2) MOVED(351, 1, 300)),
                   VERDICT_FAIL);
}

/* Who stood still may have told it late, by as much. */
Test(renewal, who_stood_still_may_have_renewed_in_time)
{
    assert_verdict(judge_lines("renewal", HOLDS STOOD_STILL_OF(500, 1, 97) FREE(500, 1)),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("renewal", HOLDS STOOD_STILL_OF(500, 1, 90) FREE(500, 1)),
                   VERDICT_FAIL);
    /* ... and heard the answer, which was back for 16 ms, just then. */
#define HEARD_LATE(ms)                                                                             \
    HOLDS RENEWS(303, 302, 304, 1000, 1303) STOOD_STILL_OF(320, 1, ms) FREE(320, 1)
    assert_verdict(judge_lines("renewal", HEARD_LATE(16)), VERDICT_UNKNOWN);
    assert_verdict(judge_lines("renewal", HEARD_LATE(15)), VERDICT_FAIL);
}

#define AGAIN(from, to) LEAVE(from, 1) ENTER(to, 1)

Test(renewal, section_that_is_left_and_entered_again_without_a_fault_fails)
{
    assert_blamed(HOLDS ENTER(4, 1) AGAIN(50, 60),
                  "renewal: client 1 was to leave its section, and there was no fault: for 10 ms");
    assert_passes(HOLDS ENTER(4, 1) LEAVE(50, 1) FREE(60, 1) ENTER(70, 1));
    assert_passes(HOLDS ENTER(4, 1) STALLED(10, 20) AGAIN(50, 60) FREE(61, 1));
    assert_passes(HOLDS ENTER(4, 1) STOOD_STILL_OF(5, 2, 1) AGAIN(50, 60) FREE(61, 1));
    cr_assert_neq(
        judge_lines("renewal", HOLDS ENTER(4, 1) STALLED(10, 20) AGAIN(2019, 2021)).verdict,
        VERDICT_FAIL);
    assert_verdict(judge_lines("renewal", HOLDS ENTER(4, 1) STALLED(10, 20) AGAIN(2020, 2021)),
                   VERDICT_FAIL);
}

/* A member that answers with an error, or not at all, ends no lease: the service does. */
Test(renewal, loss_that_is_told_while_the_service_has_the_key_fails)
{
    assert_blamed(RENEWED FAULT_OF_NODE(350, 1, "crash", "start", 2) LOST(400, 1),
                  "renewal: client 1 was told that its lease is lost, though its key is there and "
                  "it was promised for another 890 ms");
    assert_verdict(judge_lines("renewal", RENEWED MOVED(500, 1, 602) LOST(600, 1)), VERDICT_FAIL);
    assert_passes(RENEWED MOVED(500, 1, 601) LOST(600, 1));
    assert_passes(RENEWED ENDED(399, 1, "expired", "a", "ttl") LOST(400, 1));
    assert_passes(RENEWED DELETED(399, 1, 1, "a") SET(399, 1, 2, "b", 1399) LOST(400, 1));
    assert_passes(SAYS_OF(3) ASK(1, 1) SET(2, 1, 1, "a", 1002) GRANT(3, 1, "a", 989)
                      MOVED(304, 1, 1290) LOST(400, 1));
}
