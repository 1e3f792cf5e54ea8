/* test_roundtrip.c: what the writer writes, the reader reads back, event for event. */
#include "base/random.h"
#include "history/reader.h"
#include "history/writer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EVENTS = 3000, PROCESSES = 9 };

static struct history_value random_value(struct random_stream *stream)
{
    struct history_value value;
    for (size_t i = 0; i < sizeof value.bytes; i++) {
        value.bytes[i] = (uint8_t)random_word(stream);
    }
    return value;
}

static int64_t random_number(struct random_stream *stream)
{
    switch (random_below(stream, 4)) {
    case 0:
        return INT64_MAX;
    case 1:
        return INT64_MIN;
    default:
        return (int64_t)random_word(stream) >> random_below(stream, 64);
    }
}

static void fill_grant(struct random_stream *stream, struct history_event *event)
{
    event->flags = (uint16_t)random_below(stream, HISTORY_AUDIT << 1);
    if ((event->flags & HISTORY_HAS_VALUE) != 0) {
        event->value = random_value(stream);
    }
    if ((event->flags & HISTORY_HAS_OWNER) != 0) {
        event->owner = random_value(stream);
    }
    if ((event->flags & HISTORY_HAS_FENCE) != 0) {
        event->fence = 1 + (int64_t)(random_word(stream) >> 1);
        event->fence = event->fence > 0 ? event->fence : INT64_MAX;
    }
    if ((event->flags & HISTORY_HAS_UNTIL) != 0) {
        event->until_ns = random_number(stream);
    }
}

/* What only some kinds have. */
static void fill_interval(struct random_stream *stream, struct history_event *event)
{
    uint16_t may = event->kind == HISTORY_NODE ? HISTORY_HAS_SINCE | HISTORY_HAS_TTL |
                                                     HISTORY_HAS_SENT | HISTORY_HAS_REPLIED
                                               : HISTORY_HAS_SINCE | HISTORY_HAS_UNTIL_LEAST;
    event->flags |= (uint16_t)(random_word(stream) & may);
    if ((event->flags & HISTORY_HAS_SINCE) != 0) {
        event->since_ns = random_number(stream) & INT64_MAX;
    }
    if ((event->flags & HISTORY_HAS_UNTIL_LEAST) != 0) {
        event->until_least_ns = random_number(stream);
    }
    if ((event->flags & HISTORY_HAS_TTL) != 0) {
        event->ttl_ns = random_number(stream);
    }
    if ((event->flags & HISTORY_HAS_SENT) != 0) {
        event->sent_ns = random_number(stream) & INT64_MAX;
    }
    if ((event->flags & HISTORY_HAS_REPLIED) != 0) {
        event->replied_ns = random_number(stream) & INT64_MAX;
    }
}

/* An operation's turn: invoke, then one of its ends. */
static struct history_event random_op(struct random_stream *stream, uint8_t open[PROCESSES])
{
    struct history_event event = {
        .kind = HISTORY_OP, .node = HISTORY_NO_NODE, .fault = HISTORY_NO_FAULT};
    event.process = (int32_t)random_below(stream, PROCESSES);
    uint8_t *mine = &open[event.process];
    event.f = *mine == 0 ? (uint8_t)random_below(stream, HISTORY_WRITE + 1) : (uint8_t)(*mine - 1);
    event.type = *mine == 0 ? HISTORY_INVOKE : (uint8_t)(1 + random_below(stream, 3));
    *mine = *mine == 0 ? (uint8_t)(event.f + 1) : 0;
    event.resource = (uint32_t)random_below(stream, 3);
    event.cause = (uint8_t)random_below(stream, HISTORY_CAUSES);
    event.version = random_number(stream);
    event.basis = random_number(stream);
    fill_grant(stream, &event);
    fill_interval(stream, &event);
    return event;
}

static struct history_event random_node(struct random_stream *stream)
{
    struct history_event event = {.kind = HISTORY_NODE, .resource = 1};
    event.f = (uint8_t)(HISTORY_KEY_SET + random_below(stream, 9));
    event.process = (int32_t)random_below(stream, PROCESSES + 1) - 1;
    event.node = (int32_t)random_below(stream, 5);
    event.fault = (int32_t)random_below(stream, 4) - 1;
    event.cause = (uint8_t)random_below(stream, HISTORY_CAUSES);
    static const char *const commands[] = {"", "set", "compare-delete", "fifteen-letters"};
    const char *command = commands[random_below(stream, 4)];
    memcpy(event.command, command, strlen(command));
    fill_grant(stream, &event);
    fill_interval(stream, &event);
    return event;
}

static struct history_event random_late(struct random_stream *stream)
{
    struct history_event event = {
        .kind = HISTORY_LATE, .f = HISTORY_STOOD_STILL, .fault = HISTORY_NO_FAULT};
    event.process = (int32_t)random_below(stream, 3) - 1;
    event.node = (int32_t)random_below(stream, 3) - 1;
    event.cause = CAUSE_LOOP;
    event.number[0] = random_number(stream);
    return event;
}

static struct history_event random_fault(struct random_stream *stream)
{
    struct history_event event = {.kind = HISTORY_FAULT};
    event.f = (uint8_t)(HISTORY_FAULT_START + random_below(stream, 3));
    event.process = (int32_t)random_below(stream, 3) - 1;
    event.node = (int32_t)random_below(stream, 6) - 1;
    event.fault = (int32_t)random_below(stream, 3);
    event.fault_kind = (uint8_t)random_below(stream, FAULT_KINDS);
    event.number[0] = random_number(stream);
    event.number[1] = random_number(stream);
    if (random_below(stream, 2) == 0) {
        event.clients[0] = (int32_t)random_below(stream, PROCESSES - 1);
        event.clients[1] =
            event.clients[0] + 1 +
            (int32_t)random_below(stream, (uint64_t)(PROCESSES - 1 - event.clients[0]));
        event.nodes = random_below(stream, 32);
        event.links = (uint8_t)random_below(stream, HISTORY_LINKS);
    }
    return event;
}

static struct history_event random_event(struct random_stream *stream, uint8_t open[PROCESSES])
{
    switch (random_below(stream, 8)) {
    case 0:
    case 1:
        return random_node(stream);
    case 2:
        return random_fault(stream);
    case 3:
        return random_late(stream);
    default:
        return random_op(stream, open);
    }
}

static const struct history_header full_header = {
    .format = HISTORY_FORMAT,
    .seed = UINT64_MAX,
    .scenario = "a \"name\"\\ with\n all \x01 that",
    .world = "sim",
    .algorithm = "wrong/no-recheck",
    .library = "lockcore 0.1.0",
    .node_count = 5,
    .client_count = PROCESSES,
    .resource_count = 3,
    .fault_count = 3,
    .ttl_ns = 10000000000,
    .bound_ns = 1,
    .drift_ppm = 10000,
    .promises_validity = true,
    .endless = true,
    .declared = true,
    .declares = 1 << DECLARES_VALIDITY | 1 << DECLARES_SEVERAL,
    .ownership = OWNERSHIP_THREAD,
    .store_count = 1,
    .thread_count = 2,
    .renew_every_ns = 333000000,
    .server = "redis 7.0.15",
    .sites = "node 1 at n1:7700",
    .clock_bound_ns = 57000,
    .unwatched = "node 1 refuses \"MONITOR\"",
    .tapped = true,
    .value_check = true,
};

static struct history_event events[EVENTS];

static void make_events(uint64_t seed)
{
    struct random_stream stream = random_stream("round trip", seed);
    uint8_t open[PROCESSES] = {0};
    int64_t time_ns = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        events[i] = random_event(&stream, open);
        events[i].index = i;
        time_ns += (int64_t)random_below(&stream, 3) * (int64_t)random_below(&stream, 1000000007);
        events[i].time_ns = time_ns;
    }
}

static void round_trip(const char *path)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_writer *writer = NULL;
    cr_assert(!result_failed(history_writer_open(path, &full_header, &writer, &why)), "%s", memory);
    for (size_t i = 0; i < EVENTS; i++) {
        cr_assert(!result_failed(history_writer_event(writer, &events[i], &why)));
    }
    cr_assert(!result_failed(history_writer_close(writer, &why)), "%s", memory);

    struct history_reader *reader = NULL;
    cr_assert(!result_failed(history_reader_open(path, NULL, &reader, &why)), "%s", memory);
    cr_assert_eq(memcmp(history_reader_header(reader), &full_header, sizeof full_header), 0);
    bool more = true;
    size_t count = 0;
    struct history_event event;
    while (more) {
        cr_assert(!result_failed(history_reader_next(reader, &event, &more, &why)), "%s", memory);
        if (more) {
            cr_assert_lt(count, (size_t)EVENTS);
            cr_assert_eq(memcmp(&event, &events[count], sizeof event), 0, "event %zu", count);
            cr_assert_eq(history_reader_line(reader), count + 2);
            count++;
        }
    }
    cr_assert_eq(count, (size_t)EVENTS);
    cr_assert_not(history_reader_was_cut(reader));
    cr_assert_str_eq(history_reader_resource(reader, 2), "r2");
    history_reader_close(reader);
}

static void round_trip_in_folder(const char *name)
{
    char folder[] = "/tmp/picklock-test-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        make_events(seed);
        round_trip(path);
    }
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(rmdir(folder), 0);
}

Test(roundtrip, plain_history_comes_back_event_for_event)
{
    round_trip_in_folder("history.jsonl");
}

Test(roundtrip, compressed_history_comes_back_event_for_event)
{
    round_trip_in_folder("history.jsonl.zst");
}

Test(roundtrip, printed_event_is_the_line_of_the_file)
{
    struct history_event event = {.kind = HISTORY_OP,
                                  .type = HISTORY_OK,
                                  .f = HISTORY_ACQUIRE,
                                  .index = 7,
                                  .time_ns = 1204000000,
                                  .process = 1,
                                  .node = HISTORY_NO_NODE,
                                  .fault = HISTORY_NO_FAULT,
                                  .flags = HISTORY_HAS_UNTIL | HISTORY_HAS_FENCE,
                                  .until_ns = 2000000000,
                                  .fence = 17};
    char memory[1024];
    struct text text = text_over(memory, sizeof memory);
    history_event_print(&event, &text);
    cr_assert_str_eq(memory, "{\"index\":7,\"time\":1204000000,\"process\":2,\"type\":\"ok\","
                             "\"f\":\"acquire\",\"resource\":\"r0\",\"fence\":17,"
                             "\"until\":2000000000}\n");
}
