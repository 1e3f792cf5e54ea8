/* lanes.h: the picture itself: an SVG with a lane for each client and each node. */
#ifndef CHECKER_REPORT_LANES_H
#define CHECKER_REPORT_LANES_H

#include "checker/explain/explain.h"

/* `violation` is what the picture is about; NULL: the whole history, as far as it fits. */
void lanes_print(const struct explain_history *history, const struct check_result *violation,
                 struct text *text);

#endif
