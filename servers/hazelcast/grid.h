/*
 * grid.h: a Hazelcast cluster: CP sessions, and FencedLocks with their queues, kept by a CP group.
 *
 * Consensus is taken for granted: what was answered is never forgotten while a majority of the
 * group is there. What is not granted:
 *
 * - The leader alone ends sessions, by its own *wall* clock, and looks every second.
 * - Each member reckons with its own end of a session: when it carried out the newest heartbeat,
 *   by its own wall clock, and a ttl more. A new leader gives every session one heartbeat interval.
 * - An end never moves back: a clock that was ahead for one heartbeat has moved it for good.
 * - By its wall clock the leader also ends waits, and looks every half second. Only a wait of up to
 *   1.5 s has a timer as well, which no jump moves.
 * - Nothing is on disk, in the open edition: a member that is killed has forgotten all, and is made
 *   a member anew when it is back. A group of which a majority forgot is lost; when all of them are
 *   back an operator resets it, and it knows nothing.
 * - Without a leader nothing is answered.
 *
 * Without consensus (nodes.consensus: none, the "unsafe mode": a cluster whose cp-member-count is
 * 0) one member of each part of the cluster answers by itself. A part that was cut off goes on with
 * a copy of all that was known, and what the larger part does not know is thrown away when they
 * find each other again.
 *
 * Plain memory without pointers. Times and rates: docs/ALGORITHMS.md.
 */
#ifndef SERVERS_HAZELCAST_GRID_H
#define SERVERS_HAZELCAST_GRID_H

#include "lockcore/hazelcast/hazelcast.h"
#include "servers/server.h"

enum {
    GRID_STORE = 0,    /* the node that stands for all of them in what is told of the locks */
    GRID_SESSIONS = 4, /* of one client for one resource at a time */
};
#define GRID_NOBODY UINT32_MAX

#define GRID_ELECTION_NS  (1200 * NS_PER_MS) /* until a leader that is gone has a successor */
#define GRID_LOOK_NS      NS_PER_S           /* from one look at the sessions to the next */
#define GRID_HEARTBEAT_NS NS_PER_S           /* session-heartbeat-interval-seconds: 1 */
#define GRID_WAITS_NS     (500 * NS_PER_MS)  /* from one look at who waits to the next, ... */
#define GRID_TIMED_NS     (1500 * NS_PER_MS) /* ... but up to so long a wait has a timer too */

struct grid_session {
    bool open;
    bool waits; /* an invocation of it stands in the queue: `ask` is to be answered */
    struct lock_value value;
    int64_t ttl_ns;
    int64_t sound_ns;    /* its end in true time, had the clocks been sound: tells the cause */
    int64_t place;       /* of the invocation that waits: where it stands in the log */
    int64_t wait_ns;     /* ... for how long, ... */
    int64_t wait_end_ns; /* ... until when, in true time; TIME_NEVER: by the wall clock alone */
    int64_t newest;      /* number of an invocation; of it (bit 0) and the 63 before it: */
    uint64_t entered;    /* ... which have entered the lock, */
    uint64_t refused;    /* ... and which were refused: asked again, they are answered again */
    struct server_ask ask;
    int64_t end_ns[LOCK_NODES_MAX];       /* as each member reckons it, on its wall clock */
    int64_t wait_over_ns[LOCK_NODES_MAX]; /* ... and until when it waits */
};

struct grid_lock {
    uint32_t holder; /* number of a session, or GRID_NOBODY */
    int64_t fence;   /* where the holder's first invocation stands in the log */
    int64_t count;   /* how often it has entered */
};

/* What the history knows of a lock: in a cluster in parts there may be more to know. */
struct grid_shown {
    _Alignas(int64_t) bool held; /* copies stand behind these */
    uint32_t copy;
    struct lock_value value;
};

struct grid {
    const struct lock_dialect *dialect; /* constant data: the same in every copy */
    uint32_t node_count;
    uint32_t client_count;
    uint32_t resource_count;
    uint32_t group_size;
    uint32_t copies; /* of all that is known: one, or without consensus one for each member */
    uint32_t leader; /* GRID_NOBODY: none */
    uint32_t before; /* who was, last */
    uint64_t down;   /* bit n: stopped */
    uint64_t frozen; /* bit n: goes on later where it stands now */
    uint64_t group;  /* bit n: a member of the CP group, there or not */
    uint64_t knows;  /* bit n: has what the group has written */
    uint64_t apart[LOCK_NODES_MAX];   /* of each: bit n: they do not reach each other */
    uint32_t primary[LOCK_NODES_MAX]; /* without consensus: who answers for the part of each */
    int64_t looks_ns[LOCK_NODES_MAX]; /* of each copy: when it began to be looked at (monotonic) */
    int64_t log[LOCK_NODES_MAX];      /* ... the index of its newest entry */
    struct grid_shown shown[];        /* of each resource; then the copies: locks, sessions */
};

extern const struct server_model hazelcast_grid; /* grid.c */

/* grid.c: how many places for sessions a copy has; the lock of a resource and a session in it; the
 * number of the wake of elections; bytes of a copy. */
uint32_t grid_session_count(const struct grid *grid);
struct grid_lock *grid_lock_at(struct grid *grid, uint32_t copy, uint32_t resource);
struct grid_session *grid_session_at(struct grid *grid, uint32_t copy, uint32_t number);
uint32_t grid_election_wake(const struct grid *grid);
size_t grid_copy_bytes(const struct grid *grid);
/* Whose clock ends the sessions of a copy. */
uint32_t grid_keeper(const struct grid *grid, uint32_t copy);
/* Ask to be woken for all sessions of all copies; one interval more for each; end one. */
void grid_rearm(struct grid *grid, struct server_door *door);
void grid_sessions_shift(struct grid *grid);
/* A member carries out what it has missed. */
void grid_catch_up(struct grid *grid, uint32_t node, const struct server_door *door);
/* locks.c: a copy is no more, and what the history was told of it is void. */
void grid_copy_gone(struct grid *grid, uint32_t copy, enum history_cause cause,
                    struct server_door *door);

/* members.c: whether a member runs, whether one leads that has a majority; the copy that a member
 * answers from, or GRID_NOBODY; see who can lead, or which parts there are; the model's functions
 * of these names. */
bool grid_is_there(const struct grid *grid, uint32_t node);
bool grid_leader_serves(const struct grid *grid);
bool grid_copy_serves(const struct grid *grid, uint32_t copy);
uint32_t grid_copy_of(const struct grid *grid, uint32_t node);
void grid_elect(struct grid *grid, struct server_door *door);
void grid_reach(void *state, struct server_door *door);
void grid_froze(void *state, uint32_t node, bool frozen, struct server_door *door);
uint32_t grid_stop(void *state, const struct server_turn *turn, enum server_stop how, uint32_t kept,
                   struct server_door *door);
void grid_start(void *state, const struct server_turn *turn, struct server_door *door);

#endif
