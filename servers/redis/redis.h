/* redis.h: the parts of the kind "redis", for its row. */
#ifndef SERVERS_REDIS_REDIS_H
#define SERVERS_REDIS_REDIS_H

#include "servers/launch.h"
#include "servers/redis/real/wire.h"
#include "servers/server.h"

extern const struct server_model redis_service; /* service.c */
extern const struct server_launch redis_launch; /* launch.c */

/* sentinel.c: on node i's machine, going to others from 127.0.0.(first + i), as node i does. */
enum { SENTINEL_SOURCE_FIRST = 2 };
extern const struct server_launch redis_sentinel_launch;
extern const struct server_peers redis_sentinel_peers;

/* launch.c: does it answer? */
bool redis_alive(struct server_process *process);

#endif
