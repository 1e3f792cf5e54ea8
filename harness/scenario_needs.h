/*
 * scenario_needs.h: whether a scenario applies to a lock: `needs`, `lacks`, its number of nodes.
 *
 * What a lock is, it says itself (docs/ADAPTERS.md); our own are known. A scenario that does not
 * apply is not run, and that is told with the reason: it is no pass.
 */
#ifndef HARNESS_SCENARIO_NEEDS_H
#define HARNESS_SCENARIO_NEEDS_H

#include "harness/scenario.h"

/* What a lock under test is, as far as it decides what can be asked of it. */
struct lock_nature {
    uint16_t declares; /* bit n: enum history_declares */
    bool silent;       /* it said nothing of itself: what it lacks is not known either */
    int32_t nodes_min; /* it is for so many nodes ... */
    int32_t nodes_max; /* ... up to this many */
    bool follows;      /* it asks whichever of several nodes is the primary */
    char library[HISTORY_NAME_BYTES];
};

/* The nature of the scenario's own algorithm. */
void nature_of_own(const struct scenario *scenario, struct lock_nature *nature);

/* Whether it applies; if not, `why` gets half a sentence. */
bool scenario_applies(const struct scenario *scenario, const struct lock_nature *nature,
                      struct text *why);

#endif
