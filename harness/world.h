/*
 * world.h: the one door to both worlds.
 *
 *     world->run(plan, options, recorder, why)
 *
 * A world carries out what clients ask, applies and heals the faults that the schedule names, and
 * reports all of it to the recorder. sim/ and real/ each implement it and never see each other. A
 * fault that did not take effect is an error of the run, never silence.
 */
#ifndef HARNESS_WORLD_H
#define HARNESS_WORLD_H

#include "harness/cluster.h"
#include "harness/scenario.h"

/*
 * Where events go. `event` may be called in any order of time by the real world (events of several
 * processes); sim calls it in order. The recorder sets the index.
 */
struct recorder {
    void (*event)(struct recorder *recorder, const struct history_event *event);
    /*
     * The reply to the command that event number `event` is about (0: the first that was handed
     * over) has come to its client. May be NULL; a world may leave it out.
     */
    void (*replied)(struct recorder *recorder, uint64_t event, int64_t time_ns);
    /*
     * What event number `event` tells of was this client's doing: another thread of the program for
     * whose it was taken, when that was not known yet. May be NULL; a world may leave it out.
     */
    void (*whose)(struct recorder *recorder, uint64_t event, int32_t client);
    /* A check that watches has seen a violation and the user asked to stop at the first. */
    bool (*should_stop)(struct recorder *recorder);
};

struct world_options {
    const char *adapter;       /* command line of an adapter, or NULL for our own core; real only */
    const char *run_directory; /* exists, empty, the world's to fill; real only */
    const char *program;       /* path of the picklock binary; real only */
    const char *server;        /* the redis-server of nodes that are ours, or NULL; real only */
    const struct cluster *cluster; /* nodes that are there already, or NULL; real only */
    bool verbose;
};

struct world {
    const char *name; /* "sim", "real" */
    /*
     * Run a plan from start to end: faults, heal, audit. Fills header->library. Returns
     * ERROR_ENVIRONMENT (a server is missing, an adapter broke), ERROR_SCHEMA (this world cannot
     * run this plan), ERROR_INTERRUPTED; `why` names what and where.
     */
    MUST_USE struct result (*run)(const struct plan *plan, const struct world_options *options,
                                  struct history_header *header, struct recorder *recorder,
                                  struct text *why);
};

extern const struct world world_sim;
extern const struct world world_real;

#endif
