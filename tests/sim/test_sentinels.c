/* test_sentinels.c: when sentinels promote a replica, which, and what becomes of who was there. */
#include "tests/sim/sim_fixture.h"

static struct fixture fixture;

enum { SEEDS = 20 };

/* Client 1 holds the lock of whoever is the primary; its key tells whose it is then. */
#define WATCHED(quorum) WATCHED_BY("3", quorum)
#define WATCHED_BY(count, quorum)                                                                  \
    "version: 1\nname: test\nabout: a test\nsource: the tests\n"                                   \
    "lock: {algorithm: single, ttl: 60s, node_timeout: 500ms}\n"                                   \
    "nodes: {replicas: 2, sentinels: {count: " count ", quorum: " quorum                           \
    ", down_after: 1s, failover_timeout: 1s}}\n"                                                   \
    "clients: {count: 1, hold: 50s}\nduration: 52s\nfaults:\n"

/* The key as it came to be the store's by a promotion; NULL: nobody was promoted before `by_ns`. */
static const struct history_event *promoted(const char *yaml, uint64_t seed, int64_t by_ns)
{
    fixture_run(&fixture, yaml, seed);
    const struct history_event *back =
        find(&fixture, 0,
             (struct wanted){
                 .kind = IS(HISTORY_NODE), .f = IS(HISTORY_KEY_BACK), .cause = IS(CAUSE_FAILOVER)});
    fixture_close(&fixture);
    return back != NULL && back->time_ns < by_ns ? back : NULL;
}

/* In which seeds, as bits by node, somebody is promoted within 20 s; each by no fault's hand. */
static uint32_t whom(const char *yaml, int64_t not_before_ns)
{
    uint32_t nodes = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct history_event *back = promoted(yaml, seed, 20 * NS_PER_S);
        if (back != NULL) {
            cr_assert_geq(back->time_ns, not_before_ns, "seed %d", (int)seed);
            cr_assert_eq(back->fault, HISTORY_NO_FAULT);
        }
        nodes |= back != NULL ? 1u << back->node : 1u << 31;
    }
    return nodes;
}

#define NOBODY (1u << 31)

Test(sentinels, promote_any_replica_that_has_as_much_once_most_miss_the_primary)
{
    uint32_t nodes =
        whom(WATCHED("2") "  - {at: 3s, do: crash, target: node 1}\n" TAIL, 4 * NS_PER_S);
    cr_assert_eq(nodes, 1u << 1 | 1u << 2);
}

Test(sentinels, promote_in_the_place_of_a_primary_that_is_frozen)
{
    uint32_t nodes =
        whom(WATCHED("2") "  - {at: 3s, do: pause, target: node 1}\n" TAIL, 4 * NS_PER_S);
    cr_assert_eq(nodes, 1u << 1 | 1u << 2);
}

Test(sentinels, leave_a_primary_alone_that_is_back_before_it_is_missed)
{
    cr_assert_eq(whom(WATCHED("2") "  - {at: 3s, do: pause, target: node 1, for: 999ms}\n" TAIL, 0),
                 NOBODY);
}

Test(sentinels, leave_a_primary_alone_that_fewer_than_the_quorum_miss)
{
    static const char cut[] = "  - {at: 3s, do: partition, from: nodes 1, to: nodes 2-3}\n" TAIL;
    char yaml[1024];
    (void)snprintf(yaml, sizeof yaml, "%s%s", WATCHED("3"), cut);
    cr_assert_eq(whom(yaml, 0), NOBODY);
    (void)snprintf(yaml, sizeof yaml, "%s%s", WATCHED("2"), cut);
    cr_assert_eq(whom(yaml, 4 * NS_PER_S), 1u << 1 | 1u << 2);
}

/* One is enough to miss it, and not to be voted for. */
Test(sentinels, promote_nobody_where_most_of_them_cannot_vote)
{
    cr_assert_eq(
        whom(WATCHED("1") "  - {at: 3s, do: partition, from: nodes 3, to: nodes 1-2}\n" TAIL, 0),
        NOBODY);
}

Test(sentinels, promote_the_replica_that_has_more)
{
    uint32_t nodes =
        whom(WATCHED("2") "  - {at: 0s, do: partition, from: nodes 1, to: nodes 3, for: 10s}\n"
                          "  - {at: 3s, do: crash, target: node 1}\n" TAIL,
             4 * NS_PER_S);
    cr_assert_eq(nodes, 1u << 1);
}

#define CUT_OFF(from, length)                                                                      \
    WATCHED_BY("2", "2")                                                                           \
    "  - {at: " from ", do: partition, from: nodes 1, to: nodes 3, mode: refuse, for: " length     \
    "}\n"                                                                                          \
    "  - {at: 14s, do: crash, target: nodes 1-2}\n" TAIL

/* Ten times down_after, and as long as the primary is down to whoever chooses. */
Test(sentinels, promote_no_replica_that_has_been_without_its_primary_for_long)
{
    cr_assert_eq(whom(CUT_OFF("1s", "14s"), 0), NOBODY);
    cr_assert_eq(whom(CUT_OFF("6s", "9s"), 15 * NS_PER_S), 1u << 2);
}

/* In Redis the check of an INFO, each 10 s. */
Test(sentinels, turn_the_old_primary_into_a_replica_ten_seconds_after_it_is_heard_again)
{
    fixture_run(
        &fixture,
        "version: 1\nname: test\nabout: a test\nsource: the tests\n"
        "lock: {algorithm: single, ttl: 2s, node_timeout: 500ms}\n"
        "nodes: {replicas: 2, sentinels: {count: 3, quorum: 2, down_after: 1s, failover_timeout: "
        "1s}}\n"
        "clients: {count: 1, hold: 20ms, sections: 1000, think: 100ms}\nduration: 30s\nfaults:\n"
        "  - {at: 1s, do: partition, from: nodes 1, to: nodes 2-3, for: 9s}\n"
        "  - {at: 1s, do: partition, from: client 1, to: nodes 2-3, mode: refuse, for: 20s}\n" TAIL,
        1);
    int64_t last_ns = 0;
    bool lost = false;
    for (uint64_t i = 0; i < fixture.count; i++) {
        const struct history_event *event = &fixture.events[i];
        bool set = event->kind == HISTORY_NODE && event->f == HISTORY_KEY_SET && event->node == 0;
        last_ns = set ? event->time_ns : last_ns;
        lost = lost || (event->kind == HISTORY_NODE && event->f == HISTORY_KEY_LOST &&
                        event->node == 0 && event->cause == CAUSE_FAILOVER);
    }
    cr_assert(lost, "what it granted alone was lost");
    cr_assert_gt(last_ns, 19 * NS_PER_S);
    cr_assert_leq(last_ns, 20 * NS_PER_S);
    fixture_close(&fixture);
}

Test(sentinels, try_again_where_no_replica_was_to_be_found)
{
    const struct history_event *back =
        promoted(WATCHED("2") "  - {at: 3s, do: crash, target: nodes 1-3}\n"
                              "  - {at: 3s, do: pause, target: client 1, for: 1s}\n" TAIL,
                 1, 50 * NS_PER_S);
    cr_assert_null(back);
    back = promoted(WATCHED("2") "  - {at: 3s, do: crash, target: node 1}\n"
                                 "  - {at: 3s, do: pause, target: nodes 2-3, for: 5s}\n" TAIL,
                    1, 20 * NS_PER_S);
    cr_assert_not_null(back);
    cr_assert_geq(back->time_ns, 8 * NS_PER_S);
}
