/* spool.h: standard input as a file that can be read more than once. */
#ifndef CLI_SPOOL_H
#define CLI_SPOOL_H

#include "base/result.h"
#include "base/text.h"

/* Copy standard input to an unlinked temporary file; gives a path that opens it until we end. */
MUST_USE struct result spool_standard_input(struct text *path, struct text *why);

#endif
