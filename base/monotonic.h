/*
 * monotonic.h: the machine's own clock. For who stands outside of all steps, which are told the
 * time: worlds, drivers, the command.
 */
#ifndef BASE_MONOTONIC_H
#define BASE_MONOTONIC_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns. */
int64_t monotonic_ns(void);

#endif
