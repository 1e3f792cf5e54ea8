/* sentinel.c: what watches the primary, agrees that it is down, and promotes a replica. */
#include "servers/redis/service.h"

#include "base/assert.h"
#include "base/duration.h"

/*
 * As Redis' documentation has it ("Sentinel as a distributed system"): a sentinel that does not
 * hear the primary for down_after misses it (SDOWN); where a quorum of those that it talks to miss
 * it, it is down (ODOWN); then the one that most of all sentinels vote for promotes, of the
 * replicas that it hears, one that has the most. What they tell each other is not modelled, only
 * how long it takes: until then all must hold still.
 */
enum {
    ELECTION_MS_MIN = 300,  /* from ODOWN to REPLICAOF NO ONE: questions go out each second, and */
    ELECTION_MS_MAX = 1500, /* who wants to be voted for waits up to one (measured: 0.6 to 1.8) */
    CONVERT_MS = 10000,     /* a primary that is none any more says so in two INFOs */
};

enum sentinel_wakes { WAKE_ELECTION, WAKE_SENTINELS };

static uint32_t wake_sentinel(uint32_t sentinel)
{
    return WAKE_SENTINELS + sentinel;
}

static uint32_t wake_astray(const struct redis_service *service, uint32_t node)
{
    return WAKE_SENTINELS + service->watch.count + node;
}

uint32_t redis_sentinels_wakes(const struct server_shape *shape)
{
    uint32_t count = shape->sentinels.count;
    return count > 0 ? WAKE_SENTINELS + count + shape->node_count : 0;
}

void redis_sentinels_init(struct redis_service *service, const struct server_shape *shape)
{
    struct redis_sentinels *all = &service->sentinels;
    service->watch = shape->sentinels;
    service->watch.quorum =
        service->watch.quorum > 0 ? service->watch.quorum : lock_quorum(service->watch.count);
    ASSERT(service->watch.count <= LOCK_NODES_MAX);
    *all = (struct redis_sentinels){.informed = UINT64_MAX, .elects_ns = TIME_NEVER};
    for (uint32_t i = 0; i < LOCK_NODES_MAX; i++) {
        all->silent_ns[i] = -1;
        all->astray_ns[i] = -1;
    }
}

static void arm(const struct redis_service *service, uint32_t wake, int64_t true_ns,
                struct server_door *door)
{
    uint32_t before = service->node_count * (service->resource_count + service->client_count);
    door->arm(door, before + wake, true_ns);
}

/* ---- who hears whom -------------------------------------------------------------------------- */

static bool talk(uint32_t a, uint32_t b, const struct server_door *door)
{
    return a == b || (door->links(door, a, b) && door->links(door, b, a));
}

static bool hears(uint32_t sentinel, uint32_t node, const struct server_door *door)
{
    return talk(sentinel, node, door) && door->runs(door, node);
}

static bool informed(const struct redis_service *service, uint32_t sentinel)
{
    return (service->sentinels.informed >> sentinel & 1) != 0;
}

/* What one of them knows all hear that talk to it, in their hellos. */
static void inform(struct redis_service *service, const struct server_door *door)
{
    for (uint32_t turn = 0; turn < service->watch.count; turn++) {
        for (uint32_t i = 0; i < service->watch.count; i++) {
            for (uint32_t j = 0; j < service->watch.count; j++) {
                if (informed(service, i) && talk(i, j, door)) {
                    service->sentinels.informed |= UINT64_C(1) << j;
                }
            }
        }
    }
}

/* ---- SDOWN, ODOWN ---------------------------------------------------------------------------- */

static bool misses(const struct redis_service *service, uint32_t sentinel, int64_t true_ns)
{
    int64_t since_ns = service->sentinels.silent_ns[sentinel];
    return informed(service, sentinel) && since_ns >= 0 &&
           true_ns - since_ns >= service->watch.down_after_ns;
}

/* Would it be voted for, and is the primary down to it? */
static bool may_promote(const struct redis_service *service, uint32_t sentinel,
                        const struct server_door *door)
{
    uint32_t most = lock_quorum(service->watch.count);
    uint32_t votes = 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < service->watch.count; i++) {
        bool talks = talk(sentinel, i, door);
        votes += talks ? 1 : 0;
        missing += talks && misses(service, i, door->true_ns) ? 1 : 0;
    }
    most = most > service->watch.quorum ? most : service->watch.quorum;
    return misses(service, sentinel, door->true_ns) && missing >= service->watch.quorum &&
           votes >= most;
}

static uint64_t draw(struct redis_service *service, uint64_t bound, struct server_door *door)
{
    return door->draw(door, service->told, service->sentinels.draws++, bound);
}

/* One of those that would be voted for: who asks first is luck. SERVER_NOT_PROMOTED: nobody. */
static uint32_t leader_draw(struct redis_service *service, struct server_door *door)
{
    uint32_t list[LOCK_NODES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < service->watch.count; i++) {
        if (may_promote(service, i, door)) {
            list[count++] = i;
        }
    }
    return count > 0 ? list[draw(service, count, door)] : SERVER_NOT_PROMOTED;
}

/* ---- promotion ------------------------------------------------------------------------------- */

/* A replica that has been without its primary for much longer than that is down is too old. */
static bool replica_is_fit(const struct redis_service *service, uint32_t leader, uint32_t node,
                           const struct server_door *door)
{
    const struct redis_member *member = member_of(service, node);
    int64_t down_ns = door->true_ns - service->sentinels.silent_ns[leader];
    bool fresh = member->linked != 0 || member->unlinked_ns < 0 ||
                 door->true_ns - member->unlinked_ns <= down_ns + 10 * service->watch.down_after_ns;
    return node != service->told && !is_primary(service, node) && fresh &&
           hears(leader, node, door);
}

/* The one with the most data; of equals the one whose run's id, which is drawn, comes first. */
static uint32_t replica_choose(struct redis_service *service, uint32_t leader,
                               struct server_door *door)
{
    uint32_t list[LOCK_NODES_MAX];
    uint32_t count = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < service->node_count; i++) {
        uint64_t offset = member_of(service, i)->offset;
        if (!replica_is_fit(service, leader, i, door) || (count > 0 && offset < most)) {
            continue;
        }
        count = offset > most ? 0 : count;
        most = offset;
        list[count++] = i;
    }
    return count > 0 ? list[draw(service, count, door)] : SERVER_NOT_PROMOTED;
}

static void promote(struct redis_service *service, uint32_t leader, uint32_t node,
                    struct server_door *door)
{
    struct redis_sentinels *all = &service->sentinels;
    struct server_turn turn = {node, HISTORY_NO_FAULT, CAUSE_FAILOVER};
    all->informed = UINT64_C(1) << leader;
    for (uint32_t i = 0; i < service->watch.count; i++) {
        all->silent_ns[i] = -1;
        arm(service, wake_sentinel(i), TIME_NEVER, door);
    }
    for (uint32_t i = 0; i < service->node_count; i++) {
        all->astray_ns[i] = -1;
        arm(service, wake_astray(service, i), TIME_NEVER, door);
    }
    (void)redis_service_promote(service, &turn, door);
    for (uint32_t i = 0; i < service->node_count; i++) {
        bool replica = i != node && !is_primary(service, i);
        if (replica && hears(leader, i, door)) { /* the others when they are heard */
            redis_follow(service, i, door);
        }
    }
    redis_sentinels_look(service, door);
}

static void elect(struct redis_service *service, struct server_door *door)
{
    struct redis_sentinels *all = &service->sentinels;
    all->elects_ns = TIME_NEVER;
    uint32_t leader = leader_draw(service, door);
    uint32_t node =
        leader != SERVER_NOT_PROMOTED ? replica_choose(service, leader, door) : SERVER_NOT_PROMOTED;
    if (node != SERVER_NOT_PROMOTED) {
        promote(service, leader, node, door);
        return;
    }
    all->again_ns = door->true_ns + 2 * service->watch.failover_timeout_ns;
    redis_sentinels_look(service, door);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void look_at_primary(struct redis_service *service, uint32_t sentinel,
                            struct server_door *door)
{
    int64_t *since_ns = &service->sentinels.silent_ns[sentinel];
    if (!informed(service, sentinel) || hears(sentinel, service->told, door)) {
        *since_ns = -1;
        arm(service, wake_sentinel(sentinel), TIME_NEVER, door);
    } else if (*since_ns < 0) {
        *since_ns = door->true_ns;
        arm(service, wake_sentinel(sentinel), door->true_ns + service->watch.down_after_ns, door);
    }
}

/* Nothing is decided before all that must hold has held for so long. */
static void look_for_leader(struct redis_service *service, struct server_door *door)
{
    struct redis_sentinels *all = &service->sentinels;
    bool wanted = false;
    for (uint32_t i = 0; i < service->watch.count; i++) {
        wanted = wanted || may_promote(service, i, door);
    }
    if (wanted && all->elects_ns == TIME_NEVER) {
        int64_t from_ns = all->again_ns > door->true_ns ? all->again_ns : door->true_ns;
        uint64_t late_ms = draw(service, ELECTION_MS_MAX - ELECTION_MS_MIN + 1, door);
        all->elects_ns = from_ns + (ELECTION_MS_MIN + (int64_t)late_ms) * NS_PER_MS;
        arm(service, WAKE_ELECTION, all->elects_ns, door);
    } else if (!wanted && all->elects_ns != TIME_NEVER) {
        all->elects_ns = TIME_NEVER;
        arm(service, WAKE_ELECTION, TIME_NEVER, door);
    }
}

static bool is_heard(const struct redis_service *service, uint32_t node,
                     const struct server_door *door)
{
    bool heard = false;
    for (uint32_t i = 0; i < service->watch.count; i++) {
        heard = heard || (informed(service, i) && hears(i, node, door));
    }
    return heard;
}

/* One that follows another, or nobody, is told after a while: it may be about to hear of it. */
static void look_at_node(struct redis_service *service, uint32_t node, struct server_door *door)
{
    int64_t *since_ns = &service->sentinels.astray_ns[node];
    bool astray = member_of(service, node)->master != service->told;
    if (!astray || !is_heard(service, node, door)) {
        *since_ns = -1;
        arm(service, wake_astray(service, node), TIME_NEVER, door);
    } else if (*since_ns < 0) {
        int64_t wait_ns =
            is_primary(service, node) ? CONVERT_MS * NS_PER_MS : service->watch.failover_timeout_ns;
        *since_ns = door->true_ns;
        arm(service, wake_astray(service, node), door->true_ns + wait_ns, door);
    }
}

void redis_sentinels_look(struct redis_service *service, struct server_door *door)
{
    ASSERT(redis_is_watched(service));
    inform(service, door);
    for (uint32_t i = 0; i < service->watch.count; i++) {
        look_at_primary(service, i, door);
    }
    look_for_leader(service, door);
    for (uint32_t i = 0; i < service->node_count; i++) {
        look_at_node(service, i, door);
    }
}

void redis_sentinels_wake(struct redis_service *service, uint32_t wake, struct server_door *door)
{
    arm(service, wake, TIME_NEVER, door);
    if (wake == WAKE_ELECTION) {
        elect(service, door);
    } else if (wake < wake_astray(service, 0)) {
        look_for_leader(service, door);
    } else {
        redis_follow(service, wake - wake_astray(service, 0), door);
        look_at_node(service, wake - wake_astray(service, 0), door);
    }
}
