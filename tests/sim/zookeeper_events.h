/* zookeeper_events.h: what befalls sessions and members of both: batches of questions, sessions
 * that begin, move and end, members that are killed. */
#ifndef TESTS_SIM_ZOOKEEPER_EVENTS_H
#define TESTS_SIM_ZOOKEEPER_EVENTS_H

#include "servers/zookeeper/real/member.h"
#include "tests/sim/zookeeper_rig.h"

/* ---- all at once ----------------------------------------------------------------------------- */

static inline bool rig_waits(const struct client *client)
{
    return client->fd >= 0 && client->answered < client->asked;
}

/* Read what has come. */
static inline void rig_read(struct rig *rig, int wait_ms)
{
    struct pollfd polls[RIG_ROWS];
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        polls[of] = (struct pollfd){.fd = rig->rows[of].client.fd, .events = POLLIN};
    }
    int ready = poll(polls, RIG_ROWS, wait_ms);
    cr_assert(ready > 0 || wait_ms < CLIENT_WAIT_MS, "ZooKeeper says nothing");
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (polls[of].fd >= 0 && polls[of].revents != 0) {
            client_read(&rig->rows[of].client);
        }
    }
}

/* Write all that was asked, and read until it is answered, or its connection has ended. */
static inline void rig_gather(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        client_write(&rig->rows[of].client);
    }
    for (uint32_t of = 0; of < RIG_ROWS;) {
        if (rig_waits(&rig->rows[of].client)) {
            rig_read(rig, CLIENT_WAIT_MS);
        } else {
            of++;
        }
    }
}

/* Both were told all: compare it. */
static inline void rig_compare(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        struct rig_row *row = &rig->rows[of];
        rig_compare_row(rig, of);
        client_forget(&row->client);
        row->told_count = 0;
    }
    if (!rig->mortals) {
        rig_alive(rig);
    }
}

static inline bool rig_has_session(const struct rig *rig, uint32_t of)
{
    return rig->rows[of].client.fd >= 0;
}

/* The number by which a parent counts those that come and go, and of its newest write. */
static inline void rig_compare_parents(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        struct client *client = &rig->rows[of].client;
        uint32_t resource = rig_resource(of);
        int64_t created = ensemble_clients_of(rig_ensemble(rig), resource)->created;
        if (!rig_has_session(rig, of) || rig->failed) {
            continue;
        }
        const struct client_said *said = &client->said[client->said_count - 1];
        if (said->changes != 2 * created - said->child_count ||
            said->changed < rig->changed[resource]) {
            rig_differs(rig,
                        "row %u: ZooKeeper counts %" PRId64 " changes and %u children at %" PRIx64
                        ", the model %" PRId64 " znodes at %" PRIx64,
                        of, said->changes, said->child_count, said->changed, created,
                        rig->changed[resource]);
        }
    }
}

/* Whoever has nothing under way hears of all that was written by now, and looks around. */
static inline void rig_settle(struct rig *rig)
{
    struct rig_step sync = {.kind = CLIENT_SYNC};
    struct rig_step look = {.kind = ZOOKEEPER_CHILDREN};
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (rig_has_session(rig, of)) {
            client_ask(&rig->rows[of].client, &sync);
        }
    }
    rig_gather(rig);
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (rig_has_session(rig, of)) {
            client_ask(&rig->rows[of].client, &look);
        }
    }
    rig_gather(rig);
    rig_replay(rig);
    rig_compare_parents(rig);
    rig_compare(rig);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static inline struct lock_value rig_value(struct rig *rig)
{
    struct lock_value value = {.bytes = {0}};
    rig->values++;
    memcpy(value.bytes, &rig->values, sizeof rig->values);
    return value;
}

/* By a new connection to `node`: begin a session, or go on with the row's; false: that is over. */
static inline bool rig_attach(struct rig *rig, uint32_t of, uint32_t node, int64_t ttl_ms)
{
    struct rig_row *row = &rig->rows[of];
    bool begins = row->client.session == 0;
    row->session = begins ? rig_value(rig) : row->session;
    row->connection++;
    row->watches = false;
    row->watch_count = 0;
    client_close(&row->client);
    bool lives =
        client_connect(&row->client, rig->members.nodes[node].server.address, node, ttl_ms);
    struct rig_step step = {.kind = begins ? ZOOKEEPER_OPEN : ZOOKEEPER_ATTACH,
                            .number = begins ? ttl_ms : 0,
                            .value = row->session};
    rig_model_ask(rig, of, &step);
    rig_model_hear_all(rig);
    struct rig_told real = {.kind = step.kind,
                            .number = step.number,
                            .reply.type = lives ? LOCK_REPLY_YES : LOCK_REPLY_NO};
    rig_compare_item(rig, of, row->told_count > 0 ? &row->told[row->told_count - 1] : NULL, &real);
    row->told_count -= row->told_count > 0;
    rig->commands++;
    return lives;
}

/* Rows whose session lasts, ... */
static inline bool rig_stays(uint32_t of)
{
    return of % RIG_CLIENTS != RIG_CLIENTS - 1;
}

/* ... by one of `nodes` each, by turns. */
static inline void rig_attach_all(struct rig *rig, uint64_t nodes)
{
    uint32_t node = 0;
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        do {
            node = (node + 1) % RIG_NODES_MAX;
        } while ((nodes >> node & 1) == 0);
        if (rig_stays(of)) {
            (void)rig_attach(rig, of, node, RIG_TTL_MS);
        }
    }
    rig_settle(rig);
}

/* ---- sessions that end ----------------------------------------------------------------------- */

/* The other rows begin one, and each makes two znodes. */
static inline void rig_mortals_begin(struct rig *rig)
{
    rig->mortals = true;
    rig_alive(rig);
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (!rig_stays(of)) {
            (void)rig_attach(rig, of, rig_resource(of), RIG_MORTAL_MS);
            for (int i = 0; i < 2; i++) {
                struct rig_step step = {.kind = ZOOKEEPER_CREATE, .value = rig_value(rig)};
                client_ask(&rig->rows[of].client, &step);
            }
        }
    }
    rig_gather(rig);
    rig_settle(rig);
}

static inline uint32_t rig_session_of(struct rig *rig, uint32_t of)
{
    uint32_t number = of * ENSEMBLE_SESSIONS;
    while (!ensemble_session_at(rig_ensemble(rig), number)->open) {
        number++;
        cr_assert_lt(number, (of + 1) * ENSEMBLE_SESSIONS, "the model has ended it already");
    }
    return number;
}

/* The first of its lock watches one of its znodes: gives the place. */
static inline int64_t rig_mortal_watch(struct rig *rig, uint32_t of)
{
    const struct ensemble_client *clients =
        ensemble_clients_of(rig_ensemble(rig), rig_resource(of));
    const struct ensemble_znode *znode = clients[of % RIG_CLIENTS].znodes;
    while (znode->created == 0 || znode->deleted != 0) {
        znode++;
        cr_assert_lt(znode, clients[of % RIG_CLIENTS].znodes + ENSEMBLE_ZNODES);
    }
    struct rig_step step = {.kind = ZOOKEEPER_EXISTS, .number = znode->place, .value = znode->guid};
    client_ask(&rig->rows[rig_resource(of) * RIG_CLIENTS].client, &step);
    return znode->place;
}

static inline bool rig_was_told(const struct client *client, int64_t place)
{
    bool told = false;
    for (uint32_t i = 0; i < client->said_count; i++) {
        told = told || (client->said[i].what == SAID_WATCH && client->said[i].place == place);
    }
    return told;
}

/* All who stay keep their sessions, without a question that is compared. */
static inline void rig_keep(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (rig_stays(of) && !rig_has_session(rig, of)) {
            rig_differs(rig, "row %u: its session is over before its time", of);
        } else if (rig_stays(of)) {
            client_ping(&rig->rows[of].client);
            client_write(&rig->rows[of].client);
        }
    }
}

/* They say nothing more, until they are over: who watches is told, who is connected sees the end.
 * What is over can nobody go on with. */
static inline void rig_mortals_end(struct rig *rig)
{
    int64_t watched[RIG_ROWS];
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        watched[of] = rig_stays(of) ? 0 : rig_mortal_watch(rig, of);
    }
    rig_gather(rig);
    rig_settle(rig);
    rig->mortals = false;
    rig_alive(rig);
    for (uint32_t of = 0; of < RIG_ROWS;) {
        const struct client *watcher = &rig->rows[rig_resource(of) * RIG_CLIENTS].client;
        if (rig_stays(of) || rig->failed ||
            (rig_was_told(watcher, watched[of]) && !rig_has_session(rig, of))) {
            of++;
        } else {
            rig_keep(rig);
            rig_nap(20 * NS_PER_MS);
            rig_read(rig, 0);
        }
    }
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (!rig_stays(of)) {
            rig_model_wake(rig, rig_session_of(rig, of));
            rig->expired++;
        }
    }
    rig_model_hear_all(rig);
    rig_settle(rig);
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (!rig_stays(of)) {
            uint32_t node = rig->rows[rig_resource(of) * RIG_CLIENTS].client.node; /* it runs */
            cr_assert_not(rig_attach(rig, of, node, RIG_MORTAL_MS));
        }
    }
}

/* A session that went on elsewhere: who comes by its connection before writes nothing more. */
static inline void rig_move(struct rig *rig, uint32_t of, int64_t place)
{
    struct rig_row *row = &rig->rows[of];
    uint32_t before = row->client.node;
    int fd = dup(row->client.fd);
    struct rig_step step = {.kind = ZOOKEEPER_DELETE,
                            .number = place,
                            .value = rig->znodes[rig_resource(of)][place].value};
    cr_assert(rig_attach(rig, of, (before + 1) % RIG_NODES_MAX, RIG_TTL_MS));
    int now = row->client.fd;
    uint32_t node = row->client.node;
    row->client.fd = fd;
    client_ask(&row->client, &step);
    client_write(&row->client);
    while (rig_has_session(rig, of) && row->client.said_count == 0) {
        rig_read(rig, CLIENT_WAIT_MS);
    }
    bool refused =
        row->client.said[0].what == SAID_END || row->client.said[0].error == JUTE_SESSION_MOVED;
    client_close(&row->client);
    client_forget(&row->client);
    row->client.node = before;
    row->connection--;
    rig_model_ask(rig, of, &step);
    rig_model_hear_all(rig);
    row->connection++;
    row->client.node = node;
    row->client.fd = now;
    if (!refused || row->told_count != 1 || row->told[0].reply.type != LOCK_REPLY_ERROR) {
        rig_differs(rig, "row %u: ZooKeeper %s who comes by an old connection, the model says %d",
                    of, refused ? "refuses" : "answers", row->told[0].reply.type);
    }
    row->told_count = 0;
    rig_settle(rig);
}

/* ---- members --------------------------------------------------------------------------------- */

static inline bool rig_leads(struct rig *rig, uint32_t node)
{
    char answer[ZOOKEEPER_ANSWER_BYTES];
    zookeeper_ask(&rig->members.nodes[node].server, "srvr", answer);
    return strstr(answer, "Mode: leader") != NULL;
}

/* What is counted in ticks goes by no clock that can be set: the model has none. */
static inline void rig_jump(struct rig *rig, uint32_t node, int64_t jump_ns)
{
    int64_t offset_ns[2];
    struct node *member = &rig->members.nodes[node];
    RIG_MUST(node_clock_offset(member, &offset_ns[0], &why));
    node_clock_set(member, jump_ns, CLOCK_PAGE_PPM);
    RIG_MUST(node_clock_offset(member, &offset_ns[1], &why));
    int64_t off_ns = offset_ns[1] - offset_ns[0] - jump_ns;
    cr_assert(off_ns > -NS_PER_S && off_ns < NS_PER_S, "its clock does not jump");
}

/* The members that run serve. */
static inline void rig_wait_served(struct rig *rig, uint64_t down)
{
    for (uint32_t node = 0; node < RIG_NODES_MAX; node++) {
        struct node *member = &rig->members.nodes[node];
        while ((down >> node & 1) == 0 && !member->launch->alive(&member->server)) {
            rig_nap(NS_PER_MS);
        }
    }
}

static inline void rig_wait_led(struct rig *rig)
{
    rig_wait_served(rig, rig_ensemble(rig)->down);
    rig_model_settle(rig);
    uint32_t leader = rig_ensemble(rig)->leader;
    if (!rig_leads(rig, leader)) {
        rig_differs(rig, "the model elects member %u, ZooKeeper does not", leader + 1);
    }
}

/* Of whom it was, the connection ends; where it led, everybody's. */
static inline void rig_wait_ends(struct rig *rig, uint32_t node, bool all)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        while ((all || rig->rows[of].client.node == node) && rig_has_session(rig, of)) {
            rig_read(rig, CLIENT_WAIT_MS);
        }
    }
}

/* Nothing is under way. */
static inline void rig_kill(struct rig *rig, uint32_t node)
{
    struct server_turn turn = {.node = node};
    node_crash(&rig->members.nodes[node]);
    rig_alive(rig); /* whoever leads next gives each its whole time */
    rig_wait_ends(rig, node, node == rig_ensemble(rig)->leader);
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        if (rig->rows[of].client.node == node) {
            client_forget(&rig->rows[of].client); /* the model leaves it to the world */
        }
    }
    (void)ensemble_model.stop(rig->model, &turn, SERVER_STOP_KILLED, 0, &rig->door);
    rig_compare(rig);
    rig_wait_led(rig);
}

static inline void rig_start(struct rig *rig, uint32_t node)
{
    struct server_turn turn = {.node = node};
    members_start(&rig->members, UINT64_C(1) << node);
    ensemble_model.start(rig->model, &turn, &rig->door);
    rig_model_settle(rig);
}

/* ---- what was under way ---------------------------------------------------------------------- */

/* A znode that nobody heard of yet: the create of it was carried out, and not answered. */
static inline void rig_find(struct rig *rig, uint32_t resource, const struct client_child *child,
                            int64_t created)
{
    for (uint32_t of = resource * RIG_CLIENTS; of < (resource + 1) * RIG_CLIENTS; of++) {
        struct client *client = &rig->rows[of].client;
        for (uint32_t step = client->answered; step < client->asked; step++) {
            if (memcmp(&client->steps[step].value, &child->value, sizeof child->value) == 0) {
                struct client_said *said = client_say(client);
                said->step = step;
                said->zxid = created;
                said->place = child->place;
                rig->unheard++;
            }
        }
    }
}

static inline void rig_find_all(struct rig *rig, uint32_t node)
{
    static struct client looks;
    struct rig_step steps[] = {{.kind = CLIENT_SYNC}, {.kind = ZOOKEEPER_CHILDREN}};
    for (uint32_t resource = 0; resource < RIG_RESOURCES; resource++) {
        const struct client *first = &rig->rows[resource * RIG_CLIENTS].client;
        memset(&looks, 0, sizeof looks);
        memcpy(looks.parent, first->parent, sizeof looks.parent);
        cr_assert(
            client_connect(&looks, rig->members.nodes[node].server.address, node, RIG_TTL_MS));
        client_ask(&looks, &steps[0]);
        client_ask(&looks, &steps[1]);
        client_finish(&looks);
        const struct client_said children = looks.said[1];
        for (uint32_t i = 0; i < children.child_count; i++) {
            struct rig_step exists = {.kind = ZOOKEEPER_EXISTS,
                                      .number = children.children[i].place,
                                      .value = children.children[i].value};
            client_ask(&looks, &exists);
        }
        client_finish(&looks);
        for (uint32_t i = 0; i < children.child_count; i++) {
            rig_find(rig, resource, &children.children[i], looks.said[2 + i].created);
        }
        client_close(&looks);
    }
}

/* The leader is killed while creates are under way: what was answered is there, and of what was not
 * whatever is there was carried out before. */
static inline void rig_kill_under_way(struct rig *rig)
{
    uint32_t leader = rig_ensemble(rig)->leader;
    struct server_turn turn = {.node = leader};
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        client_write(&rig->rows[of].client);
    }
    rig_read(rig, CLIENT_WAIT_MS);
    node_crash(&rig->members.nodes[leader]);
    rig_wait_ends(rig, leader, true);
    rig_wait_served(rig, UINT64_C(1) << leader);
    rig_find_all(rig, (leader + 1) % RIG_NODES_MAX);
    rig_replay(rig);
    (void)ensemble_model.stop(rig->model, &turn, SERVER_STOP_KILLED, 0, &rig->door);
    rig->cut = true;
    rig_compare(rig);
    rig->cut = false;
    rig_model_settle(rig);
    rig_start(rig, leader);
}

/* ---- the beginning and the end --------------------------------------------------------------- */

/* Of members without a log the one with the highest id is elected: the first must not be there. */
static inline void rig_open(struct rig *rig)
{
    struct rig_step parent = {.kind = CLIENT_PARENT};
    memset(rig, 0, sizeof *rig);
    rig->sure_until_ns = INT64_MAX;
    members_open(&rig->members, SERVER_KIND_zookeeper, RIG_NODES_MAX, RIG_TTL_MS * NS_PER_MS, true);
    members_start(&rig->members, 6);
    members_start(&rig->members, 1);
    rig_model_init(rig);
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        struct client *client = &rig->rows[of].client;
        client->fd = -1;
        client->resource = rig_resource(of);
        char name[2] = {'r', (char)('0' + client->resource)};
        znode_print_parent((struct wire_text){name, sizeof name}, client->parent);
        cr_assert(!rig_stays(of) || rig_attach(rig, of, of % RIG_NODES_MAX, RIG_TTL_MS));
        if (of % RIG_CLIENTS == 0) {
            client_ask(client, &parent);
        }
    }
    rig_gather(rig);
    rig_settle(rig);
}

static inline void rig_close(struct rig *rig)
{
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        client_close(&rig->rows[of].client);
    }
    members_close(&rig->members);
}

#endif
