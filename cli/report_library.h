/*
 * report_library.h: the answer to "is my lock safe?": a table of what was tried on a library, and a
 * sentence.
 */
#ifndef CLI_REPORT_LIBRARY_H
#define CLI_REPORT_LIBRARY_H

#include "cli/apart.h"
#include "cli/report.h"

/* What became of a scenario that was tried. */
enum library_outcome {
    LIBRARY_PASSED,
    LIBRARY_BLAMED,     /* the lock broke its own algorithm */
    LIBRARY_ASSUMPTION, /* something that no lock of its kind can survive, or the deployment */
    LIBRARY_UNKNOWN,
    LIBRARY_ERROR,
    LIBRARY_OUTCOMES,
};

enum library_outcome library_outcome(const struct report_group *group);

/* What the outcome is called in the table. */
const char *library_outcome_name(enum library_outcome outcome);

/* The first sentence of what a scenario is about. */
void library_sentence(const char *about, struct text *text);

/* Print the table and the sentence on stdout. */
void report_library(const struct report *report, const struct report_group *groups, size_t count);

/* A line for each scenario that does not apply, in the report's format. */
void report_apart(struct report *report);

#endif
