/*
 * generate_history.h: histories of locks for benchmarks: clients that acquire, hold and release.
 *
 * A simulation of events: all clients of a lock wait for it at once, a random one is granted. With
 * probability `unknown_ppm` an operation ends unknown, half of them after they took effect; the
 * client then releases again and learns whether it held. An illegal history has one grant too many
 * at nine tenths of its length, while another client surely holds the lock.
 */
#ifndef BENCH_GENERATE_HISTORY_H
#define BENCH_GENERATE_HISTORY_H

#include "base/random.h"
#include "history/event.h"

#include <stdbool.h>
#include <stddef.h>

struct generator_options {
    uint64_t operations;
    uint32_t locks;
    uint32_t clients; /* of each lock */
    uint32_t unknown_ppm;
    bool illegal;
    uint64_t seed;
};

struct generator;

struct generator *generator_open(const struct generator_options *options);

/* The next event; false when `operations` have been invoked: the last ones stay open. */
bool generator_next(struct generator *generator, struct history_event *event);
void generator_close(struct generator *generator);

#endif
