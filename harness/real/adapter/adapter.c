/* adapter.c: adapters' processes: start, freeze, kill, lines in and out. */
#include "harness/real/adapter/adapter.h"

#include "base/arena.h"
#include "base/assert.h"
#include "harness/real/adapter/adapter_inner.h"
#include "harness/real/process/proc.h"
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

/* What concerns the process as a whole is the business of its first client. */
static bool adapter_is_first(const struct adapter_client *client)
{
    return client->index == client->process->first;
}

static bool adapter_awaited(const struct adapter_client *client)
{
    return client->asked || (adapter_is_first(client) && client->process->clock_id != 0);
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
    if (adapter_awaited(client)) {
        at_ns = client->alive_ns + adapter_silence_ns(client);
    }
    at_ns = client->wake_ns < at_ns ? client->wake_ns : at_ns;
    at_ns = client->late_ns < at_ns ? client->late_ns : at_ns;
    at_ns = client->quiet_ns < at_ns ? client->quiet_ns : at_ns;
    if (adapter_is_first(client)) {
        int64_t slow_ns = client->process->slow_next_ns;
        at_ns = slow_ns < at_ns ? slow_ns : at_ns;
    }
    loop_alarm_set(&client->alarm, at_ns);
}

bool adapter_starves(struct adapter_process *process, int64_t period_ns)
{
    int64_t waited_ns = process->pid > 0 ? lateness_waited(process->pid) : 0;
    waited_ns += lateness_waited_main(getpid()); /* it may wait for what it has started */
    bool starves = waited_ns - process->waited_ns >= period_ns / 10;
    process->waited_ns = waited_ns;
    return starves && process->starved++ < ADAPTER_STARVES_MAX;
}

/* Waiting for nodes is not silence, and neither is trying to reach them. */
static bool adapter_silent(struct adapter_client *client, int64_t now_ns)
{
    struct adapter_process *process = client->process;
    if (!adapter_awaited(client) || now_ns < client->alive_ns + adapter_silence_ns(client)) {
        return false;
    }
    if (!client->overdue) {
        /* It may have spoken while we did not listen: look at its output once more. */
        client->overdue = true;
        client->alive_ns = now_ns - adapter_silence_ns(client) + ADAPTER_GRACE_MS * NS_PER_MS;
        return false;
    }
    struct proxy_signs signs = proxy_signs(client->adapter->options.proxy, process->first);
    bool tries = signs.connections != process->connections;
    process->connections = signs.connections;
    if (signs.waits || tries || adapter_starves(process, adapter_silence_ns(client))) {
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
    if (adapter_is_first(client) && client->process->slow_next_ns <= now_ns) {
        adapter_slow_turn(client->process, now_ns);
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
        adapter_fail(client->process,
                     "is silent: line %llu of its output did not come within %lld s",
                     (unsigned long long)client->process->line_number + 1,
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

static struct result adapter_spawn(struct adapter_process *process, struct text *why)
{
    const struct adapter_options *options = &process->adapter->options;
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
                                .log_path = process->log_path,
                                .own_group = true,
                                .file_bytes_max = ADAPTER_FILE_BYTES_MAX};
    const char *const *environment =
        options->environment != NULL ? options->environment(options->callbacks.data, process->first)
                                     : NULL;
    char mark[ADAPTER_MARK_BYTES];
    (void)snprintf(mark, sizeof mark, ADAPTER_VARIABLE "=%d", (int)process->first + 1);
    spec.environment[0] = mark;
    for (int i = 0; environment != NULL && environment[i] != NULL; i++) {
        ASSERT(i + 2 < PROCESS_ENVIRONMENT_MAX);
        spec.environment[i + 1] = environment[i];
    }
    struct result result = process_start(&spec, &process->pid, why);
    process->started = result_failed(result) ? 0 : proc_field(process->pid, PROC_FIELD_START);
    fd_close(&input[0]);
    fd_close(&output[1]);
    process->input = input[1];
    process->output = output[0];
    (void)fcntl(process->input, F_SETFL, O_NONBLOCK);
    (void)fcntl(process->output, F_SETFL, O_NONBLOCK);
    return result;
}

/* One of its clients: it waits for the process to answer init. */
static struct result adapter_client_start(struct adapter_client *client, struct text *why)
{
    TRY(loop_alarm_init(&client->alarm, client->adapter->options.loop, adapter_ring, client, why));
    client->state = ADAPTER_STARTING;
    client->alive_ns = loop_now_ns();
    client->asked_ns = client->alive_ns;
    client->asked = adapter_is_first(client);
    return RESULT_OK;
}

static struct result adapter_process_start(struct adapter_process *process, struct text *why)
{
    struct adapter *adapter = process->adapter;
    (void)snprintf(process->log_path, sizeof process->log_path, "%.460s/adapter-%d.log",
                   adapter->options.run_directory, process->first + 1);
    process->line = memory_resize(NULL, ADAPTER_LINE_BYTES_MAX);
    if (process->line == NULL) {
        text_add(why, "no memory for an adapter's lines");
        return result_error(ERROR_LIMIT);
    }
    TRY(adapter_spawn(process, why));
    process->watch.context = process;
    TRY(loop_watch_init(&process->watch, adapter->options.loop, process->output, adapter_readable,
                        why));
    process->gone = false;
    for (int32_t i = 0; i < process->count; i++) {
        TRY(adapter_client_start(&adapter_first(process)[i], why));
    }
    char *line = adapter_init_line(process);
    if (line == NULL) {
        text_add(why, "no memory for an adapter's lines");
        return result_error(ERROR_LIMIT);
    }
    adapter_write(process, line, strlen(line));
    adapter_line_free(line);
    adapter_alarm(adapter_first(process));
    return RESULT_OK;
}

/* A process for each program; the auditor is one by itself. */
static void adapter_processes_init(struct adapter *adapter)
{
    const struct scenario *scenario = &adapter->options.plan->scenario;
    int32_t threads = scenario->thread_count > 1 ? scenario->thread_count : 1;
    for (int32_t i = 0; i < adapter->process_count; i++) {
        int32_t left = adapter->count - i * threads;
        adapter->processes[i] = (struct adapter_process){
            .adapter = adapter,
            .first = i * threads,
            .count = left < threads ? left : threads,
            .gone = true,
            .input = -1,
            .output = -1,
            .slow_next_ns = TIME_NEVER,
        };
    }
    for (int32_t i = 0; i < adapter->count; i++) {
        struct adapter_client *client = &adapter->clients[i];
        client->adapter = adapter;
        client->process = &adapter->processes[i / threads];
        client->index = i;
        client->state = ADAPTER_GONE;
        client->wake_ns = TIME_NEVER;
        client->quiet_ns = TIME_NEVER;
        client->late_ns = TIME_NEVER;
        client->slow = random_stream_at("slow", (uint64_t)i, adapter->options.plan->seed);
        client_init(&client->client,
                    i + 1 == adapter->count ? &adapter->auditor_program : &adapter->program, i,
                    adapter->options.plan->seed);
    }
}

struct result adapter_start(const struct adapter_options *options, struct adapter **started,
                            struct text *why)
{
    const struct scenario *scenario = &options->plan->scenario;
    int32_t count = scenario->client_count + 1;
    int32_t processes = scenario_program_number(scenario, scenario->client_count) + 1;
    size_t bytes = sizeof(struct adapter) + (size_t)count * sizeof(struct adapter_client);
    struct adapter *adapter = memory_resize(NULL, bytes);
    struct adapter_process *made =
        adapter != NULL ? memory_resize(NULL, (size_t)processes * sizeof *made) : NULL;
    if (made == NULL) {
        memory_release(adapter);
        text_add(why, "no memory for %d adapters", processes);
        return result_error(ERROR_LIMIT);
    }
    memset(adapter, 0, bytes);
    adapter->options = *options;
    adapter->count = count;
    adapter->processes = made;
    adapter->process_count = processes;
    client_program_init(&adapter->program, options->plan, false);
    client_program_init(&adapter->auditor_program, options->plan, true);
    *started = adapter;
    /* Writing to an adapter that died must not end us: the end of its output tells. */
    (void)signal(SIGPIPE, SIG_IGN);
    adapter_processes_init(adapter);
    for (int32_t i = 0; i < processes; i++) {
        TRY(adapter_process_start(&adapter->processes[i], why));
    }
    return RESULT_OK;
}

static void adapter_client_close(struct adapter_client *client)
{
    client->state = ADAPTER_GONE;
    client->frozen = false;
    client->thawed = false;
    client->passed = false;
    client->asked = false;
    loop_alarm_close(&client->alarm);
    adapter_attempt_end(client);
}

void adapter_close(struct adapter_process *process)
{
    process->gone = true;
    loop_watch_close(&process->watch);
    fd_close(&process->input);
    fd_close(&process->output);
    for (int32_t i = 0; i < process->count; i++) {
        adapter_client_close(&adapter_first(process)[i]);
    }
}

void adapter_free(struct adapter *adapter)
{
    for (int32_t i = 0; adapter != NULL && i < adapter->process_count; i++) {
        memory_release(adapter->processes[i].line);
    }
    if (adapter != NULL) {
        memory_release(adapter->processes);
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

/* Every fault strikes all clients of a process: the first of them that it freezes stops it. */
void adapter_freeze(struct adapter *adapter, int32_t index)
{
    struct adapter_client *client = &adapter->clients[index];
    struct adapter_process *process = client->process;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    if (client->state == ADAPTER_GONE || client->frozen) {
        return;
    }
    if (!process->stopped) {
        process->frozen_ns = loop_now_ns();
        if (!process->slow_stands && result_failed(process_freeze_group(process->pid, &why))) {
            adapter_fail(process, "%s", why.data);
            return;
        }
        process->slow_stands = false;
        process->stopped = true;
    }
    client->frozen = true;
    adapter_alarm(client);
}

/* The last client of a process that is let go has it go on. */
void adapter_thaw(struct adapter *adapter, int32_t index)
{
    struct adapter_client *client = &adapter->clients[index];
    struct adapter_process *process = client->process;
    if (client->state == ADAPTER_GONE || !client->frozen) {
        return;
    }
    client->frozen = false;
    client->thawed = true;
    client->alive_ns += loop_now_ns() - process->frozen_ns;
    bool others = false;
    for (int32_t i = 0; i < process->count; i++) {
        others = others || adapter_first(process)[i].frozen;
    }
    if (!others) {
        process->stopped = false;
        process_thaw_group(process->pid);
    }
    adapter_alarm(client);
}

void adapter_process_kill(struct adapter_process *process)
{
    if (process->gone) {
        return;
    }
    if (process->pid > 0) {
        process_kill_group(process->pid);
        process->pid = 0;
    }
    adapter_close(process);
}

void adapter_kill(struct adapter *adapter, int32_t index)
{
    adapter_process_kill(adapter->clients[index].process);
}

int adapter_pid(const struct adapter *adapter, int32_t index)
{
    const struct adapter_process *process = adapter->clients[index].process;
    return process->pid > 0 ? (int)process->pid : -1;
}
