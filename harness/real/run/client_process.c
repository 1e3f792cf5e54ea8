/* client_process.c: one client of our own: the actor, in a process of its own. */
#include "harness/real/run/client_process.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/machine_clock.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/process.h"
#include "lockcore/drivers/links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENT_PROCESS_FD = 3,
    CLIENT_PROCESS_QUEUE_MAX = 16,       /* what can come in while it stands at a probe point */
    CLIENT_PROCESS_POLL_MS = 20,         /* how often a clock with a wrong rate is looked at */
    CLIENT_PROCESS_WAKES_AT_ONCE = 1000, /* in a row; each one behind them waits a millisecond */
    CLIENT_PROCESS_LIVELOCK = 2000,      /* so many in a row, and nothing else, are no waiting */
};

/* Everything a client's process has. One a process, so it may be static. */
struct client_process {
    const struct plan *plan;
    int32_t index;
    struct client_controls *controls;
    struct client_control *control;
    struct client_program program;
    struct lock_config config;
    struct actor *actor;
    struct lock_links *links;
    uv_loop_t loop;
    struct loop_watch watch;
    struct loop_alarm alarm;
    struct random_stream slow;
    int64_t wake_ns;        /* on the client's own clock; TIME_NEVER if none */
    uint32_t wakes_at_once; /* in a row: asked for at a time that has passed */
    bool begun;
    bool busy; /* inside a step or its effects */
    uint32_t queued_count;
    struct actor_event queued[CLIENT_PROCESS_QUEUE_MAX];
    char (*names)[CLIENT_RESOURCE_NAME_BYTES];
};

void client_resource_name(uint32_t resource, char name[CLIENT_RESOURCE_NAME_BYTES])
{
    (void)snprintf(name, CLIENT_RESOURCE_NAME_BYTES, "r%u", resource);
}

static size_t client_controls_bytes(int32_t client_count)
{
    return sizeof(struct client_controls) + (size_t)client_count * sizeof(struct client_control);
}

void client_controls_unmap(struct client_controls *controls, int32_t client_count)
{
    if (controls != NULL) {
        (void)munmap(controls, client_controls_bytes(client_count));
    }
}

struct client_controls *client_controls_map(int32_t client_count)
{
    size_t bytes = client_controls_bytes(client_count);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

bool client_message_send(int fd, const struct client_message *message)
{
    ssize_t sent;
    do {
        sent = send(fd, message, sizeof *message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)sizeof *message;
}

/* ---- in the client's process ------------------------------------------------------------- */

/* The loop has made the socket non-blocking: wait for it here, where there is nothing else. */
static void client_process_wait(short events)
{
    struct pollfd wait = {.fd = CLIENT_PROCESS_FD, .events = events};
    while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
    }
}

/* To the run. Without a run there is nothing left to do. */
static void client_process_tell(struct client_message *message)
{
    while (!client_message_send(CLIENT_PROCESS_FD, message)) {
        if (errno != EAGAIN) {
            _exit(1);
        }
        client_process_wait(POLLOUT);
    }
}

static _Noreturn void client_process_fail(const char *text)
{
    struct client_message message = {.type = CLIENT_MESSAGE_FAILED};
    (void)snprintf(message.u.text, sizeof message.u.text, "%s", text);
    client_process_tell(&message);
    _exit(1);
}

static int64_t client_process_now(struct client_process *process)
{
    return clock_page_shown(&process->control->monotonic, loop_now_ns());
}

static int64_t client_process_wall(struct client_process *process)
{
    return clock_page_shown(&process->control->wall, realtime_ns());
}

/*
 * Set the alarm for the wake that the actor asked for, on a clock that may go wrong. A lock that
 * asks to be woken at once for ever gets nothing done: the run is told, and until it ends the
 * lock must not take the processors that the rest of the run is measured by.
 */
static void client_process_arm(struct client_process *process)
{
    if (process->wake_ns == TIME_NEVER) {
        process->wakes_at_once = 0;
        loop_alarm_set(&process->alarm, TIME_NEVER);
        return;
    }
    int64_t at_ns = clock_page_sound(&process->control->monotonic, process->wake_ns);
    if (clock_page_rate_ppm(&process->control->monotonic) != CLOCK_PAGE_PPM) {
        int64_t look_ns = loop_now_ns() + CLIENT_PROCESS_POLL_MS * NS_PER_MS;
        at_ns = look_ns < at_ns ? look_ns : at_ns;
    }
    int64_t now_ns = loop_now_ns();
    process->wakes_at_once = at_ns <= now_ns ? process->wakes_at_once + 1 : 0;
    if (process->wakes_at_once > CLIENT_PROCESS_WAKES_AT_ONCE) {
        at_ns = now_ns + NS_PER_MS;
    }
    if (process->wakes_at_once == CLIENT_PROCESS_LIVELOCK) {
        struct client_message message = {.type = CLIENT_MESSAGE_LIVELOCK};
        client_process_tell(&message);
    }
    loop_alarm_set(&process->alarm, at_ns);
}

static void client_process_be_slow(struct client_process *process)
{
    int64_t slow_ns = atomic_load(&process->control->slow_ns);
    int64_t jitter_ns = atomic_load(&process->control->slow_jitter_ns);
    if (jitter_ns > 0) {
        slow_ns += (int64_t)random_below(&process->slow, (uint64_t)jitter_ns + 1);
    }
    if (slow_ns > 0) {
        atomic_fetch_add(&process->control->slow_steps, 1);
        struct timespec nap = {.tv_sec = slow_ns / NS_PER_S, .tv_nsec = slow_ns % NS_PER_S};
        while (nanosleep(&nap, &nap) != 0 && errno == EINTR) {
        }
    }
}

static void client_process_queue(struct client_process *process, const struct actor_event *event)
{
    ASSERT(process->queued_count < CLIENT_PROCESS_QUEUE_MAX);
    process->queued[process->queued_count++] = *event;
}

/* Take a message that can come at any time; gives false for one that is not of that kind. */
static bool client_process_hear(struct client_process *process,
                                const struct client_message *message)
{
    if (message->type == CLIENT_MESSAGE_ANSWER) {
        struct actor_event event = {
            .type = ACTOR_EVENT_STORE,
            .store_outcome = message->u.answer.accepted ? OUTCOME_OK : OUTCOME_FAIL,
            .store_cause = message->u.answer.cause,
            .version = message->u.answer.version,
        };
        client_process_queue(process, &event);
        return true;
    }
    if (message->type == CLIENT_MESSAGE_CLOCK) {
        /* The alarm is set anew after every message; the run wants to know what is seen here. */
        struct client_message told = {.type = CLIENT_MESSAGE_CLOCK_SEEN};
        told.point = message->point;
        int64_t now_ns = loop_now_ns();
        int64_t wall_ns = realtime_ns();
        told.u.seen.monotonic_ns = clock_page_shown(&process->control->monotonic, now_ns) - now_ns;
        told.u.seen.wall_ns = clock_page_shown(&process->control->wall, wall_ns) - wall_ns;
        client_process_tell(&told);
        return true;
    }
    return false;
}

static void client_process_receive(struct client_message *message)
{
    ssize_t got = -1;
    while (got < 0) {
        client_process_wait(POLLIN);
        got = recv(CLIENT_PROCESS_FD, message, sizeof *message, 0);
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            break;
        }
    }
    if (got != (ssize_t)sizeof *message) {
        _exit(1); /* the run is gone */
    }
}

/* Stand at a probe point until the run lets us pass; everything sent so far has left. */
static void client_process_stand(struct client_process *process, uint8_t point)
{
    struct client_message message = {.type = CLIENT_MESSAGE_PROBE, .point = point};
    lock_links_flush(process->links);
    client_process_tell(&message);
    do {
        client_process_receive(&message);
    } while (client_process_hear(process, &message));
    ASSERT(message.type == CLIENT_MESSAGE_PASS);
}

static void client_process_ask_store(const struct actor_effect *effect)
{
    struct client_message message = {.type = CLIENT_MESSAGE_STORE};
    message.u.store.f = effect->f;
    message.u.store.resource = effect->resource;
    message.u.store.value = effect->u.store.value;
    message.u.store.fence = effect->u.store.fence;
    client_process_tell(&message);
}

static void client_process_record(const struct history_event *record)
{
    struct client_message message = {.type = CLIENT_MESSAGE_RECORD};
    message.u.record = *record;
    message.u.record.time_ns = loop_now_ns();
    client_process_tell(&message);
}

static void client_process_send(struct client_process *process, const struct actor_effect *effect)
{
    const char *name = process->names[effect->resource];
    struct lock_request request = {
        .resource = name,
        .resource_bytes = strlen(name),
        .tag = effect->lock,
        .command = &effect->u.command,
    };
    lock_links_send(process->links, effect->node_index, &request);
}

/* Carry out one list. Gives true when the actor wants to be stepped AGAIN. */
static bool client_process_carry_out(struct client_process *process,
                                     const struct actor_effects *effects)
{
    for (uint32_t i = 0; i < effects->count; i++) {
        const struct actor_effect *effect = &effects->list[i];
        switch ((enum actor_effect_type)effect->type) {
        case ACTOR_EFFECT_SEND:
            client_process_send(process, effect);
            break;
        case ACTOR_EFFECT_WAKE:
            process->wake_ns = effect->at_ns;
            break;
        case ACTOR_EFFECT_STORE:
            client_process_ask_store(effect);
            break;
        case ACTOR_EFFECT_RECORD:
            client_process_record(&effect->u.record);
            break;
        case ACTOR_EFFECT_PROBE:
            client_process_stand(process, effect->point);
            break;
        case ACTOR_EFFECT_AGAIN:
            ASSERT(i + 1 == effects->count);
            return true;
        case ACTOR_EFFECT_DONE: {
            struct client_message message = {.type = CLIENT_MESSAGE_DONE};
            client_process_tell(&message);
            break;
        }
        }
    }
    return false;
}

static void client_process_step(struct client_process *process, struct actor_event *event)
{
    static struct actor_effects effects;
    bool again = true;
    while (again) {
        client_process_be_slow(process);
        event->now_ns = client_process_now(process);
        event->wall_ns = client_process_wall(process);
        event->probes_watched = atomic_load(&process->controls->probes_watched);
        ASSERT(getrandom(event->random, sizeof event->random, 0) == sizeof event->random);
        actor_step(process->actor, &process->program, event, &effects);
        again = client_process_carry_out(process, &effects);
        memset(event, 0, sizeof *event);
        event->type = ACTOR_EVENT_AGAIN;
    }
}

/* Step with `event` (or NULL), then with what came in meanwhile; set the alarm. */
static void client_process_take(struct client_process *process, const struct actor_event *event)
{
    ASSERT(!process->busy);
    process->busy = true;
    if (event != NULL) {
        client_process_queue(process, event);
    }
    for (uint32_t i = 0; i < process->queued_count; i++) {
        struct actor_event next = process->queued[i];
        client_process_step(process, &next);
    }
    process->queued_count = 0;
    process->busy = false;
    client_process_arm(process);
}

static void client_process_replied(void *context, const struct lock_answer *answer)
{
    struct client_process *process = context;
    struct actor_event event = {
        .type = answer->pushed ? ACTOR_EVENT_PUSH : ACTOR_EVENT_REPLY,
        .node_index = (uint8_t)answer->node_index,
        .lock = (uint32_t)answer->tag,
        .reply = answer->reply,
        .command = answer->command,
    };
    client_process_take(process, &event);
}

static void client_process_broken(void *context, uint32_t node_index)
{
    struct client_process *process = context;
    struct actor_event event = {.type = ACTOR_EVENT_BROKEN, .node_index = (uint8_t)node_index};
    client_process_take(process, &event);
}

static void client_process_ring(struct loop_alarm *alarm)
{
    struct client_process *process = alarm->context;
    lock_links_drain(process->links); /* a timer must not count as missing what is here */
    if (process->wake_ns > client_process_now(process)) {
        client_process_arm(process);
        return;
    }
    process->wake_ns = TIME_NEVER;
    struct actor_event event = {.type = ACTOR_EVENT_WAKE};
    client_process_take(process, &event);
}

static void client_process_message(struct loop_watch *watch)
{
    struct client_process *process = watch->context;
    struct client_message message;
    client_process_receive(&message);
    if (message.type == CLIENT_MESSAGE_BEGIN) {
        struct actor_event event = {.type = ACTOR_EVENT_START};
        process->begun = true;
        client_process_take(process, &event);
        return;
    }
    ASSERT(client_process_hear(process, &message));
    client_process_take(process, NULL);
}

static void client_process_connect(struct client_process *process, struct text *why)
{
    static char memory[LOCK_NODES_MAX][32];
    static const char *addresses[LOCK_NODES_MAX];
    uint32_t node_count = (uint32_t)process->plan->scenario.node_count;
    struct client_message message;
    client_process_receive(&message);
    ASSERT(message.type == CLIENT_MESSAGE_CONNECT);
    for (uint32_t i = 0; i < node_count; i++) {
        (void)snprintf(memory[i], sizeof memory[i], "127.0.0.1:%u", message.u.ports[i]);
        addresses[i] = memory[i];
    }
    struct lock_links_options options = {
        .loop = &process->loop,
        .addresses = addresses,
        .node_count = node_count,
        .kind = server_kind_at(process->plan->scenario.node_kind)->connection,
        .context = process,
        .replied = client_process_replied,
        .broken = client_process_broken,
    };
    if (uv_loop_init(&process->loop) != 0 ||
        result_failed(lock_links_open(&options, &process->links, why)) ||
        result_failed(
            loop_alarm_init(&process->alarm, &process->loop, client_process_ring, process, why))) {
        client_process_fail(why->data);
    }
    for (uint32_t i = 0; i < node_count; i++) {
        while (!lock_links_up(process->links, i)) {
            (void)uv_run(&process->loop, UV_RUN_ONCE);
        }
    }
    message.type = CLIENT_MESSAGE_CONNECTED;
    client_process_tell(&message);
}

static _Noreturn void client_process_main(const struct client_process_options *options)
{
    static struct client_process process;
    char why_memory[WHY_BYTES] = "";
    struct text why = text_over(why_memory, sizeof why_memory);
    const struct scenario *scenario = &options->plan->scenario;
    uint32_t resource_count = (uint32_t)scenario->resource_count;
    process.plan = options->plan;
    process.index = options->index;
    process.controls = options->controls;
    process.control = &options->controls->clients[options->index];
    process.wake_ns = TIME_NEVER;
    process.slow = random_stream_at("slow", (uint64_t)options->index, options->plan->seed);
    client_program_init(&process.program, options->plan, options->index == scenario->client_count);
    process.actor = memory_resize(NULL, actor_bytes(&process.program));
    process.names = memory_resize(NULL, resource_count * sizeof process.names[0]);
    if (process.actor == NULL || process.names == NULL) {
        client_process_fail("no memory for a client");
    }
    for (uint32_t i = 0; i < resource_count; i++) {
        client_resource_name(i, process.names[i]);
    }
    actor_init(process.actor, &process.program, &scenario->lock, options->index,
               options->plan->seed);
    client_process_connect(&process, &why);
    process.watch.context = &process;
    if (result_failed(loop_watch_init(&process.watch, &process.loop, CLIENT_PROCESS_FD,
                                      client_process_message, &why))) {
        client_process_fail(why.data);
    }
    (void)uv_run(&process.loop, UV_RUN_DEFAULT);
    client_process_fail("its loop ended");
}

/* Between fork and the work: only the socket and the log are kept. */
static void client_process_settle(const struct client_process_options *options, int fd, pid_t run)
{
    char name[32];
    process_die_with(run, SIGKILL);
    (void)snprintf(name, sizeof name, "client-%d", options->index + 1);
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
    (void)signal(SIGINT, SIG_IGN); /* Ctrl-C is the run's business */
    (void)signal(SIGTERM, SIG_DFL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = open(options->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    int kept = fcntl(fd, F_DUPFD, CLIENT_PROCESS_FD + 1); /* out of the way of those below */
    (void)dup2(null, 0);
    (void)dup2(null, 1);
    (void)dup2(log >= 0 ? log : null, 2);
    (void)dup2(kept, CLIENT_PROCESS_FD);
    (void)close_range(CLIENT_PROCESS_FD + 1, ~0u, 0);
}

struct result client_process_start(const struct client_process_options *options, pid_t *pid,
                                   int *fd, struct text *why)
{
    int ends[2];
    pid_t run = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        text_add(why, "no socket pair for client %d: %s", options->index + 1, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    *pid = fork();
    if (*pid == 0) {
        client_process_settle(options, ends[1], run);
        client_process_main(options);
    }
    (void)close(ends[1]);
    if (*pid < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        text_add(why, "client %d cannot be started: %s", options->index + 1, strerror(errno));
        (void)close(ends[0]);
        return result_error(ERROR_ENVIRONMENT);
    }
    *fd = ends[0];
    return RESULT_OK;
}
