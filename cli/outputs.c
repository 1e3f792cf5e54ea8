/* outputs.c: the files that are written beside the results. */
#include "cli/outputs.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Half a file is none, and half a page that was added to one as well. */
static void output_take_back(const struct output *output)
{
    struct stat info;
    if (lstat(output->path, &info) != 0 || !S_ISREG(info.st_mode)) {
        return;
    }
    if (output->before == 0) {
        (void)unlink(output->path);
    } else if (truncate(output->path, output->before) != 0) {
        return; /* it is told that it could not be written */
    }
}

static struct result output_open(struct output *output, struct text *why)
{
    struct stat info;
    bool is_there = output->path != NULL && stat(output->path, &info) == 0;
    if (output->path == NULL) {
        return RESULT_OK;
    }
    output->before = output->adds && is_there && S_ISREG(info.st_mode) ? info.st_size : 0;
    output->file = fopen(output->path, output->adds ? "ae" : "we");
    if (output->file == NULL) {
        text_add(why, "cannot write %s: %s", output->path, strerror(errno));
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

struct result outputs_open(struct output *outputs, size_t count, struct text *why)
{
    struct result result = RESULT_OK;
    for (size_t i = 0; i < count && !result_failed(result); i++) {
        result = output_open(&outputs[i], why);
    }
    for (size_t i = 0; i < count && result_failed(result); i++) {
        if (outputs[i].file != NULL) {
            (void)fclose(outputs[i].file);
            outputs[i].file = NULL;
            output_take_back(&outputs[i]);
        }
    }
    return result;
}

struct result outputs_close(struct output *outputs, size_t count, struct result before,
                            struct text *why)
{
    struct result result = before;
    for (size_t i = 0; i < count; i++) {
        struct output *output = &outputs[i];
        if (output->file == NULL) {
            continue;
        }
        bool empty = ftello(output->file) == output->before;
        bool broken = ferror(output->file) != 0;
        errno = 0;
        broken = fclose(output->file) != 0 || broken;
        if (broken && !result_failed(result)) {
            text_add(why, "cannot write %s: %s", output->path,
                     errno != 0 ? strerror(errno) : "not all of it was taken");
            result = result_error(ERROR_IO);
        }
        if (broken || (empty && result_failed(before))) {
            output_take_back(output);
        }
    }
    return result;
}
