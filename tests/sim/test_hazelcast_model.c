/* test_hazelcast_model.c: the model of a Hazelcast cluster by itself, command by command. */
#include "servers/hazelcast/grid.h"

#include "base/duration.h"
#include "tests/sim/rig_door.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    NODES = 3,
    CLIENTS = 3,
    WAKES = 3 * CLIENTS * GRID_SESSIONS + 1,
    MODEL_BYTES = 1 << 16,
    ANSWERS = 64,
};

struct told {
    uint32_t client;
    struct lock_reply reply;
};

static struct rig {
    struct server_door door;
    struct server_node nodes[NODES];
    int64_t due_ns[WAKES];
    struct told answers[ANSWERS];
    uint32_t answered;
    struct history_event last; /* of a key */
    uint64_t cut;              /* bit n: the others do not reach it */
    int64_t wait_ms;           /* of an invocation */
    _Alignas(16) char model[MODEL_BYTES];
} rig;

static uint64_t record(struct server_door *door, struct history_event *event)
{
    (void)door;
    rig.last = *event;
    return 0;
}

static void arm(struct server_door *door, uint32_t wake, int64_t true_ns)
{
    (void)door;
    cr_assert_lt(wake, (uint32_t)WAKES);
    rig.due_ns[wake] = true_ns;
}

static void answer(struct server_door *door, const struct server_ask *ask, struct lock_reply reply,
                   uint64_t event)
{
    (void)door;
    (void)event;
    cr_assert_lt(rig.answered, (uint32_t)ANSWERS);
    rig.answers[rig.answered++] = (struct told){ask->client, reply};
}

static bool reaches(const struct server_door *door, uint32_t from, uint32_t to)
{
    (void)door;
    return (rig.cut >> from & 1) == (rig.cut >> to & 1);
}

static void rig_open(enum consensus_setting consensus)
{
    struct server_shape shape = {.dialect = &hazelcast_dialect,
                                 .node_count = NODES,
                                 .client_count = CLIENTS,
                                 .resource_count = 1,
                                 .consensus = (uint8_t)consensus};
    memset(&rig, 0, sizeof rig);
    rig.wait_ms = 1000;
    cr_assert_leq(hazelcast_grid.bytes(&shape), (size_t)MODEL_BYTES);
    hazelcast_grid.init(rig.model, &shape);
    rig_wakes_init(rig.due_ns, WAKES);
    rig_clocks_init(rig.nodes, NODES);
    rig.door = (struct server_door){
        .nodes = rig.nodes, .record = record, .arm = arm, .answer = answer, .reaches = reaches};
}

/* All that is due by then, in its order. */
static void rig_until(int64_t true_ns)
{
    for (;;) {
        uint32_t first = rig_wake_first(rig.due_ns, WAKES);
        if (rig.due_ns[first] > true_ns) {
            rig.door.true_ns = true_ns;
            return;
        }
        rig.door.true_ns = rig.due_ns[first];
        rig.due_ns[first] = TIME_NEVER;
        hazelcast_grid.wake(rig.model, first, &rig.door);
    }
}

static void ask_at(uint32_t node, uint32_t client, enum hazelcast_command kind, int64_t number)
{
    struct server_ask ask = {.node = node, .client = client, .command = {.kind = kind}};
    ask.command.value.bytes[0] = (uint8_t)(client + 1);
    ask.command.ttl_ms = kind == HAZELCAST_CREATE_SESSION ? 2500
                         : kind == HAZELCAST_TRY_LOCK     ? rig.wait_ms
                                                          : 0;
    ask.command.number = number;
    hazelcast_grid.ask(rig.model, &ask, &rig.door);
}

static void ask(uint32_t client, enum hazelcast_command kind, int64_t number)
{
    ask_at(0, client, kind, number);
}

/* The newest answer; how many there are. */
static void assert_told(uint32_t count, uint32_t client, enum lock_reply_type type, int64_t number)
{
    cr_assert_eq(rig.answered, count);
    const struct told *told = &rig.answers[count - 1];
    cr_assert_eq(told->client, client);
    cr_assert_eq(told->reply.type, type);
    cr_assert_eq(told->reply.number, number);
}

/* Its session is the first entry of the log, its grant the second. */
static void one_holds(enum consensus_setting consensus)
{
    rig_open(consensus);
    ask(0, HAZELCAST_CREATE_SESSION, 0);
    ask(0, HAZELCAST_TRY_LOCK, 1);
    assert_told(2, 0, LOCK_REPLY_NUMBER, 2);
}

static void second_waits(void)
{
    ask(1, HAZELCAST_CREATE_SESSION, 0);
    ask(1, HAZELCAST_TRY_LOCK, 1);
}

Test(hazelcast_model, who_enters_again_keeps_its_fence)
{
    one_holds(CONSENSUS_MAJORITY);
    ask(0, HAZELCAST_TRY_LOCK, 1);
    assert_told(3, 0, LOCK_REPLY_NUMBER, 2);
    cr_assert_eq(grid_lock_at((void *)rig.model, 0, 0)->count, 1);
    ask(0, HAZELCAST_TRY_LOCK, 2);
    assert_told(4, 0, LOCK_REPLY_NUMBER, 2);
    cr_assert_eq(grid_lock_at((void *)rig.model, 0, 0)->count, 2);
}

Test(hazelcast_model, who_waits_is_granted_in_its_turn_with_the_fence_of_its_place)
{
    one_holds(CONSENSUS_MAJORITY);
    second_waits();
    assert_told(3, 1, LOCK_REPLY_YES, 0);
    ask(2, HAZELCAST_CREATE_SESSION, 0);
    ask(2, HAZELCAST_TRY_LOCK, 1);
    cr_assert_eq(rig.answered, 4u);
    ask(0, HAZELCAST_UNLOCK, 0);
    assert_told(6, 0, LOCK_REPLY_YES, 0);
    cr_assert_eq(rig.answers[4].client, 1u);
    cr_assert_eq(rig.answers[4].reply.number, 4);
    ask(1, HAZELCAST_UNLOCK, 0);
    cr_assert_eq(rig.answers[6].client, 2u);
    cr_assert_eq(rig.answers[6].reply.number, 6);
}

Test(hazelcast_model, who_has_waited_long_enough_is_refused_for_good)
{
    one_holds(CONSENSUS_MAJORITY);
    second_waits();
    rig_until(999 * NS_PER_MS);
    cr_assert_eq(rig.answered, 3u);
    rig_until(1000 * NS_PER_MS);
    assert_told(4, 1, LOCK_REPLY_NO, 0);
    ask(0, HAZELCAST_UNLOCK, 0);
    ask(1, HAZELCAST_TRY_LOCK, 1);
    assert_told(6, 1, LOCK_REPLY_NO, 0);
    ask(1, HAZELCAST_TRY_LOCK, 2);
    cr_assert_eq(rig.answers[6].reply.type, LOCK_REPLY_NUMBER);
    ask(1, HAZELCAST_TRY_LOCK, 1); /* also now that it has the lock */
    assert_told(8, 1, LOCK_REPLY_NO, 0);
}

Test(hazelcast_model, who_asks_anew_without_waiting_waits_no_more)
{
    one_holds(CONSENSUS_MAJORITY);
    second_waits();
    rig.wait_ms = 0;
    ask(1, HAZELCAST_TRY_LOCK, 2);
    cr_assert_eq(rig.answers[3].reply.type, LOCK_REPLY_NO);
    assert_told(5, 1, LOCK_REPLY_NO, 0);
    ask(0, HAZELCAST_UNLOCK, 0);
    assert_told(6, 0, LOCK_REPLY_YES, 0);
}

/* It was given up, and not refused: nothing is remembered of it. */
Test(hazelcast_model, what_was_given_up_for_another_is_new_when_it_is_asked_again)
{
    one_holds(CONSENSUS_MAJORITY);
    second_waits();
    ask(1, HAZELCAST_TRY_LOCK, 2);
    assert_told(4, 1, LOCK_REPLY_NO, 0);
    ask(0, HAZELCAST_UNLOCK, 0);
    assert_told(6, 0, LOCK_REPLY_YES, 0);
    cr_assert_eq(rig.answers[4].reply.number, 5);
    ask(1, HAZELCAST_TRY_LOCK, 1);
    assert_told(7, 1, LOCK_REPLY_NUMBER, 5);
    cr_assert_eq(grid_lock_at((void *)rig.model, 0, 0)->count, 2);
}

static void leader_jumps(int64_t jump_ns)
{
    clock_jump(&rig.nodes[0].wall, rig.door.true_ns, jump_ns);
    hazelcast_grid.bent(rig.model, 0, &rig.door);
}

/* A short one has a timer beside it: "WAIT_TIMEOUT_TASK_UPPER_BOUND_MILLIS = 1500". */
Test(hazelcast_model, a_wait_ends_by_the_wall_clock_of_the_leader)
{
    one_holds(CONSENSUS_MAJORITY);
    rig.wait_ms = 20000;
    second_waits();
    leader_jumps(-3600 * NS_PER_S);
    rig.wait_ms = 1000;
    ask(2, HAZELCAST_CREATE_SESSION, 0);
    leader_jumps(-3600 * NS_PER_S);
    ask(2, HAZELCAST_TRY_LOCK, 1);
    rig_until(999 * NS_PER_MS);
    cr_assert_eq(rig.answered, 4u);
    rig_until(1100 * NS_PER_MS);
    assert_told(5, 2, LOCK_REPLY_NO, 0);
    leader_jumps(2 * 3600 * NS_PER_S);
    leader_jumps(19 * NS_PER_S); /* it looks every half second, and sessions are over as well */
    rig_until(1499 * NS_PER_MS);
    cr_assert_eq(rig.answered, 5u);
    rig_until(1500 * NS_PER_MS);
    assert_told(6, 1, LOCK_REPLY_NO, 0);
}

/* 2.5 s are 3 whole ones; a heartbeat at 1.5 s makes that 4.5, and a look is every second. */
Test(hazelcast_model, a_session_without_heartbeats_ends_at_the_next_look)
{
    one_holds(CONSENSUS_MAJORITY);
    rig_until(1500 * NS_PER_MS);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    assert_told(3, 0, LOCK_REPLY_NUMBER, 3000);
    rig_until(4999 * NS_PER_MS);
    cr_assert_eq(rig.last.f, HISTORY_KEY_EXTENDED);
    rig_until(5000 * NS_PER_MS);
    cr_assert_eq(rig.last.f, HISTORY_KEY_EXPIRED);
    cr_assert_eq(rig.last.cause, CAUSE_TTL);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    assert_told(4, 0, LOCK_REPLY_NO, 0);
}

Test(hazelcast_model, a_leader_whose_clock_jumps_ends_sessions_and_no_other_member_does)
{
    one_holds(CONSENSUS_MAJORITY);
    rig_until(100 * NS_PER_MS);
    clock_jump(&rig.nodes[1].wall, rig.door.true_ns, 3600 * NS_PER_S);
    hazelcast_grid.bent(rig.model, 1, &rig.door);
    rig_until(2900 * NS_PER_MS);
    cr_assert_eq(rig.last.f, HISTORY_KEY_SET);
    clock_jump(&rig.nodes[0].wall, rig.door.true_ns, 3600 * NS_PER_S);
    rig.nodes[0].jumped_ns = rig.door.true_ns;
    ask(0, HAZELCAST_HEARTBEAT, 0); /* by the new clock: its end has moved by an hour */
    hazelcast_grid.bent(rig.model, 0, &rig.door);
    rig_until(5900 * NS_PER_MS);
    cr_assert_eq(rig.last.f, HISTORY_KEY_EXTENDED);
    clock_jump(&rig.nodes[0].wall, rig.door.true_ns, 3600 * NS_PER_S);
    rig.nodes[0].jumped_ns = rig.door.true_ns;
    hazelcast_grid.bent(rig.model, 0, &rig.door);
    rig_until(6000 * NS_PER_MS);
    cr_assert_eq(rig.last.f, HISTORY_KEY_EXPIRED);
}

static void stop(uint32_t node, enum server_stop how)
{
    struct server_turn turn = {.node = node, .cause = CAUSE_RESTART};
    (void)hazelcast_grid.stop(rig.model, &turn, how, 0, &rig.door);
}

static void start(uint32_t node)
{
    struct server_turn turn = {.node = node, .cause = CAUSE_RESTART};
    hazelcast_grid.start(rig.model, &turn, &rig.door);
}

Test(hazelcast_model, a_successor_gives_one_interval_more)
{
    one_holds(CONSENSUS_MAJORITY);
    stop(0, SERVER_STOP_KILLED);
    ask_at(1, 0, HAZELCAST_HEARTBEAT, 0);
    cr_assert_eq(rig.answered, 2u, "nobody leads");
    rig_until(3900 * NS_PER_MS);
    cr_assert_eq(rig.last.f, HISTORY_KEY_SET);
    rig_until(5 * NS_PER_S);
    cr_assert_eq(rig.last.f, HISTORY_KEY_EXPIRED);
}

Test(hazelcast_model, a_majority_that_was_killed_has_forgotten_all)
{
    one_holds(CONSENSUS_MAJORITY);
    stop(1, SERVER_STOP_KILLED);
    stop(2, SERVER_STOP_KILLED);
    rig_until(2 * NS_PER_S);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    cr_assert_eq(rig.answered, 2u, "no majority is there");
    start(1);
    rig_until(4 * NS_PER_S);
    cr_assert_eq(rig.last.f, HISTORY_KEY_SET);
    start(2);
    rig_until(6 * NS_PER_S);
    cr_assert_eq(rig.last.f, HISTORY_KEY_LOST);
    ask(1, HAZELCAST_CREATE_SESSION, 0);
    ask(1, HAZELCAST_TRY_LOCK, 1);
    cr_assert_eq(rig.answers[rig.answered - 1].reply.number, 2, "its log begins anew");
}

Test(hazelcast_model, who_leaves_in_the_clean_way_takes_leave_of_the_group)
{
    one_holds(CONSENSUS_MAJORITY);
    stop(2, SERVER_STOP_CLEAN);
    stop(1, SERVER_STOP_CLEAN);
    rig_until(2 * NS_PER_S);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    assert_told(3, 0, LOCK_REPLY_NUMBER, 3000);
}

static void cut(uint64_t nodes)
{
    rig.cut = nodes;
    hazelcast_grid.reach(rig.model, &rig.door);
}

Test(hazelcast_model, a_part_without_a_majority_answers_nothing)
{
    one_holds(CONSENSUS_MAJORITY);
    cut(1);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    rig_until(GRID_ELECTION_NS);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    cr_assert_eq(rig.answered, 2u);
    ask_at(1, 0, HAZELCAST_HEARTBEAT, 0);
    assert_told(3, 0, LOCK_REPLY_NUMBER, 3000);
}

Test(hazelcast_model, in_unsafe_mode_each_part_grants_by_itself)
{
    one_holds(CONSENSUS_NONE);
    cut(1);
    for (int64_t at_ns = NS_PER_S; at_ns <= 6 * NS_PER_S; at_ns += NS_PER_S) {
        rig_until(at_ns);
        ask(0, HAZELCAST_HEARTBEAT, 0);
    }
    assert_told(8, 0, LOCK_REPLY_NUMBER, 3000);
    ask_at(2, 1, HAZELCAST_CREATE_SESSION, 0);
    ask_at(2, 1, HAZELCAST_TRY_LOCK, 1);
    assert_told(10, 1, LOCK_REPLY_NUMBER, 5);
    cr_assert_eq(rig.last.f, HISTORY_KEY_SET);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    assert_told(11, 0, LOCK_REPLY_NUMBER, 3000);
    cut(0); /* the larger part had two members: the first one's holder is forgotten */
    rig_until(6 * NS_PER_S + GRID_ELECTION_NS);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    assert_told(12, 0, LOCK_REPLY_NO, 0);
    ask(1, HAZELCAST_HEARTBEAT, 0);
    assert_told(13, 1, LOCK_REPLY_NUMBER, 3000);
}

Test(hazelcast_model, in_unsafe_mode_the_others_have_what_a_killed_member_answered)
{
    one_holds(CONSENSUS_NONE);
    stop(0, SERVER_STOP_KILLED);
    start(0);
    rig_until(GRID_ELECTION_NS);
    ask(0, HAZELCAST_HEARTBEAT, 0);
    assert_told(3, 0, LOCK_REPLY_NUMBER, 3000);
}
