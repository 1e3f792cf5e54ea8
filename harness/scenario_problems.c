/* scenario_problems.c: collects what is wrong with a file and prints it with line and caret. */
#include "harness/scenario_problems.h"

#include "base/assert.h"
#include "base/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    SOURCE_COLUMNS_MAX = 96, /* of a long source line, around the caret */
    SOURCE_BYTES_MAX = 4 * SOURCE_COLUMNS_MAX + 1,
};

void problems_init(struct problems *problems, const char *path, const char *bytes, size_t length)
{
    memset(problems, 0, sizeof *problems);
    problems->path = path;
    problems->bytes = bytes;
    problems->length = length;
}

struct text *problem_add(struct problems *problems, struct place place)
{
    struct problem *problem = &problems->overflow;
    if (problems->count < PROBLEMS_MAX) {
        problem = &problems->list[problems->count++];
    }
    problem->place = place;
    problem->order = problems->total++;
    problem->sentence = text_over(problem->memory, sizeof problem->memory);
    return &problem->sentence;
}

void problem_say(struct problems *problems, struct place place, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    text_add_list(problem_add(problems, place), format, list);
    va_end(list);
}

static bool byte_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The bytes of line `line`; empty if the file has no such line. */
static size_t problems_line(const struct problems *problems, uint32_t line, const char **start)
{
    const char *at = problems->bytes;
    const char *end = problems->bytes + problems->length;
    for (uint32_t i = 1; i < line && at < end; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline == NULL ? end : newline + 1;
    }
    *start = at;
    const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return (size_t)((newline == NULL ? end : newline) - at);
}

/* Print the part of the source line around `column`, tabs and control bytes as spaces. */
static uint32_t problem_print_source(const char *bytes, size_t length, uint32_t column,
                                     struct text *text)
{
    char shown[SOURCE_BYTES_MAX];
    uint32_t first = column > SOURCE_COLUMNS_MAX * 3 / 4 ? column - SOURCE_COLUMNS_MAX / 2 : 1;
    uint32_t at = 0; /* column of the byte that is looked at */
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        at += byte_continues(bytes[i]) ? 0 : 1;
        if (at >= first + SOURCE_COLUMNS_MAX || used == sizeof shown) {
            break;
        }
        if (at >= first) {
            bool control = (unsigned char)bytes[i] < 0x20 || bytes[i] == 0x7f;
            shown[used++] = control ? ' ' : bytes[i];
        }
    }
    while (used > 0 && shown[used - 1] == ' ') {
        used--;
    }
    text_add_bytes(text, shown, used);
    return column - first;
}

static void problem_print(const struct problems *problems, const struct problem *problem,
                          struct text *text)
{
    struct place place = problem->place;
    if (place.line == 0) {
        text_add_foreign(text, problems->path, strlen(problems->path));
        text_add(text, ": ");
        text_add_foreign(text, problem->sentence.data, problem->sentence.length);
        text_add(text, "\n");
        return;
    }
    text_add_foreign(text, problems->path, strlen(problems->path));
    text_add(text, ":%u:%u: ", place.line, place.column);
    text_add_foreign(text, problem->sentence.data, problem->sentence.length);
    text_add(text, "\n");
    const char *start = NULL;
    size_t length = problems->bytes == NULL ? 0 : problems_line(problems, place.line, &start);
    if (length == 0) {
        return;
    }
    text_add(text, "%5u | ", place.line);
    uint32_t caret = problem_print_source(start, length, place.column, text);
    text_add(text, "\n      | %*s^\n", (int)caret, "");
}

static int problem_compare(const void *a, const void *b)
{
    const struct problem *left = a;
    const struct problem *right = b;
    if (left->place.line != right->place.line) {
        return left->place.line < right->place.line ? -1 : 1;
    }
    if (left->place.column != right->place.column) {
        return left->place.column < right->place.column ? -1 : 1;
    }
    return left->order < right->order ? -1 : 1;
}

void problems_print(struct problems *problems, struct text *errors)
{
    ASSERT(problems->total > 0);
    qsort(problems->list, problems->count, sizeof problems->list[0], problem_compare);
    for (uint32_t i = 0; i < problems->count; i++) {
        /* Sorting moved the memory that the text points to. */
        problems->list[i].sentence.data = problems->list[i].memory;
        problem_print(problems, &problems->list[i], errors);
    }
    if (problems->total > problems->count) {
        text_add_foreign(errors, problems->path, strlen(problems->path));
        text_add(errors, ": and %u more\n", problems->total - problems->count);
    }
}

struct guess guess_for(const char *word)
{
    return (struct guess){.word = word, .best = NULL, .distance = strlen(word) / 3 + 1};
}

void guess_offer(struct guess *guess, const char *candidate)
{
    bool same = strcasecmp(guess->word, candidate) == 0;
    size_t distance = same ? 0 : text_distance(guess->word, candidate);
    bool nearer = guess->best == NULL ? distance <= guess->distance : distance < guess->distance;
    /* A word that shares nothing with the candidate is no misspelling of it. */
    if (nearer && distance < strlen(candidate)) {
        guess->best = candidate;
        guess->distance = distance;
    }
}

void guess_print(const struct guess *guess, struct text *text)
{
    if (guess->best != NULL) {
        text_add(text, "; did you mean \"%s\"?", guess->best);
    }
}
