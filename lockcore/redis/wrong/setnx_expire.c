/* setnx_expire.c: sets the key and its ttl with two commands. */
#include "lockcore/redis/redlock.h"

static enum lock_answer expire_after_set(const struct lock *lock, const struct lock_event *event,
                                         struct lock_effects *effects)
{
    enum lock_answer answer = round_read(lock, event);
    if (event->command.kind == REDIS_SETNX && answer == LOCK_ANSWER_YES) {
        struct lock_command expire = round_command(lock, REDIS_EXPIRE);
        lock_send(lock, event->node_index, &expire, effects);
        return LOCK_ANSWER_LATER;
    }
    return answer;
}

static const struct redlock_rules rules = {.set_kind = REDIS_SETNX, .set_answer = expire_after_set};

const struct lock_algorithm algorithm_wrong_setnx_expire = {
    REDLOCK_ALGORITHM,
    .name = "wrong/setnx-expire",
    .about = "sends SETNX and, once answered, PEXPIRE: a client that dies between leaves the key "
             "for ever",
    .source = "the SETNX pattern of the Redis documentation before 2.6.12; redis-py #554, #818",
    .extends_unasked = true,
    .asks_more = true,
    .nodes_min = 1,
    .nodes_max = LOCK_NODES_MAX,
    .rules = &rules,
};
