/*
 * cell.h: a Chubby cell: sessions and locks, one copy of them, kept by whoever is master.
 *
 * The members agree by consensus, which the model takes for granted: what was answered is never
 * forgotten while a majority comes back. A master that is out of reach is replaced when its own
 * lease is over, if a majority of members is there; the new one gives every session a whole lease
 * anew (Burrows 2006, 2.9). Sessions end by the master's clock, and by its rate alone: no master
 * counts a lease by the time of day. Plain memory without pointers.
 */
#ifndef SERVERS_CHUBBY_CELL_H
#define SERVERS_CHUBBY_CELL_H

#include "lockcore/chubby/chubby.h"
#include "servers/server.h"

enum {
    CELL_STORE = 0,    /* the node that stands for the cell in what is told of its locks */
    CELL_SESSIONS = 4, /* of one client for one resource at a time */
};
#define CELL_NOBODY UINT32_MAX

struct cell_session {
    bool open;
    bool waits; /* `keep` is to be answered */
    struct lock_value value;
    int64_t ttl_ns;
    int64_t end_ns;   /* on the master's clock */
    int64_t told_ns;  /* the end that its client was told of */
    int64_t sound_ns; /* the end in true time, had the clock been sound since: tells the cause */
    int64_t came_ns;  /* when `keep` did, on the master's clock */
    struct server_ask keep;
};

struct cell_lock {
    uint32_t holder; /* number of a session, or CELL_NOBODY */
    int64_t generation;
    int64_t delay_ns;       /* of the last holder, who asked for it */
    int64_t free_ns;        /* on the master's clock: not before */
    struct lock_value last; /* whose lock-delay that is */
};

struct cell {
    const struct lock_dialect *dialect; /* constant data: the same in every copy */
    int64_t ttl_ns;
    int64_t election_ns; /* a master's lease: another is not elected before it is over */
    uint32_t node_count;
    uint32_t client_count;
    uint32_t resource_count;
    uint32_t master;          /* CELL_NOBODY: none */
    uint32_t before;          /* who was, last */
    uint64_t down;            /* bit n: stopped */
    uint64_t frozen;          /* bit n: paused; one may be both */
    uint64_t cut;             /* bit n: its links leave it no majority */
    struct cell_lock locks[]; /* one a resource; then the sessions */
};

/* cell.c: how many places for sessions there are, and one of them; the number of the wake of
 * elections; the master's clock, which asserts that there is one. */
uint32_t cell_session_count(const struct cell *cell);
struct cell_session *cell_session_at(struct cell *cell, uint32_t number);
uint32_t cell_election_wake(const struct cell *cell);
int64_t cell_clock(const struct cell *cell, const struct server_door *door);
/* A whole lease from now; ask to be woken for every session anew. */
void cell_session_extend(struct cell *cell, struct cell_session *session,
                         const struct server_door *door);
void cell_rearm(struct cell *cell, struct server_door *door);

/* members.c: whether there is a master and a majority to commit what it answers; see who can be
 * one; the model's functions of these names. */
bool cell_master_serves(const struct cell *cell);
void cell_elect(struct cell *cell, struct server_door *door);
void cell_froze(void *state, uint32_t node, bool frozen, struct server_door *door);
void cell_reach(void *state, struct server_door *door);
uint32_t cell_stop(void *state, const struct server_turn *turn, enum server_stop how, uint32_t kept,
                   struct server_door *door);
void cell_start(void *state, const struct server_turn *turn, struct server_door *door);

#endif
