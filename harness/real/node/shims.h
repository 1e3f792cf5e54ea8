/* shims.h: where the preload shims are: beside the program, or in its libexec directory. */
#ifndef HARNESS_REAL_SHIMS_H
#define HARNESS_REAL_SHIMS_H

#include "base/result.h"
#include "base/text.h"

#include <stddef.h>

/*
 * Find "picklock-NAME.so". It is looked for in $PICKLOCK_LIBEXEC, then from the directory of the
 * running binary: there, in ../libexec/picklock, in .. and in ../.. (test programs of a build
 * tree). ERROR_ENVIRONMENT if it is nowhere.
 */
MUST_USE struct result shim_find(const char *name, char *path, size_t path_bytes, struct text *why);

#endif
