/* wire.c: a line a question, a line an answer. */
#include "servers/toy/real/real.h"

#include "lockcore/toy/toy.h"

#include <stdlib.h>
#include <string.h>

static enum wire_cut line_of(const char *data, size_t bytes, uint32_t *length)
{
    const char *end = memchr(data, '\n', bytes);
    if (end == NULL) {
        return bytes > 4096 ? WIRE_CUT_BROKEN : WIRE_CUT_MORE;
    }
    *length = (uint32_t)(end - data) + 1;
    return WIRE_CUT_MESSAGE;
}

/* "take NAME VALUE TTL\n", "give NAME VALUE\n" */
static enum wire_cut request_of(void *stream, const char *data, size_t bytes,
                                struct wire_request *request)
{
    (void)stream;
    enum wire_cut cut = line_of(data, bytes, &request->bytes);
    if (cut != WIRE_CUT_MESSAGE || request->bytes < 6) {
        return cut;
    }
    const char *name = data + 5;
    const char *end = data + request->bytes;
    const char *value = memchr(name, ' ', (size_t)(end - name));
    bool take = memcmp(data, "take ", 5) == 0;
    if ((!take && memcmp(data, "give ", 5) != 0) || value == NULL ||
        end - value <= LOCK_VALUE_HEX_BYTES + 1) {
        return cut;
    }
    request->resource = (struct wire_text){name, (uint32_t)(value - name)};
    request->command.kind = take ? TOY_TAKE : TOY_GIVE;
    request->known = lock_value_parse(value + 1, LOCK_VALUE_HEX_BYTES, &request->command.value);
    request->command.ttl_ms = take ? strtoll(value + 1 + LOCK_VALUE_HEX_BYTES, NULL, 10) : 0;
    return cut;
}

static enum wire_cut reply_of(void *stream, const char *data, size_t bytes,
                              const struct lock_command *asked, struct wire_reply *reply)
{
    (void)stream;
    (void)asked;
    enum wire_cut cut = line_of(data, bytes, &reply->bytes);
    reply->unasked = cut == WIRE_CUT_MESSAGE && data[0] == 'f'; /* "free VALUE\n" */
    reply->reply.type = cut == WIRE_CUT_MESSAGE && data[0] == 'y' ? LOCK_REPLY_YES : LOCK_REPLY_NO;
    return cut;
}

const struct server_wire toy_wire = {.request = request_of, .reply = reply_of};
