/* site_bare.c: somebody else's server: it is looked at, told nothing, and left as it was. */
#include "harness/real/node/site.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

/* A scenario that needs this is refused before anything runs (cluster_fits). */
static struct result bare_refuse(struct site *site, struct text *why)
{
    text_add(why, "node %d is a bare server: it cannot be ordered to do anything",
             site->options.index + 1);
    return result_error(ERROR_ENVIRONMENT);
}

static struct result bare_init(struct site *site, struct text *why)
{
    (void)why;
    site->address = *(const struct address *)site->place.context;
    (void)snprintf(site->log_path, sizeof site->log_path, "its own log");
    return RESULT_OK;
}

static struct result bare_start(struct site *site, struct text *why)
{
    (void)site;
    (void)why;
    return RESULT_OK;
}

static struct result bare_ready(struct site *site, bool *ready, struct text *why)
{
    struct admin_reply reply;
    struct admin admin = {.fd = site->server.talk_fd};
    struct result asked =
        admin_ask(&admin, site->address, (const char *[]){"PING", NULL}, &reply, why);
    site->server.talk_fd = admin.fd;
    TRY(asked);
    if (reply.type == '-') {
        text_add(why, "node %d answers PING with %.*s", site->options.index + 1,
                 (int)reply.items[0].bytes, reply.items[0].data);
        return result_error(ERROR_ENVIRONMENT);
    }
    *ready = true;
    return RESULT_OK;
}

static bool bare_died(struct site *site, struct text *why)
{
    (void)site;
    (void)why;
    return false; /* its tap falls silent, and cannot be opened anew */
}

static struct result bare_power_loss(struct site *site, struct random_stream *random,
                                     struct node_power_loss *loss, struct text *why)
{
    (void)random;
    (void)loss;
    return bare_refuse(site, why);
}

static struct result bare_clock_set(struct site *site, int64_t jump_ns, int64_t rate_ppm,
                                    struct text *why)
{
    (void)jump_ns;
    (void)rate_ppm;
    return bare_refuse(site, why);
}

static void bare_release(struct site *site)
{
    (void)site;
}

const struct site_hand site_bare = {
    .name = "bare",
    .distant = true,
    .init = bare_init,
    .start = bare_start,
    .ready = bare_ready,
    .died = bare_died,
    .crash = bare_refuse,
    .shutdown = bare_refuse,
    .power_loss = bare_power_loss,
    .freeze = bare_refuse,
    .thaw = bare_refuse,
    .clock_set = bare_clock_set,
    .release = bare_release,
};
