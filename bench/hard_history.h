/*
 * hard_history.h: random histories of one lock for every model and policy, legal by construction,
 * or with a few operations changed: what the searches of `check` are driven with.
 *
 * A true lock is simulated: each operation takes effect at a moment between its call and its
 * return, or comes back unknown before that, and takes effect later or never. Clients go on after
 * an unknown outcome, with a guess.
 */
#ifndef BENCH_HARD_HISTORY_H
#define BENCH_HARD_HISTORY_H

#include "base/random.h"
#include "checker/linear/linear.h"

struct hard_shape {
    uint8_t model; /* enum linear_model */
    uint32_t operations;
    uint32_t clients; /* at most HARD_CLIENTS_MAX */
    uint32_t owners;  /* clients share so many names; 0: a value for each acquire */
    uint32_t unknown_percent;
    uint32_t look_percent;   /* operations that ask who holds it */
    uint32_t extend_percent; /* of leases */
    uint32_t permits, depth;
    int64_t ttl_ns;
    bool strong, not_held;
    uint32_t changes; /* operations that are changed: the history may be illegal */
};

enum { HARD_CLIENTS_MAX = 64 };

/* A shape for the model, drawn from the seed. */
struct hard_shape hard_shape(enum linear_model model, uint64_t seed);

struct linear_options hard_options(const struct hard_shape *shape);

/* Events in order of time, at most two an operation: memory of the caller. Returns how many. */
uint32_t hard_history(const struct hard_shape *shape, uint64_t seed, struct history_event *events);

#endif
