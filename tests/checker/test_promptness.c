/* test_promptness.c: an answer is told in the step in which the reply arrives that decides it. */
#include "tests/checker/story.h"

/* Three nodes; `more` is what else the lock says. */
#define SAYS(more)                                                                                 \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'world':'sim'," more "}\n"
#define OWN SAYS("'tries':2,'retry_delay':50000000,'set_decides':true")
/* What became at node `n` of client 1's command that was sent at `sent`, and when its reply was. */
#define REPLY(ms, n, f, v, sent, back)                                                             \
    ON(ms, n, f)                                                                                   \
    ",'process':1,'value':'" v "','sent':" #sent "000000,'replied':" #back "000000}\n"
#define NO_REPLY(ms, n, f, v, sent)                                                                \
    ON(ms, n, f) ",'process':1,'value':'" v "','sent':" #sent "000000}\n"
#define YES3(f, back1, back2, back3)                                                               \
    REPLY(10, 1, f, "a", 5, back1) REPLY(10, 2, f, "a", 5, back2) REPLY(10, 3, f, "a", 5, back3)
#define REFUSED2(back1, back2)                                                                     \
    REPLY(10, 1, "refused", "a", 5, back1) REPLY(10, 2, "refused", "a", 5, back2)
#define FREES(ms, v) OP(ms, 1, "invoke", "release") ",'value':'" v "'}\n"
#define MORE(ms, v)  OP(ms, 1, "invoke", "extend") ",'value':'" v "'}\n"
#define LATE(said, after)                                                                          \
    "promptness: client 1's " said                                                                 \
    " was decided by its nodes' replies, and answered only after " after

static void assert_blamed(const char *lines, const char *said)
{
    assert_fails(judge_lines("promptness", lines), BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("promptness", lines), said);
}

static void assert_verdict_of(const char *lines, enum verdict verdict)
{
    assert_verdict(judge_lines("promptness", lines), verdict);
}

/* Of three nodes the second that has set the key decides, whichever that is. */
Test(promptness, grant_behind_the_reply_of_a_majority_fails)
{
    assert_verdict_of(OWN ASK(4, 1) YES3("set", 20, 14, 12) GRANT(14, 1, "a", 900), VERDICT_PASS);
    assert_blamed(OWN ASK(4, 1) YES3("set", 20, 14, 12) GRANT(15, 1, "a", 900),
                  LATE("acquire", "1 ms"));
    assert_blamed(OWN ASK(4, 1) YES3("set", 12, 14, 20) GRANT(20, 1, "a", 900),
                  LATE("acquire", "6 ms"));
    assert_verdict_of(OWN ASK(4, 1) REPLY(10, 1, "set", "a", 5, 12) NO_REPLY(10, 2, "set", "a", 5)
                          REPLY(10, 3, "set", "a", 5, 20) GRANT(20, 1, "a", 900),
                      VERDICT_PASS);
    assert_verdict_of(OWN ASK(4, 1) YES3("set", 20, 14, 12) GRANT(12, 1, "a", 900), VERDICT_PASS);
}

Test(promptness, evidence_is_the_reply_that_decides_and_the_answer)
{
    struct check_result result =
        judge_lines("promptness", OWN ASK(4, 1) YES3("set", 20, 14, 12) GRANT(15, 1, "a", 900));
    assert_evidence(result, 2, 4);
    cr_assert_eq(result.number[0], 1000000);
}

Test(promptness, refusal_behind_the_reply_with_which_no_majority_can_be_fails)
{
    const char *last = SAYS("'tries':1") ASK(4, 1) REFUSED2(12, 14) REFUSE(14, 1);
    assert_verdict_of(last, VERDICT_PASS);
    assert_blamed(SAYS("'tries':1") ASK(4, 1) REFUSED2(12, 14) REFUSE(15, 1),
                  LATE("acquire", "1 ms"));
    assert_verdict_of(SAYS("'tries':1") ASK(4, 1) REPLY(10, 1, "refused", "a", 5, 12)
                          REPLY(10, 2, "set", "a", 5, 13) REFUSE(15, 1),
                      VERDICT_SKIPPED);
}

/* Two of four are no majority; two that refused leave none. */
Test(promptness, majority_of_an_even_number_is_more_than_half)
{
#define FOUR                                                                                       \
    "{'format':'picklock-history','version':1,'nodes':4,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'world':'sim','tries':1,'set_decides':true}\n"
    assert_verdict_of(FOUR ASK(4, 1) YES3("set", 12, 13, 20) GRANT(20, 1, "a", 900), VERDICT_PASS);
    assert_blamed(FOUR ASK(4, 1) REFUSED2(12, 13) REFUSE(20, 1), LATE("acquire", "7 ms"));
}

Test(promptness, extension_and_release_behind_the_reply_of_a_majority_fail)
{
    assert_verdict_of(OWN MORE(4, "a") YES3("extended", 12, 13, 20) EXTENDED(13, 1, 1900),
                      VERDICT_PASS);
    assert_blamed(OWN MORE(4, "a") YES3("extended", 12, 13, 20) EXTENDED(20, 1, 1900),
                  LATE("extension", "7 ms"));
    assert_blamed(OWN MORE(4, "a") YES3("kept", 12, 13, 20)
                      OP(20, 1, "fail", "extend") ",'cause':'no-quorum'}\n",
                  LATE("extension", "7 ms"));
    assert_verdict_of(OWN FREES(4, "a") YES3("deleted", 12, 13, 20) FREED(13, 1), VERDICT_PASS);
    assert_blamed(OWN FREES(4, "a") YES3("deleted", 12, 13, 20) FREED(20, 1),
                  LATE("release", "7 ms"));
    assert_blamed(OWN FREES(4, "a") YES3("kept", 12, 13, 20) RELEASE_FAILS(20, 1),
                  LATE("release", "7 ms"));
    assert_blamed(OWN FREES(4, "a") YES3("deleted", 12, 13, 20) UNKNOWN(20, 1, "release"),
                  LATE("release", "7 ms"));
}

/* What was sent before, or for another value, does not count; nor who was asked twice. */
Test(promptness, replies_to_other_commands_decide_nothing)
{
    assert_verdict_of(OWN FREES(4, "a") REPLY(10, 1, "deleted", "a", 5, 12)
                          NO_REPLY(11, 1, "kept", "a", 6) REPLY(11, 2, "deleted", "a", 5, 19)
                              REPLY(12, 3, "deleted", "a", 5, 20) FREED(30, 1),
                      VERDICT_FAIL);
    assert_verdict_of(OWN FREES(4, "a") REPLY(10, 1, "deleted", "a", 5, 12)
                          NO_REPLY(11, 1, "kept", "a", 6) REPLY(11, 2, "deleted", "a", 5, 19)
                              REPLY(12, 3, "deleted", "a", 5, 20) FREED(20, 1),
                      VERDICT_PASS);
    assert_verdict_of(OWN FREES(4, "a") NO_REPLY(10, 1, "deleted", "a", 5)
                          REPLY(11, 1, "kept", "a", 6, 13) REPLY(11, 2, "deleted", "a", 5, 19)
                              FREED(30, 1),
                      VERDICT_SKIPPED);
    assert_verdict_of(OWN FREES(7, "a") YES3("deleted", 12, 13, 20) FREED(20, 1), VERDICT_SKIPPED);
    assert_verdict_of(OWN FREES(4, "b") YES3("deleted", 12, 13, 20) FREED(20, 1), VERDICT_SKIPPED);
    assert_verdict_of(OWN FREES(4, "a") YES3("set", 12, 13, 20) FREED(20, 1), VERDICT_SKIPPED);
    assert_verdict_of(OWN FREES(4, "a") YES3("deleted", 12, 13, 20) FREED(13, 1) FREES(14, "a")
                          FREED(30, 1),
                      VERDICT_PASS);
}

/* Behind an attempt that was refused there may be another, which reached no node. */
Test(promptness, attempt_that_was_not_seen_may_be_what_is_answered)
{
    assert_verdict_of(OWN ASK(4, 1) REFUSED2(12, 13) REFUSE(55, 1), VERDICT_SKIPPED);
    assert_blamed(OWN ASK(4, 1) REFUSED2(12, 13) REFUSE(54, 1), LATE("acquire", "41 ms"));
#define SECOND                                                                                     \
    REPLY(70, 1, "refused", "b", 65, 72)                                                           \
    REPLY(70, 2, "refused", "b", 65, 73) REPLY(71, 3, "refused", "a", 5, 72)
    assert_blamed(OWN ASK(4, 1) REFUSED2(12, 13) SECOND REFUSE(200, 1), LATE("acquire", "127 ms"));
    assert_verdict_of(OWN ASK(4, 1) REFUSED2(12, 13) SECOND REFUSE(73, 1), VERDICT_PASS);
    /* ... but a grant says of which attempt it is, where each has its own value. */
    assert_blamed(OWN ASK(4, 1) YES3("set", 12, 13, 20) GRANT(99, 1, "a", 900),
                  LATE("acquire", "86 ms"));
    assert_verdict_of(OWN ASK(4, 1) YES3("set", 12, 13, 20) GRANT(99, 1, "b", 900),
                      VERDICT_SKIPPED);
#define ONE_VALUE SAYS("'tries':2,'retry_delay':50000000,'set_decides':true,'one_value':true")
    assert_verdict_of(ONE_VALUE ASK(4, 1) YES3("set", 12, 13, 20) GRANT(99, 1, "a", 900),
                      VERDICT_SKIPPED);
    assert_blamed(ONE_VALUE ASK(4, 1) YES3("set", 12, 13, 20) GRANT(20, 1, "a", 900),
                  LATE("acquire", "7 ms"));
}

Test(promptness, each_time_that_the_one_value_is_asked_for_is_an_attempt)
{
#define AGAIN(f)                                                                                   \
    SAYS("'tries':2,'stores':1,'set_decides':true,'one_value':true")                               \
    ASK(4, 1) REPLY(10, 1, "refused", "a", 5, 12) REPLY(70, 1, f, "a", 65, 72)
    assert_verdict_of(AGAIN("set") GRANT(72, 1, "a", 900), VERDICT_PASS);
    assert_blamed(AGAIN("set") GRANT(73, 1, "a", 900), LATE("acquire", "1 ms"));
    assert_blamed(AGAIN("refused") REFUSE(73, 1), LATE("acquire", "1 ms"));
}

/* Where a grant takes another question, the set does not decide it; a refusal it does. */
Test(promptness, set_decides_only_where_the_lock_says_so)
{
    assert_verdict_of(SAYS("'tries':1") ASK(4, 1) YES3("set", 12, 13, 20) GRANT(30, 1, "a", 900),
                      VERDICT_SKIPPED);
    assert_verdict_of(OWN ASK(4, 1) YES3("set", 12, 13, 20) REFUSE(30, 1), VERDICT_SKIPPED);
}

Test(promptness, lock_that_is_not_ours_or_not_simulated_is_not_judged)
{
    const char *real = "{'format':'picklock-history','version':1,'nodes':3,'clients':2,"
                       "'ttl':1000000000,'bound':500000000,'tries':2,'set_decides':true,"
                       "'world':'real'}\n";
    const char *heads[] = {
        SAYS("'set_decides':true"),
        SAYS("'tries':2,'set_decides':true,'declared':true"),
        real,
    };
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char lines[4096];
        (void)snprintf(lines, sizeof lines, "%s%s", heads[i],
                       ASK(4, 1) YES3("set", 12, 13, 20) GRANT(30, 1, "a", 900));
        assert_verdict_of(lines, VERDICT_SKIPPED);
    }
}

#define STOPPED(from, to, kind, client)                                                            \
    FAULT_OF_CLIENT(from, 1, kind, "start", client) FAULT_OF_CLIENT(to, 1, kind, "end", client)
#define LATE_GRANT(at)                                                                             \
    ASK(at, 1)                                                                                     \
    REPLY(2010, 1, "set", "a", 2005, 2012)                                                         \
    REPLY(2010, 2, "set", "a", 2005, 2013) GRANT(2020, 1, "a", 2900)

Test(promptness, client_that_was_stopped_may_answer_late)
{
    assert_verdict_of(OWN STOPPED(900, 1000, "pause", 1) LATE_GRANT(2000), VERDICT_SKIPPED);
    assert_verdict_of(OWN STOPPED(900, 1000, "slow", 1) LATE_GRANT(2000), VERDICT_SKIPPED);
    assert_verdict_of(OWN STOPPED(900, 999, "pause", 1) LATE_GRANT(2000), VERDICT_FAIL);
    assert_verdict_of(OWN STOPPED(900, 1000, "pause", 2) LATE_GRANT(2000), VERDICT_FAIL);
    assert_verdict_of(OWN STOPPED(900, 1000, "clock_rate", 1) LATE_GRANT(2000), VERDICT_FAIL);
}

/* The member whose reply came may be none that a client of a service listens to any more. */
Test(promptness, fault_of_a_service_may_be_why_its_reply_is_not_heard)
{
#define SERVICE SAYS("'tries':2,'stores':1,'set_decides':true")
#define STALLED(from, to)                                                                          \
    FAULT_OF_NODE(from, 1, "stall", "start", 1) FAULT_OF_NODE(to, 1, "stall", "end", 1)
    assert_verdict_of(SERVICE STALLED(900, 1000) LATE_GRANT(2000), VERDICT_SKIPPED);
    assert_verdict_of(SERVICE STALLED(900, 999) LATE_GRANT(2000), VERDICT_FAIL);
    assert_verdict_of(OWN STALLED(900, 1000) LATE_GRANT(2000), VERDICT_FAIL);
}

/* While a client stands still a reply may be lost that is at its socket, with the connection. */
Test(promptness, who_stood_still_may_have_answered_in_time)
{
#define HEARD_LATE(client)                                                                         \
    OWN ASK(4, 1) YES3("set", 12, 13, 50) STOOD_STILL_OF(40, client, 2) GRANT(45, 1, "a", 900)
    assert_verdict_of(HEARD_LATE(1), VERDICT_UNKNOWN);
    assert_verdict_of(HEARD_LATE(2), VERDICT_FAIL);
}
