/*
 * merge_read.h: reads the files that shards leave, and refuses what is cut, changed or of another
 * kind.
 *
 * A file is mapped, not copied: a search may have more lines than memory.
 */
#ifndef CLI_MERGE_READ_H
#define CLI_MERGE_READ_H

#include "base/arena.h"
#include "cli/agenda.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/shard.h"

enum { MERGE_WORLDS = 2 }; /* 0 sim, 1 real */

struct merge_tally {
    uint64_t runs, met, unmet, unknown, errors, violated, first_violated;
    uint64_t failed[RUN_CHECKS_MAX];
    uint64_t open[RUN_CHECKS_MAX];
    uint64_t skipped[RUN_CHECKS_MAX];
};

/* The runs of one scenario in one world, in one shard. */
struct merge_part {
    const char *begin; /* of its lines */
    const char *end;
    uint64_t lines;
    uint64_t last; /* number of the last run that has a line */
    bool counted;  /* the tally was read */
    bool absent;   /* this world cannot have it */
    struct merge_tally tally;
};

/* Each scenario of all shards, once. */
struct merge_scenarios {
    size_t count;
    struct merge_scenario {
        uint64_t content;
        struct scenario scenario;
    } * list[FILES_SCENARIOS_MAX]; /* in the arena */
    struct apart_list apart;       /* those that do not apply, each once too */
};

struct merge_file {
    uint64_t content;
    const struct scenario *scenario;
    struct merge_part parts[MERGE_WORLDS];
};

struct merge_shard {
    const char *path;   /* of the file */
    const char *folder; /* that it lies in */
    const char *bytes;  /* mapped */
    size_t length;
    struct agenda_order runs;
    bool worlds[MERGE_WORLDS];
    enum shard_lines lines;
    bool stop_at_first;
    int64_t time_scale_ppm;
    uint64_t search; /* what was searched: equal for all shards of one search */
    uint64_t hash;   /* of all that it says, times aside */
    size_t file_count;
    struct merge_file *files; /* in the arena */
    char adapter[FILES_PATH_BYTES];
};

/*
 * Read a shard's file and check all of it. `scenarios` grows by those that were not seen before.
 *
 * Fails with ERROR_IO (it cannot be read), ERROR_ENVIRONMENT (it is cut or was changed: that shard
 * must be run again) or ERROR_SCHEMA (it is none, or of another version of picklock).
 */
MUST_USE struct result merge_read(const char *path, struct arena *arena,
                                  struct merge_scenarios *scenarios, struct merge_shard *shard,
                                  struct text *why);

/* A run's line as a report. False if it is none. */
bool merge_run_read(const struct json *json, struct run_report *run);

/* How many bytes of a run's line stand before the time that it took, which may not be there. */
size_t merge_line_bytes(const char *line, size_t bytes);

void merge_release(struct merge_shard *shard);

#endif
