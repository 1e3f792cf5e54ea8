/* test_faults_nodes.c: what faults do to simulated nodes. */
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

#define LOCK   "algorithm: redlock, ttl: 10s"
#define HOLDER "clients: {count: 1, hold: 4s, writes: 0}\nfaults:\n"

static const struct history_event *key(int f, int node)
{
    return find(&fixture, 0,
                (struct wanted){.kind = IS(HISTORY_NODE), .f = IS(f), .node = IS(node)});
}

static const struct history_event *effect(int fault_kind)
{
    return find(&fixture, 0,
                (struct wanted){.kind = IS(HISTORY_FAULT),
                                .f = IS(HISTORY_FAULT_EFFECT),
                                .fault_kind = IS(fault_kind)});
}

Test(faults_nodes, a_forward_jump_expires_the_key_at_once)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") HOLDER
                "  - {at: 2s, do: clock_jump, by: 11s, target: node 3}\n" TAIL,
                1);
    const struct history_event *expired = key(HISTORY_KEY_EXPIRED, 2);
    cr_assert_not_null(expired);
    cr_assert_eq(expired->time_ns, 2 * NS_PER_S);
    cr_assert_eq(expired->cause, CAUSE_CLOCK_JUMP);
    cr_assert_eq(expired->fault, 0);
    cr_assert_null(key(HISTORY_KEY_EXPIRED, 1));
    cr_assert_eq(effect(FAULT_CLOCK_JUMP)->number[1], 11 * NS_PER_S);
    fixture_close(&fixture);
}

/* The holder is inside, and nothing else happens until it leaves. */
Test(faults_nodes, what_is_to_begin_behind_an_event_begins_while_nothing_else_happens)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") HOLDER "  - {on: client 1 after_granted, after: 1s, do: evict, "
                                          "target: node 3}\n" TAIL,
                1);
    const struct history_event *evicted = key(HISTORY_KEY_EVICTED, 2);
    cr_assert_not_null(evicted);
    cr_assert_lt(evicted->time_ns, 1100 * NS_PER_MS);
    fixture_close(&fixture);
}

Test(faults_nodes, a_backward_jump_keeps_the_key_longer)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 30s, writes: 0}\nfaults:\n"
                                   "  - {at: 2s, do: clock_jump, by: -5s, target: node 3}\n" TAIL,
                1);
    cr_assert_lt(key(HISTORY_KEY_EXPIRED, 1)->time_ns, 11 * NS_PER_S);
    const struct history_event *late = key(HISTORY_KEY_EXPIRED, 2);
    cr_assert_gt(late->time_ns, 15 * NS_PER_S);
    cr_assert_eq(late->cause, CAUSE_CLOCK_JUMP);
    fixture_close(&fixture);
}

Test(faults_nodes, a_fast_clock_expires_the_key_early)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 30s, writes: 0}\nfaults:\n"
                                   "  - {at: 0s, do: clock_rate, rate: 2, target: node 3}\n" TAIL,
                1);
    const struct history_event *early = key(HISTORY_KEY_EXPIRED, 2);
    cr_assert_lt(early->time_ns, 5100 * NS_PER_MS);
    cr_assert_eq(early->cause, CAUSE_CLOCK_RATE);
    fixture_close(&fixture);
}

Test(faults_nodes, a_crash_without_a_file_loses_the_key)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") HOLDER "  - {at: 2s, do: crash, target: node 2, for: 1s}\n" TAIL,
                1);
    const struct history_event *lost = key(HISTORY_KEY_LOST, 1);
    cr_assert_not_null(lost);
    cr_assert_eq(lost->cause, CAUSE_RESTART);
    cr_assert_null(key(HISTORY_KEY_BACK, 1));
    cr_assert_eq(effect(FAULT_CRASH)->number[1], 1, "one key lost");
    fixture_close(&fixture);
}

Test(faults_nodes, a_crash_with_a_file_brings_the_key_back)
{
    fixture_run(
        &fixture,
        HEAD(LOCK, "everysec") HOLDER "  - {at: 2s, do: crash, target: node 2, for: 1s}\n" TAIL, 1);
    cr_assert_null(key(HISTORY_KEY_LOST, 1));
    const struct history_event *back = key(HISTORY_KEY_BACK, 1);
    cr_assert_not_null(back);
    cr_assert_eq(back->time_ns, 3 * NS_PER_S);
    fixture_close(&fixture);
}

/* Of 40 seeds, how many lose the key when the power goes at this trigger. */
static int power_losses(const char *yaml)
{
    int lost = 0;
    fixture_open(&fixture, yaml, 1);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fixture_again(&fixture, seed);
        fixture_finish(&fixture);
        bool gone = key(HISTORY_KEY_LOST, 1) != NULL;
        cr_assert_neq(gone, key(HISTORY_KEY_BACK, 1) != NULL, "one of both is told");
        lost += gone;
    }
    fixture_close(&fixture);
    return lost;
}

Test(faults_nodes, a_power_loss_takes_what_was_not_synced_and_no_more)
{
    cr_assert_gt(power_losses(HEAD(LOCK, "everysec") HOLDER
                              "  - {on: client 1 after_granted, do: power_loss, target: node 2,"
                              " for: 1s}\n" TAIL),
                 35, "a single record that is not synced hardly ever survives");
    cr_assert_eq(power_losses(HEAD(LOCK, "everysec") HOLDER
                              "  - {at: 2s, do: power_loss, target: node 2, for: 1s}\n" TAIL),
                 0, "a second later it is on the disk");
}

Test(faults_nodes, a_power_loss_keeps_any_prefix_of_the_writes)
{
    int64_t ends_ns[3] = {0};
    int kinds = 0;
    fixture_open(
        &fixture,
        HEAD(LOCK ", extend: {count: 9}",
             "everysec") "clients: {count: 1, hold: 4s, writes: 0, extend_every: 100ms}\nfaults:\n"
                         "  - {at: 950ms, do: power_loss, target: node 2, for: 1ms}\n" TAIL,
        1);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fixture_again(&fixture, seed);
        fixture_finish(&fixture);
        const struct history_event *back = key(HISTORY_KEY_BACK, 1);
        int64_t end_ns = back == NULL ? -1 : back->until_ns;
        bool known = false;
        for (int i = 0; i < kinds; i++) {
            known = known || ends_ns[i] == end_ns;
        }
        if (!known && kinds < 3) {
            ends_ns[kinds++] = end_ns;
        }
    }
    cr_assert_eq(kinds, 3, "different numbers of extensions survive");
    fixture_close(&fixture);
}

Test(faults_nodes, a_power_loss_with_fsync_always_loses_nothing)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fixture_run(&fixture,
                    HEAD(LOCK, "always") "clients: {count: 1, hold: 4s, writes: 0}\nfaults:\n"
                                         "  - {on: client 1 after_granted, do: power_loss, target: "
                                         "node 2, for: 1s}\n" TAIL,
                    seed);
        cr_assert_null(key(HISTORY_KEY_LOST, 1));
        cr_assert_not_null(key(HISTORY_KEY_BACK, 1));
        fixture_close(&fixture);
    }
}

Test(faults_nodes, a_paused_node_applies_what_queued_up_when_it_wakes)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 4s}\nfaults:\n"
                                   "  - {at: 0s, do: pause, target: node 2, for: 3s}\n" TAIL,
                1);
    const struct history_event *set = key(HISTORY_KEY_SET, 1);
    cr_assert_not_null(set);
    cr_assert_eq(set->time_ns, 3 * NS_PER_S);
    fixture_close(&fixture);
}

Test(faults_nodes, a_fault_of_two_nodes_names_both_when_it_begins)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 4s}\nfaults:\n"
                                   "  - {at: 0s, do: pause, target: nodes 2-3, for: 3s}\n" TAIL,
                1);
    const struct history_event *start =
        find(&fixture, 0, (struct wanted){.kind = IS(HISTORY_FAULT), .f = IS(HISTORY_FAULT_START)});
    cr_assert_eq(start->nodes, 6);
    cr_assert_eq(start->node, HISTORY_NO_NODE);
    fixture_close(&fixture);
}

Test(faults_nodes, a_stalled_node_takes_commands_and_answers_at_the_end)
{
    fixture_run(&fixture,
                HEAD(LOCK ", retry: {count: 0}",
                     "none") "clients: {count: 1}\nfaults:\n"
                             "  - {at: 0s, do: stall, target: nodes 1-3, for: 3s}\n" TAIL,
                1);
    cr_assert_lt(key(HISTORY_KEY_SET, 1)->time_ns, NS_PER_MS, "it takes the command at once");
    cr_assert_not_null(find(
        &fixture, 0,
        (struct wanted){.type = IS(HISTORY_FAIL), .f = IS(HISTORY_ACQUIRE), .process = IS(0)}));
    cr_assert_gt(effect(FAULT_STALL)->number[1], 2);
    fixture_close(&fixture);
}

Test(faults_nodes, a_node_out_of_memory_refuses_sets_and_lets_deletions_through)
{
    fixture_run(
        &fixture,
        HEAD(LOCK, "none") "clients: {count: 1, hold: 2s}\nfaults:\n"
                           "  - {at: 1s, do: refuse_writes, error: OOM, target: node 2, for: 5s}\n"
                           "  - {at: 0s, do: refuse_writes, error: LOADING, target: node 3, for: "
                           "5s}\n" TAIL,
        1);
    cr_assert_not_null(key(HISTORY_KEY_DELETED, 1));
    cr_assert_null(find(
        &fixture, 0, (struct wanted){.f = IS(HISTORY_KEY_SET), .node = IS(2), .process = IS(0)}));
    cr_assert_not_null(key(HISTORY_NODE_ERROR, 2));
    fixture_close(&fixture);
}

Test(faults_nodes, what_a_garbled_node_answers_is_no_grant_and_no_release)
{
    fixture_run(
        &fixture,
        HEAD(LOCK, "none") "clients: {count: 1, hold: 100ms}\nfaults:\n"
                           "  - {at: 0s, do: refuse_writes, error: GARBLED, target: node 1}\n"
                           "  - {on: client 1 before_release, do: refuse_writes, error: GARBLED, "
                           "target: nodes 2-3, for: 5s}\n" TAIL,
        1);
    cr_assert_null(find(
        &fixture, 0, (struct wanted){.f = IS(HISTORY_KEY_SET), .node = IS(0), .process = IS(0)}));
    cr_assert_not_null(key(HISTORY_NODE_ERROR, 0));
    cr_assert_not_null(find(
        &fixture, 0,
        (struct wanted){.type = IS(HISTORY_INFO), .f = IS(HISTORY_RELEASE), .process = IS(0)}));
    fixture_close(&fixture);
}

Test(faults_nodes, a_flushed_script_cache_costs_a_second_try)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, sections: 3}\nfaults:\n"
                                   "  - {at: 150ms, do: script_flush, target: node 2}\n" TAIL,
                1);
    cr_assert_not_null(effect(FAULT_SCRIPT_FLUSH));
    cr_assert_eq(count(&fixture, (struct wanted){.f = IS(HISTORY_KEY_DELETED), .node = IS(1)}), 4,
                 "three sections and the auditor delete their keys");
    fixture_close(&fixture);
}

Test(faults_nodes, an_eviction_takes_the_key_while_it_is_held)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") HOLDER "  - {at: 2s, do: evict, target: nodes 1-3}\n" TAIL, 1);
    cr_assert_eq(count(&fixture, (struct wanted){.f = IS(HISTORY_KEY_EVICTED)}), 3);
    cr_assert_eq(effect(FAULT_EVICT)->number[1], 1);
    fixture_close(&fixture);
}

Test(faults_nodes, a_failover_loses_what_the_replica_did_not_have)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") HOLDER
                "  - {on: client 1 after_granted, do: failover, lag: 1s, target: node 1}\n"
                "  - {at: 2s, do: failover, lag: 100ms, target: node 2}\n" TAIL,
                1);
    const struct history_event *lost = key(HISTORY_KEY_LOST, 0);
    cr_assert_not_null(lost);
    cr_assert_eq(lost->cause, CAUSE_FAILOVER);
    cr_assert_null(key(HISTORY_KEY_LOST, 1), "the replica of node 2 had caught up");
    fixture_close(&fixture);
}

Test(faults_nodes, a_member_that_is_killed_while_it_is_paused_is_not_back_when_the_pause_ends)
{
    fixture_run(&fixture,
                "version: 1\nname: test\nabout: a test\nsource: the tests\n"
                "lock: {algorithm: chubby, ttl: 12s, retry: {count: 200, delay: 500ms}}\n"
                "nodes: {count: 3}\nclients: {count: 2, sections: 5, hold: 2s, writes: 0}\n"
                "duration: 3m\nbound: 60s\nfaults:\n"
                "  - {at: 1s, do: crash, target: node 2, for: 60s}\n"
                "  - {at: 1s, do: pause, target: node 3, for: 3s}\n"
                "  - {at: 1500ms, do: crash, target: node 3, for: 60s}\n" TAIL,
                1);
    uint32_t granted = 0;
    for (uint64_t i = 0; i < fixture.count; i++) {
        const struct history_event *event = &fixture.events[i];
        if (event->kind == HISTORY_OP && event->type == HISTORY_OK) {
            bool alone = event->time_ns > 1 * NS_PER_S && event->time_ns < 61 * NS_PER_S;
            cr_assert_not(alone, "one of three members cannot commit anything");
            granted += event->f == HISTORY_ACQUIRE ? 1 : 0;
        }
    }
    cr_assert_eq(granted, 11, "before, and when two of three are there again");
    fixture_close(&fixture);
}
