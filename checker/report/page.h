/*
 * page.h: a history as one HTML page that needs nothing else and opens from a file.
 *
 *     struct page page = {.history = ..., .results = ..., .result_count = check_count(),
 *                         .stories = ...};
 *     page_print(&page, &sheet);
 *
 * The finding first: a sentence, whom to blame, what to do, the command. Then the picture: a lane
 * for the guarded store, each client and each node along true time, drawn by the one script of all
 * pages from the events that are embedded (pack.h), with the bars that the ledger told (marks.h)
 * and the numbered steps of the stories. Then what was expected and what was found. The page may
 * run no other script and load nothing; what a history brought is shown and never obeyed.
 */
#ifndef CHECKER_REPORT_PAGE_H
#define CHECKER_REPORT_PAGE_H

#include "checker/explain/explain.h"
#include "checker/report/encode.h"
#include "checker/story/story.h"

/* What a scenario expects of one check. */
struct page_expectation {
    const char *verdict; /* "" where it expects nothing */
    const char *blame;   /* "" where it does not say */
    bool met;
};

struct page {
    const struct explain_history *history;
    const struct check_result *const *results; /* by check, in the order of the table */
    size_t result_count;
    const struct stories *stories;
    const struct page_expectation *expected; /* by check; NULL: nothing is known of it */
    const char *const *faults;               /* as the scenario has them, by number; or NULL */
    size_t fault_count;
    const char *rerun; /* the command that runs it again, or NULL */
};

void page_print(const struct page *page, struct sheet *sheet);

/* page_data.c: the embedded data: two scripts of text that nobody runs. */
void page_print_data(const struct page *page, struct sheet *sheet);

/* Begin a page of ours, up to its body: its policy, its title, its style. `script` and what is
 * added to the style may be NULL. */
struct page_file;
void page_print_head(const char *title, const struct page_file *script,
                     const struct page_file *more_style, struct sheet *sheet);

#endif
