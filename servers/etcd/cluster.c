/* cluster.c: what an etcd cluster does with commands, time and the loss of its members. */
#include "servers/etcd/cluster.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static uint32_t leases_of_resource(const struct cluster *cluster)
{
    return cluster->client_count * CLUSTER_LEASES;
}

uint32_t cluster_lease_count(const struct cluster *cluster)
{
    return cluster->resource_count * leases_of_resource(cluster);
}

uint32_t cluster_election_wake(const struct cluster *cluster)
{
    return cluster_lease_count(cluster);
}

static uint32_t cluster_wakes(const struct server_shape *shape)
{
    return shape->resource_count * shape->client_count * CLUSTER_LEASES + 1;
}

static size_t cluster_bytes(const struct server_shape *shape)
{
    return sizeof(struct cluster) + (cluster_wakes(shape) - 1) * sizeof(struct cluster_lease);
}

static void cluster_init(void *state, const struct server_shape *shape)
{
    struct cluster *cluster = state;
    memset(cluster, 0, cluster_bytes(shape));
    cluster->dialect = shape->dialect;
    cluster->node_count = shape->node_count;
    cluster->client_count = shape->client_count;
    cluster->resource_count = shape->resource_count;
    cluster->deposed = CLUSTER_NOBODY;
    cluster->revision = 1; /* as in an empty etcd */
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t cluster_clock_of(const struct server_door *door, uint32_t node)
{
    return clock_local(&door->nodes[node].mono, door->true_ns);
}

bool cluster_is_there(const struct cluster *cluster, uint32_t node)
{
    return ((cluster->down | cluster->frozen) >> node & 1) == 0;
}

bool cluster_has_majority(const struct cluster *cluster, uint32_t node)
{
    uint64_t gone = cluster->down | cluster->frozen | cluster->apart[node];
    uint32_t away = (uint32_t)__builtin_popcountll(gone);
    return cluster_is_there(cluster, node) &&
           cluster->node_count - away >= lock_quorum(cluster->node_count);
}

bool cluster_leader_serves(const struct cluster *cluster)
{
    return cluster->leader != CLUSTER_NOBODY && cluster_has_majority(cluster, cluster->leader);
}

/* The look that finds it over: the first one not before its end. */
static int64_t look_ns(const struct cluster *cluster, const struct cluster_lease *lease)
{
    int64_t length_ns = lease->end_ns - cluster->looks_ns;
    int64_t looks = (length_ns + CLUSTER_LOOK_NS - 1) / CLUSTER_LOOK_NS;
    return cluster->looks_ns + looks * CLUSTER_LOOK_NS;
}

static void lease_arm(struct cluster *cluster, uint32_t number, struct server_door *door)
{
    const struct cluster_lease *lease = &cluster->leases[number];
    int64_t true_ns = TIME_NEVER;
    if (lease->open && cluster_leader_serves(cluster)) {
        true_ns = clock_true(&door->nodes[cluster->leader].mono, look_ns(cluster, lease));
        true_ns = true_ns < door->true_ns ? door->true_ns : true_ns;
    }
    door->arm(door, number, true_ns);
}

void cluster_rearm(struct cluster *cluster, struct server_door *door)
{
    for (uint32_t i = 0; i < cluster_lease_count(cluster); i++) {
        if (cluster->leases[i].open) {
            lease_arm(cluster, i, door);
        }
    }
}

void cluster_lease_extend(const struct cluster *cluster, struct cluster_lease *lease,
                          int64_t more_ns, const struct server_door *door)
{
    lease->end_ns = cluster_clock_of(door, cluster->leader) + lease->ttl_ns + more_ns;
    lease->sound_ns = door->true_ns + lease->ttl_ns + more_ns;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void event_until(struct history_event *event, const struct cluster *cluster,
                        const struct cluster_lease *lease, const struct server_door *door)
{
    event->until_ns = clock_true(&door->nodes[cluster->leader].mono, lease->end_ns);
    event->ttl_ns = lease->ttl_ns;
    event->flags |= HISTORY_HAS_UNTIL | HISTORY_HAS_TTL;
}

static struct history_event command_event(const struct cluster *cluster,
                                          const struct server_ask *ask, enum history_f f,
                                          const struct cluster_lease *owner)
{
    return server_command_event(cluster->dialect, ask, CLUSTER_STORE, f,
                                owner == NULL ? NULL : &owner->value);
}

static void answer(struct server_door *door, const struct server_ask *ask,
                   enum lock_reply_type type, int64_t number, uint64_t event)
{
    struct lock_reply reply = {.type = (uint8_t)type, .number = number};
    door->answer(door, ask, reply, event);
}

/* ---- leases ---------------------------------------------------------------------------------- */

static uint32_t lease_find(const struct cluster *cluster, const struct server_ask *ask)
{
    uint32_t first = (ask->resource * cluster->client_count + ask->client) * CLUSTER_LEASES;
    for (uint32_t i = first; i < first + CLUSTER_LEASES; i++) {
        const struct cluster_lease *lease = &cluster->leases[i];
        if (lease->open && memcmp(&lease->value, &ask->command.value, sizeof lease->value) == 0) {
            return i;
        }
    }
    return CLUSTER_NOBODY;
}

static uint32_t lease_place(const struct cluster *cluster, const struct server_ask *ask)
{
    uint32_t first = (ask->resource * cluster->client_count + ask->client) * CLUSTER_LEASES;
    for (uint32_t i = first; i < first + CLUSTER_LEASES; i++) {
        if (!cluster->leases[i].open) {
            return i;
        }
    }
    return CLUSTER_NOBODY;
}

/* Whose key is the oldest under the name; NULL: there is none. */
static struct cluster_lease *oldest(struct cluster *cluster, uint32_t resource)
{
    struct cluster_lease *found = NULL;
    uint32_t first = resource * leases_of_resource(cluster);
    for (uint32_t i = first; i < first + leases_of_resource(cluster); i++) {
        struct cluster_lease *lease = &cluster->leases[i];
        bool there = lease->open && lease->revision != 0;
        found = there && (found == NULL || lease->revision < found->revision) ? lease : found;
    }
    return found;
}

/* It takes its key with it; where it has none nothing is written. */
static void lease_remove(struct cluster *cluster, uint32_t number, struct server_door *door)
{
    cluster->revision += cluster->leases[number].revision != 0 ? 1 : 0;
    memset(&cluster->leases[number], 0, sizeof cluster->leases[number]);
    door->arm(door, number, TIME_NEVER);
}

void cluster_lease_end(struct cluster *cluster, uint32_t number, enum history_cause cause,
                       int32_t fault, struct server_door *door)
{
    const struct cluster_lease *lease = &cluster->leases[number];
    ASSERT(lease->open);
    if (lease->told) {
        struct history_event event = server_key_event(HISTORY_KEY_EXPIRED, CLUSTER_STORE,
                                                      number / leases_of_resource(cluster));
        memcpy(event.owner.bytes, lease->value.bytes, sizeof event.owner.bytes);
        event.flags |= HISTORY_HAS_OWNER;
        event.cause = (uint8_t)cause;
        event.fault = fault;
        (void)door->record(door, &event);
    }
    lease_remove(cluster, number, door);
}

static void lease_wake(struct cluster *cluster, uint32_t number, struct server_door *door)
{
    const struct cluster_lease *lease = &cluster->leases[number];
    ASSERT(lease->open);
    if (!cluster_leader_serves(cluster)) {
        return;
    }
    if (cluster_clock_of(door, cluster->leader) < lease->end_ns) {
        lease_arm(cluster, number, door);
        return;
    }
    int64_t early_ns = lease->sound_ns - door->true_ns;
    bool sound = early_ns <= 2 * NS_PER_MS && -early_ns <= CLUSTER_LOOK_NS + 2 * NS_PER_MS;
    cluster_lease_end(cluster, number, sound ? CAUSE_TTL : CAUSE_CLOCK_RATE,
                      sound ? HISTORY_NO_FAULT : door->nodes[cluster->leader].rate_fault, door);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* etcd counts in whole seconds. */
static int64_t ttl_of(const struct server_ask *ask)
{
    return (ask->command.ttl_ms + 999) / 1000 * NS_PER_S;
}

/* Its end is moved; what its key promises with it. */
static uint64_t lease_keep(struct cluster *cluster, uint32_t number, const struct server_ask *ask,
                           struct server_door *door)
{
    struct cluster_lease *lease = &cluster->leases[number];
    cluster_lease_extend(cluster, lease, 0, door);
    lease_arm(cluster, number, door);
    if (!lease->told) {
        return SERVER_NO_EVENT;
    }
    struct history_event event = command_event(cluster, ask, HISTORY_KEY_EXTENDED, lease);
    event_until(&event, cluster, lease, door);
    return door->record(door, &event);
}

static void cluster_grant(struct cluster *cluster, const struct server_ask *ask,
                          struct server_door *door)
{
    uint32_t number = lease_place(cluster, ask);
    if (lease_find(cluster, ask) != CLUSTER_NOBODY) {
        answer(door, ask, LOCK_REPLY_NO, 0, SERVER_NO_EVENT); /* "lease already exists" */
        return;
    }
    if (number == CLUSTER_NOBODY) {
        answer(door, ask, LOCK_REPLY_ERROR, 0, SERVER_NO_EVENT); /* more than we follow */
        return;
    }
    cluster->leases[number] = (struct cluster_lease){
        .open = true,
        .value = ask->command.value,
        .ttl_ns = ttl_of(ask),
        .deposed_ns = INT64_MAX,
    };
    answer(door, ask, LOCK_REPLY_YES, 0, lease_keep(cluster, number, ask, door));
}

/* Ours is the oldest key: the lock's from now on. */
static void grant_told(struct cluster *cluster, struct cluster_lease *lease,
                       const struct server_ask *ask, struct server_door *door)
{
    uint64_t told = SERVER_NO_EVENT;
    if (!lease->told) {
        lease->told = true;
        struct history_event event = command_event(cluster, ask, HISTORY_KEY_SET, NULL);
        event_until(&event, cluster, lease, door);
        event.fence = lease->revision;
        event.flags |= HISTORY_HAS_FENCE;
        told = door->record(door, &event);
    }
    answer(door, ask, LOCK_REPLY_NUMBER, lease->revision, told);
}

static void refuse(struct cluster *cluster, const struct server_ask *ask, struct server_door *door)
{
    struct history_event event =
        command_event(cluster, ask, HISTORY_KEY_REFUSED, oldest(cluster, ask->resource));
    answer(door, ask, LOCK_REPLY_NO, 0, door->record(door, &event));
}

static void cluster_put(struct cluster *cluster, const struct server_ask *ask, bool asks,
                        struct server_door *door)
{
    uint32_t number = lease_find(cluster, ask);
    if (number == CLUSTER_NOBODY) {
        refuse(cluster, ask, door); /* "requested lease not found" */
        return;
    }
    struct cluster_lease *lease = &cluster->leases[number];
    if (lease->revision == 0) {
        lease->revision = ++cluster->revision;
    }
    if (!asks) {
        answer(door, ask, LOCK_REPLY_NUMBER, lease->revision, SERVER_NO_EVENT);
    } else if (oldest(cluster, ask->resource) == lease) {
        grant_told(cluster, lease, ask, door);
    } else {
        refuse(cluster, ask, door);
    }
}

static void cluster_older(struct cluster *cluster, const struct server_ask *ask,
                          struct server_door *door)
{
    struct cluster_lease *first = oldest(cluster, ask->resource);
    uint32_t number = lease_find(cluster, ask);
    if (first != NULL && first->revision < ask->command.number) {
        refuse(cluster, ask, door);
    } else if (number != CLUSTER_NOBODY && &cluster->leases[number] == first) {
        grant_told(cluster, first, ask, door);
    } else {
        answer(door, ask, LOCK_REPLY_NUMBER, cluster->revision, SERVER_NO_EVENT);
    }
}

static void cluster_keep_alive(struct cluster *cluster, const struct server_ask *ask,
                               struct server_door *door)
{
    uint32_t number = lease_find(cluster, ask);
    if (number == CLUSTER_NOBODY) {
        answer(door, ask, LOCK_REPLY_NO, 0, SERVER_NO_EVENT);
        return;
    }
    int64_t ttl_ms = cluster->leases[number].ttl_ns / NS_PER_MS;
    answer(door, ask, LOCK_REPLY_NUMBER, ttl_ms, lease_keep(cluster, number, ask, door));
}

static void cluster_revoke(struct cluster *cluster, const struct server_ask *ask,
                           struct server_door *door)
{
    uint32_t number = lease_find(cluster, ask);
    bool there = number != CLUSTER_NOBODY;
    bool ours = there && cluster->leases[number].told;
    const struct cluster_lease *first = oldest(cluster, ask->resource);
    struct history_event event =
        command_event(cluster, ask, ours ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT, first);
    event.cause = ours ? CAUSE_RELEASED : CAUSE_NONE;
    uint64_t told = door->record(door, &event);
    if (there) {
        lease_remove(cluster, number, door);
    }
    answer(door, ask, there ? LOCK_REPLY_YES : LOCK_REPLY_NO, 0, told);
}

static void cluster_ask(void *state, const struct server_ask *ask, struct server_door *door)
{
    struct cluster *cluster = state;
    if (!cluster_leader_serves(cluster) ||
        (cluster->apart[ask->node] >> cluster->leader & 1) != 0) {
        return;
    }
    switch ((enum etcd_command)ask->command.kind) {
    case ETCD_GRANT:
        cluster_grant(cluster, ask, door);
        return;
    case ETCD_ENQUEUE:
        cluster_put(cluster, ask, true, door);
        return;
    case ETCD_PUT:
        cluster_put(cluster, ask, false, door);
        return;
    case ETCD_OLDER:
        cluster_older(cluster, ask, door);
        return;
    case ETCD_KEEP_ALIVE:
        cluster_keep_alive(cluster, ask, door);
        return;
    case ETCD_REVOKE:
        cluster_revoke(cluster, ask, door);
        return;
    case ETCD_NONE:
    case ETCD_COMMANDS:
        break;
    }
    UNREACHABLE();
}

static void cluster_wake(void *state, uint32_t wake, struct server_door *door)
{
    struct cluster *cluster = state;
    if (wake == cluster_election_wake(cluster)) {
        cluster_elect(cluster, door);
    } else {
        lease_wake(cluster, wake, door);
    }
}

static void cluster_bent(void *state, uint32_t node, struct server_door *door)
{
    struct cluster *cluster = state;
    if (node == cluster->leader) {
        cluster_rearm(cluster, door);
    }
}

/* What was answered stands in the logs of a majority. */
static uint32_t cluster_unsynced(void *state, uint32_t node, struct server_door *door)
{
    (void)state;
    (void)node;
    (void)door;
    return 0;
}

const struct server_model etcd_cluster = {
    .bytes = cluster_bytes,
    .wakes = cluster_wakes,
    .init = cluster_init,
    .ask = cluster_ask,
    .wake = cluster_wake,
    .bent = cluster_bent,
    .froze = cluster_froze,
    .reach = cluster_reach,
    .unsynced = cluster_unsynced,
    .stop = cluster_stop,
    .start = cluster_start,
};
