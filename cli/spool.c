/* spool.c: standard input as a file that can be read more than once. */
#include "cli/spool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SPOOL_BLOCK_BYTES = 64 * 1024 };

struct result spool_standard_input(struct text *path, struct text *why)
{
    static char block[SPOOL_BLOCK_BYTES];
    FILE *file = tmpfile();
    bool ok = file != NULL;
    for (size_t got = 1; ok && got > 0;) {
        got = fread(block, 1, sizeof block, stdin);
        ok = fwrite(block, 1, got, file) == got;
    }
    if (!ok || fflush(file) != 0 || ferror(stdin)) {
        text_add(why, "cannot keep standard input in a temporary file: %s", strerror(errno));
        return result_error(ERROR_IO);
    }
    text_add(path, "/proc/self/fd/%d", fileno(file));
    return RESULT_OK;
}
