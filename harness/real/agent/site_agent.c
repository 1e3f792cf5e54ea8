/* site_agent.c: a node under an agent: orders go over the wire, and are carried out there. */
#include "harness/real/agent/remote.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct remote *remote_of(const struct site *site)
{
    return site->place.context;
}

/* An order about the site's server, with up to two numbers more. */
static struct result agent_order(struct site *site, enum order_kind kind, const int64_t more[2],
                                 struct text *why)
{
    struct order order = {.kind = (uint8_t)kind, .numbers = {site->slot}};
    order.numbers[1] = more != NULL ? more[0] : 0;
    order.numbers[2] = more != NULL ? more[1] : 0;
    return remote_ask(remote_of(site), &order, why);
}

static struct result agent_init(struct site *site, struct text *why)
{
    struct remote *remote = remote_of(site);
    const struct node_options *options = &site->options;
    int64_t told[2];
    ASSERT(remote->slots < ORDER_SLOTS);
    site->slot = (int32_t)remote->slots;
    struct order order = {
        .kind = ORDER_PREPARE,
        .numbers = {site->slot, options->index, options->fsync,
                    (options->fake_clock ? ORDER_FAKE_CLOCK : 0) |
                        (options->track_fsync ? ORDER_TRACK_FSYNC : 0) |
                        (options->replica ? ORDER_REPLICA : 0)},
    };
    (void)snprintf(site->log_path, sizeof site->log_path, "%.480s/node-%d%s.log",
                   options->run_directory, options->index + 1, options->replica ? "-replica" : "");
    TRY(remote_ask(remote, &order, why));
    if (!order_numbers(remote->answer, remote->answer_bytes, told, 2) || told[0] < 0 ||
        told[0] > UINT32_MAX || told[1] <= 0 || told[1] > UINT16_MAX) {
        text_add(why, "node %d: the agent at %s gives no address", options->index + 1,
                 remote->place->name);
        return result_error(ERROR_ENVIRONMENT);
    }
    remote->slots++;
    site->address = (struct address){
        .ip = (uint32_t)told[0], .port = (uint16_t)told[1], .password = remote->password};
    site->wall_ahead_ns = remote->clock.wall_ahead_ns;
    return RESULT_OK;
}

static struct result agent_start(struct site *site, struct text *why)
{
    remote_of(site)->died[site->slot] = false;
    return agent_order(site, ORDER_START, NULL, why);
}

static bool agent_died(struct site *site, struct text *why)
{
    struct remote *remote = remote_of(site);
    if (result_failed(remote_beat(remote, why))) {
        return true;
    }
    if (remote->died[site->slot]) {
        text_add(why, "%s", remote->died_why[site->slot]);
    }
    return remote->died[site->slot];
}

static struct result agent_ready(struct site *site, bool *ready, struct text *why)
{
    if (agent_died(site, why)) {
        return result_error(ERROR_ENVIRONMENT);
    }
    *ready = site->launch->alive(&site->server);
    return RESULT_OK;
}

static struct result agent_crash(struct site *site, struct text *why)
{
    return agent_order(site, ORDER_CRASH, NULL, why);
}

static struct result agent_shutdown(struct site *site, struct text *why)
{
    return agent_order(site, ORDER_SHUTDOWN, NULL, why);
}

static struct result agent_power_loss(struct site *site, struct random_stream *random,
                                      struct node_power_loss *loss, struct text *why)
{
    struct remote *remote = remote_of(site);
    int64_t told[3];
    TRY(agent_order(site, ORDER_POWER_LOSS,
                    (const int64_t[]){(int64_t)(random_word(random) >> 1), 0}, why));
    if (!order_numbers(remote->answer, remote->answer_bytes, told, 3)) {
        text_add(why, "node %d: the agent at %s does not tell what its disk kept",
                 site->options.index + 1, remote->place->name);
        return result_error(ERROR_ENVIRONMENT);
    }
    *loss = (struct node_power_loss){told[0], told[1], told[2]};
    return RESULT_OK;
}

static struct result agent_freeze(struct site *site, struct text *why)
{
    return agent_order(site, ORDER_FREEZE, NULL, why);
}

static struct result agent_thaw(struct site *site, struct text *why)
{
    return agent_order(site, ORDER_THAW, NULL, why);
}

static struct result agent_clock_set(struct site *site, int64_t jump_ns, int64_t rate_ppm,
                                     struct text *why)
{
    return agent_order(site, ORDER_CLOCK, (const int64_t[]){jump_ns, rate_ppm}, why);
}

static void agent_release(struct site *site)
{
    (void)site; /* it ends with the connection, and so does all that is in the agent's folder */
}

struct result remote_log(struct site *site, struct text *why)
{
    struct remote *remote = remote_of(site);
    TRY(agent_order(site, ORDER_LOG, NULL, why));
    int fd = open(site->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    ssize_t written = fd >= 0 ? write(fd, remote->answer, remote->answer_bytes) : -1;
    int error = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (written != (ssize_t)remote->answer_bytes) {
        text_add(why, "%s: %s", site->log_path, strerror(error));
        return result_error(ERROR_IO);
    }
    return RESULT_OK;
}

const struct site_hand site_agent = {
    .name = "agent",
    .distant = true,
    .init = agent_init,
    .start = agent_start,
    .ready = agent_ready,
    .died = agent_died,
    .crash = agent_crash,
    .shutdown = agent_shutdown,
    .power_loss = agent_power_loss,
    .freeze = agent_freeze,
    .thaw = agent_thaw,
    .clock_set = agent_clock_set,
    .release = agent_release,
};
