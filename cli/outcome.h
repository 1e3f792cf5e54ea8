/*
 * outcome.h: what comes of the runs of an order: counted, told and kept, in the order of their
 * agenda.
 *
 *     outcome_open -> slice_add(&outcome.slices, ...) and outcome_settle as reports come ->
 * outcome_finish
 */
#ifndef CLI_OUTCOME_H
#define CLI_OUTCOME_H

#include "cli/pool.h"
#include "cli/progress.h"
#include "cli/slices.h"

struct steady;
struct tally;

struct outcome {
    const struct pool_order *order;
    struct report *report;
    struct progress *progress;
    struct report_group *groups; /* in the arena */
    size_t group_count;
    struct slices slices;
    size_t printed; /* groups that are reported */
    size_t disagreements;
    struct tally *tally;   /* for the page of the batch; NULL: there is none */
    struct steady *steady; /* with --repeat: what each seed of a group came to in the simulator */
    size_t steady_group;   /* that it is of */
};

MUST_USE struct result outcome_open(struct outcome *outcome, const struct pool_order *order,
                                    struct report *report, struct arena *arena, struct text *why);

/* Tell of every report whose turn has come. */
MUST_USE struct result outcome_settle(struct outcome *outcome, struct text *why);

/* All runs are done: tell the end, and give the exit code. */
MUST_USE struct result outcome_finish(struct outcome *outcome, int *exit_code, struct text *why);

void outcome_close(struct outcome *outcome);

#endif
