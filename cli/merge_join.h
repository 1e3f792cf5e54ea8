/*
 * merge_join.h: the runs of many shards as those of one run, each of them once.
 *
 *     joined.groups are in the order in which one run would have done them; a run is known by
 *     (scenario, content, world, repetition, seed)
 */
#ifndef CLI_MERGE_JOIN_H
#define CLI_MERGE_JOIN_H

#include "cli/merge_read.h"

struct merge_shards {
    size_t count;
    struct merge_shard *list; /* in the arena, in order of search and number */
};

/* Where the runs of a group are counted, and what is done with each run, and with each group when
 * its last run is in. `line` is a run's without the time that it took, and without its end. */
struct merge_told {
    void *context;
    struct report_group *(*begin)(void *context, const struct merge_file *file);
    void (*run)(void *context, const struct run_report *run, const struct text *line);
    void (*group)(void *context, struct report_group *group);
};

/*
 * Put the shards in order, drop those that are there twice, and check that together they are whole
 * searches of one kind.
 *
 *   missing  out  How many shards are missing; their numbers are told on stderr, beside what was
 *                 counted once.
 *
 * Fails with ERROR_SCHEMA: one number with two results, or searches that cannot be put together.
 */
MUST_USE struct result merge_order(struct merge_shards *shards, size_t *missing, struct text *why);

/* Fails with ERROR_SCHEMA if one run of the simulator has two results. */
MUST_USE struct result merge_join(const struct merge_shards *shards, struct arena *arena,
                                  const struct merge_told *told, struct text *why);

/* How many different scenarios there are. */
size_t merge_file_count(const struct merge_shards *shards);

/* The shard that has the run, for what it kept of it. */
const struct merge_shard *merge_shard_of(const struct merge_shards *shards,
                                         const struct report_group *group,
                                         const struct run_report *run);

#endif
