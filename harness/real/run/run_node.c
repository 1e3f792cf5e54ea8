/* run_node.c: what faults do to nodes, and how nodes come back. */
#include "harness/real/process/process.h"
#include "harness/real/run/run.h"

#include "base/assert.h"
#include "servers/kinds.h"

#include <time.h>

enum { RUN_NODE_POLL_US = 1000 };

static void run_node_fail(struct run *run, struct result result, const struct text *text)
{
    if (result_failed(result)) {
        run_fail(run, result, text->data);
    }
}

/* ---- start ---------------------------------------------------------------------------------- */

void run_node_needs(const struct run *run, int32_t index, struct node_options *options)
{
    for (size_t k = 0; k < run->plan->scenario.fault_count; k++) {
        const struct fault *fault = run_fault_at(run, (uint32_t)k);
        if ((fault->node_mask >> index & 1) == 0) {
            continue;
        }
        if (fault_is((enum fault_kind)fault->kind, FAULT_OF_CLOCK)) {
            options->fake_clock = true;
        }
        options->followed = options->followed || fault->kind == FAULT_FAILOVER;
        const struct server_launch *launch = server_kind_at(options->kind)->launch;
        if (fault->kind == FAULT_POWER_LOSS &&
            (options->fsync != FSYNC_NONE || launch->log_folder != NULL)) {
            options->track_fsync = true;
        }
    }
}

struct result run_nodes_start(struct run *run, struct text *why)
{
    for (int32_t i = 0; i < run->node_count; i++) {
        struct run_node *target = &run->nodes[i];
        struct node_options options = {
            .kind = run->plan->scenario.node_kind,
            .index = i,
            .node_count = run->node_count,
            .fsync = run->plan->scenario.fsync,
            .pooler = run->plan->scenario.pooler,
            .consensus = run->plan->scenario.consensus,
            .ttl_ns = run->plan->scenario.lock.ttl_ns,
            .sentinels = run->plan->scenario.sentinels,
            .run_directory = run->guard.run_directory,
            .data_directory = run->guard.state_directory,
            .server =
                run->plan->scenario.node_kind == SERVER_KIND_redis ? run->options->server : NULL,
            .password = run->password,
        };
        run_node_needs(run, i, &options);
        target->rate_ppm = CLOCK_PAGE_PPM;
        target->clock_fault = HISTORY_NO_FAULT;
        target->down_fault = HISTORY_NO_FAULT;
        target->refuse_fault = HISTORY_NO_FAULT;
        struct site_place place;
        TRY(site_init(&target->site, &options, run_cluster_place(run, i, &place), why));
        run->follows[i] = run_follows(run) ? 0 : i;
        if (!run_talks(run)) {
            TRY(site_start(&target->site, why));
        }
    }
    return run_sentinels_init(run, why);
}

int64_t run_start_seconds(const struct run *run)
{
    uint32_t seconds = run->nodes[0].site.launch->start_seconds;
    return seconds != 0 ? seconds : RUN_START_SECONDS;
}

struct result run_nodes_wait(struct run *run, struct text *why)
{
    int64_t deadline_ns = loop_now_ns() + run_start_seconds(run) * NS_PER_S;
    for (int32_t i = 0; i < run->node_count;) {
        bool ready = false;
        TRY(site_ready(&run->nodes[i].site, &ready, why));
        if (ready) {
            i++;
        } else if (loop_now_ns() > deadline_ns) {
            text_add(why, "the %s of node %d is not up after %d s",
                     run->nodes[i].site.launch->program, i + 1, (int)run_start_seconds(run));
            process_quote_log(run->nodes[i].site.log_path, why);
            return result_error(ERROR_ENVIRONMENT);
        } else {
            run_peers_turn(run);
            (void)nanosleep(&(struct timespec){.tv_nsec = RUN_NODE_POLL_US * NS_PER_US / 2}, NULL);
        }
    }
    return RESULT_OK;
}

bool run_nodes_up(const struct run *run)
{
    for (int32_t i = 0; i < run->node_count; i++) {
        if (run->nodes[i].site.state != NODE_UP) {
            return false;
        }
    }
    return true;
}

void run_nodes_end(struct run *run)
{
    for (int32_t i = 0; i < run->node_count; i++) {
        site_release(&run->nodes[i].site);
    }
}

/* ---- down and up again ---------------------------------------------------------------------- */

static struct keys_return run_node_return(const struct run *run, int32_t node)
{
    const struct run_node *target = &run->nodes[node];
    return (struct keys_return){
        .node = node,
        .address = target->site.address,
        .fault = target->down_fault,
        .cause = target->down_cause,
        .lost_ns = target->down_ns,
        .since_ns = target->down_since_ns,
    };
}

/* What the fault did is known now: how many keys were there when it struck and are not any more. */
static void run_node_show_loss(struct run *run, const struct keys_return *back)
{
    if (back->fault == HISTORY_NO_FAULT) {
        return; /* sentinels did it */
    }
    struct run_sight sight = {
        .f = HISTORY_FAULT_EFFECT,
        .client = HISTORY_NOBODY,
        .node = back->node,
        .observed = back->lost,
        .at_ns = back->lost_ns,
        .since_ns = back->since_ns,
    };
    run_fault_record(run, (uint32_t)back->fault, &sight);
}

/* Without an append-only file a redis-server that goes takes its keys with it. */
static bool run_node_forgets(const struct run *run)
{
    return run->plan->scenario.fsync == FSYNC_NONE && !run->nodes[0].site.launch->durable;
}

/* Its process is gone: what it still said is taken in, and what it takes with it is lost. */
static void run_node_leave(struct run *run, int32_t node)
{
    struct keys_return gone = run_node_return(run, node);
    bool forgets = run_node_forgets(run) && gone.cause != CAUSE_FAILOVER && !run_follows(run);
    keys_gone(run->keys, &gone, forgets);
    run_sentinels_gone(run, node);
    /* A store with replicas has lost nothing before one of them takes over, or it is back. */
    if (forgets || (run_follows(run) && gone.cause != CAUSE_FAILOVER)) {
        run_node_show_loss(run, &gone);
    }
    /* Until it is back its port is nobody's business: connections are refused. */
    proxy_node_set(run->proxy, node, run->nowhere);
}

/* It answers again: what it kept is told to the view of keys before a client can reach it. */
static void run_node_back(struct run *run, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct keys_return back = run_node_return(run, node);
    bool failover = target->down_cause == CAUSE_FAILOVER;
    run_follow_back(run, node);
    if (run_follows(run) && failover && run_is_told(run, node)) {
        keys_handed_on(run->keys, run->before_told, node);
    }
    bool aside = run_follow_is_aside(run, node);
    if (run_is_told(run, node) || aside) {
        struct result watched = keys_watch_again(run->keys, &back, &text);
        if (result_failed(watched)) {
            run_fail(run, watched, text.data);
            return;
        }
    }
    if (aside) {
        keys_deposed(run->keys, &back);
    }
    if (run_follows(run) && failover && run_is_told(run, node)) {
        run_follow_promoted(run, &back);
    }
    if ((!run_node_forgets(run) && !run_follows(run)) || failover) {
        run_node_show_loss(run, &back);
    }
    proxy_node_set(run->proxy, node, target->site.address);
    if (target->start_ns != 0) {
        run_late_node(run, node, target->start_ns);
        target->start_ns = 0;
    }
    if (target->clock_fault != HISTORY_NO_FAULT) {
        run_clock_show(run, node);
    }
    if (target->refuse_fault != HISTORY_NO_FAULT) {
        run_order_refuse(run, (uint32_t)target->refuse_fault, node);
    }
}

/* It is there, and does not tell any more: what it did meanwhile nobody knows. */
static void run_node_unheard(struct run *run, int32_t node)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct keys_return back = {
        .node = node,
        .address = run->nodes[node].site.address,
        .fault = HISTORY_NO_FAULT,
        .cause = CAUSE_NONE,
        .lost_ns = keys_heard_ns(run->keys, node),
    };
    run_node_fail(run, keys_watch_again(run->keys, &back, &text), &text);
    proxy_node_set(run->proxy, node, back.address);
}

void run_nodes_look(struct run *run)
{
    bool starting = run_is_watched(run); /* then what they do is looked for as often */
    run_sentinels_look(run);
    for (int32_t i = 0; i < run->node_count && !run->over; i++) {
        struct run_node *target = &run->nodes[i];
        char memory[WHY_BYTES];
        struct text text = text_over(memory, sizeof memory);
        if (target->site.state != NODE_STARTING) {
            if (site_died(&target->site, &text)) {
                run_fail(run, result_error(ERROR_ENVIRONMENT), text.data);
            } else if (target->site.state == NODE_UP && keys_went_silent(run->keys, i)) {
                run_node_unheard(run, i);
            }
            continue;
        }
        bool ready = false;
        run_node_fail(run, site_ready(&target->site, &ready, &text), &text);
        if (ready) {
            run_node_back(run, i);
        }
        starting = starting || !ready;
    }
    run_follow_look(run);
    /* Seldom for those that die by themselves, often for those that come back. */
    loop_alarm_set(&run->nodes_alarm,
                   loop_now_ns() + (starting ? RUN_NODE_POLL_US * NS_PER_US : NS_PER_S / 4));
}

/* The order is confirmed: it went between then and now, where it is not a child of ours. */
static void run_node_is_down(struct run *run, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    run_order_done(run, node);
    target->down_since_ns = 0;
    if (target->order_ns != 0) {
        target->down_since_ns = target->down_ns;
        target->down_ns = loop_now_ns();
    }
}

void run_node_down(struct run *run, uint32_t k, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    enum fault_kind kind = (enum fault_kind)run_fault_at(run, k)->kind;
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct node_power_loss loss = {0, 0, 0};
    bool was_down = target->site.state == NODE_DOWN;
    target->downs++;
    target->down_fault = (int32_t)k;
    if (was_down) {
        return; /* it showed no effect: that is what the history says */
    }
    target->down_ns = loop_now_ns();
    target->down_cause = CAUSE_RESTART;
    run_order_sent(run, node);
    if (kind == FAULT_POWER_LOSS) {
        struct random_stream random =
            random_stream_at("power loss", k * LOCK_NODES_MAX + (uint64_t)node, run->plan->seed);
        run_node_fail(run, site_power_loss(&target->site, &random, &loss, &text), &text);
    } else if (kind == FAULT_SHUTDOWN && target->site.state == NODE_UP) {
        run_node_fail(run, site_shutdown(&target->site, &text), &text);
    } else {
        run_node_fail(run, site_crash(&target->site, &text), &text);
    }
    run_node_is_down(run, node);
    target->freezes = 0;
    run_node_leave(run, node);
}

void run_node_restart(struct run *run, uint32_t k, int32_t node)
{
    (void)k;
    struct run_node *target = &run->nodes[node];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    ASSERT(target->downs > 0);
    if (--target->downs > 0 || target->site.state != NODE_DOWN) {
        return;
    }
    run_order_sent(run, node);
    run_node_fail(run, site_start(&target->site, &text), &text);
    target->start_ns = loop_now_ns();
    run_order_done(run, node);
    loop_alarm_set(&run->nodes_alarm, loop_now_ns() + RUN_NODE_POLL_US * NS_PER_US);
}

/* The node dies, its replica takes over; what that has is asked once all replies are in. */
void run_node_fail_over(struct run *run, uint32_t k, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    int64_t now_ns = loop_now_ns();
    run_order_sent(run, node);
    if (run_follows(run) ? !run_follow_promote(run, node) : !run_replica_promote(run, node)) {
        return; /* it was promoted before: no effect, as the history says */
    }
    target->down_fault = (int32_t)k;
    target->down_ns = now_ns;
    target->down_cause = CAUSE_FAILOVER;
    run_node_is_down(run, node);
    target->freezes = 0;
    target->site.state = NODE_STARTING; /* for run_nodes_look */
    run_node_leave(run, node);
    loop_alarm_set(&run->nodes_alarm, now_ns + RUN_NODE_POLL_US * NS_PER_US);
}

/* Sentinels told it to serve: the same, but that its clients are gone already. */
void run_node_promoted(struct run *run, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    run_follow_promoted_itself(run, node);
    target->down_fault = HISTORY_NO_FAULT;
    target->down_ns = loop_now_ns();
    target->down_since_ns = 0;
    target->down_cause = CAUSE_FAILOVER;
    target->site.state = NODE_STARTING; /* for run_nodes_look */
    run_node_leave(run, node);
    loop_alarm_set(&run->nodes_alarm, loop_now_ns());
}

/* ---- frozen --------------------------------------------------------------------------------- */

void run_node_freeze(struct run *run, uint32_t k, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    target->freezes++;
    if (target->site.state == NODE_UP) {
        target->frozen_ns = loop_now_ns();
        run_order_sent(run, node);
        run_node_fail(run, site_freeze(&target->site, &text), &text);
        run_order_done(run, node);
    }
    /* The reply that pulled the trigger was not out yet. */
    if (run->message != NULL && run->message->reply != NULL && run->message->node == node &&
        run->held_count < RUN_HELD_MAX) {
        run->held[run->held_count++] = (struct run_held){run->message->client, node};
        run->answer = (struct proxy_answer){PROXY_HOLD, (uint8_t)k, 0};
    }
}

void run_node_thaw(struct run *run, uint32_t k, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    if (target->freezes == 0 || --target->freezes > 0) {
        return;
    }
    if (target->site.state == NODE_FROZEN) {
        keys_resumed(run->keys);
        run_order_sent(run, node);
        run_fault_show(run, k, node, loop_now_ns() - target->frozen_ns);
        run_node_fail(run, site_thaw(&target->site, &text), &text);
        run_order_done(run, node);
    }
    for (uint32_t i = 0; i < run->held_count;) {
        struct run_held held = run->held[i];
        if (held.node != node) {
            i++;
            continue;
        }
        run->held[i] = run->held[--run->held_count];
        proxy_let_go(run->proxy, held.client, node, DIRECTION_REPLY);
    }
    if (target->clock_fault != HISTORY_NO_FAULT && target->site.state == NODE_UP) {
        run_clock_show(run, node);
    }
}
