/* text_scale.c: an axis of characters. */
#include "checker/report/text_scale.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/duration.h"

#include <string.h>

enum { FOLD_COLUMNS = 8, APART = 3, LABEL_BYTES = 48, LINE_BYTES = 256 };

int32_t text_scale_column(const struct text_scale *scale, int64_t time_ns)
{
    double true_ns = (double)(scale->to_ns - scale->from_ns);
    for (uint32_t i = 0; i < scale->fold_count; i++) {
        true_ns -= (double)(scale->folds[i].to_ns - scale->folds[i].from_ns);
    }
    int32_t wide = scale->columns - 1 - FOLD_COLUMNS * (int32_t)scale->fold_count;
    double each = true_ns > 0 ? (double)wide / true_ns : 0;
    double at = 0;
    int64_t last_ns = scale->from_ns;
    for (uint32_t i = 0; i < scale->fold_count && time_ns > scale->folds[i].from_ns; i++) {
        const struct text_fold *fold = &scale->folds[i];
        at += (double)(fold->from_ns - last_ns) * each;
        if (time_ns < fold->to_ns) {
            double part = (double)(time_ns - fold->from_ns) / (double)(fold->to_ns - fold->from_ns);
            return (int32_t)(at + FOLD_COLUMNS * part + 0.5);
        }
        at += FOLD_COLUMNS;
        last_ns = fold->to_ns;
    }
    int64_t bounded_ns = time_ns < scale->from_ns ? scale->from_ns : time_ns;
    bounded_ns = bounded_ns > scale->to_ns ? scale->to_ns : bounded_ns;
    int32_t column = (int32_t)(at + (double)(bounded_ns - last_ns) * each + 0.5);
    return column < 0 ? 0 : column >= scale->columns ? scale->columns - 1 : column;
}

/* ---- folds ----------------------------------------------------------------------------------- */

/* How many neighbours of the story stand apart. */
static uint32_t apart(const struct text_scale *scale, const struct story_cause *cause)
{
    uint32_t count = 0;
    for (uint8_t i = 1; i < cause->step_count; i++) {
        count += text_scale_column(scale, cause->steps[i].time_ns) -
                     text_scale_column(scale, cause->steps[i - 1].time_ns) >=
                 APART;
    }
    return count;
}

static bool changes(const struct history_event *event, const struct marks *marks)
{
    bool change = event->kind == HISTORY_FAULT || event->kind == HISTORY_PHASE ||
                  (event->f == HISTORY_WRITE && event->type == HISTORY_OK);
    for (uint32_t i = 0; i < marks->count; i++) {
        change = change || marks->list[i].bar != MARK_WAIT;
    }
    return change;
}

/* The longest stretches without a change, the longest first. */
static uint32_t longest_gaps(const struct text_scale *scale, const struct explain_history *history,
                             struct text_fold gaps[TEXT_FOLDS_MAX])
{
    struct marker *marker = marker_open(history->header);
    struct marks marks;
    uint32_t count = 0;
    int64_t last_ns = scale->from_ns;
    for (size_t i = 0; marker != NULL && i < history->count; i++) {
        const struct history_event *event = &history->events[i];
        marker_step(marker, event, &marks);
        if (event->time_ns > scale->to_ns) {
            break;
        }
        if (event->time_ns <= last_ns || !changes(event, &marks)) {
            continue;
        }
        struct text_fold gap = {.from_ns = last_ns, .to_ns = event->time_ns};
        last_ns = event->time_ns;
        uint32_t at = count;
        while (at > 0 && gaps[at - 1].to_ns - gaps[at - 1].from_ns < gap.to_ns - gap.from_ns) {
            at--;
        }
        count += count < TEXT_FOLDS_MAX ? 1 : 0;
        for (uint32_t k = count; k > at + 1; k--) {
            gaps[k - 1] = gaps[k - 2];
        }
        if (at < TEXT_FOLDS_MAX) {
            gaps[at] = gap;
        }
    }
    marker_close(marker);
    return count;
}

static void fold_first(struct text_scale *scale, const struct text_fold *gaps, uint32_t count)
{
    scale->fold_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = scale->fold_count++;
        for (; at > 0 && scale->folds[at - 1].from_ns > gaps[i].from_ns; at--) {
            scale->folds[at] = scale->folds[at - 1];
        }
        scale->folds[at] = gaps[i];
    }
}

void text_scale_make(struct text_scale *scale, const struct explain_history *history,
                     const struct story_cause *cause, int32_t columns)
{
    struct text_fold gaps[TEXT_FOLDS_MAX];
    ASSERT(history->count > 0);
    *scale = (struct text_scale){.columns = columns};
    scale->from_ns = cause != NULL ? cause->from_ns : history->events[0].time_ns;
    scale->to_ns = cause != NULL ? cause->to_ns : history->events[history->count - 1].time_ns;
    scale->to_ns += scale->to_ns <= scale->from_ns ? scale->from_ns - scale->to_ns + 1 : 0;
    if (cause == NULL) {
        return;
    }
    uint32_t found = longest_gaps(scale, history, gaps);
    uint32_t best = 0;
    uint32_t most = apart(scale, cause);
    for (uint32_t count = 1; count <= found; count++) {
        fold_first(scale, gaps, count);
        if (apart(scale, cause) > most) {
            most = apart(scale, cause);
            best = count;
        }
    }
    fold_first(scale, gaps, best);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* A label at a column, or as near behind it as there is room. */
static void put_label(char *line, int32_t columns, int32_t at, const char *label)
{
    int32_t length = (int32_t)strlen(label);
    at = at + length > columns ? columns - length : at;
    for (int32_t i = at > 0 ? at - 1 : at; i <= at + length && i < columns; i++) {
        if (i >= 0 && line[i] != ' ') {
            return; /* taken: rather none than half of two */
        }
    }
    if (at >= 0) {
        memcpy(line + at, label, (size_t)length);
    }
}

static void put_moment(char *line, const struct text_scale *scale, int64_t time_ns)
{
    char memory[LABEL_BYTES];
    struct text label = text_over(memory, sizeof memory);
    moment_print(time_ns, &label);
    put_label(line, scale->columns, text_scale_column(scale, time_ns), label.data);
}

/* How long a fold is, without its blank: "57.22ms" has room in it. */
static void fold_label(const struct text_fold *fold, char label[LABEL_BYTES])
{
    char memory[LABEL_BYTES];
    struct text length = text_over(memory, sizeof memory);
    size_t count = 0;
    duration_print_short(fold->to_ns - fold->from_ns, &length);
    for (size_t i = 0; i < length.length; i++) {
        if (memory[i] != ' ') {
            label[count++] = memory[i];
        }
    }
    label[count] = '\0';
}

static const struct text_fold *fold_at(const struct text_scale *scale, int32_t column)
{
    for (uint32_t i = 0; i < scale->fold_count; i++) {
        if (column > text_scale_column(scale, scale->folds[i].from_ns) &&
            column < text_scale_column(scale, scale->folds[i].to_ns)) {
            return &scale->folds[i];
        }
    }
    return NULL;
}

/* The axis, with the length of each fold in it. */
static void print_axis(const struct text_scale *scale, bool unicode, struct sheet *sheet)
{
    char label[LABEL_BYTES];
    for (int32_t at = 0; at < scale->columns;) {
        const struct text_fold *fold = fold_at(scale, at);
        if (fold == NULL) {
            sheet_add_text(sheet, unicode ? "\xe2\x94\x80" : "-");
            at++;
            continue;
        }
        int32_t wide = text_scale_column(scale, fold->to_ns) - at;
        fold_label(fold, label);
        int32_t length = (int32_t)strlen(label);
        int32_t before = length < wide ? (wide - length) / 2 : 0;
        for (int32_t i = 0; i < wide; i++) {
            bool inside = i >= before && i < before + length;
            sheet_add_bytes(sheet, inside ? &label[i - before] : "~", 1);
        }
        at += wide;
    }
    sheet_add_text(sheet, "\n");
}

void text_scale_print(const struct text_scale *scale, int32_t gutter, bool unicode,
                      struct sheet *sheet)
{
    char line[LINE_BYTES];
    ASSERT(scale->columns < LINE_BYTES);
    memset(line, ' ', sizeof line);
    put_moment(line, scale, scale->from_ns);
    put_moment(line, scale, scale->to_ns);
    for (uint32_t i = 0; i < scale->fold_count; i++) {
        put_moment(line, scale, scale->folds[i].to_ns);
    }
    int32_t length = scale->columns;
    while (length > 0 && line[length - 1] == ' ') {
        length--;
    }
    line[length] = '\0';
    sheet_add(sheet, "%-*s%s\n%*s", gutter, "time", line, gutter, "");
    print_axis(scale, unicode, sheet);
}
