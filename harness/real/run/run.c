/* run.c: world_real: one run of a plan on real servers, from start to end. */
#include "harness/real/run/run.h"

#include "base/assert.h"
#include "base/version.h"
#include "lockcore/algorithms.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RUN_ARENA_BYTES_MAX = 1 << 28,
    RUN_LATE_MS = 50,
};

void run_fail(struct run *run, struct result result, const char *why)
{
    ASSERT(result_failed(result));
    if (!result_failed(run->outcome)) {
        run->outcome = result;
        text_clear(run->why);
        text_add(run->why, "%s", why);
    }
    run->over = true;
}

int64_t run_true_ns(const struct run *run)
{
    return loop_now_ns() - run->start_ns;
}

void run_emit(struct run *run, const struct history_event *event)
{
    if (!run->going) {
        return; /* a connection that is made before the run has begun */
    }
    run->recorder->event(run->recorder, event);
    run->recorded++;
    if (run->recorder->should_stop != NULL && run->recorder->should_stop(run->recorder)) {
        run->stopped = true;
        run->over = true;
    }
}

void run_emit_early(struct run *run, const struct history_event *event)
{
    struct history_event shifted = *event;
    int64_t earlier_ns = run->start_ns - run->prepared_ns;
    shifted.time_ns -= earlier_ns;
    if ((shifted.flags & HISTORY_HAS_SINCE) != 0) {
        shifted.since_ns = shifted.since_ns > earlier_ns ? shifted.since_ns - earlier_ns : 0;
    }
    if (shifted.until_ns != 0 && shifted.until_ns != TIME_NEVER) {
        shifted.until_ns -= earlier_ns;
    }
    shifted.until_least_ns -= (shifted.flags & HISTORY_HAS_UNTIL_LEAST) != 0 ? earlier_ns : 0;
    if ((shifted.flags & HISTORY_HAS_SENT) != 0) {
        shifted.sent_ns = shifted.sent_ns > earlier_ns ? shifted.sent_ns - earlier_ns : 0;
    }
    run_emit(run, &shifted);
}

void run_turn(struct run *run)
{
    (void)uv_run(&run->loop, UV_RUN_ONCE);
}

static void run_emit_phase(struct run *run, enum history_f f, enum history_cause cause)
{
    struct history_event event = {
        .time_ns = run_true_ns(run),
        .kind = HISTORY_PHASE,
        .f = (uint8_t)f,
        .cause = (uint8_t)cause,
        .process = cause == CAUSE_LIVELOCK ? run->spinner->index : HISTORY_NOBODY,
        .node = HISTORY_NO_NODE,
        .fault = HISTORY_NO_FAULT,
    };
    run_emit(run, &event);
}

/* ---- what wakes the run --------------------------------------------------------------------- */

static void run_on_signal(uv_signal_t *handle, int signal)
{
    struct run *run = handle->data;
    run_cluster_beat(run); /* whoever ends us may do so because a node is gone: that comes first */
    run_fail(run, result_error(ERROR_INTERRUPTED),
             signal == SIGINT ? "interrupted" : "asked to end by SIGTERM");
}

static void run_on_schedule(struct loop_alarm *alarm)
{
    struct run *run = alarm->context;
    if (!run->over) {
        run_faults_time(run);
    }
}

static void run_keys_watch(struct run *run)
{
    loop_alarm_set(&run->keys_alarm, keys_next_ns(run->keys));
}

static void run_on_keys(struct loop_alarm *alarm)
{
    struct run *run = alarm->context;
    keys_time(run->keys, loop_now_ns());
    run_keys_watch(run);
}

static void run_on_nodes(struct loop_alarm *alarm)
{
    run_nodes_look(alarm->context);
}

static void run_on_links(struct loop_alarm *alarm)
{
    run_faults_links(alarm->context);
}

static void run_on_phase(struct loop_alarm *alarm)
{
    (void)alarm; /* it ends the wait; the phase looks at the clock itself */
}

static uint64_t run_on_key(void *data, const struct history_event *event)
{
    struct run *run = data;
    uint64_t number = run->recorded;
    run_emit_early(run, event);
    return run->recorded > number ? number : KEYS_NO_EVENT;
}

/* What is dated is the moment at which the proxy lets it go on: from there nothing holds it. */
static void run_on_replied(void *data, uint64_t event, int64_t true_ns)
{
    struct run *run = data;
    if (run->recorder->replied != NULL) {
        run->recorder->replied(run->recorder, event, true_ns - run->start_ns);
    }
}

static void run_on_whose(void *data, uint64_t event, int32_t client)
{
    struct run *run = data;
    if (run->recorder->whose != NULL) {
        run->recorder->whose(run->recorder, event, client);
    }
}

static struct result run_make_loop(struct run *run, struct text *why)
{
    static const int numbers[2] = {SIGTERM, SIGINT};
    if (uv_loop_init(&run->loop) != 0) {
        text_add(why, "no event loop to be had: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    for (int i = 0; i < 2; i++) {
        run->signals[i].data = run;
        if (uv_signal_init(&run->loop, &run->signals[i]) != 0 ||
            uv_signal_start(&run->signals[i], run_on_signal, numbers[i]) != 0) {
            text_add(why, "no signal handler to be had");
            return result_error(ERROR_ENVIRONMENT);
        }
        uv_unref((uv_handle_t *)&run->signals[i]);
    }
    run->looping = true;
    TRY(loop_alarm_init(&run->schedule_alarm, &run->loop, run_on_schedule, run, why));
    TRY(loop_alarm_init(&run->keys_alarm, &run->loop, run_on_keys, run, why));
    TRY(loop_alarm_init(&run->nodes_alarm, &run->loop, run_on_nodes, run, why));
    TRY(loop_alarm_init(&run->links_alarm, &run->loop, run_on_links, run, why));
    TRY(run_late_start(run, why));
    return loop_alarm_init(&run->phase_alarm, &run->loop, run_on_phase, run, why);
}

/* ---- prepare -------------------------------------------------------------------------------- */

/* A port that is bound and never listens: connections to it are refused. */
static struct result run_reserve_nowhere(struct run *run, struct text *why)
{
    struct sockaddr_in address = address_socket(run_cluster_own(run));
    run->nowhere_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (run->nowhere_fd < 0 ||
        bind(run->nowhere_fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        text_add(why, "no free port: %s", strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    run->nowhere = address_of(run->nowhere_fd);
    return RESULT_OK;
}

static struct result run_take_memory(struct run *run, struct text *why)
{
    size_t clients = (size_t)run->client_count + 1;
    size_t resources = (size_t)run->plan->scenario.resource_count;
    run->clients = arena_take(&run->arena, clients * sizeof run->clients[0]);
    run->cells = arena_take(&run->arena, resources * sizeof run->cells[0]);
    run->resource_names = arena_take(&run->arena, resources * sizeof run->resource_names[0]);
    run->controls = client_controls_map((int32_t)clients);
    bool enough = run->clients != NULL && run->cells != NULL && run->resource_names != NULL &&
                  run->controls != NULL;
    for (size_t i = 0; i < resources && enough; i++) {
        char name[CLIENT_RESOURCE_NAME_BYTES];
        client_resource_name((uint32_t)i, name);
        run->resource_names[i] = arena_copy_text(&run->arena, name, strlen(name));
        enough = run->resource_names[i] != NULL;
    }
    for (size_t i = 0; i < clients && enough; i++) {
        run->clients[i].leases =
            arena_take(&run->arena, resources * sizeof run->clients[i].leases[0]);
        enough = run->clients[i].leases != NULL;
    }
    if (!enough) {
        text_add(why, "no memory for %zu clients and %zu resources", clients, resources);
        return result_error(ERROR_LIMIT);
    }
    return RESULT_OK;
}

static struct result run_make_proxies(struct run *run, struct text *why)
{
    struct keys_options keys = {
        .kind = run->plan->scenario.node_kind,
        .pooled = run->plan->scenario.pooler == POOLER_TRANSACTION,
        .node_count = run->node_count,
        .client_count = run->client_count + 1,
        .thread_count = run->options->adapter != NULL ? run->plan->scenario.thread_count : 1,
        .resource_count = (uint32_t)run->plan->scenario.resource_count,
        .resource_names = run->resource_names,
        .start_ns = run->prepared_ns,
        .emit = run_on_key,
        .emit_data = run,
        .replied = run_on_replied,
        .whose = run_on_whose,
        .shown = run->options->adapter != NULL ? run_trace_shown : NULL,
    };
    run->keys = keys_new(&keys);
    if (run->keys == NULL) {
        text_add(why, "no memory for the view of keys");
        return result_error(ERROR_LIMIT);
    }
    if (run->options->adapter == NULL) {
        /* Our own locks: a key that is called as the resource, and a fence beside it. */
        bool said =
            keys_pattern(run->keys, "{resource}") && keys_pattern(run->keys, "{resource}:fence");
        ASSERT(said);
    }
    for (int32_t i = 0; i < run->node_count; i++) {
        if (run->nodes[i].site.hand->distant) {
            keys_distant(run->keys, i, run->nodes[i].site.wall_ahead_ns);
        }
        if (run_is_told(run, i)) {
            TRY(keys_watch(run->keys, i, run->nodes[i].site.address, why));
        }
    }
    struct proxy_options options = {
        .client_count = run->client_count + 1,
        .node_count = run->node_count,
        .kind = run->plan->scenario.node_kind,
        .keys = run->keys,
        .callbacks = {.data = run, .arrival = run_arrival, .reply = run_reply},
        .seed = run->plan->seed,
    };
    TRY(proxy_start(&run->loop, &options, &run->proxy, why));
    for (int32_t i = 0; i < run->node_count; i++) {
        proxy_node_set(run->proxy, i, run->nodes[i].site.address);
    }
    return RESULT_OK;
}

/* Servers start while clients are forked; clients are forked before there is a loop. */
static struct result run_prepare(struct run *run, struct text *why)
{
    run_late_hurry();
    TRY(run_check(run, why));
    TRY(guard_start(&run->guard, run->options->run_directory, why));
    TRY(run_take_memory(run, why));
    password_make(run->password);
    TRY(run_cluster_open(run, why));
    TRY(run_reserve_nowhere(run, why));
    TRY(run_nodes_start(run, why));
    TRY(run_clients_start(run, why));
    TRY(run_make_loop(run, why));
    TRY(run_peers_start(run, why));
    TRY(run_nodes_wait(run, why));
    TRY(run_cluster_watch(run, why));
    TRY(run_servers_look(run, why));
    TRY(run_cluster_borrow(run, why));
    TRY(run_replicas_start(run, why));
    TRY(run_follow_start(run, why));
    TRY(run_sentinels_start(run, why));
    run->prepared_ns = loop_now_ns();
    schedule_init(&run->schedule, run->plan);
    TRY(run_loading_start(run, why));
    TRY(run_make_proxies(run, why));
    return run_clients_connect(run, why);
}

/* ---- phases --------------------------------------------------------------------------------- */

/*
 * Turn the loop until `reached`, or until `deadline_ns`, or until it is over. Time in which we
 * were stopped does not count.
 */
static void run_until(struct run *run, bool (*reached)(const struct run *run), int64_t deadline_ns)
{
    int64_t lost_ns = run_lost_ns(run);
    while (!run->over && !reached(run) &&
           loop_now_ns() < deadline_ns + run_lost_ns(run) - lost_ns) {
        loop_alarm_set(&run->phase_alarm, deadline_ns + run_lost_ns(run) - lost_ns);
        run_keys_watch(run);
        run_turn(run);
    }
    loop_alarm_set(&run->phase_alarm, TIME_NEVER);
}

static bool run_all_done(const struct run *run)
{
    return run_clients_are(run, RUN_CLIENT_DONE);
}

static bool run_audit_done(const struct run *run)
{
    return run->clients[run->client_count].state >= RUN_CLIENT_DONE;
}

static bool run_nothing_delayed(const struct run *run)
{
    return !proxy_delays(run->proxy);
}

/* No key is left that will expire by itself. */
static bool run_no_keys(const struct run *run)
{
    int64_t now_ns = loop_now_ns();
    for (int32_t node = 0; node < run->node_count; node++) {
        for (int32_t i = 0; i < run->plan->scenario.resource_count; i++) {
            struct keys_view view;
            keys_look(run->keys, node, (uint32_t)i, now_ns, &view);
            if (view.present && view.latest_ns != TIME_NEVER) {
                return false;
            }
        }
    }
    return true;
}

static void run_go(struct run *run)
{
    run->going = true;
    run_faults_time(run); /* what begins at 0s is there before the clients are */
    for (int32_t i = 0; i < run->client_count; i++) {
        run_client_begin(run, i);
    }
    loop_alarm_set(&run->nodes_alarm, loop_now_ns() + NS_PER_S / 4);
    int64_t end_ns = run->start_ns + run->plan->scenario.duration_ns;
    run_until(run, run_all_done, end_ns);
    /* What a fault made late still comes, and shows what it does. */
    int64_t late_ns = loop_now_ns() + plan_linger_ns(run->plan);
    run_until(run, run_nothing_delayed, late_ns < end_ns ? late_ns : end_ns);
}

/* The clients' time is up; all faults end; when all nodes are back, record that all is healed. */
static void run_heal(struct run *run)
{
    if (run->over) {
        return;
    }
    run_clients_stop(run); /* before the heal: nobody wakes up just to be stopped */
    run_faults_heal(run);
    run_until(run, run_nodes_up, loop_now_ns() + run_start_seconds(run) * NS_PER_S);
    if (!run->over && !run_nodes_up(run)) {
        run_fail(run, result_error(ERROR_ENVIRONMENT), "a node did not come back after its fault");
    }
    run_faults_links(run);
    run_emit_phase(run, HISTORY_HEALED, CAUSE_NONE);
}

/* Now the lock must be free for whoever asks, on every resource. */
static void run_audit(struct run *run)
{
    if (run->over) {
        return;
    }
    int64_t healed_ns = loop_now_ns();
    run_client_begin(run, run->client_count);
    run_until(run, run_audit_done, healed_ns + plan_linger_ns(run->plan));
    /*
     * What is left of keys, and of releases that are still asked for, shows its end: the history
     * then tells leaked keys from late ones. A healthy lock leaves nothing to wait for.
     */
    run_until(run, run_no_keys,
              loop_now_ns() + run->plan->scenario.lock.ttl_ns + RUN_LATE_MS * NS_PER_MS);
}

static void run_close_handle(uv_handle_t *handle, void *data)
{
    (void)data;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* Close everything that is open on the loop; only then may the memory of its handles go. */
static void run_close_loop(struct run *run)
{
    struct loop_alarm *alarms[] = {&run->schedule_alarm, &run->keys_alarm,  &run->nodes_alarm,
                                   &run->links_alarm,    &run->phase_alarm, &run->late.alarm,
                                   &run->agents_alarm};
    if (!run->looping) {
        return;
    }
    for (size_t i = 0; i < sizeof alarms / sizeof alarms[0]; i++) {
        loop_alarm_close(alarms[i]);
    }
    uv_walk(&run->loop, run_close_handle, NULL);
    while (uv_run(&run->loop, UV_RUN_DEFAULT) != 0) {
    }
    int closed = uv_loop_close(&run->loop);
    ASSERT(closed == 0);
}

static void run_end(struct run *run)
{
    run_trace_end(run);
    run_clients_end(run);
    run_cluster_finish(run);
    run_sentinels_end(run);
    run_nodes_end(run);
    run_replicas_end(run);
    run_cluster_close(run);
    if (run->proxy != NULL) {
        proxy_stop(run->proxy);
    }
    if (run->between != NULL) {
        proxy_stop(run->between);
    }
    run_close_loop(run);
    proxy_free(run->proxy);
    proxy_free(run->between);
    adapter_free(run->adapter);
    keys_free(run->keys);
    guard_end(&run->guard);
    if (run->nowhere_fd >= 0) {
        (void)close(run->nowhere_fd);
    }
    client_controls_unmap(run->controls, run->client_count + 1);
    arena_release(&run->arena);
}

static struct result run_real(const struct plan *plan, const struct world_options *options,
                              struct history_header *header, struct recorder *recorder,
                              struct text *why)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    run.plan = plan;
    run.options = options;
    run.header = header;
    run.recorder = recorder;
    run.why = why;
    run.nowhere_fd = -1;
    run.node_count = plan->scenario.node_count;
    run.client_count = plan->scenario.client_count;
    run.arena = arena_empty(RUN_ARENA_BYTES_MAX);
    struct text library = text_over(header->library, sizeof header->library);
    text_add(&library, "lockcore %s", PICKLOCK_VERSION);
    if (!lock_algorithm_at(plan->scenario.lock.algorithm)->dialect->own_values) {
        /* What a session was given real services tell late, or in whole seconds. */
        plan_header_unsay(header);
    }
    struct result prepared = run_prepare(&run, why);
    if (result_failed(prepared)) {
        run_end(&run);
        return prepared;
    }
    if (!run.over) {
        run.start_ns = loop_now_ns();
        run_go(&run);
    }
    enum history_cause cause = run_all_done(&run) ? CAUSE_ALL_DONE : CAUSE_DEADLINE;
    run_heal(&run);
    run_audit(&run);
    cause = run.stopped ? CAUSE_STOPPED : cause;
    run_emit_phase(&run, HISTORY_RUN_END, run.spinner != NULL ? CAUSE_LIVELOCK : cause);
    struct text unwatched = text_over(header->unwatched, sizeof header->unwatched);
    text_add(&unwatched, "%s", keys_unwatched(run.keys));
    header->tapped = keys_tapped(run.keys);
    run_end(&run);
    return run.outcome;
}

const struct world world_real = {.name = "real", .run = run_real};
