/* cleanup.c: sends releases again until they are answered or have become needless. */
#include "lockcore/cleanup.h"

#include "base/assert.h"

#include <string.h>

bool cleanup_has_room(const struct lock *lock)
{
    return lock_quorum_seen(lock)->cleanup_count < QUORUM_CLEANUPS_MAX;
}

static void cleanup_remove(struct quorum *part, uint32_t index)
{
    ASSERT(index < part->cleanup_count);
    part->cleanup_count--;
    for (uint32_t i = index; i < part->cleanup_count; i++) {
        part->cleanups[i] = part->cleanups[i + 1];
    }
    memset(&part->cleanups[part->cleanup_count], 0, sizeof part->cleanups[0]);
}

/* The entry of the lock's value, taken anew if there is none. */
static struct lock_cleanup *cleanup_of_value(struct lock *lock)
{
    struct quorum *part = lock_quorum_part(lock);
    for (uint32_t i = 0; i < part->cleanup_count; i++) {
        if (memcmp(&part->cleanups[i].value, &lock->value, sizeof lock->value) == 0) {
            return &part->cleanups[i];
        }
    }
    ASSERT(cleanup_has_room(lock));
    return &part->cleanups[part->cleanup_count++];
}

static void cleanup_send(const struct lock *lock, const struct lock_cleanup *cleanup,
                         struct lock_effects *effects)
{
    ASSERT(cleanup->unanswered != 0);
    struct lock_command command = round_command(lock, cleanup->kind);
    command.attempt = cleanup->attempt;
    command.value = cleanup->value;
    for (uint32_t i = 0; i < lock->config.node_count; i++) {
        if ((cleanup->unanswered & lock_bit(i)) != 0) {
            lock_send(lock, i, &command, effects);
        }
    }
}

void cleanup_begin(struct lock *lock, uint32_t kind, uint32_t nodes, int64_t now_ns,
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
        .kind = kind,
        .unanswered = nodes,
        .resend_ns = lock_time_after(now_ns, lock->config.node_timeout_ns),
        .deadline_ns = lock_time_after(now_ns, lock_ttl_ms(&lock->config) * NS_PER_MS),
    };
    cleanup_send(lock, cleanup, effects);
}

/* The entry that the reply in `event` answers, or cleanup_count. */
static uint32_t cleanup_find(const struct quorum *part, const struct lock_event *event)
{
    uint32_t i = 0;
    for (; i < part->cleanup_count; i++) {
        const struct lock_cleanup *cleanup = &part->cleanups[i];
        if (cleanup->attempt == event->command.attempt &&
            (cleanup->unanswered & lock_bit(event->node_index)) != 0) {
            break;
        }
    }
    return i;
}

void cleanup_hear(struct lock *lock, const struct lock_event *event)
{
    struct quorum *part = lock_quorum_part(lock);
    uint32_t index = cleanup_find(part, event);
    if (index == part->cleanup_count || round_read(lock, event) == LOCK_ANSWER_UNCLEAR) {
        return;
    }
    part->cleanups[index].unanswered &= ~lock_bit(event->node_index);
    if (part->cleanups[index].unanswered == 0) {
        cleanup_remove(part, index);
    }
}

void cleanup_tick(struct lock *lock, int64_t now_ns, struct lock_effects *effects)
{
    struct quorum *part = lock_quorum_part(lock);
    for (uint32_t i = (uint32_t)part->cleanup_count; i-- > 0;) {
        if (now_ns >= part->cleanups[i].deadline_ns) {
            cleanup_remove(part, i);
        }
    }
    uint32_t resends = 0;
    for (uint32_t i = 0; i < part->cleanup_count && resends < QUORUM_RESENDS_MAX; i++) {
        struct lock_cleanup *cleanup = &part->cleanups[i];
        if (now_ns >= cleanup->resend_ns) {
            cleanup->resend_ns = lock_time_after(now_ns, lock->config.node_timeout_ns);
            cleanup_send(lock, cleanup, effects);
            resends++;
        }
    }
}

int64_t cleanup_wake_ns(const struct lock *lock)
{
    const struct quorum *part = lock_quorum_seen(lock);
    int64_t wake_ns = TIME_NEVER;
    for (uint32_t i = 0; i < part->cleanup_count; i++) {
        wake_ns = lock_earlier(wake_ns, part->cleanups[i].resend_ns);
        wake_ns = lock_earlier(wake_ns, part->cleanups[i].deadline_ns);
    }
    return wake_ns;
}

uint32_t cleanup_owed(const struct lock *lock)
{
    const struct quorum *part = lock_quorum_seen(lock);
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < part->cleanup_count; i++) {
        nodes |= part->cleanups[i].unanswered;
    }
    return nodes;
}
