/* test_linear_foreign.c: histories as other systems' tests record them, with verdicts known. */
#include "checker/linear/file.h"
#include "history/foreign.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct linear_report check(const char *history, const char *map_text,
                                  const struct linear_options *options)
{
    static struct linear_report report;
    char path[] = "/tmp/picklock-foreign-XXXXXX";
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    struct history_map map;
    int file = mkstemp(path);
    cr_assert(file >= 0);
    cr_assert_eq(write(file, history, strlen(history)), (ssize_t)strlen(history));
    close(file);
    cr_assert(!result_failed(history_map_parse(map_text, &map, &why)), "%s", why.data);
    struct history_reader_options readers = {.map = &map};
    struct result result = linear_check_file(path, &readers, options, &report, &why);
    unlink(path);
    cr_assert(!result_failed(result), "%s", why.data);
    return report;
}

/* ---- Jepsen's etcd lock: Knossos' data/mutex/bad/etcd.edn speaks like this ------------------- */

static const char etcd[] =
    "[{:type :invoke, :f :release, :process 4, :time 584312016, :index 0}\n"
    "{:type :fail, :f :release, :process 4, :time 585400396, :error :not-held, :index 1}\n"
    "{:type :invoke, :f :acquire, :process 3, :time 584353142, :index 2}\n"
    "{:type :ok, :f :acquire, :process 3, :time 585436373, :index 3}\n"
    "{:type :invoke, :f :acquire, :process 3, :time 585500000, :index 4}\n"
    "{:type :fail, :f :acquire, :process 3, :time 585500001, :error :already-held, :index 5}\n"
    "{:type :info, :f :start, :process :nemesis, :time 585600000, :index 6}\n"
    "{:type :invoke, :f :release, :process 3, :time 29589248615, :index 7}\n"
    "{:type :invoke, :f :acquire, :process 0, :time 29600000000, :index 8}\n"
    "{:type :ok, :f :acquire, :process 0, :time 32085029300, :index 9}\n"
    "{:type :fail, :f :release, :process 3, :time 32094782390, :error [:not-found "
    "\"etcdserver: requested lease not found\"], :index 10}\n"
    "{:type :invoke, :f :acquire, :process 2, :time 33000000000, :index 11}\n"
    "{:type :fail, :f :acquire, :process 2, :time 33922393157, :error :timeout, :index 12}]\n";

Test(linear_foreign, an_etcd_run_is_bad_unless_a_failed_release_counts_as_done)
{
    static const enum linear_model models[] = {LINEAR_MUTEX, LINEAR_OWNER};
    for (int i = 0; i < 2; i++) {
        struct linear_options options = linear_options_default(models[i]);
        struct linear_report report = check(etcd, "etcd", &options);
        cr_assert_eq(report.result.verdict, VERDICT_FAIL);
        cr_assert(report.confirmed);
        cr_assert_eq(report.reordered, (uint64_t)1, "one time goes back");
        options.failed_release = LINEAR_RELEASE_DONE;
        report = check(etcd, "etcd", &options);
        cr_assert_eq(report.result.verdict, VERDICT_PASS, "a release not held is never done");
    }
}

Test(linear_foreign, only_the_errors_that_say_not_held_and_held_say_it)
{
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    options.failed_release = LINEAR_RELEASE_NOT_HELD;
    struct linear_report report = check(etcd, "etcd", &options);
    cr_assert_eq(report.result.reason, LINEAR_TWO_HOLDS, "a lease not found is no word of it");
    report = check(etcd, "etcd,not-held=", &options);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
    static const char refused[] =
        "{:type :invoke, :f :acquire, :process 0}\n"
        "{:type :fail, :f :acquire, :process 0, :error :connection-refused}\n";
    options.refused_acquire = LINEAR_REFUSED_HELD;
    cr_assert_eq(check(refused, "etcd", &options).result.verdict, VERDICT_PASS);
    cr_assert_eq(check(refused, "etcd,held=", &options).result.verdict, VERDICT_FAIL);
}

/* ---- Jepsen's Hazelcast CP locks: the client's name stands in the value of an ok only ---------
 */

#define HZ(type, f, process, time, value)                                                          \
    "{:type :" type ", :f :" f ", :value " value ", :process " #process ", :time " #time "}\n"
#define CLIENT(name, fence) "{:client \"" name "\", :fence " #fence ", :uid \"u\"}"

/* Client a crashes in a release as process 0 and goes on as process 2. */
static const char hazelcast[] = HZ("invoke", "acquire", 0, 1, "\"u1\"")
    HZ("ok", "acquire", 0, 2, CLIENT("a", 1)) HZ("invoke", "release", 0, 3, "\"u2\"")
        HZ("info", "release", 0, 4, "\"u2\"") HZ("invoke", "acquire", 1, 5,
                                                 "\"u3\"") HZ("ok", "acquire", 1, 6, CLIENT("b", 2))
            HZ("invoke", "acquire", 2, 7, "\"u4\"") HZ("fail", "acquire", 2, 8, "\"u4\"")
                HZ("invoke", "release", 2, 9,
                   "\"u5\"") "{:type :fail, :f :release, :value \"u5\", :process 2, :time 10, "
                             ":error :not-lock-owner}\n" HZ("invoke", "release", 1, 11, "\"u6\"")
                                 HZ("ok", "release", 1, 12, CLIENT("b", 0));

Test(linear_foreign, a_hazelcast_client_is_known_by_what_its_processes_say)
{
    static const enum linear_model models[] = {LINEAR_OWNER, LINEAR_REENTRANT, LINEAR_FENCED,
                                               LINEAR_REENTRANT_FENCED};
    for (int i = 0; i < 4; i++) {
        struct linear_options options = linear_options_default(models[i]);
        options.failed_release = LINEAR_RELEASE_NOT_HELD;
        options.refused_acquire = LINEAR_REFUSED_HELD;
        struct linear_report report = check(hazelcast, "hazelcast", &options);
        cr_assert_eq(report.result.verdict, VERDICT_PASS, "model %d", (int)models[i]);
    }
}

Test(linear_foreign, a_client_that_goes_on_as_another_process_is_the_same_owner)
{
    /* Acquired twice by the same client, as process 0 (unknown) and 2, and released twice. */
    static const char twice[] = HZ("invoke", "acquire", 1, 1, "\"u\"")
        HZ("ok", "acquire", 1, 2, CLIENT("b", 1)) HZ("invoke", "release", 1, 3, "\"u\"")
            HZ("ok", "release", 1, 4, CLIENT("b", 0)) HZ("invoke", "acquire", 0, 5, "\"u\"")
                HZ("info", "acquire", 0, 6, "\"u\"") HZ("invoke", "acquire", 2, 7, "\"u\"")
                    HZ("ok", "acquire", 2, 8, CLIENT("a", 2)) HZ("invoke", "release", 2, 9, "\"u\"")
                        HZ("ok", "release", 2, 10, CLIENT("a", 0))
                            HZ("invoke", "release", 2, 11, "\"u\"")
                                HZ("ok", "release", 2, 12, CLIENT("a", 0));
    struct linear_options options = linear_options_default(LINEAR_REENTRANT_FENCED);
    cr_assert_eq(check(twice, "hazelcast", &options).result.verdict, VERDICT_PASS);
    options = linear_options_default(LINEAR_REENTRANT);
    cr_assert_eq(check(twice, "hazelcast,carry=", &options).result.verdict, VERDICT_FAIL,
                 "without the names process 2 releases once too often");
}

Test(linear_foreign, a_fence_that_does_not_grow_is_found_in_a_hazelcast_run)
{
    static const char order[] =
        HZ("invoke", "acquire", 0, 1, "\"u\"") HZ("ok", "acquire", 0, 2, CLIENT("a", 7))
            HZ("invoke", "release", 0, 3, "\"u\"") HZ("ok", "release", 0, 4, CLIENT("a", 0))
                HZ("invoke", "acquire", 1, 5, "\"u\"") HZ("ok", "acquire", 1, 6, CLIENT("b", 7));
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    cr_assert_eq(check(order, "hazelcast", &options).result.verdict, VERDICT_PASS);
    options = linear_options_default(LINEAR_FENCED);
    struct linear_report report = check(order, "hazelcast", &options);
    cr_assert_eq(report.result.reason, LINEAR_FENCE_ORDER);
    cr_assert(report.confirmed);
}

/* ---- AtlasDB's lock server: the invoke names the lock, and an ok may be a refusal -------------
 */

Test(linear_foreign, an_ok_of_atlasdb_with_nothing_in_it_is_a_refusal)
{
    static const char good[] =
        "[{\"f\":\"lock\",\"process\":0,\"time\":1,\"type\":\"invoke\",\"value\":\"bob\"},\n"
        "{\"f\":\"lock\",\"process\":0,\"time\":2,\"type\":\"ok\",\"value\":\"token 1\"},\n"
        "{\"f\":\"lock\",\"process\":1,\"time\":3,\"type\":\"invoke\",\"value\":\"bob\"},\n"
        "{\"f\":\"lock\",\"process\":1,\"time\":4,\"type\":\"ok\",\"value\":\"\"},\n"
        "{\"f\":\"unlock\",\"process\":1,\"time\":5,\"type\":\"invoke\",\"value\":\"bob\"},\n"
        "{\"f\":\"unlock\",\"process\":1,\"time\":6,\"type\":\"ok\",\"value\":\"false\"},\n"
        "{\"f\":\"lock\",\"process\":1,\"time\":7,\"type\":\"invoke\",\"value\":\"alfred\"},\n"
        "{\"f\":\"lock\",\"process\":1,\"time\":8,\"type\":\"ok\",\"value\":\"token 2\"}]\n";
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    struct linear_report report = check(good, "atlasdb", &options);
    cr_assert_eq(report.result.verdict, VERDICT_PASS);
    cr_assert_eq(report.resources, (uint64_t)2, "bob and alfred, and no token");
    report = check(good, "atlasdb,declined=", &options);
    cr_assert_eq(report.result.verdict, VERDICT_FAIL);
}

/* ---- who was seen to hold the lock is named as its acquires are --------------------------------
 */

static enum verdict seen(const char *acquire, const char *holder, const char *map)
{
    char history[1024];
    struct linear_options options = linear_options_default(LINEAR_OWNER);
    snprintf(history, sizeof history,
             "{:type :invoke, :f :acquire, :process 1, %s, :time 1}\n"
             "{:type :ok, :f :acquire, :process 1, %s, :time 2}\n"
             "{:type :invoke, :f :observe, :process 3, :time 3}\n"
             "{:type :ok, :f :observe, :process 3, :value %s, :time 4}\n"
             "{:type :invoke, :f :release, :process 1, %s, :time 5}\n"
             "{:type :ok, :f :release, :process 1, %s, :time 6}\n",
             acquire, acquire, holder, acquire, acquire);
    struct linear_report report = check(history, map, &options);
    cr_expect(report.result.verdict == VERDICT_PASS || report.confirmed, "%s %s", acquire, holder);
    return (enum verdict)report.result.verdict;
}

Test(linear_foreign, a_holder_that_was_seen_is_named_as_acquires_are)
{
    cr_expect_eq(seen(":owner \"y\"", "\"y\"", "plain"), VERDICT_PASS, "an owner");
    cr_expect_eq(seen(":owner \"y\"", "\"z\"", "plain"), VERDICT_FAIL, "another");
    cr_expect_eq(seen(":owner 5", "5", "plain"), VERDICT_PASS, "an owner whose name is a number");
    cr_expect_eq(seen(":owner 5", "1", "plain"), VERDICT_FAIL, "its process is no owner");
    cr_expect_eq(seen(":owner \"y\"", "\"y\"", "valued"), VERDICT_PASS, "nothing has a value");
    cr_expect_eq(seen(":value 7", "7", "valued"), VERDICT_PASS, "a value");
    cr_expect_eq(seen(":value 7", "1", "valued"), VERDICT_FAIL, "its process is no value");
    cr_expect_eq(seen(":ok true", "1", "plain"), VERDICT_PASS, "a process");
    cr_expect_eq(seen(":ok true", "3", "plain"), VERDICT_FAIL, "another process");
    cr_expect_eq(seen(":ok true", "true", "plain"), VERDICT_PASS, "somebody");
}
