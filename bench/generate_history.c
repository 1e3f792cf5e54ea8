/* generate_history.c: one random client after the other takes its next step. */
#include "bench/generate_history.h"

#include "base/arena.h"
#include "base/assert.h"

#include <string.h>

enum client_step {
    STEP_IDLE,
    STEP_WAITING,
    STEP_GRANTED,
    STEP_HOLDING,
    STEP_RELEASING,
    STEP_FREED
};

struct bench_client {
    uint64_t value;
    uint8_t step; /* enum client_step */
    uint8_t fate; /* of the operation under way: enum fate */
    bool freed;   /* the release took effect on this client's key */
    bool certain; /* it was told that it holds */
};

enum fate { FATE_KNOWN, FATE_LOST, FATE_UNKNOWN };

struct generator {
    struct generator_options options;
    struct random_stream dice;
    struct bench_client *clients; /* owned; by lock */
    uint64_t *holders;            /* owned; the value that holds each lock, or 0 */
    uint64_t values, invoked, index;
    int64_t time_ns;
    bool broken; /* the illegal grant was made */
};

struct generator *generator_open(const struct generator_options *options)
{
    size_t count = (size_t)options->locks * options->clients;
    struct generator *generator = memory_resize(NULL, sizeof *generator);
    struct bench_client *clients = memory_resize(NULL, count * sizeof *clients);
    uint64_t *holders = memory_resize(NULL, options->locks * sizeof *holders);
    ASSERT(generator != NULL && clients != NULL && holders != NULL);
    memset(clients, 0, count * sizeof *clients);
    memset(holders, 0, options->locks * sizeof *holders);
    *generator = (struct generator){.options = *options,
                                    .dice = random_stream("generate history", options->seed),
                                    .clients = clients,
                                    .holders = holders};
    return generator;
}

void generator_close(struct generator *generator)
{
    memory_release(generator->clients);
    memory_release(generator->holders);
    memory_release(generator);
}

static uint8_t draw_fate(struct generator *generator)
{
    if (random_below(&generator->dice, 1000000) >= generator->options.unknown_ppm) {
        return FATE_KNOWN;
    }
    return random_below(&generator->dice, 2) == 0 ? FATE_LOST : FATE_UNKNOWN;
}

static bool holder_is_certain(const struct generator *generator, uint32_t lock)
{
    const struct bench_client *clients =
        &generator->clients[(size_t)lock * generator->options.clients];
    for (uint32_t i = 0; i < generator->options.clients; i++) {
        if (clients[i].value == generator->holders[lock] && clients[i].step == STEP_HOLDING) {
            return clients[i].certain;
        }
    }
    return false;
}

/* A waiting client is granted a free lock; once, when it is time, also one that is surely held. */
static bool may_take(struct generator *generator, uint32_t lock)
{
    if (generator->holders[lock] == 0) {
        return true;
    }
    bool due = generator->options.illegal && !generator->broken &&
               generator->invoked >= generator->options.operations / 10 * 9;
    generator->broken = generator->broken || (due && holder_is_certain(generator, lock));
    return due && generator->broken;
}

/* What a client's step says: an event of this f and type, or nothing yet (HISTORY_TYPES). */
struct said {
    enum history_f f;
    enum history_type type;
};

static struct said acquire_step(struct generator *generator, struct bench_client *client,
                                uint32_t lock)
{
    struct said said = {HISTORY_ACQUIRE, HISTORY_TYPES};
    if (client->step == STEP_IDLE) {
        *client = (struct bench_client){
            .value = ++generator->values, .step = STEP_WAITING, .fate = draw_fate(generator)};
        said.type = HISTORY_INVOKE;
    } else if (client->step == STEP_WAITING && client->fate == FATE_LOST) {
        client->step = STEP_HOLDING;
        said.type = HISTORY_INFO;
    } else if (client->step == STEP_WAITING && may_take(generator, lock)) {
        bool second = generator->holders[lock] != 0;
        generator->holders[lock] = second ? generator->holders[lock] : client->value;
        client->certain = client->fate == FATE_KNOWN || second;
        client->step = second ? STEP_HOLDING : STEP_GRANTED;
        said.type = second ? HISTORY_OK : HISTORY_TYPES;
    } else if (client->step == STEP_GRANTED) {
        client->step = STEP_HOLDING;
        said.type = client->certain ? HISTORY_OK : HISTORY_INFO;
    }
    return said;
}

static struct said release_step(struct generator *generator, struct bench_client *client,
                                uint32_t lock)
{
    struct said said = {HISTORY_RELEASE, HISTORY_TYPES};
    if (client->step == STEP_HOLDING) {
        client->step = STEP_RELEASING;
        client->fate = draw_fate(generator);
        said.type = HISTORY_INVOKE;
    } else if (client->step == STEP_RELEASING && client->fate == FATE_LOST) {
        client->step = STEP_HOLDING;
        said.type = HISTORY_INFO;
    } else if (client->step == STEP_RELEASING) {
        client->freed = generator->holders[lock] == client->value;
        generator->holders[lock] = client->freed ? 0 : generator->holders[lock];
        client->step = STEP_FREED;
    } else {
        ASSERT(client->step == STEP_FREED);
        bool unknown = client->fate == FATE_UNKNOWN;
        client->step = unknown ? STEP_HOLDING : STEP_IDLE;
        client->certain = client->certain && !unknown;
        said.type = unknown ? HISTORY_INFO : client->freed ? HISTORY_OK : HISTORY_FAIL;
    }
    return said;
}

bool generator_next(struct generator *generator, struct history_event *event)
{
    const struct generator_options *options = &generator->options;
    for (;;) {
        if (generator->invoked >= options->operations) {
            return false;
        }
        uint32_t lock = (uint32_t)random_below(&generator->dice, options->locks);
        uint32_t who = (uint32_t)random_below(&generator->dice, options->clients);
        size_t at = (size_t)lock * options->clients + who;
        struct bench_client *client = &generator->clients[at];
        bool acquires = client->step <= STEP_GRANTED;
        struct said said = acquires ? acquire_step(generator, client, lock)
                                    : release_step(generator, client, lock);
        if (said.type == HISTORY_TYPES) {
            continue;
        }
        generator->time_ns += 1 + (int64_t)random_below(&generator->dice, 1000);
        generator->invoked += said.type == HISTORY_INVOKE ? 1 : 0;
        *event = (struct history_event){.time_ns = generator->time_ns,
                                        .index = generator->index++,
                                        .kind = HISTORY_OP,
                                        .type = (uint8_t)said.type,
                                        .f = (uint8_t)said.f,
                                        .flags = HISTORY_HAS_VALUE,
                                        .process = (int32_t)at,
                                        .node = HISTORY_NO_NODE,
                                        .fault = HISTORY_NO_FAULT,
                                        .resource = lock};
        memcpy(event->value.bytes, &client->value, sizeof client->value);
        return true;
    }
}
