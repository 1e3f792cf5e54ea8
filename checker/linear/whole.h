/* whole.h: judges the resources whose operations had to be kept, each by the algorithm for it. */
#ifndef CHECKER_LINEAR_WHOLE_H
#define CHECKER_LINEAR_WHOLE_H

#include "checker/linear/frontier.h"
#include "checker/linear/stream.h"

/* Judge every resource that the fast paths left; adds to linear->result. */
void whole_judge_all(struct linear *linear);

/* Replace the operations of an illegal finding by few that contradict each other alone. */
void whole_refine(struct whole *whole);

#endif
