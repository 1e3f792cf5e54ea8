/* run_adapter.c: somebody else's lock library as the clients of a run. */
#include "harness/real/run/run.h"

#include "base/assert.h"

/* What the library says of itself is what it is judged by. */
static void run_adapter_declared(struct run *run, const struct adapter_declaration *declaration)
{
    struct history_header *header = run->header;
    struct text text = text_over(header->library, sizeof header->library);
    text_add(&text, "%s", declaration->library);
    for (uint32_t i = 0; i < declaration->pattern_count; i++) {
        bool said = keys_pattern(run->keys, declaration->patterns[i]);
        ASSERT(said); /* the reader of the line saw to that */
    }
    /* One that names no drift of its own is not judged by what a scenario asks of it. */
    header->drift_ppm = declaration->has_drift ? declaration->drift_ppm : 0;
    header->declared = declaration->said;
    header->declares = declaration->declares;
    header->ownership = declaration->ownership;
    plan_header_unsay(header); /* what stands there our own locks say */
    header->renew_every_ns = declaration->renew_every_ns;
    header->attempts_ns = declaration->said ? plan_attempts_ns(run->plan) : 0;
    if (declaration->said) {
        header->promises_validity = (declaration->declares >> DECLARES_VALIDITY & 1) != 0;
        header->fenced = (declaration->declares >> DECLARES_FENCE & 1) != 0;
    }
}

static void run_adapter_ready(void *data, int32_t client,
                              const struct adapter_declaration *declaration)
{
    struct run *run = data;
    run->clients[client].state = RUN_CLIENT_READY;
    if (!run->declared) {
        run->declared = true;
        run_adapter_declared(run, declaration);
    }
}

static void run_adapter_record(void *data, const struct history_event *event)
{
    struct run *run = data;
    /* What is seen counts, whatever was declared. */
    run->header->promises_validity |= (event->flags & HISTORY_HAS_UNTIL) != 0;
    run_emit_early(run, event);
}

static struct store_answer run_adapter_store(void *data, enum history_f f, uint32_t resource,
                                             const struct history_value *value, int64_t fence)
{
    return run_store(data, f, resource, value, fence);
}

static void run_adapter_probe(void *data, int32_t client, enum probe_point point)
{
    run_probe(data, client, point);
}

static void run_adapter_done(void *data, int32_t client)
{
    struct run *run = data;
    if (run->clients[client].state != RUN_CLIENT_GONE) {
        run->clients[client].state = RUN_CLIENT_DONE;
    }
}

static void run_adapter_failed(void *data, int32_t client, const char *why)
{
    (void)client; /* the sentence names it */
    run_fail(data, result_error(ERROR_ENVIRONMENT), why);
}

struct result run_adapters_start(struct run *run, struct text *why)
{
    struct adapter_options options = {
        .loop = &run->loop,
        .keys = run->keys,
        .proxy = run->proxy,
        .command = run->options->adapter,
        .plan = run->plan,
        .start_ns = run->prepared_ns,
        .run_directory = run->guard.run_directory,
        .silence_ns = RUN_SILENT_SECONDS * NS_PER_S,
        .probes_watched = &run->schedule.probes_watched,
        .environment = run_adapter_environment,
        .callbacks =
            {
                .data = run,
                .ready = run_adapter_ready,
                .record = run_adapter_record,
                .store = run_adapter_store,
                .probe = run_adapter_probe,
                .done = run_adapter_done,
                .clocks = run_adapter_clocks,
                .heard = run_trace_heard,
                .failed = run_adapter_failed,
            },
    };
    run_trace_start(run);
    return adapter_start(&options, &run->adapter, why);
}
