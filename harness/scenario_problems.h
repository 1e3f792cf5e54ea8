/*
 * scenario_problems.h: everything that is wrong with one file, told in the order of its lines.
 *
 *     struct problem *problem = problem_add(problems, place);
 *     text_add(&problem->sentence, "unknown key \"%s\"", word);
 *     ...
 *     problems_print(problems, errors);
 *
 *     FILE:12:9: unknown key "latencey"; did you mean "latency"?
 *       12 | nodes: {latencey: 5ms}
 *          |         ^
 */
#ifndef HARNESS_SCENARIO_PROBLEMS_H
#define HARNESS_SCENARIO_PROBLEMS_H

#include "base/result.h"
#include "base/text.h"

#include <stdint.h>

enum {
    PROBLEMS_MAX = 40, /* more are counted, not told */
    PROBLEM_BYTES = 320,
};

/* Lines and columns count from 1; a column is a character, not a byte. Line 0: the whole file. */
struct place {
    uint32_t line;
    uint32_t column;
};

struct problem {
    struct place place;
    uint32_t order;
    struct text sentence;
    char memory[PROBLEM_BYTES];
};

struct problems {
    const char *path;  /* borrowed */
    const char *bytes; /* borrowed: the file, or NULL */
    size_t length;
    uint32_t count;          /* told */
    uint32_t total;          /* found */
    enum error_code worst;   /* code of the first problem found */
    struct problem overflow; /* where those beyond PROBLEMS_MAX are written */
    struct problem list[PROBLEMS_MAX];
};

void problems_init(struct problems *problems, const char *path, const char *bytes, size_t length);

/* Give the sentence of a new problem, to be filled by the caller. */
struct text *problem_add(struct problems *problems, struct place place);

__attribute__((format(printf, 3, 4))) void problem_say(struct problems *problems,
                                                       struct place place, const char *format, ...);

/* Print all of them, sorted by place. */
void problems_print(struct problems *problems, struct text *errors);

/* Find the nearest of several words: guess_init, guess_offer each, guess_print. */
struct guess {
    const char *word;
    const char *best; /* NULL if none is near */
    size_t distance;
};

struct guess guess_for(const char *word);
void guess_offer(struct guess *guess, const char *candidate);

/* Add `; did you mean "best"?`, or nothing. */
void guess_print(const struct guess *guess, struct text *text);

#endif
