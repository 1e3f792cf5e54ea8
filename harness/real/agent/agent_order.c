/* agent_order.c: what an agent does with its servers when it is told to. */
#include "harness/real/agent/agent_inner.h"

#include "base/assert.h"
#include "base/machine_clock.h"
#include "base/version.h"
#include "harness/real/process/guard.h"
#include "harness/real/process/loop.h"
#include "servers/kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { AGENT_UP_SECONDS = 10, AGENT_LOG_BYTES = 12 << 10 };

static struct result impossible(struct text *why, const char *what)
{
    text_add(why, "%s", what);
    return result_error(ERROR_USAGE);
}

static struct node *slot_of(struct agent *agent, const struct order *order)
{
    int64_t slot = order->numbers[0];
    bool there = slot >= 0 && slot < ORDER_SLOTS && agent->prepared[slot];
    return there ? &agent->nodes[slot] : NULL;
}

void agent_clear(struct agent *agent)
{
    for (int i = 0; i < ORDER_SLOTS; i++) {
        if (agent->prepared[i]) {
            node_release(&agent->nodes[i]);
            agent->prepared[i] = false;
        }
    }
    if (agent->directory[0] != '\0') {
        guard_remove_tree(agent->directory);
        agent->directory[0] = '\0';
    }
}

static struct result order_prepare(struct agent *agent, const struct order *order,
                                   struct text *answer, struct text *why)
{
    int64_t slot = order->numbers[0];
    int64_t flags = order->numbers[3];
    if (slot < 0 || slot >= ORDER_SLOTS || agent->prepared[slot] || order->numbers[1] < 0 ||
        order->numbers[1] >= LOCK_NODES_MAX || order->numbers[2] < 0 ||
        order->numbers[2] > FSYNC_ALWAYS) {
        return impossible(why, "there is no such slot, or it is in use");
    }
    if (agent->directory[0] == '\0') {
        (void)snprintf(agent->directory, sizeof agent->directory, "%s/picklock-node-XXXXXX",
                       agent->options->data_directory);
        if (mkdtemp(agent->directory) == NULL) {
            text_add(why, "%s: %s", agent->options->data_directory, strerror(errno));
            agent->directory[0] = '\0';
            return result_error(ERROR_ENVIRONMENT);
        }
    }
    wire_password(&agent->holder->wire, agent->password);
    struct node_options options = {
        .kind = SERVER_KIND_redis,
        .index = (int32_t)order->numbers[1],
        .fsync = (uint8_t)order->numbers[2],
        .fake_clock = (flags & ORDER_FAKE_CLOCK) != 0,
        .track_fsync = (flags & ORDER_TRACK_FSYNC) != 0,
        .replica = (flags & ORDER_REPLICA) != 0,
        .run_directory = agent->directory,
        .server = agent->options->server,
        .ip = address_of(agent->holder->fd).ip,
        .password = agent->password,
    };
    struct result made = node_init(&agent->nodes[slot], &options, why);
    agent->prepared[slot] = true; /* also where it failed: there is something to release */
    TRY(made);
    struct address address = node_address(&agent->nodes[slot]);
    text_add(answer, "%" PRIu32 " %u", address.ip, address.port);
    return RESULT_OK;
}

static struct result order_time(struct text *answer)
{
    text_add(answer, "%" PRId64 " %" PRId64, loop_now_ns(), realtime_ns());
    return RESULT_OK;
}

/* The harness has reached it; we may not have looked since it was started. */
static struct result node_await(struct node *node, struct text *why)
{
    int64_t deadline_ns = loop_now_ns() + AGENT_UP_SECONDS * NS_PER_S;
    bool ready = false;
    while (node->state == NODE_STARTING && loop_now_ns() < deadline_ns) {
        TRY(node_ready(node, &ready, why));
        (void)nanosleep(&(struct timespec){.tv_nsec = ready ? 0 : NS_PER_MS / 5}, NULL);
    }
    return node->state == NODE_UP ? RESULT_OK : impossible(why, "its server is not up");
}

static struct result order_log(const struct node *node, struct text *answer)
{
    static char bytes[AGENT_LOG_BYTES];
    int fd = open(node->log_path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    off_t from = size > (off_t)sizeof bytes ? size - (off_t)sizeof bytes : 0;
    ssize_t got = fd >= 0 ? pread(fd, bytes, sizeof bytes, from) : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    text_add(answer, "%.*s", got > 0 ? (int)got : 0, bytes);
    return RESULT_OK;
}

static struct result order_power_loss(struct node *node, const struct order *order,
                                      struct text *answer, struct text *why)
{
    struct random_stream random = {(uint64_t)order->numbers[1]};
    struct node_power_loss loss;
    if (node->options.fsync != FSYNC_NONE && !node->options.track_fsync) {
        return impossible(why, "it was not prepared for a power loss");
    }
    TRY(node_power_loss(node, &random, &loss, why));
    text_add(answer, "%" PRId64 " %" PRId64 " %" PRId64, loss.written_bytes, loss.synced_bytes,
             loss.kept_bytes);
    return RESULT_OK;
}

static struct result order_clock(struct node *node, const struct order *order, struct text *why)
{
    if (!node->options.fake_clock || order->numbers[2] < 0 || order->numbers[2] > INT32_MAX) {
        return impossible(why, "it was not prepared for another clock, or there is no such rate");
    }
    node_clock_set(node, order->numbers[1], order->numbers[2]);
    return RESULT_OK;
}

/* Orders about one server. */
static struct result order_node(struct node *node, const struct order *order, struct text *answer,
                                struct text *why)
{
    switch ((enum order_kind)order->kind) {
    case ORDER_START:
        return node->state == NODE_DOWN ? node_start(node, why)
                                        : impossible(why, "its server runs already");
    case ORDER_CRASH:
        node_crash(node);
        return RESULT_OK;
    case ORDER_SHUTDOWN:
        TRY(node_await(node, why));
        return node_shutdown(node, why);
    case ORDER_POWER_LOSS:
        return order_power_loss(node, order, answer, why);
    case ORDER_FREEZE:
        TRY(node_await(node, why));
        return node_freeze(node, why);
    case ORDER_THAW:
        if (node->state != NODE_FROZEN) {
            return impossible(why, "its server does not stand still");
        }
        node_thaw(node);
        return RESULT_OK;
    case ORDER_CLOCK:
        return order_clock(node, order, why);
    case ORDER_LOG:
        return order_log(node, answer);
    case ORDER_ATTACH:
    case ORDER_TIME:
    case ORDER_PREPARE:
    case ORDER_KINDS:
        break;
    }
    UNREACHABLE();
}

static struct result order_any(struct agent *agent, const struct order *order, struct text *answer,
                               struct text *why)
{
    if (order->kind == ORDER_ATTACH) {
        text_add(answer, "%s", PICKLOCK_VERSION);
        return RESULT_OK;
    }
    if (order->kind == ORDER_TIME) {
        return order_time(answer);
    }
    if (order->kind == ORDER_PREPARE) {
        return order_prepare(agent, order, answer, why);
    }
    struct node *node = slot_of(agent, order);
    return node != NULL ? order_node(node, order, answer, why)
                        : impossible(why, "there is no such slot");
}

bool agent_obey(struct agent *agent, struct guest *guest, const struct order *order)
{
    static char answer_memory[WIRE_BODY_BYTES_MAX];
    static char why_memory[WHY_BYTES];
    struct text answer = text_over(answer_memory, sizeof answer_memory);
    struct text why = text_over(why_memory, sizeof why_memory);
    struct result done = order_any(agent, order, &answer, &why);
    if (result_failed(done)) {
        agent_say("%s: %s: %s", guest->name, order_word((enum order_kind)order->kind), why.data);
        return agent_send(guest, WIRE_REFUSED, &why);
    }
    return agent_send(guest, WIRE_DONE, &answer);
}

static void tell_death(struct agent *agent, int slot, const struct text *why)
{
    char memory[WHY_BYTES + 16];
    struct text note = text_over(memory, sizeof memory);
    text_add(&note, "%d %s", slot, why->data);
    agent_say("%s: %s", agent->holder->name, why->data);
    (void)agent_send(agent->holder, WIRE_NOTE, &note);
}

bool agent_look(struct agent *agent)
{
    bool starting = false;
    for (int i = 0; i < ORDER_SLOTS; i++) {
        struct node *node = &agent->nodes[i];
        char memory[WHY_BYTES];
        struct text why = text_over(memory, sizeof memory);
        bool ready = false;
        if (!agent->prepared[i] || node->state == NODE_DOWN) {
            continue;
        }
        bool dead = node->state == NODE_STARTING ? result_failed(node_ready(node, &ready, &why))
                                                 : node_died(node, &why);
        if (dead && agent->holder != NULL) {
            tell_death(agent, i, &why);
        }
        starting = starting || node->state == NODE_STARTING;
    }
    return starting;
}
