/* test_answer_consistency.c: answers contradict neither each other nor what the lock declares. */
#include "tests/checker/story.h"

#define DECLARES(words)                                                                            \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'declares':[" words "]}\n"
#define FENCED_GRANT(ms, p, v, end, the_fence)                                                     \
    OP(ms, p, "ok", "acquire")                                                                     \
    ",'value':'" v "','until':" #end "000000,'fence':" #the_fence "}\n"

Test(answer_consistency, ordinary_turns_pass)
{
    struct check_result result = judge_lines(
        "answer_consistency",
        DECLARES("'validity','extend'") ASK(1, 1) GRANT(2, 1, "a", 900) EXTEND(500, 1)
            EXTENDED(501, 1, 1400) FREE(600, 1) FREED(601, 1) ASK(700, 1) GRANT(701, 1, "b", 1600));
    assert_verdict(result, VERDICT_PASS);
    cr_assert_eq(result.judged, (uint64_t)4);
}

Test(answer_consistency, holder_that_is_granted_it_again_contradicts_a_lock_that_is_not_re_entrant)
{
#define TWICE(words, second)                                                                       \
    DECLARES(words) ASK(1, 1) GRANT(2, 1, "a", 900) ASK(3, 1) second RUN_ENDS(2000)
    struct check_result result =
        judge_lines("answer_consistency", TWICE("", GRANT(4, 1, "b", 900)));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_evidence(result, 1, 3);
    assert_verdict(judge_lines("answer_consistency", TWICE("'reentrant'", GRANT(4, 1, "b", 900))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", TWICE("", REFUSE(4, 1))), VERDICT_PASS);
    assert_fails(judge_lines("answer_consistency", TWICE("'reentrant'", REFUSE(4, 1))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", HEADER ASK(1, 1) GRANT(2, 1, "a", 900)
                                                         ASK(3, 1) GRANT(4, 1, "b", 900)),
                   VERDICT_PASS);
}

/* Of a lock that waits and promises nothing: its own keys end within a ttl of the answer. */
Test(answer_consistency, holder_whose_keys_have_run_out_may_be_granted_it_again_or_refused)
{
#define AGAIN_WHEN_GONE(words, f, cause, answer)                                                   \
    DECLARES(words)                                                                                \
    ASK(1, 1)                                                                                      \
    SET3(2, 1, "a", 1002)                                                                          \
    GRANT_OPEN(5, 1, "a")                                                                          \
    ASK(10, 1)                                                                                     \
    ENDED(1002, 1, f, "a", cause)                                                                  \
    ENDED(1002, 2, f, "a", cause) SET(1003, 1, 1, "b", 2003) SET(1003, 2, 1, "b", 2003) answer
    assert_verdict(judge_lines("answer_consistency", AGAIN_WHEN_GONE("'wait'", "expired", "ttl",
                                                                     GRANT_OPEN(1004, 1, "b"))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               AGAIN_WHEN_GONE("'reentrant'", "expired", "ttl", REFUSE(1004, 1))),
                   VERDICT_PASS);
    /* It took them away by itself. */
    assert_fails(judge_lines("answer_consistency", AGAIN_WHEN_GONE("'wait'", "deleted", "released",
                                                                   GRANT_OPEN(1004, 1, "b"))),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
}

Test(answer_consistency, refusal_that_a_fault_explains_contradicts_nothing)
{
    assert_verdict(judge_lines("answer_consistency",
                               DECLARES("'reentrant'") ASK(1, 1) GRANT(2, 1, "a", 900)
                                   FAULT_OF_NODE(3, 1, "stall", "start", 1) ASK(4, 1) REFUSE(5, 1)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               DECLARES("'reentrant'") ASK(1, 1) GRANT(2, 1, "a", 900) ASK(850, 1)
                                   REFUSE(950, 1)),
                   VERDICT_PASS);
}

/* Also where the lease was extended since: what the fault took may have gone in the dark. */
Test(answer_consistency, second_grant_that_a_fault_since_the_first_was_asked_for_explains_is_none)
{
#define AGAIN_BEHIND(fault)                                                                        \
    DECLARES("'extend'")                                                                           \
    ASK(1, 1) fault GRANT(4, 1, "a", 900) EXTEND(10, 1) EXTENDED(11, 1, 910) RUN_AGAIN
#define RUN_AGAIN ASK(12, 1) GRANT(13, 1, "b", 910)
#define CRASH                                                                                      \
    FAULT_OF_NODE(2, 1, "crash", "start", 1)                                                       \
    FAULT_OF_NODE(3, 1, "crash", "end", 1)
    assert_verdict(judge_lines("answer_consistency", AGAIN_BEHIND("")), VERDICT_FAIL);
    assert_verdict(judge_lines("answer_consistency", AGAIN_BEHIND(CRASH)), VERDICT_PASS);
}

/* On a busy machine a library's patience with its nodes may be over before they could answer. */
Test(answer_consistency, refusal_that_our_own_lateness_explains_contradicts_nothing)
{
    struct check_result result = judge_lines(
        "answer_consistency", DECLARES("'reentrant'") ASK(1, 1) GRANT(2, 1, "a", 900) ASK(4, 1)
                                  STOOD_STILL(104, "scheduler", 100) REFUSE(105, 1));
    assert_verdict(result, VERDICT_UNKNOWN);
    cr_assert_eq(result.reason, CHECK_REASON_LATE);
}

Test(answer_consistency, what_was_released_or_lost_cannot_be_extended)
{
    static const char freed[] = HEADER ASK(1, 1) GRANT(2, 1, "a", 900) FREE(10, 1) FREED(11, 1)
        EXTEND(12, 1) EXTENDED(13, 1, 1000);
    static const char told[] =
        HEADER ASK(1, 1) GRANT(2, 1, "a", 900) LOST(10, 1) EXTEND(12, 1) EXTENDED(13, 1, 1000);
    assert_fails(judge_lines("answer_consistency", freed), BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_fails(judge_lines("answer_consistency", told), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", told),
                     "answer_consistency: client 1's extension was told done although it had been "
                     "told of its loss");
    /* A node that restarts may bring back what was given back. */
    assert_verdict(
        judge_lines("answer_consistency",
                    HEADER ASK(1, 1) GRANT(2, 1, "a", 900) FAULT_OF_NODE(3, 1, "crash", "start", 1)
                        FAULT_OF_NODE(4, 1, "crash", "end", 1) EXTEND(5, 1) EXTENDED(6, 1, 950)
                            FREE(10, 1) FREED(11, 1) EXTEND(12, 1) EXTENDED(13, 1, 1000)),
        VERDICT_PASS);
    /* The notice came while the extension was under way: either may have been first. */
    assert_verdict(judge_lines("answer_consistency", HEADER ASK(1, 1) GRANT(2, 1, "a", 900) EXTEND(
                                                         9, 1) LOST(10, 1) EXTENDED(13, 1, 1000)),
                   VERDICT_PASS);
    /* A release that is not known to have done anything, and a new grant, contradict nothing. */
    assert_verdict(judge_lines("answer_consistency",
                               HEADER ASK(1, 1) GRANT(2, 1, "a", 900) FREE(10, 1)
                                   UNKNOWN(11, 1, "release") EXTEND(12, 1) EXTENDED(13, 1, 1000)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               HEADER ASK(1, 1) GRANT(2, 1, "a", 900) FREE(10, 1) FREED(11, 1)
                                   ASK(12, 1) GRANT(13, 1, "b", 900) EXTEND(14, 1)
                                       EXTENDED(15, 1, 1000)),
                   VERDICT_PASS);
}

Test(answer_consistency, declared_promise_and_fence_are_looked_for_in_each_grant)
{
    assert_verdict(judge_lines("answer_consistency", DECLARES("'validity','fence'") ASK(1, 1)
                                                         FENCED_GRANT(2, 1, "a", 900, 7)),
                   VERDICT_PASS);
    static const char unpromised[] = DECLARES("'validity'") ASK(1, 1) GRANT_OPEN(2, 1, "a");
    assert_fails(judge_lines("answer_consistency", unpromised), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", unpromised),
                     "answer_consistency: client 1's grant promises no end, and the lock declares "
                     "validity");
    assert_fails(judge_lines("answer_consistency",
                             DECLARES("'validity','fence'") ASK(1, 1) GRANT(2, 1, "a", 900)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", DECLARES("") ASK(1, 1) GRANT_OPEN(2, 1, "a")),
                   VERDICT_PASS);
}

Test(answer_consistency, lock_that_says_that_it_renews_is_seen_to)
{
#define HELD(words, renewal, end)                                                                  \
    DECLARES(words)                                                                                \
    ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") renewal FREE(end, 1)
#define RENEWED ON(500, 1, "extended") ",'process':1,'value':'a','owner':'a','until':1500000000}\n"
    struct check_result result = judge_lines("answer_consistency", HELD("'renew'", "", 1200));
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_eq(result.number[0], (int64_t)1190000000);
    static const char stopped[] = HELD("'renew'", RENEWED, 1501);
    assert_fails(judge_lines("answer_consistency", stopped), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", stopped),
                     "answer_consistency: client 1 held on, and the lock declares that it "
                     "renews: it did not for 1.001 s");
    assert_verdict(judge_lines("answer_consistency", HELD("'renew'", RENEWED, 1499)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", HELD("'renew'", "", 900)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", HELD("", "", 1200)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               HELD("'renew'", FAULT_OF_CLIENT(300, 1, "pause", "start", 1), 1200)),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("answer_consistency", HELD("'renew'", STOOD_STILL(900, "loop", 600), 1200)),
        VERDICT_UNKNOWN);
}

/* A node of three that is away excuses nobody for as long as a ttl; two do, and its own stop. */
Test(answer_consistency, lock_that_renews_does_so_without_a_node_that_it_can_do_without)
{
#define RENEWS_EVERY_300                                                                           \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'faults':2,'declared':true,'declares':['renew'],'renew_every':300000000}\n"
#define AWAY(node)      FAULT_OF_NODE(300, 1, "stall", "start", node)
#define ALSO_AWAY(node) FAULT_OF_NODE(310, 2, "stall", "start", node)
#define STOPPED(client) FAULT_OF_CLIENT(310, 2, "pause", "start", client)
#define OFTEN(faults, what)                                                                        \
    RENEWS_EVERY_300 ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") faults what
    static const char *const bad[] = {
        HELD("'renew'", AWAY(3), 1011),         OFTEN(AWAY(3), FREE(911, 1)),
        HELD("'renew'", AWAY(3) RENEWED, 1501), HELD("'renew'", STOPPED(2), 1011),
        OFTEN(AWAY(3), LOST(911, 1)),           OFTEN(STOPPED(2), LOST(611, 1)),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_fails(judge_lines("answer_consistency", bad[i]), BLAME_LIBRARY, ASSUMPTION_NONE);
    }
    static const char *const good[] = {
        HELD("'renew'", AWAY(3), 1010),
        OFTEN(AWAY(3), FREE(910, 1)),
        HELD("'renew'", AWAY(3) RENEWED, 1500),
        HELD("'renew'", AWAY(3) ALSO_AWAY(2), 2900),
        HELD("'renew'", AWAY(3) STOPPED(1), 2900),
        OFTEN(AWAY(3), LOST(910, 1)),
        OFTEN(AWAY(3) ALSO_AWAY(2), LOST(2900, 1)),
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_verdict(judge_lines("answer_consistency", good[i]), VERDICT_PASS);
    }
}

Test(answer_consistency, lock_that_says_that_it_renews_does_not_lose_it_for_want_of_that)
{
#define TOLD(words, renewal, ms)                                                                   \
    DECLARES(words)                                                                                \
    ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") renewal LOST(ms, 1)
    static const char late[] = TOLD("'renew'", RENEWED, 1501);
    assert_fails(judge_lines("answer_consistency", late), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", late),
                     "answer_consistency: client 1 was told of a loss, and the lock declares that "
                     "it renews: no key was given more time for 1.001 s");
    assert_fails(judge_lines("answer_consistency", TOLD("'renew'", "", 1200)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", TOLD("", "", 1200)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", TOLD("'renew'", RENEWED, 1400)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", TOLD("'renew'", AWAY(1) ALSO_AWAY(2), 1200)),
                   VERDICT_PASS);
}

/* An error of the node, which was over: there was time for another renewal. */
Test(answer_consistency, lock_that_renews_goes_on_when_errors_are_over)
{
#define LOSES(faults, ms)                                                                          \
    RENEWS_EVERY_300 ASK(1, 1) SET3(5, 1, "a", 1005) GRANT_OPEN(10, 1, "a") faults LOST(ms, 1)
#define FAULTY(kind, from, to)                                                                     \
    FAULT_OF_NODE(from, 1, kind, "start", 1) FAULT_OF_NODE(to, 1, kind, "end", 1)
    static const char given_up[] = LOSES(FAULTY("refuse_writes", 300, 320), 880);
    assert_fails(judge_lines("answer_consistency", given_up), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", given_up),
                     "answer_consistency: client 1 was told of a loss, and the lock declares that "
                     "it renews: nodes had answered with errors, and when that was over no key was "
                     "given more time for 560 ms");
    assert_fails(judge_lines("answer_consistency", LOSES(FAULTY("script_flush", 300, 300), 880)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    /* Told soon behind it; not over; renewed since; another fault; and our own lateness. */
    assert_verdict(judge_lines("answer_consistency", LOSES(FAULTY("refuse_writes", 300, 320), 770)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               LOSES(FAULT_OF_NODE(300, 1, "refuse_writes", "start", 1), 880)),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("answer_consistency", LOSES(FAULTY("refuse_writes", 300, 320) RENEWED, 880)),
        VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", LOSES(FAULTY("stall", 300, 320), 880)),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("answer_consistency",
                    LOSES(FAULT_OF_CLIENT(50, 2, "pause", "start", 1)
                              FAULT_OF_CLIENT(60, 2, "pause", "end", 1) EXTEND(70, 1)
                                  OP(80, 1, "ok", "extend") "}\n" FAULTY("refuse_writes", 300, 320),
                          880)),
        VERDICT_PASS);
    assert_verdict(
        judge_lines("answer_consistency",
                    LOSES(FAULTY("refuse_writes", 300, 320) STOOD_STILL(850, "loop", 300), 880)),
        VERDICT_UNKNOWN);
}

Test(answer_consistency, value_that_stood_in_no_command_is_said)
{
    static const char mismatch[] = HEADER ASK(1, 1) GRANT(2, 1, "a", 900)
        AT(3) "'kind':'client','process':1,'f':'value-mismatch','resource':'r0','value':'a'}\n";
    assert_verdict(judge_lines("answer_consistency", mismatch), VERDICT_UNKNOWN);
    cr_assert_str_eq(headline("answer_consistency", mismatch),
                     "answer_consistency: client 1 reported a value that stood in none of its "
                     "commands: its keys are judged by who set them");
}

Test(answer_consistency, answer_to_nobody_blames_the_library)
{
    static const char unasked[] =
        HEADER ASK(1, 1) GRANT(2, 1, "a", 900) AT(3) "'kind':'client','process':1,'f':'unasked'}\n";
    assert_fails(judge_lines("answer_consistency", unasked), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", unasked),
                     "answer_consistency: client 1 was given an answer, and had asked nothing");
}

/* ---- what is declared, and not seen in the whole run; or seen, and not declared ---- */

#define TRIED(words)                                                                               \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':4,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'attempts':200000000,'declares':[" words "]}\n"

Test(answer_consistency, lock_that_says_that_it_extends_is_seen_to)
{
#define NOT_EXTENDED(ms, p) OP(ms, p, "fail", "extend") ",'cause':'library-error'}\n"
#define TRIES(words, fault, second)                                                                \
    TRIED(words)                                                                                   \
    ASK(1, 1) GRANT(2, 1, "a", 900) fault EXTEND(100, 1) NOT_EXTENDED(101, 1) EXTEND(200, 1) second
    static const char never[] = TRIES("'extend'", "", NOT_EXTENDED(201, 1));
    assert_fails(judge_lines("answer_consistency", never), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", never),
                     "answer_consistency: client 1's lease ran and could not be extended, nor any "
                     "other, and the lock declares that it extends: it said so after 1 ms");
    assert_verdict(judge_lines("answer_consistency", TRIES("'extend'", "", EXTENDED(201, 1, 1200))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", TRIES("", "", NOT_EXTENDED(201, 1))),
                   VERDICT_PASS);
    /* Once may be a rule of its own; a lease that is over cannot be; nor where a fault may be why.
     */
    assert_verdict(judge_lines("answer_consistency", TRIES("'extend'", "", "")), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", TRIES("'extend'", "", NOT_EXTENDED(950, 1))),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               TRIES("'extend'", FAULT_OF_NODE(3, 1, "stall", "start", 1),
                                     NOT_EXTENDED(201, 1))),
                   VERDICT_PASS);
}

Test(answer_consistency, lock_that_says_that_it_waits_is_seen_to)
{
#define REFUSED_TWICE(header, until)                                                               \
    header ASK(1, 1) GRANT(2, 1, "a", 900) ASK(10, 2) REFUSE(12, 2) ASK(20, 3) REFUSE(until, 3)
    static const char hasty[] = REFUSED_TWICE(TRIED("'wait'"), 22);
    assert_fails(judge_lines("answer_consistency", hasty), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", hasty),
                     "answer_consistency: client 2 was refused what another held, and nobody was "
                     "seen to wait, though the lock declares that it does: after 2 ms");
    assert_verdict(judge_lines("answer_consistency", REFUSED_TWICE(TRIED(""), 22)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", REFUSED_TWICE(TRIED("'wait'"), 170)),
                   VERDICT_PASS);
    /* Where nothing is tried again, there is nothing to wait for. */
    assert_verdict(judge_lines("answer_consistency", REFUSED_TWICE(DECLARES("'wait'"), 22)),
                   VERDICT_PASS);
}

Test(answer_consistency, lock_that_does_not_say_that_it_waits_ends_with_its_attempts)
{
#define OPEN_FOR(words, late, ms)                                                                  \
    TRIED(words) ASK(1, 1) GRANT(2, 1, "a", 900) ASK(10, 2) late REFUSE(ms, 2)
    assert_fails(judge_lines("answer_consistency", OPEN_FOR("", "", 411)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", OPEN_FOR("", "", 410)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", OPEN_FOR("'wait'", "", 411)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               OPEN_FOR("", FAULT_OF_NODE(11, 1, "stall", "start", 1), 411)),
                   VERDICT_PASS);
    assert_verdict(
        judge_lines("answer_consistency", OPEN_FOR("", STOOD_STILL(99, "loop", 20), 411)),
        VERDICT_UNKNOWN);
}

Test(answer_consistency, program_that_is_one_owner_is_not_refused_what_it_holds)
{
#define THREADS(owner, words)                                                                      \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':4,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'threads':2,'owner':'" owner "','declares':[" words "]}\n"
#define REFUSED_BESIDE(owner, words, p)                                                            \
    THREADS(owner, words) ASK(1, 1) GRANT(2, 1, "a", 900) ASK(10, p) REFUSE(12, p)
    assert_fails(judge_lines("answer_consistency", REFUSED_BESIDE("process", "'reentrant'", 2)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", REFUSED_BESIDE("process", "'reentrant'", 3)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", REFUSED_BESIDE("thread", "'reentrant'", 2)),
                   VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", REFUSED_BESIDE("process", "", 2)),
                   VERDICT_PASS);
}

#define HURRIED(words)                                                                             \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'declared':true,'deadline':100000000,'patience':200000000,'declares':"      \
    "[" words "]}\n"
#define GIVEN_UP(ms, p) WITH(ms, "client", p, "given-up") "}\n"

Test(answer_consistency, deadline_that_is_declared_is_kept_but_for_one_attempt)
{
    static const char late[] = HURRIED("'deadline'") ASK(1, 1) REFUSE(302, 1);
    assert_verdict(
        judge_lines("answer_consistency", HURRIED("'deadline'") ASK(1, 1) REFUSE(300, 1)),
        VERDICT_PASS);
    assert_fails(judge_lines("answer_consistency", late), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("answer_consistency", late),
                     "answer_consistency: client 1's acquire had a deadline of 100 ms, which the "
                     "lock declares that it takes, and was not answered for another 201 ms");
    cr_assert_not_null(strstr(tell("answer_consistency", late), "a deadline of 100 ms"));
    assert_verdict(judge_lines("answer_consistency", HURRIED("") ASK(1, 1) REFUSE(302, 1)),
                   VERDICT_PASS);
}

/* Whoever asks all nodes at once need not wait for one after the other. */
Test(answer_consistency, deadline_of_who_asks_all_nodes_at_once_is_kept_sooner)
{
#define ASKS_NODE(ms, n, p, sent)                                                                  \
    ON(ms, n, "refused")                                                                           \
    ",'process':" #p ",'value':'a','sent':" #sent "00000,'replied':" #ms "000000}\n"
#define ASKS_TWO(p, sent, ms)                                                                      \
    HURRIED("'deadline'") ASK(1, 1) ASKS_NODE(5, 1, 1, 20) ASKS_NODE(9, 2, p, sent) REFUSE(ms, 1)
    assert_fails(judge_lines("answer_consistency", ASKS_TWO(1, 21, 270)), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", ASKS_TWO(1, 21, 260)), VERDICT_PASS);
    /* The second when the first had answered, or was given up; another client asked. */
    assert_verdict(judge_lines("answer_consistency", ASKS_TWO(1, 51, 270)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency", ASKS_TWO(2, 21, 270)), VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               HURRIED("'deadline'") ASK(1, 1) ASKS_NODE(20, 1, 1, 20)
                                   ASKS_NODE(21, 2, 1, 71) REFUSE(270, 1)),
                   VERDICT_PASS);
}

Test(answer_consistency, acquire_that_was_given_up_is_answered_soon)
{
    assert_verdict(judge_lines("answer_consistency",
                               HURRIED("'cancel'") ASK(1, 1) GIVEN_UP(500, 1) REFUSE(699, 1)),
                   VERDICT_PASS);
    assert_fails(judge_lines("answer_consistency",
                             HURRIED("'cancel'") ASK(1, 1) GIVEN_UP(500, 1) REFUSE(702, 1)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", HURRIED("'cancel'") ASK(1, 1) REFUSE(5, 1)
                                                         GIVEN_UP(6, 1) ASK(7, 1) REFUSE(900, 1)),
                   VERDICT_PASS);
}

/* Nodes that do not answer are what a deadline is for; a client that stands cannot be told. */
Test(answer_consistency, deadline_is_kept_whatever_befalls_nodes_but_not_by_a_client_that_stands)
{
    assert_fails(judge_lines("answer_consistency",
                             HURRIED("'deadline'") FAULT_OF_NODE(1, 1, "stall", "start", 1)
                                 ASK(1, 1) REFUSE(400, 1)),
                 BLAME_LIBRARY, ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency",
                               HURRIED("'deadline'") ASK(1, 1)
                                   FAULT_OF_CLIENT(2, 1, "pause", "start", 1) REFUSE(400, 1)),
                   VERDICT_PASS);
}

/* Its last moment is the last at which it could have been answered; only its own end is. */
Test(answer_consistency, deadline_of_a_client_that_is_killed_counts_until_then)
{
#define DIES(tail) HURRIED("'deadline'") ASK(1, 1) tail
    assert_fails(judge_lines("answer_consistency", DIES(KILLED(400, 1))), BLAME_LIBRARY,
                 ASSUMPTION_NONE);
    assert_verdict(judge_lines("answer_consistency", DIES(KILLED(200, 1))), VERDICT_SKIPPED);
    assert_verdict(
        judge_lines("answer_consistency", DIES(REFUSE(200, 1) ASK(201, 1) KILLED(400, 1))),
        VERDICT_PASS);
    assert_verdict(judge_lines("answer_consistency",
                               DIES(AT(400) "'kind':'client','process':1,'f':'done'}\n")),
                   VERDICT_SKIPPED);
}
