/* loop.h: the one way in for libuv. */
#ifndef LOCKCORE_DRIVERS_LOOP_H
#define LOCKCORE_DRIVERS_LOOP_H

#include <uv.h>

#endif
