/*
 * run_one.h: one run of one scenario in one world: run, judge, compare with what is expected.
 *
 * Called in a process of its own. The report is plain data and goes through a pipe.
 */
#ifndef CLI_RUN_ONE_H
#define CLI_RUN_ONE_H

#include "checker/check.h"
#include "cli/evidence.h"
#include "harness/world.h"

enum { RUN_CHECKS_MAX = 24, RUN_SENTENCES_BYTES = 6144, RUN_OPEN_BYTES = 4096 };

enum run_status {
    RUN_MET,     /* every expectation met */
    RUN_UNMET,   /* a violation that was not expected, or an expected one that did not come */
    RUN_UNKNOWN, /* a check could not say, nothing was exercised, or all else was skipped */
    RUN_ERROR,   /* the environment failed */
    RUN_INTERRUPTED,
};

enum run_keep { KEEP_ON_FAILURE, KEEP_ALWAYS, KEEP_NEVER, KEEP_UNMET };

/* Nodes that are there already. */
struct run_cluster_choice {
    const char *path; /* as it was given */
    struct cluster cluster;
};

struct run_request {
    const struct scenario *scenario;
    const struct world *world;
    uint64_t seed;
    int64_t time_scale_ppm;
    int64_t stress_ns;
    const char *adapter;                      /* or NULL */
    const char *server;                       /* the redis-server, or NULL */
    const struct run_cluster_choice *cluster; /* or NULL */
    const char *directory; /* the run's own: exists for the real world, else made when kept */
    int *lock;             /* of its mark; taken when the directory is made */
    enum run_keep keep;
    bool stop_at_first;
    const char *trace; /* takes the run's trace, or NULL */
};

/* What shows the violations, and which of them are one event seen from several sides. */
struct run_found {
    struct evidence evidence[RUN_CHECKS_MAX];
    uint32_t cause_count;
    struct evidence_cause causes[EVIDENCE_CAUSES_MAX];
};

struct run_report {
    uint8_t status;        /* enum run_status */
    uint8_t error;         /* RUN_ERROR: enum error_code */
    bool kept;             /* the directory holds the history */
    bool logged;           /* the directory holds no history, but logs of what could not be done */
    bool late;             /* unknown, and but for the machine's lateness it might not be */
    uint32_t violations;   /* bit i: check i of the table failed */
    uint32_t unmet;        /* bit i: check i is not as expected */
    uint32_t missed;       /* bit i: the file expects a fail of check i, which did not come */
    uint32_t inapplicable; /* bit i: check i was skipped because of what the lock declares */
    uint8_t verdicts[RUN_CHECKS_MAX];
    uint8_t blames[RUN_CHECKS_MAX];
    uint64_t run;        /* number of it in its group, from 1; set by the caller */
    uint64_t late_tries; /* how often it was late before, and begun again; set by the caller */
    uint32_t place;      /* which of its name in the folder of its seed, from 1, where kept */
    uint64_t seed;
    uint64_t events;
    uint64_t history_hash; /* XXH64 of the history's bytes; 0 if it was not printed */
    int64_t virtual_ns;    /* how long the run was in true time */
    int64_t wall_ns;
    char library[HISTORY_NAME_BYTES];
    char sentences[RUN_SENTENCES_BYTES]; /* why: a line for each unmet check or violation */
    struct run_found found;              /* all zero where nothing was violated */
    char open[RUN_OPEN_BYTES]; /* "no_leak: why", a line for each check that could not say */
};

void run_one(const struct run_request *request, struct run_report *report);

/*
 * The environment failed. Of a run that was not as expected what was found stands, and behind it
 * why it could not be kept; of any other nothing stands.
 */
void run_failed(struct run_report *report, struct result result, const struct text *why);

/* The command that does this run again, from where picklock was called. */
void run_rerun(const struct run_request *request, struct text *text);

const char *run_status_name(enum run_status status);

/* The status of that name; false if there is none. */
bool run_status_find(const char *name, uint8_t *status);

#endif
