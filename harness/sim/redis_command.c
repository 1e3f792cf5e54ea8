/* redis_command.c: what a redis-server does with a lock's commands. */
#include "harness/sim/redis_state.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

/* One command under way. */
struct redis_call {
    struct redis_model *model;
    const struct redis_ask *ask;
    struct redis_cell *cell;
    struct redis_answer *answer;
    bool ours; /* the key holds the command's value */
};

static void redis_reply_integer(struct redis_call *call, int64_t integer)
{
    call->answer->reply = (struct lock_reply){.type = LOCK_REPLY_INTEGER, .integer = integer};
}

static void redis_tell(struct redis_call *call, enum history_f f)
{
    call->answer->f = (uint8_t)f;
    call->answer->touched = true;
}

static void redis_wrote_cell(struct redis_call *call)
{
    redis_wrote(call->model, call->ask->resource, call->ask->true_ns);
}

static void redis_expire_in(struct redis_call *call, int64_t ttl_ms)
{
    call->cell->expires = true;
    call->cell->expire_ms = call->ask->wall_ns / NS_PER_MS + ttl_ms;
    call->cell->sound_ns = call->ask->true_ns + ttl_ms * NS_PER_MS;
}

static void redis_create(struct redis_call *call)
{
    call->cell->present = true;
    call->cell->expires = false;
    call->cell->value = call->ask->command->value;
    redis_tell(call, HISTORY_KEY_SET);
}

static void redis_extend(struct redis_call *call, bool allowed)
{
    redis_reply_integer(call, allowed);
    if (!allowed) {
        redis_tell(call, HISTORY_KEY_KEPT);
        return;
    }
    redis_expire_in(call, call->ask->command->ttl_ms);
    redis_wrote_cell(call);
    redis_tell(call, HISTORY_KEY_EXTENDED);
}

static void redis_delete(struct redis_call *call, bool allowed)
{
    redis_reply_integer(call, allowed);
    if (!allowed) {
        redis_tell(call, HISTORY_KEY_KEPT);
        return;
    }
    call->cell->present = false;
    call->cell->expires = false;
    redis_wrote_cell(call);
    redis_tell(call, HISTORY_KEY_DELETED);
}

static void redis_set(struct redis_call *call)
{
    if (call->cell->present) {
        call->answer->reply.type = LOCK_REPLY_NIL;
        redis_tell(call, HISTORY_KEY_REFUSED);
        return;
    }
    redis_create(call);
    redis_expire_in(call, call->ask->command->ttl_ms);
    redis_wrote_cell(call);
    call->answer->reply.type = LOCK_REPLY_OK;
}

static void redis_set_without_ttl(struct redis_call *call)
{
    redis_reply_integer(call, !call->cell->present);
    if (call->cell->present) {
        redis_tell(call, HISTORY_KEY_REFUSED);
        return;
    }
    redis_create(call);
    redis_wrote_cell(call);
}

/* The counter grows by one, and starts no lower than the node's clock in microseconds. Key and
 * counter are one write: a script's effects stand in the file as a transaction. */
static void redis_set_fence(struct redis_call *call)
{
    if (call->cell->present) {
        redis_set(call);
        return;
    }
    int64_t next = call->cell->counted ? call->cell->fence + 1 : 1;
    int64_t floor_us = call->ask->wall_ns / NS_PER_US;
    call->cell->counted = true;
    call->cell->fence = next > floor_us ? next : floor_us;
    redis_set(call);
    redis_reply_integer(call, call->cell->fence);
}

static void redis_raise_fence(struct redis_call *call)
{
    int64_t fence = call->ask->command->fence;
    if (!call->cell->counted || call->cell->fence < fence) {
        call->cell->counted = true;
        call->cell->fence = fence;
        redis_wrote_cell(call);
    }
    redis_reply_integer(call, call->cell->fence);
}

static void redis_set_expire(struct redis_call *call)
{
    if (call->cell->present) {
        redis_extend(call, call->ours);
        return;
    }
    redis_create(call);
    redis_expire_in(call, call->ask->command->ttl_ms);
    redis_wrote_cell(call);
    redis_reply_integer(call, 1);
}

static void redis_execute(struct redis_call *call)
{
    switch ((enum lock_command_kind)call->ask->command->kind) {
    case LOCK_COMMAND_SET:
        redis_set(call);
        return;
    case LOCK_COMMAND_COMPARE_DELETE:
        redis_delete(call, call->ours);
        return;
    case LOCK_COMMAND_COMPARE_EXPIRE:
        redis_extend(call, call->ours);
        return;
    case LOCK_COMMAND_SET_FENCE:
        redis_set_fence(call);
        return;
    case LOCK_COMMAND_RAISE_FENCE:
        redis_raise_fence(call);
        return;
    case LOCK_COMMAND_DELETE:
        redis_delete(call, call->cell->present);
        return;
    case LOCK_COMMAND_SETNX:
        redis_set_without_ttl(call);
        return;
    case LOCK_COMMAND_EXPIRE:
        redis_extend(call, call->cell->present);
        return;
    case LOCK_COMMAND_SET_EXPIRE:
        redis_set_expire(call);
        return;
    case LOCK_COMMAND_KINDS:
        break;
    }
    UNREACHABLE();
}

static bool redis_kind_is_script(enum lock_command_kind kind)
{
    return kind == LOCK_COMMAND_COMPARE_DELETE || kind == LOCK_COMMAND_COMPARE_EXPIRE ||
           kind == LOCK_COMMAND_SET_FENCE || kind == LOCK_COMMAND_RAISE_FENCE ||
           kind == LOCK_COMMAND_SET_EXPIRE;
}

/* Would this command, in this state, write at all? A script that only compares is let through. */
static bool redis_writes(const struct redis_call *call)
{
    switch ((enum lock_command_kind)call->ask->command->kind) {
    case LOCK_COMMAND_COMPARE_DELETE:
    case LOCK_COMMAND_COMPARE_EXPIRE:
        return call->ours;
    case LOCK_COMMAND_RAISE_FENCE:
        return !call->cell->counted || call->cell->fence < call->ask->command->fence;
    case LOCK_COMMAND_SET:
    case LOCK_COMMAND_SET_FENCE:
    case LOCK_COMMAND_DELETE:
    case LOCK_COMMAND_SETNX:
    case LOCK_COMMAND_EXPIRE:
    case LOCK_COMMAND_SET_EXPIRE: /* tries to set the key, also where another has it */
        return true;
    case LOCK_COMMAND_KINDS:
        break;
    }
    UNREACHABLE();
}

/* Commands that may need memory: Redis marks them "denyoom". DEL and PEXPIRE are not. */
static bool redis_needs_memory(const struct redis_call *call)
{
    switch ((enum lock_command_kind)call->ask->command->kind) {
    case LOCK_COMMAND_SET:
    case LOCK_COMMAND_SET_FENCE:
    case LOCK_COMMAND_SETNX:
        return true;
    case LOCK_COMMAND_RAISE_FENCE:
        return redis_writes(call);
    case LOCK_COMMAND_SET_EXPIRE:
        return !call->ours;
    case LOCK_COMMAND_COMPARE_DELETE:
    case LOCK_COMMAND_COMPARE_EXPIRE:
    case LOCK_COMMAND_DELETE:
    case LOCK_COMMAND_EXPIRE:
        return false;
    case LOCK_COMMAND_KINDS:
        break;
    }
    UNREACHABLE();
}

static bool redis_refuses(const struct redis_call *call)
{
    if (call->model->error == 0) {
        return false;
    }
    switch ((enum node_error)(call->model->error - 1)) {
    case NODE_ERROR_OOM:
        return redis_needs_memory(call);
    case NODE_ERROR_READONLY:
        return redis_writes(call);
    case NODE_ERROR_LOADING:
        return true;
    }
    UNREACHABLE();
}

/* False if the script is asked for by its SHA-1 and the cache does not have it. */
static bool redis_has_script(struct redis_call *call)
{
    enum lock_command_kind kind = (enum lock_command_kind)call->ask->command->kind;
    if (!redis_kind_is_script(kind)) {
        return true;
    }
    uint32_t bit = 1u << kind;
    if (call->ask->command->form == LOCK_FORM_TEXT) {
        call->model->scripts |= bit;
    }
    return (call->model->scripts & bit) != 0;
}

void redis_model_command(struct redis_model *model, const struct redis_ask *ask,
                         struct redis_answer *answer)
{
    ASSERT(!model->stopped);
    ASSERT(ask->resource < model->resource_count);
    struct redis_cell *cell = &model->cells[ask->resource];
    memset(answer, 0, sizeof *answer);
    if (redis_cell_expired(cell, ask->wall_ns)) {
        redis_model_remove(model, ask->resource, ask->true_ns);
    }
    answer->before = *cell;
    bool ours =
        cell->present && memcmp(&cell->value, &ask->command->value, sizeof cell->value) == 0;
    struct redis_call call = {model, ask, cell, answer, ours};
    bool loading = model->error == NODE_ERROR_LOADING + 1;
    if (!loading && !redis_has_script(&call)) {
        answer->reply.type = LOCK_REPLY_NOSCRIPT;
        return;
    }
    if (redis_refuses(&call)) {
        answer->reply.type = LOCK_REPLY_ERROR;
        redis_tell(&call, HISTORY_NODE_ERROR);
        return;
    }
    redis_execute(&call);
}
