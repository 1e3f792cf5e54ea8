/* test_dialect.c: rows of commands say what they must, and impossible events abort. */
#include "lockcore/cleanup.h"
#include "tests/lockcore/player.h"

#include <signal.h>

static struct lock lock;
static struct lock_effects effects;

static void lock_begin(const char *algorithm)
{
    struct lock_config config = player_config(algorithm, 1);
    lock_init(&lock, &config);
    lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_ACQUIRE}, &effects);
}

Test(dialect, every_row_has_a_name_of_its_own_and_a_verb)
{
    for (size_t i = 0; i < lock_algorithm_count(); i++) {
        const struct lock_dialect *dialect = lock_algorithm_at((lock_algorithm_index)i)->dialect;
        cr_assert(dialect->row_count > 0 && dialect->row_count <= LOCK_COMMANDS_MAX);
        for (uint32_t kind = 0; kind < dialect->row_count; kind++) {
            const struct lock_command_row *row = lock_dialect_row(dialect, kind);
            cr_assert(strlen(row->name) > 0);
            cr_assert(row->name[LOCK_COMMAND_NAME_BYTES - 1] == '\0' && row->about != NULL);
            cr_assert(row->verb < LOCK_VERBS);
            for (uint32_t other = 0; other < kind; other++) {
                cr_assert_str_neq(row->name, dialect->rows[other].name);
            }
        }
    }
}

Test(dialect, a_row_behind_the_last_one_aborts, .signal = SIGABRT)
{
    (void)lock_dialect_row(&redis_dialect, REDIS_COMMANDS);
}

Test(dialect, a_reply_to_a_command_that_the_dialect_does_not_have_aborts, .signal = SIGABRT)
{
    lock_begin("redlock");
    struct lock_event event = {.type = LOCK_EVENT_REPLY, .command = {.kind = REDIS_COMMANDS}};
    lock_step(&lock, &event, &effects);
}

Test(dialect, a_push_to_a_lock_that_watches_nothing_aborts, .signal = SIGABRT)
{
    lock_begin("redlock");
    lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_PUSH}, &effects);
}

/* What a reply of each type means to a command that answers yes or no, and to one that answers a
 * number; the command before sent the number 5. */
Test(dialect, a_reply_is_read_by_the_row_of_its_command)
{
    static const struct {
        struct lock_reply reply;
        uint32_t kind;
        enum lock_answer answer;
    } readings[] = {
        {{LOCK_REPLY_YES, 0}, REDIS_SET, LOCK_ANSWER_YES},
        {{LOCK_REPLY_NO, 0}, REDIS_SET, LOCK_ANSWER_NO},
        {{LOCK_REPLY_NUMBER, 7}, REDIS_SET, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_LONG_FORM, 0}, REDIS_SET, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_ERROR, 0}, REDIS_SET, LOCK_ANSWER_NO},
        {{LOCK_REPLY_UNSURE, 0}, REDIS_SET, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_GARBLED, 0}, REDIS_SET, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_ERROR, 0}, REDIS_SETNX, LOCK_ANSWER_NO},
        {{LOCK_REPLY_ERROR, 0}, REDIS_COMPARE_DELETE, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_ERROR, 0}, REDIS_COMPARE_EXPIRE, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_YES, 0}, REDIS_SET_FENCE, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_NUMBER, 0}, REDIS_SET_FENCE, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_NUMBER, 5}, REDIS_SET_FENCE, LOCK_ANSWER_YES},
        {{LOCK_REPLY_NUMBER, 4}, REDIS_RAISE_FENCE, LOCK_ANSWER_UNCLEAR},
        {{LOCK_REPLY_NUMBER, 5}, REDIS_RAISE_FENCE, LOCK_ANSWER_YES},
        {{LOCK_REPLY_NUMBER, 6}, REDIS_RAISE_FENCE, LOCK_ANSWER_YES},
    };
    lock_begin("redlock");
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++) {
        struct lock_event event = {.type = LOCK_EVENT_REPLY, .reply = readings[i].reply};
        event.command.kind = readings[i].kind;
        event.command.number = 5;
        cr_assert_eq(round_read(&lock, &event), readings[i].answer, "%s, type %u, number %lld",
                     redis_dialect.rows[readings[i].kind].name, readings[i].reply.type,
                     (long long)readings[i].reply.number);
    }
}

Test(dialect, an_attempt_is_marked_and_so_is_the_reply_that_decides)
{
    struct lock_config config = player_config("redlock", 3);
    lock_init(&lock, &config);
    lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_ACQUIRE}, &effects);
    cr_assert_eq(effects.marks, LOCK_MARK_ASKS);
    struct lock_event reply = {.type = LOCK_EVENT_REPLY, .command = effects.list[0].command};
    reply.reply.type = LOCK_REPLY_YES;
    lock_step(&lock, &reply, &effects);
    cr_assert_eq(effects.marks, 0, "one of three decides nothing");
    reply.node_index = 2;
    lock_step(&lock, &reply, &effects);
    cr_assert_eq(effects.marks, LOCK_MARK_DECIDES);
    lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_RELEASE}, &effects);
    cr_assert_eq(effects.marks, 0, "a release asks for no key");
}
