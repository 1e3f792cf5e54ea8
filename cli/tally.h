/*
 * tally.h: what the page of a batch tells of its runs: for which causes, how often, since when.
 *
 *     tally_open -> tally_add for every run, in order -> batch_page_write -> tally_close
 *
 * Bounded, however many runs there are: of each scenario in a world the first seeds and the rates
 * of at most TALLY_PERIODS stretches of runs, which double when they are full; of all runs together
 * the first TALLY_CAUSES causes.
 */
#ifndef CLI_TALLY_H
#define CLI_TALLY_H

#include "cli/report.h"

enum {
    TALLY_BOXES = 40,
    TALLY_PERIODS = 24,
    TALLY_CAUSES = 64,
    TALLY_PLACES = 6,
    TALLY_LINK_BYTES = 512,
    TALLY_RERUN_BYTES = 1024,
};

enum tally_box { BOX_CALM, BOX_VIOLATED, BOX_DIFFERS, BOX_UNKNOWN };

struct tally_period {
    uint64_t runs;
    uint64_t violated;
};

/* One scenario in one world. */
struct tally_row {
    const struct report_group *group;
    uint32_t box_count;
    uint8_t boxes[TALLY_BOXES]; /* enum tally_box */
    uint64_t seeds[TALLY_BOXES];
    uint64_t period_runs; /* of a whole period */
    uint32_t period_count;
    struct tally_period periods[TALLY_PERIODS];
    uint8_t blames;              /* bit b: enum blame b was found */
    bool link_differs;           /* the link is to a run that is not as expected */
    char link[TALLY_LINK_BYTES]; /* folder of a run that was kept; "" if none was */
};

struct tally_place {
    const struct report_group *group;
    uint64_t runs;
};

/* Runs with one cause: the same check in the lead, the same blame, the same sentence but for its
 * numbers, the same lock. */
struct tally_cause {
    char pattern[EVIDENCE_TITLE_BYTES];
    char title[EVIDENCE_TITLE_BYTES];
    char advice[EVIDENCE_ADVICE_BYTES];
    char lock[HISTORY_NAME_BYTES];
    char rerun[TALLY_RERUN_BYTES];
    char link[TALLY_LINK_BYTES];
    uint8_t blame;
    uint8_t lead;       /* RUN_CHECKS_MAX: no check failed */
    bool shown_differs; /* title and rerun are of a run that is not as expected */
    uint64_t runs;
    uint64_t differs; /* of them not as expected */
    uint64_t checks[RUN_CHECKS_MAX];
    uint64_t seed;
    uint32_t place_count;
    struct tally_place places[TALLY_PLACES];
};

struct tally {
    struct tally_row *rows; /* owned */
    size_t row_count;
    size_t row_room;
    uint32_t cause_count;
    uint64_t causes_left_out; /* runs whose cause had no room */
    struct tally_cause causes[TALLY_CAUSES];
};

/* NULL if memory is short: there is no page then. */
struct tally *tally_open(void);
void tally_add(struct tally *tally, const struct report *report, const struct report_group *group,
               const struct run_report *run);

/* Runs of the group were kept only now, the shortest of each kind: link to them. */
void tally_kept(struct tally *tally, const struct report *report, const struct report_group *group);
void tally_close(struct tally *tally);

#endif
