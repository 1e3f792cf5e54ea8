/* lateness.h: whether this machine's lateness alone keeps a run from being as its file expects. */
#ifndef CLI_LATENESS_H
#define CLI_LATENESS_H

#include "cli/recording.h"
#include "cli/run_one.h"

/*
 * Whether each check of `report->unmet` is so for it. A fail that did not come, a fault that struck
 * nobody, and what there was nothing to judge of, are the machine's doing where it stood still for
 * a quarter of the ttl or longer: what a file puts in order by events goes another way then.
 */
bool lateness_alone(const struct recording *recording, const struct run_report *report);

/* A line that says for how long it stood still. */
void lateness_print(const struct recording *recording, struct text *text);

#endif
