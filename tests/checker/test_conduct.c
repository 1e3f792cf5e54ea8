/* test_conduct.c: a lock goes about it as it says, and does nothing more behind its answers. */
#include "tests/checker/story.h"

/* Three attempts of 1 s, 50 ms between them, two extensions, and 12 ms off each promise. */
#define SAYS                                                                                       \
    "{'format':'picklock-history','version':1,'nodes':3,'clients':2,'ttl':1000000000,"             \
    "'bound':500000000,'promises_validity':true,'tries':3,'retry_delay':50000000,'extends':2,"     \
    "'allowance':12000000}\n"
/* What node `n` tells at `ms` of a command that client `p` sent at `sent`; it is back at once. */
#define NODE(ms, n, p, f, v, sent, command)                                                        \
    AT(ms)                                                                                         \
    "'kind':'node','node':" #n ",'process':" #p ",'f':'" f "','resource':'r0','value':'" v "',"    \
    "'sent':" #sent "000000,'replied':" #ms "000000,'command':'" command "'}\n"
#define TAKES(ms, n, v, sent)   NODE(ms, n, 1, "set", v, sent, "set")
#define REFUSES(ms, n, v, sent) NODE(ms, n, 1, "refused", v, sent, "set")
#define REFUSED3(ms, v, sent)                                                                      \
    REFUSES(ms, 1, v, sent) REFUSES(ms, 2, v, sent) REFUSES(ms, 3, v, sent)
#define TAKEN3(ms, v, sent)   TAKES(ms, 1, v, sent) TAKES(ms, 2, v, sent) TAKES(ms, 3, v, sent)
#define FREES(ms, n, v, sent) NODE(ms, n, 1, "deleted", v, sent, "compare-delete")
#define PROLONGS(ms, n, v, sent)                                                                   \
    AT(ms)                                                                                         \
    "'kind':'node','node':" #n ",'process':1,'f':'extended','resource':'r0','value':'" v "',"      \
    "'owner':'" v "','sent':" #sent "000000,'replied':" #ms "000000,'command':'compare-expire'}\n"

#define DONE(ms, p, end) OP(ms, p, "ok", "extend") ",'value':'a','until':" #end "000000}\n"

static void assert_blamed(const char *lines, const char *said)
{
    struct check_result result = judge_lines("conduct", lines);
    assert_fails(result, BLAME_LIBRARY, ASSUMPTION_NONE);
    cr_assert_str_eq(headline("conduct", lines), said);
}

static void assert_passes(const char *lines)
{
    assert_verdict(judge_lines("conduct", lines), VERDICT_PASS);
}

#define HOLDS SAYS ASK(1, 1) TAKEN3(2, "a", 1) GRANT(3, 1, "a", 989)

Test(conduct, turn_that_keeps_to_it_passes)
{
    assert_passes(HOLDS EXTEND(100, 1) PROLONGS(101, 1, "a", 100) DONE(102, 1, 1088) FREE(200, 1)
                      FREES(201, 1, "a", 200) FREED(202, 1));
}

Test(conduct, lock_that_says_nothing_of_it_is_nothing_judged)
{
    assert_verdict(
        judge_lines("conduct", HEADER ASK(1, 1) SET3(5, 1, "a", 1005) GRANT(10, 1, "a", 5000)),
        VERDICT_SKIPPED);
}

#define TWO_REFUSED SAYS ASK(1, 1) REFUSED3(2, "a", 1) REFUSED3(62, "b", 61)

Test(conduct, attempts_are_as_many_as_it_says)
{
    assert_passes(TWO_REFUSED REFUSED3(122, "c", 121) REFUSE(123, 1));
    assert_blamed(TWO_REFUSED REFUSED3(122, "c", 121) REFUSED3(182, "d", 181) REFUSE(183, 1),
                  "conduct: client 1 made more attempts than the lock says: 4, not 3");
    assert_blamed(TWO_REFUSED REFUSE(63, 1), "conduct: client 1 was refused before all attempts "
                                             "were made that the lock says: 2, not 3");
}

/* The next attempt may have begun, and be on its way. */
Test(conduct, refusal_long_behind_the_last_attempt_may_have_had_another)
{
    assert_passes(TWO_REFUSED REFUSE(112, 1));
    assert_verdict(judge_lines("conduct", TWO_REFUSED REFUSE(111, 1)), VERDICT_FAIL);
    assert_passes(SAYS ASK(1, 1) REFUSES(2, 1, "a", 1) REFUSES(2, 2, "a", 1) REFUSE(3, 1));
}

/* One that reached no node, as its connection was broken, was made as well. */
Test(conduct, attempts_that_nobody_saw_had_room)
{
#define REFUSED_LATE(sent, then)                                                                   \
    SAYS ASK(1, 1) REFUSED3(sent, "a", sent) REFUSED3(then, "b", then) REFUSE(211, 1)
    assert_passes(REFUSED_LATE(51, 200));
    assert_passes(REFUSED_LATE(100, 200));
    assert_passes(REFUSED_LATE(51, 210));
    assert_verdict(judge_lines("conduct", SAYS ASK(1, 1) REFUSED3(50, "a", 50)
                                              REFUSED3(149, "b", 149) REFUSE(150, 1)),
                   VERDICT_FAIL);
}

/* ... and so may one that was late, whose stamps tell less. */
Test(conduct, who_stood_still_may_have_tried_unseen)
{
    assert_verdict(judge_lines("conduct", TWO_REFUSED STOOD_STILL_OF(62, 1, 50) REFUSE(63, 1)),
                   VERDICT_UNKNOWN);
    assert_verdict(judge_lines("conduct", TWO_REFUSED STOOD_STILL_OF(62, 1, 30) REFUSE(63, 1)),
                   VERDICT_FAIL);
}

Test(conduct, attempt_that_comes_too_soon_fails)
{
    assert_blamed(SAYS ASK(1, 1) REFUSED3(2, "a", 1) REFUSED3(51, "b", 50),
                  "conduct: client 1 tried again sooner than the lock says: after 49 ms, not 50 "
                  "ms");
    assert_passes(SAYS ASK(1, 1) REFUSED3(2, "a", 1) REFUSED3(52, "b", 51) REFUSE(400, 1));
}

/* What was long on its way is of an attempt, or an acquire, before. */
Test(conduct, late_commands_of_older_attempts_are_no_attempts)
{
    assert_passes(SAYS ASK(1, 1) REFUSES(2, 1, "a", 1) REFUSED3(62, "b", 61) REFUSES(63, 2, "a", 1)
                      REFUSED3(122, "c", 121) REFUSE(123, 1));
    assert_passes(TWO_REFUSED REFUSED3(122, "c", 121) REFUSE(123, 1) ASK(124, 1)
                      REFUSES(125, 1, "x", 120) REFUSES(126, 1, "d", 124) REFUSE(400, 1));
}

/* A majority had refused it before it reached the third node, and the next acquire was asked. */
Test(conduct, last_attempt_of_an_older_acquire_is_none_of_this_one)
{
#define OLDER SAYS ASK(1, 1) REFUSES(2, 1, "c", 1) REFUSES(2, 2, "c", 1) REFUSE(90, 1) ASK(91, 1)
    assert_passes(OLDER REFUSES(92, 3, "c", 92) REFUSED3(94, "d", 93) REFUSE(300, 1));
    assert_verdict(judge_lines("conduct", OLDER REFUSES(92, 3, "x", 92) REFUSES(94, 1, "d", 93)),
                   VERDICT_FAIL);
}

Test(conduct, extensions_are_as_many_as_it_says)
{
#define TWICE_EXTENDED HOLDS EXTEND(100, 1) DONE(102, 1, 1088) EXTEND(200, 1) DONE(202, 1, 1188)
#define LIMITED(ms)    OP(ms, 1, "fail", "extend") ",'value':'a','cause':'extend-limit'}\n"
    assert_passes(TWICE_EXTENDED EXTEND(300, 1) LIMITED(301));
    assert_blamed(TWICE_EXTENDED EXTEND(300, 1) DONE(302, 1, 1288),
                  "conduct: client 1 extended a grant more often than the lock says: 3, not 2");
    assert_blamed(HOLDS EXTEND(100, 1) LIMITED(101),
                  "conduct: client 1 may not extend any more, sooner than the lock says: 0, not "
                  "2");
}

Test(conduct, promise_ends_a_ttl_less_the_allowance_behind_its_first_command)
{
#define PROMISED(until) SAYS ASK(1, 1) TAKEN3(4, "a", 3) GRANT(5, 1, "a", until)
    assert_passes(PROMISED(991));
    assert_passes(PROMISED(988)); /* asked at 1 ms, by a clock that was read before: at once */
    assert_blamed(PROMISED(992), "conduct: client 1 was promised more than a ttl less the lock's "
                                 "allowance: by 1 ms");
    assert_blamed(PROMISED(987), "conduct: client 1 was promised less than a ttl less the lock's "
                                 "allowance: by 2 ms");
    /* A process stands still now and then, for less than anybody tells. */
#define PROMISED_REALLY(until)                                                                     \
    "{'format':'picklock-history','version':1,'world':'real','nodes':3,'clients':2,"               \
    "'ttl':1000000000,'bound':500000000,'promises_validity':true,'tries':3,"                       \
    "'retry_delay':50000000,'extends':2,'allowance':12000000}\n" ASK(1, 1) TAKEN3(4, "a", 3)       \
        GRANT(5, 1, "a", until)
    assert_passes(PROMISED_REALLY(986));
    assert_blamed(PROMISED_REALLY(985), "conduct: client 1 was promised less than a ttl less the "
                                        "lock's allowance: by 4 ms");
}

/* In one session, another attempt is told that it has it already, and no node tells of that. */
Test(conduct, promise_may_count_from_an_attempt_that_no_node_tells_of)
{
#define IN_A_SESSION                                                                               \
    "{'format':'picklock-history','version':1,'nodes':3,'stores':1,'clients':2,"                   \
    "'ttl':1000000000,'bound':500000000,'promises_validity':true,'tries':3,'one_value':true,"      \
    "'retry_delay':50000000,'allowance':12000000}\n"
#define TOLD_AT(ms, until) IN_A_SESSION ASK(1, 1) TAKES(4, 1, "a", 3) GRANT(ms, 1, "a", until)
    assert_passes(TOLD_AT(53, 1041));
    assert_verdict(judge_lines("conduct", TOLD_AT(53, 1042)), VERDICT_FAIL);
    assert_verdict(judge_lines("conduct", TOLD_AT(52, 1040)), VERDICT_FAIL);
}

Test(conduct, promise_of_an_extension_counts_from_the_extension)
{
#define EXTENDED_TO(until) HOLDS EXTEND(100, 1) PROLONGS(103, 1, "a", 102) DONE(104, 1, until)
    assert_passes(EXTENDED_TO(1090));
    assert_passes(EXTENDED_TO(1087));
    assert_verdict(judge_lines("conduct", EXTENDED_TO(1091)), VERDICT_FAIL);
    assert_verdict(judge_lines("conduct", EXTENDED_TO(1086)), VERDICT_FAIL);
}

/* Of the second attempt: it cannot have begun before the delay was over. */
Test(conduct, promise_of_a_later_attempt_counts_from_that)
{
#define SECOND(until)                                                                              \
    SAYS ASK(1, 1) REFUSED3(2, "a", 1) TAKEN3(62, "b", 61) GRANT(63, 1, "b", until)
    assert_passes(SECOND(1049));
    assert_passes(SECOND(1038));
    assert_verdict(judge_lines("conduct", SECOND(1050)), VERDICT_FAIL);
    assert_verdict(judge_lines("conduct", SECOND(1037)), VERDICT_FAIL);
}

Test(conduct, key_that_is_asked_for_behind_the_answer_fails)
{
    assert_passes(HOLDS TAKES(24, 3, "a", 23));
    assert_blamed(HOLDS TAKES(25, 3, "a", 24),
                  "conduct: client 1's acquire had been answered, and its lock asked a node for a "
                  "key after 21 ms");
}

Test(conduct, key_that_is_given_more_time_unasked_fails)
{
    assert_passes(HOLDS PROLONGS(24, 1, "a", 23));
    assert_passes(HOLDS EXTEND(100, 1) DONE(102, 1, 1088) PROLONGS(224, 1, "a", 223));
    assert_blamed(HOLDS PROLONGS(25, 1, "a", 24),
                  "conduct: client 1 had asked for no more time, and its lock gave a key more "
                  "after 21 ms");
}

Test(conduct, release_that_was_answered_is_not_sent_again)
{
#define GIVES_BACK HOLDS FREE(200, 1) FREES(201, 1, "a", 200) FREED(202, 1)
    assert_passes(GIVES_BACK FREES(222, 1, "a", 221));
    assert_passes(GIVES_BACK FREES(250, 2, "a", 250));
    assert_passes(GIVES_BACK FREES(250, 1, "b", 250));
    assert_blamed(GIVES_BACK FREES(223, 1, "a", 222),
                  "conduct: client 1's release had been answered by a node, and was sent there "
                  "again after 21 ms");
}

/* What a fault delays, or takes, comes again, and in whatever order. */
Test(conduct, what_a_fault_may_explain_is_not_judged)
{
    assert_passes(SAYS FAULT_OF_NODE(1, 1, "stall", "start", 3) ASK(1, 1) REFUSED3(2, "a", 1)
                      REFUSED3(12, "b", 11) REFUSE(13, 1));
    assert_passes(HOLDS FAULT_OF_NODE(10, 1, "stall", "start", 3) FREE(200, 1)
                      FREES(201, 1, "a", 200) FREED(202, 1) FREES(250, 1, "a", 250));
}

Test(conduct, our_own_lateness_may_explain_a_short_delay)
{
    assert_verdict(judge_lines("conduct", SAYS ASK(1, 1) REFUSED3(2, "a", 1)
                                              STOOD_STILL(30, "loop", 28) REFUSED3(41, "b", 40)),
                   VERDICT_UNKNOWN);
}
