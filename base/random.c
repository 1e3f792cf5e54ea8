/* random.c: splits one seed into named streams. */
#include "base/random.h"

struct random_stream random_stream(const char *name, uint64_t seed)
{
    return random_stream_at(name, 0, seed);
}

struct random_stream random_stream_at(const char *name, uint64_t index, uint64_t seed)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a over the name, then mixed with the seed */
    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
    }
    struct random_stream mixer = {hash};
    mixer.state = random_word(&mixer) ^ seed;
    mixer.state = random_word(&mixer) ^ index;
    return (struct random_stream){random_word(&mixer)};
}
