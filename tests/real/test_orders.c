/* test_orders.c: faults begin and end at the events they name, in order, with an adapter as well.
 */
#include "base/duration.h"
#include "tests/real/story.h"

#include <criterion/criterion.h>

static struct story story;

#define EXAMPLE "python3 adapters/example/adapter.py"

#define SETUP                                                                                      \
    "version: 1\nname: story\nabout: a test\nsource: nowhere\n"                                    \
    "lock: {algorithm: redlock, ttl: 400ms, node_timeout: 300ms, "                                 \
    "retry: {count: 3, delay: 20ms, jitter: 20ms}}\n"                                              \
    "clients: {count: 2, hold: 5ms, sections: 2, think: 1ms}\n"                                    \
    "duration: 20s\nexpect: {exclusion: pass}\n"

TestSuite(orders, .timeout = 60);

/* Our own clients are processes that talk to the run, an adapter's program runs inside it. */
static const char *const kinds[] = {NULL, EXAMPLE};

/* When fault k (from 0) began or ended, by its place in the recording; the run's end if never. */
static size_t place_of(int32_t k, enum history_f f)
{
    size_t i = 0;
    while (i < story.count && !(story.events[i].kind == HISTORY_FAULT && story.events[i].f == f &&
                                story.events[i].fault == k)) {
        i++;
    }
    return i;
}

static void ends_behind_its_beginning(int32_t k)
{
    size_t start = place_of(k, HISTORY_FAULT_START);
    size_t end = place_of(k, HISTORY_FAULT_END);
    if (start >= end || end == story.count) {
        story_tell(&story);
    }
    cr_assert_lt(start, end, "fault %d", k + 1);
    cr_assert_lt(end, story.count, "fault %d ends", k + 1);
    cr_assert_leq(story.events[start].time_ns, story.events[end].time_ns);
}

/* Run it with either kind of client; every fault ends, behind its beginning, and all go on. */
static void runs_in_order(const char *faults, const char *adapter, size_t releases)
{
    char lines[2048];
    (void)snprintf(lines, sizeof lines, SETUP "faults:\n%s", faults);
    story.adapter = adapter;
    story_must_run(&story, lines, 1);
    for (int32_t k = 0; k < (int32_t)story.plan.scenario.fault_count; k++) {
        ends_behind_its_beginning(k);
    }
    size_t killed = story_count(&story, HISTORY_CLIENT, HISTORY_CLIENT_KILLED);
    if (killed > 0) {
        story_tell(&story);
    }
    cr_assert_eq(killed, (size_t)0, "all go on");
    cr_assert_eq(story_ended(&story, HISTORY_RELEASE, HISTORY_OK) +
                     story_ended(&story, HISTORY_RELEASE, HISTORY_FAIL),
                 releases);
}

/*
 * What ends the third fault happens because the second one ends: at the same probe point at which
 * the third begins.
 */
Test(orders, a_fault_does_not_end_before_it_began)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        runs_in_order("  - {at: 0s, do: pause, target: client 2, until: client 1 after_granted}\n"
                      "  - {on: client 1 after_granted, do: pause, until: client 2 after_write}\n"
                      "  - {on: client 2 after_write, do: pause, until: client 1 after_write}\n",
                      kinds[i], 4);
    }
}

/* Each is stopped where the other one's step lets it go on. */
Test(orders, two_clients_stand_at_two_probe_points)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        runs_in_order("  - {at: 0s, do: pause, target: client 2, until: client 1 before_write}\n"
                      "  - {on: client 1 before_write, do: pause, until: client 2 after_refused}\n"
                      "  - {on: client 2 after_refused, do: pause, until: client 1 after_release}\n"
                      "  - {on: client 1 after_release, do: pause, until: client 2 after_granted}\n"
                      "  - {on: client 2 after_granted, do: pause, for: 1ms}\n",
                      kinds[i], 4);
        size_t refused = place_of(1, HISTORY_FAULT_END);
        size_t stopped = place_of(2, HISTORY_FAULT_START);
        cr_assert_leq(refused + 1, stopped + 2, "at the same moment, in this order");
    }
}

/* How many operations of client 1 of this kind had ended well by a place in the recording. */
static int ended_before(size_t place, enum history_f f)
{
    int count = 0;
    for (size_t i = 0; i < place; i++) {
        const struct history_event *event = &story.events[i];
        count += event->kind == HISTORY_OP && event->f == f && event->type == HISTORY_OK &&
                         event->process == 0
                     ? 1
                     : 0;
    }
    return count;
}

Test(orders, the_nth_passing_begins_and_ends)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        runs_in_order(
            "  - {on: client 1 after_granted, nth: 2, do: latency, delay: 1ms, to: node 5, "
            "until: client 1 after_release}\n"
            "  - {on: client 1 after_granted, do: latency, delay: 1ms, to: node 4, "
            "until: client 1 after_write, until_nth: 2}\n",
            kinds[i], 4);
        cr_assert_eq(ended_before(place_of(0, HISTORY_FAULT_START), HISTORY_ACQUIRE), 2);
        cr_assert_eq(ended_before(place_of(0, HISTORY_FAULT_END), HISTORY_RELEASE), 2);
        cr_assert_eq(ended_before(place_of(1, HISTORY_FAULT_START), HISTORY_ACQUIRE), 1);
        cr_assert_eq(ended_before(place_of(1, HISTORY_FAULT_END), HISTORY_WRITE), 2);
    }
}

/* Commands on the wire begin and end faults, also those that an end lets go. */
Test(orders, what_an_end_lets_go_ends_the_next)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        runs_in_order(
            "  - {at: 0s, do: pause, target: client 2, until: node 1 before set from client 1}\n"
            "  - {on: node 1 before set from client 1, do: partition, from: client 1, "
            "to: nodes 1-5, direction: request, mode: hold, until: client 2 after_write}\n"
            "  - {on: client 2 after_write, do: pause, until: any node set from client 1, "
            "until_nth: 3}\n",
            kinds[i], 4);
    }
}
