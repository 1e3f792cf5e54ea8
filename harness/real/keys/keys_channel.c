/* keys_channel.c: commands under way on a connection, and which of them the node has shown. */
#include "harness/real/keys/keys_inner.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

static struct keys_node *channel_node(const struct keys_channel *channel)
{
    return &channel->keys->nodes[channel->route.node];
}

static struct keys_channel **channel_place(struct keys_node *node, uint16_t port)
{
    return &node->channels[port & (KEYS_CHANNELS - 1)];
}

static struct keys_pending *channel_pending(const struct keys_channel *channel, uint32_t i)
{
    ASSERT(i < channel->count);
    return &channel->pending[(channel->first + i) & (channel->capacity - 1)];
}

/* Does the tap that was there when the channel was opened still tell? */
static bool channel_watched(const struct keys_channel *channel)
{
    const struct keys_node *node = channel_node(channel);
    return channel->watched && node->watched && channel->life == node->life;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct keys_channel *keys_channel_open(struct keys *keys, const struct keys_route *route)
{
    ASSERT(route->node >= 0 && route->node < keys->options.node_count);
    struct keys_node *node = &keys->nodes[route->node];
    struct keys_channel *channel = memory_resize(NULL, sizeof *channel);
    if (channel == NULL) {
        return NULL;
    }
    memset(channel, 0, sizeof *channel);
    channel->keys = keys;
    channel->route = *route;
    channel->queue_role = ROLE_OTHER;
    channel->watched =
        node->watched && address_equal(node->address, route->node_address) && route->own_port != 0;
    channel->life = node->life;
    struct keys_channel **place = channel_place(node, route->own_port);
    channel->next = *place;
    *place = channel;
    return channel;
}

static void channel_release(struct keys_channel *channel)
{
    memory_release(channel->pending);
    memory_release(channel);
}

/* Free those that the proxies are done with and that the node has no more to say of. */
void keys_channels_free(struct keys_node *node, bool all)
{
    if (node->closed == 0 && !all) {
        return;
    }
    for (uint32_t i = 0; i < KEYS_CHANNELS; i++) {
        struct keys_channel **at = &node->channels[i];
        while (*at != NULL) {
            struct keys_channel *channel = *at;
            bool silent = !channel_watched(channel) || channel->needs <= node->tap.passed;
            bool in_unit = node->unit.open && node->unit.channel == channel;
            if (all || (channel->closed && silent && !in_unit)) {
                *at = channel->next;
                node->closed -= channel->closed ? 1 : 0;
                channel_release(channel);
            } else {
                at = &channel->next;
            }
        }
    }
}

void keys_channel_close(struct keys_channel *channel)
{
    struct keys_node *node = channel_node(channel);
    ASSERT(!channel->closed);
    keys_connection_over(channel);
    ASSERT(node->open >= channel->count);
    node->open -= channel->count;
    channel->count = 0;
    channel->heard = 0;
    channel->seen = 0;
    channel->closed = true;
    node->closed++;
    /* Lines of its last commands may still come. */
    channel->needs = node->tap.asked + 1;
    node->ask = node->ask || channel_watched(channel);
    if (!channel_watched(channel)) {
        keys_channels_free(node, false);
    }
}

struct keys_channel *keys_channel_find(struct keys_node *node, uint16_t port)
{
    struct keys_channel *channel = port != 0 ? *channel_place(node, port) : NULL;
    while (channel != NULL && (channel->route.own_port != port || !channel_watched(channel))) {
        channel = channel->next;
    }
    return channel;
}

/* ---- what passes ----------------------------------------------------------------------------- */

static int role_strength(uint8_t role)
{
    return role == ROLE_SET ? 3 : role == ROLE_DELETE ? 2 : role == ROLE_EXTEND ? 1 : 0;
}

/* Between MULTI and EXEC nothing is carried out: EXEC does what all of them ask. */
static void channel_queue(struct keys_channel *channel, struct keys_command *command)
{
    if (command->ask == ASK_EXEC) {
        command->role = channel->queue_role;
    }
    if (command->ask == ASK_MULTI || command->ask == ASK_EXEC || command->ask == ASK_DISCARD) {
        channel->queueing = command->ask == ASK_MULTI;
        channel->queue_role = ROLE_OTHER;
    } else if (channel->queueing) {
        bool stronger = role_strength(command->role) > role_strength(channel->queue_role);
        channel->queue_role = stronger ? command->role : channel->queue_role;
        command->role = ROLE_OTHER;
    }
}

void keys_read(struct keys_channel *channel, const void *stream, const struct wire_request *request,
               struct keys_command *command)
{
    struct keys *keys = channel->keys;
    int64_t came_ns = command->came_ns;
    if (!keys_kind_tells(keys)) {
        keys_own_read(keys, request, command);
        command->client = channel->route.client;
        command->came_ns = came_ns;
        return;
    }
    const struct resp_words *words = &((const struct redis_stream *)stream)->words;
    keys_words_read(keys, words, command);
    keys_thread_read(keys, channel->route.client, words, command);
    struct keys_client *client = keys_client_at(keys, command->client);
    command->came_ns = came_ns;
    command->role = (uint8_t)keys_role(keys, command, command->client);
    channel_queue(channel, command);
    if (client != NULL && client->asks) {
        keys_client_word(client, words);
    }
}

static bool channel_grow(struct keys_channel *channel)
{
    enum { PENDING_MAX = 1 << 20, PENDING_FIRST = 4 };
    uint32_t capacity = channel->capacity > 0 ? 2 * channel->capacity : PENDING_FIRST;
    struct keys_pending *pending =
        capacity <= PENDING_MAX ? memory_resize(NULL, capacity * sizeof *pending) : NULL;
    if (pending == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < channel->count; i++) {
        pending[i] = *channel_pending(channel, i);
    }
    memory_release(channel->pending);
    channel->pending = pending;
    channel->capacity = capacity;
    channel->first = 0;
    return true;
}

void keys_sent(struct keys_channel *channel, const struct keys_command *command, int64_t true_ns)
{
    if (channel->count == channel->capacity && !channel_grow(channel)) {
        return; /* without memory its reply passes as it comes */
    }
    struct keys_pending *pending = channel_pending(channel, channel->count++);
    pending->command = *command;
    pending->command.sent_ns = true_ns;
    pending->command.shown = false;
    pending->deed = (struct keys_deed){.resource = KEYS_NO_RESOURCE};
    pending->error = (struct keys_told){0, 0};
    pending->heard = false;
    pending->needs = 0;
    channel_node(channel)->open++;
}

const struct lock_command *keys_next_asked(const struct keys_channel *channel)
{
    if (channel->heard == channel->count) {
        return NULL;
    }
    const struct keys_pending *pending = channel_pending(channel, channel->heard);
    return pending->command.known ? &pending->command.own : NULL;
}

void keys_heard(struct keys_channel *channel, const void *stream, const struct wire_reply *reply,
                int64_t true_ns)
{
    struct keys_node *node = channel_node(channel);
    ASSERT(channel->heard < channel->count);
    struct keys_pending *pending = channel_pending(channel, channel->heard++);
    if (keys_kind_tells(channel->keys)) {
        keys_reply_read(&((const struct redis_stream *)stream)->reply, &pending->reply);
    } else {
        keys_own_reply(reply, &pending->reply);
        keys_own_answered(channel, pending);
    }
    pending->heard = true;
    pending->needs = node->tap.asked + 1;
    if (pending->reply.type == REDIS_SAID_ERROR) {
        pending->error = keys_tell_error(channel, &pending->command, true_ns);
    }
}

void keys_cut_off(struct keys_channel *channel)
{
    struct keys_node *node = channel_node(channel);
    for (; channel->heard < channel->count; channel->heard++) {
        struct keys_pending *pending = channel_pending(channel, channel->heard);
        pending->heard = false;
        pending->needs = node->tap.asked + 1;
        keys_own_cut_off(channel, pending);
    }
    keys_connection_over(channel);
    channel->cut = true;
}

struct keys_pending *keys_channels_freeing(struct keys_node *node, uint32_t resource,
                                           const struct history_value *owner,
                                           struct keys_channel **channel)
{
    for (uint32_t i = 0; i < KEYS_CHANNELS; i++) {
        for (*channel = node->channels[i]; *channel != NULL; *channel = (*channel)->next) {
            for (uint32_t j = (*channel)->heard; j < (*channel)->count; j++) {
                struct keys_pending *pending = channel_pending(*channel, j);
                const struct keys_command *command = &pending->command;
                bool names = command->key_count > 0 && command->resource[0] == resource;
                if (names && !command->shown && command->role == ROLE_DELETE &&
                    keys_own_frees(*channel, command, owner)) {
                    return pending;
                }
            }
        }
    }
    return NULL;
}

uint32_t keys_unheard(const struct keys_channel *channel)
{
    return channel->count - channel->heard;
}

uint32_t keys_open(const struct keys_channel *channel)
{
    return channel->count;
}

bool keys_answer(struct keys_channel *channel, struct keys_answer *answer)
{
    if (channel->heard == 0) {
        return false;
    }
    struct keys_node *node = channel_node(channel);
    struct keys_pending *pending = channel_pending(channel, 0);
    bool shown = pending->command.shown || !channel->watched;
    bool passed = channel_watched(channel) && pending->needs <= node->tap.passed;
    bool never = !channel_watched(channel);
    if (!shown && !passed && !never) {
        node->ask = node->ask || pending->needs > node->tap.asked;
        return false;
    }
    *answer = (struct keys_answer){
        .command = pending->command,
        .reply = pending->reply,
        .deed = pending->deed,
        .error = pending->error,
        .answered = pending->heard,
        .lost = !shown && !passed,
    };
    answer->deed.seen = channel->watched && !answer->lost;
    if (answer->command.ask == ASK_SCRIPT && answer->deed.did != 0) {
        /* It is known now what it does. */
        answer->command.role =
            (uint8_t)keys_role(channel->keys, &answer->command, answer->command.client);
    }
    channel->first++;
    channel->number_first++;
    channel->count--;
    channel->heard--;
    channel->seen -= channel->seen > 0 ? 1 : 0;
    node->open--;
    return true;
}

void keys_replied(struct keys_channel *channel, const struct keys_told *told, int64_t true_ns)
{
    const struct keys *keys = channel->keys;
    bool shared = keys_in_sessions(keys); /* then one node stands for all */
    int64_t told_ns = shared ? keys->nodes[0].told_ns : channel_node(channel)->told_ns;
    int64_t at_ns = true_ns > told_ns ? true_ns : told_ns; /* a turn's time may be older */
    for (uint64_t i = 0; i < told->count && keys->options.replied != NULL; i++) {
        keys->options.replied(keys->options.emit_data, told->first + i, at_ns);
    }
}

/* ---- what the node shows --------------------------------------------------------------------- */

/* Commands that the node does not show have no line: the first that it may be is it. */
uint64_t keys_channel_line(struct keys_channel *channel, const struct resp_words *words,
                           struct keys_command *command)
{
    struct keys_command line;
    keys_words_read(channel->keys, words, &line);
    keys_thread_read(channel->keys, channel->route.client, words, &line);
    *command = line;
    for (uint32_t i = channel->seen; i < channel->count; i++) {
        const struct keys_pending *pending = channel_pending(channel, i);
        if (pending->command.hash == line.hash) {
            *command = pending->command;
            channel->seen = i + 1;
            return channel->number_first + i;
        }
    }
    return KEYS_NO_NUMBER;
}

void keys_channel_shown(struct keys_channel *channel, uint64_t number, const struct keys_deed *deed)
{
    if (number < channel->number_first || number - channel->number_first >= channel->count) {
        return; /* taken already: a barrier was faster */
    }
    struct keys_pending *pending =
        channel_pending(channel, (uint32_t)(number - channel->number_first));
    pending->deed = *deed;
    pending->command.shown = true;
}
