/* run_client.c: the clients of a run: processes of our own, or adapters. */
#include "harness/real/run/run.h"

#include "base/assert.h"
#include "base/machine_clock.h"
#include "harness/real/process/proc.h"
#include "harness/real/process/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- what clients report -------------------------------------------------------------------- */

/* The promised end, on the client's own clock, in the run's true time. */
static int64_t run_until_true(const struct run *run, int32_t client, int64_t until_own_ns)
{
    int64_t sound_ns = clock_page_sound(&run->controls->clients[client].monotonic, until_own_ns);
    return sound_ns == INT64_MAX ? TIME_NEVER : sound_ns - run->start_ns;
}

/* Remember leases, so that they can be moved when the client's clock changes its rate. */
static void run_lease_note(struct run_client *client, const struct history_event *event)
{
    struct run_lease *lease = &client->leases[event->resource];
    bool granted = (event->kind == HISTORY_OP && event->type == HISTORY_OK &&
                    (event->f == HISTORY_ACQUIRE || event->f == HISTORY_EXTEND)) ||
                   event->kind == HISTORY_LEASE;
    bool given_up =
        (event->kind == HISTORY_OP && event->f == HISTORY_RELEASE) || event->kind == HISTORY_NOTICE;
    if (granted && (event->flags & HISTORY_HAS_UNTIL) != 0) {
        *lease = (struct run_lease){
            .held = true,
            .fenced = (event->flags & HISTORY_HAS_FENCE) != 0,
            .value = event->value,
            .fence = event->fence,
            .until_own_ns = event->until_ns,
        };
    } else if (given_up) {
        lease->held = false;
    }
}

static void run_client_record(struct run_client *client, const struct history_event *record)
{
    struct run *run = client->run;
    struct history_event event = *record;
    event.time_ns -= run->start_ns;
    run_lease_note(client, record);
    if ((event.flags & HISTORY_HAS_UNTIL) != 0) {
        event.until_ns = run_until_true(run, client->index, record->until_ns);
    }
    run_emit(run, &event);
}

struct store_answer run_store(struct run *run, enum history_f f, uint32_t resource,
                              const struct history_value *value, int64_t fence)
{
    const struct store_guard guard = {
        .fence_check = run->plan->scenario.fence_check,
        .value_check = run->plan->scenario.value_check,
    };
    ASSERT(resource < (uint32_t)run->plan->scenario.resource_count);
    struct store_cell *cell = &run->cells[resource];
    return f == HISTORY_READ ? store_read(cell, &guard, value, fence)
                             : store_write(cell, &guard, value, fence);
}

static void run_client_clock_seen(struct run_client *client, const struct client_message *message)
{
    struct run *run = client->run;
    uint32_t k = message->point;
    const struct fault *fault = &run->plan->scenario.faults[k];
    const struct client_control *control = &run->controls->clients[client->index];
    bool jump = fault->kind == FAULT_CLOCK_JUMP;
    struct run_sight sight = {
        .f = HISTORY_FAULT_EFFECT,
        .client = client->index,
        .node = HISTORY_NO_NODE,
        .observed = jump ? message->u.seen.wall_ns
                         : atomic_load(&((struct client_control *)control)->monotonic.rate_ppm),
    };
    if (run->schedule.state[k] != SCHEDULE_ENDED || jump) {
        run_fault_record(run, k, &sight);
    }
}

static void run_client_died(struct run_client *client)
{
    struct run *run = client->run;
    char log_path[GUARD_PATH_BYTES + 32];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    int status = 0;
    (void)snprintf(log_path, sizeof log_path, "%s/clients.log", run->guard.run_directory);
    text_add(&text, "client %d ended by itself: ", client->index + 1);
    while (!process_ended(client->pid, &status) && proc_state(client->pid) != 0) {
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    process_explain(status, log_path, &text);
    client->pid = 0;
    run_fail(run, result_error(ERROR_ENVIRONMENT), text.data);
}

static void run_client_message(struct run_client *client, const struct client_message *message)
{
    struct run *run = client->run;
    struct client_message answer;
    memset(&answer, 0, sizeof answer);
    switch ((enum client_message_type)message->type) {
    case CLIENT_MESSAGE_CONNECTED:
        client->state = RUN_CLIENT_READY;
        return;
    case CLIENT_MESSAGE_RECORD:
        run_client_record(client, &message->u.record);
        return;
    case CLIENT_MESSAGE_STORE:
        answer.type = CLIENT_MESSAGE_ANSWER;
        answer.u.answer =
            run_store(run, (enum history_f)message->u.store.f, message->u.store.resource,
                      &message->u.store.value, message->u.store.fence);
        (void)client_message_send(client->fd, &answer); /* a dead client is noticed elsewhere */
        return;
    case CLIENT_MESSAGE_PROBE:
        run_probe(run, client->index, (enum probe_point)message->point);
        answer.type = CLIENT_MESSAGE_PASS;
        (void)client_message_send(client->fd, &answer); /* one that was killed there takes none */
        return;
    case CLIENT_MESSAGE_CLOCK_SEEN:
        run_client_clock_seen(client, message);
        return;
    case CLIENT_MESSAGE_DONE:
        client->state = RUN_CLIENT_DONE;
        return;
    case CLIENT_MESSAGE_LIVELOCK:
        run->spinner = client;
        run->over = true;
        return;
    case CLIENT_MESSAGE_FAILED:
        run_fail(run, result_error(ERROR_ENVIRONMENT), message->u.text);
        return;
    case CLIENT_MESSAGE_CONNECT:
    case CLIENT_MESSAGE_BEGIN:
    case CLIENT_MESSAGE_ANSWER:
    case CLIENT_MESSAGE_PASS:
    case CLIENT_MESSAGE_CLOCK:
        break; /* clients are told these, they do not say them */
    }
    UNREACHABLE();
}

/* Take what the client has reported so far. Gives false once its end of the socket is closed. */
static bool run_client_read(struct run_client *client)
{
    struct client_message message;
    for (;;) {
        ssize_t got = recv(client->fd, &message, sizeof message, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return true;
        }
        if (got != (ssize_t)sizeof message) {
            return false;
        }
        run_client_message(client, &message);
        if (client->fd < 0) {
            return true; /* killed while its message was looked at */
        }
    }
}

static void run_client_close(struct run_client *client)
{
    if (client->fd >= 0) {
        loop_watch_close(&client->watch);
        (void)close(client->fd);
        client->fd = -1;
    }
}

static void run_client_readable(struct loop_watch *watch)
{
    struct run_client *client = watch->context;
    if (client->fd < 0 || run_client_read(client)) {
        return;
    }
    run_client_close(client);
    run_client_died(client);
}

/* ---- start ---------------------------------------------------------------------------------- */

struct result run_clients_start(struct run *run, struct text *why)
{
    char log_path[GUARD_PATH_BYTES + 32];
    int32_t count = run->client_count + 1;
    (void)snprintf(log_path, sizeof log_path, "%s/clients.log", run->guard.run_directory);
    for (int32_t i = 0; i < count; i++) {
        run->clients[i].run = run;
        run->clients[i].index = i;
        run->clients[i].fd = -1;
        if (run->options->adapter != NULL) {
            continue; /* those are started once there are proxies to tell them of */
        }
        struct client_process_options options = {
            .plan = run->plan,
            .index = i,
            .controls = run->controls,
            .log_path = log_path,
        };
        TRY(client_process_start(&options, &run->clients[i].pid, &run->clients[i].fd, why));
    }
    return RESULT_OK;
}

static struct result run_client_connect(struct run *run, struct run_client *client,
                                        struct text *why)
{
    struct client_message message;
    memset(&message, 0, sizeof message);
    message.type = CLIENT_MESSAGE_CONNECT;
    for (int32_t node = 0; node < run->node_count; node++) {
        message.u.ports[node] = proxy_port(run->proxy, client->index, node);
    }
    client->watch.context = client;
    TRY(loop_watch_init(&client->watch, &run->loop, client->fd, run_client_readable, why));
    if (!client_message_send(client->fd, &message)) {
        text_add(why, "client %d does not listen: %s", client->index + 1, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

struct result run_clients_connect(struct run *run, struct text *why)
{
    if (run->options->adapter != NULL) {
        TRY(run_adapters_start(run, why));
    }
    for (int32_t i = 0; i <= run->client_count && run->options->adapter == NULL; i++) {
        TRY(run_client_connect(run, &run->clients[i], why));
    }
    /* An adapter that says nothing is named before by adapter.h. */
    int32_t seconds = run->adapter != NULL ? 8 * RUN_SILENT_SECONDS : RUN_START_SECONDS;
    int64_t deadline_ns = loop_now_ns() + seconds * NS_PER_S;
    while (!run->over && !run_clients_are(run, RUN_CLIENT_READY)) {
        loop_alarm_set(&run->phase_alarm, deadline_ns + run_lost_ns(run));
        if (loop_now_ns() >= deadline_ns + run_lost_ns(run)) {
            text_add(why, "the clients are not connected after %d s", seconds);
            return result_error(ERROR_ENVIRONMENT);
        }
        run_turn(run);
    }
    loop_alarm_set(&run->phase_alarm, TIME_NEVER);
    if (run->adapter != NULL && !run->over) {
        run_adapter_clocks_try(run);
    }
    return RESULT_OK;
}

/* Has every client, the auditor aside unless it is asked for, come at least this far? */
bool run_clients_are(const struct run *run, enum run_client_state state_min)
{
    int32_t count = run->client_count + (state_min <= RUN_CLIENT_READY ? 1 : 0);
    for (int32_t i = 0; i < count; i++) {
        if (run->clients[i].state < state_min) {
            return false;
        }
    }
    return true;
}

void run_client_begin(struct run *run, int32_t client)
{
    struct client_message message = {.type = CLIENT_MESSAGE_BEGIN};
    ASSERT(run->clients[client].state == RUN_CLIENT_READY);
    run->clients[client].state = RUN_CLIENT_ACTIVE;
    if (run->adapter != NULL) {
        adapter_begin(run->adapter, client);
    } else {
        (void)client_message_send(run->clients[client].fd, &message); /* death is noticed */
    }
}

/* ---- what is done to them ------------------------------------------------------------------- */

void run_client_freeze(struct run *run, int32_t client)
{
    struct run_client *target = &run->clients[client];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    if (target->state == RUN_CLIENT_GONE || target->freezes++ > 0) {
        return;
    }
    target->frozen_ns = loop_now_ns();
    if (run->adapter != NULL) {
        adapter_freeze(run->adapter, client);
        return;
    }
    struct result frozen = process_freeze(target->pid, &text);
    if (result_failed(frozen)) {
        run_fail(run, frozen, text.data);
    }
}

void run_client_thaw(struct run *run, int32_t client)
{
    struct run_client *target = &run->clients[client];
    if (target->state == RUN_CLIENT_GONE || target->freezes == 0 || --target->freezes > 0) {
        return;
    }
    if (run->adapter != NULL) {
        adapter_thaw(run->adapter, client);
    } else {
        process_thaw(target->pid);
    }
}

void run_client_kill(struct run *run, int32_t client, enum history_cause cause)
{
    struct run_client *target = &run->clients[client];
    if (target->state == RUN_CLIENT_GONE) {
        return;
    }
    if (run->adapter != NULL) {
        adapter_kill(run->adapter, client);
    } else {
        process_kill(target->pid);
        target->pid = 0;
        target->state = RUN_CLIENT_GONE;
        /* What it said before it died was said. */
        (void)run_client_read(target);
        run_client_close(target);
    }
    target->state = RUN_CLIENT_GONE;
    target->freezes = 0;
    struct history_event event = {
        .time_ns = run_true_ns(run),
        .kind = HISTORY_CLIENT,
        .f = HISTORY_CLIENT_KILLED,
        .cause = (uint8_t)cause,
        .process = client,
        .node = HISTORY_NO_NODE,
        .fault = HISTORY_NO_FAULT,
    };
    run_emit(run, &event);
}

/* The client's clock changes its rate: promised ends that lie ahead move in true time. */
static void run_leases_move(struct run *run, int32_t client)
{
    for (int32_t i = 0; i < run->plan->scenario.resource_count; i++) {
        const struct run_lease *lease = &run->clients[client].leases[i];
        int64_t now_own_ns =
            clock_page_shown(&run->controls->clients[client].monotonic, loop_now_ns());
        if (!lease->held || lease->until_own_ns <= now_own_ns) {
            continue;
        }
        struct history_event event = {
            .time_ns = run_true_ns(run),
            .kind = HISTORY_LEASE,
            .f = HISTORY_MOVED,
            .flags = HISTORY_HAS_VALUE | HISTORY_HAS_UNTIL,
            .process = client,
            .node = HISTORY_NO_NODE,
            .fault = HISTORY_NO_FAULT,
            .resource = (uint32_t)i,
            .value = lease->value,
            .fence = lease->fence,
            .until_ns = run_until_true(run, client, lease->until_own_ns),
        };
        event.flags |= lease->fenced ? HISTORY_HAS_FENCE : 0;
        run_emit(run, &event);
    }
}

void run_client_clock(struct run *run, int32_t client, uint32_t fault, int64_t jump_ns,
                      int64_t rate_ppm)
{
    struct run_client *target = &run->clients[client];
    struct client_control *control = &run->controls->clients[client];
    if (target->state == RUN_CLIENT_GONE) {
        return;
    }
    clock_page_set(&control->wall, realtime_ns(), jump_ns, rate_ppm);
    if (clock_page_rate_ppm(&control->monotonic) != rate_ppm) {
        clock_page_set(&control->monotonic, loop_now_ns(), 0, rate_ppm);
        run_leases_move(run, client);
    }
    struct client_message message = {.type = CLIENT_MESSAGE_CLOCK, .point = fault};
    if (run->adapter != NULL) {
        run_adapter_clock(run, client, fault, jump_ns, rate_ppm);
    } else {
        (void)client_message_send(target->fd, &message); /* death is noticed elsewhere */
    }
}

void run_client_slow(struct run *run, int32_t client, int64_t slow_ns, int64_t jitter_ns)
{
    struct client_control *control = &run->controls->clients[client];
    if (run->adapter != NULL) {
        adapter_slow(run->adapter, client, slow_ns, jitter_ns);
        return;
    }
    atomic_store(&control->slow_jitter_ns, jitter_ns);
    atomic_store(&control->slow_ns, slow_ns);
}

/* ---- end ------------------------------------------------------------------------------------ */

void run_clients_stop(struct run *run)
{
    for (int32_t i = 0; i < run->client_count; i++) {
        if (run->clients[i].state == RUN_CLIENT_ACTIVE) {
            run_client_kill(run, i, CAUSE_DEADLINE);
        }
    }
}

void run_clients_end(struct run *run)
{
    if (run->adapter != NULL) {
        adapter_stop(run->adapter);
    }
    for (int32_t i = 0; run->clients != NULL && i <= run->client_count; i++) {
        struct run_client *client = &run->clients[i];
        if (client->pid > 0) {
            process_kill(client->pid);
            client->pid = 0;
        }
        client->state = RUN_CLIENT_GONE;
        if (client->run != NULL) {
            run_client_close(client);
        }
    }
}
