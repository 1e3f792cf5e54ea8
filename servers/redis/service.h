/*
 * service.h: all redis-servers of a run together, for the three files that are its service.
 *
 *     service.c    each node a store of its own: what happens to each key is told
 *     replicas.c   nodes that follow one of them (nodes.replicas), and WAIT
 *     sentinel.c   what watches that one, and promotes another (nodes.sentinels)
 *
 * With replicas the nodes are one store: its keys are those of the node that was promoted last,
 * `told`, and are told as that node's. Others that still take themselves for a primary carry out
 * what they are asked; a key that is set there is lost as it is set: nobody will ever follow them.
 */
#ifndef SERVERS_REDIS_SERVICE_H
#define SERVERS_REDIS_SERVICE_H

#include "base/assert.h"
#include "servers/redis/model.h"

enum { REDIS_WAITING_MAX = 16 }; /* commands behind a WAIT on its connection; more are not read */

/* A node that may follow another. */
struct redis_member {
    uint32_t master;                /* whom it follows; itself: it is a primary */
    uint32_t online;                /* bit i: node i receives its writes */
    uint32_t linked;                /* 1: it has all that whom it follows had, and hears the rest */
    int64_t unlinked_ns;            /* since when it does not any more; -1: it never did */
    uint64_t offset;                /* writes in its stream */
    uint64_t acked[LOCK_NODES_MAX]; /* ... that node i has said to have */
};

/* A node's offset behind the last command of a client; on a new connection WAIT knows of none. */
struct redis_written {
    uint64_t offset;
    uint64_t connection;
};

/* A connection on which a WAIT is not answered yet: what comes behind it waits. */
struct redis_waiting {
    uint32_t count; /* of asks: 0: nothing waits; the first is the WAIT */
    uint64_t offset;
    int64_t until_ns; /* by its node's wall clock */
    struct server_ask asks[REDIS_WAITING_MAX];
};

/* All sentinels: sentinel i is on node i's machine, and lives on without its process. */
struct redis_sentinels {
    uint64_t informed;                 /* bit i: sentinel i knows who the primary is now, `told` */
    int64_t silent_ns[LOCK_NODES_MAX]; /* since when sentinel i does not hear it; -1: it does */
    int64_t astray_ns[LOCK_NODES_MAX]; /* since when they see node j follow another; -1: not so */
    int64_t elects_ns;                 /* when the one that wants to promote will do it; or never */
    int64_t again_ns;                  /* not before this, because the last one found no replica */
    uint32_t draws;
};

struct redis_service {
    struct server_sentinels watch;
    const struct lock_dialect *dialect; /* constant data: the same in every copy */
    int64_t ttl_ns;
    uint32_t node_count;
    uint32_t client_count;
    uint32_t resource_count;
    uint32_t replica_count; /* 0: nobody follows anybody, and what stands below is not there */
    uint32_t told;
    int32_t fault; /* that promoted it */
    uint64_t down; /* bit i: node i's process is gone */
    size_t stride;
    size_t members_at; /* offsets into `models` */
    size_t written_at; /* struct redis_written: node * client_count + client */
    size_t waiting_at; /* struct redis_waiting: node * client_count + client */
    size_t kept_at;    /* struct redis_cell: what `told` held when it went down */
    struct redis_sentinels sentinels;
    _Alignas(16) char models[];
};

static inline struct redis_model *redis_of(const struct redis_service *service, uint32_t node)
{
    return (struct redis_model *)(void *)(uintptr_t)(service->models + node * service->stride);
}

static inline struct redis_member *member_of(const struct redis_service *service, uint32_t node)
{
    ASSERT(node < service->node_count);
    void *members = (char *)(uintptr_t)service->models + service->members_at;
    return (struct redis_member *)members + node;
}

static inline bool is_primary(const struct redis_service *service, uint32_t node)
{
    return member_of(service, node)->master == node;
}

static inline void member_unlink(struct redis_member *member, int64_t true_ns)
{
    member->unlinked_ns = member->linked != 0 ? true_ns : member->unlinked_ns;
    member->linked = 0;
}

/* service.c */
void redis_service_carry_out(struct redis_service *service, const struct server_ask *ask,
                             struct server_door *door);
int64_t redis_wall_of(const struct server_door *door, uint32_t node);

/* A replica takes over; gives how many keys are lost. */
uint32_t redis_service_promote(struct redis_service *service, const struct server_turn *turn,
                               struct server_door *door);

/* ---- replicas.c: called only where there are any, but for the first two ---------------------- */

size_t redis_replicas_bytes(const struct server_shape *shape);
uint32_t redis_replicas_wakes(const struct server_shape *shape);
void redis_replicas_init(struct redis_service *service, const struct server_shape *shape);

/* A write of a node goes to whoever follows it. */
void redis_replicate(struct redis_service *service, uint32_t node, uint32_t resource,
                     struct server_door *door);

/* A command was carried out; `wrote`: and changed its key. */
void redis_replicas_asked(struct redis_service *service, const struct server_ask *ask, bool wrote,
                          struct server_door *door);

/* A command arrives: true: it waits, or was answered here. */
bool redis_replicas_ask(struct redis_service *service, const struct server_ask *ask,
                        struct server_door *door);
void redis_replicas_wake(struct redis_service *service, uint32_t wake, struct server_door *door);
void redis_replicas_bent(struct redis_service *service, uint32_t node, struct server_door *door);
void redis_replicas_stop(struct redis_service *service, uint32_t node, struct server_door *door);
void redis_replicas_start(struct redis_service *service, uint32_t node);

/* It is told to be a primary; the others are told to follow it as soon as it can be reached. */
void redis_replicas_promote(struct redis_service *service, const struct server_turn *turn,
                            struct server_door *door);

/* A node follows `told` from now on, and starts anew. */
void redis_follow(struct redis_service *service, uint32_t node, struct server_door *door);

/* What the store holds of a resource. */
struct redis_cell *redis_told_cell(const struct redis_service *service, uint32_t resource);

/* ---- sentinel.c: called only where there are any, but for the first -------------------------- */

uint32_t redis_sentinels_wakes(const struct server_shape *shape);
void redis_sentinels_init(struct redis_service *service, const struct server_shape *shape);

/* Who runs, or who reaches whom, may have changed. */
void redis_sentinels_look(struct redis_service *service, struct server_door *door);

/* `wake` counts from 0. */
void redis_sentinels_wake(struct redis_service *service, uint32_t wake, struct server_door *door);

/* Whether what happens at this node happens to the store. */
static inline bool redis_is_told(const struct redis_service *service, uint32_t node)
{
    return service->replica_count == 0 || service->told == node;
}

static inline bool redis_is_watched(const struct redis_service *service)
{
    return service->watch.count > 0;
}

static inline bool redis_is_down(const struct redis_service *service, uint32_t node)
{
    return (service->down >> node & 1) != 0;
}

void redis_replicas_hear(void *state, const struct server_message *message,
                         struct server_door *door);
void redis_replicas_link(void *state, uint32_t a, uint32_t b, bool up, struct server_door *door);
void redis_replicas_reach(void *state, struct server_door *door);

#endif
