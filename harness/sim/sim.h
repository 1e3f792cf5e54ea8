/*
 * sim.h: a world in virtual time: one seed, the same bytes every time.
 *
 *     struct sim *sim;
 *     TRY(sim_create(&arena, &plan, &options, &sim, why));
 *     for each seed: scenario_plan(...); sim_reset(sim, &plan); sim_run(sim, recorder, why);
 *
 * All mutable state (world, queues, clocks, nodes, actors with their lock cores, schedule, guarded
 * store, random streams and, if asked for, the caller's own state such as running checks) lies in
 * one flat block without pointers: saving and restoring it is one memcpy. The step loop allocates
 * nothing, formats nothing and makes no system call. docs/SIMULATOR.md has the order of a step and
 * what is modelled.
 */
#ifndef HARNESS_SIM_SIM_H
#define HARNESS_SIM_SIM_H

#include "base/arena.h"
#include "harness/sim/choice.h"
#include "harness/world.h"

#include <stddef.h>

#define SIM_BYTES_MAX (4 * GIBIBYTE) /* a world: its clients have a lock for every resource */

struct sim;

struct sim_options {
    size_t extra_bytes;            /* of the caller's own state inside the block */
    const struct choices *choices; /* borrowed until destroyed; NULL: the seed decides everything */
};

/*
 * Make a simulator with room for plans like this one: as many nodes, clients and resources, or
 * fewer. Everything lives in the arena; there is nothing to release. Returns ERROR_LIMIT when the
 * arena is full.
 */
MUST_USE struct result sim_create(struct arena *arena, const struct plan *plan,
                                  const struct sim_options *options, struct sim **sim,
                                  struct text *why);

/* Begin a run. The plan is borrowed until the next reset. Allocates nothing. */
void sim_reset(struct sim *sim, const struct plan *plan);

/* Advance by one event; false once the run has ended. */
bool sim_step(struct sim *sim, struct recorder *recorder);

/* Step to the end. Returns ERROR_LIMIT if more bytes were in flight than the world holds. */
MUST_USE struct result sim_run(struct sim *sim, struct recorder *recorder, struct text *why);

/* The caller's own part of the block: extra_bytes, zeroed by reset, aligned to 16. */
void *sim_extra(struct sim *sim);

int64_t sim_true_ns(const struct sim *sim);
uint64_t sim_steps(const struct sim *sim);

/* Bytes of a snapshot now, and the most it can ever be. */
size_t sim_snapshot_bytes(const struct sim *sim);
size_t sim_snapshot_bytes_max(const struct sim *sim);
void sim_save(const struct sim *sim, void *memory);
void sim_restore(struct sim *sim, const void *memory);

#endif
