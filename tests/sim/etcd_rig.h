/*
 * etcd_rig.h: the model of an etcd cluster and a real one, side by side: the same requests in the
 * same order, the same answers, revisions included. Time is the machine's: what the model does by
 * itself it does when that has come, and nothing is asked when a lease may or may not be over.
 */
#ifndef TESTS_SIM_ETCD_RIG_H
#define TESTS_SIM_ETCD_RIG_H

#include "base/random.h"
#include "servers/etcd/cluster.h"
#include "servers/etcd/real/gateway.h"
#include "servers/etcd/real/http.h"
#include "servers/etcd/real/member.h"
#include "servers/kinds.h"
#include "tests/sim/rig_door.h"
#include "tests/sim/rig_members.h"

#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RIG_RESOURCES = 3,
    RIG_CLIENTS = 3,
    RIG_LEASES = RIG_RESOURCES * RIG_CLIENTS * CLUSTER_LEASES,
    RIG_MODEL_BYTES = 1 << 14,
    RIG_BATCH_MAX = 64,
    RIG_ASK_BYTES = 4096,
    DIFFERENCE_BYTES = 2 * MEMBER_ANSWER_BYTES,
};

/* A request, and who asks it for what. */
struct rig_step {
    uint32_t lease; /* RIG_LEASES of them: each of one client for one resource */
    struct lock_command command;
};

struct rig {
    struct members members;
    int fd;
    uint32_t asked_node; /* whose fd it is */
    bool wrong_order;    /* plant a wrong rule in the model: who comes last is the oldest */
    uint64_t commands;
    uint64_t leaders;             /* killed */
    int64_t place_of[RIG_LEASES]; /* the revision that a put gave it; 0: none is known */
    struct server_node clocks[RIG_NODES_MAX];
    struct server_door door; /* of the model */
    struct lock_reply reply; /* what it answered last */
    bool replied;
    int64_t due_ns[RIG_LEASES + 1];
    uint64_t restarted_at; /* so many commands had been compared then */
    char difference[DIFFERENCE_BYTES];
    _Alignas(16) char model[RIG_MODEL_BYTES];
};

static inline struct cluster *rig_cluster(struct rig *rig)
{
    return (struct cluster *)(void *)rig->model;
}

/* ---- the model ------------------------------------------------------------------------------- */

static inline void door_arm(struct server_door *door, uint32_t wake, int64_t true_ns)
{
    cr_assert_leq(wake, (uint32_t)RIG_LEASES);
    RIG_OF(door)->due_ns[wake] = true_ns;
}

static inline void door_answer(struct server_door *door, const struct server_ask *ask,
                               struct lock_reply reply, uint64_t event)
{
    (void)ask;
    (void)event;
    RIG_OF(door)->reply = reply;
    RIG_OF(door)->replied = true;
}

static inline void rig_model_init(struct rig *rig)
{
    struct server_shape shape = {.dialect = &etcd_dialect,
                                 .node_count = rig->members.count,
                                 .client_count = RIG_CLIENTS,
                                 .resource_count = RIG_RESOURCES};
    cr_assert_leq(etcd_cluster.bytes(&shape), (size_t)RIG_MODEL_BYTES);
    etcd_cluster.init(rig->model, &shape);
    rig_wakes_init(rig->due_ns, RIG_LEASES + 1);
    rig_clocks_init(rig->clocks, rig->members.count);
    rig->door = (struct server_door){.true_ns = loop_now_ns(),
                                     .nodes = rig->clocks,
                                     .record = door_record,
                                     .arm = door_arm,
                                     .answer = door_answer};
}

/* Let the model do all that is due by now, in its order. */
static inline void rig_model_time(struct rig *rig)
{
    int64_t now_ns = loop_now_ns();
    for (;;) {
        uint32_t first = rig_wake_first(rig->due_ns, RIG_LEASES + 1);
        if (rig->due_ns[first] > now_ns) {
            rig->door.true_ns = now_ns;
            return;
        }
        rig->door.true_ns = rig->due_ns[first];
        rig->due_ns[first] = TIME_NEVER;
        etcd_cluster.wake(rig->model, first, &rig->door);
    }
}

static inline struct lock_reply rig_model_ask(struct rig *rig, const struct rig_step *step)
{
    struct server_ask ask = {
        .resource = step->lease / (RIG_CLIENTS * CLUSTER_LEASES),
        .client = step->lease / CLUSTER_LEASES % RIG_CLIENTS,
        .command = step->command,
    };
    rig->replied = false;
    etcd_cluster.ask(rig->model, &ask, &rig->door);
    cr_assert(rig->replied, "the model has no leader");
    if (rig->wrong_order && step->command.kind == ETCD_ENQUEUE &&
        rig->reply.type == LOCK_REPLY_NO) {
        rig->reply.type = LOCK_REPLY_NUMBER;
    }
    return rig->reply;
}

/* ---- the cluster ----------------------------------------------------------------------------- */

#define RIG_STATUS "/v3/maintenance/status"

/* A question to one member, by itself. */
static inline int64_t rig_number(struct rig *rig, uint32_t node, const char *path, const char *name)
{
    char memory[MEMBER_ANSWER_BYTES];
    struct text answer = text_over(memory, sizeof memory);
    RIG_MUST(member_ask(&rig->members.nodes[node].server, path, "{}", &answer, &why));
    return gateway_number((struct wire_text){answer.data, (uint32_t)answer.length}, name);
}

/* What a member has done so far is on its disk: "hash" commits before it counts. */
static inline void rig_commit(struct rig *rig, uint32_t node)
{
    cr_assert_gt(rig_number(rig, node, "/v3/maintenance/hash", "hash"), 0);
}

/* As 304 for 3.4. */
static inline uint32_t rig_version(struct rig *rig)
{
    char memory[256];
    struct text name = text_over(memory, sizeof memory);
    struct node *node = &rig->members.nodes[0];
    unsigned major;
    unsigned minor;
    RIG_MUST(node->launch->version(&node->server, &name, &why));
    cr_assert_eq(sscanf(memory, "etcd %u.%u", &major, &minor), 2, "%s", memory);
    return major * 100 + minor;
}

/* Who leads, as one that is up says it; waits until there is one. */
static inline uint32_t rig_leader(struct rig *rig)
{
    for (;;) {
        for (uint32_t i = 0; i < rig->members.count; i++) {
            bool up = rig->members.nodes[i].state == NODE_UP;
            if (up && rig_number(rig, i, RIG_STATUS, "leader") ==
                          rig_number(rig, i, RIG_STATUS, "header.member_id")) {
                return i;
            }
        }
        rig_nap(5 * NS_PER_MS);
    }
}

static inline void rig_connect(struct rig *rig, uint32_t node)
{
    if (rig->fd >= 0) {
        (void)close(rig->fd);
    }
    rig->asked_node = node;
    rig->fd = address_connect(rig->members.nodes[node].server.address);
    cr_assert_geq(rig->fd, 0);
}

static inline void rig_open(struct rig *rig, uint32_t node_count)
{
    memset(rig, 0, sizeof *rig);
    rig->fd = -1;
    members_need(SERVER_KIND_etcd, "etcd_differential");
    members_open(&rig->members, SERVER_KIND_etcd, node_count, 0, false);
    members_start(&rig->members, (UINT64_C(1) << node_count) - 1);
    rig_connect(rig, 0);
    rig_model_init(rig);
}

static inline void rig_close(struct rig *rig)
{
    if (rig->fd >= 0) {
        (void)close(rig->fd);
    }
    members_close(&rig->members);
}

/* ---- both ------------------------------------------------------------------------------------ */

static inline void rig_say(struct rig *rig, const struct rig_step *step)
{
    static struct gateway_request request;
    static char bytes[sizeof request + 256];
    char name[2] = {'r', (char)('0' + step->lease / (RIG_CLIENTS * CLUSTER_LEASES))};
    gateway_print(&step->command, (struct wire_text){name, sizeof name}, &request);
    int length = snprintf(bytes, sizeof bytes,
                          "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                          request.path, strlen(request.body), request.body);
    cr_assert_eq(send(rig->fd, bytes, (size_t)length, MSG_NOSIGNAL), length);
}

/* The next answer; what was read beyond it stays in `bytes`. */
static inline struct lock_reply rig_hear(struct rig *rig, const struct rig_step *step, char *bytes,
                                         size_t bytes_max, size_t *count)
{
    struct http_message message;
    char body[RIG_ASK_BYTES];
    enum wire_tells tells;
    while (http_cut(bytes, *count, HTTP_REPLY, &message) == WIRE_CUT_MORE) {
        ssize_t got = recv(rig->fd, bytes + *count, bytes_max - *count, 0);
        cr_assert_gt(got, 0, "the connection ended");
        *count += (size_t)got;
    }
    size_t body_bytes = http_body(&message, body, sizeof body);
    struct lock_reply reply = gateway_reply(&step->command, message.status,
                                            (struct wire_text){body, (uint32_t)body_bytes}, &tells);
    *count -= message.bytes;
    memmove(bytes, bytes + message.bytes, *count);
    return reply;
}

/* What a later command of this lease needs to know. */
static inline void rig_learn(struct rig *rig, const struct rig_step *step, struct lock_reply reply)
{
    bool puts = step->command.kind == ETCD_PUT || step->command.kind == ETCD_ENQUEUE;
    if (puts) {
        rig->place_of[step->lease] = reply.type == LOCK_REPLY_NUMBER ? reply.number : 0;
    } else if (step->command.kind == ETCD_REVOKE) {
        rig->place_of[step->lease] = 0;
    }
}

/* What both hold, where they part: the revision that each key was created at, and the whole answer.
 */
static inline void rig_tell_state(struct rig *rig, struct text *text)
{
    char memory[MEMBER_ANSWER_BYTES];
    char reason[WHY_BYTES];
    struct text answer = text_over(memory, sizeof memory);
    struct text why = text_over(reason, sizeof reason);
    const struct cluster *cluster = rig_cluster(rig);
    text_add(text, "; restarted %" PRIu64 " commands ago; the model is at revision %" PRId64 ":",
             rig->commands - rig->restarted_at, cluster->revision);
    for (uint32_t i = 0; i < RIG_LEASES; i++) {
        const struct cluster_lease *lease = &cluster->leases[i];
        if (lease->open) {
            text_add(text, " lease %u, key %" PRId64 ";", i, lease->revision);
        }
    }
    bool told =
        !result_failed(member_ask(&rig->members.nodes[rig->asked_node].server, "/v3/kv/range",
                                  "{\"key\":\"AA==\",\"range_end\":\"AA==\"}", &answer, &why));
    text_add(text, " etcd: %s", told ? memory : reason);
}

/* Ask both; false: they answer otherwise, as rig->difference says. */
static inline bool rig_ask(struct rig *rig, const struct rig_step *steps, uint32_t count)
{
    static char bytes[RIG_BATCH_MAX * RIG_ASK_BYTES];
    size_t read = 0;
    bool same = true;
    cr_assert_leq(count, (uint32_t)RIG_BATCH_MAX);
    for (uint32_t i = 0; i < count; i++) {
        rig_say(rig, &steps[i]);
    }
    rig_model_time(rig);
    for (uint32_t i = 0; i < count && same; i++) {
        struct lock_reply told = rig_hear(rig, &steps[i], bytes, sizeof bytes, &read);
        struct lock_reply reply = rig_model_ask(rig, &steps[i]);
        rig_learn(rig, &steps[i], told);
        same = told.type == reply.type && told.number == reply.number;
        if (!same) {
            struct text difference = text_over(rig->difference, sizeof rig->difference);
            text_add(&difference,
                     "command %" PRIu64 ", %s of lease %u: etcd answers %d %" PRId64
                     ", the model %d %" PRId64,
                     rig->commands, etcd_dialect.rows[steps[i].command.kind].name, steps[i].lease,
                     told.type, told.number, reply.type, reply.number);
            rig_tell_state(rig, &difference);
        }
        rig->commands++;
    }
    return same;
}

static inline struct rig_step rig_step_of(uint32_t lease, enum etcd_command kind, int64_t ttl_ms)
{
    struct rig_step step = {.lease = lease, .command = {.kind = kind}};
    step.command.value.bytes[0] = (uint8_t)(lease + 1);
    step.command.ttl_ms = kind == ETCD_GRANT ? ttl_ms : 0;
    return step;
}

#define RIG_AGREE(rig, step) cr_assert(rig_ask(rig, &(step), 1), "%s", (rig)->difference)

/* A member is killed and started again, in both. */
static inline void rig_kill(struct rig *rig, uint32_t real, uint32_t modelled)
{
    struct server_turn turn = {.node = modelled};
    node_crash(&rig->members.nodes[real]);
    rig_model_time(rig);
    (void)etcd_cluster.stop(rig->model, &turn, SERVER_STOP_KILLED, 0, &rig->door);
    members_start(&rig->members, UINT64_C(1) << real);
    rig_model_time(rig);
    etcd_cluster.start(rig->model, &turn, &rig->door);
    rig_nap(CLUSTER_ELECTION_NS);
    rig_connect(rig, rig_leader(rig));
    rig->restarted_at = rig->commands;
}

#endif
