/* launch.c: redis-servers as processes. */
#include "servers/redis/redis.h"

#include "base/why.h"
#include "servers/redis/real/admin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void conf_path(const struct server_process *process, char path[SERVER_PATH_BYTES + 16])
{
    (void)snprintf(path, SERVER_PATH_BYTES + 16, "%.500s/node.conf", process->directory);
}

/* Without a file a restart forgets everything; what replicas were synced from, or it was synced by
 * itself, is a file that it would read. */
static void forget(const struct server_process *process)
{
    char path[SERVER_PATH_BYTES + 16];
    (void)snprintf(path, sizeof path, "%.500s/dump.rdb", process->directory);
    if (process->fsync == FSYNC_NONE) {
        (void)unlink(path);
    }
}

/* What must not stand in its command line, which everybody on the machine can read. */
static struct result redis_prepare(struct server_process *process, struct text *why)
{
    char path[SERVER_PATH_BYTES + 16];
    const char *password = process->address.password;
    forget(process);
    conf_path(process, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    bool written = fd >= 0 && (password == NULL || dprintf(fd, "requirepass %s\nmasterauth %s\n",
                                                           password, password) > 0);
    int error = errno;
    if (fd >= 0 && close(fd) != 0) {
        written = false;
    }
    if (!written) {
        text_add(why, "node %u: %s: %s", process->index + 1, path, strerror(error));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

/* With sentinels: all find it by its one door, and it goes to others from an address of its own. */
static void watched_words(const struct server_process *process, struct server_words *words)
{
    server_word(words, "--replica-announce-ip");
    server_word(words, "127.0.0.1");
    server_word(words, "--replica-announce-port");
    server_word(words, "%u", process->peers[process->index]);
    server_word(words, "--bind-source-addr");
    server_word(words, "127.0.0.%u", SENTINEL_SOURCE_FIRST + process->index);
}

static void redis_start_words(const struct server_process *process, struct server_words *words)
{
    char ip_memory[16];
    struct text ip = text_over(ip_memory, sizeof ip_memory);
    address_print_ip(process->address, &ip);
    const char *const pairs[][2] = {
        {"--bind", ip.data},
        {"--protected-mode", process->exposed ? "no" : "yes"},
        {"--dir", process->directory},
        {"--save", ""},
        {"--appendonly", process->fsync != FSYNC_NONE ? "yes" : "no"},
        {"--appendfsync", process->fsync == FSYNC_ALWAYS ? "always" : "everysec"},
        {"--repl-diskless-sync", "no"},
        {"--auto-aof-rewrite-percentage", "0"},
        {"--daemonize", "no"},
        {"--set-proc-title", "no"},
    };
    size_t count = sizeof pairs / sizeof pairs[0] - (process->variant != 0 ? 1 : 0);
    char conf[SERVER_PATH_BYTES + 16];
    conf_path(process, conf);
    server_word(words, "%s", conf);
    server_word(words, "--port");
    server_word(words, "%u", process->address.port);
    for (size_t i = 0; i < count; i++) {
        server_word(words, "%s", pairs[i][0]);
        server_word(words, "%s", pairs[i][1]);
    }
    if (process->sentinels.count > 0) {
        watched_words(process, words);
    }
}

/* Redis 6.0 does not know an option of ours, and says so in its log. */
static uint8_t redis_differs(const struct server_process *process)
{
    char line[512];
    bool old = false;
    FILE *log = fopen(process->log_path, "re");
    while (log != NULL && !old && fgets(line, sizeof line, log) != NULL) {
        old = strstr(line, "set-proc-title") != NULL;
    }
    if (log != NULL) {
        (void)fclose(log);
    }
    return old ? 1 : 0;
}

bool redis_alive(struct server_process *process)
{
    struct admin admin = {process->talk_fd, process->talk_awaited};
    bool alive = admin_look(&admin, process->address);
    process->talk_fd = admin.fd;
    process->talk_awaited = admin.awaited;
    return alive;
}

static void redis_shut_down(struct server_process *process)
{
    struct admin admin = {.fd = process->talk_fd};
    struct admin_reply reply;
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    result_ignore(
        admin_ask(&admin, process->address, (const char *[]){"SHUTDOWN", NULL}, &reply, &why),
        "it closes the connection instead of answering; its end is waited for");
    process->talk_fd = admin.fd;
}

/* The newest append-only file that grows: the last "... type i" line of the manifest. */
static bool redis_growing_file(const struct server_process *process, char *path, size_t path_bytes)
{
    char manifest[SERVER_PATH_BYTES + 64];
    char line[512];
    char name[256];
    bool found = false;
    (void)snprintf(manifest, sizeof manifest, "%s/appendonlydir/appendonly.aof.manifest",
                   process->directory);
    FILE *file = fopen(manifest, "re");
    if (file == NULL) {
        /* before 7.0 */
        (void)snprintf(path, path_bytes, "%s/appendonly.aof", process->directory);
        return access(path, F_OK) == 0;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strstr(line, " type i") != NULL && sscanf(line, "file %255s", name) == 1) {
            (void)snprintf(path, path_bytes, "%s/appendonlydir/%s", process->directory, name);
            found = true;
        }
    }
    (void)fclose(file);
    return found;
}

static struct result redis_clock_offset(struct server_process *process, int64_t *offset_ns,
                                        struct text *why)
{
    struct admin admin = {.fd = process->talk_fd};
    struct result looked = admin_clock_offset(&admin, process->address, offset_ns, why);
    process->talk_fd = admin.fd;
    return looked;
}

/* The line "NAME:VALUE" of an INFO answer; false: there is none. */
static bool info_line(const struct admin_item *info, const char *name, char *value, size_t bytes)
{
    size_t length = strlen(name);
    const char *at = info->data;
    const char *end = info->data + info->bytes;
    while (at != NULL && at < end) {
        const char *line_end = memchr(at, '\r', (size_t)(end - at));
        size_t line_bytes = (size_t)((line_end != NULL ? line_end : end) - at);
        if (line_bytes > length && memcmp(at, name, length) == 0 && at[length] == ':') {
            (void)snprintf(value, bytes, "%.*s", (int)(line_bytes - length - 1), at + length + 1);
            return true;
        }
        at = line_end != NULL ? line_end + 2 : NULL;
    }
    return false;
}

/* "redis 7.0.15", "valkey 8.1.1". A server that does not say is of an unknown version. */
static struct result redis_version(struct server_process *process, struct text *name,
                                   struct text *why)
{
    struct admin admin = {.fd = process->talk_fd};
    struct admin_reply reply;
    char version[32];
    struct result asked =
        admin_ask(&admin, process->address, (const char *[]){"INFO", "server", NULL}, &reply, why);
    process->talk_fd = admin.fd;
    TRY(asked);
    if (reply.type == '$' && info_line(&reply.items[0], "valkey_version", version, 32)) {
        text_add(name, "valkey %s", version);
    } else if (reply.type == '$' && info_line(&reply.items[0], "redis_version", version, 32)) {
        text_add(name, "redis %s", version);
    }
    return RESULT_OK;
}

/* A replica comes where clients come; it finds whom it follows by a door of its own. */
static const struct server_peers redis_peers = {.ports = 0};

const struct server_launch redis_launch = {
    .program = "redis-server",
    .package = "redis-server",
    .version_words = "server v=", /* "Redis server v=7.0.15", "Valkey server v=8.0.1" */
    .version_min = 500,           /* REPLICAOF */
    .password = true,
    .orders = true,
    .peers = &redis_peers,
    .sentinel = &redis_sentinel_launch,
    .sentinel_peers = &redis_sentinel_peers,
    .prepare = redis_prepare,
    .words = redis_start_words,
    .differs = redis_differs,
    .alive = redis_alive,
    .shut_down = redis_shut_down,
    .growing_file = redis_growing_file,
    .clock_offset = redis_clock_offset,
    .version = redis_version,
};
