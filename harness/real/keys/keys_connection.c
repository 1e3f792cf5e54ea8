/*
 * keys_connection.c: what a command did to a lock that lives with a connection, by its answer.
 *
 * Such a lock is given back by its own connection, or goes with it. When a server has noticed that
 * a connection is over nobody says: at the latest when somebody else is granted the lock. Behind a
 * pooler all clients' statements are one connection's.
 */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "harness/real/process/loop.h"

static enum lock_verb verb_of(const struct keys *keys, const struct keys_command *command)
{
    return (enum lock_verb)lock_dialect_row(keys->kind->dialect, command->own.kind)->verb;
}

bool keys_of_connection(const struct keys *keys, const struct keys_command *command)
{
    bool asks = command->known && command->key_count > 0;
    enum lock_verb verb = asks ? verb_of(keys, command) : LOCK_VERB_NONE;
    return verb == LOCK_VERB_HOLD || verb == LOCK_VERB_LET_GO;
}

static void key_lost(struct keys *keys, int32_t node, uint32_t name, uint8_t cause)
{
    struct keys_key *key = keys_key_on(keys, name, node);
    bool dated = cause == CAUSE_SESSION && key->holding.over_ns != 0;
    keys_tell_ending(keys, node, name,
                     &(struct keys_ending){.f = HISTORY_KEY_LOST,
                                           .cause = cause,
                                           .fault = HISTORY_NO_FAULT,
                                           .true_ns = loop_now_ns(),
                                           .since_ns = dated ? key->holding.over_ns : TIME_NEVER});
    key->present = false;
}

/* It was free when it was granted: given back by a command whose answer is under way, or gone. */
static void make_free(struct keys_channel *channel, const struct keys_command *command,
                      uint32_t name)
{
    struct keys *keys = channel->keys;
    int32_t node = channel->route.node;
    struct keys_key *key = keys_key_on(keys, name, node);
    struct keys_channel *other;
    if (keys->options.pooled) {
        if (key->owner != channel->route.client) {
            key_lost(keys, node, name, CAUSE_SHARED);
        }
        return;
    }
    struct keys_pending *freeing =
        key->holding.over_ns != 0
            ? NULL
            : keys_channels_freeing(&keys->nodes[node], command->resource[0], &key->value, &other);
    if (freeing != NULL) {
        keys_own_done(other, freeing, true);
    } else {
        key_lost(keys, node, name, CAUSE_SESSION);
    }
}

static void held_answered(struct keys_channel *channel, struct keys_pending *pending, uint32_t name)
{
    struct keys_key *key = keys_key_on(channel->keys, name, channel->route.node);
    bool again = key->present && key->holding.by == channel;
    uint32_t count = again ? key->holding.count : 0;
    if (key->present && !again) {
        make_free(channel, &pending->command, name);
    }
    keys_own_done(channel, pending, true);
    key->holding = (struct keys_holding){.by = channel, .count = count + 1};
}

/* As often as it was granted it must be given back. What was another's by then is no key of its. */
static void let_go(struct keys_channel *channel, struct keys_pending *pending, struct keys_key *key)
{
    bool pooled = channel->keys->options.pooled;
    bool its =
        key->present && (pooled ? key->owner == channel->route.client : key->holding.by == channel);
    if (!its) {
        pending->command.shown = true;
        return;
    }
    key->holding.count--;
    keys_own_done(channel, pending, pooled || key->holding.count == 0);
}

void keys_connection_answered(struct keys_channel *channel, struct keys_pending *pending, bool did)
{
    struct keys *keys = channel->keys;
    const struct keys_command *command = &pending->command;
    ASSERT(keys->resources[command->resource[0]].lock != 0);
    uint32_t name = keys->resources[command->resource[0]].lock - 1;
    if (!did) {
        keys_own_done(channel, pending, false);
    } else if (verb_of(keys, command) == LOCK_VERB_HOLD) {
        held_answered(channel, pending, name);
    } else {
        let_go(channel, pending, keys_key_on(keys, name, channel->route.node));
    }
}

void keys_connection_over(struct keys_channel *channel)
{
    struct keys *keys = channel->keys;
    for (uint32_t i = 0; i < keys->table.count; i++) {
        struct keys_key *key = keys_key_on(keys, i, channel->route.node);
        if (key->holding.by == channel) {
            key->holding.by = NULL;
            key->holding.over_ns = loop_now_ns();
        }
    }
}
