/*
 * scenario_document.h: a small YAML file as a tree, each part with its line and column.
 *
 *     const struct document *root = document_parse(problems, arena, &code);
 *
 * A subset of YAML on purpose: no anchors, aliases, tags, tabs, several documents or keys that are
 * not plain words; each of them is a problem with a place. Only scenario_yaml.c knows libyaml.
 */
#ifndef HARNESS_SCENARIO_DOCUMENT_H
#define HARNESS_SCENARIO_DOCUMENT_H

#include "base/arena.h"
#include "harness/scenario_problems.h"

#include <stdbool.h>

enum {
    DOCUMENT_DEPTH_MAX = 12,
    DOCUMENT_PARTS_MAX = 10000,
};

enum document_kind { DOCUMENT_WORD, DOCUMENT_LIST, DOCUMENT_MAP };

struct document {
    uint8_t kind;              /* enum document_kind */
    struct place place;        /* where it begins */
    struct place word_place;   /* WORD: where its first character stands, behind a quote */
    bool refused;              /* a problem was told about it already */
    bool one_line;             /* WORD: columns can be counted from word_place */
    const char *word;          /* WORD: terminated; "" elsewhere */
    const char *key;           /* its key where it stands in a map; else NULL */
    struct place key_place;    /* where that key stands */
    struct document *child;    /* LIST, MAP: the first one */
    struct document *youngest; /* LIST, MAP: the last one */
    struct document *next;     /* the next one of the same parent */
};

/*
 * Parse the bytes that `problems` holds into a tree in `arena`. What is wrong is added to
 * problems; NULL if there is no tree at all. `code` is set to the kind of error where one was
 * found (ERROR_SYNTAX, ERROR_LIMIT), else left alone.
 */
const struct document *document_parse(struct problems *problems, struct arena *arena,
                                      enum error_code *code);

#endif
