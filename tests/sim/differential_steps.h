/* differential_steps.h: seeded random sequences of what locks send and what befalls their node. */
#ifndef TESTS_SIM_DIFFERENTIAL_STEPS_H
#define TESTS_SIM_DIFFERENTIAL_STEPS_H

#include "base/duration.h"
#include "base/random.h"
#include "base/text.h"
#include "harness/scenario.h"
#include "lockcore/redis/command.h"

#include <string.h>

enum { STEPS_MAX = 512, RESOURCES = 3, VALUES = 3 };

enum step_kind {
    STEP_COMMAND,
    STEP_JUMP,    /* amount: ns */
    STEP_RATE,    /* amount: ppm, for a few milliseconds of the machine's time */
    STEP_CRASH,   /* and restart, as all that stop the node */
    STEP_CLEAN,   /* a shutdown */
    STEP_POWER,   /* a power cut */
    STEP_FOLLOW,  /* a replica catches up, then hears nothing more */
    STEP_PROMOTE, /* the replica takes over */
    STEP_MEMORY,  /* out of memory */
    STEP_READONLY,
    STEP_ACCEPT, /* the node works again */
    STEP_FLUSH,  /* SCRIPT FLUSH */
};

struct step {
    enum step_kind kind;
    struct lock_command command;
    uint32_t resource;
    int64_t amount;
};

struct steps {
    uint32_t count;
    struct step list[STEPS_MAX];
};

static inline struct lock_value step_value(uint64_t number)
{
    struct lock_value value;
    memset(&value, (int)number + 1, sizeof value);
    return value;
}

static inline struct step step_command(struct random_stream *stream)
{
    static const int64_t ttls_ms[] = {1, 2, 100, 1000, 10000};
    struct step step = {.kind = STEP_COMMAND};
    step.resource = (uint32_t)random_below(stream, RESOURCES);
    step.command.kind = (uint32_t)random_below(stream, REDIS_WAIT);
    step.command.form = random_below(stream, 4) == 0 ? LOCK_FORM_LONG : LOCK_FORM_SHORT;
    step.command.value = step_value(random_below(stream, VALUES));
    step.command.ttl_ms = ttls_ms[random_below(stream, 5)];
    step.command.number = 1 + (int64_t)random_below(stream, 3);
    if (random_below(stream, 2) == 0) {
        /* Counters live near the clock in microseconds: be sometimes above, sometimes below. */
        step.command.number = 1700000000000000 + (int64_t)random_below(stream, 400000000000000);
    }
    return step;
}

/* Around what matters: a ttl, a millisecond more or less, and far away. */
static inline int64_t step_jump(struct random_stream *stream)
{
    static const int64_t ms[] = {1, 2, 100, 1000, 10000, 60000};
    int64_t amount_ns = ms[random_below(stream, 6)] * NS_PER_MS;
    static const int64_t off_ns[] = {0, 1, -1, NS_PER_MS, -NS_PER_MS, 499999};
    amount_ns += off_ns[random_below(stream, 6)];
    return random_below(stream, 4) == 0 ? -amount_ns : amount_ns;
}

static inline struct step step_event(struct random_stream *stream, bool replicas)
{
    static const enum step_kind plain[] = {STEP_JUMP,   STEP_JUMP,   STEP_JUMP,     STEP_JUMP,
                                           STEP_RATE,   STEP_CRASH,  STEP_CLEAN,    STEP_POWER,
                                           STEP_MEMORY, STEP_ACCEPT, STEP_READONLY, STEP_FLUSH};
    static const enum step_kind followed[] = {STEP_JUMP, STEP_JUMP, STEP_FOLLOW, STEP_PROMOTE,
                                              STEP_FLUSH};
    struct step step = {.kind = replicas ? followed[random_below(stream, 5)]
                                         : plain[random_below(stream, 12)]};
    if (step.kind == STEP_JUMP) {
        step.amount = step_jump(stream);
    } else if (step.kind == STEP_RATE) {
        step.amount = (int64_t)random_below(stream, 8000000);
    }
    return step;
}

/* A sequence of `count` steps; about one in twenty is no command. */
static inline void steps_draw(struct steps *steps, uint64_t seed, uint32_t count, bool replicas)
{
    struct random_stream stream = random_stream("steps", seed);
    steps->count = count;
    for (uint32_t i = 0; i < count; i++) {
        bool event = random_below(&stream, replicas ? 40 : 20) == 0;
        steps->list[i] = event ? step_event(&stream, replicas) : step_command(&stream);
    }
}

static inline void step_print(const struct step *step, struct text *text)
{
    static const char *const names[] = {
        "",       "jump",    "rate",          "crash",     "shutdown", "power cut",
        "follow", "promote", "out of memory", "read only", "accept",   "script flush"};
    if (step->kind != STEP_COMMAND) {
        text_add(text, "  %s %lld\n", names[step->kind], (long long)step->amount);
        return;
    }
    text_add(text, "  %s%s r%u value %d ttl %lld fence %lld\n",
             redis_dialect.rows[step->command.kind].name,
             step->command.form == LOCK_FORM_LONG ? " (text)" : "", step->resource,
             step->command.value.bytes[0], (long long)step->command.ttl_ms,
             (long long)step->command.number);
}

#endif
