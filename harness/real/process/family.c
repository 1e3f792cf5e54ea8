/* family.c: a process with all that it started, and what those started. */
#include "harness/real/process/process.h"

#include "base/assert.h"
#include "base/duration.h"
#include "harness/real/process/loop.h"
#include "harness/real/process/proc.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FAMILY_MAX = 1024, FAMILY_FREEZE_SECONDS = 10, FAMILY_LINE_BYTES = 8192 };

struct family {
    size_t count;
    pid_t pids[FAMILY_MAX]; /* parents before their children */
};

/* A child belongs to the thread that started it. */
static void family_take_children(pid_t thread, void *data)
{
    struct family *family = data;
    char line[FAMILY_LINE_BYTES];
    (void)proc_read_thread(thread, "children", line, sizeof line);
    for (char *next = line; *next != '\0' && family->count < FAMILY_MAX;) {
        pid_t child = (pid_t)strtol(next, &next, 10);
        if (child > 0) {
            family->pids[family->count++] = child;
        }
        next += *next == ' ' ? 1 : 0;
    }
}

static void family_find(struct family *family, pid_t pid)
{
    family->count = 0;
    family->pids[family->count++] = pid;
    for (size_t i = 0; i < family->count; i++) {
        (void)proc_threads(family->pids[i], family_take_children, family);
    }
}

/* To all but the root, children before their parents. */
static void family_signal(const struct family *family, int number)
{
    for (size_t i = family->count; i > 1; i--) {
        (void)kill(family->pids[i - 1], number);
    }
}

/* Stop those that still move; true: there were none. */
static bool family_stands(const struct family *family)
{
    bool stands = true;
    for (size_t i = 1; i < family->count; i++) {
        char state = proc_state(family->pids[i]);
        if (state == 'R' || state == 'S' || state == 'D') {
            (void)kill(family->pids[i], SIGSTOP);
            stands = false;
        }
    }
    return stands;
}

struct result process_freeze_family(pid_t pid, struct text *why)
{
    static struct family family;
    int64_t deadline_ns = loop_now_ns() + FAMILY_FREEZE_SECONDS * NS_PER_S;
    TRY(process_freeze(pid, why));
    family_find(&family, pid);
    while (!family_stands(&family)) {
        if (loop_now_ns() > deadline_ns) {
            text_add(why, "what process %d started does not stop", (int)pid);
            return result_error(ERROR_ENVIRONMENT);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 50 * NS_PER_US}, NULL);
        family_find(&family, pid); /* one that moved may have started another */
    }
    return RESULT_OK;
}

void process_thaw_family(pid_t pid)
{
    static struct family family;
    family_find(&family, pid);
    family_signal(&family, SIGCONT);
    process_thaw(pid);
}

void process_kill_family(pid_t pid)
{
    static struct family family;
    ASSERT(pid > 0);
    (void)kill(pid, SIGSTOP); /* it starts nothing more */
    family_find(&family, pid);
    family_signal(&family, SIGKILL);
    process_kill(pid);
}
