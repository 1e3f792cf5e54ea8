/* wire.c: what clients and a Hazelcast member of ours tell each other: lines. */
#include "servers/hazelcast/real/real.h"

#include "lockcore/hazelcast/hazelcast.h"

#include <string.h>

enum { WORDS_MAX = 5 };

struct line {
    uint32_t words;
    struct wire_text word[WORDS_MAX];
};

static enum wire_cut line_cut(const char *data, size_t bytes, uint32_t *length)
{
    size_t looked = bytes < HAZELCAST_LINE_BYTES ? bytes : HAZELCAST_LINE_BYTES;
    const char *end = memchr(data, '\n', looked);
    if (end == NULL) {
        return looked == HAZELCAST_LINE_BYTES ? WIRE_CUT_BROKEN : WIRE_CUT_MORE;
    }
    *length = (uint32_t)(end - data) + 1;
    return WIRE_CUT_MESSAGE;
}

/* What follows the last word that there is room for belongs to it. */
static struct line line_words(const char *data, uint32_t bytes)
{
    struct line line = {.words = 1, .word = {{data, 0}}};
    for (uint32_t i = 0; i < bytes; i++) {
        struct wire_text *last = &line.word[line.words - 1];
        if (data[i] == ' ' && line.words < WORDS_MAX) {
            line.word[line.words++] = (struct wire_text){data + i + 1, 0};
        } else {
            last->bytes++;
        }
    }
    return line;
}

/* Digits and nothing else, as many as an int64 takes without a doubt. */
static bool number_read(const struct wire_text *word, int64_t *number)
{
    enum { DIGITS_MAX = 18 };
    int64_t read = 0;
    for (uint32_t i = 0; i < word->bytes; i++) {
        if (word->data[i] < '0' || word->data[i] > '9') {
            return false;
        }
        read = i < DIGITS_MAX ? read * 10 + (word->data[i] - '0') : read;
    }
    *number = read;
    return word->bytes > 0 && word->bytes <= DIGITS_MAX;
}

static bool command_find(const struct wire_text *word, uint32_t *kind)
{
    for (uint32_t i = HAZELCAST_CREATE_SESSION; i < HAZELCAST_COMMANDS; i++) {
        const char *name = lock_dialect_row(&hazelcast_dialect, i)->name;
        if (word->bytes == strlen(name) && memcmp(word->data, name, word->bytes) == 0) {
            *kind = i;
            return true;
        }
    }
    return false;
}

static enum wire_cut hazelcast_request(void *stream, const char *data, size_t bytes,
                                       struct wire_request *request)
{
    (void)stream;
    enum wire_cut cut = line_cut(data, bytes, &request->bytes);
    if (cut != WIRE_CUT_MESSAGE) {
        return cut;
    }
    struct line line = line_words(data, request->bytes - 1);
    if (line.words < 3 || !command_find(&line.word[0], &request->command.kind) ||
        line.word[2].bytes != LOCK_VALUE_HEX_BYTES ||
        !lock_value_parse(line.word[2].data, LOCK_VALUE_HEX_BYTES, &request->command.value)) {
        return cut;
    }
    const struct lock_command_row *row =
        lock_dialect_row(&hazelcast_dialect, request->command.kind);
    bool ttl = (row->carries & LOCK_CARRIES_TTL) != 0;
    bool number = (row->carries & LOCK_CARRIES_NUMBER) != 0;
    request->known = line.words == 3u + (ttl ? 1 : 0) + (number ? 1 : 0) &&
                     (!ttl || number_read(&line.word[3], &request->command.ttl_ms)) &&
                     (!number || number_read(&line.word[4], &request->command.number));
    request->resource = line.word[1];
    return cut;
}

struct lock_reply hazelcast_answer(const char *line, size_t bytes)
{
    struct wire_text number = {line + 1, bytes > 2 ? (uint32_t)bytes - 2 : 0};
    struct lock_reply reply = {.type = LOCK_REPLY_GARBLED};
    static const char types[][2] = {
        {'+', LOCK_REPLY_YES}, {'-', LOCK_REPLY_NO}, {'?', LOCK_REPLY_UNSURE}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (bytes == 2 && line[0] == types[i][0]) {
            reply.type = (uint8_t)types[i][1];
        }
    }
    if (line[0] == ':' && number_read(&number, &reply.number)) {
        reply.type = LOCK_REPLY_NUMBER;
    }
    return reply;
}

static enum wire_cut hazelcast_reply(void *stream, const char *data, size_t bytes,
                                     const struct lock_command *asked, struct wire_reply *reply)
{
    (void)stream;
    enum wire_cut cut = line_cut(data, bytes, &reply->bytes);
    if (cut == WIRE_CUT_MESSAGE) {
        reply->reply.type = LOCK_REPLY_GARBLED;
        reply->reply = asked != NULL ? hazelcast_answer(data, reply->bytes) : reply->reply;
    }
    return cut;
}

const struct server_wire hazelcast_wire = {
    .request = hazelcast_request,
    .reply = hazelcast_reply,
};
