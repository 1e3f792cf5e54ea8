/* test_hazelcast_differential.c: the model of a Hazelcast cluster against a real one of three: same
 * invocations of many clients at once, same answers, same locks; clocks that jump, and
 * sessions and waits that end by them included. */
#include "tests/sim/hazelcast_events.h"

#include "base/random.h"

static struct rig rig;

enum {
    BURST_STEPS = 8,
    LOOK_EVERY = 16, /* bursts */
    SHORT_MS = 20,
    INVOCATIONS_MAX = 40, /* of a session */
};

static void gone(void)
{
    rig_close(&rig);
}

/* ---- what is asked --------------------------------------------------------------------------- */

static struct lock_command command_of(uint32_t of, enum hazelcast_command kind, int64_t ttl_ms,
                                      int64_t number)
{
    return (struct lock_command){
        .kind = kind, .value = rig.rows[of].value, .ttl_ms = ttl_ms, .number = number};
}

/* The next one, or one of before once more; not one that waits: of who asks the same again
 * Hazelcast answers both, and the model the last. */
static int64_t invocation_draw(struct random_stream *random, uint32_t of)
{
    const struct grid_session *session = rig_session(&rig, of);
    bool waits = session != NULL && session->waits;
    struct rig_row *row = &rig.rows[of];
    if (waits || row->invocation == 0 || random_below(random, 2) == 0) {
        return ++row->invocation;
    }
    bool newest = random_below(random, 2) == 0;
    return newest ? row->invocation : 1 + (int64_t)random_below(random, (uint64_t)row->invocation);
}

static struct lock_command command_draw(struct random_stream *random, uint32_t of)
{
    struct rig_row *row = &rig.rows[of];
    bool lives = rig_session(&rig, of) != NULL;
    uint64_t die = random_below(random, 20);
    if (!lives && die < 14) {
        row->value = die < 12 || row->invocation == 0 ? rig_value(&rig) : row->value;
        row->invocation = 0;
        return command_of(of, HAZELCAST_CREATE_SESSION, RIG_TTL_NS / NS_PER_MS, 0);
    }
    if (die < 3 || row->invocation >= INVOCATIONS_MAX) {
        return command_of(of, HAZELCAST_UNLOCK, 0, 0);
    }
    if (die < 4) {
        return command_of(of, HAZELCAST_CREATE_SESSION, RIG_TTL_NS / NS_PER_MS, 0);
    }
    if (die < 8) {
        return command_of(of, HAZELCAST_HEARTBEAT, 0, 0);
    }
    int64_t wait_ms = die < 14 ? 0 : random_below(random, 20) == 0 ? SHORT_MS : RIG_LONG_MS;
    return command_of(of, HAZELCAST_TRY_LOCK, wait_ms, invocation_draw(random, of));
}

/* Whoever waits for so short a time does so in vain: nobody else asks for this lock meanwhile. */
static void ask(uint32_t of, uint32_t line, const struct lock_command *command)
{
    rig_ask(&rig, of, line, command);
    if (rig_waits_on(&rig, of, line) && command->ttl_ms == SHORT_MS) {
        rig_model_wake(&rig, rig_session_number(&rig, of));
    }
}

/* Several of one client, until one waits. */
static void burst(struct random_stream *random, uint32_t resource)
{
    uint32_t of = resource * RIG_CLIENTS + (uint32_t)random_below(random, RIG_CLIENTS);
    uint32_t line = rig_waits_on(&rig, of, 0);
    uint64_t steps = 1 + random_below(random, BURST_STEPS);
    for (uint64_t i = 0; i < steps && !rig_waits_on(&rig, of, line); i++) {
        struct lock_command command = command_draw(random, of);
        ask(of, line, &command);
    }
}

/* Whoever comes to wait does so before anybody else asks. */
static void queues_settle(const uint32_t waiting[RIG_RESOURCES])
{
    uint32_t leader = rig_grid(&rig)->leader;
    for (uint32_t resource = 0; resource < RIG_RESOURCES && !rig.failed; resource++) {
        if (rig_waiting(&rig, resource) != waiting[resource]) {
            rig_compare_lock(&rig, leader, resource);
        }
    }
}

/* Of all locks at once; false: they differ, as rig.difference says. */
static bool bursts_agree(struct random_stream *random, uint32_t bursts)
{
    for (uint32_t i = 0; i < bursts && !rig.failed; i++) {
        uint32_t waiting[RIG_RESOURCES];
        for (uint32_t resource = 0; resource < RIG_RESOURCES; resource++) {
            waiting[resource] = rig_waiting(&rig, resource);
            burst(random, resource);
        }
        rig_gather(&rig);
        queues_settle(waiting);
        if (i % LOOK_EVERY == LOOK_EVERY - 1 && !rig.failed) {
            rig_follow_leader(&rig);
            rig_look_around(&rig);
        }
    }
    return !rig.failed;
}

static void ask_alone(uint32_t of, uint32_t line, enum hazelcast_command kind, int64_t ttl_ms,
                      int64_t number)
{
    uint32_t waiting[RIG_RESOURCES];
    for (uint32_t resource = 0; resource < RIG_RESOURCES; resource++) {
        waiting[resource] = rig_waiting(&rig, resource);
    }
    struct lock_command command = command_of(of, kind, ttl_ms, number);
    ask(of, line, &command);
    AGREE(rig_gather(&rig));
    AGREE(queues_settle(waiting));
}

/* Nobody holds and nobody waits. */
static void all_unlock(void)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        ask_alone(of, rig_waits_on(&rig, of, 0), HAZELCAST_UNLOCK, 0, 0);
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* Of each lock the last has it; behind it wait the first, one that will be over too, and another,
 * which waits for long in any case. */
static void queues_begin(int64_t wait_ms)
{
    static const uint32_t order[RIG_CLIENTS] = {3, 0, 2, 1};
    all_unlock();
    for (uint32_t i = 0; i < RIG_CLIENTS; i++) {
        for (uint32_t resource = 0; resource < RIG_RESOURCES; resource++) {
            uint32_t of = resource * RIG_CLIENTS + order[i];
            rig.rows[of].value = rig_value(&rig);
            rig.rows[of].invocation = 1;
            ask_alone(of, 0, HAZELCAST_CREATE_SESSION, RIG_TTL_NS / NS_PER_MS, 0);
            ask_alone(of, 0, HAZELCAST_TRY_LOCK, order[i] == 1 ? RIG_LONG_MS : wait_ms, 1);
        }
    }
}

/* By the leader's clock those are over that were not kept since it jumped the first time, and no
 * others: nobody has to hurry. */
static bool sessions_jump(uint32_t leader)
{
    rig_jump(&rig, leader, RIG_TTL_NS / 5 * 3);
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (of % RIG_CLIENTS < 2) {
            ask_alone(of, 1, HAZELCAST_HEARTBEAT, 0, 0);
        }
    }
    rig_jump(&rig, leader, RIG_TTL_NS / 5 * 3);
    for (uint32_t client = 3; client >= 2; client--) { /* the holder's is the older */
        for (uint32_t resource = 0; resource < RIG_RESOURCES; resource++) {
            if (!rig_expire(&rig, resource * RIG_CLIENTS + client)) {
                return false;
            }
        }
    }
    return true;
}

static bool waits_jump(uint32_t leader)
{
    rig_jump(&rig, leader, RIG_TTL_NS / 2);
    for (uint32_t resource = 0; resource < RIG_RESOURCES; resource++) {
        uint32_t first = resource * RIG_CLIENTS;
        if (!rig_give_up(&rig, first, first + 2)) {
            return false;
        }
    }
    return true;
}

/* A leader whose clock jumps may lose its office by that, and ends nothing: then it is its
 * successor's turn. */
static void leader_jumps(bool (*jump)(uint32_t leader))
{
    do {
        AGREE(rig_follow_leader(&rig));
    } while (!jump(rig_grid(&rig)->leader));
    AGREE(rig_gather(&rig));
    AGREE(rig_look_around(&rig));
}

static void sessions_end(void)
{
    queues_begin(RIG_LONG_MS);
    leader_jumps(sessions_jump);
    for (uint32_t resource = 0; resource < RIG_RESOURCES; resource++) {
        uint32_t holder = grid_lock_at(rig_grid(&rig), 0, resource)->holder;
        cr_assert_eq(holder / GRID_SESSIONS, resource * RIG_CLIENTS);
    }
}

/* ... and waits are, but for those that are longer than it jumped. */
static void waits_end(void)
{
    queues_begin(RIG_TTL_NS / 4 / NS_PER_MS);
    leader_jumps(waits_jump);
}

/* A clock of a member that does not lead ends nothing, and one that goes back nothing either. */
static void clocks_jump(struct random_stream *random)
{
    uint32_t leader = rig_grid(&rig)->leader;
    for (uint32_t i = 1; i < RIG_NODES_MAX; i++) {
        rig_jump(&rig, (leader + i) % RIG_NODES_MAX, 2 * RIG_TTL_NS);
        AGREE(bursts_agree(random, 60));
        rig_jump(&rig, (leader + i) % RIG_NODES_MAX, -2 * RIG_TTL_NS);
    }
    rig_jump(&rig, leader, -2 * RIG_TTL_NS);
    AGREE(bursts_agree(random, 60));
}

static void phase(const char *what)
{
    (void)fprintf(stderr, "%" PRIu64 " commands, then: %s\n", rig.commands, what);
}

Test(hazelcast_differential, agrees, .fini = gone, .timeout = 600)
{
    uint64_t seed = 1;
    struct random_stream random = random_stream("hazelcast differential", seed);
    (void)fprintf(stderr, "seed %" PRIu64 "\n", seed);
    rig_open(&rig, RIG_TTL_NS);
    AGREE(bursts_agree(&random, 300));
    phase("sessions end");
    sessions_end();
    phase("waits end");
    waits_end();
    phase("clocks jump");
    clocks_jump(&random);
    phase("and more");
    while (rig.commands <= 20000) {
        AGREE(bursts_agree(&random, 40));
    }
    cr_assert_gt(rig.waited, 500);
    cr_assert_eq(rig.expired, 2 * RIG_RESOURCES);
    (void)fprintf(stderr,
                  "%" PRIu64 " commands, %" PRIu64 " of them waited, %" PRIu64
                  " looks at a lock, %" PRIu64 " sessions ended\n",
                  rig.commands, rig.waited, rig.looks, rig.expired);
}

Test(hazelcast_differential, notices_a_wrong_rule, .fini = gone, .timeout = 300)
{
    struct random_stream random = random_stream("hazelcast differential", 2);
    rig_open(&rig, RIG_TTL_NS);
    rig.forgets = true;
    cr_assert_not(bursts_agree(&random, 100));
}
