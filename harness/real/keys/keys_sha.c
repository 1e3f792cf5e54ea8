/* keys_sha.c: the SHA-1 by which a script is called, so that it is known by its text as well. */
#include "harness/real/keys/keys_inner.h"

#include <string.h>

enum { SHA1_BLOCK_BYTES = 64, SHA1_ROUNDS = 80 };

static uint32_t sha1_rotate(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

/* One block of FIPS 180-4, section 6.1.2. */
static void sha1_block(uint32_t state[5], const uint8_t block[SHA1_BLOCK_BYTES])
{
    uint32_t w[SHA1_ROUNDS];
    for (int t = 0; t < 16; t++) {
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    }
    for (int t = 16; t < SHA1_ROUNDS; t++) {
        w[t] = sha1_rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    }
    uint32_t a = state[0];
    uint32_t b = state[1];
    uint32_t c = state[2];
    uint32_t d = state[3];
    uint32_t e = state[4];
    for (int t = 0; t < SHA1_ROUNDS; t++) {
        uint32_t f = t < 20   ? ((b & c) | (~b & d)) + 0x5a827999u
                     : t < 40 ? (b ^ c ^ d) + 0x6ed9eba1u
                     : t < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu
                              : (b ^ c ^ d) + 0xca62c1d6u;
        uint32_t sum = sha1_rotate(a, 5) + f + e + w[t];
        e = d;
        d = c;
        c = sha1_rotate(b, 30);
        b = a;
        a = sum;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

void keys_sha1_print(const char *data, size_t bytes, char hex[KEYS_SHA_HEX_BYTES])
{
    uint32_t state[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    size_t whole = bytes / SHA1_BLOCK_BYTES * SHA1_BLOCK_BYTES;
    for (size_t at = 0; at < whole; at += SHA1_BLOCK_BYTES) {
        sha1_block(state, (const uint8_t *)data + at);
    }
    uint8_t tail[2 * SHA1_BLOCK_BYTES] = {0};
    size_t rest = bytes - whole;
    memcpy(tail, data + whole, rest);
    tail[rest] = 0x80;
    size_t tail_bytes = rest < SHA1_BLOCK_BYTES - 8 ? SHA1_BLOCK_BYTES : 2 * SHA1_BLOCK_BYTES;
    uint64_t bits = (uint64_t)bytes * 8;
    for (size_t i = 0; i < 8; i++) {
        tail[tail_bytes - 1 - i] = (uint8_t)(bits >> (8 * i));
    }
    for (size_t at = 0; at < tail_bytes; at += SHA1_BLOCK_BYTES) {
        sha1_block(state, tail + at);
    }
    for (size_t i = 0; i < KEYS_SHA_HEX_BYTES; i++) {
        hex[i] = "0123456789abcdef"[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    }
}
