/* page.h: writes the picture of a history to a file. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "base/result.h"
#include "base/text.h"
#include "checker/report/html.h"

/* Whole, or fail with ERROR_IO. */
MUST_USE struct result page_write(const struct html_page *page, const char *path, struct text *why);

#endif
