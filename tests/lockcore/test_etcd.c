/* test_etcd.c: what the lock of an etcd cluster asks, beyond what every lock in a session does. */
#include "tests/lockcore/player.h"

#define ASKED                                                                                      \
    "0ms acquire    => send 0 grant v1 10000ms; send 0 enqueue v1; wake 50ms\n"                    \
    "1ms reply 0 ok =>\n"
#define GRANTED                                                                                    \
    ASKED "2ms reply 0 7  => tell granted v1 validity 9896ms until 9898ms fence 7; wake 3302ms\n"

Test(etcd, the_lowest_revision_is_granted_with_it_as_its_fence)
{
    play_usual("etcd", 3,
               GRANTED "1s release       => send 0 revoke v1; wake 1050ms\n"
                       "1001ms reply 0 ok => tell released v1; wake never\n");
}

Test(etcd, a_lease_is_kept_alive_when_a_third_of_it_is_over)
{
    play_usual("etcd", 3,
               GRANTED "3302ms timer       => send 0 keep-alive v1; wake 3352ms\n"
                       "3303ms reply 0 10000 => tell renewed v1 validity 9897ms until 13200ms; "
                       "wake 6603ms\n");
}

Test(etcd, a_keep_alive_without_an_answer_goes_to_the_next_member)
{
    play_usual("etcd", 3,
               GRANTED "3302ms timer       => send 0 keep-alive v1; wake 3352ms\n"
                       "3352ms timer       => send 1 keep-alive v1; wake 3402ms\n"
                       "3402ms timer       => send 2 keep-alive v1; wake 3452ms\n"
                       "3403ms reply 2 10000 => tell renewed v1 validity 9897ms until 13300ms; "
                       "wake 6703ms\n");
}

Test(etcd, a_lease_that_the_cluster_does_not_know_is_lost_at_once)
{
    play_usual("etcd", 3,
               GRANTED "3302ms timer    => send 0 keep-alive v1; wake 3352ms\n"
                       "3303ms reply 0 no => tell lost v1; wake never\n");
}

Test(etcd, a_lease_that_nobody_keeps_is_lost_when_it_is_over)
{
    play_usual("etcd", 1, GRANTED "9898ms timer => tell lost v1\n");
}

Test(etcd, whoever_waits_keeps_its_lease_and_asks_again)
{
    play_usual("etcd", 1,
               ASKED "2ms reply 0 no    => wake 302ms\n"
                     "302ms timer       => send 0 keep-alive v1; send 0 enqueue v1; wake 352ms\n"
                     "303ms reply 0 10000 =>\n"
                     "304ms reply 0 7   => tell granted v1 validity 9896ms until 10200ms fence 7; "
                     "wake 3604ms\n");
}

Test(etcd, a_lease_that_is_gone_while_it_waits_is_no_grant_and_another_is_begun)
{
    struct lock_config config = player_config("etcd", 1);
    config.retry_count = 2;
    play(&config,
         ASKED "2ms reply 0 no    => wake 302ms\n"
               "20s timer         => send 0 keep-alive v1; send 0 enqueue v1; wake 20050ms\n"
               "20001ms reply 0 no =>\n"
               "20002ms reply 0 no => wake 20302ms\n"
               "20302ms timer     => send 0 grant v1 10000ms; send 0 enqueue v1; wake 20352ms\n");
}

Test(etcd, a_lease_of_which_nobody_knows_since_when_it_is_promises_nothing)
{
    play_usual("etcd", 1,
               "0ms acquire     => send 0 grant v1 10000ms; send 0 enqueue v1; wake 50ms\n"
               "0ms lose 0      =>\n"
               "0ms lose 0      =>\n"
               "50ms timer      => wake 350ms\n"
               "350ms timer     => send 0 grant v1 10000ms; send 0 enqueue v1; wake 400ms\n"
               "# it is there already, from a question that was lost\n"
               "351ms reply 0 no =>\n"
               "352ms reply 0 7 => send 0 revoke v1; tell refused v1: the validity was spent "
               "before the quorum was counted; wake 402ms\n");
}
