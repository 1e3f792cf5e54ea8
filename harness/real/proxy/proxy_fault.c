/* proxy_fault.c: faults on links and what they did. */
#include "harness/real/proxy/proxy_inner.h"

#include "base/assert.h"

#include <string.h>

/* Bits of a link's active faults, taken one by one. */
static inline uint32_t faults_next(uint64_t *faults)
{
    uint32_t index = (uint32_t)__builtin_ctzll(*faults);
    *faults &= *faults - 1;
    return index;
}

/* The direction of a link as a fault of it names it. */
static uint8_t fault_direction(const struct proxy_link *link, uint32_t index, uint8_t direction)
{
    return (link->back >> index & 1) != 0 ? DIRECTION_BOTH & ~direction : direction;
}

static bool fault_holds(const struct proxy_fault *fault, uint8_t direction)
{
    if (fault->kind == FAULT_STALL) {
        return direction == DIRECTION_REPLY;
    }
    return fault->kind == FAULT_PARTITION && fault->mode == MODE_HOLD &&
           (fault->direction & direction) != 0;
}

static bool fault_drops(const struct proxy_fault *fault, uint8_t direction)
{
    return fault->kind == FAULT_PARTITION && fault->mode == MODE_DROP &&
           (fault->direction & direction) != 0;
}

struct proxy_rules proxy_rules_of(const struct proxy_link *link, uint8_t direction)
{
    struct proxy_rules rules = {false, false};
    uint64_t faults = link->faults;
    while (faults != 0) {
        uint32_t index = faults_next(&faults);
        const struct proxy_fault *fault = &link->proxy->faults[index].fault;
        uint8_t way = fault_direction(link, index, direction);
        rules.holds = rules.holds || fault_holds(fault, way);
        rules.drops = rules.drops || fault_drops(fault, way);
    }
    return rules;
}

/* A draw from [amount, amount + jitter], noted as the longest if it is. */
static int64_t fault_draw(struct proxy_link *link, struct proxy_fault_state *state)
{
    int64_t wait_ns = state->fault.amount_ns;
    if (state->fault.jitter_ns > 0) {
        wait_ns += (int64_t)random_below(&link->stream, (uint64_t)state->fault.jitter_ns + 1);
    }
    if (wait_ns > state->effect.longest_wait_ns) {
        state->effect.longest_wait_ns = wait_ns;
    }
    return wait_ns;
}

int64_t proxy_latency_due(struct proxy_link *link, uint8_t direction, int64_t now_ns)
{
    int64_t wait_ns = 0;
    uint64_t faults = link->faults;
    while (faults != 0) {
        uint32_t index = faults_next(&faults);
        struct proxy_fault_state *state = &link->proxy->faults[index];
        if (state->fault.kind == FAULT_LATENCY &&
            (state->fault.direction & fault_direction(link, index, direction)) != 0) {
            state->effect.messages_late++;
            wait_ns += fault_draw(link, state);
        }
    }
    return wait_ns > 0 ? now_ns + wait_ns : 0;
}

/* Whether a fault that strikes commands of a role strikes this one; counts the strike. */
static bool fault_strikes(struct proxy_fault_state *state, enum fault_kind kind, uint8_t role)
{
    const struct proxy_fault *fault = &state->fault;
    if (fault->kind != kind || (fault->role != ROLE_ANY && fault->role != role)) {
        return false;
    }
    if (fault->strikes_max > 0 && state->strikes >= fault->strikes_max) {
        return false;
    }
    state->strikes++;
    return true;
}

int64_t proxy_delay_of(struct proxy_link *link, uint8_t role)
{
    int64_t wait_ns = 0;
    uint64_t faults = link->faults;
    while (faults != 0) {
        struct proxy_fault_state *state = &link->proxy->faults[faults_next(&faults)];
        if (fault_strikes(state, FAULT_DELAY_COMMAND, role)) {
            state->effect.commands_delayed++;
            wait_ns += fault_draw(link, state);
        }
    }
    return wait_ns;
}

bool proxy_loses(struct proxy_link *link, uint8_t role)
{
    bool lost = false;
    uint64_t faults = link->faults;
    while (faults != 0) {
        struct proxy_fault_state *state = &link->proxy->faults[faults_next(&faults)];
        if (fault_strikes(state, FAULT_LOSE_REPLY, role)) {
            state->effect.replies_lost++;
            state->effect.connections_cut++;
            lost = true;
        }
    }
    return lost;
}

void proxy_count_held(struct proxy_link *link, uint8_t direction, struct proxy_mark *mark)
{
    uint64_t faults = link->faults & ~mark->counted;
    while (faults != 0) {
        uint32_t index = faults_next(&faults);
        struct proxy_fault_state *state = &link->proxy->faults[index];
        if (fault_holds(&state->fault, fault_direction(link, index, direction))) {
            state->effect.messages_held++;
            state->effect.bytes_held += mark->bytes;
            mark->counted |= (uint64_t)1 << index;
        }
    }
}

void proxy_count_dropped(struct proxy_link *link, uint8_t direction, uint32_t bytes)
{
    uint64_t faults = link->faults;
    while (faults != 0) {
        uint32_t index = faults_next(&faults);
        struct proxy_fault_state *state = &link->proxy->faults[index];
        if (fault_drops(&state->fault, fault_direction(link, index, direction))) {
            state->effect.messages_dropped++;
            state->effect.bytes_dropped += bytes;
        }
    }
}

void proxy_count_answer(struct proxy *proxy, const struct proxy_answer *answer,
                        enum proxy_action action)
{
    if (answer->fault == PROXY_NO_FAULT || answer->action != action) {
        return;
    }
    ASSERT(answer->fault < SCENARIO_FAULTS_MAX);
    struct proxy_effect *effect = &proxy->faults[answer->fault].effect;
    if (action == PROXY_LOSE) {
        effect->replies_lost++;
        effect->connections_cut++;
    } else if (action == PROXY_DELAY) {
        effect->commands_delayed++;
        if (answer->delay_ns > effect->longest_wait_ns) {
            effect->longest_wait_ns = answer->delay_ns;
        }
    }
}

static void link_cut_all(struct proxy_link *link, struct proxy_effect *effect)
{
    struct proxy_connection *connection = link->connections;
    while (connection != NULL) {
        struct proxy_connection *next = connection->next;
        /* What waits of a client that has closed is on the way as well. */
        if (connection->client_fd >= 0 || connection->request.mark_count > 0) {
            effect->connections_cut++;
            effect->bytes_dropped += connection_cut(connection);
        }
        connection = next;
    }
}

/* What waits on the link already is held from now on as well. */
static void link_count_waiting(struct proxy_link *link)
{
    for (struct proxy_connection *c = link->connections; c != NULL; c = c->next) {
        for (uint32_t i = 0; i < c->request.mark_count; i++) {
            proxy_count_held(link, DIRECTION_REQUEST, pipe_mark(&c->request, i));
        }
        for (uint32_t i = 0; i < c->reply.mark_count; i++) {
            proxy_count_held(link, DIRECTION_REPLY, pipe_mark(&c->reply, i));
        }
    }
}

void proxy_fault_begin(struct proxy *proxy, uint32_t index, const struct proxy_fault *fault,
                       const uint8_t *links)
{
    ASSERT(index < SCENARIO_FAULTS_MAX);
    struct proxy_fault_state *state = &proxy->faults[index];
    ASSERT(!state->active);
    struct proxy_effect effect = state->effect;
    *state = (struct proxy_fault_state){.active = true, .fault = *fault, .effect = effect};
    bool cuts =
        fault->kind == FAULT_PARTITION && (fault->mode == MODE_REFUSE || fault->mode == MODE_RESET);
    for (uint32_t i = 0; i < proxy->link_count; i++) {
        struct proxy_link *link = &proxy->links[i];
        if (links[i] == FAULT_WAY_NONE) {
            continue;
        }
        link->faults |= (uint64_t)1 << index;
        link->back |= (uint64_t)(links[i] == FAULT_WAY_REPLY) << index;
        if (cuts && fault->mode == MODE_REFUSE) {
            link_refuse(link);
            state->effect.doors_closed += link->connections == NULL ? 1 : 0;
        }
        if (cuts) {
            link_cut_all(link, &state->effect);
        }
        link_count_waiting(link);
    }
}

bool link_refused(const struct proxy_link *link)
{
    uint64_t faults = link->faults;
    while (faults != 0) {
        const struct proxy_fault *fault = &link->proxy->faults[faults_next(&faults)].fault;
        if (fault->kind == FAULT_PARTITION && fault->mode == MODE_REFUSE) {
            return true;
        }
    }
    return false;
}

/* A drop ended: streams with a hole in them cannot go on. */
static void link_cut_torn(struct proxy_link *link, struct proxy_effect *effect)
{
    struct proxy_connection *connection = link->connections;
    while (connection != NULL) {
        struct proxy_connection *next = connection->next;
        if (connection->request.dropped || connection->reply.dropped) {
            effect->connections_cut += connection->client_fd >= 0 ? 1 : 0;
            effect->bytes_dropped += connection_cut(connection);
        }
        connection = next;
    }
}

void proxy_fault_end(struct proxy *proxy, uint32_t index)
{
    ASSERT(index < SCENARIO_FAULTS_MAX);
    struct proxy_fault_state *state = &proxy->faults[index];
    ASSERT(state->active);
    const struct proxy_fault *fault = &state->fault;
    state->active = false;
    proxy->now_ns = loop_now_ns();
    for (uint32_t i = 0; i < proxy->link_count; i++) {
        struct proxy_link *link = &proxy->links[i];
        if ((link->faults >> index & 1) == 0) {
            continue;
        }
        link->faults &= ~((uint64_t)1 << index);
        link->back &= ~((uint64_t)1 << index);
        if (fault->kind == FAULT_PARTITION && fault->mode == MODE_REFUSE && !link_refused(link)) {
            link_admit(link);
        }
        if (fault->kind == FAULT_PARTITION && fault->mode == MODE_DROP) {
            link_cut_torn(link, &state->effect);
        }
    }
    proxy_wake_at(proxy, proxy->now_ns);
}

void proxy_fault_effect(const struct proxy *proxy, uint32_t index, struct proxy_effect *effect)
{
    ASSERT(index < SCENARIO_FAULTS_MAX);
    *effect = proxy->faults[index].effect;
}

uint64_t proxy_effect_count(enum fault_kind kind, enum partition_mode mode,
                            const struct proxy_effect *effect)
{
    if (kind == FAULT_LATENCY) {
        return effect->messages_late;
    }
    if (kind == FAULT_LOSE_REPLY) {
        return effect->replies_lost;
    }
    if (kind == FAULT_DELAY_COMMAND) {
        return effect->commands_delayed;
    }
    if (kind == FAULT_STALL) {
        return effect->messages_held;
    }
    ASSERT(kind == FAULT_PARTITION);
    switch (mode) {
    case MODE_HOLD:
        return effect->messages_held;
    case MODE_DROP:
        return effect->messages_dropped;
    case MODE_REFUSE:
        return effect->connections_cut + effect->doors_closed;
    case MODE_RESET:
        return effect->connections_cut;
    }
    UNREACHABLE();
}

void proxy_let_go(struct proxy *proxy, int32_t client, int32_t node, uint8_t direction)
{
    ASSERT(direction == DIRECTION_REQUEST || direction == DIRECTION_REPLY);
    proxy->now_ns = loop_now_ns();
    struct proxy_link *link = &proxy->links[client * proxy->options.node_count + node];
    struct proxy_connection *connection = link->connections;
    while (connection != NULL) {
        struct proxy_connection *next = connection->next;
        struct proxy_pipe *pipe =
            direction == DIRECTION_REQUEST ? &connection->request : &connection->reply;
        for (uint32_t i = 0; i < pipe->mark_count; i++) {
            pipe_mark(pipe, i)->held = false;
        }
        if (direction == DIRECTION_REPLY) {
            pipe_advance(connection, direction);
            connection_settle(connection);
        }
        connection = next;
    }
    if (direction == DIRECTION_REQUEST) {
        proxy_wake_at(proxy, proxy->now_ns);
    }
}
