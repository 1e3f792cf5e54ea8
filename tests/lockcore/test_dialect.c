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

Test(dialect, what_takes_a_key_asks_and_what_gives_it_free_frees)
{
    static const bool asks[LOCK_VERBS] = {
        [LOCK_VERB_SET] = true,
        [LOCK_VERB_SET_ABSENT] = true,
        [LOCK_VERB_SET_PRESENT] = true,
        [LOCK_VERB_HOLD] = true,
    };
    static const bool frees[LOCK_VERBS] = {[LOCK_VERB_DELETE] = true,
                                           [LOCK_VERB_DELETE_COMPARE] = true,
                                           [LOCK_VERB_FLUSH] = true,
                                           [LOCK_VERB_CLOSE_SESSION] = true,
                                           [LOCK_VERB_LET_GO] = true};
    for (uint32_t verb = 0; verb < LOCK_VERBS; verb++) {
        cr_assert_eq(lock_verb_asks((enum lock_verb)verb), asks[verb], "verb %u", verb);
        cr_assert_eq(lock_verb_frees((enum lock_verb)verb), frees[verb], "verb %u", verb);
    }
}

/* How many commands go out when a node answers LONG_FORM to the release of `form`. */
static uint32_t sent_after_long_form(uint32_t kind, uint32_t form)
{
    lock_begin("redlock");
    struct lock_event reply = {.type = LOCK_EVENT_REPLY, .command = effects.list[0].command};
    reply.reply.type = LOCK_REPLY_YES;
    lock_step(&lock, &reply, &effects);
    lock_step(&lock, &(struct lock_event){.type = LOCK_EVENT_RELEASE}, &effects);
    reply.command = effects.list[0].command;
    cr_assert_eq(reply.command.kind, REDIS_COMPARE_DELETE);
    reply.command.kind = kind;
    reply.command.form = form;
    reply.reply.type = LOCK_REPLY_LONG_FORM;
    lock_step(&lock, &reply, &effects);
    uint32_t sent = 0;
    for (uint32_t i = 0; i < effects.count; i++) {
        sent += effects.list[i].type == LOCK_EFFECT_SEND ? 1 : 0;
    }
    return sent;
}

Test(dialect, the_long_form_is_sent_once_and_only_where_there_is_one)
{
    cr_assert_eq(sent_after_long_form(REDIS_COMPARE_DELETE, LOCK_FORM_SHORT), 1);
    cr_assert_eq(sent_after_long_form(REDIS_COMPARE_DELETE, LOCK_FORM_LONG), 0,
                 "a node that says so of the long form too is not asked for ever");
    cr_assert_eq(sent_after_long_form(REDIS_DELETE, LOCK_FORM_SHORT), 0, "DEL has no other form");
}

Test(dialect, a_lease_that_ran_out_is_not_at_rest_before_it_was_released)
{
    lock_begin("redlock");
    cr_assert_not(lock_at_rest(&lock));
    struct lock_event reply = {.type = LOCK_EVENT_REPLY, .command = effects.list[0].command};
    reply.reply.type = LOCK_REPLY_YES;
    lock_step(&lock, &reply, &effects);
    struct lock_event timer = {.type = LOCK_EVENT_TIMER, .now_ns = lock.until_ns};
    lock_step(&lock, &timer, &effects);
    cr_assert_eq(lock.state, LOCK_STATE_SPENT);
    cr_assert_eq(lock.wake_ns, TIME_NEVER);
    cr_assert_not(lock_at_rest(&lock));
}

Test(dialect, a_value_is_the_first_twenty_bytes_that_were_drawn)
{
    struct lock_config config = player_config("redlock", 1);
    lock_init(&lock, &config);
    struct lock_event acquire = {.type = LOCK_EVENT_ACQUIRE,
                                 .random = {UINT64_C(0x0706050403020100),
                                            UINT64_C(0x0f0e0d0c0b0a0908), UINT64_C(0x13121110), 0}};
    lock_step(&lock, &acquire, &effects);
    for (uint8_t i = 0; i < LOCK_VALUE_BYTES; i++) {
        cr_assert_eq(lock.value.bytes[i], i);
    }
}
