/*
 * datum.h: one value of EDN or JSON as a small tree in an array.
 *
 *     struct datum_parse parse = {.notation = DATUM_EDN, .data = list, .count_max = 1000};
 *     switch (datum_read(&parse, text, end)) ...
 *     parse.data[0] is the value; its children are found by `first` and `next`
 *
 * EDN: maps, vectors, lists, sets, strings, characters, keywords, symbols, numbers, nil, booleans,
 * tagged values (the tag is dropped), discarded values (#_) and comments. JSON: strictly RFC 8259.
 * Texts point into what was read; strings keep their escapes (datum_text). Never recursive.
 */
#ifndef HISTORY_DATUM_H
#define HISTORY_DATUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum datum_type {
    DATUM_NIL,
    DATUM_FALSE,
    DATUM_TRUE,
    DATUM_INTEGER, /* fits into 64 bits */
    DATUM_NUMBER,  /* any other number */
    DATUM_STRING,
    DATUM_KEYWORD, /* text without the colon */
    DATUM_SYMBOL,  /* also a character */
    DATUM_MAP,     /* children: key, value, key, value ... */
    DATUM_LIST,    /* vector, list, set or array */
};

struct datum {
    const char *text; /* of a scalar, without quotes or colon */
    uint32_t bytes;
    int32_t first; /* child, or -1 */
    int32_t next;  /* sibling, or -1 */
    uint8_t type;  /* enum datum_type */
    bool escaped;  /* a string with backslashes */
    int64_t integer;
};

enum datum_notation { DATUM_EDN, DATUM_JSON };

enum datum_outcome {
    DATUM_READ,
    DATUM_MORE,  /* the text ends inside the value */
    DATUM_WRONG, /* `problem` at `at` */
    DATUM_LARGE, /* `problem` at `at`: a limit */
};

enum { DATUM_DEPTH_MAX = 64, DATUM_COUNT_MAX = 4096 };

struct datum_parse {
    enum datum_notation notation;
    struct datum *data; /* room for DATUM_COUNT_MAX */
    uint32_t count;
    const char *at;      /* behind the value, or where the problem stands */
    const char *problem; /* a sentence */
};

/* Read one value that begins at `text`, blanks and comments before it allowed. */
enum datum_outcome datum_read(struct datum_parse *parse, const char *text, const char *end);

/* Skip blanks, commas (EDN) and comments; `*skipped` of lines. NULL inside a comment at the end. */
const char *datum_skip(enum datum_notation notation, const char *text, const char *end);

/* The value of a map's entry, or -1. */
int32_t datum_find(const struct datum *data, int32_t map, const char *key, size_t bytes);

/* Two values of one key say two things, and no reader may choose. */
bool datum_has_key_twice(const struct datum *data, int32_t map);

/* The characters of a scalar, escapes resolved, cut to fit; gives the length. */
size_t datum_text(const struct datum *datum, char *text, size_t bytes_max);

#endif
