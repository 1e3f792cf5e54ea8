/* recent.c: blocks of the latest operations, and the evidence in them. */
#include "checker/linear/steps/recent.h"

#include "base/arena.h"
#include "base/assert.h"
#include "checker/linear/steps/stream.h"
#include "checker/linear/whole/whole.h"

#include <stdlib.h>

static uint32_t block_take(struct linear *linear)
{
    struct recent_pool *pool = &linear->recent;
    uint32_t block = pool->free;
    if (block != 0) {
        pool->free = pool->blocks[block - 1].next_free;
    } else if (pool->count < pool->room ||
               stream_grow(linear, (void **)&pool->blocks, &pool->room, sizeof pool->blocks[0])) {
        block = ++pool->count;
    }
    return block;
}

void recent_add(struct linear *linear, uint32_t *block, const struct recent_operation *operation)
{
    if (*block == 0) {
        *block = block_take(linear);
        if (*block == 0) {
            return;
        }
        linear->recent.blocks[*block - 1].added = 0;
    }
    struct recent_block *mine = &linear->recent.blocks[*block - 1];
    mine->items[mine->added++ % RECENT_OPERATIONS] = *operation;
}

static uint32_t block_count(const struct recent_block *block)
{
    return block->added < RECENT_OPERATIONS ? block->added : (uint32_t)RECENT_OPERATIONS;
}

void recent_forget(struct linear *linear, uint32_t *block, const struct recent_operation *last)
{
    if (*block == 0) {
        return;
    }
    struct recent_block *mine = &linear->recent.blocks[*block - 1];
    for (uint32_t i = 0; i < block_count(mine); i++) {
        const struct recent_operation *other = &mine->items[i];
        if (other->invoke != last->invoke && other->returned > last->called) {
            return;
        }
    }
    mine->next_free = linear->recent.free;
    linear->recent.free = *block;
    *block = 0;
}

/* Where the first of the operations that were found begins. */
static int64_t first_call(const struct whole *whole)
{
    int64_t first = POSITION_NEVER;
    for (size_t i = 0; i < whole->count; i++) {
        const struct operation *operation = &whole->operations[i];
        for (uint8_t j = 0; j < whole->finding.count; j++) {
            bool found = operation->invoke == whole->finding.operations[j];
            first = found && operation->called < first ? operation->called : first;
        }
    }
    return first;
}

/* Whether the block may lack operations that returned behind `since`. */
static bool block_lacks(const struct recent_block *block, int64_t since)
{
    return block->added > (uint32_t)RECENT_OPERATIONS &&
           block->items[block->added % RECENT_OPERATIONS].returned > since;
}

static int compare_calls(const void *left, const void *right)
{
    const struct operation *a = left;
    const struct operation *b = right;
    return a->called != b->called ? (a->called < b->called ? -1 : 1)
                                  : (a->invoke > b->invoke) - (a->invoke < b->invoke);
}

static void list_add(struct whole *whole, const struct recent_operation *recent)
{
    for (size_t i = 0; i < whole->count; i++) {
        if (whole->operations[i].invoke == recent->invoke) {
            return;
        }
    }
    whole->operations[whole->count++] = (struct operation){.called = recent->called,
                                                           .returned = recent->returned,
                                                           .until = POSITION_NEVER,
                                                           .invoke = recent->invoke,
                                                           .kind = recent->kind};
}

/* What is under way may or may not take effect. */
static void list_open(const struct linear *linear, uint32_t resource, struct whole *whole)
{
    for (uint32_t i = 0; i < linear->slot_count; i++) {
        const struct stream_slot *slot = &linear->slots[i];
        bool acquire = slot->f == HISTORY_ACQUIRE;
        if (slot->used && !slot->over && slot->resource == resource &&
            (acquire || slot->f == HISTORY_RELEASE)) {
            struct recent_operation open = {.called = slot->called,
                                            .returned = POSITION_NEVER,
                                            .invoke = slot->invoke,
                                            .kind = acquire ? OPERATION_MAYBE_TAKE
                                                            : OPERATION_MAYBE_FREE};
            list_add(whole, &open);
        }
    }
}

/* Look for better operations than the two named ones among the latest. */
static void refine(struct linear *linear, uint32_t resource, const struct recent_block *block,
                   struct whole *whole)
{
    struct linear_finding named = whole->finding;
    for (uint32_t i = 0; block != NULL && i < block_count(block); i++) {
        list_add(whole, &block->items[i]);
    }
    list_open(linear, resource, whole);
    qsort(whole->operations, whole->count, sizeof whole->operations[0], compare_calls);
    whole_refine(whole);
    if (block != NULL && block_lacks(block, first_call(whole))) {
        whole->finding = named;
        whole->finding.helped = true; /* perhaps, by what is forgotten */
    }
}

void recent_find(struct linear *linear, uint32_t resource, uint32_t block,
                 const struct recent_operation named[2])
{
    struct arena arena = arena_empty(linear->options.bytes_max);
    struct whole whole = {.options = &linear->options,
                          .finding = {.reason = LINEAR_NO_ORDER, .grade = GRADE_NOT_LINEARIZABLE}};
    size_t room = 2 + RECENT_OPERATIONS + linear->slot_count;
    whole.operations = arena_take(&arena, room * sizeof *whole.operations);
    for (int i = 0; i < 2 && named[i].invoke != CHAIN_NO_OPERATION; i++) {
        whole.finding.operations[whole.finding.count++] = named[i].invoke;
    }
    if (whole.operations != NULL && linear->result.violations == 0) {
        for (int i = 0; i < whole.finding.count; i++) {
            list_add(&whole, &named[i]);
        }
        refine(linear, resource, block == 0 ? NULL : &linear->recent.blocks[block - 1], &whole);
    }
    stream_find(linear, resource, &whole.finding);
    arena_release(&arena);
}
