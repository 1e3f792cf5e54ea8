/* scenario_random.h: faults that are left to the seed. */
#ifndef HARNESS_SCENARIO_RANDOM_H
#define HARNESS_SCENARIO_RANDOM_H

#include "harness/scenario.h"

/*
 * Draw faults into `scenario`, whose `random` says which, and clear its `random`. Each seed
 * switches a subset of the kinds on, and then a subset of the places for faults: a run with every
 * kind of fault hides what a run with two of them shows (Zhou et al. 2021, FoundationDB,
 * section 4.2).
 */
void random_faults_draw(struct scenario *scenario, uint64_t seed);

#endif
