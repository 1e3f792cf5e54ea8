/* test_preload.c: what is preloaded into programs: who waits until a time of day, by a clock that
 * is an hour ahead, waits no longer than that. */
#include <criterion/criterion.h>

#include "base/machine_clock.h"
#include "harness/real/preload/clock_page.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every wait is for 50 ms from now as the clock shows it; ends with what came of the last. */
#define PROGRAM                                                                                    \
    "import ctypes, sys, time\n"                                                                   \
    "c = ctypes.CDLL(None)\n"                                                                      \
    "class Until(ctypes.Structure): _fields_ = [('s', ctypes.c_long), ('ns', ctypes.c_long)]\n"    \
    "def until():\n"                                                                               \
    "    now = time.time_ns() + 50000000\n"                                                        \
    "    return ctypes.byref(Until(now // 10**9, now % 10**9))\n"                                  \
    "cond, mutex, sem = ((ctypes.c_char * 64)() for _ in range(3))\n"                              \
    "assert abs(time.time() - float(sys.argv[1]) - 3600) < 600, 'the clock does not follow'\n"     \
    "c.pthread_mutex_lock(mutex)\n"                                                                \
    "assert c.pthread_cond_timedwait(cond, mutex, until()) == 110\n"                               \
    "assert c.pthread_mutex_timedlock(mutex, until()) == 110\n"                                    \
    "assert c.sem_timedwait(sem, until()) == -1\n"                                                 \
    "now = time.monotonic_ns() + 50000000\n"                                                       \
    "attr = (ctypes.c_char * 64)()\n"                                                              \
    "assert c.pthread_condattr_init(attr) == 0 == c.pthread_condattr_setclock(attr, 1)\n"          \
    "assert c.pthread_cond_init(cond, attr) == 0\n"                                                \
    "assert c.pthread_cond_timedwait(cond, mutex, ctypes.byref(Until(now // 10**9, now % "         \
    "10**9))) == 110\n"

Test(preload, who_waits_until_a_time_of_day_waits_by_the_clock_that_it_was_shown, .timeout = 120)
{
    char path[] = "/tmp/picklock-test-clock-XXXXXX";
    char now[32];
    char shim[PATH_MAX];
    cr_assert_not_null(realpath("build/default/picklock-clock.so", shim));
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    struct clock_page *page = NULL;
    cr_assert_eq(ftruncate(fd, sizeof *page), 0);
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(page, MAP_FAILED);
    clock_page_set(page, realtime_ns(), 3600 * NS_PER_S, CLOCK_PAGE_PPM);
    snprintf(now, sizeof now, "%lld", (long long)(realtime_ns() / NS_PER_S));
    pid_t pid = fork();
    if (pid == 0) {
        setenv("PICKLOCK_CLOCK", path, 1);
        setenv("LD_PRELOAD", shim, 1);
        (void)alarm(60); /* who waits for an hour is killed */
        (void)execlp("python3", "python3", "-c", PROGRAM, now, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    (void)unlink(path);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%d", status);
}
