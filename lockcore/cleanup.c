/* cleanup.c: sends releases again until they are answered or have become needless. */
#include "lockcore/cleanup.h"

#include "base/assert.h"
#include "lockcore/quorum.h"

#include <string.h>

bool cleanup_has_room(const struct lock *lock)
{
    return lock->cleanup_count < LOCK_CLEANUPS_MAX;
}

static void cleanup_remove(struct lock *lock, uint32_t index)
{
    ASSERT(index < lock->cleanup_count);
    lock->cleanup_count--;
    for (uint32_t i = index; i < lock->cleanup_count; i++) {
        lock->cleanups[i] = lock->cleanups[i + 1];
    }
    memset(&lock->cleanups[lock->cleanup_count], 0, sizeof lock->cleanups[0]);
}

/* The entry of the lock's value, taken anew if there is none. */
static struct lock_cleanup *cleanup_of_value(struct lock *lock)
{
    for (uint32_t i = 0; i < lock->cleanup_count; i++) {
        if (memcmp(&lock->cleanups[i].value, &lock->value, sizeof lock->value) == 0) {
            return &lock->cleanups[i];
        }
    }
    ASSERT(cleanup_has_room(lock));
    return &lock->cleanups[lock->cleanup_count++];
}

static void cleanup_send(const struct lock *lock, const struct lock_cleanup *cleanup,
                         enum lock_command_kind kind, struct lock_effects *effects)
{
    struct lock_command command = round_command(lock, kind);
    command.attempt = cleanup->attempt;
    command.value = cleanup->value;
    for (uint32_t i = 0; i < lock->config.node_count; i++) {
        if ((cleanup->unanswered & lock_bit(i)) != 0) {
            lock_send(effects, i, &command);
        }
    }
}

void cleanup_begin(struct lock *lock, enum lock_command_kind kind, uint32_t nodes, int64_t now_ns,
                   struct lock_effects *effects)
{
    ASSERT((nodes & ~lock_all_nodes(lock)) == 0);
    lock->attempt++; /* from here on late answers to the attempt itself are not heard */
    if (nodes == 0) {
        return;
    }
    struct lock_cleanup *cleanup = cleanup_of_value(lock);
    *cleanup = (struct lock_cleanup){
        .value = lock->value,
        .attempt = lock->attempt,
        .unanswered = nodes,
        .resend_ns = lock_time_after(now_ns, lock->config.node_timeout_ns),
        .deadline_ns = lock_time_after(now_ns, lock_ttl_ms(&lock->config) * NS_PER_MS),
    };
    cleanup_send(lock, cleanup, kind, effects);
}

/* The entry that the reply in `event` answers, or cleanup_count. */
static uint32_t cleanup_find(const struct lock *lock, const struct lock_event *event)
{
    uint32_t i = 0;
    for (; i < lock->cleanup_count; i++) {
        const struct lock_cleanup *cleanup = &lock->cleanups[i];
        if (cleanup->attempt == event->command.attempt &&
            (cleanup->unanswered & lock_bit(event->node_index)) != 0) {
            break;
        }
    }
    return i;
}

void cleanup_hear(struct lock *lock, const struct lock_event *event)
{
    uint32_t index = cleanup_find(lock, event);
    if (index == lock->cleanup_count || round_read(event) == LOCK_ANSWER_UNCLEAR) {
        return;
    }
    lock->cleanups[index].unanswered &= ~lock_bit(event->node_index);
    if (lock->cleanups[index].unanswered == 0) {
        cleanup_remove(lock, index);
    }
}

void cleanup_tick(struct lock *lock, enum lock_command_kind kind, int64_t now_ns,
                  struct lock_effects *effects)
{
    for (uint32_t i = lock->cleanup_count; i-- > 0;) {
        if (now_ns >= lock->cleanups[i].deadline_ns) {
            cleanup_remove(lock, i);
        }
    }
    uint32_t resends = 0;
    for (uint32_t i = 0; i < lock->cleanup_count && resends < LOCK_RESENDS_MAX; i++) {
        struct lock_cleanup *cleanup = &lock->cleanups[i];
        if (now_ns >= cleanup->resend_ns) {
            cleanup->resends++;
            cleanup->resend_ns = lock_time_after(now_ns, lock->config.node_timeout_ns);
            cleanup_send(lock, cleanup, kind, effects);
            resends++;
        }
    }
}
