/* page_files.h: the constant parts of a page: its style, its script, what never differs. */
#ifndef CHECKER_REPORT_PAGE_FILES_H
#define CHECKER_REPORT_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const void *bytes;
    size_t length;
};

extern const struct page_file page_style;
extern const struct page_file page_script; /* of the page of a run */
extern const struct page_file page_toolbar;
extern const struct page_file page_below; /* what stands under the picture */
extern const struct page_file page_batch_style;

#endif
