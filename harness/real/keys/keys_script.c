/* keys_script.c: Lua texts, their SHA-1, and what they do. */
#include "harness/real/keys/keys_inner.h"

#include "base/assert.h"
#include "lockcore/redis/command.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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

/* Commands that a Lua text may call, as a set of bits. */
enum {
    CALLS_SET = 1 << 0,
    CALLS_HASH = 1 << 1,
    CALLS_ABSENT = 1 << 2,
    CALLS_EXPIRE = 1 << 3,
    CALLS_DELETE = 1 << 4,
    CALLS_GET = 1 << 5,
};

static const struct {
    const char *name;
    uint32_t calls;
} script_calls[] = {
    {"set", CALLS_SET},
    {"psetex", CALLS_SET},
    {"setex", CALLS_SET},
    {"setnx", CALLS_SET | CALLS_ABSENT},
    {"msetnx", CALLS_SET | CALLS_ABSENT},
    {"exists", CALLS_ABSENT},
    {"hset", CALLS_HASH},
    {"hsetnx", CALLS_HASH},
    {"hincrby", CALLS_HASH},
    {"expire", CALLS_EXPIRE},
    {"pexpire", CALLS_EXPIRE},
    {"expireat", CALLS_EXPIRE},
    {"pexpireat", CALLS_EXPIRE},
    {"del", CALLS_DELETE},
    {"unlink", CALLS_DELETE},
    {"get", CALLS_GET},
    {"hexists", CALLS_GET},
    {"hget", CALLS_GET},
};

static uint32_t script_calls_of(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof script_calls / sizeof script_calls[0]; i++) {
        const char *known = script_calls[i].name;
        if (strlen(known) == bytes && strncasecmp(known, name, bytes) == 0) {
            return script_calls[i].calls;
        }
    }
    return 0;
}

/* Collect every quoted word of the text that is a command's name, and the word "NX". */
static uint32_t script_scan(const char *text, size_t bytes)
{
    uint32_t calls = 0;
    size_t i = 0;
    while (i < bytes) {
        char quote = text[i];
        if (quote != '"' && quote != '\'') {
            i++;
            continue;
        }
        size_t start = i + 1;
        size_t end = start;
        while (end < bytes && isalpha((unsigned char)text[end])) {
            end++;
        }
        if (end < bytes && text[end] == quote) {
            calls |= script_calls_of(text + start, end - start);
            calls |= end - start == 2 && strncasecmp(text + start, "nx", 2) == 0 ? CALLS_ABSENT : 0;
            end++;
        }
        i = end > i ? end : i + 1;
    }
    return calls;
}

void keys_script_classify(const char *text, size_t bytes, struct keys_script *script)
{
    uint32_t calls = script_scan(text, bytes);
    script->verb = KEYS_NONE;
    script->kind = REDIS_COMMANDS;
    script->flags = 0;
    if ((calls & CALLS_HASH) != 0 && (calls & CALLS_DELETE) == 0) {
        /* A re-entrant lock in a hash: nil says that it is ours, a number is the other's ttl. */
        script->verb = KEYS_SET_ABSENT;
        script->flags = KEYS_FLAG_NIL_IS_YES;
        script->kind = REDIS_SET;
    } else if ((calls & CALLS_DELETE) != 0 && (calls & CALLS_SET) == 0) {
        bool compares = (calls & CALLS_GET) != 0;
        script->verb = compares ? KEYS_DELETE_COMPARE : KEYS_DELETE;
        script->kind = compares ? REDIS_COMPARE_DELETE : REDIS_DELETE;
    } else if ((calls & CALLS_SET) != 0 && (calls & CALLS_ABSENT) != 0) {
        script->verb = KEYS_SET_ABSENT;
        script->kind = REDIS_SET;
    } else if ((calls & CALLS_SET) != 0 && (calls & CALLS_EXPIRE) != 0) {
        script->verb = KEYS_SET_OR_EXTEND;
        script->kind = REDIS_SET_EXPIRE;
    } else if ((calls & (CALLS_SET | CALLS_EXPIRE)) != 0 && (calls & CALLS_GET) != 0) {
        script->verb = KEYS_EXTEND_COMPARE;
        script->kind = REDIS_COMPARE_EXPIRE;
    } else if ((calls & CALLS_EXPIRE) != 0) {
        script->verb = KEYS_EXTEND;
        script->kind = REDIS_EXPIRE;
    } else if ((calls & CALLS_SET) != 0) {
        script->verb = KEYS_SET;
        script->kind = REDIS_SET;
    }
}

/* What lockcore's own scripts do is known, not guessed. */
static enum keys_verb script_own_verb(enum redis_command kind)
{
    switch (kind) {
    case REDIS_COMPARE_DELETE:
        return KEYS_DELETE_COMPARE;
    case REDIS_COMPARE_EXPIRE:
        return KEYS_EXTEND_COMPARE;
    case REDIS_SET_FENCE:
        return KEYS_SET_ABSENT;
    case REDIS_SET_EXPIRE:
        return KEYS_SET_OR_EXTEND;
    case REDIS_RAISE_FENCE:
        return KEYS_NONE;
    case REDIS_SET:
    case REDIS_DELETE:
    case REDIS_SETNX:
    case REDIS_EXPIRE:
    case REDIS_COMMANDS:
        break;
    }
    UNREACHABLE();
}

void keys_scripts_init(struct keys_scripts *scripts)
{
    memset(scripts, 0, sizeof *scripts);
    for (int kind = 0; kind < REDIS_COMMANDS; kind++) {
        const char *text = redis_script((enum redis_command)kind);
        if (text == NULL) {
            continue;
        }
        struct keys_script *script = &scripts->list[scripts->count++];
        script->text_hash = keys_hash(text, strlen(text));
        memcpy(script->sha, redis_script_sha((enum redis_command)kind), KEYS_SHA_HEX_BYTES);
        script->kind = (uint8_t)kind;
        script->verb = (uint8_t)script_own_verb((enum redis_command)kind);
    }
    scripts->own = scripts->count;
    scripts->next = scripts->own;
}

const struct keys_script *keys_scripts_learn(struct keys_scripts *scripts, const char *text,
                                             size_t bytes)
{
    uint64_t hash = keys_hash(text, bytes);
    for (uint32_t i = 0; i < scripts->count; i++) {
        if (scripts->list[i].text_hash == hash) {
            return &scripts->list[i];
        }
    }
    if (scripts->count < KEYS_SCRIPTS_MAX) {
        scripts->next = scripts->count++;
    }
    struct keys_script *script = &scripts->list[scripts->next];
    scripts->next = scripts->next + 1 < KEYS_SCRIPTS_MAX ? scripts->next + 1 : scripts->own;
    script->text_hash = hash;
    keys_sha1_print(text, bytes, script->sha);
    keys_script_classify(text, bytes, script);
    return script;
}

const struct keys_script *keys_scripts_find(const struct keys_scripts *scripts, const char *sha,
                                            size_t bytes)
{
    if (bytes != KEYS_SHA_HEX_BYTES) {
        return NULL;
    }
    for (uint32_t i = 0; i < scripts->count; i++) {
        if (strncasecmp(scripts->list[i].sha, sha, KEYS_SHA_HEX_BYTES) == 0) {
            return &scripts->list[i];
        }
    }
    return NULL;
}
