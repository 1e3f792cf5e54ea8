/* test_scenario_errors.c: each kind of mistake in a file: its line, its column, its sentence. */
#include "tests/harness/scenario_text.h"

#include <criterion/criterion.h>

struct mistake {
    const char *yaml;
    const char *told; /* the sentences, one a line; source lines and carets are left out */
};

/* The lines of `told` that begin with the file's name. */
static const char *sentences(const char *told)
{
    static char kept[TOLD_BYTES];
    struct text text = text_over(kept, sizeof kept);
    while (*told != '\0') {
        size_t length = strcspn(told, "\n") + 1;
        if (strncmp(told, "demo.yaml", 9) == 0) {
            text_add_bytes(&text, told, length);
        }
        told += length;
    }
    return kept;
}

static void assert_told(const struct mistake *mistakes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct parsed *parsed = parse(mistakes[i].yaml);
        cr_assert(result_failed(parsed->result), "this was accepted:\n%s", mistakes[i].yaml);
        cr_assert_str_eq(sentences(parsed->told), mistakes[i].told);
    }
}

#define ASSERT_TOLD(mistakes) assert_told(mistakes, sizeof(mistakes) / sizeof(mistakes)[0])

Test(scenario_errors, all_are_told_in_one_go_with_source_line_and_caret)
{
    const struct parsed *parsed = parse("version: 1\n"
                                        "name: demo\n"
                                        "lock: {algorithm: redlok, ttl: 10}\n"
                                        "nodes:\n"
                                        "  latencey: 5ms\n"
                                        "expect: {exclusion: pass}\n");
    cr_assert_eq(parsed->result.code, ERROR_SCHEMA);
    cr_assert_str_eq(
        parsed->told,
        "demo.yaml:3:19: unknown algorithm \"redlok\"; did you mean \"redlock\"?\n"
        "    3 | lock: {algorithm: redlok, ttl: 10}\n"
        "      |                   ^\n"
        "demo.yaml:3:32: lock.ttl: \"10\" has no unit; a duration is a number with a unit, such as "
        "250ms, 1.5s or 2m\n"
        "    3 | lock: {algorithm: redlok, ttl: 10}\n"
        "      |                                ^\n"
        "demo.yaml:5:3: unknown key \"latencey\" in nodes; did you mean \"latency\"?\n"
        "    5 |   latencey: 5ms\n"
        "      |   ^\n");
}

Test(scenario_errors, keys)
{
    static const struct mistake mistakes[] = {
        {HEAD "abuot: x\n", "demo.yaml:5:1: unknown key \"abuot\"; did you mean \"about\"?\n"},
        {HEAD "ttl: 3s\n", "demo.yaml:5:1: unknown key \"ttl\"; did you mean \"lock.ttl\"?\n"},
        {HEAD "nodes: {colour: red}\n", "demo.yaml:5:9: unknown key \"colour\" in nodes\n"},
        {HEAD "nodes: {count: 5, count: 3}\n",
         "demo.yaml:5:19: \"count\" stands here twice; the first time in line 5\n"},
        {HEAD "name: demo\n",
         "demo.yaml:5:1: \"name\" stands here twice; the first time in line 2\n"},
        {"version: 1\n",
         "demo.yaml:1:1: \"name\" is missing: the file's name without .yaml\n"
         "demo.yaml:1:1: \"lock\" is missing: the lock under test\n"
         "demo.yaml:1:1: \"expect\" is missing: the verdict expected of each check\n"},
        {"version: 1\nname: demo\nlock: {ttl: 1s}\nexpect: {exclusion: pass}\n",
         "demo.yaml:3:7: \"lock.algorithm\" is missing: its name, as `picklock list` shows it\n"},
        {HEAD "faults: {random: {count: 2}}\n",
         "demo.yaml:5:18: \"faults.random.kinds\" is missing: a list of the kinds that may be "
         "drawn\n"},
        {HEAD "? [a, b]\n: c\n", "demo.yaml:5:3: a key must be a word\n"},
    };
    ASSERT_TOLD(mistakes);
}

Test(scenario_errors, values)
{
    static const struct mistake mistakes[] = {
        {HEAD "duration: 20\n", "demo.yaml:5:11: duration: \"20\" has no unit; a duration is a "
                                "number with a unit, such as 250ms, 1.5s or 2m\n"},
        {HEAD "duration: 20 sec\n",
         "demo.yaml:5:11: duration: \"20 sec\" has an unknown unit; a "
         "duration is a number with a unit, such as 250ms, 1.5s or 2m\n"},
        {HEAD "duration: 99999999999999999999h\n",
         "demo.yaml:5:11: duration: \"99999999999999999999h\" is longer than 10 years; a duration "
         "is a number with a unit, such as 250ms, 1.5s or 2m\n"},
        {HEAD "duration: 25h\n", "demo.yaml:5:11: duration must be 1ms..24h; here is 25h\n"},
        {HEAD "bound: -1s\n", "demo.yaml:5:8: bound must be 0s..1h; here is -1s\n"},
        {HEAD "nodes: {count: 17}\n", "demo.yaml:5:16: nodes.count must be 1..16; here is 17\n"},
        {HEAD "nodes: {count: 99999999999999999999}\n",
         "demo.yaml:5:16: nodes.count must be 1..16; here is 99999999999999999999\n"},
        {HEAD "nodes: {count: five}\n",
         "demo.yaml:5:16: nodes.count must be a whole number; here is \"five\"\n"},
        {HEAD "nodes: {fsync: often}\n",
         "demo.yaml:5:16: unknown fsync \"often\"; expected none, everysec, always\n"},
        {HEAD "nodes: [1, 2]\n", "demo.yaml:5:8: nodes must be a map of keys; here is a list\n"},
        {HEAD "nodes:\n", "demo.yaml:5:7: nodes must be a map of keys; here is nothing\n"},
        {HEAD "duration: {a: b}\n",
         "demo.yaml:5:11: duration must be a single value; here is a map of keys\n"},
        {HEAD "store: {value_check: yes}\n",
         "demo.yaml:5:22: store.value_check must be true or false; here is \"yes\"\n"},
        {HEAD "clients: {on_lost: leaves}\n",
         "demo.yaml:5:20: unknown on_lost \"leaves\"; did you mean \"leave\"?\n"},
        {"version: 2\nname: demo\nlock: {algorithm: redlock, drift: 1}\nexpect: {exclusion: "
         "pass}\n",
         "demo.yaml:1:10: version must be 1; here is 2\n"
         "demo.yaml:3:35: lock.drift: \"1\" is not a percentage such as 1% or 0.5%\n"},
        {"version: 1\nname: other\nlock: {algorithm: redlock}\nexpect: {exclusion: pass}\n",
         "demo.yaml:2:7: the name is not the file's: the file is called demo.yaml, so its name is "
         "\"demo\"\n"},
        {"version: 1\nname: a/b\nlock: {algorithm: redlock}\nexpect: {exclusion: pass}\n",
         "demo.yaml:2:7: name must be one word of letters, digits, \"-\", \"_\" and \".\"\n"},
    };
    ASSERT_TOLD(mistakes);
}

Test(scenario_errors, expectations)
{
    static const struct mistake mistakes[] = {
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\nexpect: {exclusoin: pass}\n",
         "demo.yaml:4:10: unknown check \"exclusoin\"; did you mean \"exclusion\"?\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\nexpect: {speed: pass}\n",
         "demo.yaml:4:10: unknown check \"speed\"; expected exclusion, section_exclusion, "
         "store_integrity, exercised\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\nexpect: {exclusion: failed}\n",
         "demo.yaml:4:21: unknown verdict \"failed\"; did you mean \"fail\"?\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\n"
         "expect: {exclusion: {verdict: fail, blame: libary}}\n",
         "demo.yaml:4:44: unknown blame \"libary\"; did you mean \"library\"?\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\n"
         "expect: {exclusion: {verdict: pass, blame: library}}\n",
         "demo.yaml:4:37: only a fail has somebody to blame\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\nexpect: {exclusion: {blame: "
         "library}}\n",
         "demo.yaml:4:21: \"verdict\" is missing: pass, fail, unknown or any\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\nexpect: {}\n",
         "demo.yaml:4:9: expect is empty: a scenario must expect something\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock}\nexpect: pass\n",
         "demo.yaml:4:9: expect must be a map of keys; here is a single value\n"},
    };
    ASSERT_TOLD(mistakes);
}

Test(scenario_errors, settings_that_do_not_go_together)
{
    static const struct mistake mistakes[] = {
        {HEAD "store: {fence_check: true}\n",
         "demo.yaml:5:22: redlock gives no fences, so a fence check can refuse nothing; did you "
         "mean \"value_check\" or the algorithm \"fenced_redlock\"?\n"},
        {"version: 1\nname: demo\nlock: {algorithm: single}\nnodes: {count: 3}\n"
         "expect: {exclusion: pass}\n",
         "demo.yaml:4:16: single runs on 1 to 1 nodes; here are 3\n"},
        {"version: 1\nname: demo\nlock: {algorithm: redlock, ttl: 1s, node_timeout: 1s}\n"
         "expect: {exclusion: pass}\n",
         "demo.yaml:3:51: lock.node_timeout must be less than lock.ttl, and should be small beside "
         "it\n"},
        {HEAD "faults: {random: {kinds: [pause], from: 5s, to: 5s}}\n",
         "demo.yaml:5:41: faults.random.from must come before faults.random.to\n"},
        {HEAD "faults: {random: {kinds: [pause, pauze, none], to: 2h}}\n",
         "demo.yaml:5:34: unknown fault \"pauze\"; did you mean \"pause\"?\n"
         "demo.yaml:5:41: unknown fault \"none\"; expected pause, kill, slow, clock_jump, "
         "clock_rate, crash, power_loss, shutdown, stall, refuse_writes, script_flush, evict, "
         "failover, latency, partition, lose_reply, delay_command\n"
         "demo.yaml:5:52: faults.random.to is after the end of the duration\n"},
    };
    ASSERT_TOLD(mistakes);
}

Test(scenario_errors, what_is_no_scenario_at_all)
{
    static const struct mistake mistakes[] = {
        {"", "demo.yaml: empty; a scenario begins with \"version: 1\" (`picklock init` writes "
             "one)\n"},
        {"# nothing\n", "demo.yaml: empty; a scenario begins with \"version: 1\" (`picklock init` "
                        "writes one)\n"},
        {"hello\n", "demo.yaml:1:1: a scenario must be a map of keys; here is a single value\n"},
        {"- a\n- b\n", "demo.yaml:1:1: a scenario must be a map of keys; here is a list\n"},
        {HEAD "nodes: {count: 5\n",
         "demo.yaml:6:1: this is not YAML: did not find expected ',' or '}', while parsing a flow "
         "mapping that begins in line 5\n"},
        {HEAD "---\nversion: 1\n", "demo.yaml:5:1: a second document; a file is one scenario\n"},
        {HEAD "about: \001\n", "demo.yaml:5:8: byte 0x01: a control character; a scenario is a "
                               "text file in UTF-8\n"},
        {HEAD "about: \xff\n",
         "demo.yaml:5:8: byte 0xff: this is not UTF-8; a scenario is a text file in UTF-8\n"},
        {HEAD "about: \xc3\xa9\xed\xa0\x80\n",
         "demo.yaml:5:9: byte 0xed: this is not UTF-8; a scenario is a text file in UTF-8\n"},
        {HEAD "about: &a x\nsource: *a\n",
         "demo.yaml:5:8: an anchor (&a); scenarios have no anchors and aliases, write it out\n"
         "demo.yaml:6:9: an alias (*a); scenarios have no anchors and aliases, write it out\n"},
        {HEAD "about: !!str x\n",
         "demo.yaml:5:8: a tag (tag:yaml.org,2002:str); scenarios have no tags\n"},
        {HEAD "nodes:\n\tcount: 5\n  colour: red\n",
         "demo.yaml:6:1: a tab; YAML is indented with spaces\n"
         "demo.yaml:7:9: this is not YAML: mapping values are not allowed in this context (a "
         "text with \": \" in it needs quotes)\n"},
        {HEAD "nodes: {count:\t5, colour: red}\n",
         "demo.yaml:5:15: a tab; YAML is indented with spaces\n"
         "demo.yaml:5:19: unknown key \"colour\" in nodes\n"},
        {HEAD "about: [[[[[[[[[[[[[[[[[[[[\n", "demo.yaml:5:19: nested deeper than 12 levels\n"},
    };
    ASSERT_TOLD(mistakes);
}

#define FILE_OF(lock, nodes)                                                                       \
    "version: 1\nname: demo\nlock: {" lock "}\nnodes: {" nodes "}\nexpect: {exclusion: pass}\n"

Test(scenario_errors, replicas)
{
    static const struct mistake mistakes[] = {
        {FILE_OF("algorithm: single", "count: 4, replicas: 2"),
         "demo.yaml:4:29: all nodes but one are replicas: with count: 4 there are 3 of them\n"},
        {FILE_OF("algorithm: single", "sentinels: {count: 3}"),
         "demo.yaml:4:28: sentinels promote replicas, and here are none: say \"replicas: 2\" as "
         "well (of redis servers)\n"},
        {FILE_OF("algorithm: etcd", "count: 3, sentinels: {count: 3}"),
         "demo.yaml:4:38: sentinels promote replicas, and here are none: say \"replicas: 2\" as "
         "well (of redis servers)\n"},
        {FILE_OF("algorithm: single", "replicas: 2, sentinels: {quorum: 2}"),
         "demo.yaml:4:33: say how many: \"count: 3\"\n"},
        {FILE_OF("algorithm: single", "replicas: 2, sentinels: {count: 4}"),
         "demo.yaml:4:41: each of the 4 sentinels is beside a node; here are 3\n"},
        {FILE_OF("algorithm: single", "replicas: 2, sentinels: {count: 2, quorum: 3}"),
         "demo.yaml:4:52: a quorum of 3 is more than the 2 sentinels\n"},
        {FILE_OF(
             "algorithm: single",
             "replicas: 2, sentinels: {count: 3}") "faults:\n  - {at: 1s, do: failover, target: "
                                                   "node 2}\n",
         "demo.yaml:7:18: the sentinels promote, and nobody by hand\n"},
        {FILE_OF("algorithm: sql", "replicas: 2"),
         "demo.yaml:4:19: sql servers have no replicas of this sort; kinds that have: redis\n"},
        {FILE_OF("algorithm: single", "pooler: session"),
         "demo.yaml:4:17: no pooler stands before redis servers; kinds that have one: sql\n"},
        {FILE_OF("algorithm: sql", "fsync: always"),
         "demo.yaml:4:16: fsync is no setting of sql servers, which keep what they answered; of: "
         "redis\n"},
        {FILE_OF("algorithm: etcd", "count: 3, pooler: session"),
         "demo.yaml:4:27: no pooler stands before etcd servers; kinds that have one: sql\n"},
        {FILE_OF("algorithm: etcd", "kind: sql"),
         "demo.yaml:4:15: etcd speaks to etcd servers, and these are sql, for: sql, advisory, "
         "fenced_advisory\n"},
        {FILE_OF("algorithm: zookeeper", "count: 3") "faults:\n  - {at: 1s, do: failover, "
                                                     "target: node 1, lag: 1s}\n",
         "demo.yaml:7:18: failover is nothing that can strike zookeeper servers; what can: pause, "
         "clock_jump, clock_rate, crash, power_loss, shutdown, stall\n"},
        {FILE_OF("algorithm: sql", "count: 1") "faults:\n  - {at: 1s, do: script_flush, "
                                               "target: node 1}\n",
         "demo.yaml:7:18: script_flush is nothing that can strike sql servers; what can: pause, "
         "clock_jump, clock_rate, crash, power_loss, shutdown, stall, failover\n"},
        {FILE_OF("algorithm: etcd", "consensus: none"),
         "demo.yaml:4:20: etcd servers have no other than \"majority\"\n"},
        {FILE_OF("algorithm: redlock, wait: {replicas: 1}", "count: 5"),
         "demo.yaml:3:34: redlock does not wait for replicas; did you mean \"single-wait\"?\n"},
        {FILE_OF("algorithm: single-wait, wait: {replicas: 2}", "replicas: 1"),
         "demo.yaml:3:38: single-wait waits for 2 replicas; \"nodes.replicas\" gives 1\n"},
        {FILE_OF("algorithm: single-wait, wait: {timeout: 50ms}", "replicas: 1"),
         "demo.yaml:3:38: lock.wait.timeout must be less than lock.node_timeout\n"},
        {FILE_OF("algorithm: single", "replicas: 1") "faults:\n  - {at: 1s, do: refuse_writes, "
                                                     "target: node 1, error: READONLY}\n",
         "demo.yaml:7:18: a node with replicas is made read-only by a failover\n"},
        {FILE_OF("algorithm: single",
                 "count: 1") "faults:\n  - {at: 1s, do: partition, from: nodes 1, to: nodes 1}\n",
         "demo.yaml:7:35: redis servers do not speak to each other: \"from\" of partition takes "
         "clients; here is nodes 1\n"},
    };
    ASSERT_TOLD(mistakes);
}
