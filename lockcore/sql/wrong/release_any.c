/* release_any.c: releases without asking whose row it is. */
#include "lockcore/sql/sql.h"

/* What it did not get it leaves alone. */
static uint32_t nowhere(const struct lock *lock)
{
    (void)lock;
    return 0;
}

static const struct redlock_rules rules = {
    .set_kind = SQL_INSERT,
    .extend_kind = SQL_UPDATE,
    .release_kind = SQL_DELETE_ANY,
    .set_answer = sql_set_answer,
    .refused_release = nowhere,
};

const struct lock_algorithm algorithm_wrong_sql_release_any = {
    SQL_ALGORITHM,
    .name = "wrong/sql-release-any",
    .about = "releases the row by its name alone, also another's",
    .source = "ShedLock before 7.0.0 (unlock UPDATE ... WHERE name = ?)",
    .rules = &rules,
};
