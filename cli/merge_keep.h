/* merge_keep.h: keeps of each kind of failing run the shortest, as a run that failed here would be.
 */
#ifndef CLI_MERGE_KEEP_H
#define CLI_MERGE_KEEP_H

#include "cli/merge_join.h"

/*
 * Run each kind's shortest run again from its seed, if it is the simulator's, or take what its
 * shard kept of it. `kept` of those that now lie below `out` is set.
 *
 * Fails with ERROR_IO, or ERROR_ENVIRONMENT if the simulator finds another verdict than the shard
 * did: that is a bug of picklock.
 */
MUST_USE struct result merge_keep(const struct merge_shards *shards, struct report_group *group,
                                  const char *out, struct text *why);

#endif
