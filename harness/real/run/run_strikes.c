/* run_strikes.c: what a fault does to one client or one node, and what takes it back. */
#include "harness/real/run/run.h"

#include "base/assert.h"

/* ---- clients --------------------------------------------------------------------------------- */

static void client_pause(struct run *run, uint32_t k, int32_t client)
{
    (void)k;
    run_client_freeze(run, client);
}

static void client_resume(struct run *run, uint32_t k, int32_t client)
{
    if (run->clients[client].freezes > 0) {
        run_fault_show_client(run, k, client, loop_now_ns() - run->clients[client].frozen_ns);
        run_client_thaw(run, client);
    }
}

static void client_kill(struct run *run, uint32_t k, int32_t client)
{
    run_client_kill(run, client, CAUSE_NONE);
    run_fault_show_client(run, k, client, 1);
}

static void client_slow(struct run *run, uint32_t k, int32_t client)
{
    const struct fault *fault = run_fault_at(run, k);
    run_client_slow(run, client, fault->amount_ns, fault->jitter_ns);
}

static void client_hurry(struct run *run, uint32_t k, int32_t client)
{
    run_client_slow(run, client, 0, 0);
    int64_t steps = run->adapter != NULL ? adapter_slow_stops(run->adapter, client)
                                         : atomic_load(&run->controls->clients[client].slow_steps);
    if (steps > 0) {
        run_fault_show_client(run, k, client, steps);
    }
}

static void client_jump(struct run *run, uint32_t k, int32_t client)
{
    int64_t rate_ppm = clock_page_rate_ppm(&run->controls->clients[client].monotonic);
    run_client_clock(run, client, k, run_fault_at(run, k)->amount_ns, rate_ppm);
}

static void client_run_wrong(struct run *run, uint32_t k, int32_t client)
{
    run_client_clock(run, client, k, 0, run_fault_at(run, k)->rate_ppm);
}

static void client_run_right(struct run *run, uint32_t k, int32_t client)
{
    run_client_clock(run, client, k, 0, CLOCK_PAGE_PPM);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void node_run_wrong(struct run *run, uint32_t k, int32_t node)
{
    run_clock_rate(run, k, node, run_fault_at(run, k)->rate_ppm);
}

static void node_run_right(struct run *run, uint32_t k, int32_t node)
{
    run_clock_rate(run, k, node, CLOCK_PAGE_PPM);
}

/* ---- by kind --------------------------------------------------------------------------------- */

/*
 * What a kind of fault does, and what takes it back: NULL where it strikes no such thing, and where
 * nothing is to be taken back. `by_proxies`: it is a matter of links, also where it names nodes.
 */
static const struct strike {
    void (*client)(struct run *run, uint32_t k, int32_t client);
    void (*client_end)(struct run *run, uint32_t k, int32_t client);
    void (*node)(struct run *run, uint32_t k, int32_t node);
    void (*node_end)(struct run *run, uint32_t k, int32_t node);
    bool by_proxies;
} strikes[FAULT_KINDS] = {
    [FAULT_PAUSE] = {client_pause, client_resume, run_node_freeze, run_node_thaw, false},
    [FAULT_KILL] = {client_kill, NULL, NULL, NULL, false},
    [FAULT_SLOW] = {client_slow, client_hurry, NULL, NULL, false},
    [FAULT_CLOCK_JUMP] = {client_jump, NULL, run_clock_jump, NULL, false},
    [FAULT_CLOCK_RATE] = {client_run_wrong, client_run_right, node_run_wrong, node_run_right,
                          false},
    [FAULT_CRASH] = {NULL, NULL, run_node_down, run_node_restart, false},
    [FAULT_POWER_LOSS] = {NULL, NULL, run_node_down, run_node_restart, false},
    [FAULT_SHUTDOWN] = {NULL, NULL, run_node_down, run_node_restart, false},
    [FAULT_STALL] = {NULL, NULL, NULL, NULL, true},
    [FAULT_REFUSE_WRITES] = {NULL, NULL, run_order_refuse, run_order_accept, false},
    [FAULT_SCRIPT_FLUSH] = {NULL, NULL, run_order_flush_scripts, NULL, false},
    [FAULT_EVICT] = {NULL, NULL, run_order_evict, NULL, false},
    [FAULT_FAILOVER] = {NULL, NULL, run_node_fail_over, NULL, false},
    [FAULT_LATENCY] = {NULL, NULL, NULL, NULL, true},
    [FAULT_PARTITION] = {NULL, NULL, NULL, NULL, true},
    [FAULT_LOSE_REPLY] = {NULL, NULL, NULL, NULL, true},
    [FAULT_DELAY_COMMAND] = {NULL, NULL, NULL, NULL, true},
};

bool run_strike_is_link(const struct fault *fault)
{
    return strikes[fault->kind].by_proxies;
}

static const struct strike *strike_of(const struct run *run, uint32_t k)
{
    return &strikes[run_fault_at(run, k)->kind];
}

/* Nobody there to be struck: the history shows a fault without an effect. */
static bool client_is_over(const struct run *run, int32_t client)
{
    return run->clients[client].state == RUN_CLIENT_GONE ||
           run->clients[client].state == RUN_CLIENT_DONE;
}

void run_strike_client(struct run *run, uint32_t k, int32_t client)
{
    ASSERT(strike_of(run, k)->client != NULL);
    if (!client_is_over(run, client)) {
        strike_of(run, k)->client(run, k, client);
    }
}

void run_spare_client(struct run *run, uint32_t k, int32_t client)
{
    ASSERT(strike_of(run, k)->client != NULL);
    if (strike_of(run, k)->client_end != NULL) {
        strike_of(run, k)->client_end(run, k, client);
    }
}

void run_strike_node(struct run *run, uint32_t k, int32_t node)
{
    ASSERT(strike_of(run, k)->node != NULL);
    strike_of(run, k)->node(run, k, node);
}

void run_spare_node(struct run *run, uint32_t k, int32_t node)
{
    ASSERT(strike_of(run, k)->node != NULL);
    if (strike_of(run, k)->node_end != NULL) {
        strike_of(run, k)->node_end(run, k, node);
    }
}
