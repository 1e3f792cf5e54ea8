/* run_cluster.c: nodes that are there already: their agents, and what is known of their clocks. */
#include "harness/real/run/run.h"

#include "base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RUN_AGENTS_LOOK_MS = 100, RUN_EVENTS_BYTES = 32 };

/* A server that is not ours. */
struct run_bare {
    struct address address;
    bool borrowed;
    char events[RUN_EVENTS_BYTES]; /* its notify-keyspace-events, to be put back */
};

static bool run_has_agent(const struct run *run, int32_t index)
{
    return run->remotes != NULL && !run->options->cluster->nodes[index].bare;
}

/* Tell the agents of the nodes from..to-1 that we are here. */
static struct result agents_beat(struct run *run, int32_t from, int32_t to, struct text *why)
{
    for (int32_t i = from; i < to; i++) {
        if (run_has_agent(run, i) && run->remotes[i].place != NULL) {
            TRY(remote_beat(&run->remotes[i], why));
        }
    }
    return RESULT_OK;
}

/* ---- where nodes are ------------------------------------------------------------------------- */

struct result run_cluster_open(struct run *run, struct text *why)
{
    const struct cluster *cluster = run->options->cluster;
    char host[64] = "";
    char name[ORDER_TEXT_BYTES];
    if (cluster == NULL) {
        return RESULT_OK;
    }
    TRY(cluster_fits(cluster, &run->plan->scenario, why));
    run->remotes = arena_take(&run->arena, (size_t)run->node_count * sizeof run->remotes[0]);
    run->bares = arena_take(&run->arena, (size_t)run->node_count * sizeof run->bares[0]);
    if (run->remotes == NULL || run->bares == NULL) {
        text_add(why, "no memory for %d agents", run->node_count);
        return result_error(ERROR_LIMIT);
    }
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(name, sizeof name, "picklock %d on %.60s: %.60s", (int)getpid(), host,
                   run->plan->scenario.name);
    for (int32_t i = 0; i < run->node_count; i++) {
        const struct cluster_node *node = &cluster->nodes[i];
        struct remote_where where = {i, node, &cluster->secret, name};
        run->bares[i].address =
            (struct address){.ip = node->ip, .port = node->port, .secure = node->secure};
        if (!node->bare) {
            TRY(remote_open(&run->remotes[i], &where, why));
        }
        TRY(agents_beat(run, 0, i + 1, why)); /* the next one may take its time */
    }
    return RESULT_OK;
}

const struct site_place *run_cluster_place(struct run *run, int32_t index, struct site_place *place)
{
    if (run->remotes == NULL) {
        return NULL;
    }
    *place = run_has_agent(run, index)
                 ? (struct site_place){&site_agent, &run->remotes[index]}
                 : (struct site_place){&site_bare, &run->bares[index].address};
    return place;
}

struct address run_cluster_own(const struct run *run)
{
    struct address own = address_local(0);
    for (int32_t i = 0; i < run->node_count; i++) {
        if (run_has_agent(run, i)) {
            own.ip = address_of(run->remotes[i].fd).ip;
            break;
        }
    }
    return own;
}

/* ---- they are there -------------------------------------------------------------------------- */

void run_cluster_beat(struct run *run)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    for (int32_t i = 0; i < run->node_count && !run->over; i++) {
        if (!run_has_agent(run, i)) {
            continue;
        }
        struct result heard = remote_beat(&run->remotes[i], &why);
        if (result_failed(heard)) {
            run_fail(run, heard, why.data);
        }
    }
}

static void run_on_agent(struct loop_watch *watch)
{
    run_cluster_beat(watch->context);
}

static void run_on_agents(struct loop_alarm *alarm)
{
    run_cluster_beat(alarm->context);
    loop_alarm_set(alarm, loop_now_ns() + RUN_AGENTS_LOOK_MS * NS_PER_MS);
}

struct result run_cluster_watch(struct run *run, struct text *why)
{
    TRY(loop_alarm_init(&run->agents_alarm, &run->loop, run_on_agents, run, why));
    for (int32_t i = 0; i < run->node_count; i++) {
        if (run_has_agent(run, i)) {
            run->agent_watches[i].context = run;
            TRY(loop_watch_init(&run->agent_watches[i], &run->loop, run->remotes[i].fd,
                                run_on_agent, why));
            loop_alarm_set(&run->agents_alarm, loop_now_ns());
        }
    }
    return RESULT_OK;
}

/* ---- orders ---------------------------------------------------------------------------------- */

void run_order_sent(struct run *run, int32_t node)
{
    if (run->nodes[node].site.hand->distant) {
        run->nodes[node].order_ns = loop_now_ns();
    }
}

void run_order_done(struct run *run, int32_t node)
{
    int64_t sent_ns = run->nodes[node].order_ns;
    if (sent_ns == 0) {
        return;
    }
    struct history_event event = {
        .time_ns = run_true_ns(run),
        .kind = HISTORY_LATE,
        .f = HISTORY_STOOD_STILL,
        .cause = CAUSE_AGENT,
        .process = HISTORY_NOBODY,
        .node = node,
        .fault = HISTORY_NO_FAULT,
        .number = {loop_now_ns() - sent_ns, 0},
    };
    run_emit(run, &event);
}

/* ---- servers that are not ours --------------------------------------------------------------- */

static struct result borrow_names(struct run *run, struct site *site, struct text *why)
{
    struct admin_reply reply;
    for (int32_t i = 0; i < run->plan->scenario.resource_count; i++) {
        TRY(site_order(site, (const char *[]){"EXISTS", run->resource_names[i], NULL}, &reply,
                       why));
        if (reply.items[0].integer != 0) {
            text_add(why, "node %d is somebody's server, and has a key \"%s\": it is left alone",
                     site->options.index + 1, run->resource_names[i]);
            return result_error(ERROR_ENVIRONMENT);
        }
    }
    return RESULT_OK;
}

struct result run_cluster_borrow(struct run *run, struct text *why)
{
    struct admin_reply reply;
    for (int32_t i = 0; i < run->node_count; i++) {
        struct site *site = &run->nodes[i].site;
        if (site->hand != &site_bare) {
            continue;
        }
        struct run_bare *bare = &run->bares[i];
        TRY(borrow_names(run, site, why));
        int64_t ahead_ns = 0;
        TRY(site_clock_offset(site, &ahead_ns, why));
        site->wall_ahead_ns = ahead_ns;
        TRY(site_ask(site, (const char *[]){"CONFIG", "GET", "notify-keyspace-events", NULL},
                     &reply, why));
        /* One that refuses to tell refuses to be changed as well: it is not watched then. */
        bool told =
            reply.type == '*' && reply.count == 2 && reply.items[1].bytes < sizeof bare->events;
        if (told) {
            (void)snprintf(bare->events, sizeof bare->events, "%.*s", (int)reply.items[1].bytes,
                           reply.items[1].data != NULL ? reply.items[1].data : "");
        }
        bare->borrowed = told;
    }
    return RESULT_OK;
}

/* The last thing that is done to it: nothing can be done any more where it fails. */
static void give_back(struct run *run, int32_t node)
{
    struct site *site = &run->nodes[node].site;
    struct run_bare *bare = &run->bares[node];
    struct admin_reply reply;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    if (!bare->borrowed || site->state != NODE_UP) {
        return;
    }
    struct result back = site_order(
        site, (const char *[]){"CONFIG", "SET", "notify-keyspace-events", bare->events, NULL},
        &reply, &why);
    for (int32_t i = 0; i < run->plan->scenario.resource_count && !result_failed(back); i++) {
        char fence[CLIENT_RESOURCE_NAME_BYTES + 8];
        (void)snprintf(fence, sizeof fence, "%s:fence", run->resource_names[i]);
        back = site_order(site, (const char *[]){"DEL", run->resource_names[i], fence, NULL},
                          &reply, &why);
    }
    if (result_failed(back) && !result_failed(run->outcome)) {
        run_fail(run, back, why.data);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What became of one clock: the header says all, as far as there is room. */
static void finish_agent(struct run *run, int32_t node)
{
    struct remote *remote = &run->remotes[node];
    struct remote_clock before = remote->clock;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    remote->clock.bound_ns = INT64_MAX;
    struct result done = remote_measure(remote, &why);
    if (!result_failed(done)) {
        done = remote_log(&run->nodes[node].site, &why);
    }
    if (result_failed(done)) {
        if (!result_failed(run->outcome)) {
            run_fail(run, done, why.data);
        }
        return;
    }
    int64_t moved_ns = remote->clock.ahead_ns - before.ahead_ns;
    int64_t bound_ns =
        before.bound_ns > remote->clock.bound_ns ? before.bound_ns : remote->clock.bound_ns;
    bound_ns += moved_ns > 0 ? moved_ns : -moved_ns;
    if (bound_ns > run->header->clock_bound_ns) {
        run->header->clock_bound_ns = bound_ns;
    }
    char sites_memory[HISTORY_SITES_BYTES];
    struct text sites = text_over(sites_memory, sizeof sites_memory);
    text_add(&sites, "%s%snode %d at %s: %" PRId64 " ns ahead, +-%" PRId64, run->header->sites,
             run->header->sites[0] != '\0' ? "; " : "", node + 1, remote->place->name,
             before.ahead_ns, bound_ns);
    (void)snprintf(run->header->sites, sizeof run->header->sites, "%s", sites.data);
}

void run_cluster_finish(struct run *run)
{
    char memory[WHY_BYTES];
    struct text ignored = text_over(memory, sizeof memory);
    for (int32_t i = 0; i < run->node_count; i++) {
        if (run->remotes == NULL || run->nodes[i].site.hand == NULL) {
            continue;
        }
        if (run_has_agent(run, i)) {
            finish_agent(run, i);
            result_ignore(agents_beat(run, i + 1, run->node_count, &ignored),
                          "each is asked below, and says it then");
        } else {
            give_back(run, i);
        }
    }
}

void run_cluster_close(struct run *run)
{
    for (int32_t i = 0; i < run->node_count; i++) {
        if (run_has_agent(run, i)) {
            loop_watch_close(&run->agent_watches[i]);
            remote_close(&run->remotes[i]);
        }
    }
}
