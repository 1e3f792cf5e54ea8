/* run_options.h: what `picklock run` is told to do. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include "cli/command.h"
#include "cli/each.h"
#include "cli/pool.h"
#include "cli/shard.h"

enum { RUN_SERVERS_MAX = 16 };

struct run_options {
    struct scenario_paths paths;
    struct pool_order order;
    enum report_format format;
    const char *junit;
    const char *baseline;
    const char *summary;
    const char *results;
    const char *colour;
    const char *cluster;
    bool world_given;
    uint64_t seed_last;
    enum shard_lines lines;
    bool sharded;
    bool seeds_given;
    bool jobs_given;
    bool library; /* all that applies to the library behind the adapter */
    bool timing;
    bool update;
    bool watch;
    const char *filter;
    uint32_t server_count; /* --server, as they were given */
    const char *servers[RUN_SERVERS_MAX];
    bool quiet;
};

/* What stands where nobody says anything. */
void run_options_init(struct run_options *options);

#endif
