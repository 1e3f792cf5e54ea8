/* assert.c: says which assertion failed, and aborts. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void assert_failed(const char *condition, const char *file, int line)
{
    (void)fprintf(stderr, "picklock: bug: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}
