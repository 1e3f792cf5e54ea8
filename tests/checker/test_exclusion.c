/* test_exclusion.c: two leases must not overlap in true time; and why they could. */
#include "tests/checker/story.h"

/* Client 1 holds nodes 1 to 3 from 10 ms, promised until 1000 ms. */
#define CLIENT_1_HOLDS ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)

Test(exclusion, one_after_the_other_passes)
{
    struct check_result result = judge_lines(
        "exclusion", HEADER CLIENT_1_HOLDS FREE(500, 1) DELETED3(502, 1, "a") FREED(505, 1)
                         ASK(510, 2) SET3(515, 2, "b", 1515) GRANT(520, 2, "b", 1500));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)2);
}

Test(exclusion, grant_after_the_promised_end_passes_though_nobody_released)
{
    assert_verdict(
        judge_lines("exclusion", HEADER CLIENT_1_HOLDS ASK(1001, 2) GRANT(1002, 2, "b", 2000)),
        VERDICT_PASS);
}

Test(exclusion, leases_that_only_touch_pass)
{
    assert_verdict(
        judge_lines("exclusion", HEADER CLIENT_1_HOLDS ASK(900, 2) GRANT(1000, 2, "b", 2000)),
        VERDICT_PASS);
    assert_verdict(judge_lines("exclusion", HEADER CLIENT_1_HOLDS ASK(500, 2) GRANT(
                                                600, 2, "b", 1600) FREE(600, 1) FREED(601, 1)),
                   VERDICT_PASS);
}

Test(exclusion, overlap_fails_with_the_two_grants_as_evidence)
{
    struct check_result result =
        judge_lines("exclusion", HEADER CLIENT_1_HOLDS ASK(500, 2) SET(600, 4, 2, "b", 1600)
                                     GRANT(605, 2, "b", 1500) FREE(700, 1) FREED(701, 1));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 4, 7);
    cr_assert_eq(result.violations, (uint64_t)1);
    cr_assert_eq(result.number[0], (int64_t)395000000);
}

Test(exclusion, overlap_at_the_very_end_of_the_history_fails)
{
    assert_verdict(
        judge_lines("exclusion", HEADER CLIENT_1_HOLDS ASK(500, 2) GRANT(605, 2, "b", 1500)),
        VERDICT_FAIL);
}

Test(exclusion, nothing_granted_is_nothing_judged)
{
    assert_verdict(judge_lines("exclusion", HEADER ASK(1, 1) REFUSE(5, 1)), VERDICT_SKIPPED);
}

Test(exclusion, notice_ends_a_lease)
{
    assert_verdict(judge_lines("exclusion", HEADER CLIENT_1_HOLDS LOST(300, 1) ASK(400, 2)
                                                GRANT(405, 2, "b", 1400)),
                   VERDICT_PASS);
}

Test(exclusion, extension_moves_the_end)
{
    assert_verdict(judge_lines("exclusion",
                               HEADER CLIENT_1_HOLDS EXTEND(900, 1) EXTENDED(905, 1, 1900)
                                   ASK(1100, 2) GRANT(1105, 2, "b", 2100)),
                   VERDICT_FAIL);
}

Test(exclusion, extension_after_anothers_grant_fails)
{
    struct check_result result =
        judge_lines("exclusion", HEADER CLIENT_1_HOLDS EXTEND(990, 1) ASK(1100, 2)
                                     GRANT(1105, 2, "b", 2100) EXTENDED(1200, 1, 2200));
    assert_verdict(result, VERDICT_FAIL);
    assert_evidence(result, 7, 8);
}

Test(exclusion, lease_moved_by_the_holders_clock_is_judged_where_it_was_moved)
{
    assert_verdict(judge_lines("exclusion", HEADER CLIENT_1_HOLDS MOVED(400, 1, 5000) ASK(1100, 2)
                                                GRANT(1105, 2, "b", 2100)),
                   VERDICT_FAIL);
    assert_verdict(judge_lines("exclusion", HEADER CLIENT_1_HOLDS MOVED(400, 1, 600) ASK(700, 2)
                                                GRANT(705, 2, "b", 1700)),
                   VERDICT_PASS);
}

Test(exclusion, killed_clients_lease_runs_to_its_promised_end)
{
    assert_verdict(judge_lines("exclusion", HEADER CLIENT_1_HOLDS KILLED(300, 1) ASK(400, 2)
                                                GRANT(405, 2, "b", 1400)),
                   VERDICT_FAIL);
}

Test(exclusion, killed_clients_lease_without_promise_ends_with_it)
{
    assert_verdict(judge_lines("exclusion", HEADER ASK(1, 1) GRANT_OPEN(10, 1, "a") KILLED(300, 1)
                                                ASK(400, 2) GRANT_OPEN(405, 2, "b")),
                   VERDICT_PASS);
}

Test(exclusion, lease_without_promise_runs_until_told)
{
    struct check_result result = judge_lines(
        "exclusion", HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a")
                         ENDED(1005, 1, "expired", "a", "ttl") ENDED(1005, 2, "expired", "a", "ttl")
                             ENDED(1005, 3, "expired", "a", "ttl") ASK(1010, 2)
                                 SET3(1015, 2, "b", 2015) GRANT_OPEN(1020, 2, "b"));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_SECTION);
}

Test(exclusion, clock_jump_on_a_node_is_an_assumption)
{
    struct check_result result = judge_lines(
        "exclusion", HEADER CLIENT_1_HOLDS FAULT_OF_NODE(100, 1, "clock_jump", "start", 3)
                         FAULT_OF_NODE(100, 1, "clock_jump", "effect", 3)
                             ENDED_BY(101, 3, "expired", "a", "clock-jump", 1) ASK(200, 2)
                                 SET(201, 3, 2, "b", 1201) SET(201, 4, 2, "b", 1201)
                                     SET(201, 5, 2, "b", 1201) GRANT(205, 2, "b", 1190));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_NODE_CLOCK);
    assert_evidence(result, 4, 12);
}

Test(exclusion, each_cause_of_a_lost_key_has_its_blame)
{
#define CLIENT_2_GETS(ms)                                                                          \
    ASK(200, 2)                                                                                    \
    SET(201, 3, 2, "b", 1201)                                                                      \
    SET(201, 4, 2, "b", 1201) SET(201, 5, 2, "b", 1201) GRANT(ms, 2, "b", 1190)
    assert_fails(judge_lines("exclusion",
                             HEADER CLIENT_1_HOLDS ENDED(101, 3, "key-lost", "a", "restart")
                                 CLIENT_2_GETS(205)),
                 BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
    assert_fails(judge_lines("exclusion",
                             HEADER CLIENT_1_HOLDS ENDED(101, 3, "key-lost", "a", "failover")
                                 CLIENT_2_GETS(205)),
                 BLAME_ASSUMPTION, ASSUMPTION_REPLICATION);
    assert_fails(judge_lines("exclusion",
                             HEADER CLIENT_1_HOLDS ENDED(101, 3, "evicted", "a", "eviction")
                                 CLIENT_2_GETS(205)),
                 BLAME_DEPLOYMENT, ASSUMPTION_MEMORY);
    assert_fails(judge_lines("exclusion", HEADER CLIENT_1_HOLDS DELETED_BLINDLY(101, 3, 2, "a")
                                              CLIENT_2_GETS(205)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_fails(judge_lines("exclusion", HEADER CLIENT_1_HOLDS ENDED(101, 3, "expired", "a", "ttl")
                                              CLIENT_2_GETS(205)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(exclusion, promise_that_outlives_the_ttl_is_the_clients_clock_only_if_that_ran_slow)
{
    assert_fails(judge_lines("exclusion",
                             HEADER ASK(1, 1) FAULT_OF_CLIENT(1, 1, "clock_rate", "start", 1)
                                 SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1400)
                                     ENDED(1005, 1, "expired", "a", "ttl") ENDED(1005, 2, "expired",
                                                                                 "a", "ttl")
                                         ENDED(1005, 3, "expired", "a", "ttl") ASK(1010, 2)
                                             SET3(1015, 2, "b", 2015) GRANT(1020, 2, "b", 2000)),
                 BLAME_ASSUMPTION, ASSUMPTION_CLIENT_CLOCK);
}

Test(exclusion, lock_that_never_had_a_majority_is_to_blame_whatever_else_happened)
{
    assert_fails(judge_lines("exclusion",
                             HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) SET(5, 2, 1, "a", 1005)
                                 GRANT(10, 1, "a", 1000) ENDED(101, 2, "expired", "a", "clock-jump")
                                     ASK(200, 2) SET(201, 2, 2, "b", 1201) SET(201, 3, 2, "b", 1201)
                                         SET(201, 4, 2, "b", 1201) GRANT(205, 2, "b", 1190)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(exclusion, foreign_history_without_node_events_blames_nobody)
{
    struct check_result result =
        judge_lines("exclusion", "{'format':'picklock-history','version':1}\n" ASK(1, 1) GRANT_OPEN(
                                     10, 1, "a") ASK(20, 7) GRANT_OPEN(30, 7, "b") FREE(40, 1));
    assert_fails(result, BLAME_NONE, ASSUMPTION_NONE);
    assert_evidence(result, 1, 3);
}

Test(exclusion, resources_are_apart)
{
    assert_verdict(
        judge_lines("exclusion", HEADER CLIENT_1_HOLDS
                    "{'time':20000000,'process':2,'type':'invoke','f':'acquire','resource':'s'}\n"
                    "{'time':30000000,'process':2,'type':'ok','f':'acquire','resource':'s',"
                    "'until':900000000}\n" ASK(40, 2)),
        VERDICT_PASS);
}

/* Client 1's key on node 3 expires because that node's clock runs at a rate; then client 2 gets it.
 */
#define NODE_3_DRIFTS(drift_ppm, rate_ppm)                                                         \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'drift_ppm':" #drift_ppm       \
    "}\n" FAULT_LINE(1, 1, "clock_rate",                                                           \
                     "start") ",'node':3,'numbers':[" #rate_ppm                                    \
                              ",0]}\n" CLIENT_1_HOLDS ENDED_BY(990, 3, "expired", "a",             \
                                                               "clock-rate", 1) ASK(991, 2)        \
                                  SET(992, 3, 2, "b", 1992) SET(992, 4, 2, "b", 1992)              \
                                      SET(992, 5, 2, "b", 1992) GRANT(995, 2, "b", 1900)

Test(exclusion, drift_is_an_assumption_only_beyond_what_the_lock_allows_for)
{
    assert_fails(judge_lines("exclusion", NODE_3_DRIFTS(10000, 1010000)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_fails(judge_lines("exclusion", NODE_3_DRIFTS(10000, 1010001)), BLAME_ASSUMPTION,
                 ASSUMPTION_NODE_CLOCK);
}

/* The keys of client 1 came first and its grant last: a restart in between made room for client 2.
 */
Test(exclusion, late_grant_is_blamed_on_what_became_of_its_own_keys)
{
    struct check_result result = judge_lines(
        "exclusion",
        HEADER ASK(1, 1) SET3(5, 1, "a", 1005) FAULT_OF_NODE(200, 1, "power_loss", "start", 1)
            ENDED_BY(200, 1, "key-lost", "a", "restart", 1)
                FAULT_OF_NODE(200, 1, "power_loss", "end", 1) ASK(300, 2) SET(301, 1, 2, "b", 1301)
                    SET(301, 4, 2, "b", 1301) SET(301, 5, 2, "b", 1301) GRANT(305, 2, "b", 1290)
                        GRANT(310, 1, "a", 980));
    assert_fails(result, BLAME_ASSUMPTION, ASSUMPTION_PERSISTENCE);
}

Test(exclusion, key_that_came_back_too_late_was_gone_when_the_other_was_granted)
{
    struct check_result result = judge_lines(
        "linearizable",
        HEADER CLIENT_1_HOLDS FAULT_OF_NODE(100, 1, "evict", "start", 1)
            ENDED_BY(100, 1, "evicted", "a", "eviction", 1) ASK(300, 2) SET(301, 1, 2, "b", 1301)
                SET(301, 4, 2, "b", 1301) SET(301, 5, 2, "b", 1301) GRANT(305, 2, "b", 1290)
                    ENDED_BY(310, 1, "key-lost", "b", "restart", 2)
                        ON(310, 1, "key-back") ",'owner':'a','cause':'restart'}\n" FREE(320, 2));
    assert_fails(result, BLAME_DEPLOYMENT, ASSUMPTION_MEMORY);
}

/* Node 3's key is evicted, and lets client 2 in. That nodes 1 and 2 are restarted later, and have
 * their keys, does not mean that they had none before. */
Test(exclusion, key_that_came_back_was_there_before)
{
    struct check_result result = judge_lines(
        "section_exclusion",
        HEADER CLIENT_1_HOLDS FAULT_OF_NODE(100, 1, "evict", "start", 3)
            ENDED_BY(100, 3, "evicted", "a", "eviction", 1) ASK(200, 2) SET(201, 3, 2, "b", 1201)
                SET(201, 4, 2, "b", 1201) SET(201, 5, 2, "b", 1201) GRANT(202, 2, "b", 1190)
                    ENTER(203, 2) FAULT_OF_NODE(210, 2, "shutdown", "start", 1)
                        ENDED_BY(210, 1, "key-back", "a", "restart", 2)
                            ENDED_BY(210, 2, "key-back", "a", "restart", 2)
                                FAULT_OF_NODE(210, 2, "shutdown", "end", 1) ENTER(220, 1)
                                    RUN_ENDS(2000));
    assert_fails(result, BLAME_DEPLOYMENT, ASSUMPTION_MEMORY);
}

/* Where each acquire is an owner of its own, one client may not hold it twice either. */
Test(exclusion, two_grants_to_one_client_overlap_where_the_owner_is_the_object)
{
#define OWNER(word)                                                                                \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'owner':'" word "'}\n" ASK(1, 1) GRANT(2, 1, "a", 900) ASK(3, 1)            \
        GRANT(4, 1, "b", 900) AT(10) "'kind':'phase','f':'run-end','cause':'all-done'}\n"
    assert_verdict(judge_lines("exclusion", OWNER("object")), VERDICT_FAIL);
    assert_verdict(judge_lines("exclusion", OWNER("process")), VERDICT_PASS);
}

/* A lock of the session: no end is promised, and it goes with the connection. */
#define SESSION_HEADER                                                                             \
    "{'format':'picklock-history','version':1,'nodes':1,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'endless':true}\n"
#define SESSION_TAKEN(ms, p, v) SET_ENDLESS(ms, 1, p, v) GRANT_OPEN(ms, p, v)
#define SESSION_LOST(cause, ms)                                                                    \
    SESSION_HEADER ASK(1, 1) SESSION_TAKEN(5, 1, "a") ENDED(100, 1, "key-lost", "a", cause)        \
        ASK(ms, 2) SESSION_TAKEN(ms, 2, "b")

Test(exclusion, a_connection_that_broke_just_now_could_not_be_known)
{
    assert_fails(judge_lines("exclusion", SESSION_LOST("session", 900)), BLAME_ASSUMPTION,
                 ASSUMPTION_SESSION);
}

Test(exclusion, a_connection_that_broke_long_ago_was_ignored)
{
    assert_fails(judge_lines("exclusion", SESSION_LOST("session", 1101)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}

Test(exclusion, two_clients_in_one_session_are_the_deployments)
{
    assert_fails(judge_lines("exclusion", SESSION_LOST("shared-session", 5000)), BLAME_DEPLOYMENT,
                 ASSUMPTION_OWN_SESSION);
}
