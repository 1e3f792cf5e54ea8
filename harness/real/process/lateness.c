/* lateness.c: how long we ourselves, and others, stood still. */
#include "harness/real/process/lateness.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/process/proc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    STEP_LEAST_NS = 2000000, /* less than this a clock is not set, but led back slowly */
    APART_NS = 200000,
    SCHEDSTAT_BYTES = 96,
    READ_TRIES = 3,
};

static void lateness_add(struct lateness_found *found, enum history_cause cause, int64_t length_ns,
                         int64_t amount_ns)
{
    found->cause = (uint8_t)cause;
    found->length_ns = length_ns;
    found->amount_ns = amount_ns;
}

uint32_t lateness_look(struct lateness *lateness, const struct lateness_clocks *now,
                       struct lateness_found found[LATENESS_FOUND_MAX])
{
    uint32_t count = 0;
    struct lateness_clocks last = lateness->last;
    int64_t gap_ns = now->mono_ns - last.mono_ns;
    int64_t ahead_ns = now->boot_ns - now->mono_ns;
    int64_t offset_ns = now->wall_ns - now->boot_ns;
    bool begun = lateness->begun;
    ASSERT(!begun || gap_ns >= 0);
    if (begun && gap_ns >= LATENESS_BEAT_NS + HISTORY_LATE_NOTED_NS) {
        bool waited = now->waited_ns >= 0 && now->waited_ns - last.waited_ns >= gap_ns / 2;
        lateness_add(&found[count++], waited ? CAUSE_SCHEDULER : CAUSE_LOOP, gap_ns,
                     gap_ns - LATENESS_BEAT_NS);
        lateness->lost_ns += gap_ns >= LATENESS_STOP_NS ? gap_ns : 0;
    }
    lateness->begun = true;
    lateness->last = *now;
    if (!now->apart || !begun) {
        int64_t slept_ns = ahead_ns - lateness->ahead_ns;
        int64_t step_ns = offset_ns - lateness->offset_ns;
        if (begun && slept_ns >= HISTORY_LATE_NOTED_NS) {
            lateness_add(&found[count++], CAUSE_SUSPEND, gap_ns, slept_ns);
        }
        if (begun && (step_ns >= STEP_LEAST_NS || step_ns <= -STEP_LEAST_NS)) {
            lateness_add(&found[count++], CAUSE_CLOCK_STEP, gap_ns, step_ns);
        }
        lateness->ahead_ns = ahead_ns;
        lateness->offset_ns = offset_ns;
    }
    for (uint32_t i = 0; i < count; i++) {
        found[i].time_ns = now->mono_ns;
    }
    return count;
}

static int64_t at_least_0(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

void lateness_grace_begin(struct lateness_grace *grace, int64_t now_ns, int64_t length_ns,
                          const struct lateness_sight *sight)
{
    grace->left_ns = length_ns;
    grace->last_ns = now_ns;
    grace->last = *sight;
}

bool lateness_grace_look(struct lateness_grace *grace, int64_t now_ns,
                         const struct lateness_sight *sight)
{
    int64_t gap_ns = now_ns - grace->last_ns;
    ASSERT(gap_ns >= 0);
    /* Threads that have ended take their sums with them. */
    int64_t waited_ns = at_least_0(sight->waited_ns - grace->last.waited_ns);
    int64_t ran_ns = at_least_0(sight->ran_ns - grace->last.ran_ns);
    bool waits = sight->ready && ran_ns < gap_ns / 2;
    int64_t used_ns = waits ? 0 : at_least_0(gap_ns - waited_ns);
    /* Where we stood still nobody knows what they could do. */
    used_ns = used_ns < 2 * LATENESS_GRACE_LOOK_NS ? used_ns : 2 * LATENESS_GRACE_LOOK_NS;
    grace->left_ns -= used_ns;
    grace->last_ns = now_ns;
    grace->last = *sight;
    return grace->left_ns <= 0 || now_ns >= grace->bound_ns;
}

/* ---- the machine ----------------------------------------------------------------------------- */

static int64_t clock_read(clockid_t clock)
{
    struct timespec now;
    ASSERT(clock_gettime(clock, &now) == 0);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* The second number of a schedstat: how long a thread was ready and had no processor. */
static int64_t schedstat_of(const char *line)
{
    const char *second = strchr(line, ' ');
    return second != NULL ? strtoll(second, NULL, 10) : -1;
}

/* Our own is asked a thousand times a second: it stays open, in each process that asks. */
static int64_t schedstat_own(void)
{
    static int fd = -1;
    static pid_t pid;
    if (pid != getpid()) {
        pid = getpid();
        fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
    }
    char line[SCHEDSTAT_BYTES];
    ssize_t bytes = fd >= 0 ? pread(fd, line, sizeof line - 1, 0) : -1;
    line[bytes > 0 ? bytes : 0] = '\0';
    return schedstat_of(line);
}

void lateness_read(struct lateness_clocks *clocks)
{
    for (int i = 0; i < READ_TRIES; i++) {
        clocks->mono_ns = clock_read(CLOCK_MONOTONIC);
        clocks->boot_ns = clock_read(CLOCK_BOOTTIME);
        clocks->wall_ns = clock_read(CLOCK_REALTIME);
        clocks->apart = clock_read(CLOCK_MONOTONIC) - clocks->mono_ns > APART_NS;
        if (!clocks->apart) {
            break;
        }
    }
    clocks->waited_ns = schedstat_own();
}

int64_t lateness_waited_main(pid_t pid)
{
    char line[SCHEDSTAT_BYTES];
    (void)proc_read(pid, "schedstat", line, sizeof line);
    return schedstat_of(line);
}

static void add_waited(pid_t thread, void *data)
{
    char line[SCHEDSTAT_BYTES];
    (void)proc_read_thread(thread, "schedstat", line, sizeof line);
    int64_t waited_ns = schedstat_of(line);
    *(int64_t *)data += waited_ns > 0 ? waited_ns : 0;
}

int64_t lateness_waited(pid_t pid)
{
    int64_t sum_ns = 0;
    return proc_threads(pid, add_waited, &sum_ns) ? sum_ns : -1;
}

enum { CHILDREN_BYTES = 4096, CHILDREN_DEPTH = 8 };

struct held_up {
    pid_t found; /* 0: nobody yet */
    int depth;
};

/* Among what this thread has started, and what that has. */
static void look_for_held_up(pid_t thread, void *data)
{
    struct held_up *held_up = data;
    char line[CHILDREN_BYTES];
    (void)proc_read_thread(thread, "children", line, sizeof line);
    char *rest = line;
    pid_t child = (pid_t)strtol(rest, &rest, 10);
    held_up->depth++;
    while (child > 0 && held_up->found == 0 && held_up->depth <= CHILDREN_DEPTH) {
        char state = proc_state(child);
        if (state == 'R' || state == 'D') {
            held_up->found = child;
        } else {
            (void)proc_threads(child, look_for_held_up, held_up);
        }
        child = (pid_t)strtol(rest, &rest, 10);
    }
    held_up->depth--;
}

pid_t lateness_held_up_main(pid_t pid)
{
    return proc_state(pid) == 'D' ? pid : 0;
}

pid_t lateness_held_up(pid_t pid)
{
    struct held_up held_up = {lateness_held_up_main(pid), 0};
    (void)proc_threads(pid, look_for_held_up, &held_up);
    return held_up.found;
}

static void add_sight(pid_t thread, void *data)
{
    struct lateness_sight *sight = data;
    char line[SCHEDSTAT_BYTES];
    (void)proc_read_thread(thread, "schedstat", line, sizeof line);
    char state = proc_state_thread(thread);
    sight->ran_ns += at_least_0(strtoll(line, NULL, 10));
    sight->waited_ns += at_least_0(schedstat_of(line));
    sight->ready = sight->ready || state == 'R' || state == 'D';
}

void lateness_see(pid_t pid, struct lateness_sight *sight)
{
    (void)proc_threads(pid, add_sight, sight);
}

int64_t lateness_ran(pid_t pid)
{
    struct lateness_sight sight = {.ready = false};
    lateness_see(pid, &sight);
    return sight.ran_ns;
}
