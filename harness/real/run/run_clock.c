/* run_clock.c: the wall clocks of nodes: moved, and looked at from outside. */
#include "harness/real/run/run.h"

enum {
    RUN_CLOCK_TRIES = 20,
    RUN_CLOCK_SLACK_MS = 20, /* what a look at a clock over a socket may be off */
};

/* Look at the clock until it shows what it should: a busy machine delays the look, not the clock */
static bool run_clock_is(struct run *run, int32_t node, int64_t expected_ns, int64_t *offset_ns)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    for (int i = 0; i < RUN_CLOCK_TRIES; i++) {
        struct result seen = site_clock_offset(&run->nodes[node].site, offset_ns, &text);
        if (result_failed(seen)) {
            run_fail(run, seen, text.data);
            return true;
        }
        int64_t off_ns =
            *offset_ns > expected_ns ? *offset_ns - expected_ns : expected_ns - *offset_ns;
        if (off_ns < RUN_CLOCK_SLACK_MS * NS_PER_MS) {
            return true;
        }
    }
    return false;
}

/* A jump shows itself in TIME over a direct connection. */
void run_clock_show(struct run *run, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    uint32_t k = (uint32_t)target->clock_fault;
    int64_t offset_ns = 0;
    target->clock_fault = HISTORY_NO_FAULT;
    if (target->rate_ppm == CLOCK_PAGE_PPM &&
        !run_clock_is(run, node, target->offset_ns, &offset_ns)) {
        char memory[WHY_BYTES];
        struct text text = text_over(memory, sizeof memory);
        text_add(&text, "fault %u: the clock of node %d should be ", k + 1, node + 1);
        duration_print_rounded(target->offset_ns, &text);
        text_add(&text, " off and shows ");
        duration_print_rounded(offset_ns, &text);
        run_fail(run, result_error(ERROR_ENVIRONMENT), text.data);
        return;
    }
    if (target->rate_ppm != CLOCK_PAGE_PPM) {
        offset_ns = run_fault_at(run, k)->amount_ns; /* a moving clock has no single offset */
    }
    run_fault_show(run, k, node, offset_ns);
}

static void run_clock_order(struct run *run, int32_t node, int64_t jump_ns, int64_t rate_ppm)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    run_order_sent(run, node);
    struct result set = site_clock_set(&run->nodes[node].site, jump_ns, rate_ppm, &text);
    run_order_done(run, node);
    if (result_failed(set)) {
        run_fail(run, set, text.data);
    }
}

void run_clock_jump(struct run *run, uint32_t k, int32_t node)
{
    struct run_node *target = &run->nodes[node];
    int64_t amount_ns = run_fault_at(run, k)->amount_ns;
    run_clock_order(run, node, amount_ns, target->rate_ppm);
    keys_clock_changed(run->keys, &(struct keys_clock_change){
                                      .node = node,
                                      .fault = (int32_t)k,
                                      .true_ns = loop_now_ns(),
                                      .jump_ns = amount_ns,
                                      .rate_ppm = target->rate_ppm,
                                  });
    target->offset_ns += amount_ns;
    target->clock_fault = (int32_t)k;
    if (target->site.state == NODE_UP) {
        run_clock_show(run, node);
    }
}

/* Set the rate; gives the moment from which on it holds. */
static int64_t run_clock_set_rate(struct run *run, uint32_t k, int32_t node, int64_t rate_ppm)
{
    struct run_node *target = &run->nodes[node];
    int64_t now_ns = loop_now_ns();
    run_clock_order(run, node, 0, rate_ppm);
    target->rate_ppm = rate_ppm;
    keys_clock_changed(run->keys, &(struct keys_clock_change){
                                      .node = node,
                                      .fault = (int32_t)k,
                                      .true_ns = now_ns,
                                      .rate_ppm = rate_ppm,
                                  });
    return now_ns;
}

/* How far the clock is off; looked at while it is sound, a busy machine cannot blur it. */
static int64_t run_clock_offset(struct run *run, int32_t node)
{
    struct site *server = &run->nodes[node].site;
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    int64_t offset_ns = 0;
    if (server->state != NODE_UP) {
        return TIME_NEVER;
    }
    struct result seen = site_clock_offset(server, &offset_ns, &text);
    if (result_failed(seen)) {
        run_fail(run, seen, text.data);
    }
    return offset_ns;
}

void run_clock_rate(struct run *run, uint32_t k, int32_t node, int64_t rate_ppm)
{
    struct run_fault *fault = &run->faults[k];
    if (rate_ppm != CLOCK_PAGE_PPM) {
        fault->measured_ns[node] = run_clock_offset(run, node);
        fault->begun_ns = run_clock_set_rate(run, k, node, rate_ppm);
        return;
    }
    /* It ends: how far the clock has drifted since the beginning tells at what rate it went. */
    int64_t passed_ns = run_clock_set_rate(run, k, node, rate_ppm) - fault->begun_ns;
    int64_t offset_ns = run_clock_offset(run, node);
    if (offset_ns != TIME_NEVER && fault->measured_ns[node] != TIME_NEVER && passed_ns > 0) {
        int64_t drift_ns = offset_ns - fault->measured_ns[node];
        run->nodes[node].offset_ns += drift_ns;
        run_fault_show(run, k, node,
                       CLOCK_PAGE_PPM + (int64_t)((double)drift_ns / (double)passed_ns * 1e6));
    }
}
