/*
 * hints.h: why a scenario that was meant to break a lock did not: what its faults did, in this run.
 *
 *     fault 2 (pause, line 11) waited for an event that never came again, and ended with all others
 *     fault 1 (latency, line 10) put replies off by 1.5 s, and node_timeout 300 ms refused the lock
 *     before that mattered
 *     its faults struck nodes 1 and 2 of 5: a majority was never broken
 */
#ifndef CLI_HINTS_H
#define CLI_HINTS_H

#include "checker/explain/explain.h"
#include "harness/scenario.h"

/* A line for each that is true of the history; nothing where none is. */
void hints_print(const struct scenario *scenario, const struct explain_history *history,
                 struct text *text);

#endif
