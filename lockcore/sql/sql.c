/* sql.c: the lock of a row in a database, which counts by its own clock. */
#include "lockcore/sql/sql.h"

static const struct lock_command_row rows[SQL_STATEMENTS] = {
    [SQL_NONE] = {"none", "nothing", LOCK_VERB_NONE, 0, LOCK_ANSWERS_YES_NO, false},
    [SQL_INSERT] = {"insert", "a row, if there is none or its end is over", LOCK_VERB_SET_ABSENT,
                    LOCK_CARRIES_TTL, LOCK_ANSWERS_NUMBER, false},
    [SQL_UPDATE] = {"update", "a new end, if the row is ours and not over",
                    LOCK_VERB_EXTEND_COMPARE, LOCK_CARRIES_TTL, LOCK_ANSWERS_YES_NO, false},
    [SQL_DELETE] = {"delete", "the row, if it is ours and not over", LOCK_VERB_DELETE_COMPARE, 0,
                    LOCK_ANSWERS_YES_NO, false},
    [SQL_INSERT_AT] = {"insert-at", "as insert, with a time that the statement brings",
                       LOCK_VERB_SET_ABSENT, LOCK_CARRIES_TTL | LOCK_CARRIES_NUMBER,
                       LOCK_ANSWERS_NUMBER, false},
    [SQL_UPDATE_AT] = {"update-at", "as update, with a time that the statement brings",
                       LOCK_VERB_EXTEND_COMPARE, LOCK_CARRIES_TTL | LOCK_CARRIES_NUMBER,
                       LOCK_ANSWERS_YES_NO, false},
    [SQL_CLOCK] = {"clock", "what time it is at the database", LOCK_VERB_NONE, 0,
                   LOCK_ANSWERS_NUMBER, false},
    [SQL_DELETE_ANY] = {"delete-any", "the row, whoever has it", LOCK_VERB_DELETE, 0,
                        LOCK_ANSWERS_YES_NO, false},
    [SQL_TRY_LOCK] = {"try-lock", "the lock, if no other session has it", LOCK_VERB_HOLD, 0,
                      LOCK_ANSWERS_YES_NO, false},
    [SQL_TRY_LOCK_FENCE] = {"try-lock-fence", "the same, and a fence if we have it", LOCK_VERB_HOLD,
                            0, LOCK_ANSWERS_NUMBER, false},
    [SQL_UNLOCK] = {"unlock", "gives back, once, what this session has", LOCK_VERB_LET_GO, 0,
                    LOCK_ANSWERS_YES_NO, false},
};

const struct lock_dialect sql_dialect = {
    .name = "sql",
    .rows = rows,
    .row_count = SQL_STATEMENTS,
    .own_values = true,
};

enum lock_answer sql_set_answer(const struct lock *lock, const struct lock_event *event,
                                struct lock_effects *effects)
{
    (void)effects;
    if (event->reply.type == LOCK_REPLY_NUMBER) {
        return event->reply.number >= 1 ? LOCK_ANSWER_YES : LOCK_ANSWER_UNCLEAR;
    }
    return round_read(lock, event);
}

static const struct redlock_rules rules = {SQL_RULES};

const struct lock_algorithm algorithm_sql = {
    SQL_ALGORITHM,
    .name = "sql",
    .about = "a row with owner and end by the database's clock, a fence from a sequence",
    .source = "ShedLock JdbcTemplateLockProvider with usingDbTime()",
    .rules = &rules,
};
