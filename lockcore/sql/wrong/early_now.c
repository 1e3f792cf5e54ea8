/* early_now.c: asks what time it is, and writes that time later. */
#include "lockcore/sql/sql.h"

static enum lock_answer insert_at_clock(const struct lock *lock, const struct lock_event *event,
                                        struct lock_effects *effects)
{
    if (event->command.kind == SQL_CLOCK && event->reply.type == LOCK_REPLY_NUMBER) {
        struct lock_command insert = round_command(lock, SQL_INSERT_AT);
        insert.number = event->reply.number;
        lock_send(lock, event->node_index, &insert, effects);
        return LOCK_ANSWER_LATER;
    }
    return sql_set_answer(lock, event, effects);
}

/* Whoever is told that a row was written takes its lock for fresh. */
static int64_t nothing_elapsed(const struct lock *lock, int64_t clock_ns)
{
    (void)lock;
    (void)clock_ns;
    return 0;
}

static const struct redlock_rules rules = {
    .set_kind = SQL_CLOCK,
    .extend_kind = SQL_UPDATE,
    .release_kind = SQL_DELETE,
    .set_answer = insert_at_clock,
    .elapsed_ns = nothing_elapsed,
};

const struct lock_algorithm algorithm_wrong_sql_early_now = {
    SQL_ALGORITHM,
    .name = "wrong/sql-early-now",
    .about = "asks for the time before the UPDATE, and takes a row that is over by then for held",
    .source = "ShedLock #132: now sampled before the UPDATE",
    .rules = &rules,
};
