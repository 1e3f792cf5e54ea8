/* trial.h: an adapter drives the programs of a few clients, for tests that look at what comes of
 * it. */
#ifndef TESTS_REAL_TRIAL_H
#define TESTS_REAL_TRIAL_H

#include "harness/real/adapter/adapter.h"

#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"
#include "tests/real/links.h"

enum { RECORDS_MAX = 4096 };

static struct {
    struct adapter *adapter;
    struct plan plan;
    uint32_t watched;
    int ready;
    int done;
    bool failed;
    int32_t failed_client;
    char why[WHY_BYTES];
    char library[HISTORY_NAME_BYTES];
    struct adapter_declaration said;
    struct adapter_clocks clocks;
    int clocks_told;
    struct store_cell cell;
    uint32_t count;
    struct history_event records[RECORDS_MAX];
    /* Freeze client 0 where it passes this point for the first time. */
    bool freezes;
    enum probe_point freeze_at;
    uint32_t passes[PROBE_POINTS];
} trial;

static void on_ready(void *data, int32_t client, const struct adapter_declaration *declaration)
{
    (void)data;
    (void)client;
    trial.ready++;
    trial.said = *declaration;
    (void)snprintf(trial.library, sizeof trial.library, "%s", declaration->library);
}

static void on_record(void *data, const struct history_event *event)
{
    (void)data;
    cr_assert_lt(trial.count, RECORDS_MAX);
    trial.records[trial.count++] = *event;
}

static struct store_answer on_store(void *data, enum history_f f, uint32_t resource,
                                    const struct history_value *value, int64_t fence)
{
    struct store_guard guard = {false, false};
    (void)data;
    (void)resource;
    return f == HISTORY_READ ? store_read(&trial.cell, &guard, value, fence)
                             : store_write(&trial.cell, &guard, value, fence);
}

static void on_probe(void *data, int32_t client, enum probe_point point)
{
    (void)data;
    trial.passes[point]++;
    if (trial.freezes && point == trial.freeze_at && trial.passes[point] == 1) {
        adapter_freeze(trial.adapter, client);
    }
}

static void on_done(void *data, int32_t client)
{
    (void)data;
    (void)client;
    trial.done++;
}

static void on_clocks(void *data, int32_t client, const struct adapter_clocks *clocks)
{
    (void)data;
    (void)client;
    trial.clocks = *clocks;
    trial.clocks_told++;
}

static void on_failed(void *data, int32_t client, const char *why)
{
    (void)data;
    trial.failed_client = client;
    trial.failed = true;
    (void)snprintf(trial.why, sizeof trial.why, "%s", why);
}

/* The proxies' callbacks of the run: everything goes to the adapter's wire. */
static struct proxy_answer on_arrival(void *data, const struct proxy_message *message)
{
    (void)data;
    return adapter_arrival(trial.adapter, message);
}

static struct proxy_answer on_reply(void *data, const struct proxy_message *message)
{
    (void)data;
    return adapter_reply(trial.adapter, message);
}

/* So many resources, and all of them in each section. */
static int32_t trial_resources = 1;
/* So many clients, all of them threads of one program. */
static int32_t trial_threads = 1;

static void trial_plan(void)
{
    struct scenario *scenario = &trial.plan.scenario;
    scenario->node_count = 1;
    scenario->client_count = trial_threads;
    scenario->thread_count = trial_threads;
    scenario->resource_count = trial_resources;
    scenario->at_once = trial_resources;
    scenario->sections = 2;
    scenario->writes = 1;
    scenario->hold_ns = NS_PER_MS;
    scenario->lock = (struct lock_config){.node_count = 1,
                                          .ttl_ns = 60 * NS_PER_S,
                                          .node_timeout_ns = NS_PER_S,
                                          .retry_count = 3,
                                          .retry_delay_ns = 10 * NS_PER_MS,
                                          .drift_ppm = 10000};
    trial.plan.seed = 1;
}

static void trial_begin(const char *command, int64_t silence_ns)
{
    memset(&trial, 0, sizeof trial);
    links_callbacks = (struct proxy_callbacks){NULL, on_arrival, on_reply};
    links_begin();
    trial_plan();
    struct adapter_options options = {
        .loop = &links.loop,
        .keys = links.keys,
        .proxy = links.proxy,
        .command = command,
        .plan = &trial.plan,
        .start_ns = links.start_ns,
        .run_directory = links.place.path,
        .silence_ns = silence_ns,
        .probes_watched = &trial.watched,
        .callbacks = {NULL, on_ready, on_record, on_store, on_probe, on_done, on_clocks, NULL,
                      on_failed},
    };
    LINKS_MUST(adapter_start(&options, &trial.adapter, &links_why));
    while (trial.ready < 2 && !trial.failed) {
        links_turn();
    }
}

static void trial_end(void)
{
    adapter_stop(trial.adapter);
    proxy_stop(links.proxy);
    (void)uv_run(&links.loop, UV_RUN_NOWAIT);
    adapter_free(trial.adapter);
    proxy_free(links.proxy);
    cr_assert_eq(uv_loop_close(&links.loop), 0);
    keys_free(links.keys);
    node_release(&links.node);
    guard_end(&links.guard);
    place_remove(&links.place);
}

static void run_bad(const char *words)
{
    char command[512];
    (void)snprintf(command, sizeof command, "python3 tests/adapters/bad.py %s", words);
    trial_begin(command, 10 * NS_PER_S);
    for (int32_t i = 0; i < trial_threads && !trial.failed; i++) {
        adapter_begin(trial.adapter, i);
    }
    while (!trial.failed && trial.done < trial_threads) {
        links_turn();
    }
}

#endif
