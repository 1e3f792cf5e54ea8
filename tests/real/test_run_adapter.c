/* test_run_adapter.c: a run with somebody else's lock: what it said, and what faults do to its
 * keys.
 */
#include "tests/real/story.h"

#include <sys/resource.h>

static struct story story;

TestSuite(run_adapter, .timeout = 120);

#define HEAD                                                                                       \
    "version: 1\nname: story\nabout: a test\nsource: nowhere\n"                                    \
    "lock: {algorithm: redlock, ttl: 2s, node_timeout: 200ms, drift: 1%}\nnodes: {count: 3}\n"     \
    "clients: {count: 1, hold: 20ms}\nduration: 20s\nexpect: {exclusion: pass}\n"

Test(run_adapter, what_a_library_says_of_itself_stands_in_the_header)
{
    story.adapter = "python3 tests/adapters/bad.py init '{\"features\":[\"validity\",\"renew\","
                    "\"clock\"],\"renew_every_ms\":333,\"owner\":\"thread\","
                    "\"drift_factor\":0.02,\"nodes\":\"N\"}'";
    story_must_run(&story, HEAD, 1);
    cr_assert(story.header.declared);
    cr_assert_eq(story.header.declares, 1 << DECLARES_VALIDITY | 1 << DECLARES_RENEW);
    cr_assert_eq(story.header.ownership, OWNERSHIP_THREAD);
    cr_assert_eq(story.header.renew_every_ns, 333 * NS_PER_MS);
    cr_assert_eq(story.header.drift_ppm, 20000, "its own, not the scenario's");
    cr_assert(story.header.promises_validity && !story.header.fenced);
    cr_assert_str_eq(story.header.library, "bad 1");
}

Test(run_adapter, a_run_goes_before_what_keeps_the_processors_busy)
{
    int before = getpriority(PRIO_PROCESS, 0);
    bool may = setpriority(PRIO_PROCESS, 0, -10) == 0;
    (void)setpriority(PRIO_PROCESS, 0, before);
    story.adapter = "python3 tests/adapters/bad.py";
    story_must_run(&story, HEAD, 1);
    cr_assert_eq(getpriority(PRIO_PROCESS, 0), may && before > -10 ? -10 : before);
}

Test(run_adapter, who_declares_nothing_is_taken_as_seen)
{
    story.adapter = "python3 tests/adapters/bad.py";
    story_must_run(&story, HEAD, 1);
    cr_assert_not(story.header.declared);
    cr_assert_eq(story.header.drift_ppm, 0, "what the scenario asks for is not its word");
}

Test(run_adapter, a_library_for_one_node_is_not_run_on_three)
{
    story.adapter = "python3 tests/adapters/bad.py init '{\"nodes\":1}'";
    story_run(&story, HEAD, 1);
    cr_assert_eq(story.result.code, ERROR_ENVIRONMENT);
    cr_assert_not_null(strstr(story.why, "works with 1 node, but the scenario has 3"), "%s",
                       story.why);
}

Test(run_adapter, an_eviction_goes_by_the_keys_that_were_learned)
{
    story.adapter = "python3 adapters/example/adapter.py prefix";
    story_must_run(&story,
                   HEAD "faults:\n"
                        "  - {on: client 1 after_granted, do: evict, target: node 1}\n",
                   1);
    const struct history_event *evicted = story_find(&story, HISTORY_NODE, HISTORY_KEY_EVICTED, 0);
    cr_assert_not_null(evicted, "the key is called lock:r0");
    cr_assert_eq(evicted->node, 0);
    cr_assert_eq(evicted->fault, 0);
}

Test(run_adapter, a_promise_lies_between_its_call_and_its_answer)
{
    story.adapter = "python3 adapters/example/adapter.py";
    story_must_run(&story, HEAD, 1);
    const struct history_event *granted = NULL;
    for (size_t i = 0; i < story.count && granted == NULL; i++) {
        const struct history_event *event = &story.events[i];
        bool ok = event->f == HISTORY_ACQUIRE && event->type == HISTORY_OK;
        granted = ok ? event : NULL;
    }
    cr_assert_not_null(granted);
    cr_assert((granted->flags & HISTORY_HAS_UNTIL_LEAST) != 0);
    cr_assert_lt(granted->until_least_ns, granted->until_ns);
    cr_assert_leq(granted->until_ns, granted->time_ns + 2 * NS_PER_S);
    cr_assert_gt(granted->until_least_ns, NS_PER_S, "of the run's time, not the machine's");
}
