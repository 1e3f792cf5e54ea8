/* node.c: one server as a child process. */
#include "harness/real/node/node.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/machine_clock.h"
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
    NODE_FURNISH_SECONDS = 120, /* also on a machine that is busy with other things */
    NODE_INPUT_BYTES = 4096,
};

struct result node_refused(const struct node *node, const char *what, struct text *why)
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
static struct result node_reserve_port(const struct node *node, struct address address, int *fd,
                                       struct text *why)
{
    int one = 1;
    struct sockaddr_in socket_address = address_socket(address);
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(*fd, (const struct sockaddr *)&socket_address, sizeof socket_address) != 0) {
        return node_refused(node, "no free port", why);
    }
    return RESULT_OK;
}

/* Where clients come to, and where its fellows do. */
static struct result node_reserve_ports(struct node *node, struct text *why)
{
    TRY(node_reserve_port(node, node_address(node), &node->port_fd, why));
    node->port = address_of(node->port_fd).port;
    node->peer_port[0] = (uint16_t)node->port;
    uint8_t ports = node->launch->peers != NULL ? node->launch->peers->ports : 0;
    for (uint8_t i = 0; i < ports; i++) {
        TRY(node_reserve_port(node, address_local(0), &node->peer_fd[i], why));
        node->peer_port[i] = address_of(node->peer_fd[i]).port;
    }
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
        .pooler = node->options.pooler,
        .consensus = node->options.consensus,
        .ttl_ns = node->options.ttl_ns,
        .power_cut = node->options.track_fsync,
        .clock_moves = node->options.fake_clock,
        .exposed = node->options.ip != 0,
        .followed = node->options.followed,
        .follows = node->options.replica,
        .at = node->options.at,
        .sentinels = node->options.sentinels,
        .program = node->options.server,
        .directory = node->directory,
        .log_path = node->log_path,
        .address = node_address(node),
        .talk_fd = -1,
    };
    memcpy(node->server.peer_port, node->peer_port, sizeof node->peer_port);
}

void node_moved(struct node *node)
{
    node->server.directory = node->directory;
    node->server.log_path = node->log_path;
}

const struct server_launch *node_launch(const struct node_options *options)
{
    const struct server_launch *launch = server_kind_at(options->kind)->launch;
    return options->sentinel ? launch->sentinel : launch;
}

struct result node_init(struct node *node, const struct node_options *options, struct text *why)
{
    memset(node, 0, sizeof *node);
    node->options = *options;
    node->port_fd = -1;
    for (int i = 0; i < SERVER_PEER_PORTS_MAX; i++) {
        node->peer_fd[i] = -1;
    }
    node->server.talk_fd = -1;
    node->launch = node_launch(options);
    ASSERT(node->launch != NULL);
    const char *data =
        options->data_directory != NULL ? options->data_directory : options->run_directory;
    int number = options->index + 1;
    const char *suffix = options->replica ? "-replica" : options->sentinel ? "-sentinel" : "";
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
    TRY(node_reserve_ports(node, why));
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
        text_add(preload, "%s ", path);
    }
    if (node->launch->shared_memory) {
        TRY(shim_find("memory", path, sizeof path, why));
        text_add(preload, "%s", path);
    }
    return RESULT_OK;
}

/* Where its program is; a path that is given is taken as it is. */
static struct result node_program(const struct node *node, char *path, size_t bytes,
                                  struct text *why)
{
    if (node->options.server != NULL) {
        (void)snprintf(path, bytes, "%s", node->options.server);
    } else if (!server_launch_find(node->launch, path, bytes)) {
        text_add(why,
                 "cannot start %s: No such file or directory (install it: ", node->launch->program);
        server_launch_remedy(node->launch, why);
        text_add(why, ")");
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* Run a program of its kind to its end, and let it read `input`. */
static struct result node_run(struct node *node, struct process_spec *spec,
                              const struct text *input, struct text *why)
{
    int ends[2];
    int status = 0;
    pid_t pid;
    int64_t deadline_ns = loop_now_ns() + NODE_FURNISH_SECONDS * NS_PER_S;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return node_refused(node, "a pipe", why);
    }
    bool said = write(ends[1], input->data, input->length) == (ssize_t)input->length;
    (void)close(ends[1]);
    spec->input = ends[0];
    struct result started = process_start(spec, &pid, why);
    (void)close(ends[0]);
    TRY(started);
    while (!process_ended(pid, &status)) {
        if (loop_now_ns() > deadline_ns) {
            process_kill_family(pid);
            text_add(why, "node %d: its directory is not made within %d s", node->options.index + 1,
                     NODE_FURNISH_SECONDS);
            return result_error(ERROR_ENVIRONMENT);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 500 * NS_PER_US}, NULL);
    }
    if (status != 0 || !said) {
        text_add(why, "node %d: its directory cannot be made: ", node->options.index + 1);
        process_explain(status, node->log_path, why);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* What its kind needs in its directory, before the first start. */
static struct result node_furnish(struct node *node, struct process_spec spec, struct text *why)
{
    char memory[NODE_INPUT_BYTES];
    struct text input = text_over(memory, sizeof memory);
    struct server_words words = {.count = 0};
    if (node->furnished || node->launch->furnish == NULL) {
        return RESULT_OK;
    }
    node->launch->furnish(&node->server, &words, &input);
    spec.arguments = words.word;
    TRY(node_run(node, &spec, &input, why));
    (void)unlink(node->fsync_path); /* what it begins with is on the disk */
    node->furnished = true;
    return RESULT_OK;
}

struct result node_start(struct node *node, struct text *why)
{
    ASSERT(node->state == NODE_DOWN);
    char preload_memory[NODE_PATH_BYTES * 6];
    char clock_memory[NODE_PATH_BYTES + 32];
    char fsync_memory[NODE_PATH_BYTES + 32];
    char program[SERVER_PATH_BYTES];
    struct text preload = text_over(preload_memory, sizeof preload_memory);
    struct text clock = text_over(clock_memory, sizeof clock_memory);
    struct text fsync_log = text_over(fsync_memory, sizeof fsync_memory);
    char writes_memory[NODE_PATH_BYTES + 64];
    struct text writes = text_over(writes_memory, sizeof writes_memory);
    struct server_words words = {.count = 0};
    struct process_spec spec = {
        .run_directory = node->options.run_directory,
        .input = -1,
        .output = -1,
        .log_path = node->log_path,
        .unprivileged = node->launch->unprivileged,
    };
    TRY(node_program(node, program, sizeof program, why));
    if (node->options.fake_clock || node->options.track_fsync || node->launch->shared_memory) {
        TRY(node_preload(node, &preload, &clock, &fsync_log, why));
        spec.environment[0] = preload.data;
        spec.environment[1] = clock.data;
        spec.environment[2] = fsync_log.data;
    }
    if (node->options.track_fsync && node->launch->log_folder != NULL) {
        text_add(&writes, "PICKLOCK_FSYNC_WRITES=/%s/", node->launch->log_folder);
        spec.environment[3] = writes.data;
    }
    TRY(node_furnish(node, spec, why));
    if (node->launch->prepare != NULL) {
        TRY(node->launch->prepare(&node->server, why));
    }
    if (node->launch->before != NULL) {
        TRY(node->launch->before(&node->server, &words, why));
    }
    server_word(&words, "%s", program);
    node->launch->words(&node->server, &words);
    spec.arguments = words.word;
    struct result started = process_start(&spec, &node->pid, why);
    if (result_failed(started)) {
        node->pid = 0;
        return started;
    }
    node->state = NODE_STARTING;
    node->server.starts++;
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

void node_clock_set(struct node *node, int64_t jump_ns, int64_t rate_ppm)
{
    ASSERT(node->clock != NULL);
    clock_page_set(node->clock, realtime_ns(), jump_ns, rate_ppm);
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
    for (int i = 0; i < SERVER_PEER_PORTS_MAX; i++) {
        if (node->peer_fd[i] >= 0) {
            (void)close(node->peer_fd[i]);
            node->peer_fd[i] = -1;
        }
    }
}
