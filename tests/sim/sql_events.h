/* sql_events.h: what befalls a database, done to the model and to the real one. */
#ifndef TESTS_SIM_SQL_EVENTS_H
#define TESTS_SIM_SQL_EVENTS_H

#include "tests/sim/sql_rig.h"

/* A crash in the middle of a sequence's write may lose what it wrote ahead for, or not. */
enum { SLACK_CRASH = 33, SLACK_END = 1 };

/* Let the real clock run at a rate for a moment; then take over where it stopped. */
static inline void rig_rate(struct rig *rig, int64_t rate_ppm)
{
    struct timespec moment = {.tv_nsec = 2 * NS_PER_MS};
    node_clock_set(&rig->node, 0, rate_ppm);
    nanosleep(&moment, NULL);
    node_clock_set(&rig->node, 0, 0);
    rig_set_clock(rig, atomic_load(&rig->node.clock->base_shown_ns));
}

/* What an administrator runs now and then: it must make no difference to any lock. */
static inline void rig_cleaner(struct rig *rig)
{
    char memory[64];
    struct text nothing = text_over(memory, sizeof memory);
    struct sql_table *table = rig_table(rig->model);
    rig_query(rig, "DELETE FROM locks WHERE until <= clock_timestamp()", &nothing);
    for (uint32_t i = 0; i < RESOURCES; i++) {
        if (table->rows[i].until_ms * NS_PER_MS <= rig->wall_ns) {
            memset(&table->rows[i], 0, sizeof table->rows[i]);
        }
    }
}

/* What one session has asked is on its way when the server stops. */
static inline bool rig_stop(struct rig *rig, enum server_stop how, struct random_stream *stream)
{
    struct rig_seen seen = {.stopped = true, .how = how, .slack = SLACK_CRASH};
    struct node_power_loss loss;
    for (int i = 0; i < SESSIONS; i++) {
        session_write(&rig->sessions[i]);
    }
    switch (how) {
    case SERVER_STOP_KILLED:
        node_crash(&rig->node);
        break;
    case SERVER_STOP_CLEAN:
        seen.slack = 0;
        RIG_MUST(rig, node_shutdown(&rig->node, &why));
        break;
    case SERVER_STOP_POWER:
        RIG_MUST(rig, node_power_loss(&rig->node, stream, &loss, &why));
        break;
    }
    for (int i = 0; i < SESSIONS; i++) {
        (void)session_read(&rig->sessions[i]);
    }
    rig_up(rig);
    return rig_compare(rig, seen);
}

/* The database ends a session that has just asked something. */
static inline bool rig_end(struct rig *rig, uint32_t of)
{
    char statement[256];
    struct session *session = &rig->sessions[of];
    (void)snprintf(statement, sizeof statement,
                   "SELECT pg_terminate_backend(pid, 10000)::int FROM pg_stat_activity"
                   " WHERE client_port = %d",
                   session_port(session));
    for (int i = 0; i < SESSIONS; i++) {
        session_write(&rig->sessions[i]);
    }
    cr_assert_eq(rig_number(rig, statement), 1, "it ends");
    for (int i = 0; i < SESSIONS; i++) {
        (void)session_read(&rig->sessions[i]);
    }
    session_close(session);
    bool same = rig_compare(rig, (struct rig_seen){.slack = SLACK_END, .ended = of + 1});
    session_open(session, rig->node.port);
    return same;
}

/* A client goes: the database notices when its session reads on. */
static inline void rig_leave(struct rig *rig, uint32_t of)
{
    char statement[128];
    struct session *session = &rig->sessions[of];
    (void)snprintf(statement, sizeof statement,
                   "SELECT count(*) FROM pg_stat_activity WHERE client_port = %d",
                   session_port(session));
    session_close(session);
    session_forget(session);
    while (rig_number(rig, statement) > 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    rig_model_end(rig, rig->model, of);
    session_open(session, rig->node.port);
}

static inline bool rig_event(struct rig *rig, const struct step *step, struct random_stream *stream)
{
    switch (step->kind) {
    case STEP_COMMAND:
        break;
    case STEP_WAIT:
        return rig_wait(rig);
    case STEP_JUMP:
        rig_set_clock(rig, rig->wall_ns + step->amount);
        return true;
    case STEP_RATE:
        rig_rate(rig, step->amount);
        return true;
    case STEP_CLEANER:
        rig_cleaner(rig);
        return rig_wait(rig);
    case STEP_CLEAN:
        return rig_stop(rig, SERVER_STOP_CLEAN, stream);
    case STEP_CRASH:
        return rig_stop(rig, SERVER_STOP_KILLED, stream);
    case STEP_POWER:
        return rig_stop(rig, SERVER_STOP_POWER, stream);
    case STEP_END:
        return rig_end(rig, step->session);
    case STEP_LEAVE:
        rig_leave(rig, step->session);
        return true;
    }
    cr_assert_fail("a command is no event");
    return false;
}

/* Both from the beginning. */
static inline void rig_reset(struct rig *rig, int64_t wall_ns)
{
    char memory[64];
    struct text nothing = text_over(memory, sizeof memory);
    rig_set_clock(rig, wall_ns);
    rig_query(rig, "DELETE FROM locks", &nothing);
    rig_query(rig, "SELECT setval('fences', 1, false)", &nothing);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        rig_leave(rig, i);
    }
    rig_model_init(rig);
}

/* Run a sequence on both; false at the first difference. */
static inline bool rig_run(struct rig *rig, const struct steps *steps, int64_t wall_ns,
                           uint64_t seed)
{
    struct random_stream stream = random_stream("power", seed);
    rig_reset(rig, wall_ns);
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->list[i];
        if (step->kind == STEP_COMMAND) {
            session_ask(&rig->sessions[step->session], step);
        } else if (!rig_event(rig, step, &stream)) {
            return false;
        }
    }
    return rig_wait(rig);
}

/* Leave out what a difference does not need: halves, quarters, ..., single steps. What is left is
 * run once more, so that the rig tells its difference; none is told if it does not come back. */
static inline void rig_shrink(struct rig *rig, struct steps *steps, int64_t wall_ns, uint64_t seed)
{
    for (uint32_t chunk = steps->count; chunk > 0; chunk /= 2) {
        for (uint32_t at = 0; at < steps->count;) {
            struct steps fewer = *steps;
            uint32_t out = chunk < steps->count - at ? chunk : steps->count - at;
            memmove(&fewer.list[at], &fewer.list[at + out],
                    (steps->count - at - out) * sizeof fewer.list[0]);
            fewer.count -= out;
            if (!rig_run(rig, &fewer, wall_ns, seed)) {
                *steps = fewer;
            } else {
                at += out;
            }
        }
    }
    (void)rig_run(rig, steps, wall_ns, seed);
}

#endif
