/* run_late.c: how late we are, how late others are kept: measured all the time, and recorded. */
#include "harness/real/run/run.h"

#include <errno.h>
#include <sys/resource.h>

enum { RUN_LATE_SAMPLE_MS = 50 };

/* Whoever stood still: the run itself, a client, or a node. */
static void run_late_record(struct run *run, const struct lateness_found *found, int32_t client,
                            int32_t node)
{
    struct history_event event = {
        .time_ns = found->time_ns - run->start_ns,
        .kind = HISTORY_LATE,
        .f = HISTORY_STOOD_STILL,
        .cause = found->cause,
        .process = client,
        .node = node,
        .fault = HISTORY_NO_FAULT,
        .number = {found->length_ns, found->amount_ns},
    };
    run_emit(run, &event);
}

void run_late_node(struct run *run, int32_t node, int64_t start_ns)
{
    int64_t now_ns = loop_now_ns();
    int64_t took_ns = now_ns - start_ns;
    if (took_ns >= HISTORY_LATE_NOTED_NS) {
        struct lateness_found found = {CAUSE_START, now_ns, took_ns, took_ns};
        run_late_record(run, &found, HISTORY_NOBODY, node);
    }
}

/* Whoever waits for what it has started waits for a processor with it: for how long since somebody
 * was seen that was held up. Who is gone by now ran at the end of that, for how long is not told.
 */
static int64_t run_late_held_up(struct run_waiter *waiter, pid_t pid, int64_t now_ns, bool alone)
{
    int64_t ran_ns = waiter->held_up != 0 ? lateness_ran(waiter->held_up) - waiter->ran_ns : 0;
    int64_t gap_ns = waiter->held_up != 0 ? now_ns - waiter->looked_ns : 0;
    waiter->held_up = alone ? lateness_held_up_main(pid) : lateness_held_up(pid);
    waiter->ran_ns = waiter->held_up != 0 ? lateness_ran(waiter->held_up) : 0;
    return gap_ns - (ran_ns > 0 ? ran_ns : 0);
}

/*
 * A process waited for a processor since it was looked at last. What a thread waits is told when
 * the wait is over: it began at most so long before the last look.
 */
static void run_late_process(struct run *run, struct run_waiter *waiter, pid_t pid, int32_t client,
                             int32_t node)
{
    bool first = node != HISTORY_NO_NODE || run->adapter == NULL;
    int64_t waited_ns = pid <= 0 ? -1 : first ? lateness_waited_main(pid) : lateness_waited(pid);
    int64_t now_ns = loop_now_ns();
    bool known = waiter->pid == pid && waiter->waited_ns >= 0 && waited_ns >= 0;
    int64_t more_ns = known ? waited_ns - waiter->waited_ns : 0;
    int64_t held_up_ns = known ? run_late_held_up(waiter, pid, now_ns, first) : 0;
    more_ns = more_ns > held_up_ns ? more_ns : held_up_ns;
    if (more_ns >= HISTORY_LATE_NOTED_NS) {
        struct lateness_found found = {
            .cause = CAUSE_SCHEDULER,
            .time_ns = now_ns,
            .length_ns = now_ns - waiter->looked_ns + more_ns,
            .amount_ns = more_ns,
        };
        run_late_record(run, &found, client, node);
    }
    waiter->held_up = known ? waiter->held_up : 0;
    waiter->pid = pid;
    waiter->waited_ns = waited_ns;
    waiter->looked_ns = now_ns;
}

static void run_late_sample(struct run *run)
{
    for (int32_t i = 0; i <= run->client_count; i++) {
        struct run_client *client = &run->clients[i];
        pid_t pid = run->adapter != NULL ? adapter_pid(run->adapter, i) : client->pid;
        bool alive = client->state != RUN_CLIENT_GONE && client->freezes == 0;
        run_late_process(run, &client->waiter, alive ? pid : 0, i, HISTORY_NO_NODE);
    }
    for (int32_t i = 0; i < run->node_count; i++) {
        struct run_node *node = &run->nodes[i];
        bool up = node->site.state == NODE_UP && node->site.hand == &site_child;
        run_late_process(run, &node->waiter, up ? node->site.node.pid : 0, HISTORY_NOBODY, i);
    }
}

static void run_on_beat(struct loop_alarm *alarm)
{
    struct run *run = alarm->context;
    struct lateness_clocks clocks;
    struct lateness_found found[LATENESS_FOUND_MAX];
    lateness_read(&clocks);
    uint32_t count = lateness_look(&run->late.lateness, &clocks, found);
    for (uint32_t i = 0; i < count; i++) {
        run_late_record(run, &found[i], HISTORY_NOBODY, HISTORY_NO_NODE);
    }
    if (clocks.mono_ns >= run->late.sample_ns) {
        if (run->going) {
            run_late_sample(run);
        }
        if (run->adapter != NULL) {
            run_adapter_clocks_look(run);
            adapter_look(run->adapter);
        }
        run->late.sample_ns = clocks.mono_ns + RUN_LATE_SAMPLE_MS * NS_PER_MS;
    }
    loop_alarm_set(&run->late.alarm, clocks.mono_ns + LATENESS_BEAT_NS);
}

void run_late_hurry(void)
{
    enum { GOES_FIRST = -10 };
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    if (errno == 0 && nice > GOES_FIRST) {
        (void)setpriority(PRIO_PROCESS, 0, GOES_FIRST); /* without the right to, we stay */
    }
}

struct result run_late_start(struct run *run, struct text *why)
{
    TRY(loop_alarm_init(&run->late.alarm, &run->loop, run_on_beat, run, why));
    loop_alarm_set(&run->late.alarm, loop_now_ns());
    return RESULT_OK;
}

int64_t run_lost_ns(const struct run *run)
{
    return run->late.lateness.lost_ns;
}
