/* differential_rig.h: the model of Redis and a real redis-server, side by side, clocks stopped. */
#ifndef TESTS_SIM_DIFFERENTIAL_RIG_H
#define TESTS_SIM_DIFFERENTIAL_RIG_H

#include "harness/real/node/node.h"
#include "servers/redis/model.h"
#include "tests/real/place.h"
#include "tests/sim/differential_steps.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { RIG_MODEL_BYTES = 1 << 18, RIG_PIPE_BYTES = 1 << 17, RIG_BATCH_MAX = 100 };

struct rig {
    struct place place;
    struct node nodes[2]; /* the one that is asked, and the one that follows */
    int asked;            /* index of the one that is asked */
    bool replicas;
    bool wrong_expiry; /* plant a wrong rule in the model: gone at its date, not after it */
    bool sweeps_early; /* what the server sweeps up by itself may go at its date, not after it */
    bool readonly;
    bool followed;
    int fd;
    int64_t wall_ns;
    int64_t true_ns;
    uint64_t commands;
    struct redis_shape shape;
    enum fsync_setting fsync;
    char out[RIG_PIPE_BYTES];
    size_t out_bytes;
    char in[RIG_PIPE_BYTES];
    size_t in_bytes;
    size_t in_at;
    char difference[512];
    _Alignas(16) char model[RIG_MODEL_BYTES];
    _Alignas(16) char trial[RIG_MODEL_BYTES];
};

static inline struct redis_model *rig_model(struct rig *rig)
{
    return (struct redis_model *)(void *)rig->model;
}

#define RIG_MUST(rig, call)                                                                        \
    do {                                                                                           \
        char rig_memory[WHY_BYTES] = "";                                                           \
        struct text why = text_over(rig_memory, sizeof rig_memory);                                \
        cr_assert(!result_failed(call), "%s", rig_memory);                                         \
    } while (0)

/* ---- the wire -------------------------------------------------------------------------------- */

static inline struct node *rig_node(struct rig *rig)
{
    return &rig->nodes[rig->asked];
}

static inline void rig_connect(struct rig *rig)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)rig_node(rig)->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (rig->fd >= 0) {
        close(rig->fd);
    }
    rig->fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(rig->fd, (struct sockaddr *)&address, sizeof address), 0);
    int one = 1;
    setsockopt(rig->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static inline void rig_word(struct rig *rig, const char *word, size_t bytes)
{
    int head = snprintf(rig->out + rig->out_bytes, 32, "$%zu\r\n", bytes);
    rig->out_bytes += (size_t)head;
    cr_assert_lt(rig->out_bytes + bytes + 2, sizeof rig->out);
    memcpy(rig->out + rig->out_bytes, word, bytes);
    memcpy(rig->out + rig->out_bytes + bytes, "\r\n", 2);
    rig->out_bytes += bytes + 2;
}

static inline void rig_count(struct rig *rig, int words)
{
    rig->out_bytes += (size_t)snprintf(rig->out + rig->out_bytes, 32, "*%d\r\n", words);
}

static inline void rig_flush(struct rig *rig)
{
    for (size_t at = 0; at < rig->out_bytes;) {
        ssize_t sent = send(rig->fd, rig->out + at, rig->out_bytes - at, MSG_NOSIGNAL);
        cr_assert_gt(sent, 0);
        at += (size_t)sent;
    }
    rig->out_bytes = 0;
    rig->in_bytes = 0;
    rig->in_at = 0;
}

/* The next line of a reply, without its end. */
static inline char *rig_line(struct rig *rig)
{
    for (;;) {
        char *line = rig->in + rig->in_at;
        char *end = memmem(line, rig->in_bytes - rig->in_at, "\r\n", 2);
        if (end != NULL) {
            *end = '\0';
            rig->in_at = (size_t)(end - rig->in) + 2;
            return line;
        }
        cr_assert_lt(rig->in_bytes, sizeof rig->in);
        ssize_t got = recv(rig->fd, rig->in + rig->in_bytes, sizeof rig->in - rig->in_bytes, 0);
        cr_assert_gt(got, 0);
        rig->in_bytes += (size_t)got;
    }
}

/* ---- both sides ------------------------------------------------------------------------------ */

/* Start; a server that is killed from outside while it starts (a crowded machine) is started
 * again, one that refuses to start is refused each time. */
static inline void rig_up(struct node *node)
{
    char memory[WHY_BYTES] = "";
    struct text why = text_over(memory, sizeof memory);
    for (int attempt = 0; attempt < 3; attempt++) {
        bool ready = false;
        struct result result = node_start(node, &why);
        while (!result_failed(result) && !ready) {
            result = node_ready(node, &ready, &why);
        }
        if (ready) {
            return;
        }
    }
    cr_assert_fail("%s", memory);
}

static inline void rig_order(struct node *node, const char *const *words)
{
    static struct admin_reply reply;
    RIG_MUST(rig, node_order(node, words, &reply, &why));
}

/*
 * Since Redis 8.0 what it sweeps up ten times a second, and first when it starts, goes in the
 * millisecond of its date (expire.c, activeExpireCycleTryExpire); whoever asks for it in that
 * millisecond still finds what was not swept up. Valkey says that it is a Redis 7.2.
 */
static inline bool rig_server_sweeps_early(struct node *node)
{
    static struct admin_reply reply;
    static const char name[] = "redis_version:";
    RIG_MUST(rig, node_ask(node, (const char *[]){"INFO", "server", NULL}, &reply, &why));
    const char *said = memmem(reply.items[0].data, reply.items[0].bytes, name, sizeof name - 1);
    cr_assert_not_null(said);
    return atoi(said + sizeof name - 1) >= 8;
}

/* Stop the clock of a node at exactly this time. */
static inline void rig_set_clock(struct node *node, int64_t wall_ns)
{
    node_clock_set(node, 0, 0);
    node_clock_set(node, wall_ns - atomic_load(&node->clock->base_shown_ns), 0);
    cr_assert_eq(atomic_load(&node->clock->base_shown_ns), wall_ns);
}

static inline void rig_set_clocks(struct rig *rig)
{
    rig_set_clock(&rig->nodes[0], rig->wall_ns);
    if (rig->replicas) {
        rig_set_clock(&rig->nodes[1], rig->wall_ns);
    }
}

static inline void rig_open(struct rig *rig, enum fsync_setting fsync, bool replicas)
{
    memset(rig, 0, sizeof *rig);
    rig->fd = -1;
    rig->fsync = fsync;
    rig->replicas = replicas;
    rig->shape = (struct redis_shape){RESOURCES, STEPS_MAX, STEPS_MAX};
    cr_assert_leq(redis_model_bytes(&rig->shape), (size_t)RIG_MODEL_BYTES);
    place_make(&rig->place);
    for (int i = 0; i < 1 + replicas; i++) {
        struct node_options options = {.index = i,
                                       .fsync = (uint8_t)fsync,
                                       .fake_clock = true,
                                       .track_fsync = true,
                                       .server = getenv("PICKLOCK_REDIS_SERVER"),
                                       .run_directory = rig->place.path};
        RIG_MUST(rig, node_init(&rig->nodes[i], &options, &why));
        rig_up(&rig->nodes[i]);
    }
    rig->sweeps_early = rig_server_sweeps_early(&rig->nodes[0]);
    if (replicas) {
        for (int i = 0; i < 2; i++) {
            rig_order(&rig->nodes[i],
                      (const char *[]){"CONFIG", "SET", "repl-diskless-sync", "no", NULL});
        }
    }
}

static inline void rig_close(struct rig *rig)
{
    close(rig->fd);
    for (int i = 0; i < 1 + rig->replicas; i++) {
        node_release(&rig->nodes[i]);
    }
    place_remove(&rig->place);
}

/* New servers in the place of the old; what was counted stays. */
static inline void rig_renew(struct rig *rig)
{
    uint64_t commands = rig->commands;
    rig_close(rig);
    rig_open(rig, rig->fsync, rig->replicas);
    rig->commands = commands;
}

/* Both begin anew: no keys, no scripts, no errors, the same time. */
static inline void rig_reset(struct rig *rig)
{
    rig->wall_ns = 1800000000 * NS_PER_S + 500000;
    rig->true_ns = 0;
    rig->readonly = false;
    rig->followed = false;
    rig->difference[0] = '\0';
    rig_set_clocks(rig);
    for (int i = 0; i < 1 + rig->replicas; i++) {
        struct node *node = &rig->nodes[i];
        rig_order(node, (const char *[]){"REPLICAOF", "NO", "ONE", NULL});
        rig_order(node, (const char *[]){"CONFIG", "SET", "maxmemory", "0", NULL});
        /* The flush itself must not be what a power cut takes. */
        const char *fsync = rig->fsync == FSYNC_ALWAYS ? "always" : "everysec";
        rig_order(node, (const char *[]){"CONFIG", "SET", "appendfsync", "always", NULL});
        rig_order(node, (const char *[]){"FLUSHALL", NULL});
        rig_order(node, (const char *[]){"CONFIG", "SET", "appendfsync", fsync, NULL});
        rig_order(node, (const char *[]){"SCRIPT", "FLUSH", NULL});
    }
    rig_connect(rig);
    redis_model_init(rig_model(rig), &rig->shape, rig->fsync);
}

static inline void rig_expire(struct rig *rig, struct redis_model *model)
{
    for (uint32_t i = 0; i < RESOURCES; i++) {
        const struct redis_cell *cell = redis_model_cell(model, i);
        bool due = redis_cell_expired(cell, rig->wall_ns);
        bool early = rig->wrong_expiry && cell->present && cell->expires &&
                     cell->expire_ms <= rig->wall_ns / NS_PER_MS;
        if (due || early) {
            redis_model_remove(model, i, rig->true_ns);
        }
    }
}

/* ---- commands -------------------------------------------------------------------------------- */

static inline void rig_send(struct rig *rig, const struct step *step)
{
    char scratch[REDIS_SCRATCH_BYTES];
    char name[8];
    struct redis_words words;
    int bytes = snprintf(name, sizeof name, "r%u", step->resource);
    redis_words(&step->command, name, (size_t)bytes, scratch, &words);
    rig_count(rig, words.count);
    for (int i = 0; i < words.count; i++) {
        rig_word(rig, words.word[i], words.bytes[i]);
    }
}

static inline struct lock_reply rig_reply(struct rig *rig, enum redis_command kind)
{
    const char *line = rig_line(rig);
    switch (line[0]) {
    case '+':
        return redis_reply(kind, REDIS_SAID_OK, 0);
    case ':':
        return redis_reply(kind, REDIS_SAID_INTEGER, atoll(line + 1));
    case '$':
        cr_assert_str_eq(line, "$-1");
        return redis_reply(kind, REDIS_SAID_NIL, 0);
    case '-':
        return redis_reply(
            kind, strncmp(line, "-NOSCRIPT", 9) == 0 ? REDIS_SAID_NOSCRIPT : REDIS_SAID_ERROR, 0);
    default:
        cr_assert_fail("what is %s?", line);
        return (struct lock_reply){.type = LOCK_REPLY_GARBLED};
    }
}

static inline void rig_differ(struct rig *rig, const char *what, int64_t real, int64_t model)
{
    (void)snprintf(rig->difference, sizeof rig->difference, "%s: redis says %lld, the model %lld",
                   what, (long long)real, (long long)model);
}

static inline bool rig_command(struct rig *rig, const struct step *step)
{
    struct redis_answer answer;
    struct redis_ask ask = {&step->command, step->resource, rig->true_ns, rig->wall_ns};
    rig_expire(rig, rig_model(rig));
    redis_model_command(rig_model(rig), &ask, &answer);
    struct lock_reply reply = rig_reply(rig, (enum redis_command)step->command.kind);
    rig->commands++;
    rig->true_ns += NS_PER_MS;
    if (reply.type != answer.reply.type) {
        rig_differ(rig, "type of reply", reply.type, answer.reply.type);
        return false;
    }
    if (reply.number != answer.reply.number) {
        rig_differ(rig, "reply", reply.number, answer.reply.number);
        return false;
    }
    return true;
}

/* ---- the whole state ------------------------------------------------------------------------- */

struct rig_key {
    bool present;
    uint8_t value; /* its bytes are all the same */
    int64_t expire_ms;
    int64_t fence; /* 0: no counter */
};

static inline void rig_ask_key(struct rig *rig, uint32_t resource)
{
    char name[16];
    size_t bytes = (size_t)snprintf(name, sizeof name, "r%u", resource);
    rig_count(rig, 2);
    rig_word(rig, "GET", 3);
    rig_word(rig, name, bytes);
    rig_count(rig, 2);
    rig_word(rig, "PTTL", 4); /* a server before 7.0 knows no PEXPIRETIME; the clock stands still */
    rig_word(rig, name, bytes);
    bytes = (size_t)snprintf(name, sizeof name, "r%u:fence", resource);
    rig_count(rig, 2);
    rig_word(rig, "GET", 3);
    rig_word(rig, name, bytes);
}

static inline struct rig_key rig_read_key(struct rig *rig)
{
    struct rig_key key = {0};
    if (strcmp(rig_line(rig), "$-1") != 0) {
        struct lock_value value;
        key.present = true;
        cr_assert(lock_value_parse(rig_line(rig), LOCK_VALUE_HEX_BYTES, &value));
        key.value = value.bytes[0];
    }
    int64_t left_ms = atoll(rig_line(rig) + 1);
    key.expire_ms = left_ms < 0 ? left_ms : rig->wall_ns / NS_PER_MS + left_ms;
    if (strcmp(rig_line(rig), "$-1") != 0) {
        key.fence = atoll(rig_line(rig));
    }
    return key;
}

static inline void rig_read_all(struct rig *rig, struct rig_key keys[RESOURCES])
{
    for (uint32_t i = 0; i < RESOURCES; i++) {
        rig_ask_key(rig, i);
    }
    rig_flush(rig);
    for (uint32_t i = 0; i < RESOURCES; i++) {
        keys[i] = rig_read_key(rig);
    }
}

/* A key that is gone in the millisecond of its date: the server chose so, and the model follows. */
static inline void rig_sweep(struct rig *rig, struct redis_model *model, uint32_t resource)
{
    const struct redis_cell *cell = redis_model_cell(model, resource);
    bool may = rig->sweeps_early && cell->present && cell->expires;
    if (may && cell->expire_ms == rig->wall_ns / NS_PER_MS) {
        redis_model_remove(model, resource, rig->true_ns);
    }
}

static inline bool rig_same(struct rig *rig, struct redis_model *model,
                            const struct rig_key keys[RESOURCES])
{
    rig_expire(rig, model);
    for (uint32_t i = 0; i < RESOURCES; i++) {
        if (!keys[i].present) {
            rig_sweep(rig, model, i);
        }
        const struct redis_cell *cell = redis_model_cell(model, i);
        int64_t expire_ms = !cell->present ? -2 : cell->expires ? cell->expire_ms : -1;
        if (keys[i].present != cell->present) {
            rig_differ(rig, "a key is there", keys[i].present, cell->present);
            return false;
        }
        if (cell->present && keys[i].value != cell->value.bytes[0]) {
            rig_differ(rig, "a key's value", keys[i].value, cell->value.bytes[0]);
            return false;
        }
        if (keys[i].expire_ms != expire_ms) {
            rig_differ(rig, "a key's date", keys[i].expire_ms, expire_ms);
            return false;
        }
        if (keys[i].fence != (cell->counted ? cell->fence : 0)) {
            rig_differ(rig, "a counter", keys[i].fence, cell->counted ? cell->fence : 0);
            return false;
        }
    }
    return true;
}

static inline bool rig_compare(struct rig *rig)
{
    struct rig_key keys[RESOURCES];
    rig_read_all(rig, keys);
    return rig_same(rig, rig_model(rig), keys);
}

#endif
