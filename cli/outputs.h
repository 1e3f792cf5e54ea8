/* outputs.h: the files that are written beside the results, each whole or not at all. */
#ifndef CLI_OUTPUTS_H
#define CLI_OUTPUTS_H

#include "base/result.h"
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>

struct output {
    const char *path; /* NULL: none is wanted */
    bool adds;        /* to what stands in it already */
    FILE *file;       /* NULL until it is open */
    int64_t before;   /* bytes that stood in it */
};

/* Open all `count` that are wanted, or none: ERROR_IO names the one that cannot be written. */
MUST_USE struct result outputs_open(struct output *outputs, size_t count, struct text *why);

/*
 * Close them. What could not be written whole, or was not begun as `before` failed, is taken away:
 * the file, if it is a plain one, or what was added to it. The first failure is the one to tell:
 * `before`, if there was one, else ERROR_IO.
 */
MUST_USE struct result outputs_close(struct output *outputs, size_t count, struct result before,
                                     struct text *why);

#endif
