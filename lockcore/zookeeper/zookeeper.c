/* zookeeper.c: the lock of a ZooKeeper ensemble: its commands, its rules, its step. */
#include "lockcore/zookeeper/zookeeper.h"

#include "base/assert.h"

static const struct lock_command_row rows[ZOOKEEPER_COMMANDS] = {
    [ZOOKEEPER_OPEN] = {"open-session", "connect, and begin a session", LOCK_VERB_OPEN_SESSION,
                        LOCK_CARRIES_TTL, LOCK_ANSWERS_YES_NO, false},
    [ZOOKEEPER_ATTACH] = {"attach", "connect, and go on with a session", LOCK_VERB_KEEP_SESSION, 0,
                          LOCK_ANSWERS_YES_NO, false},
    [ZOOKEEPER_PING] = {"ping", "ping: touch the connection's session", LOCK_VERB_KEEP_SESSION, 0,
                        LOCK_ANSWERS_YES_NO, false},
    [ZOOKEEPER_CREATE] = {"create", "create our node in the session, ephemeral and sequential",
                          LOCK_VERB_SET_ABSENT, 0, LOCK_ANSWERS_NUMBER, false},
    [ZOOKEEPER_CREATE_FOUND] = {"create-found", "the same; any session's node of ours will do",
                                LOCK_VERB_SET_ABSENT, 0, LOCK_ANSWERS_NUMBER, false},
    [ZOOKEEPER_CHILDREN] = {"children", "getChildren: are we the lowest, or who is before us?",
                            LOCK_VERB_NONE, LOCK_CARRIES_NUMBER, LOCK_ANSWERS_YES_NO, false},
    [ZOOKEEPER_CHILDREN_WATCH] = {"children-watch", "the same, and a watch on all of them",
                                  LOCK_VERB_WATCH, LOCK_CARRIES_NUMBER, LOCK_ANSWERS_YES_NO, false},
    [ZOOKEEPER_EXISTS] = {"exists", "exists, with a watch: is that one there?", LOCK_VERB_WATCH,
                          LOCK_CARRIES_NUMBER, LOCK_ANSWERS_YES_NO, false},
    [ZOOKEEPER_DELETE] = {"delete", "delete our node", LOCK_VERB_DELETE_COMPARE,
                          LOCK_CARRIES_NUMBER, LOCK_ANSWERS_YES_NO, false},
};

const struct lock_dialect zookeeper_dialect = {
    .name = "zookeeper",
    .rows = rows,
    .row_count = ZOOKEEPER_COMMANDS,
    .watches = true,
    .renew_percent = 25,
    .spare_percent = 55,
};

const uint32_t zookeeper_moves[LOCK_STATES] = {
    [LOCK_STATE_IDLE] = LOCK_TO(ACQUIRING),
    [LOCK_STATE_ACQUIRING] = LOCK_TO(HELD) | LOCK_TO(WAITING) | LOCK_TO(IDLE),
    [LOCK_STATE_WAITING] = LOCK_TO(ACQUIRING),
    [LOCK_STATE_HELD] = LOCK_TO(SPENT) | LOCK_TO(RELEASING),
    [LOCK_STATE_SPENT] = LOCK_TO(HELD) | LOCK_TO(RELEASING),
    [LOCK_STATE_RELEASING] = LOCK_TO(IDLE),
};

static const struct zookeeper_rules recipe = {.herd = false};

const struct lock_algorithm algorithm_zookeeper = {
    ZOOKEEPER_ALGORITHM,
    .name = "zookeeper",
    .about = "an ephemeral sequential node; the lowest holds, each other watches the one before it",
    .source = "ZooKeeper Recipes and Solutions, \"Locks\"",
    .rules = &recipe,
};

void zookeeper_assert_valid(const struct lock *lock)
{
    const struct zookeeper *own = lock_own_const(lock);
    bool asks = lock->state == LOCK_STATE_ACQUIRING || lock->state == LOCK_STATE_RELEASING;
    ASSERT(own->member < lock->config.node_count);
    ASSERT(own->link <= ZOOKEEPER_CONNECTED);
    ASSERT(own->jeopardy == 0 || lock->state == LOCK_STATE_SPENT);
    ASSERT(lock->pending == 0 || (asks && own->link == ZOOKEEPER_CONNECTED));
    ASSERT(own->ping_attempt == 0 || own->link == ZOOKEEPER_CONNECTED);
    ASSERT(own->stale_place == 0 || own->known != 0);
}
