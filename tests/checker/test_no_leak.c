/* test_no_leak.c: a refused acquire leaves no keys behind. */
#include "tests/checker/story.h"

#define REFUSED_WITH_A_KEY ASK(1, 1) SET(5, 1, 1, "a", 1005) REFUSE(50, 1)

Test(no_leak, refused_acquire_that_cleans_up_passes)
{
    struct check_result result =
        judge_lines("no_leak", HEADER REFUSED_WITH_A_KEY DELETED(55, 1, 1, "a") RUN_ENDS(3000));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)1);
}

Test(no_leak, key_left_to_expire_fails)
{
    struct check_result result = judge_lines(
        "no_leak", HEADER REFUSED_WITH_A_KEY ENDED(1005, 1, "expired", "a", "ttl") RUN_ENDS(3000));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.evidence_count, 3);
    cr_assert_eq(result.evidence[0], (uint64_t)1);
    cr_assert_eq(result.evidence[1], (uint64_t)2);
    cr_assert_eq(result.evidence[2], (uint64_t)3);
    cr_assert_eq(result.number[0], (int64_t)1000000000);
}

Test(no_leak, key_that_stays_to_the_end_fails)
{
    assert_verdict(judge_lines("no_leak", HEADER ASK(1, 1) SET_ENDLESS(5, 1, 1, "a") REFUSE(50, 1)
                                              RUN_ENDS(3000)),
                   VERDICT_FAIL);
}

Test(no_leak, key_of_a_grant_may_expire)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 1000)
                                   ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_PASS);
}

Test(no_leak, failed_attempt_of_a_granted_acquire_leaks_too)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) SET3(200, 1, "b", 1200)
                                   GRANT(210, 1, "b", 1190) ENDED(1005, 4, "expired", "a", "ttl")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET(5, 4, 1, "a", 1005) SET3(200, 1, "b", 1200)
                                   GRANT(210, 1, "b", 1190) ENDED(1005, 4, "expired", "a", "ttl")),
                   VERDICT_FAIL);
}

Test(no_leak, fault_meanwhile_excuses)
{
    assert_verdict(judge_lines("no_leak", HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) FAULT_OF_CLIENT(
                                              20, 1, "partition", "start", 1) REFUSE(50, 1)
                                              ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) FAULT_OF_NODE(
                                              20, 1, "stall", "start", 2) REFUSE(50, 1)
                                              ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_FAIL);
}

/* A delete on another connection cleans up nothing that is still on its way. */
/* A latency on the links of client 1, of so many milliseconds a message. */
#define LATE_BY(length)                                                                            \
    FAULT_LINE(1, 1, "latency", "start") ",'process':1,'numbers':[" #length "000000,0]}\n"

Test(no_leak, latency_explains_no_more_than_two_round_trips)
{
#define LATE_STORY(length)                                                                         \
    HEADER LATE_BY(length) ASK(2, 1) SET(5, 1, 1, "a", 1005) REFUSE(205, 1)                        \
        ENDED(1005, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_fails(judge_lines("no_leak", LATE_STORY(100)), BLAME_LIBRARY, ASSUMPTION_NONE);
    /* 800 ms: half a ttl, and twice 150. */
    assert_verdict(judge_lines("no_leak", LATE_STORY(150)), VERDICT_PASS);
    assert_fails(judge_lines("no_leak", LATE_STORY(149)), BLAME_LIBRARY, ASSUMPTION_NONE);
    /* Our own, in a session that is kept alive as it cannot be closed yet. */
#define KEPT_ALIVE(words)                                                                          \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true" words                                             \
    "}\n" LATE_BY(100) ASK(2, 1) SET(5, 1, 1, "a", 1005) REFUSE(205, 1)                            \
        ON(400, 1, "extended") ",'process':1,'value':'a','owner':'a','until':1400000000}\n" ENDED( \
            1400, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_verdict(judge_lines("no_leak", KEPT_ALIVE("")), VERDICT_PASS);
    assert_fails(judge_lines("no_leak", KEPT_ALIVE(",'declared':true")), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}

Test(no_leak, delete_that_overtook_its_own_set_left_it)
{
    static const char overtaken[] = HEADER ASK(1, 1) KEPT(4, 1, 1, "a") SET(5, 1, 1, "a", 1005)
        REFUSE(50, 1) ENDED(1005, 1, "expired", "a", "ttl");
    assert_fails(judge_lines("no_leak", overtaken), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("no_leak", overtaken),
                     "no_leak: client 1's clean-up overtook its own key of r0 on node 1, where it "
                     "stayed for 1 s, until its ttl was over");
    cr_assert_eq(judge_lines("no_leak", overtaken).evidence_count, 4);
    cr_assert_eq(judge_lines("no_leak", overtaken).evidence[0], (uint64_t)1);
}

#define SENT(ms, n, p, v, end, from)                                                               \
    ON(ms, n, "set")                                                                               \
    ",'process':" #p ",'value':'" v "','until':" #end "000000,'sent':" #from "000000}\n"

/* Which key it was after, a node may not tell; who sent it, and when, says which came first. */
Test(no_leak, delete_without_a_name_that_was_sent_later_and_came_before)
{
#define NAMELESS(ms, n, p, from) ON(ms, n, "kept") ",'process':" #p ",'sent':" #from "000000}\n"
#define CAME(kept)                                                                                 \
    HEADER ASK(1, 1) kept SENT(5, 1, 1, "a", 1005, 2) REFUSE(50, 1)                                \
        ENDED(1005, 1, "expired", "a", "ttl")
    cr_assert(strstr(headline("no_leak", CAME(NAMELESS(4, 1, 1, 3))), "clean-up overtook"));
    cr_assert(strstr(headline("no_leak", CAME(NAMELESS(4, 1, 1, 1))), "left its key"));
    cr_assert(strstr(headline("no_leak", CAME(NAMELESS(4, 1, 2, 3))), "left its key"));
}

/* The node is frozen with the set in its hands, and delivers it when it thaws. */
Test(no_leak, command_that_a_fault_held_back_is_nobodys_fault)
{
#define HELD_UNTIL(thaw, from)                                                                     \
    HEADER FAULT_OF_NODE(1, 1, "stall", "start", 1) ASK(2, 1) REFUSE(300, 1)                       \
        FAULT_OF_NODE(thaw, 1, "stall", "end", 1) SENT(500, 1, 1, "a", 1500, from)                 \
            ENDED(1500, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    cr_assert_neq(judge_lines("no_leak", HELD_UNTIL(499, 3)).verdict, VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", HELD_UNTIL(400, 450)), VERDICT_FAIL);
}

/* A renewal that sets what it finds gone must not do so behind the release, however late it is. */
Test(no_leak, renewal_that_came_behind_the_release_and_set_the_key_anew)
{
#define RENEWS                                                                                     \
    "{'format':'picklock-history','version':1,'nodes':3,'ttl':1000000000,'declared':true,"         \
    "'declares':['renew']}\n"
#define CAME_LATE(header, from)                                                                    \
    header ASK(1, 1) SET(5, 1, 1, "a", 1005) SET(6, 2, 1, "a", 1006) SET(7, 3, 1, "a", 1007)       \
        GRANT_OPEN(10, 1, "a") FAULT_OF_CLIENT(20, 1, "delay_command", "start", 1) FREE(100, 1)    \
            DELETED3(102, 1, "a") FREED(110, 1) SENT(600, 1, 1, "a", 1600, from)                   \
                FAULT_OF_CLIENT(600, 1, "delay_command", "end", 1)                                 \
                    ENDED(1600, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_fails(judge_lines("no_leak", CAME_LATE(RENEWS, 50)), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert(
        strstr(headline("no_leak", CAME_LATE(RENEWS, 50)), "renewal came behind the release"));
    cr_assert_neq(judge_lines("no_leak", CAME_LATE(RENEWS, 5)).verdict, VERDICT_FAIL);
    cr_assert_neq(judge_lines("no_leak", CAME_LATE(HEADER, 50)).verdict, VERDICT_FAIL);
}

/* The network is slow: the release was sent, and the key went before it came. */
Test(no_leak, delete_that_was_on_its_way_when_the_key_went_excuses)
{
#define SENT_TO(ms, n, v, from)                                                                    \
    ON(ms, n, "kept") ",'process':1,'value':'" v "','sent':" #from "000000}\n"
#define WENT_AT_1005(later)                                                                        \
    HEADER REFUSED_WITH_A_KEY ENDED(1005, 1, "expired", "a", "ttl") later RUN_ENDS(3000)
    assert_verdict(judge_lines("no_leak", WENT_AT_1005(SENT_TO(1200, 1, "a", 1005))), VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", WENT_AT_1005(SENT_TO(1200, 1, "a", 1006))), VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", WENT_AT_1005(SENT_TO(1200, 2, "a", 1005))), VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", WENT_AT_1005(SENT_TO(1200, 1, "b", 1005))), VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", WENT_AT_1005(SENT_TO(2006, 1, "a", 1005))), VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", WENT_AT_1005(KEPT(1200, 1, 1, "a"))), VERDICT_FAIL);
}

/* A lost reply ends a connection; what was on its way on it may come behind what the next one
 * brings. What was not overtaken was not held up by it. */
Test(no_leak, set_on_a_connection_that_a_lost_reply_ended_is_nobodys_fault)
{
#define OVERTAKEN(kept, later)                                                                     \
    HEADER ASK(2, 1) FAULT_OF_CLIENT(3, 1, "lose_reply", "start", 1)                               \
        FAULT_OF_CLIENT(6, 1, "lose_reply", "end", 1) kept SENT(12, 1, 1, "a", 1012, 5)            \
            later REFUSE(50, 1) ENDED(1012, 1, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_verdict(judge_lines("no_leak", OVERTAKEN(KEPT(10, 1, 1, "a"), "")), VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", OVERTAKEN(KEPT(10, 1, 1, "a"), KEPT(20, 1, 2, "b"))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", OVERTAKEN("", "")), VERDICT_FAIL);
    assert_verdict(judge_lines("no_leak", OVERTAKEN(KEPT(10, 1, 1, "b"), "")), VERDICT_FAIL);
}

/* ... but a client that was stopped before it sent anything holds up nothing. */
Test(no_leak, pause_of_a_client_before_it_asks_excuses_nothing)
{
    assert_verdict(judge_lines("no_leak", HEADER FAULT_OF_CLIENT(1, 1, "pause", "start", 1)
                                              ASK(2, 1) FAULT_OF_CLIENT(4, 1, "pause", "end", 1)
                                                  SENT(5, 1, 1, "a", 1005, 4) REFUSE(50, 1)
                                                      ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_FAIL);
}

/* The holder asks once more for what it holds and is refused; the last set of its grant was slow.
 */
Test(no_leak, set_of_a_grant_that_stands_is_not_of_the_acquire_that_is_refused_meanwhile)
{
#define ASKED_AGAIN(v)                                                                             \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990) ASK(12, 1)                       \
        SET(15, 4, 1, v, 1015) REFUSE(30, 1) ENDED(1015, 4, "expired", v, "ttl") RUN_ENDS(2000)
    assert_verdict(judge_lines("no_leak", ASKED_AGAIN("a")), VERDICT_PASS);
    assert_fails(judge_lines("no_leak", ASKED_AGAIN("b")), BLAME_LIBRARY, ASSUMPTION_NONE);
}

#define RELEASED_AT_20                                                                             \
    ASK(1, 1)                                                                                      \
    SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990) FREE(20, 1) DELETED3(22, 1, "a") FREED(25, 1)

Test(no_leak, set_that_comes_behind_the_release_of_its_grant_is_left)
{
    static const char behind[] = HEADER RELEASED_AT_20 KEPT(25, 4, 1, "a") SET(30, 4, 1, "a", 1030)
        ENDED(1030, 4, "expired", "a", "ttl") RUN_ENDS(2000);
    struct check_result result = judge_lines("no_leak", behind);
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1000000000);
}

Test(no_leak, key_that_a_release_left_on_a_minority_fails)
{
#define LEFT_ON_4(ended)                                                                           \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) SET(5, 4, 1, "a", 1005) GRANT(10, 1, "a", 990)          \
        FREE(20, 1) DELETED3(22, 1, "a") FREED(25, 1) ended
    struct check_result result =
        judge_lines("no_leak", LEFT_ON_4(ENDED(1005, 4, "expired", "a", "ttl") RUN_ENDS(2000)));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(
        headline("no_leak", LEFT_ON_4(ENDED(1005, 4, "expired", "a", "ttl") RUN_ENDS(2000))),
        "no_leak: client 1's release left its key of r0 on node 4, where it stayed for 980 ms, "
        "until its ttl was over");
    assert_verdict(judge_lines("no_leak", LEFT_ON_4(DELETED(60, 4, 1, "a") RUN_ENDS(2000))),
                   VERDICT_PASS);
    cr_assert_str_eq(headline("no_leak", LEFT_ON_4(RUN_ENDS(2000))),
                     "no_leak: client 1's release left its key of r0 on node 4, where it stayed "
                     "for 1.975 s, to the end of the run");
}

/* A node that is silent leaves a release unknown: the others, which answer, are asked all the same.
 */
Test(no_leak, release_that_is_left_unknown_asks_the_nodes_that_answer)
{
#define UNKNOWN_AT(ms, of_the_fault, later)                                                        \
    HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 990) of_the_fault FREE(20, 1)         \
        OP(ms, 1, "info", "release") "}\n" DELETED(800, 1, 1, "a") DELETED(800, 3, 1, "a")         \
            later ENDED(1005, 2, "expired", "a", "ttl") RUN_ENDS(2000)
#define SILENT(node) FAULT_OF_NODE(15, 1, "pause", "start", node)
    static const char first[] = UNKNOWN_AT(70, SILENT(1), "");
    assert_fails(judge_lines("no_leak", first), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("no_leak", first),
                     "no_leak: client 1's release left its key of r0 on node 2, where it stayed "
                     "for 935 ms, until its ttl was over");
    assert_verdict(judge_lines("no_leak", UNKNOWN_AT(70, SILENT(2), "")), VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", UNKNOWN_AT(756, SILENT(1), "")), VERDICT_PASS);
    assert_verdict(
        judge_lines("no_leak", UNKNOWN_AT(70, FAULT_OF_CLIENT(15, 1, "pause", "start", 1), "")),
        VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", UNKNOWN_AT(70, SILENT(1), FREE(810, 1) FREED(820, 1))),
                   VERDICT_PASS);
    assert_fails(judge_lines("no_leak", UNKNOWN_AT(25, "", "")), BLAME_LIBRARY, ASSUMPTION_NONE);
#define ONE_STORE                                                                                  \
    "{'format':'picklock-history','version':1,'nodes':3,'stores':1,'clients':2,"                   \
    "'ttl':1000000000,'bound':500000000}\n"
    assert_verdict(judge_lines("no_leak", ONE_STORE ASK(1, 1) SET(5, 1, 1, "a", 1005) GRANT(
                                              10, 1, "a", 990) FREE(20, 1) UNKNOWN(25, 1, "release")
                                              ENDED(1005, 1, "expired", "a", "ttl") RUN_ENDS(2000)),
                   VERDICT_PASS);
}

/* That another value ran out there, whose set nobody told of, says nothing of what was deleted. */
Test(no_leak, expiry_of_another_value_leaves_nothing)
{
    assert_verdict(judge_lines("no_leak", LEFT_ON_4(DELETED(26, 4, 1, "a") ENDED(
                                              1005, 4, "expired", "b", "ttl") RUN_ENDS(2000))),
                   VERDICT_PASS);
}

/* Released in the last moment, or not answered: the delete may be on its way. */
Test(no_leak, release_in_the_last_moment_leaves_nothing)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET3(5, 1, "a", 1005) SET(5, 4, 1, "a", 1005) GRANT(
                                   10, 1, "a", 990) FREE(980, 1) DELETED3(981, 1, "a") FREED(982, 1)
                                   ENDED(1005, 4, "expired", "a", "ttl") RUN_ENDS(2000)),
                   VERDICT_PASS);
}

Test(no_leak, acquire_of_unknown_outcome_is_not_judged)
{
    assert_verdict(judge_lines("no_leak",
                               HEADER ASK(1, 1) SET(5, 1, 1, "a", 1005) UNKNOWN(50, 1, "acquire")
                                   ENDED(1005, 1, "expired", "a", "ttl")),
                   VERDICT_SKIPPED);
}

/* It comes when nobody knows what became of its acquire, and the next one is not asked yet. */
Test(no_leak, set_that_comes_behind_an_unknown_answer_is_not_of_the_next_acquire)
{
#define COMES_BEHIND(answer)                                                                       \
    HEADER ASK(1, 1) answer SET(52, 1, 1, "a", 1052) ASK(60, 1) REFUSE(70, 1)                      \
        ENDED(1052, 1, "expired", "a", "ttl") RUN_ENDS(2000)
    assert_verdict(judge_lines("no_leak", COMES_BEHIND(UNKNOWN(50, 1, "acquire"))), VERDICT_PASS);
    assert_fails(judge_lines("no_leak", COMES_BEHIND(REFUSE(50, 1))), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
}

/* What a frozen node took up when it thawed was sent long before its client was refused anew. */
#define THAWED_SET(n, from)                                                                        \
    ON(305, n, "set")                                                                              \
    ",'process':1,'value':'a','until':1305000000,'sent':" #from "000000}\n"
#define THAWED(from)                                                                               \
    HEADER FAULT_OF_NODE(1, 1, "pause", "start", 1) FAULT_OF_NODE(1, 2, "pause", "start", 2)       \
        FAULT_OF_NODE(1, 3, "pause", "start", 3) ASK(2, 1) REFUSE(60, 1) ASK(290, 1)               \
            FAULT_OF_NODE(300, 1, "pause", "end", 1) FAULT_OF_NODE(300, 2, "pause", "end", 2)      \
                FAULT_OF_NODE(300, 3, "pause", "end", 3) THAWED_SET(1, from) THAWED_SET(2, from)   \
                    THAWED_SET(3, from) REFUSE(320, 1) ENDED(1305, 1, "expired", "a", "ttl")       \
                        ENDED(1305, 2, "expired", "a", "ttl")                                      \
                            ENDED(1305, 3, "expired", "a", "ttl")

Test(no_leak, keys_that_a_fault_held_back_are_not_of_the_refusal_behind_it)
{
    assert_verdict(judge_lines("no_leak", THAWED(3)), VERDICT_PASS);
    assert_verdict(judge_lines("result_truth", THAWED(3)), VERDICT_SKIPPED);
    assert_fails(judge_lines("no_leak", THAWED(304)), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_fails(judge_lines("result_truth", THAWED(304)), BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* Threads of one program share its connections: a late key may be told of the wrong one of them. */
Test(no_leak, key_under_the_value_of_another_thread_is_not_left)
{
#define SHARED(the_threads)                                                                        \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'threads':" #the_threads       \
    ",'ttl':1000000000,'bound':500000000,'promises_validity':true,'declared':true,"                \
    "'declares':['validity']}\n" ASK(1, 1) ASK(1, 2) SET(5, 1, 1, "a", 1005)                       \
        SET(5, 2, 1, "a", 1005) GRANT(7, 1, "a", 990) SET(8, 3, 2, "a", 1008) REFUSE(200, 2)       \
            ENDED(1005, 1, "expired", "a", "ttl") ENDED(1005, 2, "expired", "a", "ttl")            \
                ENDED(1008, 3, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_verdict(judge_lines("no_leak", SHARED(2)), VERDICT_PASS);
    assert_fails(judge_lines("no_leak", SHARED(1)), BLAME_LIBRARY, ASSUMPTION_NONE);
}

/* A lock that sends a release again every 100 ms, and is ours, in the simulator. */
#define RESENDS(words)                                                                             \
    "{'format':'picklock-history','version':1,'nodes':5,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'resend':100000000" words "}\n"
#define OURS RESENDS(",'world':'sim'")
/* A fault of client 1 from 20 ms on; it has a key since 5 ms, and is refused at 50. */
#define WAS_HINDERED(header, kind, end, ended)                                                     \
    header ASK(1, 1) SENT(5, 1, 1, "a", 1005, 2) FAULT_OF_CLIENT(20, 1, kind, "start", 1)          \
        REFUSE(50, 1) FAULT_OF_CLIENT(end, 1, kind, "end", 1) ended RUN_ENDS(3000)
#define WENT ENDED(1005, 1, "expired", "a", "ttl")

/* 450 ms: two times 100, and a quarter of a ttl, which is over at 1002. */
Test(no_leak, release_that_is_not_sent_again_behind_a_fault_fails)
{
    static const char late[] = WAS_HINDERED(OURS, "partition", 551, WENT);
    struct check_result result = judge_lines("no_leak", late);
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.evidence_count, 3);
    cr_assert_eq(result.number[0], (int64_t)1000000000);
    cr_assert_str_eq(headline("no_leak", late),
                     "no_leak: client 1's acquire that was not granted left its key of r0 on node "
                     "1, where it stayed for 1 s, until its ttl was over");
    assert_verdict(judge_lines("no_leak", WAS_HINDERED(OURS, "partition", 552, WENT)),
                   VERDICT_PASS);
    assert_fails(judge_lines("no_leak", WAS_HINDERED(OURS, "pause", 551, WENT)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("no_leak", WAS_HINDERED(OURS, "partition", 551,
                                                       SENT_TO(900, 2, "a", 899) WENT)),
                   VERDICT_FAIL);
}

Test(no_leak, nobody_elses_release_need_be_sent_again)
{
    static const char *const others[] = {
        WAS_HINDERED(RESENDS(",'world':'real'"), "partition", 60, WENT),
        WAS_HINDERED(RESENDS(",'world':'sim','declared':true"), "partition", 60, WENT),
        WAS_HINDERED(RESENDS(",'world':'sim','stores':1"), "partition", 60, WENT),
        WAS_HINDERED(HEADER, "partition", 60, WENT),
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_verdict(judge_lines("no_leak", others[i]), VERDICT_PASS);
    }
}

/* Who was slow, or shown another time, may be so still; the dead send nothing; and a delete that
 * was sent before the key went is on its way, or was answered before the set came. */
Test(no_leak, release_that_need_not_be_sent_again_passes)
{
    static const char *const passing[] = {
        WAS_HINDERED(OURS, "slow", 60, WENT),
        WAS_HINDERED(OURS, "clock_rate", 60, WENT),
        WAS_HINDERED(OURS, "kill", 60, WENT),
        WAS_HINDERED(OURS, "partition", 60, WENT SENT_TO(1200, 1, "a", 1004)),
        WAS_HINDERED(OURS, "partition", 60, DELETED(700, 1, 1, "a")),
        OURS ASK(1, 1) FAULT_OF_CLIENT(2, 1, "partition", "start", 1) SENT_TO(4, 1, "a", 3)
            SENT(5, 1, 1, "a", 1005, 2) REFUSE(50, 1) FAULT_OF_CLIENT(60, 1, "partition", "end", 1)
                WENT RUN_ENDS(3000),
    };
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
        assert_verdict(judge_lines("no_leak", passing[i]), VERDICT_PASS);
    }
}

/* Of a grant, a ttl counts from when its release was asked, be its key given more time since. */
Test(no_leak, release_of_a_grant_is_sent_again_for_a_ttl)
{
#define GRANTED_KEPT(end, gone)                                                                    \
    OURS ASK(1, 1) SET3(5, 1, "a", 1005) SET(6, 4, 1, "a", 1006) GRANT(10, 1, "a", 990)            \
        FAULT_OF_NODE(20, 1, "stall", "start", 4) FREE(100, 1) DELETED3(102, 1, "a") FREED(105, 1) \
            ON(110, 4, "extended") ",'process':1,'value':'a','owner':'a','until':" #gone           \
                                   "000000}\n" FAULT_OF_NODE(end, 1, "stall", "end", 4)            \
                                       ENDED(gone, 4, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_fails(judge_lines("no_leak", GRANTED_KEPT(649, 1110)), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("no_leak", GRANTED_KEPT(650, 1110)), VERDICT_PASS);
    assert_verdict(judge_lines("no_leak", GRANTED_KEPT(650, 1400)), VERDICT_PASS);
}

/* A node that was gone is connected to in steps that double: as long again, a second at most. */
Test(no_leak, release_is_sent_again_when_a_node_that_was_gone_is_connected_to)
{
#define WAS_GONE(begin, end)                                                                       \
    OURS ASK(1, 1) SET3(5, 1, "a", 1005) SET(6, 4, 1, "a", 1006) GRANT(10, 1, "a", 990)            \
        FREE(100, 1) DELETED3(102, 1, "a") FREED(105, 1)                                           \
            FAULT_OF_NODE(begin, 1, "crash", "start", 4) FAULT_OF_NODE(end, 1, "crash", "end", 4)  \
                ENDED(1110, 4, "expired", "a", "ttl") RUN_ENDS(3000)
    assert_fails(judge_lines("no_leak", WAS_GONE(349, 499)), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("no_leak", WAS_GONE(350, 500)), VERDICT_PASS);
}
