/* sql_steps.h: seeded random sequences of what locks ask a database, and what befalls it. */
#ifndef TESTS_SIM_SQL_STEPS_H
#define TESTS_SIM_SQL_STEPS_H

#include "base/duration.h"
#include "base/random.h"
#include "base/text.h"
#include "lockcore/sql/command.h"

#include <stdbool.h>
#include <string.h>

enum { STEPS_MAX = 512, WINDOW_MAX = 20, SESSIONS = 3, RESOURCES = 3, OWNERS = 3 };

enum step_kind {
    STEP_COMMAND,
    STEP_WAIT,    /* until all that was asked is answered: what stands between two of them is asked
                     at once, by several sessions */
    STEP_JUMP,    /* amount: ns */
    STEP_RATE,    /* amount: ppm, for a few milliseconds of the machine's time */
    STEP_CLEANER, /* rows that are over are deleted */
    STEP_CLEAN,   /* a shutdown, and a start, as all that stop the server */
    STEP_CRASH,   /* with what a session has just asked */
    STEP_POWER,   /* the same */
    STEP_END,     /* the database ends a session (pg_terminate_backend), the same */
    STEP_LEAVE,   /* a client goes */
};

struct step {
    enum step_kind kind;
    uint32_t session; /* COMMAND, END, LEAVE */
    struct lock_command command;
    uint32_t resource;
    int64_t amount;
};

struct steps {
    uint32_t count;
    struct step list[STEPS_MAX];
};

/* Around what matters: a ttl, a millisecond more or less, and far away. */
static inline int64_t step_around(struct random_stream *stream)
{
    static const int64_t ms[] = {1, 2, 100, 1000, 10000, 60000};
    static const int64_t off_ns[] = {0, 1, -1, NS_PER_MS, -NS_PER_MS, 499999};
    int64_t amount_ns = ms[random_below(stream, 6)] * NS_PER_MS + off_ns[random_below(stream, 6)];
    return random_below(stream, 4) == 0 ? -amount_ns : amount_ns;
}

static inline struct step step_command(struct random_stream *stream, int64_t wall_ns)
{
    static const int64_t ttls_ms[] = {1, 2, 100, 1000, 10000};
    struct step step = {.kind = STEP_COMMAND, .session = (uint32_t)random_below(stream, SESSIONS)};
    step.resource = (uint32_t)random_below(stream, RESOURCES);
    step.command.kind = 1 + (uint32_t)random_below(stream, SQL_STATEMENTS - 1);
    if (random_below(stream, 3) == 0) {
        step.command.kind = SQL_INSERT;
    }
    memset(&step.command.value, 1 + (int)random_below(stream, OWNERS), sizeof step.command.value);
    step.command.ttl_ms = ttls_ms[random_below(stream, 5)];
    step.command.number = (wall_ns + step_around(stream)) / NS_PER_MS;
    return step;
}

static inline struct step step_event(struct random_stream *stream, bool power)
{
    static const enum step_kind kinds[] = {STEP_JUMP,    STEP_JUMP,  STEP_JUMP,    STEP_JUMP,
                                           STEP_JUMP,    STEP_RATE,  STEP_END,     STEP_END,
                                           STEP_LEAVE,   STEP_LEAVE, STEP_CLEANER, STEP_CLEANER,
                                           STEP_CLEANER, STEP_CRASH, STEP_CRASH,   STEP_CLEAN};
    struct step step = {.kind = kinds[random_below(stream, 16)]};
    step.session = (uint32_t)random_below(stream, SESSIONS);
    if (step.kind == STEP_CRASH && power) {
        step.kind = STEP_POWER;
    }
    if (step.kind == STEP_JUMP) {
        step.amount = step_around(stream);
    } else if (step.kind == STEP_RATE) {
        step.amount = (int64_t)random_below(stream, 8000000);
    }
    return step;
}

static inline bool step_strikes(const struct step *step)
{
    return step->kind == STEP_CRASH || step->kind == STEP_POWER || step->kind == STEP_END;
}

/* Windows of questions that are asked at once, each with an answer before the next; about one in
 * twelve ends with something else. What strikes a session strikes it while it asks. */
static inline void steps_draw(struct steps *steps, uint64_t seed, int64_t wall_ns, bool power)
{
    struct random_stream stream = random_stream("sql steps", seed);
    steps->count = 0;
    while (steps->count + WINDOW_MAX + 2 <= STEPS_MAX) {
        struct step event = {.kind = STEP_WAIT};
        if (random_below(&stream, 12) == 0) {
            event = step_event(&stream, power);
        }
        uint32_t asked = (uint32_t)random_below(&stream, WINDOW_MAX + 1);
        uint32_t sessions = 1 + (uint32_t)random_below(&stream, SESSIONS);
        for (uint32_t i = 0; i < asked; i++) {
            struct step command = step_command(&stream, wall_ns);
            command.session = step_strikes(&event) ? event.session : command.session % sessions;
            steps->list[steps->count++] = command;
        }
        if (!step_strikes(&event)) {
            steps->list[steps->count++] = (struct step){.kind = STEP_WAIT};
        }
        steps->list[steps->count++] = event;
    }
}

static inline void step_print(const struct step *step, struct text *text)
{
    static const char *const names[] = {"",         "wait",  "jump",      "rate", "cleaner",
                                        "shutdown", "crash", "power cut", "end",  "leave"};
    if (step->kind != STEP_COMMAND) {
        text_add(text, "  %s %u %lld\n", names[step->kind], step->session, (long long)step->amount);
        return;
    }
    text_add(text, "  %u: %s r%u owner %d ttl %lld at %lld\n", step->session,
             sql_dialect.rows[step->command.kind].name, step->resource,
             step->command.value.bytes[0], (long long)step->command.ttl_ms,
             (long long)step->command.number);
}

#endif
