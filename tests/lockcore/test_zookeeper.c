/* test_zookeeper.c: the recipe of ZooKeeper's lock, and what becomes of its session. */
#include "tests/lockcore/player.h"

#define CREATED                                                                                    \
    "0ms acquire    => send 0 open-session v1 10000ms; wake 50ms\n"                                \
    "1ms reply 0 ok => send 0 create v1; wake 51ms\n"                                              \
    "2ms reply 0 7  => send 0 children v1 fence 7; wake 52ms\n"
#define GRANTED                                                                                    \
    CREATED "3ms reply 0 ok => tell granted v1 validity 4397ms until 4400ms fence 7; wake "        \
            "2501ms\n"
#define WAITS                                                                                      \
    CREATED "3ms reply 0 5 => send 0 exists v1 fence 5; wake 53ms\n"                               \
            "4ms reply 0 ok => wake 450ms\n"

Test(zookeeper, the_lowest_node_is_granted_with_its_number_as_the_fence)
{
    play_usual("zookeeper", 3,
               GRANTED "1s release       => send 0 delete v1 fence 7; wake 1050ms\n"
                       "1001ms reply 0 ok => tell released v1; wake never\n");
}

Test(zookeeper, whoever_is_not_the_lowest_watches_the_one_before_it_alone)
{
    play_usual("zookeeper", 3,
               WAITS "100ms push 0 no => send 0 children v1 fence 7; wake 150ms\n"
                     "101ms reply 0 ok => tell granted v1 validity 4397ms until 4498ms fence 7; "
                     "wake 2501ms\n");
}

Test(zookeeper, one_that_is_gone_when_it_is_to_be_watched_is_looked_for_again)
{
    play_usual("zookeeper", 3,
               CREATED "3ms reply 0 5 => send 0 exists v1 fence 5; wake 53ms\n"
                       "4ms reply 0 no => send 0 children v1 fence 7; wake 54ms\n");
}

Test(zookeeper, whoever_waits_too_long_deletes_its_node)
{
    play_usual("zookeeper", 3,
               WAITS
               "450ms timer => send 0 delete v1 fence 7; tell refused v1: quorum not reached; "
               "wake 500ms\n"
               "451ms reply 0 ok => wake never\n");
}

Test(zookeeper, a_delete_without_an_answer_is_sent_again_by_the_next_connection)
{
    play_usual("zookeeper", 3,
               WAITS
               "450ms timer => send 0 delete v1 fence 7; tell refused v1: quorum not reached; "
               "wake 500ms\n"
               "500ms timer => send 1 attach v1; wake 550ms\n"
               "501ms reply 1 ok => send 1 delete v1 fence 7; wake 551ms\n"
               "502ms reply 1 no => wake never\n");
}

Test(zookeeper, a_session_is_pinged_when_a_quarter_of_it_is_over)
{
    play_usual("zookeeper", 3,
               GRANTED "2501ms timer     => send 0 ping v1; wake 2551ms\n"
                       "2502ms reply 0 ok => tell renewed v1 validity 4397ms until 6899ms; "
                       "wake 5002ms\n");
}

Test(zookeeper, a_holder_that_is_disconnected_stands_still_until_its_session_is_taken_up)
{
    play_usual("zookeeper", 3,
               GRANTED "1s broken 0      => tell in jeopardy v1; send 1 attach v1; wake 1050ms\n"
                       "1001ms reply 1 ok => tell renewed v1 validity 4397ms until 5398ms; "
                       "wake 3501ms\n");
}

Test(zookeeper, a_holder_is_told_that_its_session_expired_when_it_connects_again)
{
    play_usual("zookeeper", 3,
               GRANTED "1s broken 0      => tell in jeopardy v1; send 1 attach v1; wake 1050ms\n"
                       "1001ms reply 1 no => tell lost v1; wake never\n"
                       "1002ms release    => tell not held v1\n");
}

/* Its promise was over before it asked: the leader may have ended the session, unknown to a member.
 */
Test(zookeeper, a_ping_out_of_jeopardy_is_believed_only_by_a_member_that_asks_the_leader)
{
#define TAKEN_UP_TOO_LATE                                                                          \
    GRANTED "1s broken 0     => tell in jeopardy v1; send 1 attach v1; wake 1050ms\n"              \
            "6s reply 1 ok   => wake 8500ms\n"                                                     \
            "8500ms timer    => send 1 ping v1; wake 8550ms\n"                                     \
            "8501ms reply 1 ok => send 2 attach v1; wake 8551ms\n"
    play_usual(
        "zookeeper", 3,
        TAKEN_UP_TOO_LATE
        "8502ms reply 2 ok => tell renewed v1 validity 4397ms until 12899ms; wake 11002ms\n");
    play_usual("zookeeper", 3, TAKEN_UP_TOO_LATE "8502ms reply 2 no => tell lost v1; wake never\n");
}

Test(zookeeper, a_member_that_ends_the_connection_ends_no_session)
{
    play_usual("zookeeper", 2,
               "0ms acquire    => send 0 open-session v1 10000ms; wake 50ms\n"
               "1ms reply 0 ok => send 0 create v1; wake 51ms\n"
               "# of its own accord, to what opened the connection\n"
               "2ms push 0 no  => send 1 attach v1; wake 52ms\n"
               "# the node is looked for by its GUID\n"
               "3ms reply 1 ok => send 1 create v1; wake 53ms\n");
}

Test(zookeeper, a_session_that_is_over_by_our_clock_is_lost_without_an_answer)
{
    play_usual("zookeeper", 1,
               GRANTED "1s broken 0   => tell in jeopardy v1; wake 1050ms\n"
                       "1050ms timer  => send 0 attach v1; wake 1100ms\n"
                       "9900ms timer  => tell lost v1\n"
                       "9901ms release => tell unknown v1\n");
}

Test(zookeeper, an_attempt_whose_session_expired_begins_with_another_and_another_node)
{
    struct lock_config config = player_config("zookeeper", 3);
    config.retry_count = 10;
    play(&config, "0ms acquire    => send 0 open-session v1 10000ms; wake 50ms\n"
                  "1ms reply 0 ok => send 0 create v1; wake 51ms\n"
                  "2ms broken 0   => send 1 attach v1; wake 52ms\n"
                  "3ms reply 1 no => wake 303ms\n"
                  "303ms timer    => send 1 open-session v2 10000ms; wake 353ms\n"
                  "304ms reply 1 ok => send 1 create v2; wake 354ms\n");
}

Test(zookeeper, the_next_acquire_goes_on_with_the_session)
{
    play_usual("zookeeper", 3,
               GRANTED "1s release       => send 0 delete v1 fence 7; wake 1050ms\n"
                       "1001ms reply 0 ok => tell released v1; wake never\n"
                       "2s acquire       => send 0 create v2; wake 2050ms\n");
}

Test(zookeeper, the_herd_watches_all_nodes)
{
    play_usual("zookeeper_herd", 3,
               "0ms acquire    => send 0 open-session v1 10000ms; wake 50ms\n"
               "1ms reply 0 ok => send 0 create v1; wake 51ms\n"
               "2ms reply 0 7  => send 0 children-watch v1 fence 7; wake 52ms\n"
               "3ms reply 0 5  => wake 450ms\n"
               "4ms push 0 no  => send 0 children-watch v1 fence 7; wake 54ms\n");
}
