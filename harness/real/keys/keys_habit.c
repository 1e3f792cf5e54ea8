/* keys_habit.c: what a command was seen to do is what it is taken for when it comes again. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"

static struct keys_habit *habit_at(struct keys *keys, uint64_t id)
{
    return &keys->habits[(id ^ id >> 32) & (KEYS_HABITS - 1)];
}

void keys_habits_init(struct keys *keys)
{
    for (uint32_t i = 0; i < KEYS_HABITS; i++) {
        keys->habits[i].role = ROLE_OTHER;
    }
}

/* Of a script that does several things, what makes it a lock's comes first. */
static enum command_role did_role(uint8_t did)
{
    return (did & KEYS_DID_SET) != 0      ? ROLE_SET
           : (did & KEYS_DID_DELETE) != 0 ? ROLE_DELETE
           : (did & KEYS_DID_EXTEND) != 0 ? ROLE_EXTEND
                                          : ROLE_OTHER;
}

static int role_strength(enum command_role role)
{
    return role == ROLE_SET ? 3 : role == ROLE_DELETE ? 2 : role == ROLE_EXTEND ? 1 : 0;
}

void keys_habit_seen(struct keys *keys, const struct keys_command *command, uint8_t did)
{
    struct keys_habit *habit = habit_at(keys, command->habit);
    enum command_role role = did_role(did);
    bool open = command->ask == ASK_SCRIPT || command->ask == ASK_CHANGE ||
                command->ask == ASK_COUNT || command->ask == ASK_OTHER;
    if (role == ROLE_OTHER || !open) {
        return;
    }
    if (habit->id != command->habit ||
        role_strength(role) > role_strength((enum command_role)habit->role)) {
        *habit = (struct keys_habit){command->habit, (uint8_t)role};
    }
}

/* What a client asked its library for, where a request is open. */
static enum command_role asked_role(const struct keys *keys, int32_t client)
{
    const struct keys_client *asker =
        client >= 0 && client < keys->options.client_count ? &keys->clients[client] : NULL;
    if (asker == NULL || !asker->asks) {
        return ROLE_OTHER;
    }
    return asker->f == HISTORY_ACQUIRE  ? ROLE_SET
           : asker->f == HISTORY_EXTEND ? ROLE_EXTEND
                                        : ROLE_DELETE;
}

/* It names a key that is a lock, or one that may be: nothing is known of any yet. */
static bool names_a_lock(const struct keys *keys, const struct keys_command *command,
                         int32_t client)
{
    return command->key_count > 0 || (keys->learns && asked_role(keys, client) != ROLE_OTHER);
}

/* The same for what may as well fill a key beside the lock: a queue, a count of fences. */
static bool fills_a_lock(const struct keys *keys, const struct keys_command *command,
                         int32_t client)
{
    if (command->key_count > 0 || command->ask == ASK_COUNT) {
        return command->key_count > 0;
    }
    return names_a_lock(keys, command, client) &&
           keys->resources[keys->clients[client].resource].lock == 0;
}

enum command_role keys_role(const struct keys *keys, const struct keys_command *command,
                            int32_t client)
{
    const struct keys_habit *habit =
        &keys->habits[(command->habit ^ command->habit >> 32) & (KEYS_HABITS - 1)];
    bool known = habit->id == command->habit && habit->role != ROLE_OTHER;
    bool lock = names_a_lock(keys, command, client);
    switch ((enum effect_ask)command->ask) {
    case ASK_SET:
        /* Some extend by reading the value and setting it again. */
        return !lock                                     ? ROLE_OTHER
               : asked_role(keys, client) == ROLE_EXTEND ? ROLE_EXTEND
                                                         : ROLE_SET;
    case ASK_EXPIRY:
        return lock ? ROLE_EXTEND : ROLE_OTHER;
    case ASK_DELETE:
        return lock ? ROLE_DELETE : ROLE_OTHER;
    case ASK_SCRIPT:
        if (command->kind != REDIS_COMMANDS) {
            return command_role_of((enum lock_verb)redis_dialect.rows[command->kind].verb);
        }
        return known ? (enum command_role)habit->role : asked_role(keys, client);
    case ASK_CHANGE:
    case ASK_COUNT:
        return !fills_a_lock(keys, command, client) ? ROLE_OTHER
               : known                              ? (enum command_role)habit->role
                                                    : asked_role(keys, client);
    case ASK_OTHER:
        return known && lock ? (enum command_role)habit->role : ROLE_OTHER;
    case ASK_MULTI:
    case ASK_EXEC:
    case ASK_DISCARD:
    case ASK_FLUSH:
    case ASK_FLUSH_ONE:
    case ASK_STREAM:
        return ROLE_OTHER;
    }
    UNREACHABLE();
}
