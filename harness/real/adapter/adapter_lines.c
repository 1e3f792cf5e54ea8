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

/* Its output ended though nobody asked it to. */
static void adapter_died(struct adapter_client *client)
{
    int status = 0;
    char memory[WHY_BYTES];
    struct text how = text_over(memory, sizeof memory);
    for (int i = 0; i < ADAPTER_GOODBYE_MS && !process_ended(client->pid, &status); i++) {
        if (i + 1 == ADAPTER_GOODBYE_MS) {
            adapter_fail(client, "closed its output after line %llu and went on running",
                         (unsigned long long)client->line_number);
            return;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    (void)kill(-client->pid, SIGKILL); /* whatever it started */
    client->pid = 0;
    process_explain(status, "/dev/null", &how);
    adapter_fail(client, "died after line %llu of its output (%s), %s",
                 (unsigned long long)client->line_number, how.data,
                 client->state == ADAPTER_STARTING ? "before it answered init"
                 : client->asked                   ? "with a request unanswered"
                                                   : "without being asked to");
}

/* ---- lines ---- */

void adapter_write(struct adapter_client *client, const char *line, size_t bytes)
{
    if (client->input < 0) {
        return;
    }
    ssize_t written = write(client->input, line, bytes);
    if (written != (ssize_t)bytes && (written >= 0 || errno == EAGAIN)) {
        adapter_fail(client, "does not read its input");
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

void adapter_send(struct adapter_client *client, const struct adapter_request *request)
{
    char name[CLIENT_RESOURCE_NAME_BYTES];
    client_resource_name(request->resource, name);
    char *line = adapter_request_line(request, name);
    if (line == NULL) {
        adapter_fail(client, "no memory for a request");
        return;
    }
    adapter_write(client, line, strlen(line));
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

/* The library said what it is: it must fit the scenario, and what it said to other clients. */
static void adapter_introduced(struct adapter_client *client, const struct adapter_answer *answer,
                               struct adapter_declaration *said)
{
    struct adapter *adapter = client->adapter;
    int32_t nodes = adapter->options.plan->scenario.node_count;
    unsigned long long number = client->line_number;
    if (answer->type != ANSWER_OK || answer->id != 0) {
        adapter_fail(client, "line %llu: init was not answered with ok", number);
        return;
    }
    if (said->library[0] == '\0') {
        (void)snprintf(said->library, sizeof said->library, "unnamed library");
    }
    if (said->one_node && nodes > 1) {
        adapter_fail(client,
                     "line %llu: the library works with 1 node, but the scenario has %d; take one "
                     "with nodes: {count: 1}",
                     number, nodes);
        return;
    }
    if (adapter->introduced && !declaration_equal(&adapter->declaration, said)) {
        adapter_fail(client, "line %llu: says of its library what another client's does not",
                     number);
        return;
    }
    if (!adapter->introduced) {
        adapter->introduced = true;
        adapter->declaration = *said;
        adapter_program_declared(adapter);
    }
    client->asked = false;
    adapter_clock_first(client);
}

void adapter_ready(struct adapter_client *client)
{
    const struct adapter_callbacks *callbacks = &client->adapter->options.callbacks;
    client->state = ADAPTER_READY;
    callbacks->ready(callbacks->data, client->index, &client->adapter->declaration);
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
        adapter_fail(client, "line %llu of its output %s", (unsigned long long)client->line_number,
                     lacks);
        return;
    }
    int64_t late_ns = adapter_slow_late_ns(client);
    if (adapter_stands(client) || late_ns > 0) {
        client->answered = true;
        client->answer = *answer;
        client->late_ns = answer->heard_ns + late_ns;
        adapter_alarm(client);
        return;
    }
    adapter_program_told(client, answer);
}

/* Which request is it for? */
static void adapter_matched(struct adapter_client *client, struct adapter_answer *answer,
                            const char *shown)
{
    bool main = client->asked && !client->answered && answer->id == client->asked_id;
    if (main) {
        adapter_answered(client, answer);
    } else if (client->clock_id != 0 && answer->id == client->clock_id) {
        adapter_clock_told(client, answer);
    } else if (client->cancel_id != 0 && answer->id == client->cancel_id) {
        client->cancel_id = 0; /* what became of the acquire, its own answer says */
    } else {
        bool before = answer->id >= 0 && answer->id <= client->last_id;
        adapter_fail(client,
                     "line %llu of its output answers a request that is not open: %lld was %s: %s",
                     (unsigned long long)client->line_number, (long long)answer->id,
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

static void adapter_line(struct adapter_client *client, const char *line, size_t bytes,
                         int64_t heard_ns)
{
    static struct adapter_declaration said;
    struct adapter_answer answer;
    char memory[WHY_BYTES];
    char shown_memory[4 * SHOWN_BYTES_MAX + 8];
    struct text why = text_over(memory, sizeof memory);
    struct text shown = text_over(shown_memory, sizeof shown_memory);
    unsigned long long number = ++client->line_number;
    client->alive_ns = heard_ns;
    client->overdue = false;
    client->starved = 0;
    line_shown(line, bytes, &shown);
    if (client->adapter->options.callbacks.heard != NULL) {
        client->adapter->options.callbacks.heard(client->adapter->options.callbacks.data,
                                                 client->index, line, bytes);
    }
    if (!adapter_answer_read(line, bytes, &answer, &said, &why)) {
        adapter_fail(client, "line %llu of its output: %s: %s", number, why.data, shown.data);
        return;
    }
    answer.heard_ns = heard_ns;
    if (client->state == ADAPTER_STARTING && client->asked) {
        adapter_introduced(client, &answer, &said);
    } else if (answer.type == ANSWER_LOST) {
        uint32_t resource = adapter_resource_of(client, answer.resource);
        if (resource < (uint32_t)client->adapter->options.plan->scenario.resource_count) {
            adapter_program_lost(client, resource);
        }
    } else {
        adapter_matched(client, &answer, shown.data);
    }
}

/* Cut what was read into lines; what is left of the last one moves to the front. */
static void adapter_lines(struct adapter_client *client, int64_t heard_ns)
{
    size_t start = 0;
    while (client->state != ADAPTER_GONE) {
        const char *line = client->line + start;
        const char *end = memchr(line, '\n', client->line_bytes - start);
        if (end == NULL) {
            break;
        }
        start = (size_t)(end - client->line) + 1;
        if (end > line) {
            adapter_line(client, line, (size_t)(end - line), heard_ns);
        }
    }
    client->line_bytes -= start;
    memmove(client->line, client->line + start, client->line_bytes);
    if (client->line_bytes == ADAPTER_LINE_BYTES_MAX) {
        adapter_fail(client, "line %llu of its output is longer than %d bytes",
                     (unsigned long long)client->line_number + 1, ADAPTER_LINE_BYTES_MAX);
    }
}

void adapter_readable(struct loop_watch *watch)
{
    struct adapter_client *client = watch->context;
    int64_t heard_ns = loop_now_ns();
    if (client->state == ADAPTER_GONE) {
        return;
    }
    ssize_t bytes = read(client->output, client->line + client->line_bytes,
                         ADAPTER_LINE_BYTES_MAX - client->line_bytes);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (bytes <= 0) {
        adapter_died(client);
        return;
    }
    client->line_bytes += (size_t)bytes;
    adapter_lines(client, heard_ns);
}
