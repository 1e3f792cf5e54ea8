/* test_redlock.c: acquiring with Redlock, as transcripts beside the sentences that they show. */
#include "lockcore/quorum.h"
#include "tests/lockcore/player.h"

Test(redlock, asks_all_nodes_at_once_and_grants_at_the_majority)
{
    struct lock_config config = player_config("redlock", 5);
    play(&config,
         "# 'It tries to acquire the lock in all the N instances', to all of them at once;\n"
         "# 'a timeout which is small compared to the total lock auto-release time'.\n"
         "0ms acquire    => send 0-4 set v1 10000ms; wake 50ms\n"
         "1ms reply 0 ok =>\n"
         "2ms reply 3 ok =>\n"
         "# 'If and only if the client was able to acquire the lock in the majority of the\n"
         "# instances': the third of five. 'Its validity time is considered to be the initial\n"
         "# validity time minus the time elapsed': 10 s - 3 ms - 1 % - 2 ms.\n"
         "3ms reply 1 ok => tell granted v1 validity 9895ms until 9898ms; wake 9898ms\n"
         "# What the others say now changes nothing.\n"
         "4ms reply 2 ok =>\n"
         "5ms reply 4 nil =>\n");
}

Test(redlock, counts_the_validity_after_the_replies)
{
    struct lock_config config = player_config("redlock", 3);
    play(&config,
         "0ms acquire       => send 0-2 set v1 10000ms; wake 50ms\n"
         "# The client stops for 9 s; the replies have been there all the time.\n"
         "9000ms reply 0 ok =>\n"
         "9000ms reply 1 ok => tell granted v1 validity 898ms until 9898ms; wake 9898ms\n");
    play(&config,
         "0ms acquire       => send 0-2 set v1 10000ms; wake 50ms\n"
         "# It stops for longer than the validity: 'the total time elapsed to acquire the lock\n"
         "# is less than lock validity time' does not hold, so it must let go everywhere.\n"
         "9898ms reply 0 ok =>\n"
         "9898ms reply 1 ok => send 0-2 compare-delete v1; wake 9948ms\n");
}

Test(redlock, refuses_as_soon_as_no_majority_can_come_and_releases_on_all_nodes)
{
    struct lock_config config = player_config("redlock", 5);
    play(&config,
         "0ms acquire     => send 0-4 set v1 10000ms; wake 50ms\n"
         "1ms reply 0 nil =>\n"
         "2ms reply 1 ok  =>\n"
         "3ms reply 2 nil =>\n"
         "# 'It will try to unlock all the instances (even the instances it believed it was not\n"
         "# able to lock)'. Then 'it should try again after a random delay'.\n"
         "4ms reply 3 nil => send 0-4 compare-delete v1; wake 54ms\n"
         "5ms reply 4 nil =>\n"
         "6ms reply 4 0   =>\n"
         "6ms reply 0 0   =>\n"
         "6ms reply 1 1   =>\n"
         "6ms reply 2 0   =>\n"
         "6ms reply 3 0   => wake 304ms\n"
         "# A new attempt has a new value; the answers to the old one are not its own.\n"
         "304ms timer     => send 0-4 set v2 10000ms; wake 354ms\n"
         "305ms reply 0 ok  =>\n"
         "305ms again 0 ok  =>\n"
         "305ms again 0 ok  =>\n"
         "306ms reply 1 ok  =>\n"
         "307ms reply 2 ok  => tell granted v2 validity 9895ms until 10202ms; wake 10202ms\n");
}

Test(redlock, tells_refused_only_when_the_retries_are_used_up)
{
    play_usual("redlock", 1,
               "0ms acquire      => send 0 set v1 10000ms; wake 50ms\n"
               "1ms reply 0 nil  => send 0 compare-delete v1; wake 51ms\n"
               "2ms reply 0 0    => wake 301ms\n"
               "301ms timer      => send 0 set v2 10000ms; wake 351ms\n"
               "302ms reply 0 nil => send 0 compare-delete v2; tell refused v2: quorum not "
               "reached; wake 352ms\n"
               "303ms reply 0 0  => wake never\n"
               "# The same lock can be asked again.\n"
               "400ms acquire    => send 0 set v3 10000ms; wake 450ms\n");
}

Test(redlock, a_node_that_does_not_answer_in_time_counts_as_unavailable)
{
    struct lock_config config = player_config("redlock", 3);
    config.retry_count = 0;
    play(&config,
         "# 'If an instance is not available, we should try to talk with the next instance ASAP.'\n"
         "0ms acquire     => send 0-2 set v1 10000ms; wake 50ms\n"
         "1ms reply 0 ok  =>\n"
         "49ms timer      => wake 50ms\n"
         "50ms timer      => send 0-2 compare-delete v1; tell refused v1: too few nodes answered "
         "in time; wake 100ms\n"
         "# A yes that comes too late is no grant; its key goes with the release behind it.\n"
         "60ms reply 1 ok =>\n"
         "60ms reply 1 1  =>\n"
         "61ms reply 0 1  =>\n"
         "# The release that has no answer is sent again, to that node alone, ...\n"
         "100ms timer     => send 2 compare-delete v1; wake 150ms\n"
         "150ms timer     => send 2 compare-delete v1; wake 200ms\n"
         "151ms reply 2 ok =>\n"
         "# ... until it is answered.\n"
         "152ms reply 2 1 => wake never\n");
}

Test(redlock, a_broken_link_counts_as_unavailable_at_once)
{
    play_once("redlock", 3,
              "0ms acquire  => send 0-2 set v1 10000ms; wake 50ms\n"
              "1ms broken 0 =>\n"
              "2ms broken 2 => send 0-2 compare-delete v1; tell refused v1: quorum not "
              "reached; wake 52ms\n"
              "3ms broken 0 =>\n"
              "3ms broken 2 =>\n"
              "4ms reply 1 ok =>\n"
              "5ms reply 1 1 =>\n"
              "52ms timer   => send 0,2 compare-delete v1; wake 102ms\n");
}

Test(redlock, a_release_is_resent_until_the_ttl_has_run_out)
{
    struct lock_config config = player_config("redlock", 1);
    config.retry_count = 0;
    config.ttl_ns = 120 * NS_PER_MS;
    play(&config, "0ms acquire  => send 0 set v1 120ms; wake 50ms\n"
                  "10ms broken 0 => send 0 compare-delete v1; tell refused v1: quorum not "
                  "reached; wake 60ms\n"
                  "60ms timer   => send 0 compare-delete v1; wake 110ms\n"
                  "110ms timer  => send 0 compare-delete v1; wake 130ms\n"
                  "# 10 ms + ttl: the node has forgotten the key by itself.\n"
                  "130ms timer  =>\n");
}

Test(redlock, a_majority_is_counted_of_the_nodes_configured_also_of_an_even_number)
{
    play_once("redlock", 4,
              "0ms acquire   => send 0-3 set v1 10000ms; wake 50ms\n"
              "1ms reply 0 ok =>\n"
              "1ms reply 1 ok =>\n"
              "1ms reply 2 ok => tell granted v1 validity 9897ms until 9898ms; wake 9898ms\n");
    play_once("redlock", 4,
              "0ms acquire    => send 0-3 set v1 10000ms; wake 50ms\n"
              "1ms reply 0 ok =>\n"
              "1ms reply 1 ok =>\n"
              "1ms reply 2 nil =>\n"
              "1ms reply 3 nil => send 0-3 compare-delete v1; tell refused v1: quorum not "
              "reached; wake 51ms\n");
}

Test(redlock, an_error_is_a_no_and_garble_is_nothing)
{
    play_once("redlock", 3,
              "0ms acquire       => send 0-2 set v1 10000ms; wake 50ms\n"
              "1ms reply 0 error =>\n"
              "1ms reply 1 ok    =>\n"
              "1ms reply 2 garbled => send 0-2 compare-delete v1; tell refused v1: quorum "
              "not reached; wake 51ms\n"
              "# A release that a node refuses or garbles is not answered.\n"
              "2ms reply 0 error =>\n"
              "2ms reply 1 1     =>\n"
              "2ms reply 2 7     =>\n"
              "51ms timer        => send 0,2 compare-delete v1; wake 101ms\n");
}

Test(redlock, the_ttl_is_rounded_up_for_the_nodes_and_never_for_the_holder)
{
    struct lock_config config = player_config("redlock", 1);
    config.ttl_ns = 9999999999; /* 1 ns less than 10 s */
    play(&config, GRANT_1);
    config.ttl_ns = 2 * NS_PER_MS; /* less than the drift: nothing can be promised */
    play(&config, "0ms acquire    => send 0 set v1 2ms; wake 50ms\n"
                  "0ms reply 0 ok => send 0 compare-delete v1; wake 2ms\n");
}

Test(redlock, a_clock_that_goes_back_during_an_attempt_promises_nothing)
{
    play_once("redlock", 1,
              "500ms acquire    => send 0 set v1 10000ms; wake 550ms\n"
              "499ms reply 0 ok => send 0 compare-delete v1; tell refused v1: the validity "
              "was spent before the quorum was counted; wake 549ms\n");
}

Test(redlock, comes_back_after_a_random_delay)
{
    struct lock_config config = player_config("redlock", 1);
    struct lock lock;
    static struct lock_effects effects;
    const struct {
        uint64_t random;
        int64_t delay_ns;
    } cases[] = {
        {0, 200 * NS_PER_MS}, {UINT64_MAX / 4, 250 * NS_PER_MS}, {UINT64_MAX, 400 * NS_PER_MS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lock_init(&lock, &config);
        lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_ACQUIRE}, &effects);
        struct lock_event event = {.type = LOCK_EVENT_BROKEN, .now_ns = NS_PER_MS};
        event.random[3] = cases[i].random;
        lock_step(&lock, &event, &effects);
        cr_assert_eq(lock.deadline_ns, NS_PER_MS + cases[i].delay_ns);
    }
}

/* The older of two releases was asked for again, so that the younger one is due first. */
Test(redlock, every_release_without_an_answer_is_looked_after_at_its_own_time)
{
    play_usual("single", 1,
               "0ms acquire     => send 0 set v1 10000ms; wake 50ms\n"
               "0ms reply 0 nil => send 0 compare-delete v1\n"
               "290ms timer     => send 0 compare-delete v1; wake 300ms\n"
               "300ms timer     => send 0 set v2 10000ms; wake 340ms\n"
               "300ms lose 0\n"
               "300ms lose 0\n"
               "320ms reply 0 nil => send 0 compare-delete v2; "
               "tell refused v2: quorum not reached\n"
               "340ms timer     => send 0 compare-delete v1; wake 370ms\n"
               "370ms timer     => send 0 compare-delete v2; wake 390ms\n");
}

/* An attempt that meets a broken link at every node, and the TIMER that begins the next. */
Test(redlock, begins_no_attempt_while_every_slot_for_releases_is_in_use)
{
    struct lock_config config = player_config("redlock", 1);
    config.retry_count = 60;
    config.retry_delay_ns = 0;
    config.retry_jitter_ns = 0;
    config.node_timeout_ns = NS_PER_S;
    static struct lock_effects effects;
    struct lock lock;
    lock_init(&lock, &config);
    struct lock_event event = {.type = LOCK_EVENT_ACQUIRE, .random = {1}};
    for (uint64_t i = 0; i < QUORUM_CLEANUPS_MAX; i++) {
        event.random[0] = i;
        lock_step(&lock, &event, &effects);
        cr_assert_eq(lock.state, LOCK_STATE_ACQUIRING);
        lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_BROKEN}, &effects);
        cr_assert_eq(lock.state, LOCK_STATE_WAITING);
        event.type = LOCK_EVENT_TIMER;
    }
    const struct quorum *part = lock_quorum_seen(&lock);
    cr_assert_eq(part->cleanup_count, QUORUM_CLEANUPS_MAX);
    uint32_t attempts_left = lock.attempts_left;
    lock_step(&lock, &event, &effects);
    cr_assert_eq(lock.state, LOCK_STATE_WAITING);
    cr_assert_eq(lock.attempts_left, attempts_left, "waiting for room uses up no attempt");
    event.type = LOCK_EVENT_REPLY;
    event.command = (struct lock_command){.kind = REDIS_COMPARE_DELETE,
                                          .attempt = part->cleanups[3].attempt,
                                          .value = part->cleanups[3].value};
    event.reply = (struct lock_reply){.type = LOCK_REPLY_NO};
    lock_step(&lock, &event, &effects);
    cr_assert_eq(part->cleanup_count, QUORUM_CLEANUPS_MAX - 1);
    lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_TIMER, .now_ns = lock.deadline_ns},
              &effects);
    cr_assert_eq(lock.state, LOCK_STATE_ACQUIRING);
}
