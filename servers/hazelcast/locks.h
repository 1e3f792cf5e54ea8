/* locks.h: what a Hazelcast cluster does with invocations: the half of its model without clocks. */
#ifndef SERVERS_HAZELCAST_LOCKS_H
#define SERVERS_HAZELCAST_LOCKS_H

#include "servers/hazelcast/grid.h"

/* grid.c: ask to be woken for a session; move its end by a heartbeat; when its wait is over. */
void grid_session_arm(struct grid *grid, uint32_t copy, uint32_t number, struct server_door *door);
void grid_session_extend(struct grid *grid, uint32_t copy, struct grid_session *session,
                         const struct server_door *door);
void grid_wait_set(struct grid *grid, struct grid_session *session, int64_t wait_ns,
                   const struct server_door *door);

/* locks.c: the model's function; a session is over, and what it had goes to whoever waits; an
 * invocation has waited long enough; a copy in which nothing is. */
void grid_ask(void *state, const struct server_ask *ask, struct server_door *door);
void grid_session_end(struct grid *grid, uint32_t copy, uint32_t number,
                      const struct server_turn *why, struct server_door *door);
void grid_wait_over(struct grid *grid, uint32_t copy, uint32_t number, struct server_door *door);
void grid_copy_clear(struct grid *grid, uint32_t copy);

#endif
