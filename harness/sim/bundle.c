/* bundle.c: writes a bundle, and runs one again. */
#include "harness/sim/bundle.h"

#include "base/assert.h"
#include "base/version.h"
#include "harness/sim/sim.h"
#include "history/stream.h"

static uint32_t bundle_lines(const char *lines)
{
    uint32_t count = 0;
    for (const char *c = lines; *c != '\0'; c++) {
        count += *c == '\n';
    }
    return count;
}

static void bundle_print(const struct bundle *bundle, struct text *text)
{
    const struct trace *trace = &bundle->trace;
    text_add(text, "picklock-bundle %d\npicklock %s\nseed %llu\n", BUNDLE_FORMAT, PICKLOCK_VERSION,
             (unsigned long long)bundle->seed);
    if (bundle->plan.stress_ns > 0) {
        text_add(text, "stress %lld\n", (long long)bundle->plan.stress_ns);
    }
    text_add(text, "events %llu %016llx\nmarks %llu %u\n", (unsigned long long)trace->events,
             (unsigned long long)trace->hash, (unsigned long long)trace->distance,
             trace->mark_count);
    for (uint32_t i = 0; i < trace->mark_count; i++) {
        text_add(text, "%08x%c", trace->marks[i], i + 1 == trace->mark_count ? '\n' : ' ');
    }
    text_add(text, "choices %u\n", bundle->choices.count);
    for (uint32_t i = 0; i < bundle->choices.count; i++) {
        const struct choice *choice = &bundle->choices.list[i];
        text_add(text, "%s %u %u %llu\n", choice_kind_name((enum choice_kind)choice->kind),
                 choice->subject, choice->nth, (unsigned long long)choice->value);
    }
    text_add(text, "verdict %u\n%s", bundle_lines(bundle->verdict), bundle->verdict);
}

struct result bundle_write(const char *path, const struct bundle *bundle, struct text *why)
{
    static char head_memory[32 << 10];
    static char body_memory[SCENARIO_BYTES_MAX];
    struct text head = text_over(head_memory, sizeof head_memory);
    struct text body = text_over(body_memory, sizeof body_memory);
    bundle_print(bundle, &head);
    scenario_print(&bundle->plan.scenario, &body);
    text_add(&head, "scenario %s %zu\n", bundle->plan.scenario.name, body.length);
    text_add(&body, "end\n");
    ASSERT(!head.cut);
    ASSERT(!body.cut);
    struct history_stream *stream = NULL;
    TRY(history_stream_create(path, &stream, why));
    struct result result = history_stream_write(stream, head.data, head.length, why);
    if (!result_failed(result)) {
        result = history_stream_write(stream, body.data, body.length, why);
    }
    if (result_failed(result)) {
        history_stream_close(stream);
        return result;
    }
    return history_stream_finish(stream, why);
}

struct result bundle_replay(const struct bundle *bundle, struct recorder *next, struct trace *now,
                            struct text *why)
{
    struct arena arena = arena_empty(SIM_BYTES_MAX);
    struct sim_options options = {.choices = &bundle->choices};
    struct sim *sim = NULL;
    trace_init(now, next);
    struct result result = sim_create(&arena, &bundle->plan, &options, &sim, why);
    if (!result_failed(result)) {
        sim_reset(sim, &bundle->plan);
        result = sim_run(sim, &now->recorder, why);
    }
    arena_release(&arena);
    return result;
}
