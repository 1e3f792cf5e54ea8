/* adapter.c: adapters' processes: start, freeze, kill, lines in and out. */
#include "harness/real/adapter/adapter.h"

#include "base/arena.h"
#include "base/assert.h"
#include "harness/real/adapter/adapter_inner.h"
#include "harness/real/process/lateness.h"
#include "harness/real/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COMMAND_BYTES_MAX = 4096 };

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
    if (client->asked || client->clock_id != 0) {
        at_ns = client->alive_ns + adapter_silence_ns(client);
    }
    at_ns = client->wake_ns < at_ns ? client->wake_ns : at_ns;
    at_ns = client->late_ns < at_ns ? client->late_ns : at_ns;
    at_ns = client->quiet_ns < at_ns ? client->quiet_ns : at_ns;
    at_ns = client->slow_next_ns < at_ns ? client->slow_next_ns : at_ns;
    loop_alarm_set(&client->alarm, at_ns);
}

bool adapter_starves(struct adapter_client *client, int64_t period_ns)
{
    int64_t waited_ns = client->pid > 0 ? lateness_waited(client->pid) : 0;
    waited_ns += lateness_waited_main(getpid()); /* it may wait for what it has started */
    bool starves = waited_ns - client->waited_ns >= period_ns / 10;
    client->waited_ns = waited_ns;
    return starves && client->starved++ < ADAPTER_STARVES_MAX;
}

/* Waiting for nodes is not silence, and neither is trying to reach them. */
static bool adapter_silent(struct adapter_client *client, int64_t now_ns)
{
    struct proxy *proxy = client->adapter->options.proxy;
    bool awaited = client->asked || client->clock_id != 0;
    if (!awaited || now_ns < client->alive_ns + adapter_silence_ns(client)) {
        return false;
    }
    if (!client->overdue) {
        /* It may have spoken while we did not listen: look at its output once more. */
        client->overdue = true;
        client->alive_ns = now_ns - adapter_silence_ns(client) + ADAPTER_GRACE_MS * NS_PER_MS;
        return false;
    }
    struct proxy_signs signs = proxy_signs(proxy, client->index);
    bool tries = signs.connections != client->connections;
    client->connections = signs.connections;
    if (signs.waits || tries || adapter_starves(client, adapter_silence_ns(client))) {
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
    if (client->slow_next_ns <= now_ns) {
        adapter_slow_turn(client, now_ns);
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
                                .log_path = client->log_path,
                                .own_group = true,
                                .file_bytes_max = ADAPTER_FILE_BYTES_MAX};
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
    client->asked_ns = client->alive_ns;
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
        client->slow_next_ns = TIME_NEVER;
        client->slow = random_stream_at("slow", (uint64_t)i, options->plan->seed);
        client_init(&client->client, i + 1 == count ? &adapter->auditor_program : &adapter->program,
                    i, options->plan->seed);
    }
    for (int32_t i = 0; i < count; i++) {
        TRY(adapter_client_start(&adapter->clients[i], why));
    }
    return RESULT_OK;
}

void adapter_close(struct adapter_client *client)
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
    if (!client->slow_stands && result_failed(process_freeze_group(client->pid, &why))) {
        adapter_fail(client, "%s", why.data);
        return;
    }
    client->slow_stands = false;
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
    process_thaw_group(client->pid);
    adapter_alarm(client);
}

void adapter_kill(struct adapter *adapter, int32_t index)
{
    struct adapter_client *client = &adapter->clients[index];
    if (client->state == ADAPTER_GONE) {
        return;
    }
    if (client->pid > 0) {
        process_kill_group(client->pid);
        client->pid = 0;
    }
    adapter_close(client);
}

int adapter_pid(const struct adapter *adapter, int32_t index)
{
    const struct adapter_client *client = &adapter->clients[index];
    return client->pid > 0 ? (int)client->pid : -1;
}
