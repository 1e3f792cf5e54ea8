/* keys_own.c: commands and replies as a kind's wire reads them: kinds whose nodes do not tell; and
 * what a command did, where its answer says it. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"
#include "servers/launch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool keys_kind_tells(const struct keys *keys)
{
    return keys->kind->wire->tapped;
}

void keys_do_not_tell(struct keys *keys, int32_t node)
{
    if (keys->kind->wire->answers_tell) {
        keys->nodes[node].distant = true; /* what it did was between command and answer */
        return;
    }
    char memory[TAP_REFUSED_BYTES];
    struct text sentence = text_over(memory, sizeof memory);
    text_add(&sentence, "%s servers do not tell what becomes of their keys", keys->kind->name);
    keys_unclear(keys, sentence.data);
}

void keys_own_read(struct keys *keys, const struct wire_request *request,
                   struct keys_command *command)
{
    memset(command, 0, sizeof *command);
    command->kind = (uint8_t)keys->kind->dialect->row_count;
    command->role = ROLE_OTHER;
    command->ask = ASK_OTHER;
    command->ends_replies = request->ends_replies;
    command->known = request->known;
    if (!request->known) {
        return;
    }
    const struct lock_command_row *row =
        lock_dialect_row(keys->kind->dialect, request->command.kind);
    command->own = request->command;
    command->own_until_ms = request->until_ms;
    command->kind = (uint8_t)request->command.kind;
    command->role = (uint8_t)command_role_of((enum lock_verb)row->verb);
    command->has_value = true;
    memcpy(command->value.bytes, request->command.value.bytes, sizeof command->value.bytes);
    struct resp_word name = {request->resource.data, request->resource.bytes};
    uint32_t known =
        name.bytes > 0 ? keys_table_find(&keys->table, &name, KEYS_ANY_DATABASE) : UINT32_MAX;
    if (known != UINT32_MAX && keys->table.names[known].part == KEYS_PART_LOCK) {
        command->resource[command->key_count++] = keys->table.names[known].resource;
    }
}

void keys_own_reply(const struct wire_reply *reply, struct keys_reply *read)
{
    static const uint8_t said[LOCK_REPLY_TYPES] = {
        [LOCK_REPLY_YES] = REDIS_SAID_OK,         [LOCK_REPLY_NO] = REDIS_SAID_NIL,
        [LOCK_REPLY_NUMBER] = REDIS_SAID_INTEGER, [LOCK_REPLY_LONG_FORM] = REDIS_SAID_NOSCRIPT,
        [LOCK_REPLY_ERROR] = REDIS_SAID_ERROR,    [LOCK_REPLY_UNSURE] = REDIS_SAID_OTHER,
        [LOCK_REPLY_GARBLED] = REDIS_SAID_OTHER,
    };
    ASSERT(reply->reply.type < LOCK_REPLY_TYPES);
    read->type = said[reply->reply.type];
    read->error =
        reply->reply.type == LOCK_REPLY_ERROR || reply->reply.type == LOCK_REPLY_LONG_FORM;
    read->integer = reply->reply.number;
    read->tells = reply->tells;
}

/* ---- what a command did, by its answer ------------------------------------------------------- */

static enum lock_verb verb_of(const struct keys *keys, const struct keys_command *command)
{
    return (enum lock_verb)lock_dialect_row(keys->kind->dialect, command->own.kind)->verb;
}

static bool answers_tell(const struct keys *keys, const struct keys_command *command)
{
    return keys->kind->wire->answers_tell && command->known && command->key_count > 0 &&
           command->role != ROLE_OTHER;
}

bool keys_own_frees(const struct keys_channel *channel, const struct keys_command *command,
                    const struct history_value *owner)
{
    return verb_of(channel->keys, command) == LOCK_VERB_DELETE ||
           history_value_equal(&command->value, owner);
}

/* The lock's name in the table: patterns said it. */
static uint32_t name_of(const struct keys *keys, uint32_t resource)
{
    ASSERT(keys->resources[resource].lock != 0);
    return keys->resources[resource].lock - 1;
}

/* Its end, in whole ms of the node's clock: what was said, or so long from when it was carried out.
 */
static void own_end(struct keys *keys, int32_t node, uint32_t name,
                    const struct keys_command *command)
{
    const struct keys_unit *unit = &keys->nodes[node].unit;
    struct keys_key *key = keys_key_on(keys, name, node);
    key->has_ttl = true;
    key->ttl_ns = command->own.ttl_ms * NS_PER_MS;
    if (command->own_until_ms != 0) {
        key->earliest_wall_ns = command->own_until_ms * NS_PER_MS;
        key->latest_wall_ns = key->earliest_wall_ns;
    } else {
        key->earliest_wall_ns = unit->since_wall_ns - unit->since_wall_ns % NS_PER_MS + key->ttl_ns;
        key->latest_wall_ns = unit->wall_ns - unit->wall_ns % NS_PER_MS + key->ttl_ns;
    }
    keys_key_end(keys, node, name);
}

static void own_change(struct keys *keys, int32_t node, const struct keys_command *command)
{
    struct keys_unit *unit = &keys->nodes[node].unit;
    uint32_t name = name_of(keys, command->resource[0]);
    struct keys_key *key = keys_key_on(keys, name, node);
    struct keys_change *change = keys_change_note(keys, node, name);
    ASSERT(change != NULL); /* it is the unit's only one */
    if (command->role == ROLE_DELETE) {
        key->present = false;
        key->lingers = false;
        return;
    }
    change->made = command->role == ROLE_SET;
    change->ends = !change->made;
    if (change->made) {
        *key = (struct keys_key){.owner = unit->process,
                                 .has_value = true,
                                 .value = command->value,
                                 .shape = SHAPE_STRING,
                                 .earliest_ns = TIME_NEVER,
                                 .latest_ns = TIME_NEVER,
                                 .fault = HISTORY_NO_FAULT};
    }
    key->present = true;
    key->lingers = false;
    if (!keys_of_connection(keys, command)) {
        own_end(keys, node, name, command);
    }
}

/* As a unit of its own, between when it was sent and now. */
static void own_unit(struct keys *keys, int32_t node, const struct keys_lost *done, bool did)
{
    struct keys_unit *unit = keys_unit_alone(keys, node);
    const struct keys_command *command = &done->command;
    unit->by_command = true;
    unit->process = done->client;
    unit->command = *command;
    unit->since_ns = command->sent_ns;
    unit->since_wall_ns = keys_clock_wall(&keys->nodes[node].clock, command->sent_ns);
    unit->mentions[unit->mention_count++] = command->resource[0];
    if (did) {
        own_change(keys, node, command);
    }
    keys_unit_close(keys, node);
}

void keys_own_done(struct keys_channel *channel, struct keys_pending *pending, bool did)
{
    struct keys_lost done = {channel->route.client, pending->command};
    own_unit(channel->keys, channel->route.node, &done, did);
    pending->deed.told = channel->keys->nodes[channel->route.node].unit.told;
    pending->command.shown = true;
}

/*
 * The lock was free when it was set, whatever is known of it: its time was up, or a command that
 * freed it is not answered yet.
 */
static void own_make_free(struct keys_channel *channel, const struct keys_command *command)
{
    struct keys *keys = channel->keys;
    int32_t node = channel->route.node;
    uint32_t name = name_of(keys, command->resource[0]);
    const struct keys_key *key = keys_key_on(keys, name, node);
    struct keys_channel *other;
    if (!key->present || command->own_until_ms != 0) {
        return;
    }
    if (key->earliest_ns <= loop_now_ns()) {
        keys_expire(keys, node, name, loop_now_ns());
        return;
    }
    struct keys_pending *freeing =
        keys_channels_freeing(&keys->nodes[node], command->resource[0], &key->value, &other);
    if (freeing != NULL) {
        keys_own_done(other, freeing, true);
    } else {
        keys_unclear(keys, "an answer contradicts those before it");
    }
}

void keys_own_answered(struct keys_channel *channel, struct keys_pending *pending)
{
    if (keys_in_sessions(channel->keys)) {
        keys_session_answered(channel, pending);
        return;
    }
    const struct keys_command *command = &pending->command;
    uint8_t said = pending->reply.type;
    bool did = said == REDIS_SAID_OK || said == REDIS_SAID_INTEGER;
    if (!answers_tell(channel->keys, command) || command->shown || pending->reply.error) {
        return;
    }
    if (keys_of_connection(channel->keys, command)) {
        keys_connection_answered(channel, pending, did);
        return;
    }
    if (did && command->role == ROLE_SET) {
        own_make_free(channel, command);
    }
    keys_own_done(channel, pending, did);
}

void keys_own_cut_off(struct keys_channel *channel, const struct keys_pending *pending)
{
    struct keys_node *node = &channel->keys->nodes[channel->route.node];
    if (keys_in_sessions(channel->keys)) {
        keys_session_cut_off(channel, pending);
        return;
    }
    if (!answers_tell(channel->keys, &pending->command) || pending->command.shown ||
        keys_of_connection(channel->keys, &pending->command)) {
        return; /* ... or what it did is over with it */
    }
    if (node->lost_count == KEYS_LOST_MAX) {
        keys_unclear(channel->keys, "too many commands were never answered");
        return;
    }
    node->lost[node->lost_count++] = (struct keys_lost){channel->route.client, pending->command};
}

/* ---- a node that is back --------------------------------------------------------------------- */

/* Did a command without an answer do this? What the node holds now says it. */
static bool lost_did(const struct keys *keys, const struct keys_lost *lost,
                     const struct keys_key *key, const struct server_held *held)
{
    const struct keys_command *command = &lost->command;
    bool its = held->present && memcmp(&held->owner, &command->value, sizeof held->owner) == 0;
    bool known =
        key->present && key->has_value && history_value_equal(&key->value, &command->value);
    int64_t until_ns = held->until_ms * NS_PER_MS;
    if (command->role == ROLE_SET) {
        return its && !known;
    }
    if (command->role == ROLE_EXTEND) {
        return its && known && (until_ns < key->earliest_wall_ns || until_ns > key->latest_wall_ns);
    }
    return !held->present && key->present && (verb_of(keys, command) == LOCK_VERB_DELETE || known);
}

static void row_gone(struct keys *keys, struct keys_return *back, uint32_t name)
{
    struct keys_key *key = keys_key_on(keys, name, back->node);
    if (!key->present || (key->has_ttl && key->earliest_ns <= loop_now_ns())) {
        return;
    }
    keys_tell_ending(keys, back->node, name,
                     &(struct keys_ending){.f = HISTORY_KEY_LOST,
                                           .cause = back->cause,
                                           .fault = back->fault,
                                           .true_ns = back->lost_ns,
                                           .since_ns = TIME_NEVER});
    key->present = false;
    back->lost++;
}

/* A replica has a row as it was before: who had it then has it again, if its time is not up. */
static void row_older(struct keys *keys, struct keys_return *back, uint32_t name,
                      const struct server_held *held)
{
    struct keys_key *key = keys_key_on(keys, name, back->node);
    int64_t until_ns = held->until_ms * NS_PER_MS;
    bool same = key->present && memcmp(&key->value, &held->owner, sizeof key->value) == 0 &&
                key->earliest_wall_ns <= until_ns && until_ns <= key->latest_wall_ns;
    if (same) {
        return;
    }
    row_gone(keys, back, name);
    if (until_ns <= keys_clock_wall(&keys->nodes[back->node].clock, loop_now_ns())) {
        return;
    }
    *key = (struct keys_key){.present = true,
                             .has_ttl = true,
                             .has_value = true,
                             .shape = SHAPE_STRING,
                             .owner = HISTORY_NOBODY,
                             .fault = HISTORY_NO_FAULT,
                             .earliest_wall_ns = until_ns,
                             .latest_wall_ns = until_ns,
                             .earliest_ns = TIME_NEVER,
                             .latest_ns = TIME_NEVER};
    memcpy(&key->value, &held->owner, sizeof key->value);
    keys_key_end(keys, back->node, name);
    keys_tell_back(keys, back, name, loop_now_ns());
}

static struct result resource_back(struct keys *keys, struct keys_return *back,
                                   struct server_process *process, uint32_t resource,
                                   struct text *why)
{
    struct keys_node *node = &keys->nodes[back->node];
    struct keys_key *key = keys_key_on(keys, name_of(keys, resource), back->node);
    struct server_held held;
    TRY(keys->kind->launch->held(process, keys->options.resource_names[resource], &held, why));
    for (uint32_t i = 0; i < node->lost_count; i++) {
        struct keys_lost *lost = &node->lost[i];
        if (lost->command.resource[0] == resource && lost_did(keys, lost, key, &held)) {
            lost->command.own_until_ms = held.until_ms;
            own_unit(keys, back->node, lost, true);
        }
    }
    if (!held.present) {
        row_gone(keys, back, name_of(keys, resource));
    } else if (back->cause == CAUSE_FAILOVER) {
        row_older(keys, back, name_of(keys, resource), &held);
    }
    return RESULT_OK;
}

struct result keys_own_back(struct keys *keys, struct keys_return *back, struct text *why)
{
    struct result looked = RESULT_OK;
    struct server_process process = {
        .index = (uint32_t)back->node, .address = back->address, .talk_fd = -1};
    if (!keys->kind->wire->answers_tell || keys_in_sessions(keys)) {
        return RESULT_OK; /* nobody knows; or the others know as well */
    }
    for (uint32_t i = 0; i < keys->options.resource_count && !result_failed(looked); i++) {
        looked = resource_back(keys, back, &process, i, why);
    }
    if (process.talk_fd >= 0) {
        (void)close(process.talk_fd);
    }
    keys->nodes[back->node].lost_count = 0;
    return looked;
}
