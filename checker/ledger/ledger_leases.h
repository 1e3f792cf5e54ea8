/* ledger_leases.h: parts of ledger_step: operations, sections, notices, moved leases, deaths. */
#ifndef CHECKER_LEDGER_LEASES_H
#define CHECKER_LEDGER_LEASES_H

#include "checker/ledger/ledger.h"

void ledger_step_operation(struct ledger *ledger, const struct history_event *event);
void ledger_step_section(struct ledger *ledger, const struct history_event *event);
void ledger_step_notice(struct ledger *ledger, const struct history_event *event);
void ledger_step_lease(struct ledger *ledger, const struct history_event *event);
void ledger_step_client(struct ledger *ledger, const struct history_event *event);

#endif
