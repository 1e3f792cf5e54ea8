/*
 * real.h: the parts of the kind "hazelcast" in the real world: Hazelcast's members as
 * adapters/hazelcast starts them, which carry out what our locks ask by the operations that
 * Hazelcast's own FencedLock sends to its group. A line a question, a line an answer, in order:
 *
 *     create-session NAME VALUE TTL-MS           +  done
 *     try-lock NAME VALUE WAIT-MS INVOCATION     -  not done
 *     heartbeat NAME VALUE                       :N done, and here is the number
 *     unlock NAME VALUE                          ?  who knows
 *
 * To the harness it also says whether it may be asked (`ready`: + or -: there is a leader, and in
 * the beginning it is member 1), the time of day (`clock`: :ms since 1970) and its `version`.
 */
#ifndef SERVERS_HAZELCAST_REAL_REAL_H
#define SERVERS_HAZELCAST_REAL_REAL_H

#include "lockcore/drivers/connection.h"
#include "servers/launch.h"
#include "servers/wire.h"

enum { HAZELCAST_LINE_BYTES = 1280 }; /* with a name of 1,024 */

extern const struct server_launch hazelcast_launch;       /* launch.c */
extern const struct server_wire hazelcast_wire;           /* wire.c */
extern const struct connection_kind hazelcast_connection; /* connect.c */

/* wire.c: the answer in a line that is whole, with its end. */
struct lock_reply hazelcast_answer(const char *line, size_t bytes);

#endif
