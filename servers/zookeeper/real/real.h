/* real.h: the parts of the kind "zookeeper" in the real world: ZooKeeper, and its own protocol. */
#ifndef SERVERS_ZOOKEEPER_REAL_REAL_H
#define SERVERS_ZOOKEEPER_REAL_REAL_H

#include "lockcore/drivers/connection.h"
#include "servers/launch.h"
#include "servers/wire.h"

extern const struct server_launch zookeeper_launch;       /* launch.c */
extern const struct server_wire zookeeper_wire;           /* wire.c */
extern const struct connection_kind zookeeper_connection; /* connect.c */

/* Is its client library there, as a header when this was built and as a library now? */
struct server_lack libzookeeper_lacks(void);

#endif
