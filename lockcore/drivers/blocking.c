/* blocking.c: runs a loop of its own until what was asked is answered. */
#include "lockcore/drivers/blocking.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"
#include "lockcore/drivers/loop.h"

#include <string.h>

#define CONNECT_NS NS_PER_S

struct blocking_locks {
    uv_loop_t loop;
    uv_timer_t limit; /* ends a wait */
    bool limit_reached;
    struct redis_locks *locks;
    struct lock_config config;
    const struct redis_lock *asked; /* whose answer is waited for; NULL: none */
    struct lock_effect answer;
};

static void on_told(void *context, struct redis_lock *lock, const struct lock_effect *told)
{
    struct blocking_locks *locks = context;
    if (lock == locks->asked && told->told != LOCK_TOLD_LOST) {
        locks->answer = *told;
        locks->asked = NULL;
        uv_stop(&locks->loop); /* a turn that began with a timer must not go on to wait */
    }
}

static void on_limit(uv_timer_t *timer)
{
    struct blocking_locks *locks = timer->data;
    locks->limit_reached = true;
    uv_stop(&locks->loop);
}

static void limit_start(struct blocking_locks *locks, int64_t ns)
{
    locks->limit_reached = false;
    uv_update_time(&locks->loop);
    int code = uv_timer_start(&locks->limit, on_limit, (uint64_t)(ns / NS_PER_MS) + 1, 0);
    ASSERT(code == 0);
}

/* The loop has slept since the last call: let it see what arrived meanwhile, then ask. */
static const struct lock_effect *ask(struct blocking_locks *locks, struct redis_lock *lock,
                                     void (*question)(struct redis_lock *lock))
{
    uv_run(&locks->loop, UV_RUN_NOWAIT);
    locks->asked = lock;
    question(lock);
    while (locks->asked != NULL) {
        uv_run(&locks->loop, UV_RUN_ONCE);
    }
    return &locks->answer;
}

static struct result quorum_wait(struct blocking_locks *locks, struct text *why)
{
    uint32_t quorum = lock_quorum(lock_votes(&locks->config));
    limit_start(locks, CONNECT_NS);
    while (redis_locks_up(locks->locks) < quorum && !locks->limit_reached) {
        uv_run(&locks->loop, UV_RUN_ONCE);
    }
    uv_timer_stop(&locks->limit);
    uint32_t up = redis_locks_up(locks->locks);
    if (up < quorum) {
        text_add(why, "lock: %u of %u nodes can be reached, and %u are needed", up,
                 locks->config.node_count, quorum);
        return result_error(ERROR_ENVIRONMENT);
    }
    return RESULT_OK;
}

static void loop_close(struct blocking_locks *locks)
{
    uv_close((uv_handle_t *)&locks->limit, NULL);
    while (uv_run(&locks->loop, UV_RUN_DEFAULT) != 0) {
        /* uv_stop, called outside of a turn, ends the next one early */
    }
    int code = uv_loop_close(&locks->loop);
    ASSERT(code == 0); /* every handle has been closed */
    memory_release(locks);
}

struct result blocking_open(const char *const *addresses, const struct lock_config *config,
                            struct blocking_locks **out, struct text *why)
{
    struct blocking_locks *locks = memory_resize(NULL, sizeof *locks);
    if (locks == NULL || uv_loop_init(&locks->loop) != 0) {
        memory_release(locks);
        text_add(why, "lock: no memory, or no descriptors, for an event loop");
        return result_error(ERROR_IO);
    }
    locks->config = *config;
    locks->asked = NULL;
    int code = uv_timer_init(&locks->loop, &locks->limit);
    ASSERT(code == 0); /* libuv: always */
    locks->limit.data = locks;
    struct redis_locks_options options = {&locks->loop, addresses, *config};
    struct result result = redis_locks_open(&options, &locks->locks, why);
    if (result_failed(result)) {
        loop_close(locks);
        return result;
    }
    result = quorum_wait(locks, why);
    if (result_failed(result)) {
        redis_locks_close(locks->locks, NULL, NULL);
        loop_close(locks);
        return result;
    }
    *out = locks;
    return RESULT_OK;
}

enum lock_told blocking_acquire(struct blocking_locks *locks, const char *resource,
                                struct blocking_lease *lease)
{
    memset(lease, 0, sizeof *lease);
    lease->locks = locks;
    struct redis_lock_options options = {resource, strlen(resource), on_told, locks};
    struct redis_lock *lock = redis_lock_open(locks->locks, &options);
    if (lock == NULL) {
        lease->reason = LOCK_REASON_NO_QUORUM;
        return LOCK_TOLD_REFUSED;
    }
    const struct lock_effect *answer = ask(locks, lock, redis_lock_acquire);
    if (answer->told != LOCK_TOLD_GRANTED) {
        lease->reason = (enum lock_reason)answer->reason;
        redis_lock_close(lock);
        return LOCK_TOLD_REFUSED;
    }
    lease->lock = lock;
    lease->value = answer->value;
    lease->fence = answer->fence;
    lease->until_ns = answer->until_ns;
    return LOCK_TOLD_GRANTED;
}

enum lock_told blocking_extend(struct blocking_lease *lease)
{
    if (lease->lock == NULL) {
        lease->reason = LOCK_REASON_NOT_HOLDING;
        return LOCK_TOLD_NOT_EXTENDED;
    }
    const struct lock_effect *answer = ask(lease->locks, lease->lock, redis_lock_extend);
    if (answer->told == LOCK_TOLD_EXTENDED) {
        lease->until_ns = answer->until_ns;
    }
    lease->reason = (enum lock_reason)answer->reason;
    return (enum lock_told)answer->told;
}

enum lock_told blocking_release(struct blocking_lease *lease)
{
    if (lease->lock == NULL) {
        return LOCK_TOLD_NOT_HELD;
    }
    const struct lock_effect *answer = ask(lease->locks, lease->lock, redis_lock_release);
    redis_lock_close(lease->lock);
    lease->lock = NULL;
    return (enum lock_told)answer->told;
}

int64_t blocking_left_ns(const struct blocking_lease *lease)
{
    return lease->lock == NULL ? 0 : lease->until_ns - (int64_t)uv_hrtime();
}

void blocking_close(struct blocking_locks *locks)
{
    limit_start(locks, locks->config.node_timeout_ns);
    while (redis_locks_busy(locks->locks) > 0 && !locks->limit_reached) {
        uv_run(&locks->loop, UV_RUN_ONCE);
    }
    redis_locks_close(locks->locks, NULL, NULL);
    loop_close(locks);
}
