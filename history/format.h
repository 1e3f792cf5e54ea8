/*
 * format.h: how reader.c learns of a file format: the one seam for foreign histories.
 *
 *     history_formats[] = { jsonl, ...one row a format }          formats.c
 *     first bytes --detect--> the format --begin--> header, --next--> event, event, ...
 *
 * A format only turns bytes into events. The reader does what is common to all of them: it sets the
 * index, and refuses time that goes back, an end without an invoke, two invokes in a row by one
 * process, and numbers beyond the limits of event.h. Foreign formats leave what they do not know
 * zero, HISTORY_NOBODY, HISTORY_NO_NODE or HISTORY_NO_FAULT (history_event_blank).
 *
 * A new format is one file and one row in formats.c.
 */
#ifndef HISTORY_FORMAT_H
#define HISTORY_FORMAT_H

#include "base/arena.h"
#include "history/input.h"
#include "history/reader.h"

/* What a format sees of the reader. */
struct history_parse {
    struct history_input input;    /* the bytes, with `path` and `line` for messages */
    const struct history_map *map; /* of the options; NULL: the usual names */
    struct history_met *met;       /* of the options */
    struct history_header header;  /* begin fills it; zero before */
    struct arena arena;            /* for the format's own state and names; freed at close */
    void *state;                   /* the format's own, from the arena */
    struct history_names *names;   /* resources: history_parse_resource */
    bool cut;                      /* next: the file ended inside its last event */
    bool foreign;                  /* begin: an end stands for the resource of its invoke */
    bool numbered;                 /* next: the event has a number above the one before it */
};

struct history_format {
    const char *name; /* "JSON lines", "EDN" */

    /* Whether a file that begins with these bytes (at most 4 KiB, decompressed) is of this format.
     */
    bool (*detect)(const char *bytes, size_t count);

    /* Read what stands before the first event and fill parse->header. */
    MUST_USE struct result (*begin)(struct history_parse *parse, struct text *why);

    /* Read the next event; *more is false at the end. parse->input.line is the event's line. */
    MUST_USE struct result (*next)(struct history_parse *parse, struct history_event *event,
                                   bool *more, struct text *why);
};

/* In order of trial; the first that detects wins. */
extern const struct history_format *const history_formats[];
extern const size_t history_format_count;

/* An event about nobody and nothing at time 0. */
struct history_event history_event_blank(void);

/* The index of a resource's name, the same for the same name; ERROR_LIMIT past the limits. */
MUST_USE struct result history_parse_resource(struct history_parse *parse, const char *name,
                                              size_t bytes, uint32_t *resource, struct text *why);

/* Write "PATH:LINE: sentence" into `why` and give the code. */
__attribute__((format(printf, 4, 5))) MUST_USE struct result
history_parse_error(const struct history_parse *parse, enum error_code code, struct text *why,
                    const char *format, ...);

#endif
