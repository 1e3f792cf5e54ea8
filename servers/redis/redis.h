/* redis.h: the parts of the kind "redis", for its row. */
#ifndef SERVERS_REDIS_REDIS_H
#define SERVERS_REDIS_REDIS_H

#include "servers/launch.h"
#include "servers/redis/real/wire.h"
#include "servers/server.h"

extern const struct server_model redis_service; /* service.c */
extern const struct server_launch redis_launch; /* launch.c */

#endif
