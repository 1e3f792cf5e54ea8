/* keys_own.c: commands and replies as a kind's wire reads them: kinds whose nodes do not tell. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

bool keys_kind_tells(const struct keys *keys)
{
    return keys->options.kind == SERVER_KIND_redis;
}

void keys_do_not_tell(struct keys *keys)
{
    char memory[TAP_REFUSED_BYTES];
    struct text sentence = text_over(memory, sizeof memory);
    text_add(&sentence, "%s servers do not tell what becomes of their keys", keys->kind->name);
    keys_unclear(keys, sentence.data);
}

void keys_own_read(struct keys *keys, const struct wire_request *request,
                   struct keys_command *command)
{
    memset(command, 0, sizeof *command);
    command->kind = (uint8_t)keys->kind->dialect->row_count;
    command->role = ROLE_OTHER;
    command->ask = ASK_OTHER;
    command->ends_replies = request->ends_replies;
    command->known = request->known;
    if (!request->known) {
        return;
    }
    const struct lock_command_row *row =
        lock_dialect_row(keys->kind->dialect, request->command.kind);
    command->own = request->command;
    command->kind = (uint8_t)request->command.kind;
    command->role = (uint8_t)command_role_of((enum lock_verb)row->verb);
    command->has_value = true;
    memcpy(command->value.bytes, request->command.value.bytes, sizeof command->value.bytes);
    struct resp_word name = {request->resource.data, request->resource.bytes};
    uint32_t known =
        name.bytes > 0 ? keys_table_find(&keys->table, &name, KEYS_ANY_DATABASE) : UINT32_MAX;
    if (known != UINT32_MAX && keys->table.names[known].part == KEYS_PART_LOCK) {
        command->resource[command->key_count++] = keys->table.names[known].resource;
    }
}

void keys_own_reply(const struct wire_reply *reply, struct keys_reply *read)
{
    static const uint8_t said[LOCK_REPLY_TYPES] = {
        [LOCK_REPLY_YES] = REDIS_SAID_OK,         [LOCK_REPLY_NO] = REDIS_SAID_NIL,
        [LOCK_REPLY_NUMBER] = REDIS_SAID_INTEGER, [LOCK_REPLY_LONG_FORM] = REDIS_SAID_NOSCRIPT,
        [LOCK_REPLY_ERROR] = REDIS_SAID_ERROR,    [LOCK_REPLY_UNSURE] = REDIS_SAID_OTHER,
        [LOCK_REPLY_GARBLED] = REDIS_SAID_OTHER,
    };
    ASSERT(reply->reply.type < LOCK_REPLY_TYPES);
    read->type = said[reply->reply.type];
    read->error =
        reply->reply.type == LOCK_REPLY_ERROR || reply->reply.type == LOCK_REPLY_LONG_FORM;
    read->integer = reply->reply.number;
}
