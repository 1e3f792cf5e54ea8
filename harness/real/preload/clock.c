/*
 * clock.c: preloaded into a server: its wall clock follows a page that the harness writes.
 *
 *     PICKLOCK_CLOCK=FILE LD_PRELOAD=picklock-clock.so redis-server ...
 *
 * Only CLOCK_REALTIME moves: a wall clock that jumps does not move a monotonic one. jemalloc asks
 * for the time while it initialises, so nothing here may allocate or look up symbols: every clock
 * is read by raw system call, and until the constructor has run all clocks are sound. (libfaketime
 * looks symbols up there and deadlocks.)
 *
 * Who waits until a time of day has read it off this clock, and the system waits by its own: the
 * time is told as the system shows it, or a program whose clock is an hour ahead would wait for an
 * hour. What it waits for does not move while it waits.
 */
#include "harness/real/preload/clock_page.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct clock_page *clock_shim_page; /* NULL: every clock is sound */

EXPORT int clock_gettime(clockid_t clock, struct timespec *now);
EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone);
EXPORT time_t time(time_t *now);
EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                                  const struct timespec *restrict until);
EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
                                   const struct timespec *restrict until);
EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until);

__attribute__((constructor)) static void clock_shim_init(void)
{
    const char *path = getenv("PICKLOCK_CLOCK");
    if (path == NULL) {
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return; /* the harness looks for the effect and will miss it */
    }
    void *page = mmap(NULL, sizeof *clock_shim_page, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (page != MAP_FAILED) {
        clock_shim_page = page;
    }
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long outcome = syscall(SYS_clock_gettime, clock, now);
    if (outcome != 0 || clock_shim_page == NULL ||
        (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) {
        return (int)outcome;
    }
    int64_t sound_ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec;
    int64_t shown_ns = clock_page_shown(clock_shim_page, sound_ns);
    now->tv_sec = shown_ns / 1000000000;
    now->tv_nsec = shown_ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone; /* obsolete: nobody sets it */
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) {
        return -1;
    }
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact) != 0) {
        return (time_t)-1;
    }
    if (now != NULL) {
        *now = exact.tv_sec;
    }
    return exact.tv_sec;
}

/* ---- waiting until a time of day ------------------------------------------------------------- */

/* glibc keeps here by which clock a condition is waited for (nptl: pthread_cond_common.c). */
enum { COND_MONOTONIC = 2, NS_MAX = 999999999 };

/* When the system's clock shows what this one shows then. What is no time is left to the system. */
static struct timespec sound_time(const struct timespec *shown)
{
    if (clock_shim_page == NULL || shown->tv_nsec < 0 || shown->tv_nsec > NS_MAX ||
        shown->tv_sec < 0 || shown->tv_sec > INT64_MAX / 1000000000 - 1) {
        return *shown;
    }
    int64_t shown_ns = (int64_t)shown->tv_sec * 1000000000 + shown->tv_nsec;
    int64_t sound_ns = clock_page_sound(clock_shim_page, shown_ns);
    return (struct timespec){.tv_sec = sound_ns / 1000000000, .tv_nsec = sound_ns % 1000000000};
}

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    if ((cond->__data.__wrefs & COND_MONOTONIC) != 0) {
        return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, until);
    }
    struct timespec sound = sound_time(until);
    return pthread_cond_clockwait(cond, mutex, CLOCK_REALTIME, &sound);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until)
{
    struct timespec sound = sound_time(until);
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, &sound);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    struct timespec sound = sound_time(until);
    return sem_clockwait(semaphore, CLOCK_REALTIME, &sound);
}
