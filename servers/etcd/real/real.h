/* real.h: the parts of the kind "etcd" in the real world: etcd, and its gateway for HTTP. */
#ifndef SERVERS_ETCD_REAL_REAL_H
#define SERVERS_ETCD_REAL_REAL_H

#include "lockcore/drivers/connection.h"
#include "servers/launch.h"
#include "servers/wire.h"

extern const struct server_launch etcd_launch;       /* launch.c */
extern const struct server_wire etcd_wire;           /* wire.c */
extern const struct connection_kind etcd_connection; /* connect.c */

/* Is libcurl there, as a header when this was built and as a library now? */
struct server_lack libcurl_lacks(void);

#endif
