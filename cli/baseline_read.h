/* baseline_read.h: what is known of an earlier release's runs. */
#ifndef CLI_BASELINE_READ_H
#define CLI_BASELINE_READ_H

#include "cli/baseline.h"
#include "cli/files.h"

enum { BASELINE_GROUPS_MAX = 2 * FILES_SCENARIOS_MAX };

/* One run then; sorted by group, seed and number. */
struct baseline_record {
    uint32_t group; /* index of its baseline_group */
    uint8_t status; /* enum run_status */
    uint64_t seed;
    uint64_t number;
};

/* All runs then of one scenario in one world. */
struct baseline_group {
    char name[SCENARIO_NAME_BYTES];
    bool real;
    bool has_content; /* the release was young enough to say it */
    uint64_t content;
    uint64_t runs;
    uint64_t unmet;
    uint64_t unknown;
    uint64_t errors;
    uint64_t failed[RUN_CHECKS_MAX]; /* per check */
    uint64_t blamed[RUN_CHECKS_MAX]; /* ... on the library */
    int64_t virtual_ns;              /* the longest */
};

/* Of one group now, run by run. */
struct baseline_now {
    const struct baseline_group *then; /* NULL: it was not there, or said something else */
    bool changed;                      /* it was there, and said something else */
    uint64_t paired;                   /* runs of the simulator with a seed that it had then */
    uint64_t worse;                    /* ... as expected then, not as expected now */
    uint64_t unsure;                   /* ... as expected then, unknown now */
    uint64_t mended;                   /* ... the other way around */
    uint64_t worse_seed;               /* the first of them */
    uint64_t alone;                    /* runs that have no partner then */
    uint64_t alone_unmet;
    uint64_t alone_unknown;
    uint64_t blamed[RUN_CHECKS_MAX]; /* unmet fails blamed on the library */
};

struct baseline {
    size_t record_count;
    struct baseline_record *records; /* owned */
    size_t group_count;
    struct baseline_group groups[BASELINE_GROUPS_MAX];
    size_t now_count;
    struct baseline_now *now; /* in the arena */
    struct arena *arena;      /* borrowed */
};

/* The runs then of that name; NULL if there are none. */
const struct baseline_group *baseline_find(const struct baseline *baseline, const char *name,
                                           bool real);

/* The first run then with that seed; NULL if there is none. */
const struct baseline_record *baseline_partner(const struct baseline *baseline,
                                               const struct baseline_group *group, uint64_t seed);

#endif
