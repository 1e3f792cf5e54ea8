/* toggle.c: P3 where all operations are known: lays the order of a mutex that turns.c found legal,
 * and tries the few of a certificate. */
#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/whole/whole.h"

/*
 * Nothing happens until an operation is due, that is, returns, and has not happened yet. If the
 * lock's state is in its way, one opposite operation must happen before it: of the pending ones the
 * one that is due first (by exchange, no other choice is better), else one of unknown outcome,
 * which need not happen otherwise. O(n log n).
 */
struct heap {
    uint32_t *items;
    size_t count;
};

struct toggle {
    struct whole *whole;
    struct heap pending[2]; /* acquires, releases: by return */
    uint32_t *unknown[2];   /* in the order of their calls */
    size_t unknown_count[2], unknown_used[2];
    bool *happened;
    bool locked;
};

static int side_of(const struct operation *operation)
{
    return operation->kind == OPERATION_TAKE || operation->kind == OPERATION_MAYBE_TAKE ? 0 : 1;
}

static bool due_before(const struct toggle *toggle, uint32_t a, uint32_t b)
{
    return toggle->whole->operations[a].returned < toggle->whole->operations[b].returned;
}

static void heap_push(const struct toggle *toggle, struct heap *heap, uint32_t item)
{
    size_t at = heap->count++;
    while (at > 0 && due_before(toggle, item, heap->items[(at - 1) / 2])) {
        heap->items[at] = heap->items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->items[at] = item;
}

static uint32_t heap_pop(const struct toggle *toggle, struct heap *heap)
{
    ASSERT(heap->count > 0);
    uint32_t first = heap->items[0];
    uint32_t item = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count &&
            due_before(toggle, heap->items[child + 1], heap->items[child])) {
            child++;
        }
        if (!due_before(toggle, heap->items[child], item)) {
            break;
        }
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = item;
    return first;
}

static void happen(struct toggle *toggle, uint32_t operation)
{
    struct whole *whole = toggle->whole;
    ASSERT(toggle->locked == (side_of(&whole->operations[operation]) == 1));
    toggle->locked = !toggle->locked;
    toggle->happened[operation] = true;
    if (whole->order != NULL) {
        whole->order[whole->order_count++] = operation;
    }
}

/* Let one operation of this side happen; false if there is none. */
static bool happen_any(struct toggle *toggle, int side)
{
    struct heap *heap = &toggle->pending[side];
    while (heap->count > 0) {
        uint32_t operation = heap_pop(toggle, heap);
        if (!toggle->happened[operation]) {
            happen(toggle, operation);
            return true;
        }
    }
    if (toggle->unknown_used[side] < toggle->unknown_count[side]) {
        happen(toggle, toggle->unknown[side][toggle->unknown_used[side]++]);
        return true;
    }
    return false;
}

/* What is due, and the latest operations of its side that happened before it. */
static void tell(struct toggle *toggle, uint32_t due)
{
    struct whole *whole = toggle->whole;
    struct linear_finding *finding = &whole->finding;
    *finding = (struct linear_finding){.reason = LINEAR_NO_ORDER,
                                       .grade = GRADE_NOT_LINEARIZABLE,
                                       .count = 1,
                                       .operations = {whole->operations[due].invoke}};
    for (size_t i = due; i-- > 0 && finding->count < 2;) {
        bool same = side_of(&whole->operations[i]) == side_of(&whole->operations[due]);
        if (toggle->happened[i] && same) {
            finding->operations[finding->count++] = whole->operations[i].invoke;
        }
    }
}

static enum whole_verdict toggle_sweep(struct toggle *toggle, const uint32_t *by_return,
                                       size_t returns)
{
    const struct operation *operations = toggle->whole->operations;
    size_t call = 0;
    for (size_t i = 0; i < returns; i++) {
        uint32_t due = by_return[i];
        for (; call < toggle->whole->count && operations[call].called < operations[due].returned;
             call++) {
            int side = side_of(&operations[call]);
            if (operation_is_unknown(&operations[call])) {
                toggle->unknown[side][toggle->unknown_count[side]++] = (uint32_t)call;
            } else {
                heap_push(toggle, &toggle->pending[side], (uint32_t)call);
            }
        }
        if (toggle->happened[due]) {
            continue;
        }
        int side = side_of(&operations[due]);
        bool in_the_way = toggle->locked == (side == 0);
        if (in_the_way && !happen_any(toggle, 1 - side)) {
            tell(toggle, due);
            return WHOLE_ILLEGAL;
        }
        happen(toggle, due);
    }
    return WHOLE_LEGAL;
}

enum whole_verdict toggle_judge(struct whole *whole)
{
    for (size_t i = 0; i < whole->count; i++) {
        if (operation_is_observer(&whole->operations[i])) {
            return WHOLE_NOT_FOR_ME;
        }
    }
    struct arena arena = arena_empty(whole->options->bytes_max);
    struct toggle toggle = {.whole = whole};
    size_t returns = 0;
    uint32_t *by_return = whole_by_return(whole, &returns);
    bool ready = by_return != NULL;
    for (int side = 0; side < 2; side++) {
        toggle.pending[side].items = arena_take(&arena, (whole->count + 1) * sizeof(uint32_t));
        toggle.unknown[side] = arena_take(&arena, (whole->count + 1) * sizeof(uint32_t));
        ready = ready && toggle.pending[side].items != NULL && toggle.unknown[side] != NULL;
    }
    toggle.happened = arena_take(&arena, whole->count + 1);
    whole->limit = LINEAR_LIMIT_BYTES;
    enum whole_verdict verdict = WHOLE_UNKNOWN;
    if (ready && toggle.happened != NULL) {
        verdict = toggle_sweep(&toggle, by_return, returns);
    }
    /* The order is checked by identities: in a mutex all are one. */
    for (size_t i = 0; i < whole->count; i++) {
        whole->operations[i].identity = 1;
    }
    memory_release(by_return);
    arena_release(&arena);
    return verdict;
}
