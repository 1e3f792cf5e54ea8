/* quorum.c: puts one question to all nodes and counts their answers. */
#include "lockcore/quorum.h"

#include "base/assert.h"

#include <string.h>

/* memcmp compares locks, so no byte of them may be padding. */
_Static_assert(sizeof(struct lock_cleanup) == LOCK_VALUE_BYTES + 3 * 4 + 2 * 8, "no padding");
_Static_assert(sizeof(struct quorum) == 4 * 4 + QUORUM_CLEANUPS_MAX * sizeof(struct lock_cleanup),
               "no padding");
_Static_assert(sizeof(struct quorum) <= LOCK_OWN_BYTES, "it fits into a lock");
_Static_assert((2 + QUORUM_RESENDS_MAX) * LOCK_NODES_MAX <= LOCK_SENDS_MAX,
               "a release, a new attempt and all resends fit into one step");

struct lock_command round_command(const struct lock *lock, uint32_t kind)
{
    uint8_t carries = lock_row_of(lock, kind)->carries;
    return (struct lock_command){
        .kind = kind,
        .form = LOCK_FORM_SHORT,
        .attempt = lock->attempt,
        .value = lock->value,
        .ttl_ms = (carries & LOCK_CARRIES_TTL) != 0 ? lock_ttl_ms(&lock->config) : 0,
        .number = (carries & LOCK_CARRIES_NUMBER) != 0 ? lock->fence : 0,
    };
}

void round_ask(struct lock *lock, uint32_t kind, int64_t now_ns, struct lock_effects *effects)
{
    struct quorum *part = lock_quorum_part(lock);
    lock->attempt++;
    lock->pending = round_nodes(lock);
    part->agreed = 0;
    part->refused = 0;
    lock->deadline_ns = lock_time_after(now_ns, lock->config.node_timeout_ns);
    struct lock_command command = round_command(lock, kind);
    for (uint32_t i = 0; i < lock->config.node_count; i++) {
        if ((lock->pending & lock_bit(i)) != 0) {
            lock_send(lock, i, &command, effects);
        }
    }
}

void round_follow(struct lock *lock)
{
    struct quorum *part = lock_quorum_part(lock);
    ASSERT(lock->config.replica_count > 0);
    ASSERT(part->primary < lock->config.node_count);
    part->primary = (part->primary + 1) % lock->config.node_count;
    for (uint32_t i = 0; i < part->cleanup_count; i++) {
        part->cleanups[i].unanswered |= lock_bit(part->primary);
    }
}

bool round_waits_for(const struct lock *lock, const struct lock_event *event)
{
    return event->command.attempt == lock->attempt &&
           (lock->pending & lock_bit(event->node_index)) != 0;
}

/* The number that was asked for: a count of grants, or a counter that must have come so far. */
static enum lock_answer read_number(const struct lock_event *event)
{
    int64_t number = event->reply.number;
    return number >= 1 && number >= event->command.number ? LOCK_ANSWER_YES : LOCK_ANSWER_UNCLEAR;
}

enum lock_answer round_read(const struct lock *lock, const struct lock_event *event)
{
    const struct lock_command_row *row = lock_row_of(lock, event->command.kind);
    bool wants_number = row->answers == LOCK_ANSWERS_NUMBER;
    switch ((enum lock_reply_type)event->reply.type) {
    case LOCK_REPLY_YES:
        return wants_number ? LOCK_ANSWER_UNCLEAR : LOCK_ANSWER_YES;
    case LOCK_REPLY_NO:
        return LOCK_ANSWER_NO;
    case LOCK_REPLY_NUMBER:
        return wants_number ? read_number(event) : LOCK_ANSWER_UNCLEAR;
    case LOCK_REPLY_ERROR: /* nothing was done: an answer to a set, none to a release */
        return lock_verb_asks((enum lock_verb)row->verb) ? LOCK_ANSWER_NO : LOCK_ANSWER_UNCLEAR;
    case LOCK_REPLY_LONG_FORM:
    case LOCK_REPLY_UNSURE:
    case LOCK_REPLY_GARBLED:
        return LOCK_ANSWER_UNCLEAR;
    case LOCK_REPLY_TYPES:
        break;
    }
    UNREACHABLE();
}

void round_hear(struct lock *lock, uint32_t node_index, enum lock_answer answer)
{
    struct quorum *part = lock_quorum_part(lock);
    uint32_t bit = lock_bit(node_index);
    ASSERT((lock->pending & bit) != 0);
    ASSERT(((part->agreed | part->refused) & bit) == 0);
    switch (answer) {
    case LOCK_ANSWER_YES:
        part->agreed |= bit;
        break;
    case LOCK_ANSWER_NO:
        part->refused |= bit;
        break;
    case LOCK_ANSWER_UNCLEAR:
        break;
    case LOCK_ANSWER_LATER:
        return;
    }
    lock->pending &= ~bit;
}

static bool bytes_zero(const void *memory, size_t bytes)
{
    const uint8_t *byte = memory;
    for (size_t i = 0; i < bytes; i++) {
        if (byte[i] != 0) {
            return false;
        }
    }
    return true;
}

static void assert_valid_cleanups(const struct lock *lock, const struct quorum *part)
{
    ASSERT(part->cleanup_count <= QUORUM_CLEANUPS_MAX);
    for (uint32_t i = 0; i < part->cleanup_count; i++) {
        const struct lock_cleanup *cleanup = &part->cleanups[i];
        ASSERT(cleanup->unanswered != 0);
        ASSERT((cleanup->unanswered & ~lock_all_nodes(lock)) == 0);
        for (uint32_t j = 0; j < i; j++) {
            ASSERT(cleanup->attempt != part->cleanups[j].attempt);
        }
    }
    if (part->cleanup_count < QUORUM_CLEANUPS_MAX) { /* one is enough: removal shifts zeros in */
        ASSERT(bytes_zero(&part->cleanups[part->cleanup_count], sizeof part->cleanups[0]));
    }
}

void quorum_assert_valid(const struct lock *lock)
{
    const struct quorum *part = lock_quorum_seen(lock);
    ASSERT(part->primary < lock->config.node_count);
    ASSERT(((part->agreed | part->refused) & ~lock_all_nodes(lock)) == 0);
    ASSERT((lock->pending & (part->agreed | part->refused)) == 0);
    ASSERT((part->agreed & part->refused) == 0);
    assert_valid_cleanups(lock, part);
}
