/* tap.h: clients of a lock library before a real server that tells what it does, for tests. */
#ifndef TESTS_REAL_TAP_H
#define TESTS_REAL_TAP_H

#include "tests/real/links.h"

static inline void tap_begin_learning(void)
{
    links_learns = true;
    links_make(false);
}

/* ---- saying things --------------------------------------------------------------------------- */

/* Send words as they are; NULL ends. */
static inline void send_list(int fd, const char *const *words)
{
    char bytes[8192];
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    int at = snprintf(bytes, sizeof bytes, "*%d\r\n", count);
    for (int i = 0; i < count; i++) {
        at += snprintf(bytes + at, sizeof bytes - (size_t)at, "$%zu\r\n%s\r\n", strlen(words[i]),
                       words[i]);
    }
    cr_assert_eq(send(fd, bytes, (size_t)at, MSG_NOSIGNAL), at);
}

/* Ask, and take whatever the whole reply is: the first line of it counts. */
static inline void ask(int fd, const char *reply, const char *const *words)
{
    send_list(fd, words);
    links_expect(fd, reply);
}

#define ASK(fd, reply, ...) ask(fd, reply, (const char *[]){__VA_ARGS__, NULL})

static inline void asks(int32_t client, uint8_t f)
{
    keys_asked(links.keys, &(struct keys_request){
                               .client = client, .f = f, .resource = 0, .true_ns = loop_now_ns()});
}

static inline void told(int32_t client, uint8_t f, uint8_t type, const char *value)
{
    struct history_value parsed;
    struct keys_request request = {.client = client, .f = f, .resource = 0};
    struct keys_outcome outcome = {.type = type, .true_ns = loop_now_ns()};
    if (value != NULL) {
        keys_value(value, strlen(value), &parsed);
        outcome.value = &parsed;
    }
    keys_told(links.keys, &request, &outcome);
}

static inline const struct history_event *newest(void)
{
    cr_assert_gt(links.event_count, 0);
    return &links.events[links.event_count - 1];
}

/* The newest event is this one, by this client, on r0; and the only one since the last look. */
static inline void saw(enum history_f f, int32_t process)
{
    static uint32_t looked;
    looked = looked > links.event_count ? 0 : looked;
    cr_assert_eq(links.event_count, looked + 1, "%u events instead of one, the last %s",
                 links.event_count - looked, history_f_name((enum history_f)newest()->f));
    cr_assert_str_eq(history_f_name((enum history_f)newest()->f), history_f_name(f));
    cr_assert_eq(newest()->process, process);
    cr_assert_eq(newest()->resource, 0);
    looked = links.event_count;
}

static inline void order(const char *const *words)
{
    struct admin_reply reply;
    LINKS_MUST(node_order(&links.node, words, &reply, &links_why));
}

static inline void value_is(const struct history_value *value, const char *text)
{
    struct history_value expected;
    keys_value(text, strlen(text), &expected);
    cr_assert(history_value_equal(value, &expected), "expected %s", text);
}

#endif
