/*
 * arena.h: memory that is taken piece by piece and given back all at once.
 *
 *     struct arena arena = arena_empty(64 * MEBIBYTE);
 *     struct node *nodes = arena_take(&arena, count * sizeof *nodes);   zeroed, aligned to 16
 *     arena_release(&arena);
 *
 * The only file that calls malloc. A piece that would pass `bytes_max`, or that the system
 * refuses, gives NULL: the caller turns that into ERROR_LIMIT or ERROR_IO.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#define KIBIBYTE ((size_t)1024)
#define MEBIBYTE (1024 * KIBIBYTE)
#define GIBIBYTE (1024 * MEBIBYTE)

struct arena_block;

struct arena {
    struct arena_block *newest; /* owned */
    size_t bytes_used;
    size_t bytes_max;
};

struct arena arena_empty(size_t bytes_max);
void *arena_take(struct arena *arena, size_t bytes);
char *arena_copy_text(struct arena *arena, const char *text, size_t bytes);
void arena_release(struct arena *arena);

/*
 * Grow an array that an arena cannot hold because it moves. `old` is NULL or from this function;
 * gives NULL and keeps `old` when the system refuses. Give it back with memory_release.
 */
void *memory_resize(void *old, size_t bytes);
void memory_release(void *memory);

#endif
