/* test_wrong.c: what each wrong lock does that the right one, by the same events, does not. */
#include "tests/lockcore/player.h"

static void wrong(const char *algorithm, uint16_t node_count, const char *transcript)
{
    struct lock_config config = player_config(algorithm, node_count);
    config.retry_count = 0;
    play_wrong(&config, "redlock", transcript);
}

Test(wrong, no_recheck_grants_a_validity_that_has_ended)
{
    wrong("wrong/no-recheck", 1,
          "0ms acquire        => send 0 set v1 10000ms; wake 50ms\n"
          "10402ms reply 0 ok => tell granted v1 validity -504ms until 9898ms; wake 9898ms\n");
}

Test(wrong, timer_after_quorum_promises_time_that_has_passed)
{
    wrong("wrong/timer-after-quorum", 1,
          "0ms acquire       => send 0 set v1 10000ms; wake 50ms\n"
          "9000ms reply 0 ok => tell granted v1 validity 9898ms until 18898ms; wake 18898ms\n");
}

Test(wrong, wall_clock_gains_validity_when_it_is_set_back)
{
    wrong("wrong/wall-clock", 1,
          "0ms wall 100s\n"
          "0ms acquire    => send 0 set v1 10000ms; wake 50ms\n"
          "1ms wall 40s\n"
          "1ms reply 0 ok => tell granted v1 validity 69898ms until 69899ms; wake 69899ms\n");
}

Test(wrong, second_clock_counts_nine_tenths_of_a_second_as_none)
{
    wrong("wrong/second-clock", 1,
          "0ms acquire      => send 0 set v1 10000ms; wake 50ms\n"
          "900ms reply 0 ok => tell granted v1 validity 9898ms until 10798ms; wake 10798ms\n");
}

Test(wrong, no_drift_promises_the_whole_ttl)
{
    wrong("wrong/no-drift", 1,
          "0ms acquire    => send 0 set v1 10000ms; wake 50ms\n"
          "0ms reply 0 ok => tell granted v1 validity 10s until 10s; wake 10s\n");
}

Test(wrong, plain_delete_does_not_ask_whose_key_it_is)
{
    wrong("wrong/plain-delete", 1, GRANT_1 "1s release => send 0 delete v1; wake 1050ms\n");
}

Test(wrong, extend_any_owner_does_not_ask_whose_key_it_is)
{
    wrong("wrong/extend-any-owner", 1,
          GRANT_1 "1s extend => send 0 expire v1 10000ms; wake 1050ms\n");
}

Test(wrong, extend_creates_asks_for_the_key_to_be_set_again)
{
    wrong("wrong/extend-creates", 1,
          GRANT_1 "1s extend => send 0 set-expire v1 10000ms; wake 1050ms\n");
}

Test(wrong, extend_no_recheck_extends_what_has_ended)
{
    wrong("wrong/extend-no-recheck", 1,
          GRANT_1 "5s extend       => send 0 compare-expire v1 10000ms; wake 5050ms\n"
                  "9999ms reply 0 1 => tell extended v1 validity 4899ms until 14898ms; wake "
                  "14898ms\n");
}

Test(wrong, extend_fail_unlocks_deletes_a_key_that_is_still_held)
{
    wrong("wrong/extend-fail-unlocks", 1,
          GRANT_1 "1s extend        => send 0 compare-expire v1 10000ms; wake 1050ms\n"
                  "1s reply 0 error => tell not extended v1: quorum not reached; send 0 "
                  "compare-delete v1\n");
}

Test(wrong, quorum_half_grants_two_of_four)
{
    wrong("wrong/quorum-half", 4,
          "0ms acquire    => send 0-3 set v1 10000ms; wake 50ms\n"
          "0ms reply 0 ok =>\n"
          "0ms reply 1 ok => tell granted v1 validity 9898ms until 9898ms; wake 9898ms\n");
}

Test(wrong, quorum_reachable_grants_two_of_five_when_three_are_out_of_reach)
{
    wrong("wrong/quorum-reachable", 5,
          "0ms acquire    => send 0-4 set v1 10000ms; wake 50ms\n"
          "1ms broken 2   =>\n"
          "2ms reply 0 ok =>\n"
          "3ms reply 1 ok =>\n"
          "50ms timer     => tell granted v1 validity 9848ms until 9898ms; wake 9898ms\n");
}

Test(wrong, no_cleanup_leaves_the_keys_of_a_refused_attempt)
{
    wrong("wrong/no-cleanup", 3,
          "0ms acquire     => send 0-2 set v1 10000ms; wake 50ms\n"
          "1ms reply 0 ok  =>\n"
          "1ms reply 1 nil =>\n"
          "1ms reply 2 nil => tell refused v1: quorum not reached; wake never\n");
}

Test(wrong, cleanup_acquired_only_forgets_the_node_whose_yes_was_lost)
{
    wrong("wrong/cleanup-acquired-only", 3,
          "0ms acquire     => send 0-2 set v1 10000ms; wake 50ms\n"
          "1ms reply 0 ok  =>\n"
          "2ms broken 1    =>\n"
          "3ms reply 2 nil => send 0 compare-delete v1; tell refused v1: quorum not reached; wake "
          "53ms\n");
}

Test(wrong, constant_value_sets_the_same_value_for_everyone)
{
    struct lock_config config = player_config("wrong/constant-value", 1);
    play_wrong(&config, "redlock",
               "0ms acquire      => send 0 set v1 10000ms; wake 50ms\n"
               "1ms reply 0 nil  => send 0 compare-delete v1; wake 51ms\n"
               "2ms reply 0 0    => wake 301ms\n"
               "301ms timer      => send 0 set v1 10000ms; wake 351ms\n");
}

Test(wrong, release_ignores_error_says_released_without_an_answer)
{
    wrong("wrong/release-ignores-error", 1,
          GRANT_1 "1s release  => send 0 compare-delete v1; wake 1050ms\n"
                  "1s broken 0 => tell released v1\n");
}

Test(wrong, fence_not_raised_grants_before_a_majority_knows_the_fence)
{
    struct lock_config config = player_config("wrong/fence-not-raised", 1);
    play_wrong(&config, "fenced_redlock",
               "0ms acquire   => send 0 set-fence v1 10000ms; wake 50ms\n"
               "0ms reply 0 7 => tell granted v1 validity 9898ms until 9898ms fence 7; wake "
               "9898ms\n");
}

Test(wrong, setnx_expire_leaves_the_key_without_a_ttl_in_between)
{
    wrong("wrong/setnx-expire", 1,
          "0ms acquire   => send 0 setnx v1; wake 50ms\n"
          "1ms reply 0 1 => send 0 expire v1 10000ms\n"
          "2ms reply 0 1 => tell granted v1 validity 9896ms until 9898ms; wake 9898ms\n");
}

/* This file, as a list of what it names: tests run from the top folder. */
static const char *this_file(void)
{
    static char text[1 << 16];
    FILE *file = fopen("tests/lockcore/test_wrong.c", "r");
    cr_assert_not_null(file, "run the tests from the top folder");
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    text[bytes] = '\0';
    cr_assert_eq(fclose(file), 0);
    cr_assert_lt(bytes, sizeof text - 1);
    return text;
}

/* A wrong lock without its line here would go unseen. */
Test(wrong, every_wrong_lock_has_its_transcript_and_its_source)
{
    const char *transcripts = this_file();
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        const struct lock_algorithm *algorithm = lock_algorithm_at((lock_algorithm_index)i);
        cr_assert(strlen(algorithm->about) > 20, "%s", algorithm->name);
        cr_assert(strlen(algorithm->source) > 20, "%s", algorithm->name);
        char quoted[80];
        (void)snprintf(quoted, sizeof quoted, "(\"%s\", ", algorithm->name);
        cr_assert(strncmp(algorithm->name, "wrong/", 6) != 0 || strstr(transcripts, quoted) != NULL,
                  "%s has no transcript in tests/lockcore/test_wrong.c", algorithm->name);
        lock_algorithm_index found;
        cr_assert(lock_algorithm_find(algorithm->name, &found));
        cr_assert_eq(found, i);
    }
    lock_algorithm_index index;
    cr_assert(!lock_algorithm_find("redlok", &index));
}

Test(wrong, spins_asks_to_be_woken_at_a_time_that_has_passed)
{
    struct lock_config config = player_config("wrong/spins", 1);
    play_wrong(&config, "redlock",
               "5ms acquire       => send 0 set v1 10000ms; wake 55ms\n"
               "6ms reply 0 nil => send 0 compare-delete v1; wake 5ms\n");
}

#define CHUBBY_GRANTED                                                                             \
    "0ms acquire    => send 0 open-session v1 10000ms; send 0 acquire v1 10000ms; wake 50ms\n"     \
    "1ms reply 0 ok =>\n"

Test(wrong, chubby_ignores_jeopardy_promises_the_grace_period_too)
{
    struct lock_config config = player_config("wrong/chubby-ignores-jeopardy", 1);
    play_wrong(&config, "chubby",
               CHUBBY_GRANTED "2ms reply 0 7  => tell granted v1 validity 47396ms until 47398ms "
                              "fence 7; send 0 keep-alive v1; wake 8648ms\n");
}

Test(wrong, chubby_lease_from_reply_counts_what_a_keepalive_waited_twice)
{
    struct lock_config config = player_config("wrong/chubby-lease-from-reply", 1);
    play_wrong(&config, "chubby",
               "0ms acquire    => send 0 open-session v1 10000ms; send 0 acquire v1; wake 50ms\n"
               "1ms reply 0 ok =>\n"
               "2ms reply 0 7  => tell granted v1 validity 9897ms until 9899ms fence 7; "
               "send 0 keep-alive v1; wake 8649ms\n"
               "7600ms reply 0 17500 => tell renewed v1 validity 17323ms until 24923ms; "
               "send 0 keep-alive v1; wake 23673ms\n");
}

Test(wrong, sql_release_any_does_not_ask_whose_row_it_is)
{
    struct lock_config config = player_config("wrong/sql-release-any", 1);
    play_wrong(
        &config, "sql",
        "0ms acquire   => send 0 insert v1 10000ms; wake 50ms\n"
        "1ms reply 0 7 => tell granted v1 validity 9897ms until 9898ms fence 7; wake 9898ms\n"
        "1s release    => send 0 delete-any v1; wake 1050ms\n");
}

Test(wrong, sql_app_clock_sends_the_time_of_its_own_clock)
{
    struct lock_config config = player_config("wrong/sql-app-clock", 1);
    play_wrong(&config, "sql",
               "0ms wall 5s\n"
               "0ms acquire => send 0 insert-at v1 10000ms fence 5000; wake 50ms\n");
}

Test(wrong, sql_early_now_asks_for_the_time_and_takes_an_old_row_for_fresh)
{
    struct lock_config config = player_config("wrong/sql-early-now", 1);
    play_wrong(&config, "sql",
               "0ms acquire       => send 0 clock v1; wake 50ms\n"
               "1ms reply 0 5000  => send 0 insert-at v1 10000ms fence 5000\n"
               "40ms reply 0 7    => tell granted v1 validity 9898ms until 9938ms fence 7; "
               "wake 9938ms\n");
}

Test(wrong, etcd_dead_lease_asks_for_older_keys_alone)
{
    struct lock_config config = player_config("wrong/etcd-dead-lease", 1);
    play_wrong(&config, "etcd",
               "0ms acquire       => send 0 grant v1 10000ms; send 0 put v1; wake 50ms\n"
               "1ms reply 0 ok    =>\n"
               "2ms reply 0 7     => send 0 older v1 fence 7; wake 52ms\n"
               "3ms reply 0 no    => wake 303ms\n"
               "# its lease is long over\n"
               "20s timer         => send 0 older v1 fence 7; wake 20050ms\n"
               "20001ms reply 0 9 => tell granted v1 validity 9897ms until 29898ms; "
               "wake 29898ms\n");
}

Test(wrong, etcd_no_deadline_promises_what_no_answer_gave)
{
    struct lock_config config = player_config("wrong/etcd-no-deadline", 1);
    play_wrong(&config, "etcd",
               "0ms acquire    => send 0 grant v1 10000ms; send 0 enqueue v1; wake 50ms\n"
               "1ms reply 0 ok =>\n"
               "2ms reply 0 7  => tell granted v1 validity 109896ms until 109898ms fence 7; "
               "wake 3302ms\n");
}

#define ZOOKEEPER_GRANTED                                                                          \
    "0ms acquire    => send 0 open-session v1 10000ms; wake 50ms\n"                                \
    "1ms reply 0 ok => send 0 create v1; wake 51ms\n"                                              \
    "2ms reply 0 7  => send 0 children v1 fence 7; wake 52ms\n"

Test(wrong, zookeeper_found_own_asks_for_its_old_node_in_a_new_session)
{
    struct lock_config config = player_config("wrong/zookeeper-found-own", 1);
    config.retry_count = 10;
    play_wrong(&config, "zookeeper",
               "0ms acquire    => send 0 open-session v1 10000ms; wake 50ms\n"
               "1ms reply 0 ok => send 0 create-found v1; wake 51ms\n"
               "2ms broken 0   => wake 52ms\n"
               "52ms timer     => send 0 attach v1; wake 102ms\n"
               "53ms reply 0 no => wake 353ms\n"
               "353ms timer    => send 0 open-session v2 10000ms; wake 403ms\n"
               "354ms reply 0 ok => send 0 create-found v1; wake 404ms\n");
}

Test(wrong, zookeeper_delete_failed_forgets_the_node_and_pings_on)
{
    struct lock_config config = player_config("wrong/zookeeper-delete-failed", 1);
    play_wrong(&config, "zookeeper",
               ZOOKEEPER_GRANTED
               "3ms reply 0 ok => tell granted v1 validity 4397ms until 4400ms fence 7; wake "
               "2501ms\n"
               "1s release     => send 0 delete v1 fence 7; wake 1050ms\n"
               "1001ms broken 0 => tell unknown v1; wake 1051ms\n"
               "1051ms timer   => send 0 attach v1; wake 1101ms\n"
               "1052ms reply 0 ok => wake 3552ms\n");
}

Test(wrong, zookeeper_ignores_events_holds_though_its_session_expired)
{
    struct lock_config config = player_config("wrong/zookeeper-ignores-events", 1);
    play_wrong(&config, "zookeeper",
               ZOOKEEPER_GRANTED
               "3ms reply 0 ok => tell granted v1 validity 104397ms until 104400ms fence 7; wake "
               "2501ms\n"
               "1s broken 0    => wake 1050ms\n"
               "1050ms timer   => send 0 attach v1; wake 1100ms\n"
               "1051ms reply 0 no => wake 1050ms\n");
}

Test(wrong, advisory_stacks_asks_again_on_top_of_what_was_not_answered)
{
    struct lock_config config = player_config("wrong/advisory-stacks", 1);
    play_wrong(&config, "advisory",
               "0ms acquire => send 0 try-lock v1; wake 50ms\n"
               "50ms timer  => wake 350ms\n");
}

Test(wrong, advisory_reconnects_says_nothing_of_a_broken_connection)
{
    struct lock_config config = player_config("wrong/advisory-reconnects", 1);
    play_wrong(&config, "advisory",
               "0ms acquire    => send 0 try-lock v1; wake 50ms\n"
               "1ms reply 0 ok => tell granted v1 without an end; wake never\n"
               "5s broken 0    =>\n");
}

#define HAZELCAST_ASKED                                                                            \
    "0ms acquire    => send 0 create-session v1 10000ms; wake 50ms\n"                              \
    "1ms reply 0 ok => send 0 try-lock v1 2500ms fence 1; wake 2551ms\n"

Test(wrong, hazelcast_goes_on_promises_what_no_answer_gave)
{
    struct lock_config config = player_config("wrong/hazelcast-goes-on", 1);
    play_wrong(&config, "fenced_lock",
               HAZELCAST_ASKED
               "2ms reply 0 7  => tell granted v1 validity 109896ms until 109898ms fence 7; "
               "wake 3302ms\n");
}
