/* run_adapter_clock.c: the wall clocks of other people's programs: moved, and asked from inside. */
#include "harness/real/run/run.h"

#include "base/assert.h"
#include "base/machine_clock.h"
#include "harness/real/node/shims.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    CLOCK_ROUNDING_MS = 5, /* what a program may show of its clock: whole milliseconds, coarse */
    CLOCK_TRIAL_MS = 500,  /* before the run the clock is moved so far, and back */
};

/* ---- a clock to be moved --------------------------------------------------------------------- */

/* Only clients whose clock the plan will move are given the clock shim. */
static bool clock_is_needed(const struct run *run, int32_t client)
{
    if (scenario_program(&run->plan->scenario, client) != client) {
        return false; /* the program has one clock: it is moved with its first client's */
    }
    for (size_t k = 0; k < run->plan->scenario.fault_count; k++) {
        const struct fault *fault = &run->plan->scenario.faults[k];
        bool clock = fault_is((enum fault_kind)fault->kind, FAULT_OF_CLOCK);
        if (clock && fault->client_first <= client && client <= fault->client_last) {
            return true;
        }
    }
    return false;
}

/* Make the page of a client's wall clock; false if the system refuses. */
static bool clock_map(struct run *run, struct run_client *client)
{
    struct run_adapter_clock *clock = &client->adapter_clock;
    (void)snprintf(clock->path, sizeof clock->path, "%.400s/client-%d.clock",
                   run->guard.state_directory, client->index + 1);
    int fd = open(clock->path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 || ftruncate(fd, sizeof *clock->page) != 0) {
        return false;
    }
    void *page = mmap(NULL, sizeof *clock->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    clock->page = page != MAP_FAILED ? page : NULL;
    return page != MAP_FAILED;
}

const char *const *run_adapter_environment(void *data, int32_t client)
{
    static char preload[NODE_PATH_BYTES * 2];
    static char page[NODE_PATH_BYTES * 2];
    static const char *environment[3];
    struct run *run = data;
    char path[NODE_PATH_BYTES];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    if (!clock_is_needed(run, client)) {
        return NULL;
    }
    struct result found = shim_find("clock", path, sizeof path, &text);
    struct run_client *target = &run->clients[client];
    if (!result_failed(found) && !clock_map(run, target)) {
        found = result_error(ERROR_ENVIRONMENT);
        text_add(&text, "%s: %s", target->adapter_clock.path, strerror(errno));
    }
    if (result_failed(found)) {
        run_fail(run, found, text.data);
        return NULL;
    }
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", path);
    (void)snprintf(page, sizeof page, "PICKLOCK_CLOCK=%s", target->adapter_clock.path);
    environment[0] = preload;
    environment[1] = page;
    environment[2] = NULL;
    return environment;
}

/* Does the process look at this file? Its memory map tells, from outside. */
static bool clock_is_followed(int pid, const char *path)
{
    char name[64];
    char line[NODE_PATH_BYTES * 2];
    bool follows = false;
    (void)snprintf(name, sizeof name, "/proc/%d/maps", pid);
    FILE *maps = fopen(name, "re");
    while (maps != NULL && !follows && fgets(line, sizeof line, maps) != NULL) {
        follows = strstr(line, path) != NULL;
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return follows;
}

static void clock_fail(struct run *run, int32_t client, const char *why)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "the clock of the adapter of client %d cannot be moved: %s", client + 1, why);
    run_fail(run, result_error(ERROR_ENVIRONMENT), text.data);
}

/* Move it by the way that this program follows. */
static void clock_move(struct run *run, int32_t client, int64_t jump_ns, int64_t rate_ppm)
{
    struct run_adapter_clock *clock = &run->clients[client].adapter_clock;
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    clock_page_set(clock->page, realtime_ns(), jump_ns, rate_ppm);
    if (clock->vdso.pid > 0) {
        struct clock line = clock_page_read(clock->page);
        struct result set = vdso_set(&clock->vdso, &line, &text);
        if (result_failed(set)) {
            clock_fail(run, client, text.data);
        }
    }
}

/* ---- what it shows --------------------------------------------------------------------------- */

/* What a program said of its wall clock, beside what it should have shown. */
struct clock_look {
    bool fits;         /* with what it was moved to */
    bool tells;        /* ... and not with a sound clock */
    int64_t off_ns;    /* from the machine's */
    int64_t within_ns; /* which is known so well */
};

static struct clock_look clock_look(const struct run_adapter_clock *clock,
                                    const struct adapter_clocks *said)
{
    int64_t ahead_ns = realtime_ns() - loop_now_ns();
    int64_t asked_ns = said->asked_ns + ahead_ns;
    int64_t heard_ns = said->heard_ns + ahead_ns;
    int64_t slack_ns = CLOCK_ROUNDING_MS * NS_PER_MS;
    int64_t least_ns = clock_page_shown(clock->page, asked_ns) - slack_ns;
    int64_t most_ns = clock_page_shown(clock->page, heard_ns) + slack_ns;
    bool sound = said->wall_ns >= asked_ns - slack_ns && said->wall_ns <= heard_ns + slack_ns;
    struct clock_look look = {
        .fits = said->wall_ns >= least_ns && said->wall_ns <= most_ns,
        .off_ns = said->wall_ns - (asked_ns + heard_ns) / 2,
        .within_ns = (heard_ns - asked_ns) / 2 + slack_ns,
    };
    look.tells = look.fits && !sound;
    return look;
}

/* The program's own clock does not show what it was moved to. */
static void clock_unmoved(struct run *run, int32_t client, int64_t off_ns)
{
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "its program still shows a time that is ");
    duration_print_rounded(off_ns < 0 ? -off_ns : off_ns, &text);
    text_add(&text, " off the machine's");
    clock_fail(run, client, text.data);
}

static void clock_effect(struct run *run, int32_t client, int64_t observed)
{
    struct run_sight sight = {
        .f = HISTORY_FAULT_EFFECT,
        .client = client,
        .node = HISTORY_NO_NODE,
        .observed = observed,
    };
    run_fault_record(run, (uint32_t)run->clients[client].adapter_clock.fault, &sight);
}

/* What the rate was since the fault began, as far as these looks tell. */
static int64_t clock_rate_seen(const struct run_adapter_clock *clock, const struct clock_look *look,
                               const struct adapter_clocks *said)
{
    int64_t passed_ns = (said->asked_ns + said->heard_ns) / 2 - clock->since_ns;
    int64_t drift_ns = look->off_ns - clock->off_ns;
    return passed_ns > 0
               ? CLOCK_PAGE_PPM + (int64_t)((double)drift_ns / (double)passed_ns * CLOCK_PAGE_PPM)
               : CLOCK_PAGE_PPM;
}

void run_adapter_clocks(void *data, int32_t client, const struct adapter_clocks *said)
{
    struct run *run = data;
    struct run_adapter_clock *clock = &run->clients[client].adapter_clock;
    if (clock->page == NULL || clock->state == CLOCK_PROVED || said->asked_ns < clock->set_ns) {
        return; /* asked before it was moved: asked again */
    }
    struct clock_look look = clock_look(clock, said);
    if (!look.fits) {
        clock_unmoved(run, client, look.off_ns);
    } else if (clock->state == CLOCK_TRIED) {
        clock->state = CLOCK_PROVED;
    } else if (look.tells || !clock->waits) {
        const struct fault *fault = run_fault_at(run, (uint32_t)clock->fault);
        clock->state = CLOCK_PROVED;
        clock_effect(run, client,
                     fault->kind == FAULT_CLOCK_JUMP ? look.off_ns - clock->off_ns
                                                     : clock_rate_seen(clock, &look, said));
    }
}

/* ---- before the run -------------------------------------------------------------------------- */

/* Which way does its program go to the clock? */
static void clock_reach(struct run *run, int32_t client)
{
    struct run_adapter_clock *clock = &run->clients[client].adapter_clock;
    int pid = adapter_pid(run->adapter, client);
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    if (vdso_is_asked(pid)) {
        struct result done = vdso_install(&clock->vdso, pid, &text);
        if (result_failed(done)) {
            clock_fail(run, client, text.data);
        }
    } else if (!clock_is_followed(pid, clock->path)) {
        clock_fail(run, client, "its program does not load LD_PRELOAD");
    }
}

/* Move it, and ask whether it moved. */
static void clock_try(struct run *run, int32_t client, int64_t jump_ns)
{
    struct run_adapter_clock *clock = &run->clients[client].adapter_clock;
    int64_t deadline_ns = loop_now_ns() + RUN_SILENT_SECONDS * NS_PER_S;
    clock_move(run, client, jump_ns, CLOCK_PAGE_PPM);
    clock->state = CLOCK_TRIED;
    clock->set_ns = loop_now_ns();
    loop_alarm_set(&run->phase_alarm, deadline_ns);
    while (!run->over && clock->state == CLOCK_TRIED && loop_now_ns() < deadline_ns) {
        adapter_clock_ask(run->adapter, client);
        run_turn(run);
    }
    loop_alarm_set(&run->phase_alarm, TIME_NEVER);
    if (!run->over && clock->state == CLOCK_TRIED) {
        clock_fail(run, client, "it does not say what it shows");
    }
}

void run_adapter_clocks_try(struct run *run)
{
    for (int32_t i = 0; i < run->client_count && !run->over; i++) {
        if (!clock_is_needed(run, i)) {
            continue;
        }
        clock_reach(run, i);
        if (!run->over && adapter_tells_clocks(run->adapter)) {
            clock_try(run, i, CLOCK_TRIAL_MS * NS_PER_MS);
            clock_try(run, i, -CLOCK_TRIAL_MS * NS_PER_MS);
        }
        run->clients[i].adapter_clock.state = CLOCK_PROVED;
    }
}

/* ---- in the run ------------------------------------------------------------------------------ */

/* A fault moves it. The program itself is asked; where it cannot be, what it follows must do. */
void run_adapter_clock(struct run *run, int32_t client, uint32_t fault, int64_t jump_ns,
                       int64_t rate_ppm)
{
    struct run_adapter_clock *clock = &run->clients[client].adapter_clock;
    if (scenario_program(&run->plan->scenario, client) != client) {
        return;
    }
    bool ends = jump_ns == 0 && rate_ppm == CLOCK_PAGE_PPM;
    int64_t since_ns = loop_now_ns();
    int64_t wall_ns = realtime_ns();
    ASSERT(clock->page != NULL);
    int64_t off_ns = clock_page_shown(clock->page, wall_ns) - wall_ns;
    if (ends && clock->state == CLOCK_ASKED && clock->fault == (int32_t)fault) {
        clock->waits = false; /* too short to be told from a sound clock: that it fits must do */
    }
    clock_move(run, client, jump_ns, rate_ppm);
    if (ends || run->over) {
        return;
    }
    clock->fault = (int32_t)fault;
    clock->off_ns = off_ns;
    clock->since_ns = since_ns;
    clock->set_ns = loop_now_ns();
    clock->waits = true;
    if (adapter_tells_clocks(run->adapter)) {
        clock->state = CLOCK_ASKED;
        adapter_clock_ask(run->adapter, client);
    } else {
        clock_effect(run, client, jump_ns != 0 ? jump_ns : rate_ppm);
    }
}

void run_adapter_clocks_look(struct run *run)
{
    for (int32_t i = 0; i < run->client_count; i++) {
        bool asked = run->clients[i].adapter_clock.state == CLOCK_ASKED;
        if (asked && run->clients[i].state == RUN_CLIENT_ACTIVE && run->clients[i].freezes == 0) {
            adapter_clock_ask(run->adapter, i);
        }
    }
}
