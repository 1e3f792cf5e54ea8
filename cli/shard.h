/*
 * shard.h: the file that a shard of a search leaves, OUT/shard-K-of-N.jsonl: whole or not at all.
 *
 *     {"type":"shard",...}    what was searched, and which part of it this is
 *     {"type":"file",...}     a line a scenario, with its text
 *     {"type":"apart",...}    a line a scenario that does not apply; the same in all shards
 *     {"type":"run",...}      a line a run, in order (docs/COMMAND.md: --json)
 *     {"type":"tally",...}    a line a scenario and world: how many runs came out how
 *     {"type":"end",...}      how many runs, and the hash of all that stands before, times aside
 *
 * It is written beside its name and takes it when it is whole and on the disk. A shard that is run
 * again takes its place with the same bytes. docs/SCALE.md.
 */
#ifndef CLI_SHARD_H
#define CLI_SHARD_H

#include "cli/report.h"

#include "cli/agenda.h"
#include "cli/apart.h"
#include "cli/files.h"

enum shard_lines { SHARD_LINES_ALL, SHARD_LINES_UNMET };

struct shard_order {
    const struct scenario_list *scenarios;
    const struct agenda_order *runs;
    const struct apart_list *apart;
    const char *worlds;  /* "sim", "real" or "sim,real" */
    const char *adapter; /* or NULL */
    int64_t time_scale_ppm;
    enum shard_lines lines;
    bool stop_at_first;
    bool timing; /* each line also says how long its run took */
    const char *out;
};

enum { SHARDS_MAX = 50000 }; /* as many files as one merge can map */

/* "3/100": 1 <= 3 <= 100. */
bool shard_parse(const char *word, uint32_t *shard, uint32_t *shards);

/* The path of a shard's file. */
void shard_path(const char *out, uint32_t shard, uint32_t shards, struct text *path);

/* Begin the file. ERROR_IO if it cannot be written, or if another picklock is writing it. */
MUST_USE struct result shard_open(const struct shard_order *order, struct shard **shard,
                                  struct text *why);

/* The next run; `line` is as report_line made it. */
MUST_USE struct result shard_run(struct shard *shard, const struct report_group *group,
                                 const struct run_report *run, const struct text *line,
                                 struct text *why);

/* Write the end and let the file take its name. */
MUST_USE struct result shard_finish(struct shard *shard, const struct report_group *groups,
                                    size_t count, struct text *why);

/* Give everything back; a file that was not finished is removed. */
void shard_close(struct shard *shard);

#endif
