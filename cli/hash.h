/* hash.h: XXH64 of bytes, one piece after the other. */
#ifndef CLI_HASH_H
#define CLI_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of what came before and of these bytes behind it; begin with 0. */
uint64_t hash_bytes(uint64_t before, const char *bytes, size_t count);

#endif
