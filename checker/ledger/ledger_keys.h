/* ledger_keys.h: a part of ledger_step: what happened to a key on a node. */
#ifndef CHECKER_LEDGER_KEYS_H
#define CHECKER_LEDGER_KEYS_H

#include "checker/ledger/ledger.h"

void ledger_step_node(struct ledger *ledger, const struct history_event *event);

/* An acquire has ended: so have the questions about the keys that it set. */
void ledger_keys_answered(struct ledger *ledger, const struct history_event *event,
                          const struct ledger_claim *granted);

#endif
