/*
 * lockcore.h: everything that an application needs to lock something with redis.
 *
 *     lock.h               the algorithm as a step, for whoever brings sockets and timers
 *     drivers/blocking.h   calls that wait
 *     drivers/locks.h      many locks on a libuv loop
 *     drivers/links.h      commands and replies only
 *
 *     cc guard.c $(pkg-config --cflags --libs lockcore)
 *
 * Installed as <lockcore/lockcore.h>. It stands here because the core itself knows no driver.
 */
#ifndef LOCKCORE_DRIVERS_LOCKCORE_H
#define LOCKCORE_DRIVERS_LOCKCORE_H

#include "lockcore/algorithms.h"
#include "lockcore/drivers/blocking.h"
#include "lockcore/drivers/links.h"
#include "lockcore/drivers/locks.h"
#include "lockcore/lock.h"
#include "lockcore/redis/command.h"

#endif
