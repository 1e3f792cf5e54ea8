/* differential_events.h: what befalls a node, done to the model and to the real one. */
#ifndef TESTS_SIM_DIFFERENTIAL_EVENTS_H
#define TESTS_SIM_DIFFERENTIAL_EVENTS_H

#include "tests/sim/differential_rig.h"
#include <stdlib.h>

static inline void rig_jump(struct rig *rig, int64_t amount_ns)
{
    rig->wall_ns += amount_ns;
    rig_set_clocks(rig);
}

/* Let the real clock run at a rate for a moment; then take over where it stopped. */
static inline void rig_rate(struct rig *rig, int64_t rate_ppm)
{
    struct timespec moment = {.tv_nsec = 2 * NS_PER_MS};
    struct clock_page *clock = rig_node(rig)->clock;
    node_clock_set(rig_node(rig), 0, rate_ppm);
    nanosleep(&moment, NULL);
    node_clock_set(rig_node(rig), 0, 0);
    int64_t shown_ns = atomic_load(&clock->base_shown_ns);
    cr_assert_geq(shown_ns - rig->wall_ns, 2 * rate_ppm);
    rig->wall_ns = shown_ns;
    rig_set_clocks(rig);
}

/* A restart forgets what was only set for the time being. */
static inline void rig_restarted(struct rig *rig)
{
    redis_model_refuse(rig_model(rig), NULL);
    rig->readonly = false;
    rig_connect(rig);
}

static inline void rig_stop_model(struct rig *rig, struct redis_model *model, enum server_stop how,
                                  uint32_t kept)
{
    redis_model_prepare_stop(model, how, kept);
    redis_model_stop(model);
    redis_model_start(model, rig->true_ns);
    redis_model_refuse(model, NULL);
}

/*
 * everysec: while an fsync is under way Redis keeps back what it has answered already (aof.c,
 * flushAppendOnlyFile). The model's disk is never that slow: let the real one catch up.
 */
static inline void rig_wait_written(struct rig *rig)
{
    static struct admin_reply reply;
    for (;;) {
        RIG_MUST(rig, node_ask(rig_node(rig), (const char *[]){"INFO", "persistence", NULL}, &reply,
                               &why));
        if (memmem(reply.items[0].data, reply.items[0].bytes, "aof_buffer_length:0", 19)) {
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
}

static inline void rig_restart(struct rig *rig, enum server_stop how)
{
    if (how == SERVER_STOP_CLEAN) {
        RIG_MUST(rig, node_shutdown(rig_node(rig), &why));
    } else {
        if (rig->fsync == FSYNC_EVERYSEC) {
            rig_wait_written(rig);
        }
        node_crash(rig_node(rig));
    }
    rig_up(rig_node(rig));
    rig_stop_model(rig, rig_model(rig), how, 0);
    rig_restarted(rig);
}

/*
 * Redis 7.0 repairs a tail that is torn inside a transaction by cutting off the torn record only:
 * the MULTI before it stays open, and the next restart drops everything that was written since
 * (aof.c, loadSingleAppendOnlyFile, short read). Do what its administrator must: check and fix.
 */
static inline void rig_fix_file(struct rig *rig)
{
    const char *server = rig_node(rig)->options.server;
    char command[NODE_PATH_BYTES * 2 + 256];
    if (rig->fsync == FSYNC_NONE) {
        return;
    }
    /* A server is its own checker by another name; before 7.0 there is one file only. */
    (void)snprintf(command, sizeof command,
                   "cd '%s' && file=appendonlydir/appendonly.aof.manifest && "
                   "{ [ -e $file ] || file=appendonly.aof; } && "
                   "ln -sf \"$(realpath $(command -v '%s'))\" redis-check-aof && "
                   "yes | ./redis-check-aof --fix $file >/dev/null 2>&1",
                   rig_node(rig)->directory, server != NULL ? server : "redis-server");
    cr_assert_eq(system(command), 0);
}

/* Redis must come back with one of the states that the model calls legal; the model takes it. */
static inline bool rig_power(struct rig *rig, struct random_stream *stream)
{
    struct node_power_loss loss;
    struct rig_key keys[RESOURCES];
    if (rig->fsync == FSYNC_EVERYSEC) {
        rig_wait_written(rig);
    }
    RIG_MUST(rig, node_power_loss(rig_node(rig), stream, &loss, &why));
    rig_fix_file(rig);
    rig_up(rig_node(rig));
    rig_restarted(rig);
    rig_read_all(rig, keys);
    uint32_t unsynced = rig->fsync == FSYNC_EVERYSEC ? redis_model_unsynced(rig_model(rig), 0) : 0;
    for (uint32_t kept = 0; kept <= unsynced; kept++) {
        struct redis_model *trial = (struct redis_model *)(void *)rig->trial;
        memcpy(rig->trial, rig->model, sizeof rig->trial);
        rig_stop_model(rig, trial, SERVER_STOP_POWER, kept);
        if (rig_same(rig, trial, keys)) {
            memcpy(rig->model, rig->trial, sizeof rig->model);
            rig->difference[0] = '\0';
            return true;
        }
    }
    return false;
}

static inline void rig_wait_linked(struct node *node)
{
    static struct admin_reply reply;
    for (;;) {
        RIG_MUST(rig, node_ask(node, (const char *[]){"INFO", "replication", NULL}, &reply, &why));
        if (memmem(reply.items[0].data, reply.items[0].bytes, "master_link_status:up", 21)) {
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 2 * NS_PER_MS}, NULL);
    }
}

static inline void rig_follow(struct rig *rig)
{
    struct node *replica = &rig->nodes[1 - rig->asked];
    char port[16];
    (void)snprintf(port, sizeof port, "%d", rig_node(rig)->port);
    rig_order(replica, (const char *[]){"REPLICAOF", "127.0.0.1", port, NULL});
    rig_wait_linked(replica);
    rig_order(rig_node(rig), (const char *[]){"WAIT", "1", "1000", NULL});
    rig_order(replica, (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
    rig_order(replica, (const char *[]){"SCRIPT", "FLUSH", NULL});
    redis_model_replica_catch_up(rig_model(rig), rig->true_ns);
    rig->followed = true;
}

static inline void rig_promote(struct rig *rig)
{
    if (!rig->followed) {
        return;
    }
    rig->asked = 1 - rig->asked;
    rig->followed = false;
    rig_connect(rig);
    redis_model_promote(rig_model(rig), rig->true_ns);
}

static inline void rig_refuse(struct rig *rig, enum node_error error)
{
    redis_model_refuse(rig_model(rig), &error);
    if (error == NODE_ERROR_OOM) {
        rig_order(rig_node(rig), (const char *[]){"CONFIG", "SET", "maxmemory", "1", NULL});
    } else {
        rig->readonly = true;
        rig_order(rig_node(rig), (const char *[]){"REPLICAOF", "127.0.0.1", "1", NULL});
    }
}

static inline void rig_accept(struct rig *rig)
{
    redis_model_refuse(rig_model(rig), NULL);
    rig->readonly = false;
    rig_order(rig_node(rig), (const char *[]){"CONFIG", "SET", "maxmemory", "0", NULL});
    rig_order(rig_node(rig), (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
}

static inline bool rig_event(struct rig *rig, const struct step *step, struct random_stream *stream)
{
    if (rig->readonly) {
        /* A replica keeps what is over until its master deletes it: no lock's node does that. */
        rig_accept(rig);
    }
    switch (step->kind) {
    case STEP_JUMP:
        rig_jump(rig, step->amount);
        break;
    case STEP_RATE:
        rig_rate(rig, step->amount);
        break;
    case STEP_CRASH:
        rig_restart(rig, SERVER_STOP_KILLED);
        break;
    case STEP_CLEAN:
        rig_restart(rig, SERVER_STOP_CLEAN);
        break;
    case STEP_POWER:
        return rig_power(rig, stream);
    case STEP_FOLLOW:
        rig_follow(rig);
        break;
    case STEP_PROMOTE:
        rig_promote(rig);
        break;
    case STEP_MEMORY:
        rig_accept(rig);
        rig_refuse(rig, NODE_ERROR_OOM);
        break;
    case STEP_READONLY:
        rig_accept(rig);
        rig_refuse(rig, NODE_ERROR_READONLY);
        break;
    case STEP_ACCEPT:
        rig_accept(rig);
        break;
    case STEP_FLUSH:
        redis_model_flush_scripts(rig_model(rig));
        rig_order(rig_node(rig), (const char *[]){"SCRIPT", "FLUSH", NULL});
        break;
    case STEP_COMMAND:
        cr_assert_fail("a command is no event");
    }
    return rig_compare(rig);
}

/* Run a sequence on both from the beginning; false at the first difference. */
static inline bool rig_run(struct rig *rig, const struct steps *steps, uint64_t seed)
{
    struct random_stream stream = random_stream("power", seed);
    rig_reset(rig);
    uint32_t at = 0;
    while (at < steps->count) {
        uint32_t end = at;
        while (end < steps->count && end - at < RIG_BATCH_MAX &&
               steps->list[end].kind == STEP_COMMAND) {
            rig_send(rig, &steps->list[end++]);
        }
        if (end > at) {
            rig_flush(rig);
        }
        for (; at < end; at++) {
            if (!rig_command(rig, &steps->list[at])) {
                return false;
            }
        }
        if (at < steps->count && steps->list[at].kind != STEP_COMMAND &&
            !rig_event(rig, &steps->list[at++], &stream)) {
            return false;
        }
    }
    return rig_compare(rig);
}

/* Leave out what a difference does not need: halves, quarters, ..., single steps. What is left is
 * run once more, so that the rig tells its difference; none is told if it does not come back. */
static inline void rig_shrink(struct rig *rig, struct steps *steps, uint64_t seed)
{
    for (uint32_t chunk = steps->count; chunk > 0; chunk /= 2) {
        for (uint32_t at = 0; at < steps->count;) {
            struct steps fewer = *steps;
            uint32_t out = chunk < steps->count - at ? chunk : steps->count - at;
            memmove(&fewer.list[at], &fewer.list[at + out],
                    (steps->count - at - out) * sizeof fewer.list[0]);
            fewer.count -= out;
            if (!rig_run(rig, &fewer, seed)) {
                *steps = fewer;
            } else {
                at += out;
            }
        }
    }
    (void)rig_run(rig, steps, seed);
}

#endif
