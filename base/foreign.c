/* foreign.c: text that somebody else wrote, made fit to be shown. */
#include "base/foreign.h"

#include "base/assert.h"

#include <string.h>

enum { ESCAPE_BYTES = 12 };

/* How many bytes a character takes that begins with this one; 0: none begins so. */
static size_t foreign_length(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return 3;
    }
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t foreign_next(const char *bytes, size_t count, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    ASSERT(count > 0);
    unsigned char first = (unsigned char)bytes[0];
    size_t length = foreign_length(first);
    *code = FOREIGN_BROKEN;
    if (length == 0 || length > count) {
        return 1;
    }
    uint32_t built = first & first_bits[length];
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)bytes[i];
        if ((next & 0xc0) != 0x80) {
            return 1;
        }
        built = built << 6 | (next & 0x3f);
    }
    bool surrogate = built >= 0xd800 && built <= 0xdfff;
    if (built < least[length] || built > 0x10ffff || surrogate) {
        return 1;
    }
    *code = built;
    return length;
}

bool foreign_is_plain(uint32_t code)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } acting[] = {
        {0x00, 0x1f},
        {0x7f, 0x9f}, /* control characters */
        {0xad, 0xad},
        {0x61c, 0x61c},
        {0x180e, 0x180e}, /* seen now and then, or never */
        {0x200b, 0x200f},
        {0x2028, 0x202e},
        {0x2060, 0x206f}, /* width, lines, direction */
        {0xfeff, 0xfeff},
        {0xfff9, 0xfffb},
        {0xe0000, 0xe0fff}, /* marks and tags */
        {FOREIGN_BROKEN, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof acting / sizeof acting[0]; i++) {
        if (code >= acting[i].first && code <= acting[i].last) {
            return false;
        }
    }
    return true;
}

/* Take one character, and give what is shown for it; "" where its own bytes are. */
static size_t foreign_escape(const char *bytes, size_t count, char escape[ESCAPE_BYTES])
{
    uint32_t code;
    size_t taken = foreign_next(bytes, count, &code);
    struct text text = text_over(escape, ESCAPE_BYTES);
    if (code == FOREIGN_BROKEN) {
        text_add(&text, "\\x%02x", (unsigned)(unsigned char)bytes[0]);
    } else if (!foreign_is_plain(code)) {
        text_add(&text, code <= 0xff ? "\\x%02x" : code <= 0xffff ? "\\u%04x" : "\\U%08x", code);
    }
    ASSERT(!text.cut);
    return taken;
}

void text_add_foreign(struct text *text, const char *bytes, size_t count)
{
    char escape[ESCAPE_BYTES];
    for (size_t at = 0, taken = 0; at < count && !text->cut; at += taken) {
        taken = foreign_escape(bytes + at, count - at, escape);
        bool plain = escape[0] == '\0';
        text_add_bytes(text, plain ? bytes + at : escape, plain ? taken : strlen(escape));
    }
}

enum foreign_newlines { NEWLINES_STAY, NEWLINES_ESCAPED };

static void foreign_print_as(FILE *stream, const char *text, size_t bytes,
                             enum foreign_newlines newlines)
{
    char escape[ESCAPE_BYTES];
    for (size_t at = 0, taken = 0; at < bytes; at += taken) {
        taken = foreign_escape(text + at, bytes - at, escape);
        bool plain = escape[0] == '\0' || (text[at] == '\n' && newlines == NEWLINES_STAY);
        (void)fwrite(plain ? text + at : escape, 1, plain ? taken : strlen(escape), stream);
    }
}

void foreign_print(FILE *stream, const char *text, size_t bytes)
{
    foreign_print_as(stream, text, bytes, NEWLINES_STAY);
}

void foreign_print_line(FILE *stream, const char *text)
{
    foreign_print_as(stream, text, strlen(text), NEWLINES_ESCAPED);
}
