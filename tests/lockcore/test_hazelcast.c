/* test_hazelcast.c: what a FencedLock asks, beyond what every lock in a session does. */
#include "tests/lockcore/player.h"

#define ASKED                                                                                      \
    "0ms acquire    => send 0 create-session v1 10000ms; wake 50ms\n"                              \
    "1ms reply 0 ok => send 0 try-lock v1 2500ms fence 1; wake 2551ms\n"
#define GRANTED                                                                                    \
    ASKED "2ms reply 0 7  => tell granted v1 validity 9896ms until 9898ms fence 7; wake 3302ms\n"

Test(hazelcast, a_grant_has_the_fence_that_the_group_gave_it)
{
    play_usual("fenced_lock", 3,
               GRANTED "1s release        => send 0 unlock v1; wake 1050ms\n"
                       "1001ms reply 0 ok => tell released v1; wake never\n");
}

Test(hazelcast, its_turn_is_waited_for_and_the_session_counts_from_its_beginning)
{
    play_usual("fenced_lock", 3,
               ASKED "2500ms reply 0 7 => tell granted v1 validity 7398ms until 9898ms fence 7; "
                     "wake 5800ms\n");
}

Test(hazelcast, a_link_that_breaks_while_it_waits_has_the_same_invocation_asked_again)
{
    play_usual("fenced_lock", 3,
               ASKED "1s broken 0    => send 1 heartbeat v1; send 1 try-lock v1 2500ms fence 1; "
                     "wake 3550ms\n");
}

Test(hazelcast, who_was_refused_asks_by_another_invocation_in_the_same_session)
{
    play_usual("fenced_lock", 1,
               ASKED "2501ms reply 0 no => wake 2801ms\n"
                     "2801ms timer      => send 0 heartbeat v1; send 0 try-lock v1 2500ms fence 2; "
                     "wake 5351ms\n");
}

Test(hazelcast, a_session_is_kept_by_three_heartbeats_in_its_time)
{
    play_usual("fenced_lock", 3,
               GRANTED "3302ms timer         => send 0 heartbeat v1; wake 3352ms\n"
                       "3303ms reply 0 10000 => tell renewed v1 validity 9897ms until 13200ms; "
                       "wake 6603ms\n");
}

Test(hazelcast, a_session_that_the_group_has_closed_is_lost_at_once)
{
    play_usual("fenced_lock", 3,
               GRANTED "3302ms timer      => send 0 heartbeat v1; wake 3352ms\n"
                       "3303ms reply 0 no => tell lost v1; wake never\n");
}

Test(hazelcast, a_session_that_nobody_keeps_is_lost_when_it_is_over)
{
    play_usual("fenced_lock", 1, GRANTED "9898ms timer => tell lost v1\n");
}

Test(hazelcast, a_session_that_was_begun_untold_is_kept_and_counts_from_then)
{
    play_usual("fenced_lock", 2,
               "0ms acquire          => send 0 create-session v1 10000ms; wake 50ms\n"
               "10ms broken 0        => send 1 create-session v1 10000ms; wake 60ms\n"
               "11ms reply 1 no      => send 1 heartbeat v1; send 1 try-lock v1 2500ms fence 1; "
               "wake 2561ms\n"
               "12ms reply 1 10000   =>\n"
               "13ms reply 1 7       => tell granted v1 validity 9896ms until 9909ms fence 7; "
               "wake 3313ms\n");
}
