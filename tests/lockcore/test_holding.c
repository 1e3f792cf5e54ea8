/* test_holding.c: extending, losing and releasing, as transcripts beside the rules they show. */
#include "tests/lockcore/player.h"

Test(holding, the_holder_is_told_once_when_the_lease_runs_out)
{
    play_usual("redlock", 3,
               GRANT_3 "9897ms timer   => wake 9898ms\n"
                       "9898ms timer   => tell lost v1\n"
                       "9999ms timer   =>\n"
                       "# It may still release, which is harmless: compare-and-delete.\n"
                       "10s release    => send 0-2 compare-delete v1; wake 10050ms\n"
                       "10s reply 0 0  =>\n"
                       "10s reply 1 0  => tell not held v1\n"
                       "10s reply 2 0  => wake never\n");
}

Test(holding, releases_by_compare_and_delete_on_all_nodes)
{
    play_usual("redlock", 3,
               GRANT_3 "# 'Releasing the lock is simple and involves just releasing the lock "
                       "in all instances'.\n"
                       "20ms release   => send 0-2 compare-delete v1; wake 70ms\n"
                       "21ms reply 0 1 =>\n"
                       "22ms reply 2 1 => tell released v1\n"
                       "# The third node is asked again in the background.\n"
                       "70ms timer     => send 1 compare-delete v1; wake 120ms\n"
                       "# A new acquire does not wait for it.\n"
                       "80ms acquire   => send 0-2 set v2 10000ms\n"
                       "81ms reply 0 ok =>\n"
                       "81ms reply 1 1 => wake 130ms\n"
                       "81ms reply 1 0 =>\n"
                       "81ms reply 1 ok => tell granted v2 validity 9897ms until 9978ms; wake "
                       "9978ms\n");
}

Test(holding, says_unknown_when_too_few_nodes_answer_a_release)
{
    play_usual("redlock", 3,
               GRANT_3 "20ms release   => send 0-2 compare-delete v1; wake 70ms\n"
                       "21ms reply 0 1 =>\n"
                       "22ms reply 1 error =>\n"
                       "70ms timer     => send 1-2 compare-delete v1; tell unknown v1; wake "
                       "120ms\n"
                       "71ms reply 1 1 =>\n"
                       "71ms reply 2 1 => wake never\n"
                       "72ms reply 2 0 =>\n");
    play_usual("redlock", 3,
               GRANT_3 "20ms release   => send 0-2 compare-delete v1; wake 70ms\n"
                       "21ms broken 0  =>\n"
                       "22ms reply 1 1 =>\n"
                       "23ms broken 2  => tell unknown v1\n"
                       "70ms timer     => send 0,2 compare-delete v1; wake 120ms\n");
}

Test(holding, an_unknown_script_is_sent_as_text_in_the_same_round)
{
    play_usual("redlock", 3,
               GRANT_3 "20ms release          => send 0-2 compare-delete v1; wake 70ms\n"
                       "21ms reply 0 noscript => send 0 compare-delete v1 as text\n"
                       "21ms reply 1 noscript => send 1 compare-delete v1 as text\n"
                       "22ms reply 0 1        =>\n"
                       "22ms reply 1 1        => tell released v1\n"
                       "# Also when only the background still waits for it.\n"
                       "23ms reply 2 noscript => send 2 compare-delete v1 as text\n"
                       "24ms reply 2 1        => wake never\n");
}

Test(holding, a_late_unknown_script_is_sent_as_text_if_it_releases)
{
    play_usual("redlock", 3,
               GRANT_3 "# A node that stopped answers when the ttl of the release is over.\n"
                       "1s release            => send 0-2 compare-delete v1; wake 1050ms\n"
                       "1s reply 0 1          =>\n"
                       "1s reply 1 1          => tell released v1\n"
                       "11s timer             =>\n"
                       "12s reply 2 noscript  => send 2 compare-delete v1 as text\n"
                       "12s reply 2 1         =>\n");
}

#define EXTENDED_BY_TWO                                                                            \
    GRANT_3 "5s extend             => send 0-2 compare-expire v1 10000ms; wake 5050ms\n"           \
            "5s reply 0 1          =>\n"                                                           \
            "5s reply 1 1          => tell extended v1 validity 9898ms until 14898ms; wake "       \
            "14898ms\n"

Test(holding, a_late_unknown_script_is_sent_as_text_if_it_extends_what_is_still_held)
{
    play_usual("redlock", 3,
               EXTENDED_BY_TWO
               "# Or the node would hear the short form each time and never be extended.\n"
               "6s reply 2 noscript   => send 2 compare-expire v1 10000ms as text\n"
               "6s reply 2 1          =>\n");
    play_usual("redlock", 3,
               EXTENDED_BY_TWO "6s extend             => send 0-2 compare-expire v1 10000ms; wake "
                               "6050ms\n"
                               "# Of the extension before: the new one will ask by itself.\n"
                               "6s reply 2 noscript   =>\n");
    play_usual("redlock", 3,
               EXTENDED_BY_TWO "14898ms timer         => tell lost v1\n"
                               "15s reply 2 noscript  =>\n");
}

Test(holding, extends_by_compare_and_expire_on_a_majority)
{
    play_usual("redlock", 3,
               GRANT_3 "# 'extending the TTL of the key if the key exists and its value is "
                       "still the random value'\n"
                       "5s extend       => send 0-2 compare-expire v1 10000ms; wake 5050ms\n"
                       "5001ms reply 0 1 =>\n"
                       "# Counted from the extension's start: 10 s - 2 ms - 102 ms.\n"
                       "5002ms reply 1 1 => tell extended v1 validity 9896ms until 14898ms; "
                       "wake 14898ms\n"
                       "5003ms reply 2 0 =>\n"
                       "14898ms timer    => tell lost v1\n");
}

Test(holding, extends_a_limited_number_of_times)
{
    struct lock_config config = player_config("redlock", 1);
    config.extend_count = 1;
    play(&config,
         GRANT_1 "1s extend      => send 0 compare-expire v1 10000ms; wake 1050ms\n"
                 "1s reply 0 1   => tell extended v1 validity 9898ms until 10898ms; wake "
                 "10898ms\n"
                 "# 'The maximum number of lock reacquisition attempts should be limited'.\n"
                 "2s extend      => tell not extended v1: the limit of extensions is reached\n");
}

Test(holding, a_failed_extension_leaves_the_lease_as_it_was)
{
    play_usual("redlock", 3,
               GRANT_3 "5s extend      => send 0-2 compare-expire v1 10000ms; wake 5050ms\n"
                       "5s reply 0 error =>\n"
                       "5s reply 1 error => tell not extended v1: quorum not reached; wake "
                       "9898ms\n"
                       "6s extend      => send 0-2 compare-expire v1 10000ms; wake 6050ms\n"
                       "6050ms timer   => tell not extended v1: too few nodes answered in "
                       "time; wake 9898ms\n"
                       "# A failure is not counted: two extensions are still allowed.\n"
                       "7s extend      => send 0-2 compare-expire v1 10000ms; wake 7050ms\n"
                       "9898ms timer   => tell not extended v1: the validity was spent before "
                       "the quorum was counted; tell lost v1\n"
                       "9899ms extend  => tell not extended v1: nothing is held\n");
}

Test(holding, extends_only_inside_the_validity)
{
    play_usual("redlock", 1,
               GRANT_1 "# Asked too late.\n"
                       "9898ms extend  => tell not extended v1: nothing is held; tell lost v1; "
                       "wake never\n");
    play_usual("redlock", 1,
               GRANT_1 "# Asked in time, answered too late: 'able to extend the lock into the\n"
                       "# majority of instances, and within the validity time'.\n"
                       "9890ms extend    => send 0 compare-expire v1 10000ms\n"
                       "9899ms reply 0 1 => tell not extended v1: the validity was spent before "
                       "the quorum was counted; tell lost v1; wake never\n");
}

Test(holding, a_release_gives_up_an_extension_that_is_under_way)
{
    play_usual("redlock", 1,
               GRANT_1 "1s extend      => send 0 compare-expire v1 10000ms; wake 1050ms\n"
                       "1010ms release => tell not extended v1: nothing is held; send 0 "
                       "compare-delete v1; wake 1060ms\n"
                       "1020ms reply 0 1 =>\n"
                       "1020ms reply 0 1 => tell released v1; wake never\n");
}

Test(holding, released_while_sets_are_unanswered_their_late_replies_are_harmless)
{
    play_usual("redlock", 3,
               "0ms acquire    => send 0-2 set v1 10000ms; wake 50ms\n"
               "0ms reply 0 ok =>\n"
               "0ms reply 1 ok => tell granted v1 validity 9898ms until 9898ms; wake 9898ms\n"
               "1ms release    => send 0-2 compare-delete v1; wake 51ms\n"
               "2ms reply 0 1  =>\n"
               "3ms reply 1 1  => tell released v1\n"
               "4ms acquire    => send 0-2 set v2 10000ms\n"
               "# Node 2 is slow: its yes to v1, its release of v1, then its answer to v2.\n"
               "5ms reply 2 ok =>\n"
               "5ms reply 2 1  => wake 54ms\n"
               "6ms reply 2 ok =>\n"
               "7ms reply 0 ok => tell granted v2 validity 9895ms until 9902ms; wake 9902ms\n");
}

Test(holding, a_fence_is_the_highest_of_a_majority_written_back_to_a_majority)
{
    play_usual("fenced_redlock", 3,
               "0ms acquire     => send 0-2 set-fence v1 10000ms; wake 50ms\n"
               "1ms reply 0 41  =>\n"
               "2ms reply 1 7   => send 0-2 raise-fence v1 fence 41; wake 52ms\n"
               "# Node 2 counted higher, but came too late for this grant.\n"
               "3ms reply 2 90  =>\n"
               "4ms reply 0 41  =>\n"
               "# A counter below the fence has not been raised.\n"
               "5ms reply 2 40  =>\n"
               "6ms reply 1 41  => tell granted v1 validity 9892ms until 9898ms fence 41; wake "
               "9898ms\n");
}

Test(holding, without_a_majority_for_its_fence_an_attempt_is_refused)
{
    play_once("fenced_redlock", 3,
              "0ms acquire    => send 0-2 set-fence v1 10000ms; wake 50ms\n"
              "1ms reply 0 nil =>\n"
              "1ms reply 1 7  =>\n"
              "1ms reply 2 8  => send 0-2 raise-fence v1 fence 8; wake 51ms\n"
              "2ms reply 1 8  =>\n"
              "51ms timer     => send 0-2 compare-delete v1; tell refused v1: too few nodes "
              "answered in time; wake 101ms\n");
}

Test(holding, single_is_the_case_of_one_node)
{
    play_usual("single", 1,
               GRANT_1 "1s release     => send 0 compare-delete v1; wake 1050ms\n"
                       "1s reply 0 1   => tell released v1; wake never\n");
}
