/* page.c: writes the page of a history, or its trace, to a file. */
#include "cli/page.h"

#include "checker/report/trace.h"
#include "cli/files.h"

static struct result buffer_write(struct sheet *sheet, const char *path, struct text *why)
{
    struct result result = RESULT_OK;
    if (sheet->cut) {
        text_add(why, "%s: no memory to draw it", path);
        result = result_error(ERROR_IO);
    } else {
        result = file_write(path, sheet->data, sheet->length, why);
    }
    sheet_release(sheet);
    return result;
}

struct result page_write(const struct page *page, const char *path, struct text *why)
{
    struct sheet sheet = sheet_empty(REPORT_BYTES_MAX);
    page_print(page, &sheet);
    return buffer_write(&sheet, path, why);
}

struct result trace_write(const struct explain_history *history, const struct stories *stories,
                          const char *path, struct text *why)
{
    struct sheet sheet = sheet_empty(REPORT_BYTES_MAX);
    trace_print(history, stories, &sheet);
    return buffer_write(&sheet, path, why);
}
