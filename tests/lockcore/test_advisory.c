/* test_advisory.c: the lock of a session: tried, unlocked, and gone with its connection. */
#include "tests/lockcore/player.h"

#define HELD                                                                                       \
    "0ms acquire    => send 0 try-lock v1; wake 50ms\n"                                            \
    "1ms reply 0 ok => tell granted v1 without an end; wake never\n"

Test(advisory, it_is_held_until_it_is_unlocked)
{
    play_usual("advisory", 1,
               HELD "90s extend => tell not extended v1\n"
                    "99s release => send 0 unlock v1; wake 99050ms\n"
                    "99001ms reply 0 ok => tell released v1; wake never\n");
}

Test(advisory, a_fence_comes_with_the_grant)
{
    play_usual("fenced_advisory", 1,
               "0ms acquire   => send 0 try-lock-fence v1; wake 50ms\n"
               "1ms reply 0 7 => tell granted v1 without an end fence 7; wake never\n");
}

Test(advisory, who_is_refused_tries_again_and_unlocks_nothing)
{
    play_usual("advisory", 1,
               "0ms acquire      => send 0 try-lock v1; wake 50ms\n"
               "1ms reply 0 no   => wake 301ms\n"
               "301ms timer      => send 0 try-lock v2; wake 351ms\n"
               "302ms reply 0 no => tell refused v2: quorum not reached; wake never\n");
}

Test(advisory, an_attempt_without_an_answer_is_unlocked_behind_itself)
{
    play_usual("advisory", 1,
               "0ms acquire      => send 0 try-lock v1; wake 50ms\n"
               "50ms timer       => send 0 unlock v1; wake 350ms\n"
               "60ms reply 0 ok  =>\n"
               "61ms reply 0 ok  =>\n"
               "350ms timer      => send 0 try-lock v2; wake 400ms\n"
               "351ms reply 0 ok => tell granted v2 without an end; wake never\n");
}

Test(advisory, whoever_loses_the_connection_has_lost_the_lock)
{
    play_usual("advisory", 1,
               HELD "5s broken 0 => tell lost v1\n"
                    "6s release  => tell unknown v1\n");
}

Test(advisory, a_release_whose_connection_broke_is_not_sent_again)
{
    play_usual("advisory", 1,
               HELD "5s release      => send 0 unlock v1; wake 5050ms\n"
                    "5001ms broken 0 => tell unknown v1; wake never\n");
}

Test(advisory, without_the_session_nothing_was_held)
{
    play_usual("advisory", 1,
               HELD "5s release       => send 0 unlock v1; wake 5050ms\n"
                    "5001ms reply 0 no => tell not held v1; wake never\n");
}
