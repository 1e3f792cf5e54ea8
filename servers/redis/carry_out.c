/* carry_out.c: what a redis-server does with a lock's commands. */
#include "servers/redis/state.h"

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

static void redis_answer(struct redis_call *call, enum lock_reply_type type)
{
    call->answer->reply = (struct lock_reply){.type = (uint8_t)type};
}

static void redis_answer_flag(struct redis_call *call, bool done)
{
    redis_answer(call, done ? LOCK_REPLY_YES : LOCK_REPLY_NO);
}

static void redis_answer_number(struct redis_call *call, int64_t number)
{
    call->answer->reply = (struct lock_reply){.type = LOCK_REPLY_NUMBER, .number = number};
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
    redis_answer_flag(call, allowed);
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
    redis_answer_flag(call, allowed);
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
        redis_answer_flag(call, false);
        redis_tell(call, HISTORY_KEY_REFUSED);
        return;
    }
    redis_create(call);
    redis_expire_in(call, call->ask->command->ttl_ms);
    redis_wrote_cell(call);
    redis_answer_flag(call, true);
}

static void redis_set_without_ttl(struct redis_call *call)
{
    redis_answer_flag(call, !call->cell->present);
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
    redis_answer_number(call, call->cell->fence);
}

static void redis_raise_fence(struct redis_call *call)
{
    int64_t fence = call->ask->command->number;
    if (!call->cell->counted || call->cell->fence < fence) {
        call->cell->counted = true;
        call->cell->fence = fence;
        redis_wrote_cell(call);
    }
    redis_answer_number(call, call->cell->fence);
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
    redis_answer_flag(call, true);
}

static void redis_execute(struct redis_call *call)
{
    switch ((enum redis_command)call->ask->command->kind) {
    case REDIS_SET:
        redis_set(call);
        return;
    case REDIS_COMPARE_DELETE:
        redis_delete(call, call->ours);
        return;
    case REDIS_COMPARE_EXPIRE:
        redis_extend(call, call->ours);
        return;
    case REDIS_SET_FENCE:
        redis_set_fence(call);
        return;
    case REDIS_RAISE_FENCE:
        redis_raise_fence(call);
        return;
    case REDIS_DELETE:
        redis_delete(call, call->cell->present);
        return;
    case REDIS_SETNX:
        redis_set_without_ttl(call);
        return;
    case REDIS_EXPIRE:
        redis_extend(call, call->cell->present);
        return;
    case REDIS_SET_EXPIRE:
        redis_set_expire(call);
        return;
    case REDIS_WAIT: /* nobody follows: replicas.c answers the others */
        redis_answer_number(call, 0);
        return;
    case REDIS_COMMANDS:
        break;
    }
    UNREACHABLE();
}

/* Would this command, in this state, write at all? A script that only compares is let through. */
static bool redis_writes(const struct redis_call *call)
{
    switch ((enum redis_command)call->ask->command->kind) {
    case REDIS_COMPARE_DELETE:
    case REDIS_COMPARE_EXPIRE:
        return call->ours;
    case REDIS_RAISE_FENCE:
        return !call->cell->counted || call->cell->fence < call->ask->command->number;
    case REDIS_SET:
    case REDIS_SET_FENCE:
    case REDIS_DELETE:
    case REDIS_SETNX:
    case REDIS_EXPIRE:
    case REDIS_SET_EXPIRE: /* tries to set the key, also where another has it */
        return true;
    case REDIS_WAIT:
        return false;
    case REDIS_COMMANDS:
        break;
    }
    UNREACHABLE();
}

/* Commands that may need memory: Redis marks them "denyoom". DEL and PEXPIRE are not. */
static bool redis_needs_memory(const struct redis_call *call)
{
    switch ((enum redis_command)call->ask->command->kind) {
    case REDIS_SET:
    case REDIS_SET_FENCE:
    case REDIS_SETNX:
        return true;
    case REDIS_RAISE_FENCE:
        return redis_writes(call);
    case REDIS_SET_EXPIRE:
        return !call->ours;
    case REDIS_COMPARE_DELETE:
    case REDIS_COMPARE_EXPIRE:
    case REDIS_DELETE:
    case REDIS_EXPIRE:
    case REDIS_WAIT:
        return false;
    case REDIS_COMMANDS:
        break;
    }
    UNREACHABLE();
}

static bool redis_refuses(const struct redis_call *call)
{
    if (call->model->error == 0) {
        return call->model->follows && redis_writes(call);
    }
    switch ((enum node_error)(call->model->error - 1)) {
    case NODE_ERROR_OOM:
        return redis_needs_memory(call);
    case NODE_ERROR_READONLY:
        return redis_writes(call);
    case NODE_ERROR_LOADING:
    case NODE_ERROR_WRONGTYPE:
    case NODE_ERROR_GARBLED:
        return true;
    case NODE_ERRORS:
        break;
    }
    UNREACHABLE();
}

/* False if the script is asked for by its SHA-1 and the cache does not have it. */
static bool redis_has_script(struct redis_call *call)
{
    enum redis_command kind = (enum redis_command)call->ask->command->kind;
    if (redis_script(kind) == NULL) {
        return true;
    }
    uint32_t bit = 1u << kind;
    if (call->ask->command->form == LOCK_FORM_LONG) {
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
    bool garbled = model->error == NODE_ERROR_GARBLED + 1;
    bool loading = model->error == NODE_ERROR_LOADING + 1;
    if (!loading && !garbled && !redis_has_script(&call)) {
        redis_answer(&call, LOCK_REPLY_LONG_FORM);
        return;
    }
    if (redis_refuses(&call)) {
        redis_answer(&call, garbled ? LOCK_REPLY_GARBLED : LOCK_REPLY_ERROR);
        redis_tell(&call, HISTORY_NODE_ERROR);
        return;
    }
    redis_execute(&call);
}
