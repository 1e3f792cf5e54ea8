/*
 * zookeeper_model.h: the model of a ZooKeeper ensemble beside a real one: what both are told.
 *
 * Many sessions ask at once, by all members. Each answer of ZooKeeper says the zxid that its member
 * had applied: so it is known in which order the writes were carried out, and what each read could
 * see. In that order the model is asked; its members hear from their leader as late as the real
 * ones did. Each session must then have been told the same, watches included, in the same order.
 *
 * Time is nobody's: what the model does by itself it does when the ensemble has done it.
 */
#ifndef TESTS_SIM_ZOOKEEPER_MODEL_H
#define TESTS_SIM_ZOOKEEPER_MODEL_H

#include "servers/kinds.h"
#include "servers/zookeeper/ensemble.h"
#include "tests/sim/rig_door.h"
#include "tests/sim/rig_members.h"
#include "tests/sim/zookeeper_clients.h"

#include <errno.h>
#include <inttypes.h>

enum {
    RIG_RESOURCES = 3,
    RIG_CLIENTS = 4,
    RIG_ROWS = RIG_RESOURCES * RIG_CLIENTS,
    RIG_WAKES = RIG_ROWS * ENSEMBLE_SESSIONS + RIG_NODES_MAX + 1,
    RIG_MODEL_BYTES = 1 << 16,
    RIG_TOLD_MAX = CLIENT_SAID_MAX,
    RIG_HEARD_MAX = 4096, /* messages that are under way to a member */
    RIG_PLACES_MAX = 8192,
    RIG_WATCHES_MAX = 256,
    RIG_TTL_MS = 20000,
    RIG_MORTAL_MS = 2000, /* of sessions that are to end */
};

/* What the model tells a session. */
struct rig_told {
    enum { TOLD_ANSWER, TOLD_WATCH, TOLD_END } what;
    uint32_t kind; /* of the command that it is about */
    int64_t number;
    struct lock_reply reply;
};

/* One client's, for one lock: `row` of RIG_ROWS. */
struct rig_row {
    struct client client;
    struct lock_value session; /* its name, as the model knows it */
    uint32_t connection;
    uint32_t told_count;
    struct rig_told told[RIG_TOLD_MAX];
    bool watches;          /* the newest watch that was left was not told yet: */
    struct rig_step watch; /* ... by this */
    uint32_t watch_count;  /* watches that ZooKeeper keeps for it: on whom, 0 for all */
    int64_t watched[RIG_WATCHES_MAX];
};

/* What is known of a znode. */
struct rig_znode {
    uint32_t row; /* whose it is */
    int64_t session;
    int64_t created;
    struct lock_value value;
};

struct rig_heard {
    int64_t zxid; /* of the write that it tells of */
    struct server_message message;
};

struct rig {
    struct members members;
    uint64_t commands;
    uint64_t watches; /* that were told */
    uint64_t expired;
    uint64_t unheard; /* writes that were carried out and not answered */
    uint64_t values;
    bool cut;              /* what is told last is not heard */
    bool twice;            /* plant a wrong rule in the model: a watch is told twice */
    bool mortals;          /* sessions live that are to end soon */
    int64_t sure_until_ns; /* by our clock: nobody's session is over before */
    bool failed;
    char difference[512];
    struct rig_row rows[RIG_ROWS];
    struct rig_znode znodes[RIG_RESOURCES][RIG_PLACES_MAX];
    int64_t changed[RIG_RESOURCES]; /* zxid of the newest write */
    struct server_node clocks[RIG_NODES_MAX];
    struct server_door door; /* of the model */
    int64_t zxid;            /* ZooKeeper's, of what the model is being told */
    int64_t due_ns[RIG_WAKES];
    uint32_t heard_count[RIG_NODES_MAX];
    uint32_t heard_at[RIG_NODES_MAX];
    struct rig_heard heard[RIG_NODES_MAX][RIG_HEARD_MAX];
    _Alignas(16) char model[RIG_MODEL_BYTES];
};

static inline struct ensemble *rig_ensemble(struct rig *rig)
{
    return (struct ensemble *)(void *)rig->model;
}

static inline uint32_t rig_resource(uint32_t row)
{
    return row / RIG_CLIENTS;
}

/* Sessions live for so long from now on; those that are to end soon end the soonest. */
static inline void rig_alive(struct rig *rig)
{
    int64_t ttl_ms = rig->mortals ? RIG_MORTAL_MS : RIG_TTL_MS;
    rig->sure_until_ns = loop_now_ns() + ttl_ms / 4 * 3 * NS_PER_MS;
}

/* The first difference is the one that counts; none does where a session may be over by itself. */
FORMATTED(2, 3) static inline void rig_differs(struct rig *rig, const char *format, ...)
{
    va_list words;
    if (loop_now_ns() > rig->sure_until_ns) {
        cr_skip_test("this machine stood still for longer than a session lasts");
    }
    va_start(words, format);
    if (!rig->failed) {
        (void)vsnprintf(rig->difference, sizeof rig->difference, format, words);
    }
    va_end(words);
    rig->failed = true;
}

/* ---- the model ------------------------------------------------------------------------------- */

static inline void door_arm(struct server_door *door, uint32_t wake, int64_t true_ns)
{
    cr_assert_lt(wake, (uint32_t)RIG_WAKES);
    RIG_OF(door)->due_ns[wake] = true_ns;
}

static inline void door_tell(struct server_door *door, const struct server_ask *ask,
                             struct rig_told told)
{
    struct rig_row *row = &RIG_OF(door)->rows[ask->resource * RIG_CLIENTS + ask->client];
    if (ask->connection == row->connection) {
        cr_assert_lt(row->told_count, (uint32_t)RIG_TOLD_MAX);
        told.kind = ask->command.kind;
        told.number = ask->command.number;
        row->told[row->told_count++] = told;
    }
}

static inline void door_answer(struct server_door *door, const struct server_ask *ask,
                               struct lock_reply reply, uint64_t event)
{
    (void)event;
    door_tell(door, ask, (struct rig_told){.what = TOLD_ANSWER, .reply = reply});
}

static inline void door_push(struct server_door *door, const struct server_ask *ask,
                             struct lock_reply reply)
{
    bool ends = ask->command.kind == ZOOKEEPER_OPEN || ask->command.kind == ZOOKEEPER_ATTACH;
    for (int i = 0; i < (RIG_OF(door)->twice ? 2 : 1); i++) {
        door_tell(door, ask,
                  (struct rig_told){.what = ends ? TOLD_END : TOLD_WATCH, .reply = reply});
    }
}

static inline void door_send(struct server_door *door, const struct server_message *message)
{
    struct rig *rig = RIG_OF(door);
    uint32_t to = message->to;
    cr_assert_lt(rig->heard_count[to], (uint32_t)RIG_HEARD_MAX);
    rig->heard[to][rig->heard_count[to]++] = (struct rig_heard){rig->zxid, *message};
}

static inline bool door_reaches(const struct server_door *door, uint32_t from, uint32_t to)
{
    (void)door;
    (void)from;
    (void)to;
    return true;
}

static inline void rig_model_init(struct rig *rig)
{
    struct server_shape shape = {.dialect = &zookeeper_dialect,
                                 .node_count = RIG_NODES_MAX,
                                 .client_count = RIG_CLIENTS,
                                 .resource_count = RIG_RESOURCES,
                                 .ttl_ns = RIG_TTL_MS * NS_PER_MS};
    cr_assert_leq(ensemble_model.bytes(&shape), (size_t)RIG_MODEL_BYTES);
    cr_assert_leq(ensemble_model.wakes(&shape), (uint32_t)RIG_WAKES);
    ensemble_model.init(rig->model, &shape);
    rig_wakes_init(rig->due_ns, RIG_WAKES);
    rig_clocks_init(rig->clocks, RIG_NODES_MAX);
    rig->door = (struct server_door){.true_ns = NS_PER_S,
                                     .nodes = rig->clocks,
                                     .record = door_record,
                                     .arm = door_arm,
                                     .answer = door_answer,
                                     .send = door_send,
                                     .push = door_push,
                                     .reaches = door_reaches};
}

/* A member hears all that was told of writes up to `zxid`. */
static inline void rig_model_hear(struct rig *rig, uint32_t node, int64_t zxid)
{
    while (rig->heard_at[node] < rig->heard_count[node] &&
           rig->heard[node][rig->heard_at[node]].zxid <= zxid) {
        ensemble_model.hear(rig->model, &rig->heard[node][rig->heard_at[node]++].message,
                            &rig->door);
    }
    if (rig->heard_at[node] == rig->heard_count[node]) {
        rig->heard_at[node] = 0;
        rig->heard_count[node] = 0;
    }
}

static inline void rig_model_hear_all(struct rig *rig)
{
    for (uint32_t node = 0; node < RIG_NODES_MAX; node++) {
        rig_model_hear(rig, node, INT64_MAX);
    }
    for (uint32_t node = 0; node < RIG_NODES_MAX; node++) {
        rig_model_hear(rig, node, INT64_MAX); /* of what the leader made of it */
    }
}

/* The leader hears it at once. */
static inline void rig_model_ask(struct rig *rig, uint32_t row, const struct rig_step *step)
{
    struct server_ask ask = {
        .node = rig->rows[row].client.node,
        .client = row % RIG_CLIENTS,
        .resource = rig_resource(row),
        .connection = rig->rows[row].connection,
        .command = {.kind = step->kind, .value = step->value, .number = step->number},
    };
    ask.command.ttl_ms = step->kind == ZOOKEEPER_OPEN ? step->number : 0;
    ensemble_model.ask(rig->model, &ask, &rig->door);
    rig_model_hear(rig, rig_ensemble(rig)->leader, INT64_MAX);
}

static inline void rig_model_wake(struct rig *rig, uint32_t wake)
{
    cr_assert_neq(rig->due_ns[wake], TIME_NEVER, "the model has no such end");
    if (rig->due_ns[wake] > rig->door.true_ns) {
        rig->door.true_ns = rig->due_ns[wake];
    }
    rig->due_ns[wake] = TIME_NEVER;
    ensemble_model.wake(rig->model, wake, &rig->door);
}

/* Members elect and join, as the real ones have. */
static inline void rig_model_settle(struct rig *rig)
{
    for (uint32_t wake = RIG_ROWS * ENSEMBLE_SESSIONS; wake < RIG_WAKES; wake++) {
        if (rig->due_ns[wake] != TIME_NEVER) {
            rig_model_wake(rig, wake);
            wake = RIG_ROWS * ENSEMBLE_SESSIONS - 1; /* what was due before may be so anew */
        }
    }
    rig_model_hear_all(rig);
}

#endif
