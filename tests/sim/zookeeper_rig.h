/* zookeeper_rig.h: whether a real ZooKeeper ensemble told each session what the model tells it. */
#ifndef TESTS_SIM_ZOOKEEPER_RIG_H
#define TESTS_SIM_ZOOKEEPER_RIG_H

#include "tests/sim/zookeeper_model.h"

/* ---- what a session was told ----------------------------------------------------------------- */

/* Are we the lowest, or who is the one just before us? */
static inline struct lock_reply rig_place_reply(const struct client_said *said, int64_t place)
{
    for (uint32_t i = 0; i < said->child_count; i++) {
        if (said->children[i].place == place) {
            return i == 0 ? (struct lock_reply){.type = LOCK_REPLY_YES}
                          : (struct lock_reply){LOCK_REPLY_NUMBER, said->children[i - 1].place};
        }
    }
    return (struct lock_reply){.type = LOCK_REPLY_NO};
}

static inline struct lock_reply rig_reply(const struct rig_step *step,
                                          const struct client_said *said)
{
    if (said->error == JUTE_NO_NODE && step->kind != ZOOKEEPER_CREATE) {
        return (struct lock_reply){.type = LOCK_REPLY_NO};
    }
    if (said->error != 0) {
        return (struct lock_reply){.type = LOCK_REPLY_ERROR};
    }
    switch (step->kind) {
    case ZOOKEEPER_CREATE:
        return (struct lock_reply){LOCK_REPLY_NUMBER, said->place};
    case ZOOKEEPER_CHILDREN:
    case ZOOKEEPER_CHILDREN_WATCH:
        return rig_place_reply(said, step->number);
    default:
        return (struct lock_reply){.type = LOCK_REPLY_YES};
    }
}

/* ZooKeeper keeps each watch, a lock its newest alone. */
static inline void rig_watch_leave(struct rig_row *row, const struct rig_step *step)
{
    int64_t on = step->kind == ZOOKEEPER_EXISTS ? step->number : 0;
    row->watches = true;
    row->watch = *step;
    for (uint32_t i = 0; i < row->watch_count; i++) {
        if (row->watched[i] == on) {
            return;
        }
    }
    cr_assert_lt(row->watch_count, (uint32_t)RIG_WATCHES_MAX);
    row->watched[row->watch_count++] = on;
}

/* Whether a lock would be told. */
static inline bool rig_watch_told(struct rig *rig, uint32_t of, const struct client_said *said)
{
    struct rig_row *row = &rig->rows[of];
    uint32_t at = 0;
    while (at < row->watch_count && row->watched[at] != said->place) {
        at++;
    }
    if (at == row->watch_count ||
        said->type != (said->place == 0 ? WATCH_CHILDREN : WATCH_DELETED)) {
        rig_differs(rig, "row %u: a watch of type %d on place %" PRId64 " that nobody left", of,
                    said->type, said->place);
        return false;
    }
    row->watched[at] = row->watched[--row->watch_count];
    bool children = row->watch.kind == ZOOKEEPER_CHILDREN_WATCH;
    bool newest = row->watches && (children ? 0 : row->watch.number) == said->place;
    row->watches = row->watches && !newest;
    rig->watches += newest;
    return newest;
}

/* An answer of a session, as the model should have given it. */
static inline void rig_learn(struct rig_row *row, const struct rig_step *step,
                             const struct client_said *said)
{
    bool watches = step->kind == ZOOKEEPER_EXISTS || step->kind == ZOOKEEPER_CHILDREN_WATCH;
    if (watches && said->error == 0) {
        rig_watch_leave(row, step);
    }
}

static inline void rig_compare_item(struct rig *rig, uint32_t of, const struct rig_told *told,
                                    const struct rig_told *real)
{
    bool same = told != NULL && told->what == real->what &&
                (told->what == TOLD_END || told->kind == real->kind) &&
                (told->what == TOLD_END || told->number == real->number) &&
                told->reply.type == real->reply.type && told->reply.number == real->reply.number;
    static const char *const whats[] = {"answers", "tells a watch", "ends"};
    if (!same) {
        rig_differs(rig,
                    "row %u, command kind %u of %" PRId64 ": ZooKeeper %s %d %" PRId64
                    ", the model %s %d %" PRId64,
                    of, real->kind, real->number, whats[real->what], real->reply.type,
                    real->reply.number, told == NULL ? "says nothing" : whats[told->what],
                    told == NULL ? 0 : told->reply.type, told == NULL ? 0 : told->reply.number);
    }
}

/* All that a row was told, in its order, by both. */
static inline void rig_compare_row(struct rig *rig, uint32_t of)
{
    struct rig_row *row = &rig->rows[of];
    const struct client *client = &row->client;
    uint32_t at = 0;
    for (uint32_t i = 0; i < client->said_count && !rig->failed; i++) {
        const struct client_said *said = &client->said[i];
        struct rig_told real = {.reply.type = LOCK_REPLY_NO};
        if (rig->cut && said->what == SAID_END) {
            return;
        }
        if (said->what == SAID_ANSWER) {
            const struct rig_step *step = &client->steps[said->step];
            if (step->kind >= ZOOKEEPER_COMMANDS) {
                continue;
            }
            real = (struct rig_told){TOLD_ANSWER, step->kind, step->number, rig_reply(step, said)};
            rig_learn(row, step, said);
            rig->commands++;
        } else if (said->what == SAID_WATCH) {
            if (!rig_watch_told(rig, of, said)) {
                continue;
            }
            real.what = TOLD_WATCH;
            real.kind = row->watch.kind;
            real.number = row->watch.number;
        } else {
            real.what = TOLD_END;
        }
        rig_compare_item(rig, of, at < row->told_count ? &row->told[at] : NULL, &real);
        at++;
    }
    if (!rig->failed && at < row->told_count) {
        rig_differs(rig, "row %u: the model tells more than ZooKeeper: %d of command kind %u", of,
                    row->told[at].what, row->told[at].kind);
    }
}

/* ---- the order of all answers ---------------------------------------------------------------- */

struct rig_item {
    uint32_t row;
    uint32_t said;
    int64_t zxid;
    bool write;
};

static inline int rig_item_order(const void *a, const void *b)
{
    const struct rig_item *left = a;
    const struct rig_item *right = b;
    if (left->zxid != right->zxid) {
        return left->zxid < right->zxid ? -1 : 1;
    }
    if (left->write != right->write) {
        return left->write ? -1 : 1;
    }
    if (left->row != right->row) {
        return left->row < right->row ? -1 : 1;
    }
    return left->said < right->said ? -1 : left->said > right->said;
}

static inline uint32_t rig_items(const struct rig *rig, struct rig_item *items)
{
    uint32_t count = 0;
    for (uint32_t of = 0; of < RIG_ROWS; of++) {
        const struct client *client = &rig->rows[of].client;
        for (uint32_t i = 0; i < client->said_count; i++) {
            const struct client_said *said = &client->said[i];
            uint32_t kind = client->steps[said->step].kind;
            if (said->what == SAID_ANSWER && kind < ZOOKEEPER_COMMANDS) {
                bool write = kind == ZOOKEEPER_CREATE || kind == ZOOKEEPER_DELETE;
                items[count++] = (struct rig_item){of, i, said->zxid, write};
            }
        }
    }
    qsort(items, count, sizeof *items, rig_item_order);
    return count;
}

/* The children that a member of the model sees now are those that ZooKeeper listed. */
static inline void rig_compare_children(struct rig *rig, uint32_t of,
                                        const struct client_said *said)
{
    struct ensemble *ensemble = rig_ensemble(rig);
    int64_t applied = ensemble->members[rig->rows[of].client.node].applied;
    uint32_t count = 0;
    uint32_t found = 0;
    for (uint32_t client = 0; client < RIG_CLIENTS; client++) {
        for (uint32_t i = 0; i < ENSEMBLE_ZNODES; i++) {
            const struct ensemble_znode *znode =
                &ensemble_clients_of(ensemble, rig_resource(of))[client].znodes[i];
            bool there = znode->created != 0 && znode->created <= applied &&
                         (znode->deleted == 0 || znode->deleted > applied);
            count += there;
            for (uint32_t k = 0; there && k < said->child_count; k++) {
                found += said->children[k].place == znode->place &&
                         memcmp(&said->children[k].value, &znode->guid, sizeof znode->guid) == 0;
            }
        }
    }
    if (count != said->child_count || found != count) {
        rig_differs(rig, "row %u: ZooKeeper lists %u children, the model has %u, %u the same", of,
                    said->child_count, count, found);
    }
}

/* What a Stat says of who made a znode, and when; what was made is kept. */
static inline void rig_note(struct rig *rig, uint32_t of, const struct client_said *said)
{
    const struct client *client = &rig->rows[of].client;
    const struct rig_step *step = &client->steps[said->step];
    struct rig_znode *znodes = rig->znodes[rig_resource(of)];
    int64_t place = step->kind == ZOOKEEPER_CREATE ? said->place : step->number;
    if (said->error != 0) {
        return;
    }
    if (step->kind == ZOOKEEPER_CREATE || step->kind == ZOOKEEPER_DELETE) {
        cr_assert_gt(said->zxid, rig->changed[rig_resource(of)]);
        rig->changed[rig_resource(of)] = said->zxid;
    }
    if (step->kind == ZOOKEEPER_CREATE) {
        cr_assert_lt(place, (int64_t)RIG_PLACES_MAX);
        znodes[place] = (struct rig_znode){of, client->session, said->zxid, step->value};
    } else if (step->kind == ZOOKEEPER_EXISTS &&
               (znodes[place].created != said->created || znodes[place].session != said->owner)) {
        rig_differs(rig, "row %u: place %" PRId64 " is another session's, or of another write", of,
                    place);
    }
}

static inline void rig_model_carry_out(struct rig *rig, const struct rig_item *item)
{
    const struct client *client = &rig->rows[item->row].client;
    const struct client_said *said = &client->said[item->said];
    const struct rig_step *step = &client->steps[said->step];
    rig->zxid = item->zxid;
    if (step->kind == ZOOKEEPER_CHILDREN || step->kind == ZOOKEEPER_CHILDREN_WATCH) {
        rig_compare_children(rig, item->row, said);
    }
    rig_note(rig, item->row, said);
    rig_model_ask(rig, item->row, step);
}

/* The writes, and the leader's reads between them; then each follower's, as it hears of them. */
static inline void rig_replay(struct rig *rig)
{
    static struct rig_item items[RIG_ROWS * CLIENT_STEPS_MAX];
    uint32_t count = rig_items(rig, items);
    uint32_t leader = rig_ensemble(rig)->leader;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].write || rig->rows[items[i].row].client.node == leader) {
            rig_model_carry_out(rig, &items[i]);
        }
    }
    for (uint32_t node = 0; node < RIG_NODES_MAX; node++) {
        for (uint32_t i = 0; i < count && node != leader; i++) {
            if (!items[i].write && rig->rows[items[i].row].client.node == node) {
                rig_model_hear(rig, node, items[i].zxid);
                rig_model_carry_out(rig, &items[i]);
            }
        }
    }
    rig_model_hear_all(rig);
}

#endif
