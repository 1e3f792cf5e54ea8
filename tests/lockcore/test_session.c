/* test_session.c: the life of a lock in a session, as Chubby's is. */
#include "tests/lockcore/player.h"

#define ASKED                                                                                      \
    "0ms acquire         => send 0 open-session v1 10000ms; send 0 acquire v1 10000ms; wake "      \
    "50ms\n"                                                                                       \
    "1ms reply 0 ok      =>\n"
#define GRANTED                                                                                    \
    ASKED "2ms reply 0 7 => tell granted v1 validity 9896ms until 9898ms fence 7; "                \
          "send 0 keep-alive v1; wake 8648ms\n"

Test(session, a_lease_counts_from_when_the_question_was_sent_and_the_generation_is_its_fence)
{
    play_usual("chubby", 5, GRANTED);
}

Test(session, a_keepalive_answered_late_counts_from_when_it_was_sent)
{
    play_usual("chubby", 5,
               GRANTED "# it waited 7.5 s at the master: 17.5 s less the drift from 2 ms on\n"
                       "7600ms reply 0 17500 => tell renewed v1 validity 9725ms until 17325ms; "
                       "send 0 keep-alive v1; wake 16075ms\n");
}

Test(session, a_silent_master_is_left_when_little_of_the_lease_is_left)
{
    play_usual("chubby", 3,
               GRANTED "8648ms timer  => send 1 keep-alive v1; wake 8698ms\n"
                       "8649ms reply 1 error => send 2 keep-alive v1; wake 8699ms\n"
                       "8650ms reply 2 10000 => tell renewed v1 validity 9897ms until "
                       "18547ms; send 2 keep-alive v1; wake 17297ms\n"
                       "# the answer of the one that was left says nothing any more\n"
                       "8651ms reply 0 18000 =>\n");
}

Test(session, jeopardy_ends_with_an_answer_or_with_the_grace_period)
{
    play_usual("chubby", 1,
               GRANTED
               "9898ms timer          => tell in jeopardy v1; send 0 keep-alive v1; wake 9948ms\n"
               "9900ms broken 0       => wake 9950ms\n"
               "9950ms timer          => send 0 keep-alive v1; wake 10s\n"
               "9960ms reply 0 10000  => tell renewed v1 validity 9888ms until 19848ms; "
               "send 0 keep-alive v1; wake 18598ms\n");
    play_usual("chubby", 1,
               GRANTED
               "9898ms timer          => tell in jeopardy v1; send 0 keep-alive v1; wake 9948ms\n"
               "47398ms timer         => tell lost v1\n"
               "47399ms reply 0 50000 =>\n");
}

Test(session, a_session_that_the_master_does_not_know_is_lost_at_once)
{
    play_usual("chubby", 1, GRANTED "30ms reply 0 no => tell lost v1; wake never\n");
}

Test(session, a_release_names_the_session_and_goes_to_the_next_member_where_it_is_refused)
{
    play_usual("chubby", 3,
               GRANTED "1s release          => send 0 release v1; wake 1050ms\n"
                       "1s lose 0           =>\n"
                       "1001ms reply 0 error => send 1 release v1; wake 1051ms\n"
                       "1002ms reply 1 ok   => tell released v1; wake never\n");
}

Test(session, a_release_whose_outcome_nobody_knows_is_sent_again_until_it_is_answered)
{
    play_usual("chubby", 3,
               GRANTED "1s release       => send 0 release v1; wake 1050ms\n"
                       "1s lose 0        =>\n"
                       "1050ms timer     => send 1 release v1; tell unknown v1; wake 1100ms\n"
                       "1100ms timer     => send 1 release v1; wake 1150ms\n"
                       "1101ms reply 1 no => wake never\n");
    play_usual("chubby", 2,
               GRANTED "# what broke may have done it: a no of the other says nothing\n"
                       "1s release         => send 0 release v1; wake 1050ms\n"
                       "1001ms broken 0    => send 1 release v1; wake 1051ms\n"
                       "1002ms reply 1 no  => send 1 release v1; tell unknown v1; wake 1052ms\n");
}

Test(session, a_lease_that_is_over_when_the_answer_comes_is_no_grant)
{
    struct lock_config config = player_config("chubby", 1);
    config.retry_count = 0;
    config.node_timeout_ns = 9999 * NS_PER_MS;
    play(&config, "0ms acquire => send 0 open-session v1 10000ms; send 0 acquire v1 10000ms; "
                  "wake 9999ms\n"
                  "1ms reply 0 ok =>\n"
                  "9898ms reply 0 7 => send 0 release v1; tell refused v1: the validity was spent "
                  "before the quorum was counted; wake 19897ms\n");
}

Test(session, a_refused_attempt_asks_again_in_the_same_session)
{
    play_usual("chubby", 1,
               ASKED
               "2ms reply 0 no  => wake 302ms\n"
               "302ms timer     => send 0 open-session v1 10000ms; send 0 acquire v1 10000ms; "
               "wake 352ms\n"
               "303ms reply 0 ok =>\n"
               "304ms reply 0 no => send 0 release v1; tell refused v1: quorum not reached; "
               "wake 354ms\n");
}
