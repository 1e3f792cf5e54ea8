/*
 * html.h: the picture of a history: one page that needs nothing else and opens from a file.
 *
 *     struct html_page page = {.history = ..., .results = ..., .result_count = check_count()};
 *     html_print(&page, &text);        text over HTML_BYTES_MAX bytes: the page is never larger
 *
 * A lane for each client and each node along true time, for one resource: that of the first
 * violation, else the first. Leases, sections and keys are bars, faults are bands, the evidence is
 * red; the stories stand below. What does not fit is left out, and the page says so.
 */
#ifndef CHECKER_REPORT_HTML_H
#define CHECKER_REPORT_HTML_H

#include "checker/explain/explain.h"

enum {
    HTML_BYTES_MAX = 4 << 20,
    HTML_EVENTS_MAX = 6000, /* drawn: those around the first violation */
    HTML_CLIENTS_MAX = 24,  /* lanes: those of the evidence first */
    HTML_STORIES_MAX = 13,
};

struct html_page {
    const struct explain_history *history;
    const struct check_result *const *results; /* by check, in the order of the table */
    size_t result_count;
};

void html_print(const struct html_page *page, struct text *text);

#endif
