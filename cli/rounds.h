/*
 * rounds.h: which runs come next where there is a budget of time instead of a number of runs.
 *
 *     round 0    every scenario once, in the simulator, then on real servers
 *     round 1..  more seeds of each: in the simulator ever more of them, most of all of scenarios
 * whose faults each seed draws; on real servers one
 *
 * In each round what matters most comes first: what is new, was changed or was not as expected in
 * the baseline; then the shortest. A real run that is known not to fit into what is left is not
 * begun.
 */
#ifndef CLI_ROUNDS_H
#define CLI_ROUNDS_H

#include "cli/agenda.h"
#include "cli/report.h"

#include "base/arena.h"

struct rounds {
    const struct agenda_order *order;
    const struct report_group *groups;
    const struct baseline *baseline; /* or NULL */
    size_t *turns;                   /* in the arena: files, by what matters most */
    uint64_t *given;                 /* in the arena: runs of each group that were handed out */
    uint32_t round;
    size_t place; /* in the round: world * files + turn */
    bool gave;    /* this round handed out something */
};

MUST_USE struct result rounds_init(struct rounds *rounds, const struct agenda_order *order,
                                   const struct report_group *groups,
                                   const struct baseline *baseline, struct arena *arena);

/* The next runs, with `left_ns` of the budget left; false when nothing more is to be begun. */
bool rounds_next(struct rounds *rounds, int64_t left_ns, struct agenda_slice *slice);

#endif
