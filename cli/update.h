/*
 * update.h: `picklock run --update-expect`: writes into scenario files what came of their runs.
 *
 * Only the values of checks that were not as expected are changed, and checks that failed and were
 * not named are added; all else of the file stays byte for byte. Where runs differed, or could not
 * be done, nothing of that check is written.
 */
#ifndef CLI_UPDATE_H
#define CLI_UPDATE_H

#include "cli/report.h"

/* `groups` come file by file, `worlds` of each. Says on `stream` what was changed. */
MUST_USE struct result update_expectations(const struct report_group *groups, size_t count,
                                           size_t worlds, FILE *stream, struct text *why);

#endif
