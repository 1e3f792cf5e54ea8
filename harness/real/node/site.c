/* site.c: orders to a node, wherever it runs; and the hand of those that are children of ours. */
#include "harness/real/node/site.h"

#include "base/assert.h"
#include "servers/redis/real/secure.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- a child of ours ------------------------------------------------------------------------- */

static struct result child_init(struct site *site, struct text *why)
{
    TRY(node_init(&site->node, &site->options, why));
    site->address = node_address(&site->node);
    (void)snprintf(site->log_path, sizeof site->log_path, "%s", site->node.log_path);
    return RESULT_OK;
}

static struct result child_start(struct site *site, struct text *why)
{
    return node_start(&site->node, why);
}

static struct result child_ready(struct site *site, bool *ready, struct text *why)
{
    if (site->node.state == NODE_UP) { /* a replica that takes its node's place */
        *ready = site->launch->alive(&site->node.server);
        return RESULT_OK;
    }
    return node_ready(&site->node, ready, why);
}

static bool child_died(struct site *site, struct text *why)
{
    return node_died(&site->node, why);
}

static struct result child_crash(struct site *site, struct text *why)
{
    (void)why;
    node_crash(&site->node);
    return RESULT_OK;
}

static struct result child_shutdown(struct site *site, struct text *why)
{
    return node_shutdown(&site->node, why);
}

static struct result child_power_loss(struct site *site, struct random_stream *random,
                                      struct node_power_loss *loss, struct text *why)
{
    return node_power_loss(&site->node, random, loss, why);
}

static struct result child_freeze(struct site *site, struct text *why)
{
    return node_freeze(&site->node, why);
}

static struct result child_thaw(struct site *site, struct text *why)
{
    (void)why;
    node_thaw(&site->node);
    return RESULT_OK;
}

static struct result child_clock_set(struct site *site, int64_t jump_ns, int64_t rate_ppm,
                                     struct text *why)
{
    (void)why;
    node_clock_set(&site->node, jump_ns, rate_ppm);
    return RESULT_OK;
}

static void child_release(struct site *site)
{
    node_release(&site->node);
}

const struct site_hand site_child = {
    .name = "child",
    .distant = false,
    .init = child_init,
    .start = child_start,
    .ready = child_ready,
    .died = child_died,
    .crash = child_crash,
    .shutdown = child_shutdown,
    .power_loss = child_power_loss,
    .freeze = child_freeze,
    .thaw = child_thaw,
    .clock_set = child_clock_set,
    .release = child_release,
};

/* ---- orders ---------------------------------------------------------------------------------- */

struct result site_init(struct site *site, const struct node_options *options,
                        const struct site_place *place, struct text *why)
{
    memset(site, 0, sizeof *site);
    site->place = place != NULL ? *place : (struct site_place){&site_child, NULL};
    site->hand = site->place.hand;
    site->options = *options;
    site->launch = node_launch(options);
    site->server.talk_fd = -1;
    TRY(site->hand->init(site, why));
    site->server.index = (uint32_t)options->index;
    site->server.node_count = (uint32_t)options->node_count;
    site->server.address = site->address;
    return RESULT_OK;
}

struct result site_start(struct site *site, struct text *why)
{
    ASSERT(site->state == NODE_DOWN);
    TRY(site->hand->start(site, why));
    site->state = NODE_STARTING;
    return RESULT_OK;
}

struct result site_ready(struct site *site, bool *ready, struct text *why)
{
    ASSERT(site->state == NODE_STARTING);
    *ready = false;
    TRY(site->hand->ready(site, ready, why));
    site->state = *ready ? NODE_UP : NODE_STARTING;
    return RESULT_OK;
}

static void site_hang_up(struct site *site)
{
    if (site->server.talk_fd >= 0) {
        secure_close(site->server.talk_fd);
        site->server.talk_fd = -1;
        site->server.talk_awaited = 0;
    }
}

static void site_is_down(struct site *site)
{
    site_hang_up(site);
    site->state = NODE_DOWN;
}

bool site_died(struct site *site, struct text *why)
{
    if (site->state == NODE_DOWN || !site->hand->died(site, why)) {
        return false;
    }
    site_is_down(site);
    return true;
}

struct result site_crash(struct site *site, struct text *why)
{
    if (site->state == NODE_DOWN) {
        return RESULT_OK;
    }
    TRY(site->hand->crash(site, why));
    site_is_down(site);
    return RESULT_OK;
}

struct result site_shutdown(struct site *site, struct text *why)
{
    ASSERT(site->state == NODE_UP);
    TRY(site->hand->shutdown(site, why));
    site_is_down(site);
    return RESULT_OK;
}

struct result site_power_loss(struct site *site, struct random_stream *random,
                              struct node_power_loss *loss, struct text *why)
{
    TRY(site->hand->power_loss(site, random, loss, why));
    site_is_down(site);
    return RESULT_OK;
}

struct result site_freeze(struct site *site, struct text *why)
{
    ASSERT(site->state == NODE_UP);
    TRY(site->hand->freeze(site, why));
    site->state = NODE_FROZEN;
    return RESULT_OK;
}

struct result site_thaw(struct site *site, struct text *why)
{
    ASSERT(site->state == NODE_FROZEN);
    TRY(site->hand->thaw(site, why));
    site->state = NODE_UP;
    return RESULT_OK;
}

struct result site_clock_set(struct site *site, int64_t jump_ns, int64_t rate_ppm, struct text *why)
{
    return site->hand->clock_set(site, jump_ns, rate_ppm, why);
}

struct result site_clock_offset(struct site *site, int64_t *offset_ns, struct text *why)
{
    ASSERT(site->state == NODE_UP);
    site->server.log_path = site->log_path; /* it may have been moved since */
    TRY(site->launch->clock_offset(&site->server, offset_ns, why));
    *offset_ns -= site->wall_ahead_ns;
    return RESULT_OK;
}

struct result site_ask(struct site *site, const char *const *words, struct admin_reply *reply,
                       struct text *why)
{
    ASSERT(site->state == NODE_UP);
    struct admin admin = {.fd = site->server.talk_fd};
    struct result asked = admin_ask(&admin, site->address, words, reply, why);
    site->server.talk_fd = admin.fd;
    return asked;
}

struct result site_order(struct site *site, const char *const *words, struct admin_reply *reply,
                         struct text *why)
{
    TRY(site_ask(site, words, reply, why));
    if (reply->type == '-') {
        text_add(why, "node %d refuses %s: %.*s", site->options.index + 1, words[0],
                 (int)reply->items[0].bytes, reply->items[0].data);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

void site_release(struct site *site)
{
    if (site->hand == NULL) {
        return;
    }
    site_hang_up(site);
    site->hand->release(site);
    site->hand = NULL;
}
