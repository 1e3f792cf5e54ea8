/*
 * ledger_late.h: a part of ledger_step: whoever recorded stood still, and for how long.
 *
 * What was stamped while the recorder stood still, or while it worked off what had come meanwhile,
 * may have happened earlier by as much; and what went through its hands came later. This is the one
 * place that says by how much.
 */
#ifndef CHECKER_LEDGER_LATE_H
#define CHECKER_LEDGER_LATE_H

#include "checker/check.h"
#include "checker/ledger/ledger.h"

struct ledger_lateness {
    int64_t late_ns; /* 0: none; TIME_NEVER: a node did not tell what happened meanwhile */
    int64_t stood_ns;
    uint8_t cause; /* of the longest */
};

void ledger_step_late(struct ledger *ledger, const struct history_event *event);

/* By how much what a finding rests on may be late. */
struct ledger_lateness ledger_late(const struct ledger *ledger, const struct check_rest *rest);

#endif
