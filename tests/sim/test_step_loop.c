/* test_step_loop.c: a run makes no system call and allocates nothing. */
#include "checker/judge.h"
#include "tests/sim/sim_fixture.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fixture fixture;

/* Faults of every kind, random ones, contention. */
#define BUSY                                                                                       \
    HEAD("algorithm: fenced_redlock, ttl: 2s", "everysec")                                         \
    "clients: {count: 4, resources: 2, sections: 4, hold: 300ms, writes: 2, extend_every: "        \
    "100ms}\n"                                                                                     \
    "duration: 20s\n"                                                                              \
    "faults: {random: {kinds: [pause, kill, slow, clock_jump, clock_rate, crash, power_loss,"      \
    " shutdown, stall, refuse_writes, script_flush, evict, failover, latency, partition,"          \
    " lose_reply, delay_command], count: 8}}\n" TAIL

/* The running checks lie in the simulator's own block. */
static void watch(struct recorder *recorder, const struct history_event *event)
{
    judge_event(sim_extra(((struct fixture *)recorder)->sim), event);
}

static void open_busy(uint64_t seed)
{
    struct history_header header;
    char memory[512];
    struct text why = text_over(memory, sizeof memory);
    fixture_open(&fixture, BUSY, seed);
    plan_header(&fixture.plan, "sim", &header);
    fixture.options.extra_bytes = judge_bytes(&header, JUDGE_ALL);
    cr_assert(!result_failed(
        sim_create(&fixture.arena, &fixture.plan, &fixture.options, &fixture.sim, &why)));
    sim_reset(fixture.sim, &fixture.plan);
    fixture.recorder.event = watch;
    fixture.recorder.replied = NULL;
    cr_assert_eq((void *)judge_init(sim_extra(fixture.sim), &header, JUDGE_ALL),
                 sim_extra(fixture.sim));
}

/* From here on every system call but the end of the process kills it. */
static bool forbid_system_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* How a child ended that runs to the end, or makes one system call on purpose. */
static int status_of_child(bool honest)
{
    pid_t child = fork();
    if (child == 0) {
        if (!forbid_system_calls()) {
            syscall(SYS_exit_group, 2);
        }
        if (!honest) {
            (void)syscall(SYS_getpid);
        }
        while (sim_step(fixture.sim, &fixture.recorder)) {
        }
        judge_finish(sim_extra(fixture.sim));
        syscall(SYS_exit_group, 0);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

Test(step_loop, makes_no_system_call)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        open_busy(seed);
        int status = status_of_child(true);
        cr_assert(WIFEXITED(status), "seed %lu", (unsigned long)seed);
        cr_assert_eq(WEXITSTATUS(status), 0);
        fixture_close(&fixture);
    }
    open_busy(1);
    cr_assert(WIFSIGNALED(status_of_child(false)), "the filter must bite");
    fixture_close(&fixture);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#ifndef __SANITIZE_ADDRESS__

static uint64_t allocations;

void *__libc_malloc(size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);

/* In place of the C library's, which it calls. */
void *malloc(size_t bytes)
{
    allocations++;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations++;
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    allocations++;
    return __libc_realloc(old, bytes);
}

Test(step_loop, allocates_nothing)
{
    open_busy(1);
    uint64_t before = allocations;
    cr_assert_gt(before, 0, "the count must see the fixture's own");
    for (uint64_t seed = 1; seed <= 20; seed++) {
        scenario_plan(&fixture.scenario, seed, 1000000, &fixture.plan);
        struct history_header header;
        plan_header(&fixture.plan, "sim", &header);
        sim_reset(fixture.sim, &fixture.plan);
        (void)judge_init(sim_extra(fixture.sim), &header, JUDGE_ALL);
        while (sim_step(fixture.sim, &fixture.recorder)) {
        }
    }
    cr_assert_eq(allocations, before);
    fixture_close(&fixture);
}

#endif
