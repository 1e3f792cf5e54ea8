/* report_formats.h: what report.c says to machines about a group of runs, and in which words. */
#ifndef CLI_REPORT_FORMATS_H
#define CLI_REPORT_FORMATS_H

#include "cli/report.h"

void report_group_text(const struct report *report, const struct report_group *group);
void report_group_tap(struct report *report, const struct report_group *group);
void report_junit(const struct report *report, const struct report_group *groups,
                  size_t group_count);
void report_summary(const struct report *report, const struct report_group *groups, size_t count);
void report_group_github(const struct report_group *group);

/* In text, before the count: what is not as expected or unknown, where other lines buried it. */
void report_recap(const struct report *report, const struct report_group *groups, size_t count);

/* "exclusion fail (library), no_leak fail": what was violated, in how many of the runs; else what
 * passed. */
void report_violations(const struct report_group *group, struct text *text);

/* The run that stands for its group where one must: the shortest of those that say what the group
 * comes to. */
const struct run_report *report_example(const struct report_group *group);

/* Why a check was skipped in this run. */
void report_skipped(const struct run_report *run, size_t check, struct text *text);

/* "validity: the lock declares no validity", a line for each check that was skipped. */
void report_skips(const struct run_report *run, const char *indent, struct text *text);

#endif
