/* member.c: what a member of a ZooKeeper ensemble says of itself, asked past the proxies. */
#include "servers/zookeeper/real/member.h"

#include "servers/zookeeper/real/jute.h"

#include "base/duration.h"
#include "base/machine_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 5

/* A member that was ready may elect again before it is asked, and says only then that it serves. */
enum { SERVES_S = 30, SERVES_PAUSE_US = 100000 };

/* A connection that is not waited for for ever; -1 without one. */
static int member_connect(const struct server_process *process)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = address_connect(process->address);
    if (fd >= 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }
    return fd;
}

void zookeeper_ask(const struct server_process *process, const char word[5],
                   char answer[ZOOKEEPER_ANSWER_BYTES])
{
    size_t bytes = 0;
    int fd = member_connect(process);
    ssize_t got = fd >= 0 && send(fd, word, 4, MSG_NOSIGNAL) == 4 ? 1 : 0;
    while (got > 0 && bytes < ZOOKEEPER_ANSWER_BYTES - 1) {
        got = recv(fd, answer + bytes, ZOOKEEPER_ANSWER_BYTES - 1 - bytes, 0);
        bytes += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    answer[bytes] = '\0';
}

/* "Zookeeper version: 3.8.0-..., built on ..."; or that it is not currently serving requests. */
struct result zookeeper_version(struct server_process *process, struct text *name, struct text *why)
{
    static const char said[] = "version: ";
    char answer[ZOOKEEPER_ANSWER_BYTES];
    const char *version = NULL;
    int64_t until_ns = monotonic_ns() + SERVES_S * NS_PER_S;
    while (version == NULL && monotonic_ns() < until_ns) {
        zookeeper_ask(process, "srvr", answer);
        version = strstr(answer, said);
        if (version == NULL) {
            (void)usleep(SERVES_PAUSE_US);
        }
    }
    if (version == NULL) {
        text_add(why, "node %u does not say its version, but \"%.*s\"", process->index + 1,
                 (int)strcspn(answer, "\n"), answer);
        return result_error(ERROR_ENVIRONMENT);
    }
    version += strlen(said);
    text_add(name, "zookeeper %.*s", (int)strcspn(version, "-,\n"), version);
    return RESULT_OK;
}

/* ---- its clock ------------------------------------------------------------------------------- */

/* "It has seen zxid ...": no member has a session for who has seen more than there is. */
static bool refusal_ask(int fd)
{
    static const char password[JUTE_PASSWORD_BYTES];
    char message[128];
    char nothing[128];
    struct jute_writer writer;
    jute_begin(&writer, message, sizeof message);
    jute_add_connect(&writer, INT64_MAX, 0, 0, password);
    jute_end(&writer);
    ssize_t got = send(fd, message, writer.bytes, MSG_NOSIGNAL) == (ssize_t)writer.bytes ? 1 : -1;
    while (got > 0) {
        got = recv(fd, nothing, sizeof nothing, 0);
    }
    return got == 0 || errno == ECONNRESET;
}

/* What stands in its log behind `at`, from the newest refusal on: "2026-11-27 18:00:00.000 ..." */
static bool refusal_read(const struct server_process *process, long at, struct tm *date,
                         int64_t *rest_ms)
{
    static const char said[] = "Refusing session request";
    char line[1024];
    bool found = false;
    FILE *log = fopen(process->log_path, "re");
    if (log == NULL || fseek(log, at, SEEK_SET) != 0) {
        at = -1;
    }
    while (at >= 0 && fgets(line, sizeof line, log) != NULL) {
        const char *rest = strstr(line, said) != NULL ? strptime(line, "%Y-%m-%d %T.", date) : NULL;
        found = found || rest != NULL;
        *rest_ms = rest != NULL ? strtoll(rest, NULL, 10) : *rest_ms;
    }
    if (log != NULL) {
        (void)fclose(log);
    }
    return found;
}

struct result zookeeper_clock_offset(struct server_process *process, int64_t *offset_ns,
                                     struct text *why)
{
    struct stat log = {.st_size = 0};
    struct tm date = {.tm_sec = 0};
    int64_t rest_ms = 0;
    int fd = member_connect(process);
    (void)stat(process->log_path, &log);
    int64_t before_ns = realtime_ns();
    bool refused = fd >= 0 && refusal_ask(fd);
    int64_t after_ns = realtime_ns();
    if (fd >= 0) {
        (void)close(fd);
    }
    if (!refused || !refusal_read(process, (long)log.st_size, &date, &rest_ms)) {
        text_add(why, "node %u does not say what its clock shows: it does so while it serves",
                 process->index + 1);
        return result_error(ERROR_ENVIRONMENT);
    }
    int64_t shown_ns = timegm(&date) * NS_PER_S + rest_ms * NS_PER_MS;
    *offset_ns = shown_ns - (before_ns + (after_ns - before_ns) / 2);
    return RESULT_OK;
}
