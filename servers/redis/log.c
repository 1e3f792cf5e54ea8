/* log.c: folds writes into a base state. */
#include "servers/redis/log.h"

#include "base/assert.h"

static const struct redis_write *redis_log_oldest(const struct redis_log_view *view)
{
    ASSERT(view->log->count > 0);
    return &view->writes[view->log->first];
}

void redis_log_fold(const struct redis_log_view *view, uint32_t writes)
{
    struct redis_log *log = view->log;
    ASSERT(writes <= log->count);
    for (uint32_t i = 0; i < writes; i++) {
        const struct redis_write *write = redis_log_oldest(view);
        view->base[write->resource] = write->cell;
        log->first = log->first + 1 == log->capacity ? 0 : log->first + 1;
        log->count--;
    }
}

void redis_log_push(const struct redis_log_view *view, const struct redis_write *write)
{
    struct redis_log *log = view->log;
    if (log->capacity == 0) {
        return;
    }
    if (log->count == log->capacity) {
        redis_log_fold(view, 1);
    }
    uint32_t place = log->first + log->count;
    view->writes[place >= log->capacity ? place - log->capacity : place] = *write;
    log->count++;
}

uint32_t redis_log_fold_until(const struct redis_log_view *view, int64_t true_ns)
{
    while (view->log->count > 0 && redis_log_oldest(view)->true_ns <= true_ns) {
        redis_log_fold(view, 1);
    }
    return view->log->count;
}
