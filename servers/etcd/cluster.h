/*
 * cluster.h: an etcd cluster: leases, and keys in the order of their revisions, kept by consensus.
 *
 * Consensus is taken for granted: what was answered is never forgotten while a majority comes back,
 * and any member that is there answers for all. What is not granted is time, which leases need:
 *
 * - The leader alone ends leases, by its own monotonic clock, and looks every half second.
 * - A new leader gives every lease its whole ttl anew, and some.
 * - A leader that reaches no majority steps down, and members that do not reach the leader answer
 *   nothing, as without one.
 * - Without a leader nothing is answered: etcd answers after 5 s and two elections, which is longer
 *   than any client here waits, and such requests were never carried out (1,285 tried).
 * - A leader that was paused, and is none any more when it goes on, still reckons as before. If its
 *   order to end what looks over to it leaves after it heard of its successor, the order is handed
 *   on to that one, which carries it out: leases end although they were kept alive (#15247).
 *
 * Plain memory without pointers. Times and rates: docs/ALGORITHMS.md.
 */
#ifndef SERVERS_ETCD_CLUSTER_H
#define SERVERS_ETCD_CLUSTER_H

#include "lockcore/etcd/etcd.h"
#include "servers/server.h"

enum {
    CLUSTER_STORE = 0,  /* the node that stands for all of them in what is told of the keys */
    CLUSTER_LEASES = 4, /* of one client for one resource at a time */
    CLUSTER_LOSES = 4,  /* one resume in so many hands an order on */
};
#define CLUSTER_NOBODY UINT32_MAX

#define CLUSTER_ELECTION_NS (120 * NS_PER_MS) /* heartbeat 10 ms, election timeout 100 ms */
#define CLUSTER_LOOK_NS     (500 * NS_PER_MS) /* from one look at the leases to the next */

struct cluster_lease {
    bool open;
    bool told; /* its key is known as the lock's: its client heard that it is the oldest */
    struct lock_value value;
    int64_t ttl_ns;
    int64_t end_ns;     /* on the leader's clock */
    int64_t sound_ns;   /* the end in true time, had the clock been sound since: tells the cause */
    int64_t deposed_ns; /* the end as the deposed leader reckons it; INT64_MAX: it knows of none */
    int64_t revision;   /* of its key's creation; 0: there is none */
};

struct cluster {
    const struct lock_dialect *dialect; /* constant data: the same in every copy */
    uint32_t node_count;
    uint32_t client_count;
    uint32_t resource_count;
    uint32_t leader;  /* CLUSTER_NOBODY: none */
    uint32_t before;  /* who was, last */
    uint32_t deposed; /* was leader when it was paused, and is none any more; or CLUSTER_NOBODY */
    uint32_t races;   /* numbers the draws */
    uint64_t down;    /* bit n: stopped */
    uint64_t frozen;  /* bit n: goes on later where it stands now */
    uint64_t apart[LOCK_NODES_MAX]; /* of each: bit n: they do not reach each other */
    int64_t looks_ns; /* when the leader became it, on its clock: looks are counted from here */
    int64_t revision; /* of the newest write */
    struct cluster_lease leases[]; /* CLUSTER_LEASES for each client of each resource */
};

extern const struct server_model etcd_cluster; /* cluster.c */

/* cluster.c: how many places for leases there are; the number of the wake of elections; whether a
 * member runs, whether it and those that it reaches are a majority, and whether one leads that is.
 */
uint32_t cluster_lease_count(const struct cluster *cluster);
uint32_t cluster_election_wake(const struct cluster *cluster);
bool cluster_is_there(const struct cluster *cluster, uint32_t node);
bool cluster_has_majority(const struct cluster *cluster, uint32_t node);
bool cluster_leader_serves(const struct cluster *cluster);
int64_t cluster_clock_of(const struct server_door *door, uint32_t node);
/* Ask to be woken when leases are found over; a whole ttl and more for one; the end of one. */
void cluster_rearm(struct cluster *cluster, struct server_door *door);
void cluster_lease_extend(const struct cluster *cluster, struct cluster_lease *lease,
                          int64_t more_ns, const struct server_door *door);
void cluster_lease_end(struct cluster *cluster, uint32_t number, enum history_cause cause,
                       int32_t fault, struct server_door *door);

/* members.c: see who can lead; the model's functions of these names. */
void cluster_elect(struct cluster *cluster, struct server_door *door);
void cluster_reach(void *state, struct server_door *door);
void cluster_froze(void *state, uint32_t node, bool frozen, struct server_door *door);
uint32_t cluster_stop(void *state, const struct server_turn *turn, enum server_stop how,
                      uint32_t kept, struct server_door *door);
void cluster_start(void *state, const struct server_turn *turn, struct server_door *door);

#endif
