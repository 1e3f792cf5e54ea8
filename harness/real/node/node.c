/* node.c: one redis-server as a child process. */
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
    NODE_WORDS_MAX = 40,
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
    address.password = node->options.password;
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

/* What must not stand in its command line, which everybody on the machine can read. */
static struct result node_write_conf(const struct node *node, struct text *why)
{
    const char *password = node->options.password;
    int fd = open(node->conf_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool written = fd >= 0 && (password == NULL || dprintf(fd, "requirepass %s\nmasterauth %s\n",
                                                           password, password) > 0);
    int error = errno;
    if (fd >= 0 && close(fd) != 0) {
        written = false;
    }
    errno = error;
    return written ? RESULT_OK : node_refused(node, node->conf_path, why);
}

struct result node_init(struct node *node, const struct node_options *options, struct text *why)
{
    memset(node, 0, sizeof *node);
    node->options = *options;
    node->port_fd = -1;
    node->admin = ADMIN_CLOSED;
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
    (void)snprintf(node->conf_path, sizeof node->conf_path, "%.480s/node.conf", node->directory);
    (void)snprintf(node->fsync_path, sizeof node->fsync_path, "%.480s.fsync", node->directory);
    if (mkdir(node->directory, S_IRWXU) != 0 && errno != EEXIST) {
        return node_refused(node, node->directory, why);
    }
    TRY(node_write_conf(node, why));
    if (options->fake_clock) {
        TRY(node_map_clock(node, why));
    }
    return node_reserve_port(node, why);
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
    return node->options.server != NULL ? node->options.server : "redis-server";
}

struct result node_start(struct node *node, struct text *why)
{
    ASSERT(node->state == NODE_DOWN);
    char port[16];
    char ip_memory[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    char preload_memory[NODE_PATH_BYTES * 4];
    char clock_memory[NODE_PATH_BYTES + 32];
    char fsync_memory[NODE_PATH_BYTES + 32];
    struct text preload = text_over(preload_memory, sizeof preload_memory);
    struct text clock = text_over(clock_memory, sizeof clock_memory);
    struct text fsync_log = text_over(fsync_memory, sizeof fsync_memory);
    bool file = node->options.fsync != FSYNC_NONE;
    (void)snprintf(port, sizeof port, "%d", node->port);
    address_print_ip(node_address(node), &ip);
    const char *const words[NODE_WORDS_MAX] = {node_program(node),
                                               node->conf_path,
                                               "--port",
                                               port,
                                               "--bind",
                                               ip.data,
                                               "--protected-mode",
                                               node->options.ip != 0 ? "no" : "yes",
                                               "--dir",
                                               node->directory,
                                               "--save",
                                               "",
                                               "--appendonly",
                                               file ? "yes" : "no",
                                               "--appendfsync",
                                               node->options.fsync == FSYNC_ALWAYS ? "always"
                                                                                   : "everysec",
                                               "--repl-diskless-sync",
                                               "no",
                                               "--auto-aof-rewrite-percentage",
                                               "0",
                                               "--daemonize",
                                               "no",
                                               node->old ? NULL : "--set-proc-title",
                                               "no",
                                               NULL};
    struct process_spec spec = {
        .arguments = words,
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
            text_add(why, " (install it: apt-get install redis-server)");
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
    admin_close(&node->admin);
    text_add(why, "the redis-server of node %d ended by itself: ", node->options.index + 1);
    process_explain(status, node->log_path, why);
    return true;
}

/* Redis 6.0 does not know an option of ours, and says so in its log. */
static bool node_is_old(const struct node *node)
{
    char line[512];
    bool old = false;
    FILE *log = fopen(node->log_path, "re");
    while (log != NULL && !old && fgets(line, sizeof line, log) != NULL) {
        old = strstr(line, "set-proc-title") != NULL;
    }
    if (log != NULL) {
        (void)fclose(log);
    }
    return old;
}

struct result node_ready(struct node *node, bool *ready, struct text *why)
{
    ASSERT(node->state == NODE_STARTING);
    *ready = false;
    if (node_died(node, why)) {
        if (node->old || !node_is_old(node)) {
            return result_error(ERROR_ENVIRONMENT);
        }
        text_clear(why);
        node->old = true;
        return node_start(node, why);
    }
    if (admin_alive(node_address(node))) {
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
    process_kill(node->pid);
    admin_close(&node->admin);
    node->pid = 0;
    node->state = NODE_DOWN;
}

struct result node_shutdown(struct node *node, struct text *why)
{
    ASSERT(node->state == NODE_UP);
    int64_t deadline_ns = loop_now_ns() + NODE_SHUTDOWN_SECONDS * NS_PER_S;
    struct admin_reply reply;
    char unheard[WHY_BYTES];
    struct text no_answer = text_over(unheard, sizeof unheard);
    result_ignore(node_ask(node, (const char *[]){"SHUTDOWN", NULL}, &reply, &no_answer),
                  "it closes the connection instead of answering; its end is waited for below");
    int status;
    while (!process_ended(node->pid, &status)) {
        if (loop_now_ns() > deadline_ns) {
            text_add(why, "node %d does not shut down within %d s", node->options.index + 1,
                     NODE_SHUTDOWN_SECONDS);
            return result_error(ERROR_ENVIRONMENT);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 200 * NS_PER_US}, NULL);
    }
    admin_close(&node->admin);
    node->pid = 0;
    node->state = NODE_DOWN;
    return RESULT_OK;
}

/* The newest append-only file that grows: the last "... type i" line of the manifest. */
static bool node_growing_file(const struct node *node, char *path, size_t path_bytes)
{
    char manifest[NODE_PATH_BYTES + 64];
    char line[512];
    char name[256];
    bool found = false;
    (void)snprintf(manifest, sizeof manifest, "%s/appendonlydir/appendonly.aof.manifest",
                   node->directory);
    FILE *file = fopen(manifest, "re");
    if (file == NULL) {
        (void)snprintf(path, path_bytes, "%s/appendonly.aof", node->directory); /* before 7.0 */
        return access(path, F_OK) == 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, " type i") != NULL && sscanf(line, "file %255s", name) == 1) {
            (void)snprintf(path, path_bytes, "%s/appendonlydir/%s", node->directory, name);
            found = true;
        }
    }
    (void)fclose(file);
    return found;
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
    if (!node_growing_file(node, path, sizeof path) || stat(path, &status) != 0) {
        return node_refused(node, "its append-only file is missing", why);
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
    TRY(process_freeze(node->pid, why));
    node->state = NODE_FROZEN;
    return RESULT_OK;
}

void node_thaw(struct node *node)
{
    ASSERT(node->state == NODE_FROZEN);
    process_thaw(node->pid);
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
    return admin_clock_offset(&node->admin, node_address(node), offset_ns, why);
}

struct result node_ask(struct node *node, const char *const *words, struct admin_reply *reply,
                       struct text *why)
{
    ASSERT(node->state == NODE_UP);
    return admin_ask(&node->admin, node_address(node), words, reply, why);
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
