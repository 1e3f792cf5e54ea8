/*
 * fsync.c: preloaded into a server: logs how much of each file has really reached the disk.
 *
 *     PICKLOCK_FSYNC_LOG=FILE LD_PRELOAD=picklock-fsync.so redis-server ...
 *     FILE:  "LENGTH PATH\n" for every fsync and fdatasync that succeeded
 *
 * The length is taken before the call: what is written meanwhile may or may not be on the disk. A
 * power loss then keeps any prefix between the last logged length and the file's size. Raw system
 * calls only, so that it can be called before and inside an allocator's start.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int fsync_shim_log = -1;

EXPORT int fsync(int fd);
EXPORT int fdatasync(int fd);

__attribute__((constructor)) static void fsync_shim_init(void)
{
    const char *path = getenv("PICKLOCK_FSYNC_LOG");
    if (path != NULL) {
        fsync_shim_log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }
}

static void fsync_shim_note(int fd, long long length)
{
    char link[64];
    char path[4096];
    char line[4200];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (bytes <= 0) {
        return;
    }
    path[bytes] = 0;
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
