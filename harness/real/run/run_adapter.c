/* run_adapter.c: somebody else's lock library as the clients of a run. */
#include "harness/real/run/run.h"

#include "base/assert.h"
#include "harness/real/node/shims.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void run_adapter_ready(void *data, int32_t client, const char *library)
{
    struct run *run = data;
    run->clients[client].state = RUN_CLIENT_READY;
    struct text text = text_over(run->header->library, sizeof run->header->library);
    text_add(&text, "%s", library);
}

static void run_adapter_record(void *data, const struct history_event *event)
{
    run_emit_early(data, event);
}

static struct store_answer run_adapter_store(void *data, enum history_f f, uint32_t resource,
                                             const struct history_value *value, int64_t fence)
{
    return run_store(data, f, resource, value, fence);
}

static void run_adapter_probe(void *data, int32_t client, enum probe_point point)
{
    run_probe(data, client, point);
}

static void run_adapter_done(void *data, int32_t client)
{
    struct run *run = data;
    if (run->clients[client].state != RUN_CLIENT_GONE) {
        run->clients[client].state = RUN_CLIENT_DONE;
    }
}

static void run_adapter_failed(void *data, int32_t client, const char *why)
{
    (void)client; /* the sentence names it */
    run_fail(data, result_error(ERROR_ENVIRONMENT), why);
}

/* Only clients whose clock the plan will move are given the clock shim. */
static bool run_adapter_needs_clock(const struct run *run, int32_t client)
{
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
static bool run_adapter_map_clock(struct run *run, struct run_client *client)
{
    (void)snprintf(client->adapter_clock_path, sizeof client->adapter_clock_path,
                   "%.400s/client-%d.clock", run->guard.state_directory, client->index + 1);
    int fd = open(client->adapter_clock_path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 || ftruncate(fd, sizeof *client->adapter_clock) != 0) {
        return false;
    }
    void *page =
        mmap(NULL, sizeof *client->adapter_clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    client->adapter_clock = page != MAP_FAILED ? page : NULL;
    return page != MAP_FAILED;
}

static const char *const *run_adapter_environment(void *data, int32_t client)
{
    static char preload[NODE_PATH_BYTES * 2];
    static char page[NODE_PATH_BYTES * 2];
    static const char *environment[3];
    struct run *run = data;
    char path[NODE_PATH_BYTES];
    char memory[WHY_BYTES];
    struct text text = text_over(memory, sizeof memory);
    if (!run_adapter_needs_clock(run, client)) {
        return NULL;
    }
    struct result found = shim_find("clock", path, sizeof path, &text);
    if (!result_failed(found) && !run_adapter_map_clock(run, &run->clients[client])) {
        found = result_error(ERROR_ENVIRONMENT);
        text_add(&text, "%s: %s", run->clients[client].adapter_clock_path, strerror(errno));
    }
    if (result_failed(found)) {
        run_fail(run, found, text.data);
        return NULL;
    }
    (void)snprintf(preload, sizeof preload, "LD_PRELOAD=%s", path);
    (void)snprintf(page, sizeof page, "PICKLOCK_CLOCK=%s", run->clients[client].adapter_clock_path);
    environment[0] = preload;
    environment[1] = page;
    environment[2] = NULL;
    return environment;
}

/* Does the process look at this file? Its memory map tells, from outside. */
static bool run_adapter_follows(int pid, const char *path)
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

/*
 * The wall clock of somebody else's program: it follows the page that its shim has mapped. (A
 * static or Go program reads the kernel's clock directly and cannot be moved; that is an error.)
 */
void run_adapter_clock(struct run *run, int32_t client, uint32_t fault, int64_t jump_ns,
                       int64_t rate_ppm)
{
    struct run_client *target = &run->clients[client];
    struct timespec now;
    if (target->adapter_clock == NULL ||
        !run_adapter_follows(adapter_pid(run->adapter, client), target->adapter_clock_path)) {
        run_fail(run, result_error(ERROR_ENVIRONMENT),
                 "the adapter's clock cannot be moved: its program does not load LD_PRELOAD");
        return;
    }
    ASSERT(clock_gettime(CLOCK_REALTIME, &now) == 0);
    int64_t wall_ns = now.tv_sec * NS_PER_S + now.tv_nsec;
    clock_page_set(target->adapter_clock, wall_ns, jump_ns, rate_ppm);
    struct run_sight sight = {
        .f = HISTORY_FAULT_EFFECT,
        .client = client,
        .node = HISTORY_NO_NODE,
        .observed =
            jump_ns != 0 ? clock_page_shown(target->adapter_clock, wall_ns) - wall_ns : rate_ppm,
    };
    if (jump_ns != 0 || rate_ppm != CLOCK_PAGE_PPM) {
        run_fault_record(run, fault, &sight);
    }
}

struct result run_adapters_start(struct run *run, struct text *why)
{
    struct adapter_options options = {
        .loop = &run->loop,
        .keys = run->keys,
        .proxy = run->proxy,
        .command = run->options->adapter,
        .plan = run->plan,
        .start_ns = run->prepared_ns,
        .run_directory = run->guard.run_directory,
        .silence_ns = RUN_START_SECONDS * NS_PER_S,
        .probes_watched = &run->schedule.probes_watched,
        .environment = run_adapter_environment,
        .callbacks =
            {
                .data = run,
                .ready = run_adapter_ready,
                .record = run_adapter_record,
                .store = run_adapter_store,
                .probe = run_adapter_probe,
                .done = run_adapter_done,
                .failed = run_adapter_failed,
            },
    };
    return adapter_start(&options, &run->adapter, why);
}
