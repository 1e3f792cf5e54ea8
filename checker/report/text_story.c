/* text_story.c: the words around the lanes. */
#include "checker/report/text_story.h"

#include "base/duration.h"
#include "base/foreign.h"

#include <string.h>

enum { SENTENCE_BYTES = 2048, MOMENT_COLUMNS = 16 };

/* How many columns the first `bytes` take: characters, where each takes one. */
static size_t columns_of(const char *words, size_t bytes)
{
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++) {
        columns += ((unsigned char)words[i] & 0xc0) != 0x80;
    }
    return columns;
}

void text_wrapped(const char *words, size_t indent, struct sheet *sheet)
{
    char memory[2 * SENTENCE_BYTES];
    struct text safe = text_over(memory, sizeof memory);
    size_t at = indent;
    bool first = true;
    text_add_foreign(&safe, words, strlen(words));
    for (const char *word = memory; *word != '\0';) {
        size_t bytes = strcspn(word, " ");
        size_t columns = columns_of(word, bytes);
        if (!first && at + 1 + columns > TEXT_LANES_COLUMNS) {
            sheet_add(sheet, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        sheet_add_text(sheet, first ? "" : " ");
        sheet_add_bytes(sheet, word, bytes);
        at += columns + (first ? 0 : 1);
        first = false;
        word += bytes;
        word += strspn(word, " ");
    }
    sheet_add_text(sheet, "\n");
}

static void print_step(const struct story_step *step, unsigned number, enum text_style style,
                       struct sheet *sheet)
{
    char memory[SENTENCE_BYTES];
    struct text moment = text_over(memory, sizeof memory);
    moment_print(step->time_ns, &moment);
    text_lanes_number(number, style, sheet);
    sheet_add(sheet, "%*s  ", MOMENT_COLUMNS - 2 - (number > 9 && style == TEXT_ASCII ? 2 : 1),
              moment.data);
    text_wrapped(step->sentence, MOMENT_COLUMNS, sheet);
}

void text_story_print(const struct explain_history *history, const struct story_cause *cause,
                      enum text_style style, struct sheet *sheet)
{
    char memory[SENTENCE_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_wrapped(cause->title, 0, sheet);
    text_add(&text, "%s. ", story_blame_words(cause));
    story_blame_why(cause, history->header, &text);
    text_wrapped(text.data, 0, sheet);
    if (cause->advice[0] != '\0') {
        text_clear(&text);
        text_add(&text, "What to do: %s", cause->advice);
        text_wrapped(text.data, 0, sheet);
    }
    sheet_add_text(sheet, "\n");
    text_lanes_print(history, cause, style, sheet);
    sheet_add_text(sheet, "\n");
    for (uint8_t i = 0; i < cause->step_count; i++) {
        print_step(&cause->steps[i], i + 1u, style, sheet);
    }
    sheet_add_text(sheet, "\n");
}
