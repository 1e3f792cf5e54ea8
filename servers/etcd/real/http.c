/* http.c: messages of HTTP/1.1. */
#include "servers/etcd/real/http.h"

#include <string.h>
#include <strings.h>

enum { HTTP_SIZE_LINE_MAX = 64 };

/* The line that begins at `at`: where the next one begins; NULL: its end is not there yet. */
static const char *line_end(const char *at, const char *end)
{
    const char *found = memmem(at, (size_t)(end - at), "\r\n", 2);
    return found != NULL ? found + 2 : NULL;
}

static struct wire_text text_between(const char *from, const char *to)
{
    return (struct wire_text){from, (uint32_t)(to - from)};
}

static bool digit_of(char c, uint32_t base, uint32_t *digit)
{
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'f';
    *digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0') : (uint32_t)(c | 0x20) - 'a' + 10;
    return (letter || (c >= '0' && c <= '9')) && *digit < base;
}

/* The number at the beginning of a text; false: there is none, or it is beyond what may come. */
static bool number_read(struct wire_text text, uint32_t base, uint32_t *number)
{
    uint32_t digit;
    uint32_t digits = 0;
    for (*number = 0; digits < text.bytes && digit_of(text.data[digits], base, &digit); digits++) {
        *number = *number * base + digit;
        if (*number > WIRE_MESSAGE_BYTES_MAX) {
            return false;
        }
    }
    return digits > 0;
}

bool http_header(const struct http_message *message, const char *name, struct wire_text *value)
{
    size_t name_bytes = strlen(name);
    const char *end = message->head.data + message->head.bytes;
    const char *next;
    for (const char *at = message->head.data; at < end; at = next) {
        next = line_end(at, end);
        next = next != NULL ? next : end;
        if ((size_t)(next - at) > name_bytes + 2 && at[name_bytes] == ':' &&
            strncasecmp(at, name, name_bytes) == 0) {
            at += name_bytes + 1;
            while (at < next - 2 && *at == ' ') {
                at++;
            }
            *value = text_between(at, next - 2);
            return true;
        }
    }
    return false;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* One chunk: where its bytes begin, and where the next one does. The last one has none. */
static enum wire_cut chunk_cut(const char *at, const char *end, struct wire_text *chunk,
                               const char **next)
{
    const char *behind = line_end(at, end);
    uint32_t size;
    if (behind == NULL) {
        return end - at > HTTP_SIZE_LINE_MAX ? WIRE_CUT_BROKEN : WIRE_CUT_MORE;
    }
    if (behind - at > HTTP_SIZE_LINE_MAX || !number_read(text_between(at, behind - 2), 16, &size)) {
        return WIRE_CUT_BROKEN;
    }
    *chunk = (struct wire_text){behind, size};
    *next = behind;
    if (size == 0) {
        return WIRE_CUT_MESSAGE;
    }
    if ((size_t)(end - behind) < (size_t)size + 2) {
        return WIRE_CUT_MORE;
    }
    *next = behind + size + 2;
    return memcmp(*next - 2, "\r\n", 2) == 0 ? WIRE_CUT_MESSAGE : WIRE_CUT_BROKEN;
}

/* Behind the last chunk more headers may come, and an empty line. */
static enum wire_cut trailer_cut(const char *at, const char *end, const char **next)
{
    const char *begin = at;
    do {
        begin = at;
        at = line_end(at, end);
    } while (at != NULL && at - begin > 2);
    *next = at;
    return at != NULL ? WIRE_CUT_MESSAGE : WIRE_CUT_MORE;
}

static enum wire_cut chunks_cut(const char *data, const char *end, const char **next)
{
    struct wire_text chunk = {NULL, 1};
    const char *at = data;
    while (chunk.bytes > 0) {
        enum wire_cut cut = chunk_cut(at, end, &chunk, &at);
        if (at - data > WIRE_MESSAGE_BYTES_MAX) {
            return WIRE_CUT_BROKEN;
        }
        if (cut != WIRE_CUT_MESSAGE) {
            return cut;
        }
    }
    enum wire_cut cut = trailer_cut(at, end, next);
    bool endless =
        cut == WIRE_CUT_MORE ? end - at > HTTP_HEAD_BYTES_MAX : *next - at > HTTP_HEAD_BYTES_MAX;
    return endless ? WIRE_CUT_BROKEN : cut;
}

size_t http_body(const struct http_message *message, char *memory, size_t bytes_max)
{
    const char *at = message->body.data;
    const char *end = at + message->body.bytes;
    struct wire_text chunk = message->body;
    size_t count = 0;
    bool more = !message->chunked || chunk_cut(at, end, &chunk, &at) == WIRE_CUT_MESSAGE;
    while (more && chunk.bytes > 0) {
        size_t fits = bytes_max - count < chunk.bytes ? bytes_max - count : chunk.bytes;
        memcpy(memory + count, chunk.data, fits);
        count += fits;
        more = message->chunked && chunk_cut(at, end, &chunk, &at) == WIRE_CUT_MESSAGE;
    }
    return count;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* "HTTP/1.1 200 OK" */
static bool status_read(struct http_message *message)
{
    const struct wire_text *line = &message->line;
    bool fits = line->bytes >= 12 && memcmp(line->data, "HTTP/1.", 7) == 0 && line->data[8] == ' ';
    return fits && number_read((struct wire_text){line->data + 9, 3}, 10, &message->status) &&
           message->status >= 100;
}

/* Some replies have no body; others without a length would end with the connection. */
static enum wire_cut body_cut(const char *data, size_t bytes, enum http_side side,
                              struct http_message *message)
{
    const char *begin = message->head.data + message->head.bytes + 2;
    const char *end = data + bytes;
    const char *next = begin;
    struct wire_text said;
    uint32_t length = 0;
    bool none = side == HTTP_REQUEST || message->status < 200 || message->status == 204 ||
                message->status == 304;
    if (http_header(message, "Transfer-Encoding", &said)) {
        message->chunked = true;
        enum wire_cut cut = chunks_cut(begin, end, &next);
        if (cut != WIRE_CUT_MESSAGE) {
            return cut;
        }
    } else if (http_header(message, "Content-Length", &said)) {
        if (!number_read(said, 10, &length)) {
            return WIRE_CUT_BROKEN;
        }
        if ((size_t)(end - begin) < length) {
            return WIRE_CUT_MORE;
        }
        next = begin + length;
    } else if (!none) {
        return WIRE_CUT_BROKEN;
    }
    message->body = text_between(begin, next);
    message->bytes = (uint32_t)(next - data);
    return WIRE_CUT_MESSAGE;
}

enum wire_cut http_head(const char *data, size_t bytes, struct http_message *message)
{
    *message = (struct http_message){.bytes = 0};
    const char *head_end = memmem(data, bytes, "\r\n\r\n", 4);
    if (head_end == NULL) {
        return bytes > HTTP_HEAD_BYTES_MAX ? WIRE_CUT_BROKEN : WIRE_CUT_MORE;
    }
    if (head_end - data > HTTP_HEAD_BYTES_MAX - 4) {
        return WIRE_CUT_BROKEN;
    }
    const char *behind = line_end(data, head_end + 2);
    message->line = text_between(data, behind - 2);
    message->head = text_between(behind, head_end + 2);
    return WIRE_CUT_MESSAGE;
}

enum wire_cut http_cut(const char *data, size_t bytes, enum http_side side,
                       struct http_message *message)
{
    enum wire_cut cut = http_head(data, bytes, message);
    if (cut != WIRE_CUT_MESSAGE) {
        return cut;
    }
    if (side == HTTP_REPLY && !status_read(message)) {
        return WIRE_CUT_BROKEN;
    }
    return body_cut(data, bytes, side, message);
}
