/* dry.c: one run that is looked at and not reported. */
#include "cli/dry.h"

#include "base/assert.h"
#include "cli/pool.h"
#include "cli/results.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { DRY_TEXT_BYTES = 1024, DRY_TOLD_BYTES = 8192 };

/* Alone, and nothing goes wrong. Nobody can say less of a lock than this needs. */
static const char alone[] = "version: 1\n"
                            "name: %s\n"
                            "lock: {algorithm: %s, ttl: 2s, node_timeout: 300ms}\n"
                            "nodes: {count: %d}\n"
                            "clients: {count: 1, hold: 1ms, writes: 0}\n"
                            "duration: 10s\n"
                            "expect: {exclusion: any}\n";

void dry_scenario(const char *name, const char *text, struct arena *arena,
                  struct scenario *scenario)
{
    char told[DRY_TOLD_BYTES];
    struct text errors = text_over(told, sizeof told);
    struct scenario_source source = {.path = name, .bytes = text, .length = strlen(text)};
    struct result result = scenario_parse(&source, arena, scenario, &errors);
    if (result_failed(result)) {
        fprintf(stderr, "%s", told);
    }
    ASSERT(!result_failed(result));
}

/* The history of the run that was kept below `out`. */
static struct result dry_read(const struct dry_order *order, const struct run_report *run,
                              const char *out, struct loaded *loaded, struct text *why)
{
    char path[FILES_PATH_BYTES];
    if (run->status == RUN_ERROR || !run->kept) {
        const char *end = strchr(run->sentences, '\n');
        size_t bytes = end != NULL ? (size_t)(end - run->sentences) : strlen(run->sentences);
        text_add(why, "%.*s", (int)bytes, run->sentences);
        return result_error(run->status == RUN_ERROR ? (enum error_code)run->error
                                                     : ERROR_ENVIRONMENT);
    }
    (void)snprintf(path, sizeof path, "%.3500s/%.63s/1/%.8s/history.jsonl", out,
                   order->scenario->name,
                   order->adapter != NULL ? world_real.name : world_sim.name);
    struct history_reader_options options = {0};
    return loaded_read(path, &options, loaded, why);
}

struct result dry_run(const struct dry_order *order, struct arena *arena, struct loaded *loaded,
                      struct text *why)
{
    static struct run_report run;
    char out[FILES_PATH_BYTES];
    uint64_t content = 0;
    int exit_code = 0;
    struct scenario_list one = {
        .count = 1, .list = (struct scenario *)order->scenario, .contents = &content};
    (void)snprintf(out, sizeof out, "%.3000s/.dry-%d", order->out, (int)getpid());
    struct pool_order runs = {
        .scenarios = &one,
        .sim = order->adapter == NULL,
        .real = order->adapter != NULL,
        .runs = {.files = 1,
                 .worlds = 1,
                 .seed_first = 1,
                 .seeds = 1,
                 .repeat = 1,
                 .shard = 1,
                 .shards = 1},
        .jobs = 1,
        .adapter = order->adapter,
        .time_scale_ppm = order->time_scale_ppm,
        .keep = KEEP_ALWAYS,
        .keep_last = 1,
        .out = out,
    };
    struct report report = {.format = REPORT_NOTHING,
                            .out = out,
                            .adapter = order->adapter,
                            .time_scale_ppm = order->time_scale_ppm,
                            .copy = &run};
    memset(&run, 0, sizeof run);
    struct result result = pool_run(&runs, arena, &report, &exit_code, why);
    if (!result_failed(result)) {
        result = dry_read(order, &run, out, loaded, why);
    }
    if (!result_failed(result) && order->look != NULL) {
        char folder[FILES_PATH_BYTES];
        (void)snprintf(folder, sizeof folder, "%.3500s/%.63s/1/%.8s", out, order->scenario->name,
                       order->adapter != NULL ? world_real.name : world_sim.name);
        order->look(folder, order->data);
    }
    (void)results_remove_all(out);
    (void)rmdir(out);
    (void)rmdir(order->out); /* where nothing else is in it */
    return result;
}

/* How many nodes the library put a key on. */
static int32_t dry_nodes_seen(const struct loaded *loaded)
{
    uint64_t nodes = 0;
    for (size_t i = 0; i < loaded->count; i++) {
        const struct history_event *event = &loaded->events[i];
        if (event->kind == HISTORY_NODE && event->f == HISTORY_KEY_SET && event->process == 0) {
            nodes |= UINT64_C(1) << event->node;
        }
    }
    return __builtin_popcountll(nodes);
}

static struct result dry_alone(struct dry_order order, int32_t nodes, struct arena *arena,
                               struct loaded *loaded, struct text *why)
{
    static struct scenario scenario;
    char text[DRY_TEXT_BYTES];
    (void)snprintf(text, sizeof text, alone, "dry", nodes == 1 ? "single" : "redlock", nodes);
    dry_scenario("dry", text, arena, &scenario);
    order.scenario = &scenario;
    return dry_run(&order, arena, loaded, why);
}

struct result dry_nature(const char *adapter, const char *out, struct arena *arena,
                         struct lock_nature *nature, struct text *why)
{
    struct loaded loaded;
    char memory[WHY_BYTES];
    struct text first = text_over(memory, sizeof memory);
    struct dry_order order = {.adapter = adapter, .time_scale_ppm = 1000000, .out = out};
    memset(nature, 0, sizeof *nature);
    bool one = false;
    struct result result = dry_alone(order, 3, arena, &loaded, &first);
    char again[WHY_BYTES];
    struct text second = text_over(again, sizeof again);
    if (result_failed(result) && result.code != ERROR_INTERRUPTED) {
        one = !result_failed(dry_alone(order, 1, arena, &loaded, &second));
    }
    if (result_failed(result) && !one) {
        /* That it takes one node only is not what is wrong with it. */
        bool takes_one = strstr(first.data, "works with 1 node") != NULL;
        text_add(why, "%s", takes_one && second.length > 0 ? second.data : first.data);
        return result;
    }
    one = one || dry_nodes_seen(&loaded) == 1;
    nature->declares = loaded.header.declares;
    nature->silent = !loaded.header.declared;
    nature->nodes_min = one ? 1 : 2;
    nature->nodes_max = one ? 1 : HISTORY_NODES_MAX;
    memcpy(nature->library, loaded.header.library, sizeof nature->library);
    loaded_release(&loaded);
    return RESULT_OK;
}
