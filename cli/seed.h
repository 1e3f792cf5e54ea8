/* seed.h: seeds on the command line: a number, a git commit hash, or a range. */
#ifndef CLI_SEED_H
#define CLI_SEED_H

#include <stdbool.h>
#include <stdint.h>

/* A decimal number below 2^64, or 7 to 40 hex digits of a commit (the first 16 count). */
bool seed_parse(const char *word, uint64_t *seed);

/* "A..B" with A <= B, both numbers. */
bool seed_range_parse(const char *word, uint64_t *first, uint64_t *last);

#endif
