/* resp.c: cut a byte stream into Redis commands and replies. */
#include "servers/redis/real/resp.h"

#include "base/assert.h"

#include <string.h>

enum { NUMBER_BYTES_MAX = 20 };

/*
 * Read the number of a header line: a type byte at data[*at], digits, CRLF. Moves *at behind it.
 * The line is short, so it is looked at anew when more bytes come.
 */
static enum resp_status resp_number(const char *data, size_t bytes, uint32_t *at, int64_t *number)
{
    size_t i = *at + 1u;
    bool negative = i < bytes && data[i] == '-';
    i += negative ? 1 : 0;
    size_t digits = i;
    uint64_t sum = 0;
    for (; i < bytes && data[i] >= '0' && data[i] <= '9'; i++) {
        if (i - digits >= NUMBER_BYTES_MAX - 1) {
            return RESP_BROKEN;
        }
        sum = sum * 10 + (uint64_t)(data[i] - '0');
    }
    if (i >= bytes) {
        return RESP_MORE;
    }
    if (i == digits || data[i] != '\r' || sum > INT64_MAX) {
        return RESP_BROKEN;
    }
    if (i + 1 >= bytes) {
        return RESP_MORE;
    }
    if (data[i + 1] != '\n') {
        return RESP_BROKEN;
    }
    *at = (uint32_t)(i + 2);
    *number = negative ? -(int64_t)sum : (int64_t)sum;
    return RESP_MESSAGE;
}

/* Find the end of the line at data[at]; *looked bytes of it are known to hold none. */
static enum resp_status resp_line(const char *data, size_t bytes, uint32_t at, uint32_t *looked,
                                  uint32_t *line_bytes)
{
    const char *start = data + at;
    const char *end = memchr(start + *looked, '\n', bytes - at - *looked);
    if (end == NULL) {
        *looked = (uint32_t)(bytes - at);
        return *looked > RESP_LINE_BYTES_MAX ? RESP_BROKEN : RESP_MORE;
    }
    *looked = 0;
    *line_bytes = (uint32_t)(end - start) + 1;
    return *line_bytes > RESP_LINE_BYTES_MAX ? RESP_BROKEN : RESP_MESSAGE;
}

/* A command as a person types it: words between spaces. */
static enum resp_status resp_inline(struct resp_commands *reader, const char *data, size_t bytes,
                                    struct resp_words *words)
{
    uint32_t line_bytes = 0;
    enum resp_status status = resp_line(data, bytes, 0, &reader->at, &line_bytes);
    if (status != RESP_MESSAGE) {
        return status;
    }
    words->message_bytes = line_bytes;
    words->total = 0;
    words->count = 0;
    uint32_t i = 0;
    while (i < line_bytes) {
        bool space = data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n';
        if (space) {
            i++;
            continue;
        }
        uint32_t start = i;
        while (i < line_bytes && data[i] != ' ' && data[i] != '\t' && data[i] != '\r' &&
               data[i] != '\n') {
            i++;
        }
        words->total++;
        if (words->count < RESP_WORDS_MAX) {
            words->word[words->count++] = (struct resp_word){data + start, i - start};
        }
    }
    return RESP_MESSAGE;
}

/* Read "*3\r\n". An empty or null array is an empty command, as Redis takes it. */
static enum resp_status resp_command_begin(struct resp_commands *reader, const char *data,
                                           size_t bytes)
{
    int64_t total = 0;
    enum resp_status status = resp_number(data, bytes, &reader->at, &total);
    if (status != RESP_MESSAGE) {
        return status;
    }
    if (total > RESP_COMMAND_WORDS_MAX) {
        return RESP_BROKEN;
    }
    reader->total = total > 0 ? (uint32_t)total : 0;
    return RESP_MESSAGE;
}

/* Read one "$5\r\nhello\r\n". */
static inline enum resp_status resp_command_word(struct resp_commands *reader, const char *data,
                                                 size_t bytes)
{
    if (reader->body_bytes == 0) {
        if (reader->at >= bytes) {
            return RESP_MORE;
        }
        int64_t length = 0;
        if (data[reader->at] != '$') {
            return RESP_BROKEN;
        }
        enum resp_status status = resp_number(data, bytes, &reader->at, &length);
        if (status != RESP_MESSAGE) {
            return status;
        }
        if (length < 0 || length > RESP_MESSAGE_BYTES_MAX - 2) {
            return RESP_BROKEN;
        }
        reader->body_bytes = (uint32_t)length + 2;
    }
    if (bytes - reader->at < reader->body_bytes) {
        return RESP_MORE;
    }
    const char *end = data + reader->at + reader->body_bytes - 2;
    if (end[0] != '\r' || end[1] != '\n') {
        return RESP_BROKEN;
    }
    if (reader->seen < RESP_WORDS_MAX) {
        reader->start[reader->seen] = reader->at;
        reader->bytes[reader->seen] = reader->body_bytes - 2;
    }
    reader->at += reader->body_bytes;
    reader->body_bytes = 0;
    reader->seen++;
    return RESP_MESSAGE;
}

/* The command is whole: hand its words out and begin anew. */
static void resp_command_end(struct resp_commands *reader, const char *data,
                             struct resp_words *words)
{
    words->message_bytes = reader->at;
    words->total = reader->total;
    words->count = reader->total < RESP_WORDS_MAX ? reader->total : RESP_WORDS_MAX;
    for (uint32_t i = 0; i < words->count; i++) {
        words->word[i] = (struct resp_word){data + reader->start[i], reader->bytes[i]};
    }
    reader->at = 0;
    reader->total = 0;
    reader->seen = 0;
}

enum resp_status resp_command(struct resp_commands *reader, const char *data, size_t bytes,
                              struct resp_words *words)
{
    if (bytes == 0) {
        return RESP_MORE;
    }
    if (bytes > UINT32_MAX / 2 || reader->at > RESP_MESSAGE_BYTES_MAX) {
        return RESP_BROKEN;
    }
    if (data[0] != '*') {
        return resp_inline(reader, data, bytes, words);
    }
    if (reader->at == 0) {
        enum resp_status status = resp_command_begin(reader, data, bytes);
        if (status != RESP_MESSAGE) {
            return status;
        }
    }
    while (reader->seen < reader->total) {
        enum resp_status status = resp_command_word(reader, data, bytes);
        if (status != RESP_MESSAGE) {
            return status;
        }
        if (reader->at > RESP_MESSAGE_BYTES_MAX) {
            return RESP_BROKEN;
        }
    }
    resp_command_end(reader, data, words);
    return RESP_MESSAGE;
}

/* What a type byte announces. */
enum resp_form { FORM_LINE, FORM_BULK, FORM_LIST, FORM_PAIRS, FORM_ATTRIBUTES, FORM_NONE };

static enum resp_form resp_form(char type)
{
    switch (type) {
    case '+':
    case '-':
    case ':':
    case '_':
    case '#':
    case ',':
    case '(':
        return FORM_LINE;
    case '$':
    case '=':
    case '!':
        return FORM_BULK;
    case '*':
    case '~':
    case '>':
        return FORM_LIST;
    case '%':
        return FORM_PAIRS;
    case '|':
        return FORM_ATTRIBUTES;
    default:
        return FORM_NONE;
    }
}

/* A status, an error, a number, a null: one line. */
static enum resp_status resp_reply_line(struct resp_replies *reader, const char *data, size_t bytes)
{
    uint32_t start = reader->at;
    uint32_t line_bytes = 0;
    enum resp_status status = resp_line(data, bytes, start, &reader->looked, &line_bytes);
    if (status != RESP_MESSAGE) {
        return status;
    }
    if (line_bytes < 3 || data[start + line_bytes - 2] != '\r') {
        return RESP_BROKEN;
    }
    if (start == 0) {
        reader->first.type = data[0];
        reader->first.null = data[0] == '_';
        reader->first.bytes = line_bytes - 3;
        reader->first_start = 1;
        if (data[0] == ':') {
            uint32_t at = 0;
            if (resp_number(data, bytes, &at, &reader->first.integer) != RESP_MESSAGE) {
                return RESP_BROKEN;
            }
        }
    }
    reader->at = start + line_bytes;
    reader->open--;
    return RESP_MESSAGE;
}

/* The header of a bulk string or of an aggregate. */
static enum resp_status resp_reply_header(struct resp_replies *reader, const char *data,
                                          size_t bytes, enum resp_form form)
{
    uint32_t start = reader->at;
    int64_t number = 0;
    enum resp_status status = resp_number(data, bytes, &reader->at, &number);
    if (status != RESP_MESSAGE) {
        return status;
    }
    bool null = number == -1 && (data[start] == '$' || data[start] == '*');
    if (number < 0 && !null) {
        return RESP_BROKEN;
    }
    if (start == 0) {
        reader->first.type = data[0];
        reader->first.null = null;
        reader->first.integer = number;
    }
    if (form == FORM_BULK && !null) {
        if (number > RESP_MESSAGE_BYTES_MAX - 2) {
            return RESP_BROKEN;
        }
        reader->skip = (uint32_t)number + 2;
        if (start == 0) {
            reader->first.bytes = (uint32_t)number;
            reader->first_start = reader->at;
        }
        return RESP_MESSAGE;
    }
    if (number > RESP_ELEMENTS_MAX) {
        return RESP_BROKEN;
    }
    int64_t more = null ? 0 : form == FORM_LIST ? number : 2 * number;
    if (more > RESP_ELEMENTS_MAX - (int64_t)reader->elements) {
        return RESP_BROKEN;
    }
    reader->elements += (uint32_t)more;
    reader->open += (uint32_t)more;
    /* Attributes stand before the element that they belong to: they are not it. */
    reader->open -= form == FORM_ATTRIBUTES ? 0 : 1;
    return RESP_MESSAGE;
}

/* One element, or the header of one. */
static enum resp_status resp_reply_element(struct resp_replies *reader, const char *data,
                                           size_t bytes)
{
    if (reader->skip > 0) {
        if (bytes - reader->at < reader->skip) {
            return RESP_MORE;
        }
        const char *end = data + reader->at + reader->skip - 2;
        if (end[0] != '\r' || end[1] != '\n') {
            return RESP_BROKEN;
        }
        reader->at += reader->skip;
        reader->skip = 0;
        reader->open--;
        return RESP_MESSAGE;
    }
    if (reader->at >= bytes) {
        return RESP_MORE;
    }
    enum resp_form form = resp_form(data[reader->at]);
    if (form == FORM_NONE) {
        return RESP_BROKEN;
    }
    return form == FORM_LINE ? resp_reply_line(reader, data, bytes)
                             : resp_reply_header(reader, data, bytes, form);
}

enum resp_status resp_reply(struct resp_replies *reader, const char *data, size_t bytes,
                            struct resp_reply *reply)
{
    if (bytes == 0) {
        return RESP_MORE;
    }
    if (bytes > UINT32_MAX / 2) {
        return RESP_BROKEN;
    }
    if (reader->at == 0) {
        reader->open = 1;
    }
    while (reader->open > 0) {
        enum resp_status status = resp_reply_element(reader, data, bytes);
        if (status != RESP_MESSAGE) {
            return status;
        }
        if (reader->at > RESP_MESSAGE_BYTES_MAX) {
            return RESP_BROKEN;
        }
    }
    *reply = reader->first;
    reply->message_bytes = reader->at;
    reply->text = reader->first_start > 0 ? data + reader->first_start : NULL;
    memset(reader, 0, sizeof *reader);
    return RESP_MESSAGE;
}
