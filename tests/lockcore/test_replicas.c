/* test_replicas.c: locks that ask one node of several, and wait for its replicas. */
#include "tests/lockcore/player.h"

static void replicas(const char *algorithm, const char *transcript)
{
    struct lock_config config = player_config(algorithm, 3);
    config.replica_count = 2;
    config.wait_count = 2;
    config.wait_ns = 20 * NS_PER_MS;
    play(&config, transcript);
}

Test(replicas, an_error_leads_to_the_next_node_and_what_is_owed_is_released_on_both)
{
    replicas("single",
             "0ms acquire         => send 0 set v1 10000ms; wake 50ms\n"
             "1ms reply 0 error   => send 0 compare-delete v1; wake 51ms\n"
             "2ms reply 0 0       =>\n"
             "51ms timer          => send 1 compare-delete v1; wake 101ms\n"
             "52ms reply 1 0      => wake 301ms\n"
             "301ms timer         => send 1 set v2 10000ms; wake 351ms\n"
             "302ms reply 1 ok    => tell granted v2 validity 9897ms until 10199ms; wake 10199ms\n"
             "303ms release       => send 1 compare-delete v2; wake 353ms\n"
             "304ms reply 1 1     => tell released v2; wake never\n");
}

Test(replicas, silence_and_a_broken_link_lead_to_the_next_node)
{
    replicas("single", "0ms acquire         => send 0 set v1 10000ms; wake 50ms\n"
                       "50ms timer          => send 0 compare-delete v1; wake 100ms\n"
                       "60ms broken 0       =>\n"
                       "100ms timer         => send 0-1 compare-delete v1; wake 150ms\n");
}

Test(replicas, single_wait_is_granted_when_so_many_replicas_have_the_key)
{
    replicas("single-wait",
             "0ms acquire    => send 0 set v1 10000ms; wake 50ms\n"
             "1ms reply 0 ok => send 0 wait v1 20ms fence 2\n"
             "3ms reply 0 2  => tell granted v1 validity 9895ms until 9898ms; wake 9898ms\n"
             "4ms extend     => send 0 compare-expire v1 10000ms; wake 54ms\n"
             "5ms reply 0 1  => send 0 wait v1 20ms fence 2\n"
             "6ms reply 0 3  => tell extended v1 validity 9896ms until 9902ms; wake 9902ms\n");
}

Test(replicas, single_wait_gives_the_key_back_that_too_few_replicas_have)
{
    replicas(
        "single-wait",
        "0ms acquire     => send 0 set v1 10000ms; wake 50ms\n"
        "1ms reply 0 ok  => send 0 wait v1 20ms fence 2\n"
        "21ms reply 0 1  => send 0 compare-delete v1; wake 71ms\n"
        "22ms reply 0 1  => wake 321ms\n"
        "# the node is still the primary\n"
        "321ms timer     => send 0 set v2 10000ms; wake 371ms\n"
        "322ms reply 0 ok => send 0 wait v2 20ms fence 2\n"
        "342ms reply 0 0 => send 0 compare-delete v2; tell refused v2: quorum not reached; wake "
        "392ms\n");
}
