/* test_trap.c: one queue per connection. With one queue per node a simulator certifies locks that
 * lose data: what is late would make everybody else late as well, so that nothing overtakes. */
#include "checker/judge.h"
#include "harness/sim/state.h"
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

/*
 * Client 1 is granted the lock by nodes 1 and 2; its SET to node 3 is late. Node 2 forgets. Over
 * connections of their own client 2's SETs reach nodes 2 and 3 first: a majority.
 */
#define FORGETFUL                                                                                  \
    "version: 1\nname: test\nabout: a test\nsource: the tests\n"                                   \
    "lock: {algorithm: redlock, ttl: 10s, retry: {count: 3, delay: 100ms, jitter: 0s}}\n"          \
    "nodes: {kind: redis, count: 3, fsync: none}\n"                                                \
    "clients: {count: 2, hold: 3s, think: 10ms, think_jitter: 0s}\nfaults:\n"                      \
    "  - {at: 0s, do: pause, target: client 2, until: client 1 after_granted}\n"                   \
    "  - {on: node 3 before set from client 1, do: delay_command, delay: 2s}\n"                    \
    "  - {on: client 1 after_granted, do: crash, target: node 2, for: 10ms}\n" TAIL

enum queues { QUEUE_PER_CONNECTION, QUEUE_PER_NODE };

static enum verdict exclusion(enum queues queues, uint64_t seed)
{
    struct history_header header;
    fixture_open(&fixture, FORGETFUL, seed);
    plan_header(&fixture.plan, "sim", &header);
    fixture.sim->shared_queue = queues == QUEUE_PER_NODE;
    fixture_finish(&fixture);
    uint64_t only = judge_bit("exclusion");
    cr_assert_neq(only, 0);
    void *memory = arena_take(&fixture.arena, judge_bytes(&header, only));
    cr_assert_not_null(memory);
    struct judge *judge = judge_init(memory, &header, only);
    for (uint64_t i = 0; i < fixture.count; i++) {
        judge_event(judge, &fixture.events[i]);
    }
    judge_finish(judge);
    enum verdict verdict = VERDICT_SKIPPED;
    for (size_t i = 0; i < check_count(); i++) {
        if (strcmp(check_at(i)->name, "exclusion") == 0) {
            verdict = (enum verdict)judge_result(judge, i)->verdict;
        }
    }
    fixture_close(&fixture);
    return verdict;
}

Test(trap, a_queue_per_node_hides_that_a_forgetful_node_breaks_the_lock)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        cr_assert_eq(exclusion(QUEUE_PER_NODE, seed), VERDICT_PASS, "seed %lu",
                     (unsigned long)seed);
    }
}

Test(trap, a_queue_per_connection_finds_it_and_is_what_a_world_has)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        cr_assert_eq(exclusion(QUEUE_PER_CONNECTION, seed), VERDICT_FAIL, "seed %lu",
                     (unsigned long)seed);
    }
    fixture_open(&fixture, FORGETFUL, 1);
    cr_assert_not(fixture.sim->shared_queue, "nobody but this test may ask for it");
    fixture_close(&fixture);
}
