/* fuzz_resp.c: any bytes, in any pieces, are cut the same way, and never read out of bounds. */
#include "base/arena.h"
#include "base/assert.h"
#include "servers/redis/real/resp.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { MESSAGES_MAX = 64 };

/* The ends of messages found, and how it ended. */
struct cuts {
    size_t count;
    size_t end[MESSAGES_MAX];
    bool broken;
};

static enum resp_status cut_one(void *reader, bool commands, const char *data, size_t bytes,
                                uint32_t *message_bytes)
{
    struct resp_words words;
    struct resp_reply reply;
    enum resp_status status = commands ? resp_command(reader, data, bytes, &words)
                                       : resp_reply(reader, data, bytes, &reply);
    *message_bytes = 0;
    if (status == RESP_MESSAGE) {
        *message_bytes = commands ? words.message_bytes : reply.message_bytes;
        ASSERT(*message_bytes > 0);
        ASSERT(*message_bytes <= bytes);
    }
    return status;
}

/* Feed `step` more bytes at a time, from memory of exactly that size. */
static void cut(const uint8_t *data, size_t bytes, bool commands, size_t step, struct cuts *cuts)
{
    union {
        struct resp_commands commands;
        struct resp_replies replies;
    } reader;
    memset(&reader, 0, sizeof reader);
    memset(cuts, 0, sizeof *cuts);
    size_t at = 0;
    size_t seen = 0;
    while (seen < bytes && !cuts->broken) {
        seen = bytes - seen < step ? bytes : seen + step;
        char *copy = memory_resize(NULL, seen - at + 1);
        ASSERT(copy != NULL);
        memcpy(copy, data + at, seen - at);
        size_t start = at;
        enum resp_status status = RESP_MESSAGE;
        while (status == RESP_MESSAGE && at < seen) {
            uint32_t message_bytes = 0;
            status = cut_one(&reader, commands, copy + (at - start), seen - at, &message_bytes);
            at += message_bytes;
            if (status == RESP_MESSAGE && cuts->count < MESSAGES_MAX) {
                cuts->end[cuts->count++] = at;
            }
        }
        cuts->broken = status == RESP_BROKEN;
        memory_release(copy);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2 || bytes > 4096) {
        return 0;
    }
    bool commands = (data[0] & 1) != 0;
    struct cuts whole;
    struct cuts pieces;
    cut(data + 1, bytes - 1, commands, bytes, &whole);
    cut(data + 1, bytes - 1, commands, 1 + data[0] / 2 % 7, &pieces);
    ASSERT(whole.count == pieces.count);
    ASSERT(memcmp(whole.end, pieces.end, sizeof whole.end) == 0);
    ASSERT(whole.broken == pieces.broken);
    return 0;
}
