/*
 * lanes.h: which run is begun next where each scenario is run once in both worlds.
 *
 * The simulator comes first: it is done within moments, and tells how long each real run will be.
 * Then one lane of jobs takes the real runs in the order of the files, so that there is something
 * to read, and the other one the longest that is left: several go on at once, and a long one that
 * is begun last is waited for alone (Graham 1969, "Bounds on multiprocessing timing anomalies",
 * section 5).
 */
#ifndef CLI_LANES_H
#define CLI_LANES_H

#include "cli/agenda.h"

#include "base/arena.h"
#include "base/result.h"

enum lane { LANE_FILES, LANE_LONGEST };

struct lanes {
    const struct agenda_order *order;
    bool *given;      /* in the arena: of each group */
    int64_t *seen_ns; /* in the arena: how long a run of each group was; 0: not known */
    size_t first[2];  /* of each world: all files before it are given */
};

/* Whether this order is of that kind. */
bool lanes_fit(const struct agenda_order *order);

/* ERROR_IO if there is no memory. */
MUST_USE struct result lanes_init(struct lanes *lanes, const struct agenda_order *order,
                                  struct arena *arena);

/* A run of the group took so long, in its own time. */
void lanes_saw(struct lanes *lanes, size_t group, int64_t length_ns);

/* The next run; false when there are no more. */
bool lanes_next(struct lanes *lanes, enum lane lane, struct agenda_slice *slice);

#endif
