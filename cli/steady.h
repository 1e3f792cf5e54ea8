/*
 * steady.h: the simulator gives one seed one result. Where it gives two, neither is worth anything,
 * and the bug is picklock's own: said so, instead of a verdict.
 */
#ifndef CLI_STEADY_H
#define CLI_STEADY_H

#include "cli/run_one.h"

/* Whether two runs came out the same: verdicts, blame, number of events and length. */
bool steady_same(const struct run_report *one, const struct run_report *other);

/* Make of the report one of picklock's own bug, which names what differs. */
void steady_accuse(struct run_report *report, const struct run_report *other);

/* Of many runs, each seed's first result, to hold later ones against. */
struct steady;

/* Room for `seeds` seeds from `seed_first` on; NULL if there is no memory. */
struct steady *steady_open(uint64_t seed_first, uint64_t seeds);

/* Keep the first report of a seed; make of a later one that differs one of picklock's own bug. */
void steady_check(struct steady *steady, struct run_report *report);

/* Begin anew, with another scenario. */
void steady_forget(struct steady *steady);

/* NULL does nothing. */
void steady_close(struct steady *steady);

#endif
