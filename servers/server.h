/*
 * server.h: kinds of lock server, as the harness sees them.
 *
 *     servers/KIND/       what one kind is: how it behaves (its model), and its row
 *     servers/KIND/real/  how its processes are started (launch.h) and its bytes read (wire.h)
 *     servers.c           table: kind -> what it is
 *
 * A *node* is a process, which faults strike; a *store* holds a set of keys and casts one vote.
 * Each node of Redis is a store of its own; all nodes of a replicated service together are one.
 *
 * The simulator asks a model:
 *
 *     world --ask, wake, stop, start, ...-->  server_model  --record, arm, answer-->  server_door
 *
 * A model is a step over flat memory without pointers: it neither allocates, draws, nor asks for
 * the time. It holds the whole service, all nodes of it, so that a kind whose nodes talk to each
 * other is no different from one whose nodes do not.
 */
#ifndef SERVERS_SERVER_H
#define SERVERS_SERVER_H

#include "base/clock.h"
#include "history/event.h"
#include "lockcore/dialect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FSYNC_MAP(X)                                                                               \
    X(FSYNC_NONE, "none") /* no append-only file: a restart forgets everything */                  \
    X(FSYNC_EVERYSEC, "everysec")                                                                  \
    X(FSYNC_ALWAYS, "always")

enum fsync_setting {
#define X(name, word) name,
    FSYNC_MAP(X)
#undef X
};

#define POOLER_MAP(X)                                                                              \
    X(POOLER_NONE, "none")                                                                         \
    X(POOLER_SESSION, "session")         /* a server's session for as long as a connection */      \
    X(POOLER_TRANSACTION, "transaction") /* for one transaction, then for whoever comes next */

enum pooler_setting {
#define X(name, word) name,
    POOLER_MAP(X)
#undef X
};

#define NODE_ERROR_MAP(X)                                                                          \
    X(NODE_ERROR_OOM, "OOM")             /* writes are refused, deletions are not */               \
    X(NODE_ERROR_READONLY, "READONLY")   /* writes and deletions are refused */                    \
    X(NODE_ERROR_LOADING, "LOADING")     /* everything is refused */                               \
    X(NODE_ERROR_WRONGTYPE, "WRONGTYPE") /* the same, as if the keys held something else */        \
    X(NODE_ERROR_GARBLED, "GARBLED")     /* nothing is done, and what is answered is no answer */

enum node_error {
#define X(name, word) name,
    NODE_ERROR_MAP(X)
#undef X
        NODE_ERRORS,
};

#define CONSENSUS_MAP(X)                                                                           \
    X(CONSENSUS_MAJORITY, "majority") /* a majority must agree, or nothing is answered */          \
    X(CONSENSUS_NONE, "none")         /* each part of a cluster that is cut in two answers alone */

enum consensus_setting {
#define X(name, word) name,
    CONSENSUS_MAP(X)
#undef X
};

/* What watches nodes that follow one of them, beside the first `count` of them, and promotes one by
 * itself. */
struct server_sentinels {
    uint32_t count;  /* 0: nobody does */
    uint32_t quorum; /* so many of them must miss the primary; 0: most of them */
    int64_t down_after_ns;
    int64_t failover_timeout_ns;
};

/* What a service is made for. */
struct server_shape {
    const struct lock_dialect *dialect;
    uint32_t node_count;
    uint32_t client_count; /* the auditor is one more */
    uint32_t resource_count;
    uint32_t disk_writes_max;    /* since the last fsync; 0: power is never cut */
    uint32_t replica_writes_max; /* not yet replicated; 0: never a failover */
    uint32_t replica_count;      /* of the nodes, that follow another: all but one, or 0 */
    uint8_t fsync;               /* enum fsync_setting */
    uint8_t pooler;              /* enum pooler_setting */
    uint8_t consensus;           /* enum consensus_setting */
    int64_t ttl_ns;              /* that clients ask for */
    struct server_sentinels sentinels;
};

/* A node as the world moves it: its clocks, and which fault last bent them. */
struct server_node {
    struct clock wall;
    struct clock mono; /* the same rate, and never set */
    int64_t jumped_ns; /* when its clock last jumped, and by which fault; -1 never */
    int32_t jump_fault;
    int32_t rate_fault;
};

#define SERVER_CONNECTION_GONE UINT32_MAX /* ... one that broke behind it */

/* A command at its node. Kept by a model that answers later. */
struct server_ask {
    uint32_t node;
    uint32_t client;
    uint32_t resource;
    uint32_t lock;       /* the world's: which lock of the client asks */
    uint32_t connection; /* the world's: which of the link's connections it came by, ... */
    int64_t sent_ns;     /* when its client sent it */
    struct lock_command command;
};

/* Whose connection it was. */
struct server_caller {
    uint32_t node;
    uint32_t client;
    uint32_t connection; /* struct server_ask */
};

/* A node's process ends, begins or changes: for which reason. */
struct server_turn {
    uint32_t node;
    int32_t fault;
    uint8_t cause; /* enum history_cause */
};

/* Which of what it knows can be read back by a process that is about to stop. */
enum server_stop {
    SERVER_STOP_KILLED, /* all that was written to the file, if there is one */
    SERVER_STOP_CLEAN,  /* the same, and synced */
    SERVER_STOP_POWER,  /* what was synced, and `kept` of the writes after it */
};

/*
 * What one node tells another. The links between nodes keep order and lose nothing while they are
 * up; one that breaks loses what was under way.
 */
struct server_message {
    uint32_t from;
    uint32_t to;
    uint32_t kind; /* the model's own, as are these: */
    uint32_t index;
    int64_t number[6];
};

/* What a model may see of the world and tell it, while it is being asked. */
struct server_door {
    int64_t true_ns;
    const struct server_node *nodes;
    /* Record an event at true_ns; gives its number. */
    uint64_t (*record)(struct server_door *door, struct history_event *event);
    /* Wake the model at a true time; replaces the wake before of this number; TIME_NEVER: never. */
    void (*arm)(struct server_door *door, uint32_t wake, int64_t true_ns);
    /* Answer a command, at once or later; `event` is the number of what tells of it, or
     * SERVER_NO_EVENT. */
    void (*answer)(struct server_door *door, const struct server_ask *ask, struct lock_reply reply,
                   uint64_t event);
    /* Which of `bound` outcomes a race inside the service has: the nth of that node. */
    uint64_t (*draw)(struct server_door *door, uint32_t node, uint32_t nth, uint64_t bound);
    /* Tell another node something; it hears of it after a while, or never. */
    void (*send)(struct server_door *door, const struct server_message *message);
    /* Would something that one node tells another get through now? */
    bool (*reaches)(const struct server_door *door, uint32_t from, uint32_t to);
    /* ... where its process does not matter, only the link; does its process run? */
    bool (*links)(const struct server_door *door, uint32_t from, uint32_t to);
    bool (*runs)(const struct server_door *door, uint32_t node);
    /* Tell a client, unasked, more about a command that it sent (LOCK_EVENT_PUSH). */
    void (*push)(struct server_door *door, const struct server_ask *ask, struct lock_reply reply);
    /* A node refused a command because of the fault that makes it refuse. */
    void (*refused)(struct server_door *door, uint32_t node);
};

#define SERVER_NO_EVENT     UINT64_MAX
#define SERVER_NOT_PROMOTED UINT32_MAX

/* How one kind behaves in the simulator. `state` is bytes() many, aligned to 16. */
struct server_model {
    size_t (*bytes)(const struct server_shape *shape);
    uint32_t (*wakes)(const struct server_shape *shape); /* how many numbers it wakes by */
    void (*init)(void *state, const struct server_shape *shape);
    /* The run begins, at time 0: what goes on by itself is armed. NULL: nothing does. */
    void (*begin)(void *state, struct server_door *door);
    void (*ask)(void *state, const struct server_ask *ask, struct server_door *door);
    void (*wake)(void *state, uint32_t wake, struct server_door *door);
    /* A node's clock was bent: what hangs on it is due at another time. */
    void (*bent)(void *state, uint32_t node, struct server_door *door);
    /* A node stopped running for a while, or runs again. NULL: nobody but its clients notices. */
    void (*froze)(void *state, uint32_t node, bool frozen, struct server_door *door);
    /* A node has read the end of a client's connection, and all that came by it before: what lived
     * with that is over. Not told of connections that end with their node. NULL: nothing does. */
    void (*hung_up)(void *state, const struct server_caller *caller, struct server_door *door);
    /* Only where its nodes speak to each other, else NULL, all three: lint refuses faults of the
     * links between them then. A node hears what another told it; NULL where they never do, ... */
    void (*hear)(void *state, const struct server_message *message, struct server_door *door);
    /* ... the link between two broke, or is up again; NULL: nobody but their messages notices; */
    void (*link)(void *state, uint32_t a, uint32_t b, bool up, struct server_door *door);
    /* ... and who reaches whom has changed (door->reaches). NULL: nobody looks. */
    void (*reach)(void *state, struct server_door *door);
    /* How many writes a power cut now could lose. */
    uint32_t (*unsynced)(void *state, uint32_t node, struct server_door *door);
    /* Give how many keys were lost. */
    uint32_t (*stop)(void *state, const struct server_turn *turn, enum server_stop how,
                     uint32_t kept, struct server_door *door);
    void (*start)(void *state, const struct server_turn *turn, struct server_door *door);
    /* Only where the kind has such a thing, else NULL; lint refuses the fault then. */
    /* How many keys are lost by it; SERVER_NOT_PROMOTED: there was nothing to do. */
    uint32_t (*promote)(void *state, const struct server_turn *turn, int64_t lag_ns,
                        struct server_door *door);
    uint32_t (*evict)(void *state, const struct server_turn *turn, struct server_door *door);
    void (*refuse)(void *state, uint32_t node, const enum node_error *error); /* NULL: no longer */
    void (*forget_scripts)(void *state, uint32_t node);
};

struct server_launch;   /* launch.h: how its processes are started and stopped */
struct server_wire;     /* wire.h: how its bytes read */
struct connection_kind; /* lockcore/drivers/connection.h: how our own locks speak to it */

/* One row of the table. A kind is in the simulator, in the real world, or in both. */
struct server_kind {
    const char *name; /* of `nodes.kind`, and of its dialect */
    const struct lock_dialect *dialect;
    const struct server_model *model; /* NULL: it is not in the simulator */
    bool one_store;                   /* all its nodes together cast one vote */
    bool syncs;                       /* nodes.fsync is its setting */
    bool pools;                       /* a pooler may stand before it (nodes.pooler) */
    bool goes_without_consensus;      /* ... if it is told to (nodes.consensus) */
    bool replicates; /* ... where some follow another (nodes.replicas); else they do not speak */
    /* The real world's; NULL all three: it is not there. */
    const struct server_launch *launch;
    const struct server_wire *wire;
    const struct connection_kind *connection;
};

/* The number of the kind that understands this dialect. */
size_t server_kind_of(const struct lock_dialect *dialect);

/* Whether its nodes, so many of them replicas, speak to each other, so that faults can strike the
 * links between them; whether they cast one vote together. */
bool server_kind_talks(const struct server_kind *kind, uint32_t replica_count);
bool server_kind_is_one(const struct server_kind *kind, uint32_t replica_count);

/* Whether a fault of a sort that not every kind knows can strike it. */
bool server_kind_has(const struct server_kind *kind, enum fault_kind fault);

/* Whether its real servers tell what becomes of their keys, or else their answers do: what is not
 * told nobody can judge. `number` is that of the kind. */
bool server_kind_tells(size_t number);

/* The table. */
size_t server_kind_count(void);
const struct server_kind *server_kind_at(size_t index);

/* An event about what a command did to a key at `node`; `owner` of it, or NULL. */
struct history_event server_command_event(const struct lock_dialect *dialect,
                                          const struct server_ask *ask, uint32_t node,
                                          enum history_f f, const struct lock_value *owner);

/* An event about a key of one node and nobody yet. */
static inline struct history_event server_key_event(enum history_f f, uint32_t node,
                                                    uint32_t resource)
{
    return (struct history_event){
        .kind = HISTORY_NODE,
        .f = (uint8_t)f,
        .process = HISTORY_NOBODY,
        .node = (int32_t)node,
        .fault = HISTORY_NO_FAULT,
        .resource = resource,
    };
}

#endif
