/* scan.c: strings, numbers and flat objects of one line of JSON (RFC 8259), strictly. */
#include "history/scan.h"

#include "base/assert.h"

#include <string.h>

struct scan scan_line(char *text, size_t bytes)
{
    return (struct scan){
        .at = text, .start = text, .end = text + bytes, .first = true, .code = ERROR_NONE};
}

size_t scan_column(const struct scan *scan)
{
    return (size_t)(scan->at - scan->start) + 1;
}

bool scan_refuse(struct scan *scan, enum error_code code, const char *problem)
{
    if (scan->problem == NULL) {
        scan->problem = problem;
        scan->code = code;
    }
    return false;
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\t' || *scan->at == '\r')) {
        scan->at++;
    }
}

bool scan_at_end(struct scan *scan)
{
    skip_blanks(scan);
    return scan->at == scan->end;
}

static bool take(struct scan *scan, char wanted, const char *problem)
{
    skip_blanks(scan);
    if (scan->problem != NULL || scan->at == scan->end || *scan->at != wanted) {
        return scan_refuse(scan, ERROR_SYNTAX, problem);
    }
    scan->at++;
    return true;
}

bool scan_object_begin(struct scan *scan)
{
    return take(scan, '{', "expected a JSON object, which begins with {");
}

bool scan_object_key(struct scan *scan, struct scan_word *key)
{
    skip_blanks(scan);
    if (scan->problem == NULL && scan->at < scan->end && *scan->at == '}') {
        scan->at++;
        if (!scan_at_end(scan)) {
            scan_refuse(scan, ERROR_SYNTAX, "something stands behind the object's closing }");
        }
        return false;
    }
    if (!scan->first && !take(scan, ',', "expected , or } behind a value")) {
        return false;
    }
    scan->first = false;
    return scan_string(scan, key) && take(scan, ':', "expected : behind a key");
}

static bool hex4(const char *at, const char *end, uint32_t *number)
{
    *number = 0;
    for (int i = 0; i < 4; i++) {
        if (at + i >= end) {
            return false;
        }
        char c = at[i];
        uint32_t digit = 16;
        if (c >= '0' && c <= '9') {
            digit = (uint32_t)(c - '0');
        } else if ((c | 32) >= 'a' && (c | 32) <= 'f') {
            digit = (uint32_t)((c | 32) - 'a') + 10;
        }
        if (digit == 16) {
            return false;
        }
        *number = *number << 4 | digit;
    }
    return true;
}

/* UTF-8 of a code point: 1 to 4 bytes, never more than the escape that it replaces. */
static char *put_point(char *out, uint32_t point)
{
    if (point < 0x80) {
        *out++ = (char)point;
    } else if (point < 0x800) {
        *out++ = (char)(0xc0 | point >> 6);
        *out++ = (char)(0x80 | (point & 63));
    } else if (point < 0x10000) {
        *out++ = (char)(0xe0 | point >> 12);
        *out++ = (char)(0x80 | (point >> 6 & 63));
        *out++ = (char)(0x80 | (point & 63));
    } else {
        *out++ = (char)(0xf0 | point >> 18);
        *out++ = (char)(0x80 | (point >> 12 & 63));
        *out++ = (char)(0x80 | (point >> 6 & 63));
        *out++ = (char)(0x80 | (point & 63));
    }
    return out;
}

/* scan->at stands behind "\u"; surrogates come in pairs. */
static char *unicode_escape(struct scan *scan, char *out)
{
    uint32_t point = 0;
    if (!hex4(scan->at, scan->end, &point)) {
        scan_refuse(scan, ERROR_SYNTAX, "\\u without four hex digits");
        return NULL;
    }
    scan->at += 4;
    if (point >= 0xd800 && point < 0xe000) {
        uint32_t low = 0;
        bool paired = point < 0xdc00 && scan->end - scan->at >= 6 && scan->at[0] == '\\' &&
                      scan->at[1] == 'u' && hex4(scan->at + 2, scan->end, &low) && low >= 0xdc00 &&
                      low < 0xe000;
        if (!paired) {
            scan_refuse(scan, ERROR_SYNTAX, "half of a surrogate pair");
            return NULL;
        }
        scan->at += 6;
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    return put_point(out, point);
}

static char *escape(struct scan *scan, char *out)
{
    static const char names[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    scan->at++;
    char c = scan->at < scan->end ? *scan->at : '\0';
    if (c == 'u') {
        scan->at++;
        return unicode_escape(scan, out);
    }
    const char *name = c == '\0' ? NULL : strchr(names, c);
    if (name == NULL) {
        scan_refuse(scan, ERROR_SYNTAX, "an unknown escape");
        return NULL;
    }
    scan->at++;
    *out = meant[name - names];
    return out + 1;
}

/* Length of the well-formed UTF-8 sequence at `at` (RFC 3629), 0 if there is none. */
static size_t utf8_bytes(const unsigned char *at, const unsigned char *end)
{
    size_t left = (size_t)(end - at);
    unsigned char lead = at[0];
    unsigned char next = left > 1 ? at[1] : 0;
    if (lead >= 0xc2 && lead <= 0xdf) {
        return (next & 0xc0) == 0x80 ? 2 : 0;
    }
    if (lead >= 0xe0 && lead <= 0xef) {
        bool bad = left < 3 || (next & 0xc0) != 0x80 || (at[2] & 0xc0) != 0x80 ||
                   (lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f);
        return bad ? 0 : 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        bool bad = left < 4 || (next & 0xc0) != 0x80 || (at[2] & 0xc0) != 0x80 ||
                   (at[3] & 0xc0) != 0x80 || (lead == 0xf0 && next < 0x90) ||
                   (lead == 0xf4 && next > 0x8f);
        return bad ? 0 : 4;
    }
    return 0;
}

/* The rest of a string from its first escape or byte beyond ASCII on. */
static bool string_slow(struct scan *scan, struct scan_word *word)
{
    char *out = scan->at;
    while (scan->at < scan->end && *scan->at != '"') {
        unsigned char c = (unsigned char)*scan->at;
        if (c < 0x20) {
            return scan_refuse(scan, ERROR_SYNTAX, "a control character inside a string");
        }
        if (c == '\\') {
            out = escape(scan, out);
            if (out == NULL) {
                return false;
            }
            continue;
        }
        size_t bytes = c < 0x80 ? 1
                                : utf8_bytes((const unsigned char *)scan->at,
                                             (const unsigned char *)scan->end);
        if (bytes == 0) {
            return scan_refuse(scan, ERROR_SYNTAX, "bytes that are no UTF-8");
        }
        memmove(out, scan->at, bytes);
        out += bytes;
        scan->at += bytes;
    }
    if (scan->at == scan->end) {
        return scan_refuse(scan, ERROR_SYNTAX, "a string without its closing \"");
    }
    word->bytes = (size_t)(out - word->text);
    scan->at++;
    return true;
}

bool scan_string(struct scan *scan, struct scan_word *word)
{
    if (!take(scan, '"', "expected a string")) {
        return false;
    }
    char *at = scan->at;
    word->text = at;
    /* *end is a newline or a zero, so that the loop needs no bound of its own. */
    while (*at != '"' && *at != '\\' && (signed char)*at >= 0x20) {
        at++;
    }
    scan->at = at;
    if (*at == '"' && at < scan->end) {
        word->bytes = (size_t)(at - word->text);
        scan->at++;
        return true;
    }
    return string_slow(scan, word);
}

static bool digits(struct scan *scan, uint64_t *number)
{
    char *at = scan->at;
    uint64_t sum = 0;
    while (*at >= '0' && *at <= '9') {
        uint64_t digit = (uint64_t)(*at - '0');
        if (sum > UINT64_MAX / 10 || (sum == UINT64_MAX / 10 && digit > UINT64_MAX % 10)) {
            return scan_refuse(scan, ERROR_LIMIT, "a number beyond 64 bits");
        }
        sum = sum * 10 + digit;
        at++;
    }
    bool led_by_zero = at - scan->at > 1 && *scan->at == '0';
    if (at == scan->at || led_by_zero || *at == '.' || *at == 'e' || *at == 'E') {
        return scan_refuse(scan, ERROR_SYNTAX, "expected a whole number");
    }
    scan->at = at;
    *number = sum;
    return true;
}

bool scan_unsigned(struct scan *scan, uint64_t *number)
{
    skip_blanks(scan);
    return scan->problem == NULL && digits(scan, number);
}

bool scan_at_number(struct scan *scan)
{
    skip_blanks(scan);
    return *scan->at >= '0' && *scan->at <= '9';
}

bool scan_integer(struct scan *scan, int64_t *number)
{
    skip_blanks(scan);
    bool negative = *scan->at == '-';
    scan->at += negative ? 1 : 0;
    uint64_t size = 0;
    if (scan->problem != NULL || !digits(scan, &size)) {
        return false;
    }
    if (size > (uint64_t)INT64_MAX + (negative ? 1 : 0)) {
        return scan_refuse(scan, ERROR_LIMIT, "a number beyond 64 bits");
    }
    *number = (int64_t)(negative ? 0 - size : size);
    return true;
}

bool scan_bool(struct scan *scan, bool *truth)
{
    skip_blanks(scan);
    size_t left = (size_t)(scan->end - scan->at);
    *truth = left >= 4 && memcmp(scan->at, "true", 4) == 0;
    bool untruth = left >= 5 && memcmp(scan->at, "false", 5) == 0;
    if (scan->problem != NULL || (!*truth && !untruth)) {
        return scan_refuse(scan, ERROR_SYNTAX, "expected true or false");
    }
    scan->at += *truth ? 4 : 5;
    return true;
}

bool scan_pair(struct scan *scan, int64_t pair[2])
{
    return take(scan, '[', "expected two numbers in brackets") && scan_integer(scan, &pair[0]) &&
           take(scan, ',', "expected two numbers in brackets") && scan_integer(scan, &pair[1]) &&
           take(scan, ']', "expected two numbers in brackets");
}

bool scan_list_begin(struct scan *scan, bool *more)
{
    if (!take(scan, '[', "expected a list in brackets")) {
        return false;
    }
    skip_blanks(scan);
    *more = *scan->at != ']';
    scan->at += *more ? 0 : 1;
    return true;
}

bool scan_list_more(struct scan *scan, bool *more)
{
    skip_blanks(scan);
    *more = scan->at < scan->end && *scan->at == ',';
    return take(scan, *more ? ',' : ']', "expected a comma or the end of the list");
}

static size_t word_slot(const char *word, size_t bytes)
{
    size_t first = (unsigned char)word[0];
    size_t last = (unsigned char)word[bytes - 1];
    size_t middle = (unsigned char)word[bytes / 2];
    return (first * 7 + last * 31 + middle * 3 + bytes * 11) % SCAN_SLOTS;
}

void scan_words_add(struct scan_words *words, const char *word)
{
    ASSERT(words->count < SCAN_WORDS_MAX);
    size_t index = words->count++;
    words->word[index] = word;
    words->bytes[index] = (uint8_t)strlen(word);
    if (words->bytes[index] == 0) {
        return;
    }
    size_t slot = word_slot(word, words->bytes[index]);
    while (words->slot[slot] != 0) {
        slot = (slot + 1) % SCAN_SLOTS;
    }
    words->slot[slot] = (uint8_t)(index + 1);
}

size_t scan_words_find(const struct scan_words *words, struct scan_word word)
{
    if (word.bytes == 0) {
        return words->count;
    }
    size_t slot = word_slot(word.text, word.bytes);
    while (words->slot[slot] != 0) {
        size_t index = words->slot[slot] - 1u;
        if (words->bytes[index] == word.bytes &&
            memcmp(words->word[index], word.text, word.bytes) == 0) {
            return index;
        }
        slot = (slot + 1) % SCAN_SLOTS;
    }
    return words->count;
}
