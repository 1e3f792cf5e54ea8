/* ledger_faults.h: a part of ledger_step: a fault began, showed its effect, or ended. */
#ifndef CHECKER_LEDGER_FAULTS_H
#define CHECKER_LEDGER_FAULTS_H

#include "checker/ledger/ledger.h"

void ledger_step_fault(struct ledger *ledger, const struct history_event *event);

#endif
