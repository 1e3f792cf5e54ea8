/* run_follow.c: redis-servers that follow one of them (nodes.replicas), and who is told to. */
#include "harness/real/process/process.h"
#include "harness/real/run/run.h"

#include "base/assert.h"

#include <stdio.h>
#include <time.h>

/*
 *     node 2 --REPLICAOF--> [ proxy 2-1 ] --> node 1, which is `told`: its keys are the store's
 *
 * A failover says REPLICAOF NO ONE to one of them. The others are told to follow it as soon as
 * nothing stands between the two; until then they go on as they are.
 */

bool run_follows(const struct run *run)
{
    return run->plan->scenario.lock.replica_count > 0;
}

bool run_is_told(const struct run *run, int32_t node)
{
    return !run_follows(run) || run->told == node;
}

static bool follow_order(struct run *run, int32_t node, const char *const *words)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct admin_reply reply;
    struct result result = site_order(&run->nodes[node].site, words, &reply, &text);
    if (result_failed(result)) {
        run_fail(run, result, text.data);
        return false;
    }
    return true;
}

void run_follow_tell(struct run *run, int32_t node, int32_t master)
{
    char ip_memory[16];
    char port[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    const uint16_t *found = run->nodes[node].site.node.server.peers;
    ASSERT(node != master);
    address_print_ip(address_local(0), &ip);
    (void)snprintf(port, sizeof port, "%u", found[master]);
    if (follow_order(run, node, (const char *[]){"REPLICAOF", ip.data, port, NULL})) {
        run->follows[node] = master;
    }
}

/* What is written to `told` arrives at this one: tried with a key that no lock uses. */
static bool follow_in_step(struct run *run, int32_t node)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    struct admin_reply reply;
    struct result asked = site_order(
        &run->nodes[node].site, (const char *[]){"EXISTS", "picklock:probe", NULL}, &reply, &text);
    return follow_order(run, run->told,
                        (const char *[]){"SET", "picklock:probe", "1", "PX", "1000", NULL}) &&
           !result_failed(asked) && reply.items[0].integer == 1;
}

struct result run_follow_start(struct run *run, struct text *why)
{
    int64_t deadline_ns = loop_now_ns() + RUN_START_SECONDS * NS_PER_S;
    for (int32_t i = 1; run_follows(run) && i < run->node_count; i++) {
        run_follow_tell(run, i, run->told);
    }
    for (int32_t i = 1; run_follows(run) && i < run->node_count && !run->over;) {
        if (follow_in_step(run, i)) {
            i++;
            continue;
        }
        if (loop_now_ns() > deadline_ns) {
            text_add(why, "node %d is not in step with node 1 after %d s", i + 1,
                     RUN_START_SECONDS);
            process_quote_log(run->nodes[i].site.log_path, why);
            return result_error(ERROR_ENVIRONMENT);
        }
        loop_alarm_set(&run->phase_alarm, loop_now_ns() + 2 * NS_PER_MS);
        run_turn(run);
    }
    return RESULT_OK;
}

/* ---- who follows whom ------------------------------------------------------------------------ */

static bool follow_cut(const struct run *run, int32_t a, int32_t b)
{
    for (uint32_t k = 0; k < run->plan->scenario.fault_count; k++) {
        const struct fault *fault = run_fault_at(run, k);
        bool cuts = run->faults[k].active && fault->kind == FAULT_PARTITION &&
                    fault->mode != MODE_RESET && fault->peer_mask != 0;
        if (cuts && (fault_way_between(fault, a, b) != FAULT_WAY_NONE ||
                     fault_way_between(fault, b, a) != FAULT_WAY_NONE)) {
            return true;
        }
    }
    return false;
}

static bool follow_can(const struct run *run, int32_t node)
{
    return run->nodes[node].site.state == NODE_UP && run->nodes[node].freezes == 0;
}

void run_follow_look(struct run *run)
{
    bool by_hand = run_follows(run) && !run_is_watched(run);
    for (int32_t i = 0; by_hand && i < run->node_count && !run->over; i++) {
        if (i != run->told && run->follows[i] != run->told && follow_can(run, i) &&
            follow_can(run, run->told) && !follow_cut(run, i, run->told)) {
            struct keys_return gone = {.node = i, .fault = HISTORY_NO_FAULT};
            keys_gone(run->keys, &gone, false);
            run_follow_tell(run, i, run->told);
        }
    }
}

void run_follow_back(struct run *run, int32_t node)
{
    if (run_is_watched(run)) {
        run_sentinels_back(run, node);
    } else if (run_follows(run) && node != run->told) {
        run_follow_tell(run, node, run->told);
    }
}

bool run_follow_is_aside(const struct run *run, int32_t node)
{
    return run_is_watched(run) && node != run->told && run->follows[node] == node;
}

/* ---- failover ------------------------------------------------------------------------------- */

void run_follow_promoted_itself(struct run *run, int32_t node)
{
    ASSERT(node != run->told);
    run->follows[node] = node;
    run->before_told = run->told;
    run->told = node;
}

bool run_follow_promote(struct run *run, int32_t node)
{
    if (node == run->told || !follow_can(run, node)) {
        return false;
    }
    run_follow_promoted_itself(run, node);
    /* As Sentinel does it: whoever is connected finds out that all is different now. */
    static const char *const kill[] = {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes", NULL};
    return follow_order(run, node, (const char *[]){"REPLICAOF", "NO", "ONE", NULL}) &&
           follow_order(run, node, kill);
}

/* Keys of the one before that the promoted one does not have. */
static uint32_t follow_lost(const struct run *run)
{
    uint32_t lost = 0;
    for (int32_t i = 0; i < run->plan->scenario.resource_count; i++) {
        struct keys_view before;
        struct keys_view after;
        keys_look(run->keys, run->before_told, (uint32_t)i, loop_now_ns(), &before);
        keys_look(run->keys, run->told, (uint32_t)i, loop_now_ns(), &after);
        lost +=
            before.present && !(after.present && history_value_equal(&before.value, &after.value));
    }
    return lost;
}

void run_follow_promoted(struct run *run, struct keys_return *back)
{
    struct keys_return gone = *back;
    uint32_t lost = follow_lost(run);
    gone.node = run->before_told;
    gone.lost_ns = loop_now_ns();
    gone.since_ns = 0;
    keys_deposed(run->keys, &gone);
    back->lost = lost;
}
