/*
 * why.h: a bounded, always terminated string in the caller's memory.
 *
 *     char memory[WHY_BYTES];
 *     struct text why = text_over(memory, sizeof memory);
 *
 * Handed to what can be refused, which writes one sentence into it: what happened, where, and what
 * was expected. Text beyond the bound is cut and `cut` is set; nothing overflows. The struct
 * borrows its memory and owns nothing. All that an application of liblockcore needs of texts.
 */
#ifndef BASE_WHY_H
#define BASE_WHY_H

#include <stdbool.h>
#include <stddef.h>

enum { WHY_BYTES = 512 };

struct text {
    char *data;       /* terminated by a zero byte at data[length] */
    size_t length;    /* bytes, without the zero */
    size_t bytes_max; /* size of the memory, the zero included */
    bool cut;         /* something did not fit */
};

/* Make an empty text over `memory` of `bytes_max` > 0 bytes. */
static inline struct text text_over(char *memory, size_t bytes_max)
{
    memory[0] = '\0';
    return (struct text){.data = memory, .length = 0, .bytes_max = bytes_max, .cut = false};
}

#endif
