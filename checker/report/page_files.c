/* page_files.c: the files in checker/report/script/, as the Makefile puts them into bytes. */
#include "checker/report/page_files.h"

#include <page_bytes.h>

#define FILE_OF(name)                                                                              \
    {                                                                                              \
        name##_bytes, sizeof name##_bytes                                                          \
    }

const struct page_file page_style = FILE_OF(style);
const struct page_file page_script = FILE_OF(script);
const struct page_file page_toolbar = FILE_OF(toolbar);
const struct page_file page_below = FILE_OF(below);
const struct page_file page_batch_style = FILE_OF(batch_style);
