/* shims.c: where the preload shims are. */
#include "harness/real/node/shims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHIM_PLACES = 5, SHIM_PATH_BYTES = 4096 };

struct result shim_find(const char *name, char *path, size_t path_bytes, struct text *why)
{
    static const char *const below[SHIM_PLACES] = {"", "", "/../libexec/picklock", "/..", "/../.."};
    char self[SHIM_PATH_BYTES];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    self[bytes > 0 ? bytes : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash != NULL) {
        *slash = 0;
    }
    for (int i = 0; i < SHIM_PLACES; i++) {
        const char *start = i == 0 ? getenv("PICKLOCK_LIBEXEC") : self;
        if (start == NULL) {
            continue;
        }
        int length = snprintf(path, path_bytes, "%s%s/picklock-%s.so", start, below[i], name);
        if (length > 0 && (size_t)length < path_bytes && access(path, R_OK) == 0) {
            return RESULT_OK;
        }
    }
    text_add(why,
             "picklock-%s.so is missing: it belongs beside %s/picklock or into libexec/picklock",
             name, self);
    return result_error(ERROR_ENVIRONMENT);
}
