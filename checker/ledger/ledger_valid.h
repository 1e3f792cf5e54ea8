/*
 * ledger_valid.h: what is always true of a ledger, asserted.
 *
 * ledger_assert_step is cheap and runs after every step, in every build: it looks at what the event
 * was about. ledger_assert_valid looks at everything; tests run it after every event.
 */
#ifndef CHECKER_LEDGER_VALID_H
#define CHECKER_LEDGER_VALID_H

#include "checker/ledger/ledger.h"

void ledger_assert_step(const struct ledger *ledger, const struct history_event *event);

void ledger_assert_valid(const struct ledger *ledger);

#endif
