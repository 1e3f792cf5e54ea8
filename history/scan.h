/*
 * scan.h: the parts of one line of JSON: strings, whole numbers, true and false, flat objects.
 *
 *     struct scan scan = scan_line(text, bytes);
 *     if (!scan_object_begin(&scan)) ...
 *     while (scan_object_key(&scan, &key)) { scan_integer(&scan, &number); ... }
 *     if (scan.problem != NULL) { scan.problem stands at scan_column(&scan) }
 *
 * The first problem stays; after it every call fails. Strings are decoded in place.
 */
#ifndef HISTORY_SCAN_H
#define HISTORY_SCAN_H

#include "base/result.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan {
    char *at;
    char *start;
    char *end;  /* *end is readable and no part of the line */
    bool first; /* no key was read yet */
    const char *problem;
    enum error_code code;
};

struct scan_word {
    const char *text; /* not terminated */
    size_t bytes;
};

struct scan scan_line(char *text, size_t bytes);

/* Whether only blanks are left. */
bool scan_at_end(struct scan *scan);

bool scan_object_begin(struct scan *scan);

/* The next key and its colon; false at the closing brace, after which only blanks may stand. */
bool scan_object_key(struct scan *scan, struct scan_word *key);

bool scan_string(struct scan *scan, struct scan_word *word);
bool scan_integer(struct scan *scan, int64_t *number);
bool scan_unsigned(struct scan *scan, uint64_t *number);
bool scan_bool(struct scan *scan, bool *truth);

/* Two whole numbers in brackets. */
bool scan_pair(struct scan *scan, int64_t pair[2]);

/* Whether a number stands here. */
bool scan_at_number(struct scan *scan);

/* A list: whether anything stands in it, and behind each of its members whether one more does. */
bool scan_list_begin(struct scan *scan, bool *more);
bool scan_list_more(struct scan *scan, bool *more);

/* Note a problem here unless there is one already; gives false. */
bool scan_refuse(struct scan *scan, enum error_code code, const char *problem);

/* Where the problem stands, from 1. */
size_t scan_column(const struct scan *scan);

/* A small set of words that are found by hashing. */
enum { SCAN_WORDS_MAX = 48, SCAN_SLOTS = 128 };

struct scan_words {
    size_t count;
    const char *word[SCAN_WORDS_MAX];
    uint8_t bytes[SCAN_WORDS_MAX];
    uint8_t slot[SCAN_SLOTS]; /* index + 1; 0: free */
};

void scan_words_add(struct scan_words *words, const char *word);

/* The index of a word; words->count if there is none. */
size_t scan_words_find(const struct scan_words *words, struct scan_word word);

#endif
