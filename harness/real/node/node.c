/* node.c: one server as a child process. */
#include "harness/real/node/node.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/node/shims.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    NODE_SHUTDOWN_SECONDS = 10,
};

static struct result node_refused(const struct node *node, const char *what, struct text *why)
{
    text_add(why, "node %d: %s: %s", node->options.index + 1, what, strerror(errno));
    return result_error(ERROR_ENVIRONMENT);
}

/* Where it listens: on loopback, unless it is told where. */
struct address node_address(const struct node *node)
{
    struct address address = address_local((uint16_t)node->port);
    if (node->options.ip != 0) {
        address.ip = node->options.ip;
    }
    address.password = node->launch->password ? node->options.password : NULL;
    return address;
}

/* A port of the kernel's choice, kept by a socket that is bound and never listens. */
static struct result node_reserve_port(struct node *node, struct text *why)
{
    int one = 1;
    struct sockaddr_in address = address_socket(node_address(node));
    node->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (node->port_fd < 0 ||
        setsockopt(node->port_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(node->port_fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        return node_refused(node, "no free port", why);
    }
    node->port = address_of(node->port_fd).port;
    return RESULT_OK;
}

static struct result node_map_clock(struct node *node, struct text *why)
{
    int fd = open(node->clock_path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0 || ftruncate(fd, sizeof *node->clock) != 0) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return node_refused(node, node->clock_path, why);
    }
    void *page = mmap(NULL, sizeof *node->clock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (page == MAP_FAILED) {
        return node_refused(node, node->clock_path, why);
    }
    node->clock = page;
    return RESULT_OK;
}

/* It is about to be gone: what its kind kept open towards it is of no use any more. */
static void node_hang_up(struct node *node)
{
    if (node->server.talk_fd >= 0) {
        (void)close(node->server.talk_fd);
        node->server.talk_fd = -1;
        node->server.talk_awaited = 0;
    }
}

/* What its kind may know of it. */
static void node_show(struct node *node)
{
    node->server = (struct server_process){
        .index = (uint32_t)node->options.index,
        .node_count = (uint32_t)node->options.node_count,
        .fsync = node->options.fsync,
        .exposed = node->options.ip != 0,
        .program = node->options.server,
        .directory = node->directory,
        .log_path = node->log_path,
        .address = node_address(node),
        .talk_fd = -1,
    };
}

struct result node_init(struct node *node, const struct node_options *options, struct text *why)
{
    memset(node, 0, sizeof *node);
    node->options = *options;
    node->port_fd = -1;
    node->server.talk_fd = -1;
    node->launch = server_kind_at(options->kind)->launch;
    ASSERT(node->launch != NULL);
    const char *data =
        options->data_directory != NULL ? options->data_directory : options->run_directory;
    int number = options->index + 1;
    const char *suffix = options->replica ? "-replica" : "";
    int length =
        snprintf(node->directory, sizeof node->directory, "%s/node-%d%s", data, number, suffix);
    if (length < 0 || length > (int)sizeof node->directory - 16) {
        text_add(why, "the run directory's path is too long: %s", options->run_directory);
        return result_error(ERROR_LIMIT);
    }
    (void)snprintf(node->log_path, sizeof node->log_path, "%.480s/node-%d%s.log",
                   options->run_directory, number, suffix);
    (void)snprintf(node->clock_path, sizeof node->clock_path, "%.480s.clock", node->directory);
    (void)snprintf(node->fsync_path, sizeof node->fsync_path, "%.480s.fsync", node->directory);
    if (mkdir(node->directory, S_IRWXU) != 0 && errno != EEXIST) {
        return node_refused(node, node->directory, why);
    }
    if (options->fake_clock) {
        TRY(node_map_clock(node, why));
    }
    TRY(node_reserve_port(node, why));
    node_show(node);
    return RESULT_OK;
}

/* LD_PRELOAD and what the shims read; only what this node's faults need. */
static struct result node_preload(const struct node *node, struct text *preload, struct text *clock,
                                  struct text *fsync_log, struct text *why)
{
    char path[NODE_PATH_BYTES * 2];
    text_add(preload, "LD_PRELOAD=");
    text_add(clock, "PICKLOCK_CLOCK=%s", node->clock_path);
    text_add(fsync_log, "PICKLOCK_FSYNC_LOG=%s", node->fsync_path);
    if (node->options.fake_clock) {
        TRY(shim_find("clock", path, sizeof path, why));
        text_add(preload, "%s ", path);
    }
    if (node->options.track_fsync) {
        TRY(shim_find("fsync", path, sizeof path, why));
        text_add(preload, "%s", path);
    }
    return RESULT_OK;
}

static const char *node_program(const struct node *node)
{
    return node->options.server != NULL ? node->options.server : node->launch->program;
}

struct result node_start(struct node *node, struct text *why)
{
    ASSERT(node->state == NODE_DOWN);
    char preload_memory[NODE_PATH_BYTES * 4];
    char clock_memory[NODE_PATH_BYTES + 32];
    char fsync_memory[NODE_PATH_BYTES + 32];
    struct text preload = text_over(preload_memory, sizeof preload_memory);
    struct text clock = text_over(clock_memory, sizeof clock_memory);
    struct text fsync_log = text_over(fsync_memory, sizeof fsync_memory);
    struct server_words words = {.count = 0};
    if (node->launch->prepare != NULL) {
        TRY(node->launch->prepare(&node->server, why));
    }
    server_word(&words, "%s", node_program(node));
    node->launch->words(&node->server, &words);
    struct process_spec spec = {
        .arguments = words.word,
        .run_directory = node->options.run_directory,
        .input = -1,
        .output = -1,
        .log_path = node->log_path,
    };
    if (node->options.fake_clock || node->options.track_fsync) {
        TRY(node_preload(node, &preload, &clock, &fsync_log, why));
        spec.environment[0] = preload.data;
        spec.environment[1] = clock.data;
        spec.environment[2] = fsync_log.data;
    }
    struct result started = process_start(&spec, &node->pid, why);
    if (result_failed(started)) {
        node->pid = 0;
        if (node->options.server == NULL && strstr(why->data, ": No such file") != NULL) {
            text_add(why, " (install it: apt-get install %s)", node->launch->package);
        }
        return started;
    }
    node->state = NODE_STARTING;
    return RESULT_OK;
}

bool node_died(struct node *node, struct text *why)
{
    int status;
    if (node->state == NODE_DOWN || !process_ended(node->pid, &status)) {
        return false;
    }
    node->pid = 0;
    node->state = NODE_DOWN;
    node_hang_up(node);
    text_add(why, "the %s of node %d ended by itself: ", node->launch->program,
             node->options.index + 1);
    process_explain(status, node->log_path, why);
    return true;
}

struct result node_ready(struct node *node, bool *ready, struct text *why)
{
    ASSERT(node->state == NODE_STARTING);
    *ready = false;
    if (node_died(node, why)) {
        bool other = node->server.variant == 0 && node->launch->differs != NULL;
        node->server.variant = other ? node->launch->differs(&node->server) : 0;
        if (node->server.variant == 0) {
            return result_error(ERROR_ENVIRONMENT);
        }
        text_clear(why);
        return node_start(node, why);
    }
    if (node->launch->alive(&node->server)) {
        node->state = NODE_UP;
        *ready = true;
    }
    return RESULT_OK;
}

void node_crash(struct node *node)
{
    if (node->state == NODE_DOWN) {
        return;
    }
    if (node->launch->family) {
        process_kill_family(node->pid);
    } else {
        process_kill(node->pid);
    }
    node_hang_up(node);
    node->pid = 0;
    node->state = NODE_DOWN;
}

struct result node_shutdown(struct node *node, struct text *why)
{
    ASSERT(node->state == NODE_UP);
    int64_t deadline_ns = loop_now_ns() + NODE_SHUTDOWN_SECONDS * NS_PER_S;
    if (node->launch->shut_down != NULL) {
        node->launch->shut_down(&node->server);
    } else {
        (void)kill(node->pid, SIGTERM);
    }
    int status;
    while (!process_ended(node->pid, &status)) {
        if (loop_now_ns() > deadline_ns) {
            text_add(why, "node %d does not shut down within %d s", node->options.index + 1,
                     NODE_SHUTDOWN_SECONDS);
            return result_error(ERROR_ENVIRONMENT);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 200 * NS_PER_US}, NULL);
    }
    node_hang_up(node);
    node->pid = 0;
    node->state = NODE_DOWN;
    return RESULT_OK;
}

/*
 * The greatest length that the fsync shim logged for `path`; 0 when it was never synced. Not the
 * last: an fsync in the server's second thread may end after a later one in its first.
 */
static int64_t node_synced_bytes(const struct node *node, const char *path)
{
    char line[NODE_PATH_BYTES * 2];
    int64_t synced = 0;
    FILE *file = fopen(node->fsync_path, "re");
    if (file == NULL) {
        return 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *name = strchr(line, ' ');
        if (name == NULL) {
            continue;
        }
        name[strcspn(name, "\n")] = 0;
        int64_t length = strtoll(line, NULL, 10);
        if (strcmp(name + 1, path) == 0 && length > synced) {
            synced = length;
        }
    }
    (void)fclose(file);
    return synced;
}

/* What a power cut left is on the disk, and no more: the log begins anew with it. */
static bool node_note_synced(const struct node *node, const char *path, int64_t bytes)
{
    FILE *file = fopen(node->fsync_path, "we");
    if (file == NULL) {
        return false;
    }
    bool printed = fprintf(file, "%lld %s\n", (long long)bytes, path) > 0;
    return fclose(file) == 0 && printed;
}

struct result node_power_loss(struct node *node, struct random_stream *random,
                              struct node_power_loss *loss, struct text *why)
{
    char path[NODE_PATH_BYTES * 2];
    struct stat status;
    memset(loss, 0, sizeof *loss);
    node_crash(node);
    if (node->options.fsync == FSYNC_NONE) {
        return RESULT_OK; /* nothing on the disk: gone with the process */
    }
    ASSERT(node->options.track_fsync);
    ASSERT(node->launch->growing_file != NULL);
    if (!node->launch->growing_file(&node->server, path, sizeof path) || stat(path, &status) != 0) {
        return node_refused(node, "the file that a power cut would cut is missing", why);
    }
    loss->written_bytes = status.st_size;
    loss->synced_bytes = node_synced_bytes(node, path);
    if (loss->synced_bytes > loss->written_bytes) {
        loss->synced_bytes = loss->written_bytes; /* a start cut off half a record since then */
    }
    uint64_t open = (uint64_t)(loss->written_bytes - loss->synced_bytes);
    loss->kept_bytes = loss->synced_bytes + (int64_t)random_below(random, open + 1);
    if (truncate(path, loss->kept_bytes) != 0 || !node_note_synced(node, path, loss->kept_bytes)) {
        return node_refused(node, path, why);
    }
    return RESULT_OK;
}

struct result node_freeze(struct node *node, struct text *why)
{
    ASSERT(node->state == NODE_UP);
    TRY(node->launch->family ? process_freeze_family(node->pid, why)
                             : process_freeze(node->pid, why));
    node->state = NODE_FROZEN;
    return RESULT_OK;
}

void node_thaw(struct node *node)
{
    ASSERT(node->state == NODE_FROZEN);
    if (node->launch->family) {
        process_thaw_family(node->pid);
    } else {
        process_thaw(node->pid);
    }
    node->state = NODE_UP;
}

static int64_t node_machine_wall_ns(void)
{
    struct timespec now;
    ASSERT(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void node_clock_set(struct node *node, int64_t jump_ns, int64_t rate_ppm)
{
    ASSERT(node->clock != NULL);
    clock_page_set(node->clock, node_machine_wall_ns(), jump_ns, rate_ppm);
}

struct result node_clock_offset(struct node *node, int64_t *offset_ns, struct text *why)
{
    ASSERT(node->state == NODE_UP);
    ASSERT(node->launch->clock_offset != NULL);
    return node->launch->clock_offset(&node->server, offset_ns, why);
}

struct result node_ask(struct node *node, const char *const *words, struct admin_reply *reply,
                       struct text *why)
{
    ASSERT(node->state == NODE_UP);
    struct admin admin = {.fd = node->server.talk_fd};
    struct result asked = admin_ask(&admin, node_address(node), words, reply, why);
    node->server.talk_fd = admin.fd;
    return asked;
}

struct result node_order(struct node *node, const char *const *words, struct admin_reply *reply,
                         struct text *why)
{
    TRY(node_ask(node, words, reply, why));
    if (reply->type == '-') {
        text_add(why, "node %d refuses %s: %.*s", node->options.index + 1, words[0],
                 (int)reply->items[0].bytes, reply->items[0].data);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

void node_release(struct node *node)
{
    node_crash(node);
    if (node->clock != NULL) {
        (void)munmap(node->clock, sizeof *node->clock);
        node->clock = NULL;
    }
    if (node->port_fd >= 0) {
        (void)close(node->port_fd);
        node->port_fd = -1;
    }
}
