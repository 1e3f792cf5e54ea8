/*
 * fsync.c: preloaded into a server: logs how much of each file has really reached the disk.
 *
 *     PICKLOCK_FSYNC_LOG=FILE LD_PRELOAD=picklock-fsync.so redis-server ...
 *     FILE:  "LENGTH PATH\n" for every fsync and fdatasync that succeeded
 *
 * With PICKLOCK_FSYNC_WRITES=PART also "W OFFSET LENGTH PATH\n" before every pwrite to a file in
 * whose path PART stands: into files that were made long before, whose lengths say nothing.
 *
 * The length is taken before the call: what is written meanwhile may or may not be on the disk. A
 * power loss then keeps any prefix between the last logged length and the file's size. Raw system
 * calls only, so that it can be called before and inside an allocator's start.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int fsync_shim_log = -1;
static const char *fsync_shim_part; /* NULL: writes are not logged */

EXPORT int fsync(int fd);
EXPORT int fdatasync(int fd);
EXPORT ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset);
EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset);

__attribute__((constructor)) static void fsync_shim_init(void)
{
    const char *path = getenv("PICKLOCK_FSYNC_LOG");
    if (path != NULL) {
        fsync_shim_part = getenv("PICKLOCK_FSYNC_WRITES");
        fsync_shim_log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }
}

enum { FSYNC_SHIM_PATH_BYTES = 4096, FSYNC_SHIM_LINE_BYTES = 4200 };

static bool fsync_shim_path(int fd, char path[FSYNC_SHIM_PATH_BYTES])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, path, FSYNC_SHIM_PATH_BYTES - 1);
    path[bytes > 0 ? bytes : 0] = 0;
    return bytes > 0;
}

static void fsync_shim_note(int fd, long long length)
{
    char path[FSYNC_SHIM_PATH_BYTES];
    char line[FSYNC_SHIM_LINE_BYTES];
    if (!fsync_shim_path(fd, path)) {
        return;
    }
    int line_bytes = snprintf(line, sizeof line, "%lld %s\n", length, path);
    /* One write, so that lines of two threads do not mix. A line that is lost understates what is
     * safe: then the cut may be deeper than a real disk's, and the run says where it was cut. */
    ssize_t written = write(fsync_shim_log, line, (size_t)line_bytes);
    (void)written;
}

static int fsync_shim_call(long number, int fd)
{
    struct stat status;
    long long length = fstat(fd, &status) == 0 ? (long long)status.st_size : -1;
    long outcome = syscall(number, fd);
    if (outcome == 0 && length >= 0 && fsync_shim_log >= 0) {
        fsync_shim_note(fd, length);
    }
    return (int)outcome;
}

int fsync(int fd)
{
    return fsync_shim_call(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fsync_shim_call(SYS_fdatasync, fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    char path[FSYNC_SHIM_PATH_BYTES];
    char line[FSYNC_SHIM_LINE_BYTES];
    bool logged = fsync_shim_part != NULL && fsync_shim_log >= 0 && fsync_shim_path(fd, path) &&
                  strstr(path, fsync_shim_part) != NULL;
    if (logged) {
        int length = snprintf(line, sizeof line, "W %lld %zu %s\n", (long long)offset, count, path);
        ssize_t written = write(fsync_shim_log, line, (size_t)length);
        (void)written;
    }
    return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset)
{
    return pwrite(fd, bytes, count, offset);
}
