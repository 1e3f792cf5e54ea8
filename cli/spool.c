/* spool.c: standard input, or a pipe, as a file that can be read more than once. */
#include "cli/spool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SPOOL_BLOCK_BYTES = 64 * 1024 };

static struct result spool(FILE *from, const char *name, struct text *path, struct text *why)
{
    static char block[SPOOL_BLOCK_BYTES];
    FILE *file = tmpfile();
    bool ok = file != NULL;
    for (size_t got = 1; ok && got > 0;) {
        got = fread(block, 1, sizeof block, from);
        ok = fwrite(block, 1, got, file) == got;
    }
    if (!ok || fflush(file) != 0 || ferror(from)) {
        text_add(why, "cannot keep %s in a temporary file: %s", name, strerror(errno));
        return result_error(ERROR_IO);
    }
    text_add(path, "/proc/self/fd/%d", fileno(file));
    return RESULT_OK;
}

struct result spool_standard_input(struct text *path, struct text *why)
{
    return spool(stdin, "standard input", path, why);
}

bool spool_needed(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

struct result spool_pipe(const char *from, struct text *path, struct text *why)
{
    struct stat about;
    FILE *file = fopen(from, "r");
    if (file == NULL) {
        text_add(why, "%s: %s", from, strerror(errno));
        return result_error(ERROR_IO);
    }
    /* /dev/zero has no end, and would fill the disk; /dev/null is empty like any file. */
    bool device = fstat(fileno(file), &about) == 0 && S_ISCHR(about.st_mode);
    if (device && !isatty(fileno(file)) && fgetc(file) != EOF) {
        text_add(why, "%s: a device; expected a file or a pipe that a history is read from", from);
        (void)fclose(file);
        return result_error(ERROR_USAGE);
    }
    struct result result = spool(file, from, path, why);
    fclose(file);
    return result;
}

struct result spool_told(struct result result, const char *copy, const char *shown,
                         struct text *why)
{
    char memory[2 * WHY_BYTES];
    size_t bytes = strlen(copy);
    if (!result_failed(result) || strncmp(why->data, copy, bytes) != 0) {
        return result;
    }
    (void)snprintf(memory, sizeof memory, "%s", why->data + bytes);
    text_clear(why);
    text_add(why, "%s%s", shown, memory);
    return result;
}
