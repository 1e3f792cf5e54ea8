/* adapter.c: adapters' processes: start, freeze, kill, lines in and out. */
#include "harness/real/adapter/adapter.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/foreign.h"
#include "harness/real/adapter/adapter_inner.h"
#include "harness/real/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND_BYTES_MAX = 4096, SHOWN_BYTES_MAX = 80 };

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

static void adapter_answered(struct adapter_client *client, const struct adapter_answer *answer)
{
    const struct adapter_callbacks *callbacks = &client->adapter->options.callbacks;
    if (client->state == ADAPTER_STARTING) {
        client->asked = false;
        if (answer->type != ANSWER_OK || answer->id != 0) {
            adapter_fail(client, "line %llu: init was not answered with ok",
                         (unsigned long long)client->line_number);
            return;
        }
        client->state = ADAPTER_READY;
        callbacks->ready(callbacks->data, client->index,
                         answer->library[0] != '\0' ? answer->library : "unnamed library");
        return;
    }
    int64_t late_ns = adapter_program_late_ns(client);
    if (adapter_stands(client) || late_ns > 0) {
        client->answered = true;
        client->answer = *answer;
        client->late_ns = answer->heard_ns + late_ns;
        adapter_alarm(client);
        return;
    }
    adapter_program_told(client, answer);
}

static void adapter_line(struct adapter_client *client, const char *line, size_t bytes,
                         int64_t heard_ns)
{
    struct adapter_answer answer;
    char memory[WHY_BYTES];
    char shown_memory[4 * SHOWN_BYTES_MAX + 8];
    struct text why = text_over(memory, sizeof memory);
    struct text shown = text_over(shown_memory, sizeof shown_memory);
    unsigned long long number = ++client->line_number;
    client->alive_ns = heard_ns;
    line_shown(line, bytes, &shown);
    if (!adapter_answer_read(line, bytes, &answer, &why)) {
        adapter_fail(client, "line %llu of its output: %s: %s", number, why.data, shown.data);
        return;
    }
    answer.heard_ns = heard_ns;
    if (answer.type == ANSWER_LOST) {
        client->lost = client->lost || adapter_stands(client);
        if (!adapter_stands(client)) {
            adapter_program_told(client, &answer);
        }
        return;
    }
    if (!client->asked || client->answered || answer.id != client->asked_id) {
        adapter_fail(client, "line %llu of its output answers a request that is not open: %s",
                     number, shown.data);
        return;
    }
    adapter_answered(client, &answer);
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

static void adapter_readable(struct loop_watch *watch)
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

/* ---- time ---- */

/* An answer that takes longer than this without any sign of life is silence. */
static int64_t adapter_silence_ns(const struct adapter_client *client)
{
    const struct lock_config *lock = &client->adapter->options.plan->scenario.lock;
    return client->adapter->options.silence_ns + lock->retry_delay_ns + lock->retry_jitter_ns;
}

void adapter_alarm(struct adapter_client *client)
{
    int64_t at_ns = TIME_NEVER;
    if (client->state == ADAPTER_GONE || client->frozen) {
        loop_alarm_set(&client->alarm, at_ns);
        return;
    }
    if (client->thawed) {
        loop_alarm_set(&client->alarm, 0);
        return;
    }
    if (client->asked) {
        at_ns = client->alive_ns + adapter_silence_ns(client);
    }
    at_ns = client->wake_ns < at_ns ? client->wake_ns : at_ns;
    at_ns = client->late_ns < at_ns ? client->late_ns : at_ns;
    at_ns = client->quiet_ns < at_ns ? client->quiet_ns : at_ns;
    loop_alarm_set(&client->alarm, at_ns);
}

/* Waiting for nodes is not silence, and neither is trying to reach them. */
static bool adapter_silent(struct adapter_client *client, int64_t now_ns)
{
    struct proxy *proxy = client->adapter->options.proxy;
    if (!client->asked || now_ns < client->alive_ns + adapter_silence_ns(client)) {
        return false;
    }
    struct proxy_signs signs = proxy_signs(proxy, client->index);
    bool tries = signs.connections != client->connections;
    client->connections = signs.connections;
    if (signs.waits || tries) {
        client->alive_ns = now_ns;
        return false;
    }
    return true;
}

static void adapter_ring(struct loop_alarm *alarm)
{
    struct adapter_client *client = alarm->context;
    int64_t now_ns = loop_now_ns();
    if (client->state == ADAPTER_GONE || client->frozen) {
        return;
    }
    if (client->thawed) {
        client->thawed = false;
        adapter_wire_thaw(client);
        adapter_program_thaw(client);
        return;
    }
    if (client->quiet_ns <= now_ns) {
        adapter_wire_quiet(client);
    }
    if (client->late_ns <= now_ns) {
        adapter_program_thaw(client);
    }
    if (client->wake_ns <= now_ns && client->state == ADAPTER_ACTIVE && !adapter_stands(client)) {
        client->wake_ns = TIME_NEVER;
        adapter_program_step(client, (struct client_event){.type = CLIENT_EVENT_WAKE});
    }
    if (client->state != ADAPTER_GONE && !adapter_stands(client) &&
        adapter_silent(client, now_ns)) {
        adapter_fail(client, "is silent: line %llu of its output did not come within %lld s",
                     (unsigned long long)client->line_number + 1,
                     (long long)(adapter_silence_ns(client) / NS_PER_S));
        return;
    }
    adapter_alarm(client);
}

/* ---- processes ---- */

static void fd_close(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    }
}

static struct result adapter_spawn(struct adapter_client *client, struct text *why)
{
    const struct adapter_options *options = &client->adapter->options;
    char command[COMMAND_BYTES_MAX];
    int input[2] = {-1, -1};
    int output[2] = {-1, -1};
    if (snprintf(command, sizeof command, "exec %s", options->command) >= (int)sizeof command) {
        text_add(why, "the adapter's command is longer than %d bytes", COMMAND_BYTES_MAX - 6);
        return result_error(ERROR_USAGE);
    }
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
        text_add(why, "no pipe for an adapter: %s", strerror(errno));
        fd_close(&input[0]);
        fd_close(&input[1]);
        return result_error(ERROR_ENVIRONMENT);
    }
    const char *const arguments[] = {"sh", "-c", command, NULL};
    struct process_spec spec = {.arguments = arguments,
                                .run_directory = options->run_directory,
                                .input = input[0],
                                .output = output[1],
                                .log_path = client->log_path};
    const char *const *environment =
        options->environment != NULL ? options->environment(options->callbacks.data, client->index)
                                     : NULL;
    for (int i = 0; environment != NULL && environment[i] != NULL; i++) {
        ASSERT(i + 1 < PROCESS_ENVIRONMENT_MAX);
        spec.environment[i] = environment[i];
    }
    struct result result = process_start(&spec, &client->pid, why);
    fd_close(&input[0]);
    fd_close(&output[1]);
    client->input = input[1];
    client->output = output[0];
    (void)fcntl(client->input, F_SETFL, O_NONBLOCK);
    (void)fcntl(client->output, F_SETFL, O_NONBLOCK);
    return result;
}

static struct result adapter_client_start(struct adapter_client *client, struct text *why)
{
    struct adapter *adapter = client->adapter;
    (void)snprintf(client->log_path, sizeof client->log_path, "%.460s/adapter-%d.log",
                   adapter->options.run_directory, client->index + 1);
    client->line = memory_resize(NULL, ADAPTER_LINE_BYTES_MAX);
    if (client->line == NULL) {
        text_add(why, "no memory for an adapter's lines");
        return result_error(ERROR_LIMIT);
    }
    TRY(adapter_spawn(client, why));
    client->watch.context = client;
    TRY(loop_watch_init(&client->watch, adapter->options.loop, client->output, adapter_readable,
                        why));
    TRY(loop_alarm_init(&client->alarm, adapter->options.loop, adapter_ring, client, why));
    client->state = ADAPTER_STARTING;
    client->alive_ns = loop_now_ns();
    client->asked = true;
    char *line = adapter_init_line(client);
    if (line == NULL) {
        text_add(why, "no memory for an adapter's lines");
        return result_error(ERROR_LIMIT);
    }
    adapter_write(client, line, strlen(line));
    adapter_line_free(line);
    adapter_alarm(client);
    return RESULT_OK;
}

struct result adapter_start(const struct adapter_options *options, struct adapter **started,
                            struct text *why)
{
    const struct scenario *scenario = &options->plan->scenario;
    int32_t count = scenario->client_count + 1;
    size_t bytes = sizeof(struct adapter) + (size_t)count * sizeof(struct adapter_client);
    struct adapter *adapter = memory_resize(NULL, bytes);
    if (adapter == NULL) {
        text_add(why, "no memory for %d adapters", count);
        return result_error(ERROR_LIMIT);
    }
    memset(adapter, 0, bytes);
    adapter->options = *options;
    adapter->count = count;
    client_program_init(&adapter->program, options->plan, false);
    client_program_init(&adapter->auditor_program, options->plan, true);
    *started = adapter;
    /* Writing to an adapter that died must not end us: the end of its output tells. */
    (void)signal(SIGPIPE, SIG_IGN);
    for (int32_t i = 0; i < count; i++) {
        struct adapter_client *client = &adapter->clients[i];
        client->adapter = adapter;
        client->index = i;
        client->state = ADAPTER_GONE;
        client->input = -1;
        client->output = -1;
        client->wake_ns = TIME_NEVER;
        client->quiet_ns = TIME_NEVER;
        client->late_ns = TIME_NEVER;
        client->slow = random_stream_at("slow", (uint64_t)i, options->plan->seed);
        client_init(&client->client, i + 1 == count ? &adapter->auditor_program : &adapter->program,
                    i, options->plan->seed);
    }
    for (int32_t i = 0; i < count; i++) {
        TRY(adapter_client_start(&adapter->clients[i], why));
    }
    return RESULT_OK;
}

/* Its process is gone or will be at once: nothing is heard of it any more. */
static void adapter_close(struct adapter_client *client)
{
    client->state = ADAPTER_GONE;
    client->frozen = false;
    client->thawed = false;
    client->passed = false;
    client->asked = false;
    loop_watch_close(&client->watch);
    loop_alarm_close(&client->alarm);
    fd_close(&client->input);
    fd_close(&client->output);
    adapter_attempt_end(client);
}

void adapter_stop(struct adapter *adapter)
{
    int64_t deadline_ns = loop_now_ns() + ADAPTER_GOODBYE_MS * NS_PER_MS;
    int status = 0;
    adapter->stopped = true;
    for (int32_t i = 0; i < adapter->count; i++) {
        struct adapter_client *client = &adapter->clients[i];
        if (client->state == ADAPTER_GONE) {
            continue;
        }
        char *line = adapter_shutdown_line(client->asked_id + 1);
        if (line != NULL && !client->frozen) {
            adapter_write(client, line, strlen(line));
        }
        adapter_line_free(line);
        adapter_close(client);
    }
    for (int32_t i = 0; i < adapter->count; i++) {
        pid_t *pid = &adapter->clients[i].pid;
        while (*pid > 0 && loop_now_ns() < deadline_ns && !process_ended(*pid, &status)) {
            (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
        }
        if (*pid > 0 && loop_now_ns() >= deadline_ns) {
            process_kill(*pid);
        }
        *pid = 0;
    }
}

void adapter_free(struct adapter *adapter)
{
    for (int32_t i = 0; adapter != NULL && i < adapter->count; i++) {
        memory_release(adapter->clients[i].line);
    }
    memory_release(adapter);
}

/* ---- what the run asks ---- */

void adapter_begin(struct adapter *adapter, int32_t index)
{
    struct adapter_client *client = &adapter->clients[index];
    if (client->state == ADAPTER_READY) {
        client->state = ADAPTER_ACTIVE;
        client->begins = true;
        if (!adapter_stands(client)) {
            adapter_program_thaw(client);
        }
    }
}

void adapter_freeze(struct adapter *adapter, int32_t index)
{
    struct adapter_client *client = &adapter->clients[index];
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    if (client->state == ADAPTER_GONE || client->frozen) {
        return;
    }
    client->frozen_ns = loop_now_ns();
    if (result_failed(process_freeze(client->pid, &why))) {
        adapter_fail(client, "%s", why.data);
        return;
    }
    client->frozen = true;
    adapter_alarm(client);
}

void adapter_thaw(struct adapter *adapter, int32_t index)
{
    struct adapter_client *client = &adapter->clients[index];
    if (client->state == ADAPTER_GONE || !client->frozen) {
        return;
    }
    client->frozen = false;
    client->thawed = true;
    client->alive_ns += loop_now_ns() - client->frozen_ns;
    process_thaw(client->pid);
    adapter_alarm(client);
}

void adapter_kill(struct adapter *adapter, int32_t index)
{
    struct adapter_client *client = &adapter->clients[index];
    if (client->state == ADAPTER_GONE) {
        return;
    }
    if (client->pid > 0) {
        process_kill(client->pid);
        client->pid = 0;
    }
    adapter_close(client);
}

int adapter_pid(const struct adapter *adapter, int32_t index)
{
    const struct adapter_client *client = &adapter->clients[index];
    return client->pid > 0 ? (int)client->pid : -1;
}
