/* launch.c: members of a Hazelcast cluster as processes: adapters/hazelcast. */
#include "servers/hazelcast/real/real.h"

#include "base/duration.h"
#include "base/machine_clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MEMBER_PROGRAM "hazelcast-member"

/*
 * Whoever connects to a fellow does so from one of its own ports, by which the proxies know it:
 * what it says first names nobody. Below what the kernel gives out; where another run has one of
 * them the next is taken.
 */
enum { MEMBER_FROM_FIRST = 21000, MEMBER_FROM_COUNT = 500 };

enum { MEMBER_ANSWER_BYTES = 64, MEMBER_LOOKS = 2000 };

/* On the PATH, or where `make adapters` puts it beside the house that picklock was built in: in one
 * of the folders above it. */
static bool member_find(char *path, size_t bytes)
{
    char self[SERVER_PATH_BYTES];
    if (server_program_find(MEMBER_PROGRAM, path, bytes)) {
        return true;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    while (length > 0) {
        self[length] = '\0';
        char *slash = strrchr(self, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
        length = slash - self;
        int printed = snprintf(path, bytes, "%s/adapters/hazelcast/target/" MEMBER_PROGRAM, self);
        if (printed > 0 && (size_t)printed < bytes && access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

static struct server_lack member_lacks(void)
{
    char path[SERVER_PATH_BYTES];
    if (!server_program_find("java", path, sizeof path)) {
        return (struct server_lack){"java is not installed",
                                    "apt-get install default-jre-headless"};
    }
    return (struct server_lack){NULL, NULL};
}

static void member_words(const struct server_process *process, struct server_words *words)
{
    int64_t ttl_s = (process->ttl_ns + NS_PER_S - 1) / NS_PER_S;
    uint32_t group = process->consensus == CONSENSUS_NONE ? 0 : process->node_count;
    server_word(words, "%u", process->index);
    server_word(words, "%u", process->starts);
    server_word(words, "%u", process->address.port);
    server_word(words, "%u", process->peer_port[0]);
    server_word(words, "%u", MEMBER_FROM_FIRST + process->index * MEMBER_FROM_COUNT);
    server_word(words, "%" PRId64, ttl_s < 2 ? 2 : ttl_s); /* more than a heartbeat interval */
    server_word(words, "%u", group);
    for (uint32_t node = 0; node < process->node_count; node++) {
        server_word(words, "%u",
                    process->peers != NULL ? process->peers[node] : process->peer_port[0]);
    }
}

static void hang_up(struct server_process *process)
{
    if (process->talk_fd >= 0) {
        (void)close(process->talk_fd);
    }
    process->talk_fd = -1;
    process->talk_awaited = 0;
}

static bool say(struct server_process *process, const char *line)
{
    if (process->talk_fd < 0) {
        process->talk_fd = address_connect(process->address);
    }
    process->talk_awaited = 1;
    ssize_t bytes = (ssize_t)strlen(line);
    return process->talk_fd >= 0 &&
           send(process->talk_fd, line, (size_t)bytes, MSG_NOSIGNAL) == bytes;
}

/* Whether it is there; a connection that ended is hung up. */
static bool hear(struct server_process *process, char answer[MEMBER_ANSWER_BYTES])
{
    ssize_t got = recv(process->talk_fd, answer, MEMBER_ANSWER_BYTES - 1, MSG_DONTWAIT);
    if (got > 0) {
        answer[got] = '\0';
        process->talk_awaited = 0;
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        hang_up(process);
    }
    return false;
}

static bool member_alive(struct server_process *process)
{
    char answer[MEMBER_ANSWER_BYTES];
    if (process->talk_fd < 0 || process->talk_awaited == 0) {
        if (!say(process, "ready\n")) {
            hang_up(process);
        }
        return false;
    }
    return hear(process, answer) && answer[0] == '+';
}

static struct result member_ask(struct server_process *process, const char *line,
                                char answer[MEMBER_ANSWER_BYTES], struct text *why)
{
    hang_up(process);
    bool heard = false;
    for (int i = 0; i < MEMBER_LOOKS && !heard && (i == 0 ? say(process, line) : true); i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS / 2}, NULL);
        heard = process->talk_fd >= 0 && hear(process, answer);
    }
    hang_up(process);
    if (!heard) {
        text_add(why, "node %u does not answer \"%.*s\"", process->index + 1, (int)strlen(line) - 1,
                 line);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

static struct result member_clock_offset(struct server_process *process, int64_t *offset_ns,
                                         struct text *why)
{
    char answer[MEMBER_ANSWER_BYTES];
    int64_t before_ns = realtime_ns();
    TRY(member_ask(process, "clock\n", answer, why));
    int64_t middle_ns = before_ns + (realtime_ns() - before_ns) / 2;
    *offset_ns = strtoll(answer + 1, NULL, 10) * NS_PER_MS - middle_ns;
    return RESULT_OK;
}

static struct result member_version(struct server_process *process, struct text *name,
                                    struct text *why)
{
    char answer[MEMBER_ANSWER_BYTES];
    TRY(member_ask(process, "version\n", answer, why));
    text_add(name, "hazelcast %.*s", (int)strcspn(answer, "\n"), answer);
    return RESULT_OK;
}

static enum wire_cut member_greeting(const struct server_greeting *greeting, char *data,
                                     size_t bytes, uint32_t *from)
{
    (void)data;
    (void)bytes;
    uint32_t port = greeting->source_port;
    uint32_t node = (port - MEMBER_FROM_FIRST) / MEMBER_FROM_COUNT;
    bool fellow = port >= MEMBER_FROM_FIRST && node < greeting->node_count;
    *from = fellow ? node : SERVER_PEER_NOBODY;
    return WIRE_CUT_MESSAGE;
}

static const struct server_peers peers = {
    .ports = 1,
    .one_door = true,
    .greeting = member_greeting,
};

const struct server_launch hazelcast_launch = {
    .program = MEMBER_PROGRAM,
    .remedy = "make adapters, which needs Maven: apt-get install maven",
    .find = member_find,
    .lacks = member_lacks,
    .version_words = "hazelcast ",
    .version_min = 504,
    .nodes_min = 3, /* else it refuses to begin a CP group */
    .weight = 4,    /* a Java machine for each member */
    .start_seconds = 90,
    .peers = &peers,
    .words = member_words,
    .alive = member_alive,
    .clock_offset = member_clock_offset,
    .version = member_version,
};
