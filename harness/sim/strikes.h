/* strikes.h: what a fault does to one client or one node, for faults.c. */
#ifndef HARNESS_SIM_STRIKES_H
#define HARNESS_SIM_STRIKES_H

#include "harness/sim/state.h"

/* An event about fault `k`, with its target and what was asked. */
struct history_event fault_event(const struct sim *sim, uint32_t k, enum history_f f);

/* Record an effect: what was observed at `node`, or HISTORY_NO_NODE. */
void fault_tell_effect(struct sim *sim, uint32_t k, int32_t node, int64_t observed);

void fault_strike_client(struct sim *sim, uint32_t k, uint32_t client);
void fault_spare_client(struct sim *sim, uint32_t k, uint32_t client);
void fault_strike_node(struct sim *sim, uint32_t k, uint32_t index);
void fault_spare_node(struct sim *sim, uint32_t k, uint32_t index);

#endif
