/* quorum.c: puts one question to all nodes and counts their answers. */
#include "lockcore/quorum.h"

#include "base/assert.h"

static bool kind_has_ttl(enum lock_command_kind kind)
{
    switch (kind) {
    case LOCK_COMMAND_SET:
    case LOCK_COMMAND_COMPARE_EXPIRE:
    case LOCK_COMMAND_SET_FENCE:
    case LOCK_COMMAND_EXPIRE:
    case LOCK_COMMAND_SET_EXPIRE:
        return true;
    case LOCK_COMMAND_COMPARE_DELETE:
    case LOCK_COMMAND_RAISE_FENCE:
    case LOCK_COMMAND_DELETE:
    case LOCK_COMMAND_SETNX:
        return false;
    case LOCK_COMMAND_KINDS:
        break;
    }
    UNREACHABLE();
}

struct lock_command round_command(const struct lock *lock, enum lock_command_kind kind)
{
    return (struct lock_command){
        .kind = kind,
        .form = LOCK_FORM_SHA,
        .attempt = lock->attempt,
        .value = lock->value,
        .ttl_ms = kind_has_ttl(kind) ? lock_ttl_ms(&lock->config) : 0,
        .fence = kind == LOCK_COMMAND_RAISE_FENCE ? lock->fence : 0,
    };
}

void round_ask(struct lock *lock, enum lock_command_kind kind, int64_t now_ns,
               struct lock_effects *effects)
{
    lock->attempt++;
    lock->pending = lock_all_nodes(lock);
    lock->agreed = 0;
    lock->refused = 0;
    lock->deadline_ns = lock_time_after(now_ns, lock->config.node_timeout_ns);
    struct lock_command command = round_command(lock, kind);
    for (uint32_t i = 0; i < lock->config.node_count; i++) {
        lock_send(effects, i, &command);
    }
}

bool round_waits_for(const struct lock *lock, const struct lock_event *event)
{
    return event->command.attempt == lock->attempt &&
           (lock->pending & lock_bit(event->node_index)) != 0;
}

/* A script or command that answers 1 for done, 0 for not ours. */
static enum lock_answer read_flag(const struct lock_reply *reply)
{
    if (reply->type != LOCK_REPLY_INTEGER || reply->integer < 0 || reply->integer > 1) {
        return LOCK_ANSWER_UNCLEAR;
    }
    return reply->integer == 1 ? LOCK_ANSWER_YES : LOCK_ANSWER_NO;
}

/* A counter, which must have reached `fence_min`. */
static enum lock_answer read_fence(const struct lock_reply *reply, int64_t fence_min)
{
    bool reached = reply->type == LOCK_REPLY_INTEGER && reply->integer >= fence_min;
    return reached ? LOCK_ANSWER_YES : LOCK_ANSWER_UNCLEAR;
}

enum lock_answer round_read(const struct lock_event *event)
{
    const struct lock_reply *reply = &event->reply;
    switch ((enum lock_command_kind)event->command.kind) {
    case LOCK_COMMAND_SET:
    case LOCK_COMMAND_SET_FENCE:
        if (reply->type == LOCK_REPLY_NIL || reply->type == LOCK_REPLY_ERROR) {
            return LOCK_ANSWER_NO; /* an error, too, means that the node has set nothing */
        }
        if (event->command.kind == LOCK_COMMAND_SET_FENCE) {
            return read_fence(reply, 1);
        }
        return reply->type == LOCK_REPLY_OK ? LOCK_ANSWER_YES : LOCK_ANSWER_UNCLEAR;
    case LOCK_COMMAND_RAISE_FENCE:
        return read_fence(reply, event->command.fence);
    case LOCK_COMMAND_COMPARE_DELETE:
    case LOCK_COMMAND_COMPARE_EXPIRE:
    case LOCK_COMMAND_DELETE:
    case LOCK_COMMAND_SETNX:
    case LOCK_COMMAND_EXPIRE:
    case LOCK_COMMAND_SET_EXPIRE:
        return read_flag(reply);
    case LOCK_COMMAND_KINDS:
        break;
    }
    return LOCK_ANSWER_UNCLEAR;
}

void round_hear(struct lock *lock, uint32_t node_index, enum lock_answer answer)
{
    uint32_t bit = lock_bit(node_index);
    ASSERT((lock->pending & bit) != 0);
    switch (answer) {
    case LOCK_ANSWER_YES:
        lock->agreed |= bit;
        break;
    case LOCK_ANSWER_NO:
        lock->refused |= bit;
        break;
    case LOCK_ANSWER_UNCLEAR:
        break;
    case LOCK_ANSWER_LATER:
        return;
    }
    lock->pending &= ~bit;
}
