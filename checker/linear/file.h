/*
 * file.h: judges the linearizability of a recorded history: one call for `picklock check --model`.
 *
 *     struct linear_options options = linear_options_default(LINEAR_OWNER);
 *     struct linear_report report;
 *     TRY(linear_check_file(path, &readers, &options, &report, why));
 *     linear_report_print(&report, &text);           a few lines for people
 *     report.result.verdict                          VERDICT_PASS, _FAIL, _UNKNOWN, _NOTHING
 *
 * The file is read once where it can be judged as events arrive. It is read again, keeping the
 * operations, where they cannot; and once more to show the operations of a certificate. Standard
 * input ("-") is copied to an unlinked temporary file for that.
 */
#ifndef CHECKER_LINEAR_FILE_H
#define CHECKER_LINEAR_FILE_H

#include "base/result.h"
#include "checker/linear/certificate.h"
#include "history/reader.h"

enum { LINEAR_LOCKS_NAMED = 32 };

/* Locks by name: the first of them. */
struct linear_locks {
    uint64_t count;
    uint32_t named;
    char names[LINEAR_LOCKS_NAMED][HISTORY_NAME_BYTES]; /* cut to fit */
};

struct linear_report {
    struct linear_options options;
    struct linear_result result;
    struct linear_witness witnesses[LINEAR_OPERATIONS_SHOWN]; /* result.operation_count of them */
    char resource[HISTORY_NAME_BYTES]; /* name of result.resource; cut to fit */
    uint64_t resources;                /* how many were judged */
    struct linear_locks settled;       /* if a limit was reached before all were; else empty, ... */
    struct linear_locks unsettled;     /* ... as is this */
    uint64_t events;
    uint64_t reordered;    /* events whose time said another order than the file's numbers */
    int32_t process_first; /* how the file counts processes: from 0 or from 1 */
    bool confirmed;        /* the witnesses alone contradict each other (certificate.h) */
    bool cut;              /* the file ended in the middle */
};

/*
 *   readers     in   How a foreign history says things; NULL for the usual ways.
 *
 * Returns what the reader returns: bad input is an error, never a verdict.
 */
MUST_USE struct result linear_check_file(const char *path,
                                         const struct history_reader_options *readers,
                                         const struct linear_options *options,
                                         struct linear_report *report, struct text *why);

/* As above, and write the legal order of a pass: "INDEX RESOURCE" a line, INDEX of its invoke. */
MUST_USE struct result linear_order_file(const char *path,
                                         const struct history_reader_options *readers,
                                         const struct linear_options *options,
                                         const char *order_path, struct text *why);

/* The verdict with its grade, reason and policy, and the operations that prove it. */
void linear_report_print(const struct linear_report *report, struct text *text);

/* Members of an object, each behind a comma: the locks that were settled and that were not, if a
 * limit was reached before all were. */
void linear_report_json(const struct linear_report *report, struct text *text);

#endif
