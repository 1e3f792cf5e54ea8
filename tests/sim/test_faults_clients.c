/* test_faults_clients.c: what faults do to simulated clients. */
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

#define LOCK "algorithm: redlock, ttl: 10s"

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

Test(faults_clients, a_healthy_run_grants_each_section_and_the_auditor)
{
    fixture_run(&fixture, HEAD(LOCK, "none") "clients: {count: 2}\n" TAIL, 1);
    cr_assert_not_null(granted(0));
    cr_assert_not_null(granted(1));
    cr_assert_not_null(granted(2));
    const struct history_event *last = &fixture.events[fixture.count - 1];
    cr_assert_eq(last->f, HISTORY_RUN_END);
    cr_assert_eq(last->cause, CAUSE_ALL_DONE);
    fixture_close(&fixture);
}

Test(faults_clients, a_pause_after_granted_lets_the_lease_end_inside_the_section)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1}\nfaults:\n"
                                   "  - {on: client 1 after_granted, do: pause, for: 12s}\n" TAIL,
                1);
    const struct history_event *grant = granted(0);
    const struct history_event *enter = find(&fixture, 0, (struct wanted){.f = IS(HISTORY_ENTER)});
    cr_assert_eq(enter->time_ns, grant->time_ns + 12 * NS_PER_S);
    cr_assert_lt(grant->until_ns, enter->time_ns);
    cr_assert_eq(effect(FAULT_PAUSE)->number[1], 12 * NS_PER_S);
    cr_assert_eq(
        count(&fixture, (struct wanted){.f = IS(HISTORY_KEY_EXPIRED), .cause = IS(CAUSE_TTL)}), 5);
    fixture_close(&fixture);
}

Test(faults_clients, replies_that_waited_are_read_before_the_timer_and_the_grant_is_refused)
{
    fixture_run(&fixture,
                HEAD(LOCK ", retry: {count: 0}",
                     "none") "clients: {count: 1}\nfaults:\n"
                             "  - {on: client 1 before_replies, do: pause, for: 12s}\n" TAIL,
                1);
    const struct history_event *refused = find(&fixture, 0,
                                               (struct wanted){.kind = IS(HISTORY_OP),
                                                               .type = IS(HISTORY_FAIL),
                                                               .f = IS(HISTORY_ACQUIRE),
                                                               .process = IS(0)});
    cr_assert_not_null(refused);
    cr_assert_eq(refused->cause, CAUSE_VALIDITY_SPENT);
    fixture_close(&fixture);
}

Test(faults_clients, a_killed_client_does_nothing_more_and_its_keys_expire)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 2}\nfaults:\n"
                                   "  - {on: client 1 after_granted, do: kill}\n" TAIL,
                3);
    const struct history_event *killed =
        find(&fixture, 0, (struct wanted){.f = IS(HISTORY_CLIENT_KILLED), .process = IS(0)});
    cr_assert_not_null(killed);
    cr_assert_null(find(&fixture, killed->index + 1,
                        (struct wanted){.kind = IS(HISTORY_OP), .process = IS(0)}));
    cr_assert_not_null(effect(FAULT_KILL));
    cr_assert_not_null(find(&fixture, 0, (struct wanted){.f = IS(HISTORY_KEY_EXPIRED)}));
    cr_assert_not_null(granted(2));
    fixture_close(&fixture);
}

Test(faults_clients, a_fast_clock_moves_the_end_of_the_lease_in_true_time)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 2s}\nfaults:\n"
                                   "  - {at: 1s, do: clock_rate, rate: 2, target: client 1}\n" TAIL,
                1);
    const struct history_event *moved =
        find(&fixture, 0, (struct wanted){.kind = IS(HISTORY_LEASE), .f = IS(HISTORY_MOVED)});
    cr_assert_not_null(moved);
    int64_t left_ns = granted(0)->until_ns - NS_PER_S;
    cr_assert_eq(moved->until_ns, NS_PER_S + left_ns / 2 + left_ns % 2);
    const struct history_event *leave = find(&fixture, 0, (struct wanted){.f = IS(HISTORY_LEAVE)});
    cr_assert_lt(leave->time_ns, 1600 * NS_PER_MS, "its two seconds pass in one and a half");
    fixture_close(&fixture);
}

Test(faults_clients, a_wall_clock_jump_moves_no_timer)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 2s}\nfaults:\n"
                                   "  - {at: 1s, do: clock_jump, by: 1h, target: client 1}\n" TAIL,
                1);
    cr_assert_eq(effect(FAULT_CLOCK_JUMP)->number[1], 3600 * NS_PER_S);
    cr_assert_null(find(&fixture, 0, (struct wanted){.kind = IS(HISTORY_LEASE)}));
    const struct history_event *leave = find(&fixture, 0, (struct wanted){.f = IS(HISTORY_LEAVE)});
    cr_assert_gt(leave->time_ns, 2 * NS_PER_S);
    cr_assert_lt(leave->time_ns, 2100 * NS_PER_MS);
    fixture_close(&fixture);
}

Test(faults_clients, a_slow_client_is_late_at_every_step)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1}\nfaults:\n"
                                   "  - {at: 0s, do: slow, delay: 5ms, target: client 1}\n" TAIL,
                1);
    cr_assert_gt(granted(0)->time_ns, 20 * NS_PER_MS, "start, wake and three replies are late");
    cr_assert_gt(effect(FAULT_SLOW)->number[1], 5);
    fixture_close(&fixture);
}

Test(faults_clients, clients_that_are_not_done_in_time_are_ended_and_the_lock_comes_free)
{
    fixture_run(&fixture, HEAD(LOCK, "none") "clients: {count: 2, hold: 30s}\nduration: 20s\n" TAIL,
                1);
    const struct history_event *last = &fixture.events[fixture.count - 1];
    cr_assert_eq(last->cause, CAUSE_DEADLINE);
    cr_assert_not_null(granted(2));
    cr_assert_not_null(find(&fixture, 0, (struct wanted){.f = IS(HISTORY_HEALED)}));
    fixture_close(&fixture);
}

/* It is connected anew by an answer that came too late to promise anything; its pings do. */
Test(faults_clients, a_slow_holder_gets_out_of_jeopardy)
{
    fixture_run(&fixture,
                "version: 1\nname: test\nabout: a test\nsource: the tests\n"
                "lock: {algorithm: zookeeper, ttl: 2s, node_timeout: 300ms}\n"
                "nodes: {kind: zookeeper, count: 3}\n"
                "clients: {count: 1, hold: 50ms, writes: 2}\nduration: 10s\nfaults:\n"
                "  - {on: client 1 after_write, nth: 2, do: slow, target: client 1, delay: 1s, "
                "jitter: 0s, for: 1999ms}\n" TAIL,
                1);
    cr_assert_eq(count(&fixture, (struct wanted){.kind = IS(HISTORY_OP),
                                                 .type = IS(HISTORY_OK),
                                                 .f = IS(HISTORY_RELEASE),
                                                 .process = IS(0)}),
                 1, "it stands still for ever");
    fixture_close(&fixture);
}
