/* store.c: the guarded store's two operations. */
#include "harness/store.h"

static struct store_answer store_refuse(const struct store_cell *cell, enum history_cause cause)
{
    return (struct store_answer){
        .accepted = false, .cause = (uint8_t)cause, .version = cell->version};
}

struct store_answer store_read(struct store_cell *cell, const struct store_guard *guard,
                               const struct history_value *value, int64_t fence)
{
    if (guard->fence_check && fence < cell->fence) {
        return store_refuse(cell, CAUSE_STALE_FENCE);
    }
    if (guard->fence_check) {
        cell->fence = fence;
    }
    cell->claimed = true;
    cell->value = *value;
    return (struct store_answer){.accepted = true, .version = cell->version};
}

struct store_answer store_write(struct store_cell *cell, const struct store_guard *guard,
                                const struct history_value *value, int64_t fence)
{
    if (guard->fence_check && fence < cell->fence) {
        return store_refuse(cell, CAUSE_STALE_FENCE);
    }
    if (guard->value_check && (!cell->claimed || !history_value_equal(&cell->value, value))) {
        return store_refuse(cell, CAUSE_OTHER_VALUE);
    }
    if (guard->fence_check) {
        cell->fence = fence;
    }
    cell->version++;
    return (struct store_answer){.accepted = true, .version = cell->version};
}
