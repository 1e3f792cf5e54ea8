/* arena.c: the only file that calls malloc. */
#include "base/arena.h"

#include "base/assert.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *older;
    size_t bytes;
    size_t used;
    size_t padding; /* keeps the bytes behind this header aligned */
};

_Static_assert(sizeof(struct arena_block) % ARENA_ALIGNMENT == 0, "pieces are aligned");

struct arena arena_empty(size_t bytes_max)
{
    ASSERT(bytes_max > 0);
    return (struct arena){.newest = NULL, .bytes_used = 0, .bytes_max = bytes_max};
}

static struct arena_block *arena_grow(struct arena *arena, size_t bytes)
{
    size_t block_bytes = arena->bytes_used / 2 + 4096;
    block_bytes = block_bytes > bytes ? block_bytes : bytes;
    struct arena_block *block = calloc(1, sizeof *block + block_bytes);
    if (block == NULL) {
        return NULL;
    }
    block->older = arena->newest;
    block->bytes = block_bytes;
    arena->newest = block;
    return block;
}

void *arena_take(struct arena *arena, size_t bytes)
{
    if (bytes > arena->bytes_max - arena->bytes_used) {
        return NULL;
    }
    size_t rounded = (bytes + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
    struct arena_block *block = arena->newest;
    if (block == NULL || block->bytes - block->used < rounded) {
        block = arena_grow(arena, rounded);
        if (block == NULL) {
            return NULL;
        }
    }
    void *piece = (char *)(block + 1) + block->used;
    block->used += rounded;
    arena->bytes_used += bytes;
    return piece;
}

char *arena_copy_text(struct arena *arena, const char *text, size_t bytes)
{
    char *copy = arena_take(arena, bytes + 1);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

void arena_release(struct arena *arena)
{
    struct arena_block *block = arena->newest;
    while (block != NULL) {
        struct arena_block *older = block->older;
        free(block);
        block = older;
    }
    arena->newest = NULL;
    arena->bytes_used = 0;
}

void *memory_resize(void *old, size_t bytes)
{
    ASSERT(bytes > 0);
    return realloc(old, bytes);
}

void memory_release(void *memory)
{
    free(memory);
}
