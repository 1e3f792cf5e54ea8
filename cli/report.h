/*
 * report.h: what `picklock run` says: a line a scenario and world, a table at the end, and the
 * same for machines (JSON lines, JUnit, TAP, GitHub annotations).
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "cli/run_one.h"

#include <stdio.h>

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_TAP, REPORT_NOTHING };

enum { REPORT_KINDS_MAX = 10, REPORT_SEEDS_MAX = 8 };

/* Runs not as expected, with the same violations and the same blame. */
struct report_kind {
    uint64_t runs;
    struct run_report shortest;
    uint32_t seed_count;
    uint64_t seeds[REPORT_SEEDS_MAX];  /* the shortest runs first */
    uint64_t events[REPORT_SEEDS_MAX]; /* their lengths */
};

/* All runs of one scenario in one world. */
struct report_group {
    const struct scenario *scenario;
    uint64_t content;       /* hash of the scenario in its canonical form */
    int64_t time_scale_ppm; /* that it ran with */
    const char *world;
    uint64_t runs_planned;
    bool absent; /* its world cannot have it: not run, told among those that do not apply */
    uint64_t runs;
    uint64_t met;
    uint64_t unmet;
    uint64_t unknown;
    uint64_t errors;
    uint64_t late_tries;             /* runs that were begun again, for the machine had been late */
    uint64_t violated;               /* runs in which some check failed, expected or not */
    uint64_t first_violated;         /* number of that run, from 1; 0 if none */
    uint64_t failed[RUN_CHECKS_MAX]; /* per check: runs in which it failed */
    uint64_t open[RUN_CHECKS_MAX];   /* ... in which it could not say */
    uint64_t skipped[RUN_CHECKS_MAX];
    int64_t wall_ns;             /* all runs together */
    uint64_t kept;               /* unmet runs that were kept, those since removed as well */
    struct report_place *places; /* a ring of the newest of them, for keep_last; or NULL */
    struct run_report last;      /* the last report that was not met, else the last one */
    uint32_t kind_count;
    struct report_kind kinds[REPORT_KINDS_MAX];
};

/* Where a run is kept that is not as expected. */
struct report_place {
    uint64_t seed;
    uint32_t number; /* 0: nowhere */
};

struct shard;
struct baseline;
struct apart_list;
struct lock_nature;

struct report {
    enum report_format format;
    bool brief; /* of groups nothing is printed */
    /* Prints the table at the end in place of the usual line; or NULL. */
    void (*table)(const struct report *report, const struct report_group *groups, size_t count);
    const void *table_of; /* what it is about */
    FILE *junit;          /* or NULL */
    FILE *summary;        /* or NULL */
    FILE *results;        /* or NULL: takes the lines of JSON as well */
    bool colour;
    bool github;
    bool quiet;
    bool merged;                      /* put together from shards: how long it took is not known */
    bool update;                      /* what came of the runs is written into their files */
    bool timing;                      /* how long a run took is told in its line as well */
    struct shard *shard;              /* or NULL */
    struct baseline *baseline;        /* or NULL */
    const char *out;                  /* folder of the results */
    const char *server;               /* --redis-server, or NULL */
    const char *cluster;              /* --cluster, or NULL */
    const char *adapter;              /* or NULL */
    const struct apart_list *apart;   /* what does not apply; or NULL */
    const struct lock_nature *nature; /* of a library that all that applies is tried on: the table
                                         at the end is of that; or NULL */
    struct run_report *copy;          /* takes the last run, for who asks to know; or NULL */
    int64_t time_scale_ppm;
    int64_t stress_ns;
    size_t number; /* TAP */
};

/* Count a run in. */
void report_add(struct report_group *group, const struct run_report *run);

/* Only remember it as one of its kind, where it is counted already. */
void report_add_kind(struct report_group *group, const struct run_report *run);

/* Where a group stands: a run not as expected beats an environment that failed, that beats one that
 * could not say. */
enum run_status report_status(const struct report_group *group);

/* After every run, in order: a line for machines, and one for the shard's file. Fails with ERROR_IO
 * if that file cannot be written. */
MUST_USE struct result report_run(const struct report *report, const struct report_group *group,
                                  const struct run_report *run, struct text *why);

/* When the last run of a group is in. */
void report_group(struct report *report, const struct report_group *group);

/* Both worlds ran it: say so if their verdicts differ. Returns true if they do. */
bool report_disagreement(const struct report *report, const struct report_group *a,
                         const struct report_group *b);

/* What a world says of a check. */
struct report_side {
    bool failed;    /* in some run */
    bool undecided; /* some run could not say: that it did not fail means nothing */
};

/* Whether the check fails in one world and not in the other, which could say so, and the scenario
 * does not leave it open. */
bool report_differs(const struct scenario *scenario, size_t check, struct report_side a,
                    struct report_side b);

struct report_side report_side(const struct report_group *group, size_t check);

/* At the end: the table, and the worst exit code. */
int report_end(struct report *report, const struct report_group *groups, size_t count,
               size_t disagreements);

/* With a budget: name the groups that there was no time for, on `stream`; gives their number. */
size_t report_left_out(const struct report_group *groups, size_t count, FILE *stream);

/* The folder of the results in which the run is kept. */
void report_folder(const struct report *report, const struct report_group *group,
                   const struct run_report *run, struct text *text);

/* "exclusion, no_leak": the checks that some run of the group was not as expected in. */
void report_unmet(const struct report_group *group, struct text *text);

/* The command that runs this again, by this `program`: whoever reads it may have it elsewhere. */
void report_rerun(const struct report *report, const struct report_group *group,
                  const struct run_report *run, const char *program, struct text *text);

#endif
