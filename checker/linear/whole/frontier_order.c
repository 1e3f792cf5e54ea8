/* frontier_order.c: the legal order that the frontier engine went through. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

/* Follow the trail of a surviving configuration; the unknown of someone are used in call order. */
void frontier_write_order(struct frontier *frontier)
{
    struct whole *whole = frontier->whole;
    uint32_t alive = 0;
    while (config_at(&frontier->now, alive)->life == CONFIG_DEAD) {
        alive++;
    }
    uint32_t at = config_at(&frontier->now, alive)->trail;
    size_t count = 0;
    for (; at != UINT32_MAX; at = frontier->trail[at].before) {
        whole->order[count++] = frontier->trail[at].operation;
    }
    ASSERT(count <= whole->count);
    for (size_t i = 0; i < count / 2; i++) {
        size_t swapped = whole->order[i];
        whole->order[i] = whole->order[count - 1 - i];
        whole->order[count - 1 - i] = swapped;
    }
    whole->order_count = count;
    size_t *next = frontier_take(frontier, UNKNOWN_KINDS * frontier->someone_count * sizeof *next);
    for (size_t i = 0; i < count && next != NULL; i++) {
        if (whole->order[i] < whole->count) {
            continue;
        }
        size_t wanted = whole->order[i] - whole->count;
        static const uint8_t kinds[UNKNOWN_KINDS] = {OPERATION_MAYBE_TAKE, OPERATION_MAYBE_FREE,
                                                     OPERATION_MAYBE_EXTEND};
        uint8_t kind = kinds[wanted % UNKNOWN_KINDS];
        size_t operation = next[wanted];
        while (frontier->owners[operation] != wanted / UNKNOWN_KINDS ||
               whole->operations[operation].kind != kind) {
            operation++;
            ASSERT(operation < whole->count);
        }
        next[wanted] = operation + 1;
        whole->order[i] = operation;
    }
}
