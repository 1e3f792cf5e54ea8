/* test_replies.c: each command tells when it was sent and when its reply was back. */
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

#define LOCK "algorithm: redlock, ttl: 10s"

static const struct history_event *key_set(int node)
{
    return find(&fixture, 0,
                (struct wanted){.kind = IS(HISTORY_NODE),
                                .f = IS(HISTORY_KEY_SET),
                                .process = IS(0),
                                .node = IS(node)});
}

static bool replied(const struct history_event *event)
{
    cr_assert_neq(event->flags & HISTORY_HAS_SENT, 0);
    return (event->flags & HISTORY_HAS_REPLIED) != 0;
}

Test(replies, every_command_is_sent_before_it_arrives_and_answered_after)
{
    fixture_run(&fixture, HEAD(LOCK, "none") "clients: {count: 3}\n" TAIL, 1);
    int commands = 0;
    for (uint64_t i = 0; i < fixture.count; i++) {
        const struct history_event *event = &fixture.events[i];
        if (event->kind == HISTORY_NODE && event->process != HISTORY_NOBODY && replied(event)) {
            commands++;
            cr_assert_lt(event->sent_ns, event->time_ns);
            cr_assert_gt(event->replied_ns, event->time_ns);
        }
    }
    cr_assert_gt(commands, 20);
    fixture_close(&fixture);
}

Test(replies, a_grant_comes_with_the_reply_that_makes_the_majority)
{
    fixture_run(&fixture, HEAD(LOCK, "none") "clients: {count: 1}\n" TAIL, 1);
    const struct history_event *grant =
        find(&fixture, 0, (struct wanted){.type = IS(HISTORY_OK), .f = IS(HISTORY_ACQUIRE)});
    int before = 0;
    bool with = false;
    for (int node = 0; node < 5; node++) {
        before += key_set(node)->replied_ns <= grant->time_ns;
        with = with || key_set(node)->replied_ns == grant->time_ns;
    }
    cr_assert_eq(before, 3);
    cr_assert(with);
    fixture_close(&fixture);
}

Test(replies, a_lost_reply_never_came)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1}\nfaults:\n"
                                   "  - {on: node 2 set, do: lose_reply}\n" TAIL,
                1);
    cr_assert(replied(key_set(0)));
    cr_assert_not(replied(key_set(1)));
    fixture_close(&fixture);
}

Test(replies, a_held_reply_comes_after_the_heal_and_a_dropped_one_never)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1, hold: 5s}\nfaults:\n"
                                   "  - {at: 0s, for: 3s, do: partition, mode: hold, to: node 2, "
                                   "direction: reply}\n"
                                   "  - {at: 0s, for: 3s, do: partition, mode: drop, to: node 4, "
                                   "direction: reply}\n" TAIL,
                1);
    cr_assert_lt(key_set(1)->time_ns, NS_PER_S);
    cr_assert_eq(key_set(1)->replied_ns, 3 * NS_PER_S);
    cr_assert_not(replied(key_set(3)));
    fixture_close(&fixture);
}

Test(replies, a_reply_comes_to_a_paused_client_that_cannot_read_it)
{
    fixture_run(&fixture,
                HEAD(LOCK, "none") "clients: {count: 1}\nfaults:\n"
                                   "  - {on: client 1 before_replies, do: pause, for: 2s}\n" TAIL,
                1);
    const struct history_event *grant =
        find(&fixture, 0, (struct wanted){.type = IS(HISTORY_OK), .f = IS(HISTORY_ACQUIRE)});
    cr_assert_geq(grant->time_ns, 2 * NS_PER_S);
    for (int node = 0; node < 5; node++) {
        cr_assert_lt(key_set(node)->replied_ns, NS_PER_S);
    }
    fixture_close(&fixture);
}
