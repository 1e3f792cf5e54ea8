/* settle.h: judges the resources whose operations had to be kept. */
#ifndef CHECKER_LINEAR_SETTLE_H
#define CHECKER_LINEAR_SETTLE_H

#include "checker/linear/steps/stream.h"

/* Judge every resource that was not decided as its events arrived; adds to linear->result. */
void settle_resources(struct linear *linear);

/* Whether it was not decided as its events arrived. */
bool settle_is_left(const struct linear *linear, uint32_t resource);

#endif
