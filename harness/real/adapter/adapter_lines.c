/* adapter_lines.c: lines to and from an adapter, and which request an answer is for. */
#include "harness/real/adapter/adapter_inner.h"

#include "base/foreign.h"
#include "harness/real/process/process.h"
#include "harness/real/run/client_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SHOWN_BYTES_MAX = 80 };

/* ---- its end ---- */

/* Does any of its clients wait for an answer? */
static bool adapter_asked(const struct adapter_process *process)
{
    bool asked = false;
    for (int32_t i = 0; i < process->count; i++) {
        asked = asked || adapter_first(process)[i].asked;
    }
    return asked;
}

/* Its output ended though nobody asked it to. */
static void adapter_died(struct adapter_process *process)
{
    int status = 0;
    char memory[WHY_BYTES];
    struct text how = text_over(memory, sizeof memory);
    for (int i = 0; i < ADAPTER_GOODBYE_MS && !process_ended(process->pid, &status); i++) {
        if (i + 1 == ADAPTER_GOODBYE_MS) {
            adapter_fail(process, "closed its output after line %llu and went on running",
                         (unsigned long long)process->line_number);
            return;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    (void)kill(-process->pid, SIGKILL); /* whatever it started */
    process->pid = 0;
    process_explain(status, "/dev/null", &how);
    adapter_fail(process, "died after line %llu of its output (%s), %s",
                 (unsigned long long)process->line_number, how.data,
                 adapter_first(process)->state == ADAPTER_STARTING ? "before it answered init"
                 : adapter_asked(process)                          ? "with a request unanswered"
                                                                   : "without being asked to");
}

/* ---- lines ---- */

void adapter_write(struct adapter_process *process, const char *line, size_t bytes)
{
    if (process->input < 0) {
        return;
    }
    ssize_t written = write(process->input, line, bytes);
    if (written != (ssize_t)bytes && (written >= 0 || errno == EAGAIN)) {
        adapter_fail(process, "does not read its input");
    }
    /* Else it is dead: the end of its output tells. */
}

/* The whole line as text, shortened, for a sentence. */
static void line_shown(const char *line, size_t bytes, struct text *shown)
{
    size_t count = bytes < SHOWN_BYTES_MAX ? bytes : SHOWN_BYTES_MAX;
    text_add_foreign(shown, line, count);
    text_add(shown, "%s", bytes > count ? "..." : "");
}

void adapter_send(struct adapter_process *process, const struct adapter_request *request)
{
    char name[CLIENT_RESOURCE_NAME_BYTES];
    client_resource_name(request->resource, name);
    char *line = adapter_request_line(request, name);
    if (line == NULL) {
        adapter_fail(process, "no memory for a request");
        return;
    }
    adapter_write(process, line, strlen(line));
    adapter_line_free(line);
}

/* ---- init ------------------------------------------------------------------------------------ */

static bool declaration_equal(const struct adapter_declaration *a,
                              const struct adapter_declaration *b)
{
    bool same = a->said == b->said && a->clock == b->clock && a->one_node == b->one_node &&
                a->ownership == b->ownership && a->declares == b->declares &&
                a->drift_ppm == b->drift_ppm && a->renew_every_ns == b->renew_every_ns &&
                a->pattern_count == b->pattern_count && strcmp(a->library, b->library) == 0;
    for (uint32_t i = 0; i < a->pattern_count && same; i++) {
        same = strcmp(a->patterns[i], b->patterns[i]) == 0;
    }
    return same;
}

/* What of the scenario the library is not made for: half a sentence, or nothing. */
static bool declaration_fits(const struct adapter_process *process,
                             const struct adapter_declaration *said, struct text *why)
{
    const struct scenario *scenario = &process->adapter->options.plan->scenario;
    if (said->one_node && scenario->node_count > 1) {
        text_add(why,
                 "the library works with 1 node, but the scenario has %d; take one with nodes: "
                 "{count: 1}",
                 scenario->node_count);
        return false;
    }
    if (scenario->thread_count > 1 && (said->declares >> DECLARES_THREADS & 1) == 0) {
        text_add(why, "it does not declare threads, but the scenario has %d in a program",
                 scenario->thread_count);
        return false;
    }
    return true;
}

/* The library said what it is: it must fit the scenario, and what it said to other clients. */
static void adapter_introduced(struct adapter_process *process, const struct adapter_answer *answer,
                               struct adapter_declaration *said)
{
    struct adapter *adapter = process->adapter;
    unsigned long long number = process->line_number;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    if (answer->type != ANSWER_OK || answer->id != 0) {
        adapter_fail(process, "line %llu: init was not answered with ok", number);
        return;
    }
    if (said->library[0] == '\0') {
        (void)snprintf(said->library, sizeof said->library, "unnamed library");
    }
    if (!declaration_fits(process, said, &why)) {
        adapter_fail(process, "line %llu: %s", number, why.data);
        return;
    }
    if (adapter->introduced && !declaration_equal(&adapter->declaration, said)) {
        adapter_fail(process, "line %llu: says of its library what another client's does not",
                     number);
        return;
    }
    if (!adapter->introduced) {
        adapter->introduced = true;
        adapter->declaration = *said;
        adapter_program_declared(adapter);
    }
    adapter_first(process)->asked = false;
    adapter_clock_first(process);
}

void adapter_ready(struct adapter_process *process)
{
    const struct adapter_callbacks *callbacks = &process->adapter->options.callbacks;
    for (int32_t i = 0; i < process->count; i++) {
        struct adapter_client *client = &adapter_first(process)[i];
        client->state = ADAPTER_READY;
        callbacks->ready(callbacks->data, client->index, &process->adapter->declaration);
    }
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What a grant must have because the library said so: NULL, or what is missing. */
static const char *answer_lacks(const struct adapter_client *client,
                                const struct adapter_answer *answer)
{
    uint16_t declares = client->adapter->declaration.declares;
    if (answer->has_at && !client->adapter->declaration.clock) {
        return "says at_ms without the feature clock: nobody can tell what that clock shows";
    }
    if (answer->type != ANSWER_OK || client->asked_f != HISTORY_ACQUIRE) {
        return NULL;
    }
    if ((declares >> DECLARES_VALIDITY & 1) != 0 && !answer->has_validity) {
        return "grants without validity_ms, although the library declares validity";
    }
    if ((declares >> DECLARES_FENCE & 1) != 0 && answer->fence == 0) {
        return "grants without a fence, although the library declares fence";
    }
    return NULL;
}

static void adapter_answered(struct adapter_client *client, struct adapter_answer *answer)
{
    const char *lacks = answer_lacks(client, answer);
    answer->asked_ns = client->asked_ns;
    if (lacks != NULL) {
        adapter_fail(client->process, "line %llu of its output %s",
                     (unsigned long long)client->process->line_number, lacks);
        return;
    }
    int64_t late_ns = adapter_slow_late_ns(client);
    if (adapter_stands(client) || late_ns > 0) {
        client->answered = true;
        client->answer = *answer;
        client->answer.held = true;
        client->late_ns = answer->heard_ns + late_ns;
        adapter_alarm(client);
        return;
    }
    adapter_program_told(client, answer);
}

/* Whose request is it for? NULL: nobody's whose answer is awaited. */
static struct adapter_client *answer_client(const struct adapter_process *process, int64_t id)
{
    for (int32_t i = 0; i < process->count; i++) {
        struct adapter_client *client = &adapter_first(process)[i];
        if (client->asked && !client->answered && client->asked_id == id) {
            return client;
        }
    }
    return NULL;
}

static int32_t thread_of(const struct adapter_client *client)
{
    return client->index - client->process->first + 1;
}

/* Where a program has threads, each answer says whose it is: one that mixes them up is heard so. */
static void adapter_heard(struct adapter_client *client, struct adapter_answer *answer,
                          const char *shown)
{
    struct adapter_process *process = client->process;
    client->alive_ns = answer->heard_ns;
    client->overdue = false;
    if (adapter_alone(client) || answer->thread == thread_of(client)) {
        adapter_answered(client, answer);
    } else if (answer->thread == 0) {
        adapter_fail(process,
                     "line %llu of its output does not say whose answer it is (thread): %s",
                     (unsigned long long)process->line_number, shown);
    } else {
        adapter_fail(
            process,
            "line %llu of its output answers request %lld of thread %d for thread %lld: %s",
            (unsigned long long)process->line_number, (long long)answer->id, thread_of(client),
            (long long)answer->thread, shown);
    }
}

static bool cancel_answered(const struct adapter_process *process, int64_t id)
{
    for (int32_t i = 0; i < process->count; i++) {
        struct adapter_client *client = &adapter_first(process)[i];
        if (client->cancel_id != 0 && client->cancel_id == id) {
            client->cancel_id = 0; /* what became of the acquire, its own answer says */
            return true;
        }
    }
    return false;
}

/* Which request is it for? */
static void adapter_matched(struct adapter_process *process, struct adapter_answer *answer,
                            const char *shown)
{
    struct adapter_client *client = answer_client(process, answer->id);
    if (client != NULL) {
        adapter_heard(client, answer, shown);
    } else if (process->clock_id != 0 && answer->id == process->clock_id) {
        adapter_clock_told(process, answer);
    } else if (!cancel_answered(process, answer->id)) {
        bool before = answer->id >= 0 && answer->id <= process->last_id;
        adapter_fail(process,
                     "line %llu of its output answers a request that is not open: %lld was %s: %s",
                     (unsigned long long)process->line_number, (long long)answer->id,
                     before ? "answered before" : "never made", shown);
    }
}

/* Whose loss it tells of; a name that is none of ours is taken for what the client holds first. One
 * that the scenario has not enough resources for is nobody's. */
static uint32_t adapter_resource_of(const struct adapter_client *client, const char *name)
{
    for (uint32_t i = 0; i < SCENARIO_RESOURCES_MAX; i++) {
        char known[CLIENT_RESOURCE_NAME_BYTES];
        client_resource_name(i, known);
        if (strcmp(known, name) == 0) {
            return i;
        }
    }
    return client->client.holds[0].resource;
}

/* A notice is for the thread that it names; for all of them if it names none. */
static void adapter_noticed(struct adapter_process *process, const struct adapter_answer *answer)
{
    int32_t resources = process->adapter->options.plan->scenario.resource_count;
    if (answer->thread > process->count) {
        adapter_fail(process, "line %llu of its output tells thread %lld of a loss: there are %d",
                     (unsigned long long)process->line_number, (long long)answer->thread,
                     process->count);
        return;
    }
    for (int32_t i = 0; i < process->count && !process->gone; i++) {
        struct adapter_client *client = &adapter_first(process)[i];
        uint32_t resource = adapter_resource_of(client, answer->resource);
        bool meant = answer->thread == 0 || answer->thread == thread_of(client);
        if (meant && resource < (uint32_t)resources) {
            adapter_program_lost(client, resource);
        }
    }
}

/* It speaks: as long as it has no threads, that is a sign of life of all that is asked of it. */
static void adapter_lives(struct adapter_process *process, int64_t heard_ns)
{
    struct adapter_client *first = adapter_first(process);
    process->starved = 0;
    if (process->count == 1 || first->state == ADAPTER_STARTING) {
        first->alive_ns = heard_ns;
        first->overdue = false;
    }
}

static void adapter_line(struct adapter_process *process, const char *line, size_t bytes,
                         int64_t heard_ns)
{
    static struct adapter_declaration said;
    const struct adapter_callbacks *callbacks = &process->adapter->options.callbacks;
    struct adapter_client *first = adapter_first(process);
    struct adapter_answer answer;
    char memory[WHY_BYTES];
    char shown_memory[4 * SHOWN_BYTES_MAX + 8];
    struct text why = text_over(memory, sizeof memory);
    struct text shown = text_over(shown_memory, sizeof shown_memory);
    unsigned long long number = ++process->line_number;
    adapter_lives(process, heard_ns);
    line_shown(line, bytes, &shown);
    if (callbacks->heard != NULL) {
        callbacks->heard(callbacks->data, process->first, line, bytes);
    }
    if (!adapter_answer_read(line, bytes, &answer, &said, &why)) {
        adapter_fail(process, "line %llu of its output: %s: %s", number, why.data, shown.data);
        return;
    }
    answer.heard_ns = heard_ns;
    if (first->state == ADAPTER_STARTING && first->asked) {
        adapter_introduced(process, &answer, &said);
    } else if (answer.type == ANSWER_LOST) {
        adapter_noticed(process, &answer);
    } else {
        adapter_matched(process, &answer, shown.data);
    }
}

/* Cut what was read into lines; what is left of the last one moves to the front. */
static void adapter_lines(struct adapter_process *process, int64_t heard_ns)
{
    size_t start = 0;
    while (!process->gone) {
        const char *line = process->line + start;
        const char *end = memchr(line, '\n', process->line_bytes - start);
        if (end == NULL) {
            break;
        }
        start = (size_t)(end - process->line) + 1;
        if (end > line) {
            adapter_line(process, line, (size_t)(end - line), heard_ns);
        }
    }
    process->line_bytes -= start;
    memmove(process->line, process->line + start, process->line_bytes);
    if (process->line_bytes == ADAPTER_LINE_BYTES_MAX) {
        adapter_fail(process, "line %llu of its output is longer than %d bytes",
                     (unsigned long long)process->line_number + 1, ADAPTER_LINE_BYTES_MAX);
    }
}

void adapter_readable(struct loop_watch *watch)
{
    struct adapter_process *process = watch->context;
    int64_t heard_ns = loop_now_ns();
    if (process->gone) {
        return;
    }
    ssize_t bytes = read(process->output, process->line + process->line_bytes,
                         ADAPTER_LINE_BYTES_MAX - process->line_bytes);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (bytes <= 0) {
        adapter_died(process);
        return;
    }
    process->line_bytes += (size_t)bytes;
    adapter_lines(process, heard_ns);
}
