/* page.h: writes the page of a history, or its trace, to a file. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "base/result.h"
#include "base/text.h"
#include "checker/report/page.h"

/* Whole, or fail with ERROR_IO. */
MUST_USE struct result page_write(const struct page *page, const char *path, struct text *why);

/* The same for the trace of a history (checker/report/trace.h). */
MUST_USE struct result trace_write(const struct explain_history *history,
                                   const struct stories *stories, const char *path,
                                   struct text *why);

#endif
