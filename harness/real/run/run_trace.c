/* run_trace.c: wire.log: what an adapter said, and what its library sent, in the words of it. */
#include "harness/real/run/run.h"

#include "base/foreign.h"

#include <string.h>

enum { TRACE_BYTES_MAX = 16 << 20, TRACE_LINE_BYTES = 2048, TRACE_WORD_BYTES = 72 };

void run_trace_start(struct run *run)
{
    char path[GUARD_PATH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/wire.log", run->guard.run_directory);
    run->trace = fopen(path, "we"); /* NULL: then there is no such log */
}

/* A line: what it is, then words that nothing obeys. */
static void trace_line(struct run *run, const struct text *line)
{
    if (run->trace != NULL && run->trace_bytes < TRACE_BYTES_MAX) {
        run->trace_bytes += (size_t)fprintf(run->trace, "%s\n", line->data);
    }
}

/* Since the run began; 0 before. */
static int64_t trace_ns(const struct run *run, int64_t at_ns)
{
    return run->going ? at_ns - run->start_ns : 0;
}

/* A word; one that is long, such as a script's text, is cut. */
static void trace_word(struct text *line, const struct resp_word *word)
{
    size_t shown = word->bytes < TRACE_WORD_BYTES ? word->bytes : TRACE_WORD_BYTES;
    text_add(line, "\t");
    text_add_foreign(line, word->data, shown);
    text_add(line, "%s", shown < word->bytes ? "..." : "");
}

void run_trace_shown(void *data, const struct keys_shown *shown)
{
    struct run *run = data;
    char memory[TRACE_LINE_BYTES];
    struct text line = text_over(memory, sizeof memory);
    if (shown->client < 0 || run->trace == NULL) {
        return; /* our own orders to the node */
    }
    text_add(&line, "%s\t%lld\t%d\t%d\t%s", shown->inside ? "inside" : "sent",
             (long long)trace_ns(run, shown->true_ns), shown->client + 1, shown->node + 1,
             shown->f == HISTORY_READ ? "-" : history_f_name((enum history_f)shown->f));
    for (uint32_t i = 0; i < shown->words->count; i++) {
        trace_word(&line, &shown->words->word[i]);
    }
    trace_line(run, &line);
}

void run_trace_heard(void *data, int32_t client, const char *said, size_t bytes)
{
    struct run *run = data;
    char memory[TRACE_LINE_BYTES];
    struct text line = text_over(memory, sizeof memory);
    text_add(&line, "said\t%lld\t%d\t", (long long)trace_ns(run, loop_now_ns()), client + 1);
    text_add_foreign(&line, said, bytes);
    trace_line(run, &line);
}

/* What is known at the end: keys, and connections. */
void run_trace_end(struct run *run)
{
    char memory[TRACE_LINE_BYTES];
    for (uint32_t i = 0; run->trace != NULL && run->keys != NULL &&
                         i < (uint32_t)run->plan->scenario.resource_count;
         i++) {
        struct keys_known known;
        for (uint32_t j = 0; keys_known(run->keys, i, j, &known); j++) {
            struct text line = text_over(memory, sizeof memory);
            text_add(&line, "key\t%s\t%s", run->resource_names[i], known.lock ? "lock" : "beside");
            trace_word(&line, &known.name);
            trace_line(run, &line);
        }
    }
    for (int32_t i = 0; run->trace != NULL && run->proxy != NULL && i <= run->client_count; i++) {
        struct text line = text_over(memory, sizeof memory);
        text_add(&line, "connections\t%d\t%llu", i + 1,
                 (unsigned long long)proxy_signs(run->proxy, i).connections);
        trace_line(run, &line);
    }
    if (run->trace != NULL) {
        (void)fclose(run->trace);
        run->trace = NULL;
    }
}
