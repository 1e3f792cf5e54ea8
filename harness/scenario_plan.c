/* scenario_plan.c: a scenario and a seed to a plan in which nothing is left to chance. */
#include "harness/scenario_random.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/random.h"
#include "lockcore/algorithms.h"

#include <string.h>

#define SCALE_ONE ((int64_t)1000000)

/* Multiply, rounding to the nearest nanosecond; stops at the longest duration there is. */
static int64_t scale(int64_t ns, int64_t scale_ppm)
{
    if (ns == TIME_NEVER || scale_ppm == SCALE_ONE) {
        return ns;
    }
    __extension__ __int128 scaled = (__int128)ns * scale_ppm;
    scaled = (scaled + (scaled < 0 ? -SCALE_ONE / 2 : SCALE_ONE / 2)) / SCALE_ONE;
    if (scaled > DURATION_NS_MAX) {
        return DURATION_NS_MAX;
    }
    return scaled < -DURATION_NS_MAX ? -DURATION_NS_MAX : (int64_t)scaled;
}

static int64_t scale_at_least(int64_t ns, int64_t scale_ppm, int64_t min_ns)
{
    int64_t scaled = scale(ns, scale_ppm);
    return scaled < min_ns ? min_ns : scaled;
}

static void plan_scale(struct scenario *scenario, int64_t scale_ppm)
{
    struct lock_config *lock = &scenario->lock;
    lock->node_timeout_ns = scale_at_least(lock->node_timeout_ns, scale_ppm, 1);
    lock->ttl_ns = scale_at_least(lock->ttl_ns, scale_ppm, NS_PER_MS);
    lock->wait_ns = scale_at_least(lock->wait_ns, scale_ppm, 1);
    lock->retry_delay_ns = scale(lock->retry_delay_ns, scale_ppm);
    lock->retry_jitter_ns = scale(lock->retry_jitter_ns, scale_ppm);
    scenario->hold_ns = scale(scenario->hold_ns, scale_ppm);
    scenario->think_ns = scale(scenario->think_ns, scale_ppm);
    scenario->think_jitter_ns = scale(scenario->think_jitter_ns, scale_ppm);
    if (scenario->deadline_ns > 0) {
        scenario->deadline_ns = scale_at_least(scenario->deadline_ns, scale_ppm, 1);
    }
    if (scenario->cancel_after_ns > 0) {
        scenario->cancel_after_ns = scale_at_least(scenario->cancel_after_ns, scale_ppm, 1);
    }
    if (scenario->extend_every_ns > 0) {
        scenario->extend_every_ns = scale_at_least(scenario->extend_every_ns, scale_ppm, 1);
    }
    scenario->latency_ns = scale(scenario->latency_ns, scale_ppm);
    scenario->latency_jitter_ns = scale(scenario->latency_jitter_ns, scale_ppm);
    scenario->duration_ns = scale_at_least(scenario->duration_ns, scale_ppm, NS_PER_MS);
    scenario->bound_ns = scale(scenario->bound_ns, scale_ppm);
    for (size_t i = 0; i < scenario->fault_count; i++) {
        struct fault *fault = &scenario->faults[i];
        fault->start.at_ns = scale(fault->start.at_ns, scale_ppm);
        fault->after_ns = scale(fault->after_ns, scale_ppm);
        fault->until.at_ns = scale(fault->until.at_ns, scale_ppm);
        /* A fault that lasts must not become one that happens once. */
        fault->for_ns = fault->for_ns == 0 ? 0 : scale_at_least(fault->for_ns, scale_ppm, 1);
        fault->amount_ns = scale(fault->amount_ns, scale_ppm);
        fault->jitter_ns = scale(fault->jitter_ns, scale_ppm);
    }
}

/* Draw `count` different nodes. */
static uint32_t nodes_draw(struct random_stream *stream, int32_t node_count, int32_t count)
{
    uint32_t mask = 0;
    for (int32_t drawn = 0; drawn < count; drawn++) {
        int32_t skip = (int32_t)random_below(stream, (uint64_t)(node_count - drawn));
        int32_t node = 0;
        while ((mask >> node & 1) != 0 || skip > 0) {
            skip -= (mask >> node & 1) == 0 ? 1 : 0;
            node++;
        }
        ASSERT(node < node_count);
        mask |= 1u << node;
    }
    return mask;
}

/* Give a partition that is named by its size its nodes. */
static void shape_resolve(struct fault *fault, const struct scenario *scenario, uint64_t index,
                          uint64_t seed)
{
    int32_t nodes = scenario->node_count;
    int32_t quorum = (int32_t)lock_quorum((uint32_t)nodes);
    struct random_stream stream = random_stream_at("partition shape", index, seed);
    int32_t count = 1;
    switch ((enum partition_shape)fault->shape) {
    case SHAPE_LINKS:
    case SHAPE_RING:
    case SHAPE_BRIDGE:
        return;
    case SHAPE_ONE:
        break;
    case SHAPE_MINORITY:
        ASSERT(nodes > quorum);
        count = 1 + (int32_t)random_below(&stream, (uint64_t)(nodes - quorum));
        break;
    case SHAPE_MAJORITY:
        count = quorum + (int32_t)random_below(&stream, (uint64_t)(nodes - quorum + 1));
        break;
    }
    fault->shape = SHAPE_LINKS;
    fault->client_first = 0;
    fault->client_last = scenario->client_count - 1;
    fault->node_mask = nodes_draw(&stream, nodes, count);
}

/* What strikes a client strikes its program, and so all of the program's clients. */
static void programs_strike(struct fault *fault, int32_t threads)
{
    if (threads > 1 && fault->client_first >= 0) {
        fault->client_first -= fault->client_first % threads;
        fault->client_last += threads - 1 - fault->client_last % threads;
    }
}

void scenario_plan(const struct scenario *scenario, uint64_t seed, int64_t time_scale_ppm,
                   struct plan *plan)
{
    ASSERT(time_scale_ppm > 0);
    plan->scenario = *scenario;
    plan->seed = seed;
    plan->drawn = scenario->random.present;
    plan->stress_ns = 0;
    if (scenario->random.present) {
        random_faults_draw(&plan->scenario, seed);
    }
    for (size_t i = 0; i < plan->scenario.fault_count; i++) {
        shape_resolve(&plan->scenario.faults[i], scenario, i, seed);
        programs_strike(&plan->scenario.faults[i], scenario->thread_count);
    }
    plan_scale(&plan->scenario, time_scale_ppm);
}

bool fault_touches_link(const struct fault *fault, int32_t node_count, int32_t client, int32_t node)
{
    ASSERT(node >= 0);
    ASSERT(node < node_count);
    switch ((enum partition_shape)fault->shape) {
    case SHAPE_LINKS:
        return fault->peer_mask == 0 && fault->client_first <= client &&
               client <= fault->client_last && (fault->node_mask >> node & 1) != 0;
    case SHAPE_RING:
        return history_links_cut(LINKS_RING, node_count, client, node);
    case SHAPE_BRIDGE:
        return history_links_cut(LINKS_BRIDGE, node_count, client, node);
    case SHAPE_ONE:
    case SHAPE_MINORITY:
    case SHAPE_MAJORITY:
        break; /* a plan has none of them */
    }
    UNREACHABLE();
}

enum fault_way fault_way_between(const struct fault *fault, int32_t sender, int32_t receiver)
{
    ASSERT(sender >= 0 && sender != receiver);
    ASSERT((fault->peer_mask & fault->node_mask) == 0 || fault->peer_mask == 0);
    if ((fault->peer_mask >> sender & 1) != 0 && (fault->node_mask >> receiver & 1) != 0) {
        return FAULT_WAY_REQUEST;
    }
    bool back = (fault->node_mask >> sender & 1) != 0 && (fault->peer_mask >> receiver & 1) != 0;
    return back ? FAULT_WAY_REPLY : FAULT_WAY_NONE;
}

int64_t fault_asked(const struct fault *fault)
{
    switch ((enum fault_unit)fault_trait_of((enum fault_kind)fault->kind)->unit) {
    case FAULT_UNIT_NONE:
        return 0;
    case FAULT_UNIT_LENGTH:
        return fault->for_ns;
    case FAULT_UNIT_AMOUNT:
    case FAULT_UNIT_JUMP:
        return fault->amount_ns;
    case FAULT_UNIT_PPM:
        return fault->rate_ppm;
    case FAULT_UNIT_MODE:
        return fault->mode;
    case FAULT_UNIT_ERROR:
        return fault->error;
    }
    UNREACHABLE();
}

int32_t fault_one_client(const struct fault *fault)
{
    bool one = fault->client_first == fault->client_last && fault->client_first >= 0;
    return one ? fault->client_first : HISTORY_NOBODY;
}

int32_t fault_one_node(const struct fault *fault)
{
    bool one = fault->node_mask != 0 && (fault->node_mask & (fault->node_mask - 1)) == 0;
    return one ? __builtin_ctz(fault->node_mask) : HISTORY_NO_NODE;
}

void fault_name_targets(const struct fault *fault, struct history_event *start)
{
    ASSERT(start->kind == HISTORY_FAULT);
    start->process = fault_one_client(fault);
    start->node = fault_one_node(fault);
    if (fault->client_last > fault->client_first) {
        start->clients[0] = fault->client_first;
        start->clients[1] = fault->client_last;
    }
    start->peers = fault->peer_mask;
    if (start->node == HISTORY_NO_NODE) {
        start->nodes = fault->node_mask;
    }
    if (fault->kind == FAULT_PARTITION && fault->shape != SHAPE_LINKS) {
        ASSERT(fault->shape == SHAPE_RING || fault->shape == SHAPE_BRIDGE);
        start->links = fault->shape == SHAPE_RING ? LINKS_RING : LINKS_BRIDGE;
    }
}

/* What an attempt takes that is under way, and to clean up behind it: node after node, at worst. */
static int64_t patience_ns(const struct scenario *scenario)
{
    const struct lock_config *lock = &scenario->lock;
    return 2 * scenario->node_count * lock->node_timeout_ns + lock->retry_delay_ns +
           lock->retry_jitter_ns;
}

int64_t plan_linger_ns(const struct plan *plan)
{
    return 2 * plan->scenario.lock.ttl_ns + plan->scenario.bound_ns;
}

int64_t plan_attempts_ns(const struct plan *plan)
{
    const struct lock_config *lock = &plan->scenario.lock;
    int64_t attempts = (int64_t)lock->retry_count + 1;
    return lock->retry_count > 0 ? attempts * patience_ns(&plan->scenario) : 0;
}

/* What our own locks say of how they go about it: true of each of their objects, so not where one
 * client has several. */
static void header_conduct(const struct scenario *scenario, struct history_header *header)
{
    const struct lock_config *lock = &scenario->lock;
    const int64_t million = 1000000;
    const struct lock_algorithm *algorithm = lock_algorithm_at(lock->algorithm);
    const struct lock_dialect *dialect = algorithm->dialect;
    bool says = dialect->own_values || dialect->renew_percent > 0;
    if (!says || scenario->at_once > 1 || scenario->again > 0 || scenario->thread_count > 1) {
        return;
    }
    header->tries = dialect->watches ? INT32_MAX : (int32_t)lock->retry_count + 1;
    header->one_value = !dialect->own_values;
    header->retry_delay_ns = dialect->watches ? 0 : lock->retry_delay_ns;
    header->extends = (int32_t)lock->extend_count;
    header->allowance_ns = lock->ttl_ns / million * lock->drift_ppm +
                           lock->ttl_ns % million * lock->drift_ppm / million + 2 * NS_PER_MS +
                           lock->ttl_ns / 100 * dialect->spare_percent;
    header->renew_every_ns = lock->ttl_ns / 100 * dialect->renew_percent;
    header->resend_ns = dialect->own_values ? lock->node_timeout_ns : 0; /* as cleanup.h says */
    header->set_decides = !algorithm->asks_more && !dialect->watches;
}

void plan_header_unsay(struct history_header *header)
{
    header->tries = 0;
    header->one_value = false;
    header->retry_delay_ns = 0;
    header->extends = 0;
    header->allowance_ns = 0;
    header->renew_every_ns = 0;
    header->resend_ns = 0;
    header->set_decides = false;
}

void plan_header(const struct plan *plan, const char *world, struct history_header *header)
{
    const struct scenario *scenario = &plan->scenario;
    const struct lock_algorithm *algorithm = lock_algorithm_at(scenario->lock.algorithm);
    memset(header, 0, sizeof *header);
    header->format = HISTORY_FORMAT;
    header->seed = plan->seed;
    struct text name = text_over(header->scenario, sizeof header->scenario);
    text_add(&name, "%s", scenario->name);
    name = text_over(header->world, sizeof header->world);
    text_add(&name, "%s", world);
    name = text_over(header->algorithm, sizeof header->algorithm);
    text_add(&name, "%s", scenario->algorithm);
    header->node_count = scenario->node_count;
    header->store_count = 0;
    if (server_kind_is_one(server_kind_at(scenario->node_kind), scenario->lock.replica_count)) {
        header->store_count = 1;
    }
    header->replica_count = (int32_t)scenario->lock.replica_count;
    header->client_count = scenario->client_count;
    header->thread_count = scenario->thread_count > 1 ? scenario->thread_count : 0;
    header->resource_count = scenario->resource_count;
    header->fault_count = plan->drawn ? 0 : (int32_t)scenario->fault_count;
    header->ttl_ns = scenario->lock.ttl_ns;
    header->bound_ns = scenario->bound_ns;
    header->drift_ppm = scenario->lock.drift_ppm;
    header->promises_validity = !algorithm->endless;
    header->endless = algorithm->endless;
    header->fence_check = scenario->fence_check;
    header->value_check = scenario->value_check;
    header->fenced = algorithm->fenced;
    header->ownership = OWNERSHIP_OBJECT; /* of our own; a library says whose it is */
    header->at_once = scenario->at_once > 1 ? scenario->at_once : 0;
    header->again = scenario->again;
    header_conduct(scenario, header);
    header->deadline_ns = scenario->deadline_ns;
    header->patience_ns =
        scenario->deadline_ns + scenario->cancel_after_ns > 0 ? patience_ns(scenario) : 0;
}
