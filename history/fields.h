/*
 * fields.h: the fields of our JSON lines, one row each: reader, writer and docs/HISTORY.md go by
 * it.
 *
 *     history_event_fields[i]     {"index":0,"time":5,"process":1,"type":"invoke","f":"acquire"...
 *     history_header_fields[i]    {"format":"picklock-history","version":1,"seed":7,...
 *
 * They are written in the order of the rows. A new field is a member of struct history_event or
 * history_header and a row here.
 */
#ifndef HISTORY_FIELDS_H
#define HISTORY_FIELDS_H

#include "history/event.h"

enum field_type {
    FIELD_NOTE,     /* any text, for people: not kept */
    FIELD_FORMAT,   /* header: "picklock-history" */
    FIELD_VERSION,  /* header: HISTORY_FORMAT */
    FIELD_INDEX,    /* uint64_t that follows the one before */
    FIELD_UNSIGNED, /* uint64_t */
    FIELD_NATURAL,  /* int64_t from 0 on */
    FIELD_INTEGER,  /* int64_t */
    FIELD_PAIR,     /* two int64_t in brackets */
    FIELD_RANGE,    /* two int32_t in brackets, the first below the second; counted from 1 in files,
                       two zeros stand for none */
    FIELD_MEMBERS,  /* uint64_t: bit n for each number in brackets; counted from 1 in files */
    FIELD_COUNT,    /* int32_t from 0 to max */
    FIELD_LABEL,    /* text, terminated, below max bytes; a number says nothing */
    FIELD_ORDINAL,  /* int32_t; counted from 1 in files, -1 stands for none */
    FIELD_BOOL,     /* bool */
    FIELD_FLAG,     /* true sets `flag`; no other place */
    FIELD_WORD,     /* uint8_t: a number of the vocabulary */
    FIELD_SET,      /* uint16_t: a bit for each word of the vocabulary, listed in brackets */
    FIELD_NAME,     /* text, terminated, below max bytes */
    FIELD_VALUE,    /* struct history_value */
    FIELD_RESOURCE, /* uint32_t: the number of the name in this history */
};

/* Which header fields and which fields of an event that is not in question are left out. */
enum field_need {
    FIELD_OPTIONAL, /* left out where it says nothing: 0, -1, "" or without its flag */
    FIELD_WRITTEN,  /* always written, may be left out by others */
    FIELD_NEEDED,   /* a line without it is refused */
};

struct history_field {
    const char *word;
    uint8_t type;  /* enum field_type */
    uint8_t need;  /* enum field_need; of an event's field: for every kind */
    uint16_t flag; /* of an event: set where the field stands */
    uint16_t must; /* bit k: events of kind k must have it, and it is written for them */
    uint16_t may;  /* bit k: events of kind k may have it */
    size_t offset; /* of its place in the struct */
    int64_t max;   /* COUNT, ORDINAL, RANGE, MEMBERS: the largest; NAME: the bytes of its place */
    const struct history_vocabulary *vocabulary; /* WORD, SET */
    const char *problem;                         /* what a wrong one is: "an unknown cause" */
    const char *doc;                             /* what it says, in a line, for the manual */
    /* Whether it says something where it is 0; NULL: it does not. */
    bool (*zero_says)(const struct history_event *event);
};

extern const struct history_field history_event_fields[];
extern const size_t history_event_field_count;
extern const struct history_field history_header_fields[];
extern const size_t history_header_field_count;

enum { HISTORY_FIELDS_MAX = 64 };

/* The place of a field in the event or header that begins at `whole`. */
static inline void *history_field_at(const struct history_field *field, const void *whole)
{
    return (char *)(uintptr_t)whole + field->offset;
}

#endif
