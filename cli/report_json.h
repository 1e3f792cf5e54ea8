/*
 * report_json.h: one run as a line of JSON.
 *
 *     report_line         {"schema":1,"type":"run",...,"rerun":"..."     the same whenever it is
 * run report_line_kept    ,"hash":"...","folder":"..."                   where it was kept, if it
 * was report_line_end     ,"wall_ns":123}                                how long it took, if asked
 */
#ifndef CLI_REPORT_JSON_H
#define CLI_REPORT_JSON_H

#include "cli/json.h"
#include "cli/report.h"

enum { REPORT_LINE_BYTES = 64 * 1024 };

void report_line(const struct report *report, const struct report_group *group,
                 const struct run_report *run, struct text *line);
void report_line_kept(const struct report *report, const struct report_group *group,
                      const struct run_report *run, struct text *line);
/* Take back what report_line said of the checks; false if it is not that. Checks that this picklock
 * does not have are passed over. */
bool report_checks_read(const struct json *json, int32_t checks, struct run_report *run);

void report_line_end(const struct run_report *run, bool timing, struct text *line);

/* The causes of a run, as far as its line tells them. */
void report_causes_read(const struct json *json, int32_t causes, struct run_report *run);

#endif
