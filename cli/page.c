/* page.c: writes the page of a history, or its trace, to a file. */
#include "cli/page.h"

#include "checker/report/trace.h"
#include "cli/files.h"

static struct result buffer_write(struct buffer *buffer, const char *path, struct text *why)
{
    struct result result = RESULT_OK;
    if (buffer->failed) {
        text_add(why, "%s: no memory to draw it", path);
        result = result_error(ERROR_IO);
    } else {
        result = file_write(path, buffer->data, buffer->length, why);
    }
    buffer_release(buffer);
    return result;
}

struct result page_write(const struct page *page, const char *path, struct text *why)
{
    struct buffer buffer = {0};
    page_print(page, &buffer);
    return buffer_write(&buffer, path, why);
}

struct result trace_write(const struct explain_history *history, const struct stories *stories,
                          const char *path, struct text *why)
{
    struct buffer buffer = {0};
    trace_print(history, stories, &buffer);
    return buffer_write(&buffer, path, why);
}
