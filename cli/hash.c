/* hash.c: XXH64 of bytes, one piece after the other. */
#include "cli/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(uint64_t before, const char *bytes, size_t count)
{
    return XXH64(bytes, count, before);
}
