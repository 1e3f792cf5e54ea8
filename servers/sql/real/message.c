/* message.c: messages of PostgreSQL's protocol. */
#include "servers/sql/real/message.h"

uint32_t message_number(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;
    return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

static enum wire_cut cut_behind(const char *data, size_t bytes, uint32_t letters,
                                struct message *message)
{
    if (bytes < letters + 4) {
        return WIRE_CUT_MORE;
    }
    uint32_t length = message_number(data + letters);
    if (length < 4 || length > WIRE_MESSAGE_BYTES_MAX - letters) {
        return WIRE_CUT_BROKEN;
    }
    if (bytes < letters + length) {
        return WIRE_CUT_MORE;
    }
    *message = (struct message){.type = letters > 0 ? data[0] : MESSAGE_START,
                                .body = data + letters + 4,
                                .body_bytes = length - 4,
                                .bytes = letters + length};
    return WIRE_CUT_MESSAGE;
}

enum wire_cut message_cut(const char *data, size_t bytes, struct message *message)
{
    return cut_behind(data, bytes, 1, message);
}

enum wire_cut message_first(const char *data, size_t bytes, struct message *message)
{
    return cut_behind(data, bytes, 0, message);
}
