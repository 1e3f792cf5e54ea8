/* run_fault.c: carries out what the schedule says, and what faults do to links. */
#include "harness/real/run/run.h"

#include "base/assert.h"

#include <string.h>

enum { RUN_LINKS_LOOK_MS = 5 };

const struct fault *run_fault_at(const struct run *run, uint32_t k)
{
    ASSERT(k < run->plan->scenario.fault_count);
    return &run->plan->scenario.faults[k];
}

void run_fault_record(struct run *run, uint32_t k, const struct run_sight *sight)
{
    const struct fault *fault = run_fault_at(run, k);
    struct history_event event = {
        .time_ns = sight->at_ns != 0 ? sight->at_ns - run->start_ns : run_true_ns(run),
        .kind = HISTORY_FAULT,
        .f = (uint8_t)sight->f,
        .fault_kind = fault->kind,
        .process = sight->client,
        .node = sight->node,
        .fault = (int32_t)k,
        .number = {fault_asked(fault), sight->observed},
    };
    if (sight->f == HISTORY_FAULT_START) {
        fault_name_targets(fault, &event);
    }
    if (sight->f == HISTORY_FAULT_EFFECT) {
        run->faults[k].shown = true;
    }
    int64_t since_ns = sight->since_ns;
    if (since_ns == 0 && sight->node != HISTORY_NO_NODE && sight->f == HISTORY_FAULT_EFFECT) {
        since_ns = run->nodes[sight->node].order_ns;
    }
    if (since_ns != 0 && since_ns - run->start_ns < event.time_ns) {
        event.since_ns = since_ns > run->start_ns ? since_ns - run->start_ns : 0;
        event.flags |= HISTORY_HAS_SINCE;
    }
    run_emit(run, &event);
}

void run_fault_show(struct run *run, uint32_t k, int32_t node, int64_t observed)
{
    run_fault_record(run, k,
                     &(struct run_sight){.f = HISTORY_FAULT_EFFECT,
                                         .client = HISTORY_NOBODY,
                                         .node = node,
                                         .observed = observed});
}

void run_fault_show_client(struct run *run, uint32_t k, int32_t client, int64_t observed)
{
    run_fault_record(run, k,
                     &(struct run_sight){.f = HISTORY_FAULT_EFFECT,
                                         .client = client,
                                         .node = HISTORY_NO_NODE,
                                         .observed = observed});
}

/* One client, one node, or nobody in particular. */
static struct run_sight run_fault_sight(const struct fault *fault, enum history_f f)
{
    return (struct run_sight){
        .f = f, .client = fault_one_client(fault), .node = fault_one_node(fault)};
}

/* ---- links ---------------------------------------------------------------------------------- */

/* The proxies of the links that a fault strikes. */
static struct proxy *run_links_of(const struct run *run, const struct fault *fault)
{
    return fault->peer_mask != 0 ? run->between : run->proxy;
}

static void run_link_begin(struct run *run, uint32_t k)
{
    const struct fault *fault = run_fault_at(run, k);
    static uint8_t links[(SCENARIO_CLIENTS_MAX + 1) * LOCK_NODES_MAX];
    struct proxy_fault order = {
        .kind = fault->kind,
        .mode = fault->mode,
        .direction = fault->direction,
        .role = fault->role,
        .amount_ns = fault->amount_ns,
        .jitter_ns = fault->jitter_ns,
    };
    memset(links, FAULT_WAY_NONE, sizeof links);
    if (fault->peer_mask != 0) {
        run_peers_touched(run, fault, links);
        proxy_fault_begin(run->between, k, &order, links);
        return;
    }
    for (int32_t client = 0; client < run->client_count; client++) {
        for (int32_t node = 0; node < run->node_count; node++) {
            bool touched = fault->kind == FAULT_STALL
                               ? (fault->node_mask >> node & 1) != 0
                               : fault_touches_link(fault, run->node_count, client, node);
            links[client * run->node_count + node] = touched ? FAULT_WAY_REQUEST : FAULT_WAY_NONE;
        }
    }
    proxy_fault_begin(run->proxy, k, &order, links);
}

/* Record what a fault of links did, once it did something. */
static bool run_link_show(struct run *run, uint32_t k)
{
    const struct fault *fault = run_fault_at(run, k);
    struct proxy_effect effect;
    proxy_fault_effect(run_links_of(run, fault), k, &effect);
    uint64_t count =
        proxy_effect_count((enum fault_kind)fault->kind, (enum partition_mode)fault->mode, &effect);
    if (count == 0) {
        return false;
    }
    struct run_sight sight = run_fault_sight(fault, HISTORY_FAULT_EFFECT);
    sight.observed = (int64_t)count;
    run_fault_record(run, k, &sight);
    return true;
}

void run_faults_links(struct run *run)
{
    bool pending = false;
    for (uint32_t k = 0; k < run->plan->scenario.fault_count; k++) {
        if (run->faults[k].links_pending) {
            run->faults[k].links_pending = !run_link_show(run, k);
            pending = pending || run->faults[k].links_pending;
        }
    }
    loop_alarm_set(&run->links_alarm,
                   pending ? loop_now_ns() + RUN_LINKS_LOOK_MS * NS_PER_MS : TIME_NEVER);
}

/*
 * A fault that one command pulled and that lasts no time strikes that very command, through the
 * answer to the proxy, and no other.
 */
static bool run_link_strikes_message(struct run *run, uint32_t k)
{
    const struct fault *fault = run_fault_at(run, k);
    bool once = fault->for_ns == 0 && fault->until.kind == TRIGGER_NEVER;
    return run->message != NULL && once && fault_is((enum fault_kind)fault->kind, FAULT_OF_COMMAND);
}

static void run_link_strike(struct run *run, uint32_t k)
{
    const struct fault *fault = run_fault_at(run, k);
    bool lose = fault->kind == FAULT_LOSE_REPLY;
    int64_t delay_ns = fault->amount_ns;
    if (fault->jitter_ns > 0) {
        struct random_stream random = random_stream_at("delay command", k, run->plan->seed);
        delay_ns += (int64_t)random_below(&random, (uint64_t)fault->jitter_ns + 1);
    }
    run->answer =
        (struct proxy_answer){lose ? PROXY_LOSE : PROXY_DELAY, (uint8_t)k, lose ? 0 : delay_ns};
    run->faults[k].links_pending = true;
    loop_alarm_set(&run->links_alarm, loop_now_ns() + NS_PER_MS);
}

/* ---- actions -------------------------------------------------------------------------------- */

/* The node crashes, or its power goes, after it applied the command and before the reply is out. */
static bool run_fault_loses_reply(const struct run *run, const struct fault *fault)
{
    return run->message != NULL && run->message->reply != NULL &&
           (fault->node_mask >> run->message->node & 1) != 0 &&
           fault_is((enum fault_kind)fault->kind, FAULT_OF_PROCESS);
}

static void run_fault_begin(struct run *run, uint32_t k)
{
    const struct fault *fault = run_fault_at(run, k);
    struct run_sight sight = run_fault_sight(fault, HISTORY_FAULT_START);
    run->faults[k].begun_ns = loop_now_ns();
    run->faults[k].active = true;
    sight.at_ns = run->faults[k].begun_ns;
    run_fault_record(run, k, &sight);
    if (run_strike_is_link(fault)) {
        if (run_link_strikes_message(run, k)) {
            run_link_strike(run, k);
        } else {
            run_link_begin(run, k);
        }
        return;
    }
    for (int32_t i = fault->client_first; i >= 0 && i <= fault->client_last && !run->over; i++) {
        run_strike_client(run, k, i);
    }
    for (int32_t i = 0; i < run->node_count && !run->over; i++) {
        if ((fault->node_mask >> i & 1) != 0) {
            run_strike_node(run, k, i);
        }
    }
    if (run_fault_loses_reply(run, fault)) {
        run->answer = (struct proxy_answer){PROXY_LOSE, (uint8_t)k, 0};
    }
}

static void run_fault_end(struct run *run, uint32_t k)
{
    const struct fault *fault = run_fault_at(run, k);
    int64_t ended_ns = loop_now_ns(); /* before what it held goes on */
    run->faults[k].active = false;
    bool struck_message = run_strike_is_link(fault) && run->faults[k].links_pending;
    if (struck_message) {
        /* It lasted no time, however long the machine kept us from writing down its end. */
        ended_ns = run->faults[k].begun_ns;
    } else if (run_strike_is_link(fault)) {
        proxy_fault_end(run_links_of(run, fault), k);
        run->faults[k].links_pending = !run_link_show(run, k);
    }
    for (int32_t i = fault->client_first;
         !run_strike_is_link(fault) && i >= 0 && i <= fault->client_last; i++) {
        run_spare_client(run, k, i);
    }
    for (int32_t i = 0; i < run->node_count && !run_strike_is_link(fault); i++) {
        if ((fault->node_mask >> i & 1) != 0) {
            run_spare_node(run, k, i);
        }
    }
    struct run_sight sight = run_fault_sight(fault, HISTORY_FAULT_END);
    sight.observed = ended_ns - run->faults[k].begun_ns;
    sight.at_ns = ended_ns;
    run_fault_record(run, k, &sight);
}

void run_faults_watch(struct run *run)
{
    int64_t next_ns = run->schedule.next_ns;
    atomic_store(&run->controls->probes_watched, run->schedule.probes_watched);
    loop_alarm_set(&run->schedule_alarm,
                   next_ns == TIME_NEVER ? TIME_NEVER : run->start_ns + next_ns);
}

/*
 * One after the other, also where carrying one out makes something happen that pulls the next
 * trigger (a client that is killed had said that it stands at a probe point): no fault ends before
 * it began. What an end lets go moves in a later turn of the loop, for the same reason.
 */
void run_faults_act(struct run *run, const struct schedule_actions *actions)
{
    for (uint32_t i = 0; i < actions->count; i++) {
        ASSERT(run->waiting_count < sizeof run->waiting / sizeof run->waiting[0]);
        run->waiting[run->waiting_count++] = actions->list[i];
    }
    if (run->acting) {
        return;
    }
    if (actions->count == 0 && actions->changed) {
        run_faults_watch(run); /* one was put off */
    }
    if (actions->count == 0) {
        return;
    }
    run->acting = true;
    for (uint32_t i = 0; i < run->waiting_count && !run->over; i++) {
        if (run->waiting[i].type == SCHEDULE_BEGIN) {
            run_fault_begin(run, run->waiting[i].fault);
        } else {
            run_fault_end(run, run->waiting[i].fault);
        }
    }
    run->acting = false;
    run->waiting_count = 0;
    run_faults_watch(run);
}

void run_faults_time(struct run *run)
{
    struct schedule_actions actions;
    schedule_time(&run->schedule, run->plan, run_true_ns(run), &actions);
    run_faults_act(run, &actions);
    run_faults_watch(run);
}

void run_faults_heal(struct run *run)
{
    struct schedule_actions actions;
    schedule_heal(&run->schedule, run->plan, run_true_ns(run), &actions);
    run_faults_act(run, &actions);
    run_faults_watch(run);
}

void run_probe(struct run *run, int32_t client, enum probe_point point)
{
    struct schedule_actions actions;
    struct schedule_pass pass = {
        .point = (uint8_t)point, .client = client, .true_ns = run_true_ns(run)};
    schedule_probe(&run->schedule, run->plan, &pass, &actions);
    run_faults_act(run, &actions);
}

/* ---- commands ------------------------------------------------------------------------------- */

static struct proxy_answer run_command(struct run *run, const struct proxy_message *message,
                                       enum trigger_kind moment)
{
    struct schedule_actions actions;
    struct schedule_sight sight = {
        .moment = (uint8_t)moment,
        .role = message->command->role,
        .client = message->client,
        .node = message->node,
        .true_ns = run_true_ns(run),
    };
    ASSERT(!run->acting); /* a message that moves now would be struck by what is not done yet */
    run->answer = PROXY_PASSES;
    /* A script that the node does not know was not applied: it will come again as text. */
    bool applied = message->reply == NULL || message->reply->type != REDIS_SAID_NOSCRIPT;
    if (run->going && run->schedule.commands_watched && applied) {
        run->message = message;
        schedule_command(&run->schedule, run->plan, &sight, &actions);
        run_faults_act(run, &actions);
        run->message = NULL;
    }
    return run->answer;
}

struct proxy_answer run_arrival(void *data, const struct proxy_message *message)
{
    struct run *run = data;
    run_sentinels_look(run);
    struct proxy_answer answer = run_command(run, message, TRIGGER_ARRIVAL);
    if (answer.action == PROXY_PASS && run->adapter != NULL) {
        answer = adapter_arrival(run->adapter, message);
    }
    return answer;
}

struct proxy_answer run_reply(void *data, const struct proxy_message *message)
{
    struct run *run = data;
    struct proxy_answer answer = run_command(run, message, TRIGGER_COMMAND);
    if (answer.action == PROXY_PASS && run->adapter != NULL) {
        answer = adapter_reply(run->adapter, message);
    }
    return answer;
}
