/*
 * keys_session.c: what a command did to a lock in a session, by its answer: of kinds whose nodes
 * together keep one store, and whose keys end with a session.
 *
 * All nodes' answers tell of that one store: it stands on node 1, as in the simulator. A key ends
 * when the service says so to somebody, and never before the session's end as its client may reckon
 * it; when nobody asks, it is told as over a look of the service after that.
 */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

/* A service looks for sessions that are over every half second. */
#define SESSION_LOOK_NS (500 * NS_PER_MS)

enum { SESSION_STORE = 0 };

bool keys_in_sessions(const struct keys *keys)
{
    bool opens = false;
    for (uint32_t i = 0; i < keys->kind->dialect->row_count; i++) {
        opens = opens || keys->kind->dialect->rows[i].verb == LOCK_VERB_OPEN_SESSION;
    }
    return opens && keys->kind->wire->answers_tell;
}

void keys_resumed(struct keys *keys)
{
    keys->resumed_ns = loop_now_ns();
}

/* ---- the lock and its end -------------------------------------------------------------------- */

static uint32_t name_of(const struct keys *keys, uint32_t resource)
{
    ASSERT(keys->resources[resource].lock != 0);
    return keys->resources[resource].lock - 1;
}

static bool is_owner(const struct keys_key *key, const struct keys_command *command)
{
    return (key->present || key->lingers) && history_value_equal(&key->value, &command->value);
}

/*
 * An answer gave the client's session a new end: at the earliest so long after it was asked for. An
 * end never comes nearer by that: what was asked long ago may be answered last.
 */
static void session_note(struct keys *keys, int32_t client, const struct keys_command *command,
                         int64_t ttl_ns)
{
    struct keys_client *its = keys_client_at(keys, client);
    if (its != NULL) {
        bool same = its->session.known && history_value_equal(&its->session.value, &command->value);
        int64_t before_ns = same ? its->session.earliest_ns : INT64_MIN;
        int64_t earliest_ns = command->sent_ns + ttl_ns;
        its->session = (struct keys_session){
            .known = true,
            .over = same && its->session.over,
            .value = command->value,
            .ttl_ns = ttl_ns,
            .earliest_ns = earliest_ns > before_ns ? earliest_ns : before_ns,
            .latest_ns = loop_now_ns() + ttl_ns + SESSION_LOOK_NS,
        };
    }
}

static struct keys_session *session_of(struct keys *keys, int32_t client,
                                       const struct keys_command *command)
{
    struct keys_client *its = keys_client_at(keys, client);
    bool same = its != NULL && its->session.known &&
                history_value_equal(&its->session.value, &command->value);
    return same ? &its->session : NULL;
}

static void session_over(struct keys *keys, int32_t client, const struct keys_command *command)
{
    struct keys_session *session = session_of(keys, client, command);
    if (session != NULL) {
        session->over = true;
    }
}

static void key_end(struct keys *keys, uint32_t name, const struct keys_session *session)
{
    struct keys_key *key = keys_key_on(keys, name, SESSION_STORE);
    const struct keys_clock *clock = &keys->nodes[SESSION_STORE].clock;
    key->has_ttl = true;
    key->ttl_ns = session->ttl_ns;
    key->earliest_wall_ns = keys_clock_wall(clock, session->earliest_ns);
    key->latest_wall_ns = keys_clock_wall(clock, session->latest_ns);
    keys_key_end(keys, SESSION_STORE, name);
}

/* ---- what a command did ---------------------------------------------------------------------- */

/* As a unit of its own, between when it was sent and now; it is left open for what it changed. */
static void unit_begin(struct keys *keys, int32_t client, const struct keys_command *command)
{
    struct keys_unit *unit = keys_unit_alone(keys, SESSION_STORE);
    unit->by_command = true;
    unit->process = client;
    unit->command = *command;
    unit->since_ns = command->sent_ns;
    unit->mentions[unit->mention_count++] = command->resource[0];
}

/* It changes the lock. */
static struct keys_change *change_begin(struct keys *keys, int32_t client,
                                        const struct keys_command *command)
{
    unit_begin(keys, client, command);
    return keys_change_note(keys, SESSION_STORE, name_of(keys, command->resource[0]));
}

static struct keys_told unit_end(struct keys *keys)
{
    keys_unit_close(keys, SESSION_STORE);
    return keys->nodes[SESSION_STORE].unit.told;
}

/* It changed nothing: it found the lock held, or not its own. */
static struct keys_told told_alone(struct keys *keys, int32_t client,
                                   const struct keys_command *command)
{
    unit_begin(keys, client, command);
    return unit_end(keys);
}

static struct keys_told told_freed(struct keys *keys, int32_t client,
                                   const struct keys_command *command)
{
    struct keys_key *key = keys_key_on(keys, name_of(keys, command->resource[0]), SESSION_STORE);
    (void)change_begin(keys, client, command);
    session_over(keys, client, command);
    key->present = false;
    key->lingers = false;
    return unit_end(keys);
}

static struct keys_told told_kept_alive(struct keys *keys, int32_t client,
                                        const struct keys_command *command)
{
    uint32_t name = name_of(keys, command->resource[0]);
    struct keys_change *change = change_begin(keys, client, command);
    ASSERT(change != NULL); /* it is the unit's only one */
    change->ends = true;
    key_end(keys, name, &keys_client_at(keys, client)->session);
    return unit_end(keys);
}

static struct keys_told told_set(struct keys *keys, int32_t client,
                                 const struct keys_command *command)
{
    uint32_t name = name_of(keys, command->resource[0]);
    struct keys_key *key = keys_key_on(keys, name, SESSION_STORE);
    const struct keys_session *session = session_of(keys, client, command);
    struct keys_change *change = change_begin(keys, client, command);
    ASSERT(change != NULL);
    change->made = true;
    *key = (struct keys_key){.present = true,
                             .owner = client,
                             .has_value = true,
                             .value = command->value,
                             .shape = SHAPE_STRING,
                             .fault = HISTORY_NO_FAULT};
    if (session != NULL) {
        key_end(keys, name, session);
    }
    return unit_end(keys);
}

/* ---- the end of a lock that nobody was told of ----------------------------------------------- */

static struct keys_pending *freeing_under_way(struct keys *keys, uint32_t resource,
                                              const struct history_value *owner,
                                              struct keys_channel **channel)
{
    struct keys_pending *freeing = NULL;
    for (int32_t i = 0; i < keys->options.node_count && freeing == NULL; i++) {
        freeing = keys_channels_freeing(&keys->nodes[i], resource, owner, channel);
    }
    return freeing;
}

/* One that was cut off may have been carried out. */
static const struct keys_lost *freeing_lost(const struct keys *keys, uint32_t resource,
                                            const struct history_value *owner)
{
    const struct keys_node *store = &keys->nodes[SESSION_STORE];
    for (uint32_t i = 0; i < store->lost_count; i++) {
        const struct keys_command *command = &store->lost[i].command;
        if (command->resource[0] == resource && history_value_equal(&command->value, owner)) {
            return &store->lost[i];
        }
    }
    return NULL;
}

/*
 * It is gone before its time, and nobody who owns it asked for that. A leader that stood still and
 * goes on may end what its successor kept alive: nothing else is known to do so.
 */
static void ended_early(struct keys *keys, uint32_t name)
{
    struct keys_key *key = keys_key_on(keys, name, SESSION_STORE);
    int64_t asked_ns = key->earliest_ns - key->ttl_ns; /* it was there then */
    if (keys->resumed_ns == 0) {
        keys_unclear(keys, "an answer contradicts those before it");
        return;
    }
    keys_tell_ending(keys, SESSION_STORE, name,
                     &(struct keys_ending){
                         .f = HISTORY_KEY_EXPIRED,
                         .cause = CAUSE_DEPOSED,
                         .fault = HISTORY_NO_FAULT,
                         .true_ns = loop_now_ns(),
                         .since_ns = asked_ns > keys->resumed_ns ? asked_ns : keys->resumed_ns,
                     });
    key->present = false;
}

/* An answer shows that the lock is not its last owner's any more: say how that came. */
static void session_gone(struct keys *keys, uint32_t resource)
{
    uint32_t name = name_of(keys, resource);
    struct keys_key *key = keys_key_on(keys, name, SESSION_STORE);
    struct keys_channel *channel;
    key->lingers = false;
    if (!key->present) {
        return;
    }
    struct keys_pending *freeing = freeing_under_way(keys, resource, &key->value, &channel);
    const struct keys_lost *lost = freeing_lost(keys, resource, &key->value);
    if (freeing != NULL) {
        freeing->deed.told = told_freed(keys, channel->route.client, &freeing->command);
        freeing->command.shown = true;
    } else if (lost != NULL) {
        (void)told_freed(keys, lost->client, &lost->command);
    } else if (!key->has_ttl || key->earliest_ns <= loop_now_ns()) {
        keys_expire(keys, SESSION_STORE, name, loop_now_ns());
        key->lingers = false;
    } else {
        ended_early(keys, name);
    }
}

/* It seemed to be over, and is there. */
static void session_back(struct keys *keys, uint32_t name)
{
    struct keys_key *key = keys_key_on(keys, name, SESSION_STORE);
    if (!key->present) {
        struct keys_return back = {
            .node = SESSION_STORE, .fault = HISTORY_NO_FAULT, .cause = CAUSE_NONE};
        key->present = true;
        key->lingers = false;
        keys_tell_back(keys, &back, name, loop_now_ns());
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct keys_told asked_answered(struct keys *keys, int32_t client,
                                       const struct keys_pending *pending)
{
    struct keys_command command = pending->command;
    const struct keys_key *key =
        keys_key_on(keys, name_of(keys, command.resource[0]), SESSION_STORE);
    bool did =
        pending->reply.tells != WIRE_TELLS_REFUSED && pending->reply.type == REDIS_SAID_INTEGER;
    const struct keys_session *session = session_of(keys, client, &command);
    command.role = ROLE_SET; /* also of a look that tells whose turn it is */
    if (!did) {
        return told_alone(keys, client, &command);
    }
    if (session != NULL && session->over) {
        return (struct keys_told){0, 0}; /* asked twice, and carried out before that ended */
    }
    if (is_owner(key, &command)) {
        session_back(keys, name_of(keys, command.resource[0]));
        return (struct keys_told){0, 0}; /* as was known */
    }
    session_gone(keys, command.resource[0]);
    return told_set(keys, client, &command);
}

static struct keys_told kept_answered(struct keys *keys, int32_t client,
                                      const struct keys_pending *pending)
{
    const struct keys_command *command = &pending->command;
    uint32_t name = name_of(keys, command->resource[0]);
    bool kept = pending->reply.type == REDIS_SAID_INTEGER;
    if (kept) {
        session_note(keys, client, command, pending->reply.integer * NS_PER_MS);
    }
    if (!is_owner(keys_key_on(keys, name, SESSION_STORE), command)) {
        return (struct keys_told){0, 0};
    }
    if (!kept) {
        session_gone(keys, command->resource[0]);
        return (struct keys_told){0, 0};
    }
    session_back(keys, name);
    return told_kept_alive(keys, client, command);
}

static struct keys_told closed_answered(struct keys *keys, int32_t client,
                                        const struct keys_pending *pending)
{
    const struct keys_command *command = &pending->command;
    uint32_t name = name_of(keys, command->resource[0]);
    bool owner = is_owner(keys_key_on(keys, name, SESSION_STORE), command);
    session_over(keys, client, command);
    if (owner && pending->reply.type == REDIS_SAID_OK) {
        session_back(keys, name);
        return told_freed(keys, client, command);
    }
    if (owner) {
        session_gone(keys, command->resource[0]);
    }
    return told_alone(keys, client, command);
}

void keys_session_answered(struct keys_channel *channel, struct keys_pending *pending)
{
    struct keys *keys = channel->keys;
    const struct keys_command *command = &pending->command;
    int32_t client = channel->route.client;
    uint8_t said = pending->reply.type;
    bool clear = said == REDIS_SAID_OK || said == REDIS_SAID_NIL || said == REDIS_SAID_INTEGER;
    if (!command->known || command->key_count == 0 || command->shown || !clear ||
        pending->reply.tells == WIRE_TELLS_NOTHING) {
        return;
    }
    enum lock_verb verb =
        (enum lock_verb)lock_dialect_row(keys->kind->dialect, command->own.kind)->verb;
    if (verb == LOCK_VERB_OPEN_SESSION) {
        if (said == REDIS_SAID_OK) {
            session_note(keys, client, command, command->own.ttl_ms * NS_PER_MS);
        }
        return;
    }
    if (verb == LOCK_VERB_KEEP_SESSION) {
        pending->deed.told = kept_answered(keys, client, pending);
    } else if (verb == LOCK_VERB_CLOSE_SESSION) {
        pending->deed.told = closed_answered(keys, client, pending);
    } else if (verb == LOCK_VERB_SET_ABSENT || pending->reply.tells != WIRE_TELLS_BY_TYPE) {
        pending->deed.told = asked_answered(keys, client, pending);
    } else {
        return;
    }
    pending->command.shown = true;
}

/* The owner's session may have a later end by it, or be over. */
void keys_session_cut_off(struct keys_channel *channel, const struct keys_pending *pending)
{
    struct keys *keys = channel->keys;
    const struct keys_command *command = &pending->command;
    struct keys_node *store = &keys->nodes[SESSION_STORE];
    if (!command->known || command->key_count == 0 || command->shown) {
        return;
    }
    uint32_t name = name_of(keys, command->resource[0]);
    struct keys_key *key = keys_key_on(keys, name, SESSION_STORE);
    if (!is_owner(key, command)) {
        return;
    }
    if (command->role == ROLE_EXTEND && key->present && key->has_ttl) {
        key->latest_wall_ns =
            keys_clock_wall(&store->clock, loop_now_ns() + key->ttl_ns + SESSION_LOOK_NS);
        keys_key_end(keys, SESSION_STORE, name);
    } else if (command->role == ROLE_DELETE && store->lost_count < KEYS_LOST_MAX) {
        store->lost[store->lost_count++] =
            (struct keys_lost){channel->route.client, pending->command};
    } else if (command->role == ROLE_DELETE) {
        keys_unclear(keys, "too many commands were never answered");
    }
}
