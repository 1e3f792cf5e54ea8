/* sentinel.c: sentinels as processes: redis-servers that watch others. */
#include "servers/redis/redis.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * All know a node, and a sentinel, by one address: its door. Who comes through it is seen from
 * where, which Redis lets be said since 7.0 (bind-source-addr). What they would find out in some
 * seconds, each other and the replicas, their files say at once.
 */

static void conf_path(const struct server_process *process, char path[SERVER_PATH_BYTES + 16])
{
    (void)snprintf(path, SERVER_PATH_BYTES + 16, "%.500s/sentinel.conf", process->directory);
}

static void conf_id(FILE *conf, uint32_t index)
{
    (void)fprintf(conf, "%040x", index + 1);
}

static uint16_t door_of(const struct server_process *process, uint32_t port, uint32_t index)
{
    return process->peers[port * process->node_count + index];
}

static void conf_write(const struct server_process *process, FILE *conf)
{
    const struct server_sentinels *sentinels = &process->sentinels;
    uint32_t quorum = sentinels->quorum > 0 ? sentinels->quorum : lock_quorum(sentinels->count);
    (void)fprintf(conf, "port %u\nbind 127.0.0.1\nbind-source-addr 127.0.0.%u\ndir %s\n",
                  process->address.port, SENTINEL_SOURCE_FIRST + process->index,
                  process->directory);
    if (process->address.password != NULL) {
        (void)fprintf(conf, "requirepass %s\n", process->address.password);
    }
    (void)fprintf(conf, "sentinel myid ");
    conf_id(conf, process->index);
    (void)fprintf(conf, "\nsentinel announce-ip 127.0.0.1\nsentinel announce-port %u\n",
                  door_of(process, 1, process->index));
    (void)fprintf(conf, "sentinel monitor picklock 127.0.0.1 %u %u\n", door_of(process, 0, 0),
                  quorum);
    if (process->address.password != NULL) {
        (void)fprintf(conf, "sentinel auth-pass picklock %s\n", process->address.password);
    }
    (void)fprintf(conf, "sentinel down-after-milliseconds picklock %lld\n",
                  (long long)(sentinels->down_after_ns / 1000000));
    (void)fprintf(conf, "sentinel failover-timeout picklock %lld\n",
                  (long long)(sentinels->failover_timeout_ns / 1000000));
    for (uint32_t i = 1; i < process->node_count; i++) {
        (void)fprintf(conf, "sentinel known-replica picklock 127.0.0.1 %u\n",
                      door_of(process, 0, i));
    }
    for (uint32_t i = 0; i < sentinels->count; i++) {
        if (i != process->index) {
            (void)fprintf(conf, "sentinel known-sentinel picklock 127.0.0.1 %u ",
                          door_of(process, 1, i));
            conf_id(conf, i);
            (void)fprintf(conf, "\n");
        }
    }
}

static struct result sentinel_prepare(struct server_process *process, struct text *why)
{
    char path[SERVER_PATH_BYTES + 16];
    conf_path(process, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
    FILE *conf = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (conf != NULL) {
        conf_write(process, conf);
    }
    if (conf == NULL || fclose(conf) != 0) {
        text_add(why, "sentinel %u: %s: %s", process->index + 1, path, strerror(errno));
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

static void sentinel_words(const struct server_process *process, struct server_words *words)
{
    char path[SERVER_PATH_BYTES + 16];
    conf_path(process, path);
    server_word(words, "%s", path);
    server_word(words, "--sentinel");
}

static enum wire_cut sentinel_greeting(const struct server_greeting *greeting, char *data,
                                       size_t bytes, uint32_t *from)
{
    (void)data;
    (void)bytes;
    uint32_t node = ntohl(greeting->source_ip) - (INADDR_LOOPBACK - 1 + SENTINEL_SOURCE_FIRST);
    *from = node < greeting->node_count ? node : SERVER_PEER_NOBODY;
    return WIRE_CUT_MESSAGE;
}

const struct server_peers redis_sentinel_peers = {
    .ports = 2,
    .one_door = true,
    .greeting = sentinel_greeting,
};

const struct server_launch redis_sentinel_launch = {
    .program = "redis-server",
    .package = "redis-server",
    .password = true,
    .prepare = sentinel_prepare,
    .words = sentinel_words,
    .alive = redis_alive,
};
