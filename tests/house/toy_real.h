/* real.h: the parts of the kind "toy" in the real world. */
#ifndef SERVERS_TOY_REAL_H
#define SERVERS_TOY_REAL_H

#include "lockcore/drivers/connection.h"
#include "servers/launch.h"
#include "servers/wire.h"

extern const struct server_launch toy_launch;
extern const struct server_wire toy_wire;
extern const struct connection_kind toy_connection;

#endif
