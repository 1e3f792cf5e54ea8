/* spool.h: standard input, or a pipe, as a file that can be read more than once. */
#ifndef CLI_SPOOL_H
#define CLI_SPOOL_H

#include "base/result.h"
#include "base/text.h"

#include <stdbool.h>

/* Copy standard input to an unlinked temporary file; gives a path that opens it until we end. */
MUST_USE struct result spool_standard_input(struct text *path, struct text *why);

/* Whether the path can be read only once: a named pipe, <(command), a terminal. */
bool spool_needed(const char *path);
/* As above, of such a path. */
MUST_USE struct result spool_pipe(const char *from, struct text *path, struct text *why);

/* Pass `result` on; where `why` begins with the copy's path, it names what was given instead. */
MUST_USE struct result spool_told(struct result result, const char *copy, const char *shown,
                                  struct text *why);

#endif
