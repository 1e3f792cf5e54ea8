/*
 * random.h: one seed, split by name into independent streams.
 *
 *     struct random_stream jitter = random_stream("client 3 jitter", seed);
 *     uint64_t word = random_word(&jitter);
 *
 * A draw from one stream moves no other, so that a new draw in one actor leaves the rest of
 * a run as it was. SplitMix64 (Steele, Lea and Flood 2014): 8 bytes of state, integers only,
 * the same words on every machine. Not for secrets: the values of real locks come from the
 * operating system.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

__extension__ typedef unsigned __int128 random_product;

struct random_stream {
    uint64_t state;
};

/* Make the stream called `name` of `seed`. */
struct random_stream random_stream(const char *name, uint64_t seed);

/* Make the stream `index` of the family called `name`: random_stream_at("client", 3, seed). */
struct random_stream random_stream_at(const char *name, uint64_t index, uint64_t seed);

static inline uint64_t random_word(struct random_stream *stream)
{
    stream->state += 0x9e3779b97f4a7c15u;
    uint64_t word = stream->state;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
    return word ^ (word >> 31);
}

/* A number in [0, bound), bound > 0, by multiplication (Lemire 2019); bias below 2^-32 * bound. */
static inline uint64_t random_below(struct random_stream *stream, uint64_t bound)
{
    return (uint64_t)(((random_product)random_word(stream) * bound) >> 64);
}

#endif
