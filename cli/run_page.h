/* run_page.h: the page of one run: its picture, its story, what the scenario expects of it. */
#ifndef CLI_RUN_PAGE_H
#define CLI_RUN_PAGE_H

#include "cli/recording.h"
#include "cli/run_one.h"

struct run_page {
    const struct run_request *request;
    const struct plan *plan;
    const struct recording *recording;
    const struct run_report *report; /* compared already */
};

/* Write report.html into the run's folder, or fail with ERROR_IO. */
MUST_USE struct result run_page_write(const struct run_page *page, struct text *why);

/* Write the run's trace (checker/report/trace.h), or fail with ERROR_IO. */
MUST_USE struct result run_page_trace(const struct recording *recording, const char *path,
                                      struct text *why);

#endif
