/* app_clock.c: writes and compares ends by the clock of each application. */
#include "lockcore/sql/sql.h"

static int64_t own_clock_ms(const struct lock_event *event)
{
    return event->wall_ns / NS_PER_MS;
}

static const struct redlock_rules rules = {
    .set_kind = SQL_INSERT_AT,
    .extend_kind = SQL_UPDATE_AT,
    .release_kind = SQL_DELETE,
    .set_answer = sql_set_answer,
    .number = own_clock_ms,
};

const struct lock_algorithm algorithm_wrong_sql_app_clock = {
    SQL_ALGORITHM,
    .name = "wrong/sql-app-clock",
    .about = "writes and compares ends by each application's own wall clock",
    .source = "ShedLock #231, #263, #639: without usingDbTime()",
    .rules = &rules,
};
