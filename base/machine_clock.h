/*
 * machine_clock.h: the machine's own clocks. For who stands outside of all steps, which are told
 * the time: worlds, drivers, the command.
 */
#ifndef BASE_MACHINE_CLOCK_H
#define BASE_MACHINE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns. */
int64_t monotonic_ns(void);

/* CLOCK_REALTIME in ns since 1970, which may jump. */
int64_t realtime_ns(void);

#endif
