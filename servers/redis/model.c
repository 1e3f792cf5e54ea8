/* model.c: what a redis-server keeps: keys, file, replica. */
#include "servers/redis/state.h"

#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

static const struct redis_cell redis_nothing;

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t redis_log_bytes(uint32_t writes, uint32_t resources)
{
    return writes == 0
               ? 0
               : resources * sizeof(struct redis_cell) + writes * sizeof(struct redis_write);
}

size_t redis_model_bytes(const struct redis_shape *shape)
{
    return sizeof(struct redis_model) + shape->resource_count * sizeof(struct redis_cell) +
           redis_log_bytes(shape->disk_writes_max, shape->resource_count) +
           redis_log_bytes(shape->replica_writes_max, shape->resource_count);
}

void redis_model_init(struct redis_model *model, const struct redis_shape *shape,
                      enum fsync_setting fsync)
{
    ASSERT(shape->resource_count > 0);
    memset(model, 0, redis_model_bytes(shape));
    model->fsync = (uint8_t)fsync;
    model->resource_count = shape->resource_count;
    model->disk.capacity = shape->disk_writes_max;
    model->replica.capacity = shape->replica_writes_max;
}

static struct redis_log_view redis_disk(struct redis_model *model)
{
    struct redis_cell *base = &model->cells[model->resource_count];
    return (struct redis_log_view){&model->disk, base,
                                   (struct redis_write *)(void *)&base[model->resource_count]};
}

static struct redis_log_view redis_replica(struct redis_model *model)
{
    size_t disk_bytes = redis_log_bytes(model->disk.capacity, model->resource_count);
    struct redis_cell *end = &model->cells[model->resource_count];
    struct redis_cell *base = (struct redis_cell *)(void *)((char *)end + disk_bytes);
    return (struct redis_log_view){&model->replica, base,
                                   (struct redis_write *)(void *)&base[model->resource_count]};
}

static void redis_log_restate(const struct redis_log_view *view, const struct redis_model *model)
{
    if (view->log->capacity > 0) {
        memcpy(view->base, model->cells, model->resource_count * sizeof model->cells[0]);
        view->log->count = 0;
    }
}

/* ---- persistence ----------------------------------------------------------------------------- */

/*
 * everysec: a write that follows a second without an fsync starts one at once (aof.c,
 * flushAppendOnlyFile); else the cron does, a second after the last one.
 */
static void redis_sync(struct redis_model *model, int64_t true_ns)
{
    if (model->disk.count == 0 || true_ns < model->synced_ns + NS_PER_S) {
        return;
    }
    struct redis_log_view disk = redis_disk(model);
    int64_t oldest_ns = disk.writes[disk.log->first].true_ns;
    int64_t due_ns = model->synced_ns + NS_PER_S;
    due_ns = oldest_ns > due_ns ? oldest_ns : due_ns;
    if (redis_log_fold_until(&disk, due_ns) > 0 && due_ns + NS_PER_S <= true_ns) {
        due_ns += NS_PER_S;
        (void)redis_log_fold_until(&disk, true_ns);
    }
    model->synced_ns = due_ns;
}

void redis_wrote(struct redis_model *model, uint32_t resource, int64_t true_ns)
{
    struct redis_write write = {
        .true_ns = true_ns, .resource = resource, .cell = model->cells[resource]};
    if (model->fsync == FSYNC_EVERYSEC && model->disk.capacity > 0) {
        struct redis_log_view disk = redis_disk(model);
        redis_sync(model, true_ns);
        redis_log_push(&disk, &write);
        redis_sync(model, true_ns);
    }
    if (model->replica.capacity > 0) {
        struct redis_log_view replica = redis_replica(model);
        redis_log_push(&replica, &write);
    }
}

uint32_t redis_model_unsynced(struct redis_model *model, int64_t true_ns)
{
    redis_sync(model, true_ns);
    return model->disk.count;
}

void redis_model_synced(struct redis_model *model, uint32_t writes, int64_t true_ns)
{
    struct redis_log_view disk = redis_disk(model);
    redis_log_fold(&disk, writes);
    model->synced_ns = true_ns;
}

const struct redis_cell *redis_model_stored(const struct redis_model *model, uint32_t resource)
{
    ASSERT(resource < model->resource_count);
    switch ((enum redis_recovery)model->recovery) {
    case REDIS_RECOVERS_ALL:
        return &model->cells[resource];
    case REDIS_RECOVERS_NOTHING:
        return &redis_nothing;
    case REDIS_RECOVERS_BASE:
        return &model->cells[model->resource_count + resource];
    }
    UNREACHABLE();
}

void redis_model_prepare_stop(struct redis_model *model, enum server_stop how, uint32_t kept)
{
    ASSERT(!model->stopped);
    model->unsynced = false;
    if (model->fsync == FSYNC_NONE) {
        model->recovery = REDIS_RECOVERS_NOTHING;
        return;
    }
    if (how != SERVER_STOP_POWER || model->fsync == FSYNC_ALWAYS) {
        model->recovery = REDIS_RECOVERS_ALL;
        model->unsynced = how == SERVER_STOP_KILLED;
        return;
    }
    ASSERT(model->disk.capacity > 0);
    struct redis_log_view disk = redis_disk(model);
    redis_log_fold(&disk, kept);
    model->recovery = REDIS_RECOVERS_BASE;
}

void redis_model_stop(struct redis_model *model)
{
    ASSERT(!model->stopped);
    for (uint32_t i = 0; i < model->resource_count; i++) {
        model->cells[i] = *redis_model_stored(model, i);
    }
    model->stopped = true;
}

void redis_model_start(struct redis_model *model, int64_t true_ns)
{
    ASSERT(model->stopped);
    model->stopped = false;
    model->scripts = 0;
    model->synced_ns = true_ns;
    struct redis_log_view disk = redis_disk(model);
    struct redis_log_view replica = redis_replica(model);
    if (!model->unsynced) {
        redis_log_restate(&disk, model);
    }
    redis_log_restate(&replica, model);
}

/* ---- replication ----------------------------------------------------------------------------- */

void redis_model_replica_catch_up(struct redis_model *model, int64_t until_true_ns)
{
    struct redis_log_view replica = redis_replica(model);
    (void)redis_log_fold_until(&replica, until_true_ns);
}

const struct redis_cell *redis_model_replica(const struct redis_model *model, uint32_t resource)
{
    ASSERT(resource < model->resource_count);
    ASSERT(model->replica.capacity > 0);
    struct redis_log_view replica = redis_replica((struct redis_model *)(uintptr_t)model);
    return &replica.base[resource];
}

void redis_model_promote(struct redis_model *model, int64_t true_ns)
{
    struct redis_log_view disk = redis_disk(model);
    struct redis_log_view replica = redis_replica(model);
    memcpy(model->cells, replica.base, model->resource_count * sizeof model->cells[0]);
    model->scripts = 0; /* scripts are replicated by their effects */
    model->synced_ns = true_ns;
    redis_log_restate(&disk, model);
    redis_log_restate(&replica, model);
}

/* ---- keys ------------------------------------------------------------------------------------ */

bool redis_cell_expired(const struct redis_cell *cell, int64_t wall_ns)
{
    return cell->present && cell->expires && wall_ns / NS_PER_MS > cell->expire_ms;
}

int64_t redis_cell_end_ns(const struct redis_cell *cell)
{
    ASSERT(cell->present);
    return cell->expires ? (cell->expire_ms + 1) * NS_PER_MS : TIME_NEVER;
}

const struct redis_cell *redis_model_cell(const struct redis_model *model, uint32_t resource)
{
    ASSERT(resource < model->resource_count);
    return &model->cells[resource];
}

void redis_model_remove(struct redis_model *model, uint32_t resource, int64_t true_ns)
{
    struct redis_cell *cell = &model->cells[resource];
    ASSERT(cell->present);
    cell->present = false;
    cell->expires = false;
    if (!model->stopped) {
        redis_wrote(model, resource, true_ns);
    }
}

void redis_model_follow(struct redis_model *model, bool follows)
{
    model->follows = follows;
}

void redis_model_put(struct redis_model *model, uint32_t resource, const struct redis_cell *cell,
                     int64_t true_ns)
{
    ASSERT(resource < model->resource_count);
    ASSERT(!model->stopped);
    model->cells[resource] = *cell;
    redis_wrote(model, resource, true_ns);
}

void redis_model_refuse(struct redis_model *model, const enum node_error *error)
{
    model->error = error == NULL ? 0 : (uint8_t)(*error + 1);
}

void redis_model_flush_scripts(struct redis_model *model)
{
    model->scripts = 0;
}
