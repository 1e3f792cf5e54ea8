/* herd.h: the model of redis-servers that follow one of them, and real ones, clocks stopped. */
#ifndef TESTS_SIM_HERD_H
#define TESTS_SIM_HERD_H

#include "servers/redis/redis.h"
#include "servers/redis/service.h"
#include "tests/sim/differential_events.h"
#include "tests/sim/relays.h"

enum {
    HERD_NODES = RELAY_NODES,
    HERD_CLIENTS = 2,
    HERD_RESOURCES = RESOURCES + 1, /* one is the rig's */
    HERD_MODEL_BYTES = 1 << 18,
    HERD_QUEUE = 1 << 12, /* what one node told another and it has not heard */
    HERD_ASKED = 64,      /* of one client at one node, not answered yet */
};

/* What one node tells another, in order. */
struct herd_queue {
    uint32_t first, count;
    struct server_message told[HERD_QUEUE];
};

/* A connection to a server, on both sides. */
struct herd_line {
    struct rig rig; /* the wire; the first client's owns the server */
    uint32_t connection;
    uint32_t asked_count;
    struct step asked[HERD_ASKED];
    uint32_t answer_count;
    struct lock_reply answers[HERD_ASKED]; /* of the model */
};

struct herd {
    struct server_door door;
    struct herd_line lines[HERD_NODES][HERD_CLIENTS];
    struct relays relays;
    struct server_node clocks[HERD_NODES];
    int64_t due_ns[HERD_NODES * (HERD_RESOURCES + HERD_CLIENTS + 1)];
    struct herd_queue queues[HERD_NODES][HERD_NODES];
    bool down[HERD_NODES][HERD_NODES]; /* the link between two is broken: both halves are set */
    bool up[HERD_NODES];
    uint32_t master[HERD_NODES]; /* whom real ones follow */
    uint64_t commands;
    uint64_t waits;       /* WAITs that were not answered at once, ... */
    uint64_t short_waits; /* ... and those that were by fewer than asked for */
    bool trusts;          /* plant a wrong rule in the model: who is sent it has it */
    struct text said;     /* what was asked and done, for whoever looks into a difference */
    char difference[512];
    _Alignas(16) char model[HERD_MODEL_BYTES];
};

static inline struct redis_service *herd_service(struct herd *herd)
{
    return (struct redis_service *)(void *)herd->model;
}

static inline struct redis_member *herd_member(struct herd *herd, uint32_t node)
{
    struct redis_service *service = herd_service(herd);
    return (struct redis_member *)(void *)(service->models + service->members_at) + node;
}

static inline struct node *herd_node(struct herd *herd, uint32_t node)
{
    return &herd->lines[node][0].rig.nodes[0];
}

static inline struct relay *herd_relay(struct herd *herd, uint32_t from, uint32_t to)
{
    return &herd->relays.links[from][to];
}

/* ---- the model ------------------------------------------------------------------------------- */

static inline struct herd *herd_of(const struct server_door *door)
{
    return (struct herd *)(uintptr_t)door;
}

static inline uint64_t herd_record(struct server_door *door, struct history_event *event)
{
    (void)door;
    (void)event;
    return 0;
}

static inline void herd_arm(struct server_door *door, uint32_t wake, int64_t true_ns)
{
    cr_assert_lt(wake, sizeof herd_of(door)->due_ns / sizeof(int64_t));
    herd_of(door)->due_ns[wake] = true_ns;
}

static inline void herd_answer(struct server_door *door, const struct server_ask *ask,
                               struct lock_reply reply, uint64_t event)
{
    struct herd_line *line = &herd_of(door)->lines[ask->node][ask->client];
    (void)event;
    if (ask->client == HERD_CLIENTS) {
        return;
    }
    cr_assert_lt(line->answer_count, (uint32_t)HERD_ASKED);
    line->answers[line->answer_count++] = reply;
}

static inline void herd_tell(struct server_door *door, const struct server_message *told)
{
    struct herd_queue *queue = &herd_of(door)->queues[told->from][told->to];
    if (!herd_of(door)->down[told->from][told->to]) {
        cr_assert_lt(queue->count, (uint32_t)HERD_QUEUE);
        queue->told[(queue->first + queue->count++) % HERD_QUEUE] = *told;
    }
}

/* Who connects to whom is the real ones' business: what is held is held for either. */
static inline bool herd_held(struct herd *herd, uint32_t from, uint32_t to)
{
    return herd_relay(herd, from, to)->held[0] || herd_relay(herd, to, from)->held[1];
}

static inline bool herd_cut(struct herd *herd, uint32_t a, uint32_t b)
{
    return herd_relay(herd, a, b)->cut;
}

static inline bool herd_reaches(const struct server_door *door, uint32_t from, uint32_t to)
{
    struct herd *herd = herd_of(door);
    return herd->up[from] && herd->up[to] && !herd_held(herd, from, to) &&
           !herd_cut(herd, from, to);
}

static inline void herd_refused(struct server_door *door, uint32_t node)
{
    (void)door;
    (void)node;
}

/* Everything that can be heard is heard, and what is due is done. */
static inline void herd_go_on(struct herd *herd)
{
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < HERD_NODES * HERD_NODES; i++) {
            struct herd_queue *queue = &herd->queues[0][0] + i;
            if (queue->count > 0 && !herd_held(herd, i / HERD_NODES, i % HERD_NODES)) {
                struct server_message told = queue->told[queue->first++ % HERD_QUEUE];
                queue->count--;
                redis_service.hear(herd->model, &told, &herd->door);
                more = true;
            }
        }
        for (uint32_t i = 0; i < HERD_NODES * HERD_NODES && herd->trusts; i++) {
            herd_member(herd, i / HERD_NODES)->acked[i % HERD_NODES] = UINT64_MAX;
        }
        for (uint32_t i = 0; i < sizeof herd->due_ns / sizeof(int64_t); i++) {
            if (herd->due_ns[i] <= herd->door.true_ns) {
                herd->due_ns[i] = TIME_NEVER;
                redis_service.wake(herd->model, i, &herd->door);
                more = true;
            }
        }
    }
}

static inline void herd_link(struct herd *herd, uint32_t a, uint32_t b, bool up)
{
    bool can = herd->up[a] && herd->up[b] && !herd_cut(herd, a, b) && !herd_held(herd, a, b) &&
               !herd_held(herd, b, a);
    if (herd->down[a][b] != up || (up && !can)) {
        return;
    }
    herd->down[a][b] = herd->down[b][a] = !up;
    herd->queues[a][b].count = herd->queues[b][a].count = 0;
    redis_service.link(herd->model, a, b, up, &herd->door);
}

static inline void herd_model_init(struct herd *herd, enum fsync_setting fsync)
{
    struct server_shape shape = {.dialect = &redis_dialect,
                                 .node_count = HERD_NODES,
                                 .client_count = HERD_CLIENTS + 1, /* and the rig itself */
                                 .resource_count = HERD_RESOURCES,
                                 .replica_count = HERD_NODES - 1,
                                 .fsync = (uint8_t)fsync,
                                 .ttl_ns = NS_PER_S};
    cr_assert_leq(redis_service.bytes(&shape), (size_t)HERD_MODEL_BYTES);
    cr_assert_leq(redis_service.wakes(&shape), sizeof herd->due_ns / sizeof(int64_t));
    redis_service.init(herd->model, &shape);
    for (uint32_t i = 0; i < sizeof herd->due_ns / sizeof(int64_t); i++) {
        herd->due_ns[i] = TIME_NEVER;
    }
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        herd->clocks[i] = (struct server_node){.wall = CLOCK_SOUND, .mono = CLOCK_SOUND};
        clock_jump(&herd->clocks[i].wall, 0, herd->lines[0][0].rig.wall_ns);
    }
    herd->door = (struct server_door){.nodes = herd->clocks,
                                      .record = herd_record,
                                      .arm = herd_arm,
                                      .answer = herd_answer,
                                      .send = herd_tell,
                                      .reaches = herd_reaches,
                                      .refused = herd_refused};
}

/* ---- the real ones --------------------------------------------------------------------------- */

/* The number behind "name:" in what a server says of itself; -1: it says nothing of it. */
static inline int64_t herd_number(struct herd *herd, uint32_t node, const char *section,
                                  const char *name)
{
    static struct admin_reply reply;
    RIG_MUST(herd, node_ask(herd_node(herd, node), (const char *[]){"INFO", section, NULL}, &reply,
                            &why));
    const char *said = memmem(reply.items[0].data, reply.items[0].bytes, name, strlen(name));
    return said != NULL ? atoll(said + strlen(name)) : -1;
}

static inline void herd_follow(struct herd *herd, uint32_t node, uint32_t master)
{
    char port[16];
    (void)snprintf(port, sizeof port, "%u", herd_relay(herd, node, master)->port);
    rig_order(herd_node(herd, node), (const char *[]){"REPLICAOF", "127.0.0.1", port, NULL});
    herd->master[node] = master;
}

static inline bool herd_streams(struct herd *herd, uint32_t node)
{
    uint32_t master = herd->master[node];
    return master != node && !herd->down[node][master] && herd_reaches(&herd->door, node, master) &&
           herd_reaches(&herd->door, master, node);
}

/* Real replicas say once a second what they have; those of the model only when they are asked. */
static inline void herd_model_settle(struct herd *herd, uint32_t node, int64_t replicas)
{
    struct server_ask ask = {.node = node, .client = HERD_CLIENTS, .resource = RESOURCES};
    bool there = redis_model_cell(redis_of(herd_service(herd), node), RESOURCES)->present;
    ask.command.kind = there ? REDIS_DELETE : REDIS_SETNX; /* a write in any case */
    redis_service.ask(herd->model, &ask, &herd->door);
    ask.command = (struct lock_command){.kind = REDIS_WAIT, .number = replicas, .ttl_ms = 1};
    redis_service.ask(herd->model, &ask, &herd->door);
    herd_go_on(herd);
}

/* What can be under way between them has arrived, and whoever has it has said so. */
static inline void herd_settle(struct herd *herd)
{
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        char count[16];
        int replicas = 0;
        for (uint32_t j = 0; j < HERD_NODES; j++) {
            if (j != i && herd->master[j] == i && herd_streams(herd, j)) {
                rig_wait_linked(herd_node(herd, j));
                replicas++;
            }
        }
        if (replicas == 0 || !herd->up[i] || herd->master[i] != i) {
            continue;
        }
        (void)snprintf(count, sizeof count, "%d", replicas);
        rig_order(herd_node(herd, i), (const char *[]){"SET", "picklock:probe", "1", NULL});
        rig_order(herd_node(herd, i), (const char *[]){"WAIT", count, "0", NULL});
        herd_model_settle(herd, i, replicas);
    }
}

static inline void herd_connect(struct herd *herd, uint32_t node, uint32_t client)
{
    struct herd_line *line = &herd->lines[node][client];
    line->rig.nodes[0].port = herd_node(herd, node)->port;
    line->asked_count = line->answer_count = 0;
    line->rig.in_at = line->rig.in_bytes = 0;
    line->connection++;
    rig_connect(&line->rig);
}

static inline void herd_open(struct herd *herd, enum fsync_setting fsync)
{
    int ports[HERD_NODES];
    memset(herd, 0, sizeof *herd);
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        rig_open(&herd->lines[i][0].rig, fsync, false);
        for (uint32_t client = 1; client < HERD_CLIENTS; client++) {
            herd->lines[i][client].rig.fd = -1;
        }
        ports[i] = herd_node(herd, i)->port;
    }
    relays_open(&herd->relays, ports);
}

static inline void herd_close(struct herd *herd)
{
    relays_close(&herd->relays);
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        for (uint32_t client = 1; client < HERD_CLIENTS; client++) {
            (void)close(herd->lines[i][client].rig.fd);
        }
        rig_close(&herd->lines[i][0].rig);
    }
}

/* All begin anew: nothing is held, the first is followed by the others, nobody has a key. */
static inline void herd_reset(struct herd *herd)
{
    for (uint32_t i = 0; i < HERD_NODES * HERD_NODES; i++) {
        struct relay *relay = &herd->relays.links[0][0] + i;
        relay->held[0] = relay->held[1] = relay->cut = false;
        (&herd->queues[0][0] + i)->count = 0;
    }
    relays_changed(&herd->relays);
    memset(herd->down, 0, sizeof herd->down);
    herd->difference[0] = '\0';
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        if (herd_node(herd, i)->state == NODE_DOWN) {
            rig_up(herd_node(herd, i));
        }
        herd->up[i] = true;
        rig_reset(&herd->lines[i][0].rig);
        rig_order(herd_node(herd, i),
                  (const char *[]){"CONFIG", "SET", "repl-timeout", "1000000000", NULL});
        for (uint32_t client = 0; client < HERD_CLIENTS; client++) {
            herd_connect(herd, i, client);
        }
    }
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        herd->master[i] = 0;
        if (i > 0) {
            herd_follow(herd, i, 0);
        }
    }
    herd_model_init(herd, herd->lines[0][0].rig.fsync);
    herd_settle(herd);
    for (uint32_t i = 0; i < HERD_NODES; i++) { /* a stream brings no scripts, nor do we */
        rig_order(herd_node(herd, i), (const char *[]){"SCRIPT", "FLUSH", NULL});
    }
}

#endif
