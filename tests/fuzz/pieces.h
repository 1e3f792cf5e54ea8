/* pieces.h: any bytes, in any pieces, are cut the same way by a kind's wire, and never read out of
 * bounds. The first byte says which side speaks, how large the pieces are, and what is answered. */
#ifndef TESTS_FUZZ_PIECES_H
#define TESTS_FUZZ_PIECES_H

#include "base/arena.h"
#include "base/assert.h"
#include "servers/wire.h"

#include <string.h>

enum { PIECES_MESSAGES_MAX = 64, PIECES_STREAM_BYTES = 2048 };

struct pieces {
    const struct server_wire *wire;
    const struct lock_command *asked; /* NULL: requests are cut, not replies */
};

struct pieces_cuts {
    size_t count;
    size_t end[PIECES_MESSAGES_MAX];
    bool broken;
};

static inline enum wire_cut pieces_cut_one(const struct pieces *pieces, void *stream,
                                           const struct wire_text *text, uint32_t *message_bytes)
{
    struct wire_request request = {.bytes = 0};
    struct wire_reply reply = {.bytes = 0};
    const struct server_wire *wire = pieces->wire;
    bool requests = pieces->asked == NULL;
    enum wire_cut cut = requests
                            ? wire->request(stream, text->data, text->bytes, &request)
                            : wire->reply(stream, text->data, text->bytes, pieces->asked, &reply);
    *message_bytes = 0;
    if (cut == WIRE_CUT_MESSAGE) {
        *message_bytes = requests ? request.bytes : reply.bytes;
        ASSERT(*message_bytes > 0);
        ASSERT(*message_bytes <= text->bytes);
    }
    return cut;
}

/* Feed `step` more bytes at a time, from memory of exactly that size. */
static inline void pieces_cut(const struct pieces *pieces, const struct wire_text *all, size_t step,
                              struct pieces_cuts *cuts)
{
    _Alignas(8) char stream[PIECES_STREAM_BYTES] = {0};
    size_t at = 0;
    size_t seen = 0;
    ASSERT(pieces->wire->stream_bytes <= sizeof stream);
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
            status = pieces_cut_one(pieces, stream, &rest, &message_bytes);
            at += message_bytes;
            if (status == WIRE_CUT_MESSAGE && cuts->count < PIECES_MESSAGES_MAX) {
                cuts->end[cuts->count++] = at;
            }
        }
        cuts->broken = status == WIRE_CUT_BROKEN;
        memory_release(copy);
    }
}

/* All at once, and a few bytes at a time. */
static inline void pieces_compare(const struct pieces *pieces, const struct wire_text *all,
                                  size_t step)
{
    struct pieces_cuts whole;
    struct pieces_cuts parts;
    pieces_cut(pieces, all, all->bytes + 1, &whole);
    pieces_cut(pieces, all, step, &parts);
    ASSERT(whole.count == parts.count);
    ASSERT(memcmp(whole.end, parts.end, sizeof whole.end) == 0);
    ASSERT(whole.broken == parts.broken);
}

#endif
