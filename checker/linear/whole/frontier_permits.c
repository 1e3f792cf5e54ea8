/* frontier_permits.c: no more permits are searched than can be held at a time. */
#include "checker/linear/whole/frontier_inside.h"

#include "base/assert.h"

/* All acquires that were called, less the releases that must have happened: never more are held. */
static uint32_t most_held(const struct whole *whole, const uint32_t *by_return, size_t returns)
{
    uint32_t held = 0, most = 0;
    size_t call = 0;
    for (size_t i = 0; i <= returns; i++) {
        const struct operation *returned = i < returns ? &whole->operations[by_return[i]] : NULL;
        int64_t position = returned != NULL ? returned->returned : POSITION_NEVER;
        for (; call < whole->count && whole->operations[call].called < position; call++) {
            uint8_t kind = whole->operations[call].kind;
            held += kind == OPERATION_TAKE || kind == OPERATION_MAYBE_TAKE ? 1 : 0;
        }
        most = held > most ? held : most;
        bool freed = returned != NULL && returned->kind == OPERATION_FREE;
        held -= freed && held > 0 ? 1 : 0;
    }
    ASSERT(call == whole->count);
    return most;
}

uint32_t frontier_permits(struct whole *whole)
{
    uint32_t permits = whole->options->permits;
    size_t returns = 0;
    uint32_t *by_return = whole_by_return(whole, &returns);
    if (by_return == NULL) {
        return permits;
    }
    uint32_t most = most_held(whole, by_return, returns);
    memory_release(by_return);
    return most < permits ? most + 1 : permits; /* with one more there is always room, too */
}
