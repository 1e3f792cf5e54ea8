/* monitor.c: messages of a connection that asked for MONITOR and subscribed to the keyspace. */
#include "harness/real/keys/monitor.h"

#include "base/assert.h"

#include <string.h>

enum { MONITOR_PARTS_MAX = 1 << 16, MONITOR_PUSH_PARTS = 4 };

/* A line from data[at] on: gives where the next begins, 0 if it is not whole. */
static size_t line_end(const char *data, size_t bytes, size_t at)
{
    const char *end = at < bytes ? memchr(data + at, '\n', bytes - at) : NULL;
    return end != NULL ? (size_t)(end - data) + 1 : 0;
}

/* The number in a header line, from data[at] on; -1 for none. */
static int64_t header_number(const char *data, size_t at, size_t end)
{
    int64_t sum = 0;
    bool negative = at < end && data[at] == '-';
    for (size_t i = at + (negative ? 1 : 0); i < end && data[i] != '\r'; i++) {
        if (data[i] < '0' || data[i] > '9' || sum > MONITOR_MESSAGE_BYTES_MAX) {
            return -1;
        }
        sum = sum * 10 + (data[i] - '0');
    }
    return negative ? -1 : sum;
}

static bool is_bulk(char type)
{
    return type == '$' || type == '=' || type == '!';
}

static bool is_list(char type)
{
    return type == '*' || type == '>' || type == '~' || type == '%' || type == '|';
}

static bool is_simple(char type)
{
    return type != '\0' && strchr("+-:_,#(", type) != NULL;
}

enum resp_status monitor_cut(const char *data, size_t bytes, uint32_t *message_bytes)
{
    size_t at = 0;
    int64_t open = 1;
    for (int parts = 0; open > 0; parts++) {
        size_t end = line_end(data, bytes, at);
        if (bytes > at && !is_bulk(data[at]) && !is_list(data[at]) && !is_simple(data[at])) {
            return RESP_BROKEN;
        }
        if (parts > MONITOR_PARTS_MAX || at > MONITOR_MESSAGE_BYTES_MAX) {
            return RESP_BROKEN;
        }
        if (end == 0) {
            return bytes > MONITOR_MESSAGE_BYTES_MAX ? RESP_BROKEN : RESP_MORE;
        }
        if (end - at < 3 || data[end - 2] != '\r') {
            return RESP_BROKEN;
        }
        int64_t number = header_number(data, at + 1, end);
        open--;
        if (is_bulk(data[at]) && number >= 0) {
            end += (size_t)number + 2;
        } else if (is_list(data[at]) && number > 0) {
            bool pairs = data[at] == '%' || data[at] == '|';
            /* An attribute stands before what it describes. */
            open += (pairs ? 2 * number : number) + (data[at] == '|' ? 1 : 0);
        }
        at = end;
        if (at > bytes) {
            return at > MONITOR_MESSAGE_BYTES_MAX ? RESP_BROKEN : RESP_MORE;
        }
    }
    *message_bytes = (uint32_t)at;
    return RESP_MESSAGE;
}

/* ---- lines ---- */

static int hex_digit(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

/* One escape at data[at], behind the backslash: its byte to *byte; gives how many bytes it took. */
static uint32_t unescape(const char *data, uint32_t left, char *byte)
{
    static const char letters[] = "nrtab";
    static const char meanings[] = "\n\r\t\a\b";
    const char *letter = left > 0 && data[0] != '\0' ? strchr(letters, data[0]) : NULL;
    if (letter != NULL) {
        *byte = meanings[letter - letters];
        return 1;
    }
    if (left > 2 && data[0] == 'x' && hex_digit(data[1]) >= 0 && hex_digit(data[2]) >= 0) {
        *byte = (char)(hex_digit(data[1]) * 16 + hex_digit(data[2]));
        return 3;
    }
    if (left > 0 && (data[0] == '"' || data[0] == '\\')) {
        *byte = data[0];
        return 1;
    }
    *byte = '\\'; /* some servers (Valkey 8.1) forget to quote it */
    return 0;
}

/*
 * Unquote the word whose opening quote is at data[at]; gives where the rest begins, 0 if it has no
 * end. A quote ends a word only where a blank and the next word, or nothing, follows: some servers
 * forget to quote the others.
 */
static uint32_t line_word(char *data, uint32_t bytes, uint32_t at, struct resp_word *word)
{
    uint32_t to = at + 1;
    word->data = data + to;
    for (uint32_t i = at + 1; i < bytes; i++) {
        bool last = i + 1 == bytes;
        bool ends =
            data[i] == '"' && (last || (i + 2 < bytes && data[i + 1] == ' ' && data[i + 2] == '"'));
        if (ends) {
            word->bytes = to - (at + 1);
            return last ? bytes : i + 2;
        }
        char byte = data[i];
        if (byte == '\\') {
            i += unescape(data + i + 1, bytes - i - 1, &byte);
        }
        data[to++] = byte;
    }
    return 0;
}

static bool line_number(const char *data, uint32_t bytes, uint32_t *at, int64_t *number)
{
    uint32_t first = *at;
    *number = 0;
    while (*at < bytes && data[*at] >= '0' && data[*at] <= '9' && *at - first < 18) {
        *number = *number * 10 + (data[(*at)++] - '0');
    }
    return *at > first;
}

static bool line_byte(const char *data, uint32_t bytes, uint32_t *at, char byte)
{
    bool there = *at < bytes && data[*at] == byte;
    *at += there ? 1 : 0;
    return there;
}

/* "1795310027.434638 [0 127.0.0.1:38304] ", from data[*at] on. */
static bool line_head(const char *data, uint32_t bytes, uint32_t *at,
                      struct monitor_message *message)
{
    const int64_t seconds_max = 100000000000;
    int64_t seconds = 0;
    int64_t micros = 0;
    int64_t database = 0;
    if (!line_number(data, bytes, at, &seconds) || !line_byte(data, bytes, at, '.') ||
        !line_number(data, bytes, at, &micros) || !line_byte(data, bytes, at, ' ') ||
        !line_byte(data, bytes, at, '[') || !line_number(data, bytes, at, &database) ||
        !line_byte(data, bytes, at, ' ')) {
        return false;
    }
    if (seconds > seconds_max || micros >= 1000000 || database > INT32_MAX) {
        return false;
    }
    uint32_t who = *at;
    while (*at < bytes && data[*at] != ']') {
        (*at)++;
    }
    uint32_t colon = *at;
    while (colon > who && data[colon] != ':') {
        colon--;
    }
    int64_t port = 0;
    uint32_t digits = colon + 1;
    bool address = colon > who && line_number(data, *at, &digits, &port) && digits == *at;
    message->inside = *at - who == 3 && memcmp(data + who, "lua", 3) == 0;
    message->port = address && port <= UINT16_MAX ? (uint16_t)port : 0;
    message->wall_us = seconds * 1000000 + micros;
    message->database = (int32_t)database;
    return line_byte(data, bytes, at, ']') && line_byte(data, bytes, at, ' ');
}

static bool line_read(char *data, uint32_t bytes, struct monitor_message *message)
{
    uint32_t at = 1;
    struct resp_words *words = &message->words;
    if (!line_head(data, bytes, &at, message)) {
        return false;
    }
    while (at < bytes && data[at] == '"') {
        struct resp_word word;
        at = line_word(data, bytes, at, &word);
        words->total++;
        if (at == 0) {
            break; /* a word without an end: what it says is not known */
        }
        if (words->count < RESP_WORDS_MAX) {
            words->word[words->count++] = word;
        }
    }
    message->type = MONITOR_LINE;
    return true;
}

/* ---- effects ---- */

/* "__keyspace@3__:r0": the number and the name. */
static bool effect_channel(const struct resp_word *channel, struct monitor_message *message)
{
    static const char start[] = "__keyspace@";
    uint32_t at = sizeof start - 1;
    int64_t database = 0;
    if (channel->bytes < at || memcmp(channel->data, start, at) != 0 ||
        !line_number(channel->data, channel->bytes, &at, &database) ||
        !line_byte(channel->data, channel->bytes, &at, '_') ||
        !line_byte(channel->data, channel->bytes, &at, '_') ||
        !line_byte(channel->data, channel->bytes, &at, ':')) {
        return false;
    }
    message->database = database > INT32_MAX ? -1 : (int32_t)database;
    message->key = (struct resp_word){channel->data + at, channel->bytes - at};
    return true;
}

/* The bulks of a push; false if it is made of anything else. */
static bool push_parts(const char *data, uint32_t bytes, struct resp_word parts[MONITOR_PUSH_PARTS])
{
    size_t at = line_end(data, bytes, 0);
    if (header_number(data, 1, at) != MONITOR_PUSH_PARTS) {
        return false;
    }
    for (int i = 0; i < MONITOR_PUSH_PARTS; i++) {
        size_t body = line_end(data, bytes, at);
        int64_t length = body > 0 && data[at] == '$' ? header_number(data, at + 1, body) : -1;
        if (length < 0 || body + (size_t)length + 2 > bytes) {
            return false;
        }
        parts[i] = (struct resp_word){data + body, (uint32_t)length};
        at = body + (size_t)length + 2;
    }
    return true;
}

static void push_read(const char *data, uint32_t bytes, struct monitor_message *message)
{
    struct resp_word parts[MONITOR_PUSH_PARTS];
    if (push_parts(data, bytes, parts) && parts[0].bytes == 8 &&
        memcmp(parts[0].data, "pmessage", 8) == 0 && effect_channel(&parts[2], message)) {
        message->type = MONITOR_EFFECT;
        message->text = parts[3];
    }
}

/* ---- all ---- */

static void answer_read(const char *data, uint32_t bytes, struct monitor_message *message)
{
    size_t head = line_end(data, bytes, 0);
    message->type = MONITOR_ANSWER;
    message->error = data[0] == '-' || data[0] == '!';
    message->text = (struct resp_word){data + 1, (uint32_t)head - 3};
    int64_t length = header_number(data, 1, head);
    message->null = data[0] == '_' || (length < 0 && (data[0] == '$' || data[0] == '*'));
    if (is_bulk(data[0]) && length >= 0) {
        message->text = (struct resp_word){data + head, (uint32_t)length};
    }
    uint32_t at = message->text.bytes > 0 && message->text.data[0] == '-' ? 1 : 0;
    int64_t number = 0;
    bool whole = line_number(message->text.data, message->text.bytes, &at, &number) &&
                 at == message->text.bytes;
    message->integer = !whole ? 0 : message->text.data[0] == '-' ? -number : number;
}

void monitor_read(char *data, uint32_t bytes, struct monitor_message *message)
{
    ASSERT(bytes >= 3);
    memset(message, 0, sizeof *message);
    message->type = MONITOR_OTHER;
    message->message_bytes = bytes;
    if (data[0] == '>') {
        push_read(data, bytes, message);
    } else if (data[0] != '+' || !line_read(data, bytes - 2, message)) {
        answer_read(data, bytes, message);
    }
}

bool monitor_effects_first(const char *version, size_t bytes)
{
    static const int64_t weights[] = {1000000, 1000, 1};
    uint32_t at = 0;
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        int64_t number = 0;
        if (!line_number(version, (uint32_t)bytes, &at, &number)) {
            break;
        }
        sum += number * weights[i];
        (void)line_byte(version, (uint32_t)bytes, &at, '.');
    }
    return sum >= 6002004;
}
