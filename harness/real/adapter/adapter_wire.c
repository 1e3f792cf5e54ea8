/* adapter_wire.c: probe points inside an acquire, seen on the wire. */
#include "harness/real/adapter/adapter_inner.h"

#include "base/assert.h"

#include <string.h>

static void wire_let_go(struct adapter_client *client, uint32_t nodes, uint8_t direction)
{
    for (int32_t node = 0; nodes >> node != 0; node++) {
        if ((nodes >> node & 1) != 0) {
            proxy_let_go(client->adapter->options.proxy, client->process->first, node, direction);
        }
    }
}

void adapter_attempt_end(struct adapter_client *client)
{
    struct adapter_attempt attempt = client->attempt;
    memset(&client->attempt, 0, sizeof client->attempt);
    client->quiet_ns = TIME_NEVER;
    wire_let_go(client, attempt.requests_held, DIRECTION_REQUEST);
    wire_let_go(client, attempt.replies_held, DIRECTION_REPLY);
}

void adapter_wire_thaw(struct adapter_client *client)
{
    uint32_t nodes = client->attempt.requests_held;
    client->attempt.requests_held = 0;
    client->attempt.holds_requests = false;
    wire_let_go(client, nodes, DIRECTION_REQUEST);
}

static bool wire_watched(const struct adapter_client *client, enum probe_point point)
{
    return (*client->adapter->options.probes_watched >> point & 1) != 0;
}

/* The client passes a point: it may be frozen or killed when this returns. */
static void wire_probe(struct adapter_client *client, enum probe_point point)
{
    const struct adapter_callbacks *callbacks = &client->adapter->options.callbacks;
    callbacks->probe(callbacks->data, client->index, point);
}

/* Its process does something for whoever has asked. */
static void wire_lives(struct adapter_process *process, int64_t true_ns)
{
    for (int32_t i = 0; i < process->count; i++) {
        adapter_first(process)[i].alive_ns = true_ns;
    }
}

/* The client that sent this, if its program waits for an outcome, or NULL. */
static struct adapter_client *wire_asker(struct adapter *adapter,
                                         const struct proxy_message *message)
{
    if (adapter->stopped || message->client >= adapter->count) {
        return NULL;
    }
    struct adapter_client *client = &adapter->clients[message->command->client];
    wire_lives(client->process, message->true_ns);
    return client->state == ADAPTER_ACTIVE && client->asked ? client : NULL;
}

/* Does this command belong to the acquire or the extension that is asked for? */
static bool wire_serves(const struct adapter_client *client, const struct proxy_message *message)
{
    enum command_role role = client->asked_f == HISTORY_ACQUIRE  ? ROLE_SET
                             : client->asked_f == HISTORY_EXTEND ? ROLE_EXTEND
                                                                 : ROLE_ANY;
    return message->command->role == role;
}

/* An acquire begins with a look at the lock's key (WATCH, GET): a SET comes only if that is free.
 */
static bool wire_looks(const struct adapter_client *client, const struct proxy_message *message)
{
    return client->asked_f == HISTORY_ACQUIRE && client->attempt.arrived == 0 &&
           message->command->role == ROLE_OTHER && message->command->key_count > 0;
}

struct proxy_answer adapter_arrival(struct adapter *adapter, const struct proxy_message *message)
{
    struct adapter_client *client = wire_asker(adapter, message);
    bool looks = client != NULL && wire_looks(client, message);
    if (client == NULL || !(looks || wire_serves(client, message))) {
        return PROXY_PASSES;
    }
    uint32_t node = 1u << message->node;
    if ((client->attempt.arrived & node) != 0) {
        adapter_attempt_end(client); /* the library asks this node again: a new attempt */
    }
    client->attempt.arrived |= looks ? 0 : node;
    if (client->asked_f == HISTORY_EXTEND) {
        return PROXY_PASSES; /* of an extension only its majority is a probe point */
    }
    if (!client->attempt.send_passed) {
        client->attempt.send_passed = true;
        wire_probe(client, PROBE_BEFORE_SEND);
        client->attempt.holds_requests = client->frozen;
    }
    if (client->attempt.holds_requests) {
        client->attempt.requests_held |= node;
        return (struct proxy_answer){PROXY_HOLD, PROXY_NO_FAULT, 0};
    }
    return PROXY_PASSES;
}

/* Nodes whose answer before_replies waits for: those asked, and those that still can be. */
static uint32_t wire_expected(const struct adapter_client *client)
{
    const struct adapter_options *options = &client->adapter->options;
    uint32_t nodes = client->attempt.arrived;
    for (int32_t node = 0; node < options->plan->scenario.node_count; node++) {
        if (proxy_connected(options->proxy, client->process->first, node)) {
            nodes |= 1u << node;
        }
    }
    return nodes;
}

/* Every reply that will come has come: the process is stopped here, then they go out. */
static void wire_replies_pass(struct adapter_client *client)
{
    client->attempt.replies_passed = true;
    client->quiet_ns = TIME_NEVER;
    wire_probe(client, PROBE_BEFORE_REPLIES);
    uint32_t nodes = client->attempt.replies_held;
    client->attempt.replies_held = 0;
    wire_let_go(client, nodes, DIRECTION_REPLY);
}

void adapter_wire_quiet(struct adapter_client *client)
{
    client->quiet_ns = TIME_NEVER;
    if (client->attempt.replies_held != 0 && !client->attempt.replies_passed) {
        wire_replies_pass(client);
    }
}

/* The node holds the lock for this client now; where it does not tell, its reply has to do. */
static bool wire_agrees(const struct proxy_message *message)
{
    if (message->deed->seen && message->deed->resource != KEYS_NO_RESOURCE) {
        return message->deed->holds;
    }
    return message->reply->type == REDIS_SAID_OK ||
           (message->reply->type == REDIS_SAID_INTEGER && message->reply->integer > 0);
}

struct proxy_answer adapter_reply(struct adapter *adapter, const struct proxy_message *message)
{
    struct adapter_client *client = wire_asker(adapter, message);
    uint32_t node = 1u << message->node;
    bool serves = client != NULL && wire_serves(client, message);
    if (!serves || (client->attempt.arrived & node) == 0) {
        return PROXY_PASSES;
    }
    struct adapter_attempt *attempt = &client->attempt;
    if (message->reply->type == REDIS_SAID_NOSCRIPT) {
        attempt->arrived &= ~node; /* nothing was applied: it will be asked again, by text */
        return PROXY_PASSES;
    }
    attempt->answered |= node;
    attempt->agreed |= wire_agrees(message) ? node : 0;
    uint32_t quorum = lock_quorum((uint32_t)adapter->options.plan->scenario.node_count);
    if ((uint32_t)__builtin_popcount(attempt->agreed) >= quorum && !attempt->majority_passed) {
        attempt->majority_passed = true;
        if (wire_watched(client, PROBE_AFTER_MAJORITY)) {
            wire_probe(client, PROBE_AFTER_MAJORITY);
        }
    }
    if (client->asked_f == HISTORY_EXTEND) {
        return PROXY_PASSES;
    }
    if (attempt->replies_passed || !wire_watched(client, PROBE_BEFORE_REPLIES)) {
        return PROXY_PASSES;
    }
    if ((wire_expected(client) & ~attempt->answered) == 0) {
        wire_replies_pass(client);
        return PROXY_PASSES;
    }
    attempt->replies_held |= node;
    client->quiet_ns = message->true_ns + ADAPTER_QUIET_MS * NS_PER_MS;
    adapter_alarm(client);
    return (struct proxy_answer){PROXY_HOLD, PROXY_NO_FAULT, 0};
}
