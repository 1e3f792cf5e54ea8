/* text_scale.h: from time to columns, with what is quiet folded: for text_lanes.c. */
#ifndef CHECKER_REPORT_TEXT_SCALE_H
#define CHECKER_REPORT_TEXT_SCALE_H

#include "checker/report/encode.h"
#include "checker/report/marks.h"
#include "checker/story/story.h"

enum { TEXT_FOLDS_MAX = 5 };

struct text_fold {
    int64_t from_ns;
    int64_t to_ns;
};

struct text_scale {
    int32_t columns;
    int64_t from_ns;
    int64_t to_ns;
    uint32_t fold_count;
    struct text_fold folds[TEXT_FOLDS_MAX]; /* in order of time */
};

/* What is looked at, and as few folds as set the most of the evidence apart. */
void text_scale_make(struct text_scale *scale, const struct explain_history *history,
                     const struct story_cause *cause, int32_t columns);

/* From 0 to columns - 1, also for what is outside. */
int32_t text_scale_column(const struct text_scale *scale, int64_t time_ns);

/* Two lines: moments and lengths of folds, and the axis. */
void text_scale_print(const struct text_scale *scale, int32_t gutter, bool unicode,
                      struct sheet *sheet);

#endif
