/* single_wait.c: one key, and WAIT until replicas have it. */
#include "lockcore/redis/redlock.h"

/*
 * "This command blocks the current client until all the previous write commands are successfully
 * transferred and acknowledged by at least the number of replicas you specify". It answers how many
 * have them; with fewer the key is given back, as nobody knows which of them will be promoted.
 */
static enum lock_answer wait_after_set(const struct lock *lock, const struct lock_event *event,
                                       struct lock_effects *effects)
{
    enum lock_answer answer = round_read(lock, event);
    if (event->command.kind == REDIS_WAIT || answer != LOCK_ANSWER_YES) {
        return answer;
    }
    struct lock_command wait = round_command(lock, REDIS_WAIT);
    wait.number = lock->config.wait_count;
    int64_t wait_ms = (lock->config.wait_ns + NS_PER_MS - 1) / NS_PER_MS;
    wait.ttl_ms = wait_ms > 0 ? wait_ms : 1; /* 0 is for ever */
    lock_send(lock, event->node_index, &wait, effects);
    return LOCK_ANSWER_LATER;
}

static const struct redlock_rules rules = {.set_answer = wait_after_set};

const struct lock_algorithm algorithm_single_wait = {
    REDLOCK_ALGORITHM,
    .name = "single-wait",
    .about = "one node and its replicas: SET NX PX, then WAIT until some of them have the key",
    .source = "Redis documentation, WAIT: \"Consistency and WAIT\"",
    .waits = true,
    .asks_more = true,
    .nodes_min = 1,
    .nodes_max = 1,
    .rules = &rules,
};
