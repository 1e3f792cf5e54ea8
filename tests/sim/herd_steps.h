/* herd_steps.h: what clients ask of redis-servers that follow one of them, and what befalls those,
 * done to the model and to real ones. */
#ifndef TESTS_SIM_HERD_STEPS_H
#define TESTS_SIM_HERD_STEPS_H

#include "tests/sim/herd.h"

enum { HERD_PATIENCE_S = 20, HERD_BATCH_MAX = 40, HERD_BEHIND_MAX = 10, HERD_WAIT_MS = 50 };

static inline bool herd_differ(struct herd *herd, uint32_t node, const char *what,
                               const int64_t said[2])
{
    (void)snprintf(herd->difference, sizeof herd->difference,
                   "command %llu, node %u, %s: redis says %lld, the model %lld",
                   (unsigned long long)herd->commands, node + 1, what, (long long)said[0],
                   (long long)said[1]);
    return false;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Does it say something within so long, or has said it already? */
static inline bool herd_line_speaks(const struct rig *rig, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = rig->fd, .events = POLLIN};
    return memmem(rig->in + rig->in_at, rig->in_bytes - rig->in_at, "\r\n", 2) != NULL ||
           poll(&poll_fd, 1, timeout_ms) > 0;
}

/* WAIT may find more replicas than it was to wait for. */
static inline bool herd_same(const struct step *step, struct lock_reply real,
                             struct lock_reply model)
{
    bool enough = step->command.kind == REDIS_WAIT && real.type == LOCK_REPLY_NUMBER &&
                  real.number >= step->command.number && model.number >= step->command.number;
    return real.type == model.type && (enough || real.number == model.number);
}

/* The model does not answer: neither does the real one. */
static inline bool herd_silent(struct herd *herd, uint32_t node)
{
    int64_t waiting = 0;
    for (uint32_t i = 0; i < HERD_CLIENTS; i++) {
        waiting += herd->lines[node][i].asked_count > 0 ? 1 : 0;
    }
    for (int i = 0; i < HERD_PATIENCE_S * 1000; i++) {
        int64_t blocked = herd_number(herd, node, "clients", "blocked_clients:");
        if (blocked == waiting) {
            return true;
        }
        (void)poll(NULL, 0, 1);
    }
    return herd_differ(
        herd, node, "clients that wait",
        (int64_t[]){herd_number(herd, node, "clients", "blocked_clients:"), waiting});
}

/* Everything that the model has answered the real one answers too, and nothing else. */
static inline bool herd_hear(struct herd *herd, uint32_t node, uint32_t client)
{
    struct herd_line *line = &herd->lines[node][client];
    for (uint32_t i = 0; i < line->answer_count; i++) {
        const struct step *step = &line->asked[i];
        if (!herd_line_speaks(&line->rig, HERD_PATIENCE_S * 1000)) {
            char what[80];
            (void)snprintf(what, sizeof what, "client %u is not answered, %u of %u", client + 1,
                           i + 1, line->asked_count);
            return herd_differ(herd, node, what,
                               (int64_t[]){herd_number(herd, node, "clients", "blocked_clients:"),
                                           line->answers[i].number});
        }
        struct lock_reply reply = rig_reply(&line->rig, (enum redis_command)step->command.kind);
        herd->commands++;
        if (!herd_same(step, reply, line->answers[i])) {
            bool types = reply.type != line->answers[i].type;
            return herd_differ(herd, node, redis_dialect.rows[step->command.kind].name,
                               types ? (int64_t[]){-reply.type, -(int64_t)line->answers[i].type}
                                     : (int64_t[]){reply.number, line->answers[i].number});
        }
        herd->short_waits +=
            step->command.kind == REDIS_WAIT && reply.number < step->command.number;
    }
    line->asked_count -= line->answer_count;
    memmove(line->asked, line->asked + line->answer_count,
            line->asked_count * sizeof line->asked[0]);
    line->answer_count = 0;
    return true;
}

static inline bool herd_hear_all(struct herd *herd)
{
    for (uint32_t node = 0; node < HERD_NODES; node++) {
        for (uint32_t client = 0; client < HERD_CLIENTS; client++) {
            if (herd->up[node] && !herd_hear(herd, node, client)) {
                return false;
            }
        }
        if (herd->up[node] && !herd_silent(herd, node)) {
            return false;
        }
    }
    return true;
}

/* Few commands stand behind one that waits: more are not read by the model. */
static inline struct step herd_step(struct random_stream *stream, bool may_wait)
{
    struct step step = step_command(stream);
    if (may_wait && random_below(stream, 6) == 0) {
        step.command = (struct lock_command){.kind = REDIS_WAIT, .ttl_ms = HERD_WAIT_MS};
        step.command.number = (int64_t)random_below(stream, 4);
    }
    return step;
}

/* All that passes has come to a node that follows another, whether it can say so or not. */
static inline void herd_catch_up(struct herd *herd, uint32_t node)
{
    uint32_t master = herd->master[node];
    herd_settle(herd);
    if (herd->down[node][master] || !herd_reaches(&herd->door, master, node)) {
        return;
    }
    int64_t written = herd_number(herd, master, "replication", "master_repl_offset:");
    for (int i = 0; i < HERD_PATIENCE_S * 1000; i++) {
        if (herd_number(herd, node, "replication", "slave_repl_offset:") >= written) {
            return;
        }
        (void)poll(NULL, 0, 1);
    }
}

/* Some commands in one go. */
static inline bool herd_batch(struct herd *herd, uint32_t node, uint32_t client,
                              struct random_stream *stream)
{
    struct herd_line *line = &herd->lines[node][client];
    uint32_t count = 1 + (uint32_t)random_below(stream, HERD_BATCH_MAX);
    uint32_t first = line->asked_count;
    if (first > 0) { /* it waits */
        return true;
    }
    text_add(&herd->said, "node %u client %u\n", node + 1, client + 1);
    bool last = false; /* who goes on first of two that waited is nobody's rule */
    for (; count > 0 && line->asked_count < HERD_ASKED && !last; count--) {
        line->asked[line->asked_count] = herd_step(stream, count <= HERD_BEHIND_MAX);
        step_print(&line->asked[line->asked_count], &herd->said);
        last = client > 0 && line->asked[line->asked_count].command.kind == REDIS_WAIT;
        rig_send(&line->rig, &line->asked[line->asked_count++]);
    }
    if (line->asked_count == first) {
        return true;
    }
    if (herd->master[node] != node) {
        herd_catch_up(herd, node); /* what it has is what it is asked about */
    }
    rig_flush(&line->rig);
    for (uint32_t i = first, end = line->asked_count; i < end; i++) {
        struct server_ask ask = {.node = node,
                                 .client = client,
                                 .resource = line->asked[i].resource,
                                 .connection = line->connection,
                                 .command = line->asked[i].command};
        redis_service.ask(herd->model, &ask, &herd->door);
        herd_go_on(herd);
    }
    herd->waits += line->answer_count < line->asked_count ? 1 : 0;
    return herd_hear(herd, node, client) && herd_silent(herd, node);
}

/* ---- what befalls them ----------------------------------------------------------------------- */

/* Its connections to another are over, and that one hears so whatever is held. */
static inline void herd_hang_up(struct herd *herd, uint32_t node, uint32_t other)
{
    struct relay *relay = herd_relay(herd, node, other);
    bool cut = relay->cut;
    relay->cut = true;
    relays_changed(&herd->relays);
    relay->cut = cut;
}

/* Whoever is told to follow drops those that wait, with an error. */
static inline bool herd_told_to_follow(struct herd *herd, uint32_t node)
{
    bool waited[HERD_CLIENTS];
    for (uint32_t client = 0; client < HERD_CLIENTS; client++) {
        waited[client] = herd->lines[node][client].asked_count > 0;
    }
    if (herd->master[node] != node) {
        herd_hang_up(herd, node, herd->master[node]);
    }
    herd_follow(herd, node, herd_member(herd, node)->master);
    for (uint32_t client = 0; client < HERD_CLIENTS; client++) {
        struct herd_line *line = &herd->lines[node][client];
        if (!herd_hear(herd, node, client)) {
            return false;
        }
        if (waited[client]) {
            char byte;
            cr_assert_eq(recv(line->rig.fd, &byte, 1, 0), 0, "it must close the connection");
            herd_connect(herd, node, client);
        }
    }
    return true;
}

/* Each that the model has following another by now. */
static inline bool herd_follow_all(struct herd *herd)
{
    redis_service.reach(herd->model, &herd->door);
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        bool changed = herd->up[i] && herd_member(herd, i)->master != herd->master[i];
        if (changed && !herd_told_to_follow(herd, i)) {
            return false;
        }
    }
    herd_go_on(herd);
    return true;
}

static inline void herd_jump(struct herd *herd, int64_t amount_ns)
{
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        struct rig *rig = &herd->lines[i][0].rig;
        rig->wall_ns += amount_ns;
        rig_set_clock(herd_node(herd, i), rig->wall_ns);
        clock_jump(&herd->clocks[i].wall, herd->door.true_ns, amount_ns);
        redis_service.bent(herd->model, i, &herd->door);
    }
}

/* What `from` tells `to` waits. */
static inline void herd_hold(struct herd *herd, uint32_t from, uint32_t to)
{
    herd_relay(herd, from, to)->held[0] = true;
    herd_relay(herd, to, from)->held[1] = true;
}

static inline void herd_set_cut(struct herd *herd, uint32_t a, uint32_t b, bool cut)
{
    herd_relay(herd, a, b)->cut = cut;
    herd_relay(herd, b, a)->cut = cut;
}

static inline void herd_let_go(struct herd *herd, uint32_t a, uint32_t b)
{
    for (int side = 0; side < 2; side++) {
        herd_relay(herd, a, b)->held[side] = false;
        herd_relay(herd, b, a)->held[side] = false;
    }
    herd_set_cut(herd, a, b, false);
}

static inline void herd_crash(struct herd *herd, uint32_t node)
{
    struct server_turn turn = {.node = node, .fault = HISTORY_NO_FAULT, .cause = CAUSE_RESTART};
    bool cut[HERD_NODES];
    node_crash(herd_node(herd, node));
    for (uint32_t i = 0; i < HERD_NODES; i++) { /* what is under way is lost with it */
        cut[i] = i != node && herd_cut(herd, node, i);
        herd_set_cut(herd, node, i, true);
    }
    relays_changed(&herd->relays);
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        herd_set_cut(herd, node, i, cut[i]);
    }
    (void)redis_service.stop(herd->model, &turn, SERVER_STOP_KILLED, 0, &herd->door);
    herd->up[node] = false;
    for (uint32_t i = 0; i < HERD_NODES; i++) {
        if (i != node) {
            herd_link(herd, node, i, false);
        }
    }
    for (uint32_t client = 0; client < HERD_CLIENTS; client++) {
        herd->lines[node][client].asked_count = herd->lines[node][client].answer_count = 0;
    }
}

static inline void herd_start(struct herd *herd, uint32_t node)
{
    struct server_turn turn = {.node = node, .fault = HISTORY_NO_FAULT, .cause = CAUSE_RESTART};
    rig_up(herd_node(herd, node));
    rig_order(herd_node(herd, node),
              (const char *[]){"CONFIG", "SET", "repl-timeout", "1000000000", NULL});
    redis_service.start(herd->model, &turn, &herd->door);
    herd->up[node] = true;
    herd->master[node] = node;
    for (uint32_t client = 0; client < HERD_CLIENTS; client++) {
        herd_connect(herd, node, client);
    }
    if (herd_member(herd, node)->master != node) {
        herd_follow(herd, node, herd_member(herd, node)->master);
    }
}

static inline void herd_promote(struct herd *herd, uint32_t node)
{
    struct server_turn turn = {.node = node, .fault = 0, .cause = CAUSE_FAILOVER};
    if (redis_service.promote(herd->model, &turn, 0, &herd->door) != SERVER_NOT_PROMOTED) {
        rig_order(herd_node(herd, node), (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
        if (herd->master[node] != node) {
            herd_hang_up(herd, node, herd->master[node]);
        }
        herd->master[node] = node;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static inline bool herd_key_same(struct herd *herd, uint32_t node, uint32_t resource,
                                 const struct rig_key *key)
{
    const struct redis_cell *cell = redis_model_cell(redis_of(herd_service(herd), node), resource);
    int64_t wall_ns = herd->lines[node][0].rig.wall_ns;
    bool present = cell->present && !redis_cell_expired(cell, wall_ns);
    int64_t expire_ms = !present ? -2 : cell->expires ? cell->expire_ms : -1;
    int64_t fence = cell->counted ? cell->fence : 0;
    return key->present == present && key->expire_ms == expire_ms && key->fence == fence &&
           (!present || key->value == cell->value.bytes[0]);
}

/* What streams bring may take a moment. */
static inline bool herd_compare(struct herd *herd, uint32_t node)
{
    struct rig *rig = &herd->lines[node][0].rig;
    struct rig_key keys[RESOURCES];
    uint32_t same = 0;
    if (herd->lines[node][0].asked_count > 0) {
        return true; /* it would wait behind what waits */
    }
    for (int tries = 0; tries < HERD_PATIENCE_S * 100 && same < RESOURCES; tries++) {
        rig_read_all(rig, keys);
        for (same = 0; same < RESOURCES && herd_key_same(herd, node, same, &keys[same]);) {
            same++;
        }
        if (same < RESOURCES) {
            (void)poll(NULL, 0, 10);
        }
    }
    if (same < RESOURCES) {
        const struct redis_cell *cell = redis_model_cell(redis_of(herd_service(herd), node), same);
        (void)snprintf(herd->difference, sizeof herd->difference,
                       "command %llu, node %u, r%u at %lld ms: redis has %d, value %d until %lld, "
                       "fence %lld; the model %d, value %d until %lld (%d), fence %lld (%d)",
                       (unsigned long long)herd->commands, node + 1, same,
                       (long long)(rig->wall_ns / NS_PER_MS), keys[same].present, keys[same].value,
                       (long long)keys[same].expire_ms, (long long)keys[same].fence, cell->present,
                       cell->value.bytes[0], (long long)cell->expire_ms, cell->expires,
                       (long long)cell->fence, cell->counted);
        return false;
    }
    return true;
}

static inline bool herd_event(struct herd *herd, struct random_stream *stream)
{
    struct text *said = &herd->said;
    uint32_t a = (uint32_t)random_below(stream, HERD_NODES);
    uint32_t b = (a + 1 + (uint32_t)random_below(stream, HERD_NODES - 1)) % HERD_NODES;
    static const int64_t ms[] = {1, 2, 60, 100, 1000, 10000};
    int64_t amount_ns = ms[random_below(stream, 6)] * NS_PER_MS;
    herd_settle(herd);
    switch (random_below(stream, 11)) {
    case 10:
        text_add(said, "node %u client 1 connects anew\n", a + 1);
        if (herd->up[a] && herd->lines[a][0].asked_count == 0) {
            herd_connect(herd, a, 0);
        }
        break;
    case 0:
        text_add(said, "cut %u %u\n", a + 1, b + 1);
        herd_set_cut(herd, a, b, true);
        relays_changed(&herd->relays);
        herd_link(herd, a, b, false);
        break;
    case 1:
    case 2:
        text_add(said, "hold what %u tells %u\n", a + 1, b + 1);
        herd_hold(herd, a, b);
        relays_changed(&herd->relays);
        break;
    case 3:
    case 4:
        text_add(said, "mend %u %u\n", a + 1, b + 1);
        herd_let_go(herd, a, b);
        relays_changed(&herd->relays);
        herd_link(herd, a, b, true);
        break;
    case 5:
        text_add(said, "promote %u\n", a + 1);
        if (herd->up[a]) {
            herd_promote(herd, a);
        }
        break;
    case 6:
        text_add(said, "%s %u\n", herd->up[a] ? "crash" : "start", a + 1);
        if (herd->up[a]) {
            herd_crash(herd, a);
            break;
        }
        herd_start(herd, a);
        for (uint32_t i = 0; i < HERD_NODES; i++) {
            if (i != a) {
                herd_link(herd, a, i, true);
            }
        }
        break;
    default:
        text_add(said, "jump %lld\n", (long long)amount_ns);
        herd_jump(herd, amount_ns);
    }
    herd_go_on(herd);
    return herd_follow_all(herd) && herd_hear_all(herd);
}

#endif
