/* page.c: writes the picture of a history to a file. */
#include "cli/page.h"

#include "base/arena.h"
#include "cli/files.h"

struct result page_write(const struct html_page *page, const char *path, struct text *why)
{
    char *memory = memory_resize(NULL, HTML_BYTES_MAX);
    if (memory == NULL) {
        text_add(why, "%s: no memory to draw it", path);
        return result_error(ERROR_IO);
    }
    struct text text = text_over(memory, HTML_BYTES_MAX);
    html_print(page, &text);
    struct result written = file_write(path, text.data, text.length, why);
    memory_release(memory);
    return written;
}
