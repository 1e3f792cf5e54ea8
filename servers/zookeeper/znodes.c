/* znodes.c: the znodes of the locks in a ZooKeeper ensemble, as each member sees them; watches. */
#include "servers/zookeeper/ensemble.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

static bool same(const struct lock_value *a, const struct lock_value *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool is_there(const struct ensemble_znode *znode)
{
    return znode->created != 0 && znode->deleted == 0;
}

/* As a member sees it that has applied all up to `zxid`. */
static bool seen_at(const struct ensemble_znode *znode, int64_t zxid)
{
    return znode->created != 0 && znode->created <= zxid &&
           (znode->deleted == 0 || znode->deleted > zxid);
}

/* What a search through the znodes of a lock finds, as a member sees them. */
struct sight {
    struct ensemble_znode *lowest;
    struct ensemble_znode *below; /* the one just before `place` */
    struct ensemble_znode *at;    /* the one of `place` */
    bool changed;                 /* any came or went since `since` */
};

static struct sight look(struct ensemble *ensemble, uint32_t resource, int64_t zxid, int64_t place,
                         int64_t since)
{
    struct sight sight = {.lowest = NULL};
    struct ensemble_client *row = ensemble_clients_of(ensemble, resource);
    for (const struct ensemble_client *end = row + ensemble->client_count; row < end; row++) {
        for (uint32_t i = 0; i < ENSEMBLE_ZNODES; i++) {
            struct ensemble_znode *znode = &row->znodes[i];
            sight.changed |= (znode->created > since && znode->created <= zxid) ||
                             (znode->deleted > since && znode->deleted <= zxid);
            if (!seen_at(znode, zxid)) {
                continue;
            }
            bool lower = sight.lowest == NULL || znode->place < sight.lowest->place;
            bool nearer =
                znode->place < place && (sight.below == NULL || znode->place > sight.below->place);
            sight.lowest = lower ? znode : sight.lowest;
            sight.below = nearer ? znode : sight.below;
            sight.at = znode->place == place ? znode : sight.at;
        }
    }
    return sight;
}

/* ---- what is told ---------------------------------------------------------------------------- */

static void event_until(struct history_event *event, const struct ensemble *ensemble,
                        const struct ensemble_session *session, const struct server_door *door)
{
    event->until_ns = session->sound_ns;
    if (ensemble->leader != ENSEMBLE_NOBODY) {
        event->until_ns = clock_true(&door->nodes[ensemble->leader].mono, session->end_ns);
    }
    event->ttl_ns = session->timeout_ns;
    event->flags |= HISTORY_HAS_UNTIL | HISTORY_HAS_TTL;
}

static uint64_t tell(const struct ensemble *ensemble, const struct server_ask *ask,
                     enum history_f f, const struct ensemble_znode *owner, struct server_door *door)
{
    struct history_event event = server_command_event(ensemble->dialect, ask, ENSEMBLE_STORE, f,
                                                      owner == NULL ? NULL : &owner->guid);
    event.cause = f == HISTORY_KEY_DELETED ? CAUSE_RELEASED : CAUSE_NONE;
    return door->record(door, &event);
}

/* Ours is the lowest: the lock's key from now on. */
static uint64_t tell_set(const struct ensemble *ensemble, const struct server_ask *ask,
                         const struct ensemble_session *session, struct ensemble_znode *znode,
                         struct server_door *door)
{
    if (znode->told || !is_there(znode)) {
        return SERVER_NO_EVENT;
    }
    znode->told = true;
    struct history_event event =
        server_command_event(ensemble->dialect, ask, ENSEMBLE_STORE, HISTORY_KEY_SET, NULL);
    event_until(&event, ensemble, session, door);
    event.fence = znode->place;
    event.flags |= HISTORY_HAS_FENCE;
    return door->record(door, &event);
}

void znodes_touched(struct ensemble *ensemble, const struct ensemble_session *session,
                    struct server_door *door)
{
    struct server_ask ask = session->connect;
    const struct ensemble_client *client = ensemble_client_of(ensemble, &ask);
    for (uint32_t i = 0; i < ENSEMBLE_ZNODES; i++) {
        const struct ensemble_znode *znode = &client->znodes[i];
        if (!znode->told || !is_there(znode) || !same(&znode->session, &session->name)) {
            continue;
        }
        ask.command.kind = ZOOKEEPER_PING;
        ask.command.value = znode->guid;
        struct history_event event = server_command_event(ensemble->dialect, &ask, ENSEMBLE_STORE,
                                                          HISTORY_KEY_EXTENDED, &znode->guid);
        event_until(&event, ensemble, session, door);
        event.flags &= (uint16_t)~HISTORY_HAS_SENT; /* no answer answers just this */
        (void)door->record(door, &event);
    }
}

/* ---- writes ---------------------------------------------------------------------------------- */

/* The one that was deleted first is not remembered any longer. */
static struct ensemble_znode *znode_place(struct ensemble_client *client)
{
    struct ensemble_znode *place = NULL;
    for (uint32_t i = 0; i < ENSEMBLE_ZNODES; i++) {
        struct ensemble_znode *znode = &client->znodes[i];
        if (!is_there(znode) && (place == NULL || znode->deleted < place->deleted)) {
            place = znode;
        }
    }
    return place;
}

struct lock_reply znode_create(struct ensemble *ensemble, const struct server_ask *ask,
                               const struct ensemble_session *session)
{
    struct ensemble_client *client = ensemble_client_of(ensemble, ask);
    bool any = ask->command.kind == ZOOKEEPER_CREATE_FOUND;
    for (uint32_t i = 0; i < ENSEMBLE_ZNODES; i++) {
        const struct ensemble_znode *znode = &client->znodes[i];
        if (is_there(znode) && same(&znode->guid, &ask->command.value) &&
            (any || same(&znode->session, &session->name))) {
            return (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = znode->place};
        }
    }
    struct ensemble_znode *znode = znode_place(client);
    if (znode == NULL) {
        return (struct lock_reply){.type = LOCK_REPLY_ERROR}; /* more than we follow */
    }
    *znode = (struct ensemble_znode){
        .created = ++ensemble->zxid,
        .place = ++ensemble_clients_of(ensemble, ask->resource)->created,
        .guid = ask->command.value,
        .session = session->name,
    };
    return (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = znode->place};
}

struct lock_reply znode_delete(struct ensemble *ensemble, const struct server_ask *ask,
                               uint64_t *event, struct server_door *door)
{
    struct sight sight = look(ensemble, ask->resource, ensemble->zxid, ask->command.number, 0);
    struct ensemble_znode *znode = sight.at;
    bool there = znode != NULL && same(&znode->guid, &ask->command.value);
    bool ours = there && znode->told;
    *event = tell(ensemble, ask, ours ? HISTORY_KEY_DELETED : HISTORY_KEY_KEPT,
                  sight.lowest != NULL && sight.lowest->told ? sight.lowest : NULL, door);
    if (there) {
        znode->deleted = ++ensemble->zxid;
    }
    return (struct lock_reply){.type = there ? LOCK_REPLY_YES : LOCK_REPLY_NO};
}

/* All that its session created, by one closeSession. */
void znodes_expire(struct ensemble *ensemble, uint32_t row, const struct ensemble_session *session,
                   struct server_door *door)
{
    struct ensemble_client *client = &ensemble->clients[row];
    for (uint32_t i = 0; i < ENSEMBLE_ZNODES; i++) {
        struct ensemble_znode *znode = &client->znodes[i];
        if (!is_there(znode) || !same(&znode->session, &session->name)) {
            continue;
        }
        znode->deleted = ensemble->zxid;
        if (!znode->told) {
            continue;
        }
        struct history_event event =
            server_key_event(HISTORY_KEY_EXPIRED, ENSEMBLE_STORE, row / ensemble->client_count);
        memcpy(event.owner.bytes, znode->guid.bytes, sizeof event.owner.bytes);
        event.flags |= HISTORY_HAS_OWNER;
        int64_t late_ns = door->true_ns - session->sound_ns;
        bool sound = late_ns >= -2 * NS_PER_MS && late_ns <= ensemble->tick_ns + 2 * NS_PER_MS;
        event.cause = sound ? CAUSE_TTL : CAUSE_CLOCK_RATE;
        event.fault = sound ? HISTORY_NO_FAULT : door->nodes[ensemble->leader].rate_fault;
        (void)door->record(door, &event);
    }
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void watch_leave(struct ensemble *ensemble, const struct server_ask *ask)
{
    ensemble_client_of(ensemble, ask)->watch = (struct ensemble_watch){
        .left = true, .since = ensemble->members[ask->node].applied, .ask = *ask};
}

void znode_children(struct ensemble *ensemble, const struct server_ask *ask,
                    const struct ensemble_session *session, struct server_door *door)
{
    int64_t applied = ensemble->members[ask->node].applied;
    struct sight sight = look(ensemble, ask->resource, applied, ask->command.number, 0);
    struct lock_reply reply = {.type = LOCK_REPLY_NO};
    uint64_t event = SERVER_NO_EVENT;
    if (sight.at != NULL && sight.below == NULL) {
        reply.type = LOCK_REPLY_YES;
        event = tell_set(ensemble, ask, session, sight.at, door);
    } else if (sight.at != NULL) {
        reply = (struct lock_reply){LOCK_REPLY_NUMBER, sight.below->place};
        event = tell(ensemble, ask, HISTORY_KEY_REFUSED,
                     sight.lowest->told && is_there(sight.lowest) ? sight.lowest : NULL, door);
    }
    if (ask->command.kind == ZOOKEEPER_CHILDREN_WATCH) {
        watch_leave(ensemble, ask);
    }
    door->answer(door, ask, reply, event);
}

void znode_exists(struct ensemble *ensemble, const struct server_ask *ask, struct server_door *door)
{
    int64_t applied = ensemble->members[ask->node].applied;
    struct sight sight = look(ensemble, ask->resource, applied, ask->command.number, 0);
    if (sight.at != NULL) {
        watch_leave(ensemble, ask);
    }
    struct lock_reply reply = {.type = sight.at != NULL ? LOCK_REPLY_YES : LOCK_REPLY_NO};
    door->answer(door, ask, reply, SERVER_NO_EVENT);
}

/* ---- watches --------------------------------------------------------------------------------- */

static bool watch_due(struct ensemble *ensemble, const struct ensemble_watch *watch)
{
    const struct server_ask *ask = &watch->ask;
    int64_t applied = ensemble->members[ask->node].applied;
    struct sight sight = look(ensemble, ask->resource, applied, ask->command.number, watch->since);
    return ask->command.kind == ZOOKEEPER_EXISTS ? sight.at == NULL : sight.changed;
}

void watches_fire(struct ensemble *ensemble, uint32_t node, int64_t before,
                  struct server_door *door)
{
    if (ensemble->members[node].applied == before) {
        return;
    }
    uint32_t rows = ensemble->resource_count * ensemble->client_count;
    for (uint32_t i = 0; i < rows; i++) {
        struct ensemble_watch *watch = &ensemble->clients[i].watch;
        if (watch->left && watch->ask.node == node && watch_due(ensemble, watch)) {
            watch->left = false;
            door->push(door, &watch->ask, (struct lock_reply){.type = LOCK_REPLY_NO});
        }
    }
}
