/* test_edn.c: Jepsen's histories are read as they were meant, and refused where they mean nothing.
 */
#include "base/error.h"
#include "history/edn_write.h"
#include "history/foreign.h"
#include "history/reader.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

struct reading {
    struct result result;
    char why[WHY_BYTES];
    struct history_event events[EVENTS_MAX];
    uint64_t lines[EVENTS_MAX];
    char resources[EVENTS_MAX][32];
    int count;
    bool cut;
};

static void temporary(char path[64])
{
    strcpy(path, "/tmp/picklock-edn-XXXXXX");
    int file = mkstemp(path);
    cr_assert(file >= 0);
    close(file);
}

static void read_path(const char *path, const char *map_text, struct reading *reading)
{
    struct text why = text_over(reading->why, sizeof reading->why);
    struct history_map map;
    struct history_reader_options options = {0};
    struct history_reader *reader = NULL;
    if (map_text != NULL) {
        reading->result = history_map_parse(map_text, &map, &why);
        cr_assert(!result_failed(reading->result), "%s", why.data);
        options.map = &map;
    }
    reading->result = history_reader_open(path, &options, &reader, &why);
    bool more = !result_failed(reading->result);
    while (more && reading->count < EVENTS_MAX) {
        struct history_event *event = &reading->events[reading->count];
        reading->result = history_reader_next(reader, event, &more, &why);
        more = more && !result_failed(reading->result);
        if (more) {
            reading->lines[reading->count] = history_reader_line(reader);
            snprintf(reading->resources[reading->count], 32, "%s",
                     event->kind == HISTORY_OP ? history_reader_resource(reader, event->resource)
                                               : "");
            reading->count++;
        }
    }
    if (reader != NULL) {
        reading->cut = history_reader_was_cut(reader);
        history_reader_close(reader);
    }
}

static struct reading read_text(const char *text, const char *map)
{
    char path[64];
    static struct reading reading;
    memset(&reading, 0, sizeof reading);
    temporary(path);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    read_path(path, map, &reading);
    unlink(path);
    return reading;
}

Test(edn, one_map_a_line)
{
    struct reading r = read_text("{:type :invoke, :f :acquire, :value nil, :process 0, :time 5}\n"
                                 "{:type :info, :f :start, :process :nemesis, :time 6}\n"
                                 "{:type :ok, :f :acquire, :value nil, :process 0, :time 7}\n",
                                 NULL);
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_eq(r.count, 2);
    cr_assert_eq(r.events[1].type, HISTORY_OK);
    cr_assert_eq(r.events[1].time_ns, 7);
    cr_assert_eq(r.lines[1], 3);
    cr_assert_str_eq(r.resources[0], "lock");
}

Test(edn, one_vector_with_records_comments_and_discarded_values)
{
    struct reading r =
        read_text("; a run\n[#jepsen.history.Op{:type :invoke, :f :lock,\n :process 3, #_ {:a 1} "
                  ":time 1, :tags #{1 2}, :value [1 (2 3) \"x\\\"]\"]},\n"
                  " {:type :fail :f :lock :process 3 :time 2 :error [:timeout \"late\"]}]\n",
                  "plain,unknown=timeout");
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_eq(r.count, 2);
    cr_assert_eq(r.events[1].type, HISTORY_INFO);
    cr_assert_eq(r.lines[1], 4);
}

Test(edn, json_in_an_array_and_one_a_line)
{
    struct reading r = read_text(
        "[{\"type\":\"invoke\",\"f\":\"acquire\",\"process\":0,\"time\":1,\"value\":null},\n"
        " {\"type\":\"ok\",\"f\":\"acquire\",\"process\":0,\"time\":2,\"value\":{\"fence\":7}}]",
        "plain,fence=value.fence");
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_eq(r.count, 2);
    cr_assert_eq(r.events[1].fence, 7);
    r = read_text("{\"type\":\"invoke\",\"f\":\"acquire\",\"process\":0}\n"
                  "{\"type\":\"ok\",\"f\":\"acquire\",\"process\":0}\n",
                  NULL);
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_eq(r.events[1].time_ns, 1, "without times the order of the file is the time");
}

Test(edn, independent_keys_and_owners_in_values)
{
    struct reading r = read_text("{:type :invoke :f :acquire :process 0 :value [\"k1\" nil]}\n"
                                 "{:type :ok :f :acquire :process 0 :value [\"k1\" {:fence 3}]}\n",
                                 "independent");
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_str_eq(r.resources[0], "k1");
    cr_assert_eq(r.events[1].fence, 3);
    r = read_text("{:type :invoke :f :acquire :process 0 :value {:client \"n1\"}}\n", "hazelcast");
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert((r.events[0].flags & HISTORY_HAS_OWNER) != 0);
}

Test(edn, where_events_are_numbered_their_numbers_are_the_order_and_not_their_times)
{
    struct reading r = read_text("{:index 0 :type :invoke :f :acquire :process 0 :time 5}\n"
                                 "{:index 1 :type :fail :f :acquire :process 0 :time 9}\n"
                                 "{:index 2 :type :invoke :f :acquire :process 1 :time 7}\n"
                                 "{:index 4 :type :invoke :f :acquire :process 2 :time 8}\n"
                                 "{:index 5 :type :ok :f :acquire :process 1 :time 20}\n",
                                 NULL);
    cr_assert(!result_failed(r.result), "%s", r.why);
    static const int64_t times[] = {5, 9, 10, 11, 20};
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(r.events[i].time_ns, times[i], "event %d: %d", i, (int)r.events[i].time_ns);
    }
}

Test(edn, an_end_stands_for_the_lock_of_its_invoke_and_an_ok_may_be_a_refusal)
{
    struct reading r = read_text("{:type :invoke :f :lock :process 0 :value \"bob\"}\n"
                                 "{:type :ok :f :lock :process 0 :value \"token\"}\n"
                                 "{:type :invoke :f :unlock :process 0 :value \"bob\"}\n"
                                 "{:type :ok :f :unlock :process 0 :value \"false\"}\n",
                                 "atlasdb");
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_str_eq(r.resources[1], "bob");
    cr_assert_eq(r.events[1].type, HISTORY_OK);
    cr_assert_eq(r.events[3].type, HISTORY_FAIL);
}

Test(edn, a_history_that_was_cut_in_its_last_line_is_valid)
{
    struct reading r =
        read_text("{:type :invoke :f :acquire :process 0 :time 1}\n{:type :ok :f", NULL);
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_eq(r.count, 1);
    cr_assert(r.cut);
}

struct refusal {
    const char *text;
    enum error_code code;
    const char *says;
};

Test(edn, what_means_nothing_is_refused_with_its_line)
{
    static const struct refusal refusals[] = {
        {"[{:type :invoke :f :acquire :process 0}\n", ERROR_SYNTAX, ":2: the file ends inside"},
        {"{:type :invoke :f :acquire :process 0}\n{:type :ok}\n", ERROR_SCHEMA,
         ":2: an operation "},
        {"{:type :ok :f :acquire :process 0 :time 1}\n", ERROR_SCHEMA, ":1: process"},
        {"{:type :invoke :f :acquire :process 0}\n{:type :invoke :f :release :process 0}\n",
         ERROR_SCHEMA, ":2: process"},
        {"{:type :invoke :f :acquire :process 0 :time 2}\n\n"
         "{:type :ok :f :acquire :process 0 :time 1}\n",
         ERROR_SCHEMA, ":3: time goes back"},
        {"{:type :invoke :f :acquire :process 0 :time 2 :index 0}\n"
         "{:type :ok :f :acquire :process 0 :time 1 :index 1}\n",
         ERROR_SCHEMA, ":2: time goes back from 2 to 1 ns in process 0"},
        {"{:type :invoke :f :acquire :process 0 :time 2 :index 5}\n"
         "{:type :invoke :f :acquire :process 1 :time 1 :index 5}\n",
         ERROR_SCHEMA, ":2: time goes back"},
        {"{:type :invoke :f :acquire :process 0 :time 2}\n"
         "{:type :invoke :f :acquire :process 1 :time 1}\n",
         ERROR_SCHEMA, ":2: time goes back"},
        {"{:type :invoke :f :acquire :process 0 :time 99999999999999999999}\n", ERROR_LIMIT,
         ":1: a number beyond 64 bits"},
        {"{:type :invoke :f :acquire :process 0 :time 9e9}\n", ERROR_SCHEMA, ":1: time is no"},
        {"{:type :maybe :f :acquire :process 0}\n", ERROR_SCHEMA, ":1: type is"},
        {"{:type :invoke :f :acquire :process 0 :x \"\xff\"}\n", ERROR_SYNTAX, "no UTF-8"},
        {"{:type :invoke :f :acquire :process}\n", ERROR_SYNTAX, "a value is missing"},
        {"{:type :invoke :f :acquire :process 0}}\n", ERROR_SYNTAX, ":1: a bracket"},
        {"[{:type :invoke :f :acquire :process 0}] 1\n", ERROR_SYNTAX, "behind the last"},
        {"{:type :invoke :f :acquire :process 0}\n)\n", ERROR_SYNTAX, ":2: a bracket"},
        {"{\"type\" \"invoke\"}\n", ERROR_SYNTAX, ":1: a comma or colon is missing"},
        {"{\"type\":\"invoke\",}\n", ERROR_SYNTAX, ":1: "},
        {"not a history\n", ERROR_SYNTAX, ":1: not a history"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct reading r = read_text(refusals[i].text, NULL);
        cr_expect_eq(r.result.code, refusals[i].code, "%s: %s: %s", refusals[i].text,
                     error_name(r.result.code), r.why);
        cr_expect(strstr(r.why, refusals[i].says) != NULL, "%s says: %s", refusals[i].text, r.why);
    }
}

Test(edn, a_map_that_makes_no_sense_is_refused)
{
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_map map;
    struct result result = history_map_parse("hazelcats", &map, &why);
    cr_assert_eq(result.code, ERROR_USAGE);
    cr_assert(strstr(why.data, "hazelcast") != NULL);
    text_clear(&why);
    result = history_map_parse("plain,unit=weeks", &map, &why);
    cr_assert_eq(result.code, ERROR_USAGE);
    text_clear(&why);
    result = history_map_parse("plain,carry=fence", &map, &why);
    cr_assert_eq(result.code, ERROR_USAGE);
}

static const char own_lines[] =
    "{\"format\":\"picklock-history\",\"version\":1}\n"
    "{\"time\":1,\"process\":1,\"type\":\"invoke\",\"f\":\"acquire\",\"resource\":\"r0\"}\n"
    "{\"time\":2,\"process\":2,\"type\":\"invoke\",\"f\":\"acquire\",\"resource\":\"r0\"}\n"
    "{\"time\":3,\"process\":1,\"type\":\"ok\",\"f\":\"acquire\",\"resource\":\"r0\",\"value\":"
    "\"00112233445566778899aabbccddeeff00112233\",\"fence\":9,\"until\":77}\n"
    "{\"time\":4,\"process\":2,\"type\":\"fail\",\"f\":\"acquire\",\"resource\":\"r0\",\"cause\":"
    "\"no-quorum\"}\n"
    "{\"time\":4,\"kind\":\"fault\",\"f\":\"start\",\"fault\":1,\"fault_kind\":\"clock_jump\","
    "\"node\":3,"
    "\"numbers\":[-11,0]}\n"
    "{\"time\":4,\"kind\":\"fault\",\"f\":\"effect\",\"fault\":1,\"fault_kind\":\"clock_jump\","
    "\"node\":3,"
    "\"numbers\":[-11,-12]}\n"
    "{\"time\":5,\"process\":1,\"type\":\"invoke\",\"f\":\"write\",\"resource\":\"r0\",\"basis\":2}"
    "\n"
    "{\"time\":6,\"kind\":\"fault\",\"f\":\"start\",\"fault\":64,\"fault_kind\":\"pause\","
    "\"process\":1,"
    "\"numbers\":[9223372036854775807,0]}\n"
    "{\"time\":6,\"kind\":\"fault\",\"f\":\"end\",\"fault\":2,\"fault_kind\":\"power_loss\"}\n"
    "{\"time\":6,\"process\":1,\"type\":\"ok\",\"f\":\"write\",\"resource\":\"r0\",\"version\":3}"
    "\n";

/* There and back again: operations and faults are the same, field by field. */
static void round_trip(const char *suffix)
{
    char first[64], second[80], third[80];
    temporary(first);
    FILE *file = fopen(first, "w");
    fputs(own_lines, file);
    fclose(file);
    snprintf(second, sizeof second, "%s.edn%s", first, suffix);
    snprintf(third, sizeof third, "%s.jsonl%s", first, suffix);
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_reader_options options = {0};
    struct result result = history_convert(first, &options, second, &why);
    cr_assert(!result_failed(result), "%s", why.data);
    result = history_convert(second, &options, third, &why);
    cr_assert(!result_failed(result), "%s", why.data);
    static struct reading one, two, three;
    read_path(first, NULL, &one);
    read_path(second, NULL, &two);
    read_path(third, NULL, &three);
    cr_assert(!result_failed(two.result), "%s", two.why);
    cr_assert_eq(one.count, 10, "%s", one.why);
    cr_assert_eq(two.count, 10, "%s", two.why);
    cr_assert_eq(three.count, 10, "%s", three.why);
    cr_assert_eq(memcmp(one.events, two.events, sizeof one.events), 0);
    cr_assert_eq(memcmp(one.events, three.events, sizeof one.events), 0);
    unlink(first);
    unlink(second);
    unlink(third);
}

Test(edn, what_another_nemesis_did_is_left_out_also_of_our_own)
{
    struct reading r =
        read_text(";; picklock-history 1\n"
                  "{:type :info, :f :start-pause, :process :nemesis, :time 1, "
                  ":value {:fault 2, :client 3, :asked 7}}\n"
                  "{:type :info, :f :kill, :process :nemesis, :time 2, :value [n1]}\n"
                  "{:type :info, :f :start-flood, :process :nemesis, :time 3, "
                  ":value {:fault 1}}\n"
                  "{:type :info, :f :start-pause, :process :nemesis, :time 4}\n",
                  NULL);
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_eq(r.count, 1);
    cr_assert_eq(r.events[0].kind, HISTORY_FAULT);
    cr_assert_eq(r.events[0].f, HISTORY_FAULT_START);
    cr_assert_eq(r.events[0].fault_kind, FAULT_PAUSE);
    cr_assert_eq(r.events[0].fault, 1);
    cr_assert_eq(r.events[0].process, 2);
    cr_assert_eq(r.events[0].node, HISTORY_NO_NODE);
    cr_assert_eq(r.events[0].number[0], 7);
    cr_assert_eq(r.events[0].time_ns, 1);
}

Test(edn, our_own_nemesis_is_refused_where_its_value_makes_no_sense)
{
    static const char *const values[] = {"{}",
                                         "{:client 1}",
                                         "{:fault 0}",
                                         "{:fault 1025}",
                                         "{:fault 1, :node 65}",
                                         "{:fault 1, :client 0}",
                                         "{:fault 1, :asked 1.5}",
                                         "{:fault :one}"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 ";; picklock-history 1\n"
                 "{:type :info, :f :end-stall, :process :nemesis, :time 1, :value %s}\n",
                 values[i]);
        struct reading r = read_text(text, NULL);
        cr_assert_eq(r.result.code, ERROR_SCHEMA, "%s", values[i]);
        cr_assert(strstr(r.why, ":2: ") != NULL, "%s", r.why);
    }
}

Test(edn, our_own_counts_its_processes_from_1)
{
    struct reading r = read_text(";; picklock-history 1\n"
                                 "{:type :ok, :f :acquire, :process 1, :time 1, :resource \"a\"}\n",
                                 NULL);
    cr_assert_eq(r.result.code, ERROR_SCHEMA);
    cr_assert(strstr(r.why, "process 1 ends") != NULL, "%s", r.why);
}

/* Carried owners are read from operations: what else a history of ours tells names nobody. */
Test(edn, a_history_of_ours_can_be_read_with_any_map)
{
    char path[64];
    temporary(path);
    FILE *file = fopen(path, "w");
    fputs(own_lines, file);
    fclose(file);
    static struct reading r;
    read_path(path, "plain,carry=owner", &r);
    cr_assert(!result_failed(r.result), "%s", r.why);
    cr_assert_eq(r.count, 10);
    unlink(path);
}

Test(edn, converting_there_and_back_loses_nothing)
{
    round_trip("");
}

Test(edn, converting_there_and_back_loses_nothing_when_compressed)
{
    round_trip(".zst");
}
