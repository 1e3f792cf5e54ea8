/*
 * memory.c: preloaded into a server: System V memory that it asks for goes with its last process.
 *
 *     LD_PRELOAD=picklock-memory.so postgres ...
 *
 * A segment outlives whoever made it. Marked for removal as soon as it is attached it does not,
 * however its processes end; those that the first one starts inherit it all the same.
 */
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *shmat(int segment, const void *where, int flags);

void *shmat(int segment, const void *where, int flags)
{
    long at = syscall(SYS_shmat, segment, where, flags);
    if (at != -1) {
        (void)syscall(SYS_shmctl, segment, IPC_RMID, NULL);
    }
    return (void *)at;
}
