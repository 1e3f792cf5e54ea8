/* test_faults_links.c: what faults do to simulated connections. */
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

#define LOCK "algorithm: redlock, ttl: 10s"

static const struct history_event *key(int f, int node)
{
    return find(&fixture, 0,
                (struct wanted){.kind = IS(HISTORY_NODE), .f = IS(f), .node = IS(node)});
}

static const struct history_event *granted(int client)
{
    return find(&fixture, 0,
                (struct wanted){.kind = IS(HISTORY_OP),
                                .type = IS(HISTORY_OK),
                                .f = IS(HISTORY_ACQUIRE),
                                .process = IS(client)});
}

static const struct history_event *effect(int fault_kind)
{
    return find(&fixture, 0,
                (struct wanted){.kind = IS(HISTORY_FAULT),
                                .f = IS(HISTORY_FAULT_EFFECT),
                                .fault_kind = IS(fault_kind)});
}

Test(faults_links, what_is_held_is_delivered_after_the_heal_in_order)
{
    fixture_run(
        &fixture,
        HEAD(LOCK, "none") "clients: {count: 1, hold: 4s}\nfaults:\n"
                           "  - {at: 0s, for: 3s, do: partition, mode: hold, to: node 2}\n" TAIL,
        1);
    const struct history_event *set = key(HISTORY_KEY_SET, 1);
    cr_assert_not_null(set);
    cr_assert_eq(set->time_ns, 3 * NS_PER_S);
    const struct history_event *deleted =
        find(&fixture, set->index, (struct wanted){.f = IS(HISTORY_KEY_DELETED), .node = IS(1)});
    cr_assert_not_null(deleted, "the release waited behind the late SET");
    cr_assert_eq(effect(FAULT_PARTITION)->number[1], 1, "the SET was held");
    fixture_close(&fixture);
}

Test(faults_links, what_is_dropped_never_arrives_and_the_connection_is_reset)
{
    fixture_run(
        &fixture,
        HEAD(LOCK, "none") "clients: {count: 1, hold: 5s}\nfaults:\n"
                           "  - {at: 0s, for: 3s, do: partition, mode: drop, to: node 2}\n" TAIL,
        1);
    cr_assert_null(find(
        &fixture, 0, (struct wanted){.f = IS(HISTORY_KEY_SET), .node = IS(1), .process = IS(0)}));
    cr_assert_not_null(find(&fixture, 0, (struct wanted){.f = IS(HISTORY_KEY_KEPT), .node = IS(1)}),
                       "the release reaches it over a new connection");
    cr_assert_eq(effect(FAULT_PARTITION)->number[1], 1, "one command, and no connection");
    fixture_close(&fixture);
}

Test(faults_links, a_client_without_a_majority_is_refused_and_gets_it_after_the_heal)
{
    fixture_run(
        &fixture,
        HEAD(LOCK,
             "none") "clients: {count: 1}\nfaults:\n"
                     "  - {at: 0s, for: 3s, do: partition, mode: refuse, to: nodes 1-3}\n" TAIL,
        1);
    cr_assert_not_null(
        find(&fixture, 0, (struct wanted){.type = IS(HISTORY_FAIL), .f = IS(HISTORY_ACQUIRE)}));
    cr_assert_gt(granted(0)->time_ns, 3 * NS_PER_S);
    cr_assert_eq(effect(FAULT_PARTITION)->number[1], 3, "connections cut");
    fixture_close(&fixture);
}

/* When an acquire that gets no majority is told so: three of five nodes are cut off in this mode.
 */
static int64_t refused_ns(const char *mode)
{
    char yaml[2048];
    (void)snprintf(
        yaml, sizeof yaml,
        HEAD("algorithm: redlock, ttl: 10s, node_timeout: 500ms, retry: {count: 0}",
             "none") "clients: {count: 1}\nfaults:\n"
                     "  - {at: 0s, for: 3s, do: partition, mode: %s, to: nodes 1-3}\n" TAIL,
        mode);
    fixture_run(&fixture, yaml, 1);
    const struct history_event *refused =
        find(&fixture, 0, (struct wanted){.type = IS(HISTORY_FAIL), .f = IS(HISTORY_ACQUIRE)});
    cr_assert_not_null(refused);
    int64_t at_ns = refused->time_ns;
    fixture_close(&fixture);
    return at_ns;
}

/* Nobody waits for what a broken connection owes; what is dropped only never comes. */
Test(faults_links, a_broken_connection_is_told_at_once_and_a_dropped_reply_never)
{
    cr_assert_lt(refused_ns("refuse"), 100 * NS_PER_MS);
    cr_assert_lt(refused_ns("reset"), 100 * NS_PER_MS);
    cr_assert_geq(refused_ns("drop"), 500 * NS_PER_MS);
}

Test(faults_links, a_reset_connection_is_made_anew_at_once)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 1s}\nfaults:\n"
                                   "  - {at: 500ms, for: 3s, do: partition, mode: reset}\n" TAIL,
                1);
    cr_assert_eq(effect(FAULT_PARTITION)->number[1], 5);
    cr_assert_eq(count(&fixture, (struct wanted){.f = IS(HISTORY_KEY_DELETED), .process = IS(0)}),
                 5, "the release goes over new connections");
    fixture_close(&fixture);
}

Test(faults_links, latency_goes_one_way)
{
    fixture_run(
        &fixture,
        HEAD(LOCK,
             "none") "clients: {count: 1}\nfaults:\n"
                     "  - {at: 0s, for: 3s, do: latency, delay: 20ms, direction: reply}\n" TAIL,
        1);
    cr_assert_lt(key(HISTORY_KEY_SET, 2)->time_ns, NS_PER_MS);
    cr_assert_gt(granted(0)->time_ns, 20 * NS_PER_MS);
    fixture_close(&fixture);
}

Test(faults_links, a_lost_reply_leaves_its_effect_and_breaks_the_link)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1}\nfaults:\n"
                                   "  - {on: node 2 set, do: lose_reply}\n" TAIL,
                1);
    cr_assert_not_null(key(HISTORY_KEY_SET, 1));
    const struct history_event *strike = effect(FAULT_LOSE_REPLY);
    cr_assert_not_null(strike);
    cr_assert_eq(strike->number[1], 1);
    fixture_close(&fixture);
}

/* A grant with a fence is asked for by script, which a fresh node does not know at first. */
Test(faults_links, a_script_that_a_node_does_not_know_is_no_command_carried_out)
{
    fixture_run(&fixture,
                HEAD("algorithm: fenced_redlock, ttl: 10s",
                     "none") "clients: {count: 1}\nfaults:\n"
                             "  - {on: node 2 set, do: lose_reply}\n" TAIL,
                1);
    const struct history_event *set = key(HISTORY_KEY_SET, 1);
    const struct history_event *strike = effect(FAULT_LOSE_REPLY);
    cr_assert_not_null(set);
    cr_assert_not_null(strike);
    cr_assert_gt(strike->index, set->index, "it is the reply to the set that is lost");
    fixture_close(&fixture);
}

Test(faults_links, a_delayed_command_holds_back_what_follows_on_its_connection)
{
    fixture_run(
        &fixture,
        HEAD(LOCK, "none") "clients: {count: 1, hold: 1s}\nfaults:\n"
                           "  - {on: node 2 before set, do: delay_command, delay: 1001ms}\n" TAIL,
        1);
    const struct history_event *set = key(HISTORY_KEY_SET, 1);
    const struct history_event *left = find(&fixture, 0, (struct wanted){.f = IS(HISTORY_LEAVE)});
    cr_assert_gt(set->time_ns, left->time_ns, "it went behind the release of the others");
    cr_assert_lt(granted(0)->time_ns, NS_PER_S, "four other nodes are enough");
    const struct history_event *deleted = key(HISTORY_KEY_DELETED, 1);
    cr_assert_gt(deleted->index, set->index);
    fixture_close(&fixture);
}

Test(faults_links, a_set_of_a_dead_client_arrives_after_the_delete_of_another_connection)
{
    fixture_run(
        &fixture,
        HEAD(LOCK,
             "none") "clients: {count: 2, think: 100ms, think_jitter: 0s}\nfaults:\n"
                     "  - {on: node 2 before set from client 1, do: delay_command, delay: 2s}\n"
                     "  - {on: client 1 before_write, do: kill}\n" TAIL,
        1);
    const struct history_event *killed =
        find(&fixture, 0, (struct wanted){.f = IS(HISTORY_CLIENT_KILLED)});
    if (killed == NULL) {
        fixture_print(&fixture);
    }
    cr_assert_not_null(killed);
    const struct history_event *late =
        find(&fixture, killed->index,
             (struct wanted){.f = IS(HISTORY_KEY_SET), .node = IS(1), .process = IS(0)});
    cr_assert_not_null(late, "its kernel still delivers what it sent");
    fixture_close(&fixture);
}
