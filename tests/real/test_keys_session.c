/* test_keys_session.c: what answers tell of locks that live in sessions, and how they end. */
#include "harness/real/keys/keys.h"
#include "harness/real/process/loop.h"
#include "lockcore/etcd/etcd.h"
#include "servers/kinds.h"

#include "base/duration.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLIENTS = 2, EVENTS_MAX = 64, TTL_MS = 60000 };

static const char *const names[] = {"r0"};

static struct keys *keys;
static struct keys_channel *channels[CLIENTS];
static uint32_t event_count;
static struct history_event events[EVENTS_MAX];
static int64_t start_ns;

static uint64_t emit(void *data, const struct history_event *event)
{
    (void)data;
    cr_assert_lt(event_count, EVENTS_MAX);
    events[event_count++] = *event;
    return event_count - 1;
}

static void begin(void)
{
    char memory[256];
    struct text why = text_over(memory, sizeof memory);
    start_ns = loop_now_ns();
    keys = keys_new(&(struct keys_options){.kind = SERVER_KIND_etcd,
                                           .node_count = CLIENTS,
                                           .client_count = CLIENTS,
                                           .resource_count = 1,
                                           .resource_names = names,
                                           .start_ns = start_ns,
                                           .emit = emit});
    cr_assert_not_null(keys);
    cr_assert(keys_pattern(keys, "{resource}"));
    for (int32_t i = 0; i < CLIENTS; i++) {
        struct keys_route route = {.node = i, .client = i};
        cr_assert(!result_failed(keys_watch(keys, i, route.node_address, &why)), "%s", why.data);
        channels[i] = keys_channel_open(keys, &route); /* each speaks to a member of its own */
        cr_assert_not_null(channels[i]);
    }
}

static void end(void)
{
    for (int32_t i = 0; i < CLIENTS; i++) {
        keys_channel_close(channels[i]);
    }
    keys_free(keys);
}

TestSuite(keys_session, .init = begin, .fini = end, .timeout = 60);

/* ---- saying things --------------------------------------------------------------------------- */

static void asks_on(struct keys_channel *channel, int32_t client, uint32_t kind)
{
    struct wire_request request = {
        .known = true, .command = {.kind = kind, .ttl_ms = TTL_MS}, .resource = {"r0", 2}};
    struct keys_command command = {.came_ns = loop_now_ns()};
    request.command.value.bytes[0] = (uint8_t)(client + 1);
    keys_read(channel, NULL, &request, &command);
    keys_sent(channel, &command, loop_now_ns());
}

static void answered_on(struct keys_channel *channel, uint8_t type, int64_t number)
{
    struct wire_reply reply = {.reply = {.type = type, .number = number}};
    struct keys_answer answer;
    keys_heard(channel, NULL, &reply, loop_now_ns());
    cr_assert(keys_answer(channel, &answer));
}

static void asks(int32_t client, uint32_t kind)
{
    asks_on(channels[client], client, kind);
}

static void answered(int32_t client, uint8_t type, int64_t number)
{
    answered_on(channels[client], type, number);
}

/* A session, and the lock in it. */
static void takes(int32_t client, int64_t revision)
{
    asks(client, ETCD_GRANT);
    answered(client, LOCK_REPLY_YES, 0);
    asks(client, ETCD_ENQUEUE);
    answered(client, LOCK_REPLY_NUMBER, revision);
}

static const struct history_event *event_at(uint32_t i, enum history_f f)
{
    cr_assert_lt(i, event_count, "%u events only", event_count);
    cr_assert_str_eq(history_f_name((enum history_f)events[i].f), history_f_name(f));
    return &events[i];
}

/* ---- before its time ------------------------------------------------------------------------- */

Test(keys_session, a_node_that_stood_still_may_have_ended_a_lock_before_its_time)
{
    takes(0, 5);
    asks(0, ETCD_KEEP_ALIVE);
    answered(0, LOCK_REPLY_NUMBER, TTL_MS);
    int64_t resumed_ns = loop_now_ns();
    keys_resumed(keys);
    takes(1, 9);
    cr_assert_str_eq(keys_unwatched(keys), "");
    (void)event_at(0, HISTORY_KEY_SET);
    (void)event_at(1, HISTORY_KEY_EXTENDED);
    const struct history_event *over = event_at(2, HISTORY_KEY_EXPIRED);
    cr_assert_eq(over->cause, CAUSE_DEPOSED);
    cr_assert_geq(over->since_ns, resumed_ns - start_ns, "not before the node went on");
    cr_assert_eq(event_at(3, HISTORY_KEY_SET)->process, 1);
}

Test(keys_session, a_lock_that_is_gone_before_its_time_without_reason_is_not_understood)
{
    takes(0, 5);
    takes(1, 9);
    cr_assert_str_eq(keys_unwatched(keys), "an answer contradicts those before it");
}

/* ---- at its time ----------------------------------------------------------------------------- */

/* A service looks for sessions that are over every half second: until then the lock may be there.
 */
static void over_half_a_second_after(int64_t ttl_is_over_ns)
{
    uint32_t before = event_count;
    keys_time(keys, ttl_is_over_ns + 499 * NS_PER_MS);
    cr_assert_eq(event_count, before, "told over before the service looked for it");
    keys_time(keys, loop_now_ns() + (TTL_MS + 500) * NS_PER_MS);
    cr_assert_eq(event_at(before, HISTORY_KEY_EXPIRED)->cause, CAUSE_TTL);
}

Test(keys_session, a_session_ends_when_the_service_looks_for_it)
{
    asks(0, ETCD_GRANT);
    int64_t granted_ns = loop_now_ns();
    answered(0, LOCK_REPLY_YES, 0);
    asks(0, ETCD_ENQUEUE);
    answered(0, LOCK_REPLY_NUMBER, 5);
    over_half_a_second_after(granted_ns + TTL_MS * NS_PER_MS);
}

Test(keys_session, a_keep_alive_that_was_cut_off_may_have_been_carried_out)
{
    takes(0, 5);
    asks(0, ETCD_KEEP_ALIVE);
    int64_t cut_ns = loop_now_ns();
    keys_cut_off(channels[0]);
    over_half_a_second_after(cut_ns + TTL_MS * NS_PER_MS);
}

/* ---- asked twice ----------------------------------------------------------------------------- */

/* The first member was slow, so a second was asked, and was slower: the lease is revoked by then.
 */
Test(keys_session, an_answer_behind_the_end_of_its_session_sets_nothing)
{
    struct keys_route route = {.node = 1, .client = 0};
    struct keys_channel *second = keys_channel_open(keys, &route);
    cr_assert_not_null(second);
    asks(0, ETCD_GRANT);
    answered(0, LOCK_REPLY_YES, 0);
    asks(0, ETCD_ENQUEUE);
    asks_on(second, 0, ETCD_ENQUEUE);
    answered(0, LOCK_REPLY_NUMBER, 5);
    asks(0, ETCD_REVOKE);
    answered(0, LOCK_REPLY_YES, 0);
    answered_on(second, LOCK_REPLY_NUMBER, 5);
    cr_assert_str_eq(keys_unwatched(keys), "");
    (void)event_at(0, HISTORY_KEY_SET);
    (void)event_at(1, HISTORY_KEY_DELETED);
    cr_assert_eq(event_count, 2);
    keys_channel_close(second);
}
