/* members.c: who leads an etcd cluster while its members come, go and stand still. */
#include "servers/etcd/cluster.h"

#include "base/duration.h"

/* One that is frozen does not hear of it, and goes on reckoning with the ends that it knows. */
static void leader_steps_down(struct cluster *cluster)
{
    cluster->before = cluster->leader;
    if ((cluster->frozen >> cluster->leader & 1) != 0) {
        cluster->deposed = cluster->leader;
        for (uint32_t i = 0; i < cluster_lease_count(cluster); i++) {
            struct cluster_lease *lease = &cluster->leases[i];
            lease->deposed_ns = lease->open ? lease->end_ns : INT64_MAX;
        }
    }
    cluster->leader = CLUSTER_NOBODY;
}

/* "Promote": every lease gets its whole ttl, and an election timeout. */
static void leader_elected(struct cluster *cluster, uint32_t node, struct server_door *door)
{
    cluster->leader = node;
    cluster->looks_ns = cluster_clock_of(door, node);
    for (uint32_t i = 0; i < cluster_lease_count(cluster); i++) {
        if (cluster->leases[i].open) {
            cluster_lease_extend(cluster, &cluster->leases[i], CLUSTER_ELECTION_NS, door);
        }
    }
    cluster_rearm(cluster, door);
}

void cluster_elect(struct cluster *cluster, struct server_door *door)
{
    if (cluster_leader_serves(cluster)) {
        return;
    }
    if (cluster->leader != CLUSTER_NOBODY) {
        leader_steps_down(cluster);
    }
    for (uint32_t i = 1; i <= cluster->node_count; i++) {
        uint32_t node = (cluster->before + i) % cluster->node_count;
        if (cluster_has_majority(cluster, node)) {
            leader_elected(cluster, node, door);
            return;
        }
    }
}

/* A member went or came: after an election timeout it is seen who can lead. */
static void members_turned(struct cluster *cluster, struct server_door *door)
{
    door->arm(door, cluster_election_wake(cluster),
              cluster_leader_serves(cluster) ? TIME_NEVER : door->true_ns + CLUSTER_ELECTION_NS);
    cluster_rearm(cluster, door);
}

void cluster_reach(void *state, struct server_door *door)
{
    struct cluster *cluster = state;
    for (uint32_t a = 0; a < cluster->node_count; a++) {
        cluster->apart[a] = 0;
        for (uint32_t b = 0; b < cluster->node_count; b++) {
            bool reached = a == b || (door->reaches(door, a, b) && door->reaches(door, b, a));
            cluster->apart[a] |= reached ? 0 : UINT64_C(1) << b;
        }
    }
    members_turned(cluster, door);
}

/* It goes on where it stood. Does it hear of its successor before its order to end leases leaves,
 * and after it was asked whether it still leads? Then the order is handed on. */
static void deposed_resumes(struct cluster *cluster, uint32_t node, struct server_door *door)
{
    int64_t now_ns = cluster_clock_of(door, node);
    cluster->deposed = CLUSTER_NOBODY;
    if (!cluster_leader_serves(cluster) ||
        door->draw(door, node, cluster->races++, CLUSTER_LOSES) != 0) {
        return;
    }
    for (uint32_t i = 0; i < cluster_lease_count(cluster); i++) {
        const struct cluster_lease *lease = &cluster->leases[i];
        if (lease->open && lease->deposed_ns <= now_ns) {
            cluster_lease_end(cluster, i, CAUSE_DEPOSED, HISTORY_NO_FAULT, door);
        }
    }
}

void cluster_froze(void *state, uint32_t node, bool frozen, struct server_door *door)
{
    struct cluster *cluster = state;
    uint64_t bit = UINT64_C(1) << node;
    cluster->frozen = frozen ? cluster->frozen | bit : cluster->frozen & ~bit;
    members_turned(cluster, door);
    if (!frozen && node == cluster->deposed) {
        deposed_resumes(cluster, node, door);
    }
}

uint32_t cluster_stop(void *state, const struct server_turn *turn, enum server_stop how,
                      uint32_t kept, struct server_door *door)
{
    struct cluster *cluster = state;
    (void)how;
    (void)kept;
    cluster->down |= UINT64_C(1) << turn->node;
    if (turn->node == cluster->leader) {
        leader_steps_down(cluster);
    }
    if (turn->node == cluster->deposed) { /* it forgets what it reckoned with */
        cluster->deposed = CLUSTER_NOBODY;
    }
    members_turned(cluster, door);
    return 0;
}

void cluster_start(void *state, const struct server_turn *turn, struct server_door *door)
{
    struct cluster *cluster = state;
    cluster->down &= ~(UINT64_C(1) << turn->node);
    members_turned(cluster, door);
}
