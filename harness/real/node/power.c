/* power.c: what a power cut leaves of a server's files. */
#include "harness/real/node/node.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a file that grows ----------------------------------------------------------------------- */

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

static struct result grown_cut(struct node *node, struct random_stream *random,
                               struct node_power_loss *loss, struct text *why)
{
    char path[NODE_PATH_BYTES * 2];
    struct stat status;
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

/* ---- files that were there before ------------------------------------------------------------ */

enum { POWER_WRITES_MAX = 1024, POWER_ZEROS_BYTES = 8192 };

/* A write that no sync has followed. */
struct power_write {
    int64_t offset;
    int64_t bytes;
    char path[NODE_PATH_BYTES * 2];
};

struct power_writes {
    uint32_t count;
    bool overflow;
    struct power_write list[POWER_WRITES_MAX]; /* in their order */
};

static void writes_synced(struct power_writes *writes, const char *path)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < writes->count; i++) {
        if (strcmp(writes->list[i].path, path) != 0) {
            writes->list[kept++] = writes->list[i];
        }
    }
    writes->count = kept;
}

/* "W OFFSET LENGTH PATH" or "SIZE PATH", as the shim logged it. */
static void writes_line(struct power_writes *writes, char *line)
{
    bool wrote = line[0] == 'W';
    char *at = wrote ? line + 1 : line;
    int64_t first = strtoll(at, &at, 10);
    int64_t second = wrote ? strtoll(at, &at, 10) : 0;
    at += *at == ' ' ? 1 : 0;
    at[strcspn(at, "\n")] = '\0';
    if (!wrote) {
        writes_synced(writes, at);
    } else if (writes->count == POWER_WRITES_MAX) {
        writes->overflow = true;
    } else {
        struct power_write *write = &writes->list[writes->count++];
        write->offset = first;
        write->bytes = second;
        (void)snprintf(write->path, sizeof write->path, "%s", at);
    }
}

static bool write_undo(const struct power_write *write)
{
    static const char zeros[POWER_ZEROS_BYTES];
    int fd = open(write->path, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 || errno == ENOENT; /* a file that is gone has nothing to lose */
    for (int64_t at = 0; fd >= 0 && fine && at < write->bytes;) {
        int64_t left = write->bytes - at;
        size_t part = left < POWER_ZEROS_BYTES ? (size_t)left : POWER_ZEROS_BYTES;
        fine = pwrite(fd, zeros, part, write->offset + at) == (ssize_t)part;
        at += (int64_t)part;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return fine;
}

static struct result writes_cut(struct node *node, struct random_stream *random,
                                struct node_power_loss *loss, struct text *why)
{
    static struct power_writes writes;
    char line[NODE_PATH_BYTES * 2 + 64];
    FILE *file = fopen(node->fsync_path, "re");
    writes.count = 0;
    writes.overflow = false;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        writes_line(&writes, line);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (writes.overflow) {
        text_add(why, "node %d: more than %d writes without a sync", node->options.index + 1,
                 POWER_WRITES_MAX);
        return result_error(ERROR_LIMIT);
    }
    uint32_t kept = (uint32_t)random_below(random, (uint64_t)writes.count + 1);
    for (uint32_t i = 0; i < writes.count; i++) {
        loss->written_bytes += writes.list[i].bytes;
        loss->kept_bytes += i < kept ? writes.list[i].bytes : 0;
        if (i >= kept && !write_undo(&writes.list[i])) {
            return node_refused(node, writes.list[i].path, why);
        }
    }
    (void)unlink(node->fsync_path); /* what was left is on the disk */
    return RESULT_OK;
}

struct result node_power_loss(struct node *node, struct random_stream *random,
                              struct node_power_loss *loss, struct text *why)
{
    memset(loss, 0, sizeof *loss);
    node_crash(node);
    if (node->launch->log_folder != NULL) {
        ASSERT(node->options.track_fsync);
        return writes_cut(node, random, loss, why);
    }
    if (node->options.fsync == FSYNC_NONE) {
        return RESULT_OK; /* nothing on the disk: gone with the process */
    }
    ASSERT(node->options.track_fsync);
    ASSERT(node->launch->growing_file != NULL);
    return grown_cut(node, random, loss, why);
}
