/* fuzz_sql.c: any bytes, in any pieces, are cut the same way by PostgreSQL's wire, and never read
 * out of bounds. The first byte says which side speaks and how large the pieces are. */
#include "base/arena.h"
#include "base/assert.h"
#include "servers/sql/real/real.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { MESSAGES_MAX = 64, STREAM_BYTES = 64 };

struct cuts {
    size_t count;
    size_t end[MESSAGES_MAX];
    bool broken;
};

static enum wire_cut cut_one(void *stream, bool requests, const struct wire_text *text,
                             uint32_t *message_bytes)
{
    struct wire_request request = {.bytes = 0};
    struct wire_reply reply = {.bytes = 0};
    enum wire_cut cut = requests ? sql_wire.request(stream, text->data, text->bytes, &request)
                                 : sql_wire.reply(stream, text->data, text->bytes, NULL, &reply);
    *message_bytes = 0;
    if (cut == WIRE_CUT_MESSAGE) {
        *message_bytes = requests ? request.bytes : reply.bytes;
        ASSERT(*message_bytes > 0);
        ASSERT(*message_bytes <= text->bytes);
    }
    return cut;
}

/* Feed `step` more bytes at a time, from memory of exactly that size. */
static void cut(const struct wire_text *all, bool requests, size_t step, struct cuts *cuts)
{
    _Alignas(8) char stream[STREAM_BYTES] = {0};
    size_t at = 0;
    size_t seen = 0;
    ASSERT(sql_wire.stream_bytes <= sizeof stream);
    memset(cuts, 0, sizeof *cuts);
    while (seen < all->bytes && !cuts->broken) {
        seen = all->bytes - seen < step ? all->bytes : seen + step;
        char *copy = memory_resize(NULL, seen - at + 1);
        ASSERT(copy != NULL);
        memcpy(copy, all->data + at, seen - at);
        size_t start = at;
        enum wire_cut status = WIRE_CUT_MESSAGE;
        while (status == WIRE_CUT_MESSAGE && at < seen) {
            struct wire_text rest = {copy + (at - start), (uint32_t)(seen - at)};
            uint32_t message_bytes = 0;
            status = cut_one(stream, requests, &rest, &message_bytes);
            at += message_bytes;
            if (status == WIRE_CUT_MESSAGE && cuts->count < MESSAGES_MAX) {
                cuts->end[cuts->count++] = at;
            }
        }
        cuts->broken = status == WIRE_CUT_BROKEN;
        memory_release(copy);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 2 || bytes > 4096) {
        return 0;
    }
    bool requests = (data[0] & 1) != 0;
    struct wire_text all = {(const char *)data + 1, (uint32_t)bytes - 1};
    struct cuts whole;
    struct cuts pieces;
    cut(&all, requests, bytes, &whole);
    cut(&all, requests, 1 + data[0] / 2 % 7, &pieces);
    ASSERT(whole.count == pieces.count);
    ASSERT(memcmp(whole.end, pieces.end, sizeof whole.end) == 0);
    ASSERT(whole.broken == pieces.broken);
    return 0;
}
