/* jute.c: ZooKeeper's protocol on the wire. */
#include "servers/zookeeper/real/jute.h"

#include "base/assert.h"

#include <string.h>

int64_t jute_number(struct jute *jute, uint32_t bytes)
{
    ASSERT(bytes == 1 || bytes == 4 || bytes == 8);
    if ((size_t)(jute->end - jute->at) < bytes) {
        jute->short_of = true;
        jute->at = jute->end;
        return 0;
    }
    uint64_t number = ((uint8_t)jute->at[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < bytes; i++) {
        number = number << 8 | (uint8_t)jute->at[i];
    }
    jute->at += bytes;
    return (int64_t)number;
}

/* A length of -1 says that there is none. */
struct wire_text jute_text(struct jute *jute)
{
    int64_t bytes = jute_number(jute, 4);
    struct wire_text text = {jute->at, 0};
    if (bytes > jute->end - jute->at) {
        jute->short_of = true;
        jute->at = jute->end;
    } else if (bytes > 0) {
        text.bytes = (uint32_t)bytes;
        jute->at += bytes;
    }
    return text;
}

enum wire_cut jute_cut(const char *data, size_t bytes, struct jute *jute)
{
    *jute = (struct jute){.at = data, .end = data + bytes};
    if (bytes < JUTE_LENGTH_BYTES) {
        return WIRE_CUT_MORE;
    }
    int64_t length = jute_number(jute, 4);
    if (length < 0 || length > WIRE_MESSAGE_BYTES_MAX - JUTE_LENGTH_BYTES) {
        return WIRE_CUT_BROKEN;
    }
    if (length > jute->end - jute->at) {
        return WIRE_CUT_MORE;
    }
    jute->end = jute->at + length;
    jute->bytes = (uint32_t)length + JUTE_LENGTH_BYTES;
    return WIRE_CUT_MESSAGE;
}

/* ---- writing --------------------------------------------------------------------------------- */

void jute_add_number(struct jute_writer *writer, int64_t number, uint32_t bytes)
{
    ASSERT(writer->bytes + bytes <= writer->bytes_max);
    for (uint32_t i = 0; i < bytes; i++) {
        writer->memory[writer->bytes++] = (char)((uint64_t)number >> 8 * (bytes - 1 - i));
    }
}

void jute_add_text(struct jute_writer *writer, const char *text, uint32_t bytes)
{
    jute_add_number(writer, bytes, 4);
    ASSERT(writer->bytes + bytes <= writer->bytes_max);
    memcpy(writer->memory + writer->bytes, text, bytes);
    writer->bytes += bytes;
}

void jute_add_connect(struct jute_writer *writer, int64_t zxid, int64_t ttl_ms, int64_t session,
                      const char password[JUTE_PASSWORD_BYTES])
{
    jute_add_number(writer, 0, 4); /* of the protocol */
    jute_add_number(writer, zxid, 8);
    jute_add_number(writer, ttl_ms, 4);
    jute_add_number(writer, session, 8);
    jute_add_text(writer, password, JUTE_PASSWORD_BYTES);
    jute_add_number(writer, false, 1); /* a member that only reads will not do */
}

void jute_begin(struct jute_writer *writer, char *memory, uint32_t bytes_max)
{
    *writer = (struct jute_writer){.memory = memory, .bytes_max = bytes_max};
    jute_add_number(writer, 0, JUTE_LENGTH_BYTES);
}

void jute_end(struct jute_writer *writer)
{
    uint32_t bytes = writer->bytes;
    writer->bytes = 0;
    jute_add_number(writer, bytes - JUTE_LENGTH_BYTES, JUTE_LENGTH_BYTES);
    writer->bytes = bytes;
}
