/*
 * agenda.h: the runs that an order is made of, and which of them come next.
 *
 *     group   a scenario in a world: group = file * worlds + world
 *     run     from 0 in each group: seed after seed, and all of that once for every repetition
 *     index   of a (file, run) among those of all files: file * runs_each + run
 *
 * A shard K/N does the runs whose index leaves K - 1 when divided by N, in both worlds: every shard
 * has a share of every file, and no two have one run. Without a shard: 1/1.
 */
#ifndef CLI_AGENDA_H
#define CLI_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agenda_order {
    size_t files;
    size_t worlds;
    uint64_t seed_first;
    uint64_t seeds;
    uint32_t repeat;
    uint32_t shard;     /* K, from 1 */
    uint32_t shards;    /* N */
    const bool *absent; /* of each group: its world cannot have it; NULL: none is */
};

/* Some runs of one group: run_first, run_first + stride, ... */
struct agenda_slice {
    size_t group;
    uint64_t run_first;
    uint64_t stride;
    uint32_t runs;
};

struct agenda {
    struct agenda_order order;
    size_t group;   /* that the next slice is of */
    uint64_t given; /* runs of it that are handed out */
};

void agenda_init(struct agenda *agenda, const struct agenda_order *order);

/* How many runs of the group this shard does. */
uint64_t agenda_runs(const struct agenda_order *order, size_t group);

/* Whether the run is this shard's. */
bool agenda_has(const struct agenda_order *order, size_t file, uint64_t run);

/* The next runs of one group, at most runs_max[world] of them; false when there are no more. */
bool agenda_next(struct agenda *agenda, const uint32_t runs_max[], struct agenda_slice *slice);

/* The seed of a run. */
uint64_t agenda_seed(const struct agenda_order *order, uint64_t run);

#endif
