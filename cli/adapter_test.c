/* adapter_test.c: `picklock adapter-test`: what a library was seen to do, on one page. */
#include "cli/adapter_look.h"
#include "cli/command.h"
#include "cli/dry.h"
#include "cli/options.h"
#include "cli/results.h"

#include "base/assert.h"
#include "base/duration.h"
#include "base/foreign.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEST_ARENA_BYTES = 64 << 20, TEST_TEXT_BYTES = 1024, TEST_SLIPS_MAX = 16 };

struct adapter_test {
    const char *adapter;
    const char *out;
    enum look_story story;
    bool json;
    int32_t nodes;
    bool extends;
    bool threads;
    struct look look;
    size_t slip_count; /* what was declared and is not so, or is so and was not declared */
    char slips[TEST_SLIPS_MAX][WHY_BYTES];
};

enum { KEY_JSON = 1000, KEY_OUT };

static const struct argp_option test_option_table[] = {
    {"adapter", 'a', "CMD", 0, "the library behind this adapter", 0},
    {"json", KEY_JSON, NULL, 0, "one JSON object", 0},
    {"out", KEY_OUT, "DIR", 0,
     "folder for what is recorded meanwhile (default $PICKLOCK_OUT, or picklock-out)", 0},
    {NULL, 0, NULL, 0, NULL, 0},
};

static error_t test_option(int key, char *arg, struct argp_state *state)
{
    struct adapter_test *test = state->input;
    switch (key) {
    case 'a':
        test->adapter = arg;
        return 0;
    case KEY_JSON:
        test->json = true;
        return 0;
    case KEY_OUT:
        test->out = arg;
        return 0;
    case ARGP_KEY_END:
        if (test->adapter == NULL) {
            options_refuse(state, "which library? --adapter CMD starts the program it is behind");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp adapter_test_argp = {
    test_option_table,
    test_option,
    NULL,
    "Run a lock library a few times without faults, and say what it was seen to do: its commands "
    "and keys, what it sets and renews, how it waits, and whether that is what it says of itself.",
    NULL,
    NULL,
    NULL};

/* ---- the runs -------------------------------------------------------------------------------- */

/* What is different in each run. */
static const struct {
    const char *clients;
    const char *faults;
} stories[LOOK_STORIES] = {
    [LOOK_ALONE] = {"count: 1, sections: 3, hold: 300ms, writes: 1", ""},
    [LOOK_TWO] = {"count: 2, hold: 900ms, writes: 0",
                  "faults:\n  - {at: 0s, do: pause, target: client 2, "
                  "until: client 1 after_granted}\n"},
    [LOOK_LONG] = {"count: 1, hold: 2500ms, writes: 0", ""},
    [LOOK_THREADS] = {"count: 2, threads: 2, sections: 3, hold: 150ms, writes: 0", ""},
};

static void test_take(const char *folder, void *data)
{
    struct adapter_test *test = data;
    look_wire(&test->look, folder, test->story);
}

static struct result test_story(struct adapter_test *test, enum look_story story,
                                struct arena *arena, struct text *why)
{
    static struct scenario scenario;
    static struct loaded loaded;
    char memory[TEST_TEXT_BYTES];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text,
             "version: 1\nname: look\n%s"
             "lock: {algorithm: %s, ttl: 1s, node_timeout: 200ms, "
             "retry: {count: 3, delay: 100ms, jitter: 50ms}}\n"
             "nodes: {count: %d}\nclients: {%s%s}\nduration: 20s\n%sexpect: {exclusion: any}\n",
             story == LOOK_THREADS ? "needs: [threads]\n" : "",
             test->nodes == 1 ? "single" : "redlock", (int)test->nodes, stories[story].clients,
             /* An extension can be asked for only where there is one. */
             story == LOOK_ALONE && test->extends ? ", extend_every: 100ms" : "",
             stories[story].faults);
    ASSERT(!text.cut);
    test->story = story;
    dry_scenario("look", text.data, arena, &scenario);
    struct dry_order order = {.scenario = &scenario,
                              .adapter = test->adapter,
                              .time_scale_ppm = 1000000,
                              .out = test->out,
                              .look = test_take,
                              .data = test};
    TRY(dry_run(&order, arena, &loaded, why));
    look_history(&test->look, &loaded, story);
    loaded_release(&loaded);
    return RESULT_OK;
}

static struct result test_run(struct adapter_test *test, struct arena *arena, struct text *why)
{
    struct lock_nature nature;
    TRY(dry_nature(test->adapter, test->out, arena, &nature, why));
    test->nodes = nature.nodes_max == 1 ? 1 : 3;
    test->extends = (nature.declares >> DECLARES_EXTEND & 1u) != 0;
    test->threads = (nature.declares >> DECLARES_THREADS & 1u) != 0;
    for (int story = 0; story < LOOK_STORIES && (story != LOOK_THREADS || test->threads); story++) {
        TRY(test_story(test, (enum look_story)story, arena, why));
    }
    return RESULT_OK;
}

/* ---- what was said, beside what was seen ----------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void slip(struct adapter_test *test,
                                                       const char *format, ...)
{
    va_list list;
    if (test->slip_count < TEST_SLIPS_MAX) {
        struct text text = text_over(test->slips[test->slip_count++], WHY_BYTES);
        va_start(list, format);
        text_add_list(&text, format, list);
        va_end(list);
    }
}

static bool declares(const struct adapter_test *test, enum history_declares what)
{
    return (test->look.header.declares >> what & 1u) != 0;
}

static bool saw(const struct adapter_test *test, enum history_declares what)
{
    return (test->look.seen >> what & 1u) != 0;
}

static void test_hold_together(struct adapter_test *test)
{
    static const uint8_t shown[] = {DECLARES_VALIDITY, DECLARES_EXTEND, DECLARES_FENCE,
                                    DECLARES_RENEW, DECLARES_WAIT};
    const struct look *look = &test->look;
    if (!look->header.declared) {
        slip(test, "init's answer has no features: nothing is declared");
    }
    for (size_t i = 0; i < sizeof shown && look->header.declared; i++) {
        enum history_declares what = (enum history_declares)shown[i];
        const char *word = history_declarations.words[what];
        /* Who waits for a time of its own is refused behind it: that it retried says no less. */
        bool bounded = what == DECLARES_WAIT && look->lingered;
        if (declares(test, what) && !saw(test, what) && !bounded) {
            slip(test, "declares %s, which was not seen", word);
        } else if (!declares(test, what) && saw(test, what)) {
            slip(test, "was seen to have %s, which it does not declare", word);
        }
    }
    if (look->behind > 0 && look->beside == 0) {
        slip(test, "declares threads, and answers one only when the acquire of another is over");
    }
    if (look->mismatch) {
        slip(test, "reports a value that stands in none of its commands");
    }
    if (look->value_count == 0) {
        slip(test, "reports no value: keys are tied to grants by who set them");
    }
    if (look->value_shared) {
        slip(test,
             "two programs give their keys one value: who deletes by it may delete another's");
    } else if (look->grants > 1 && look->grant_values == 1 &&
               look->header.ownership == OWNERSHIP_OBJECT) {
        slip(test, "declares that each acquire is an owner of its own, and gives all grants of a "
                   "client one value: a release that comes late takes the next grant");
    }
    if (look->grants > 0 && look->key_count == 0 && look->header.unwatched[0] == '\0') {
        slip(test, "grants, but no key was seen to come of it");
    }
    if (look->ttl_set.count > 0 && look->ttl_set.least_ns == look->ttl_set.most_ns &&
        look->ttl_set.most_ns != look->header.ttl_ns) {
        slip(test, "sets another ttl than it is asked for");
    }
    if (look->header.unwatched[0] != '\0') {
        slip(test, "%s", look->header.unwatched);
    }
}

/* ---- the page -------------------------------------------------------------------------------- */

static void say(const char *what, const struct text *text)
{
    printf("%-12s ", what);
    foreign_print(stdout, text->data, text->length);
    printf("\n");
}

static void add_range(struct text *text, const struct look_range *range)
{
    duration_print_rounded(range->least_ns, text);
    if (range->most_ns != range->least_ns) {
        text_add(text, " to ");
        duration_print_rounded(range->most_ns, text);
    }
}

static void page_declared(const struct adapter_test *test, struct text *text)
{
    const struct history_header *header = &test->look.header;
    const char *comma = "";
    for (size_t i = 0; i < HISTORY_DECLARES; i++) {
        if ((header->declares >> i & 1u) != 0) {
            text_add(text, "%s%s", comma, history_declarations.words[i]);
            comma = ", ";
        }
    }
    text_add(text, "%s", !header->declared ? "nothing" : *comma == '\0' ? "no feature" : "");
    if (header->ownership != OWNERSHIP_UNKNOWN) {
        text_add(text, "; one owner is a%s %s", header->ownership == OWNERSHIP_OBJECT ? "n" : "",
                 history_ownerships.words[header->ownership]);
    }
    if (header->drift_ppm > 0) {
        text_add(text, "; drift %g %%", (double)header->drift_ppm / 1e4);
    }
    if (header->renew_every_ns > 0) {
        text_add(text, "; renews every ");
        duration_print_rounded(header->renew_every_ns, text);
    }
}

static const char *const operation_names[LOOK_OPERATIONS] = {"acquire", "extend", "release",
                                                             "unasked"};

static void page_commands(const struct look *look)
{
    for (int i = 0; i < LOOK_OPERATIONS; i++) {
        for (size_t j = 0; j < look->shape_count[i]; j++) {
            const struct look_shape *shape = &look->shapes[i][j];
            char memory[2 * LOOK_SHAPE_BYTES + 64];
            struct text text = text_over(memory, sizeof memory);
            text_add(&text, "%s", shape->words);
            if (shape->inside[0] != '\0') {
                text_add(&text, "  -> %s", shape->inside);
            }
            text_add(&text, "  (%zu times, at %d node%s)", shape->count,
                     __builtin_popcountll(shape->nodes),
                     __builtin_popcountll(shape->nodes) == 1 ? "" : "s");
            say(j == 0 ? operation_names[i] : "", &text);
        }
    }
}

static void page_keys(const struct look *look, struct text *text)
{
    for (size_t i = 0; i < look->key_count; i++) {
        text_add(text, "%s%s%s", i > 0 ? ", " : "", look->keys[i],
                 look->key_is_lock[i] ? " (the lock)" : " (beside it)");
    }
    text_add(text, "%s", look->key_count == 0 ? "none was seen" : "");
}

static void page_ttl(const struct look *look, struct text *text)
{
    duration_print_rounded(look->header.ttl_ns, text);
    text_add(text, " asked; set ");
    if (look->ttl_set.count > 0) {
        add_range(text, &look->ttl_set);
    } else {
        text_add(text, "%s", look->key_count > 0 ? "without an end" : "nothing");
    }
    if (look->ttl_extended.count > 0) {
        text_add(text, "; extended to ");
        add_range(text, &look->ttl_extended);
    }
}

static void page_renewal(const struct look *look, struct text *text)
{
    if (look->renewals.count > 0) {
        text_add(text, "by itself, %zu times in ", look->renewals.count);
        duration_print_rounded(look->until_end_ns, text);
        text_add(text, ", every ");
        add_range(text, &look->renewals);
        return;
    }
    text_add(text, "none");
    if (look->held_ns > 0) {
        text_add(text, ": the key of a holder that stayed was gone after ");
        duration_print_rounded(look->held_ns, text);
    }
}

static void page_waiting(const struct look *look, struct text *text)
{
    text_add(text, "asked while another held it: %s after ",
             look->waited    ? "granted"
             : look->refused ? "refused"
                             : "told that nobody knows");
    duration_print_rounded(look->answer_ns, text);
    text_add(text, "%s",
             look->lingered && (look->header.declares >> DECLARES_WAIT & 1u) != 0
                 ? ", as one that waits for a bounded time is"
                 : "");
    text_add(text, ", %zu attempt%s at each node", look->attempt_count,
             look->attempt_count == 1 ? "" : "s");
    if (look->attempts.count > 0) {
        text_add(text, ", ");
        add_range(text, &look->attempts);
        text_add(text, " apart");
    }
    if (look->after[0] != '\0') {
        text_add(text, "; between them, or after: %s", look->after);
    }
    text_add(text, "%s", look->subscribes ? "; it subscribes to messages" : "");
}

static void page_owner(const struct look *look, struct text *text)
{
    text_add(text, "%s; the adapter %s",
             look->grant_values > 1    ? "a new value for each grant"
             : look->grant_values == 0 ? "no value was seen"
             : look->value_shared      ? "one value for all grants of all programs"
             : look->thread_values > 1 ? "one value for all grants of a thread"
                                       : "one value for all grants of a program",
             look->value_count > 0 && !look->mismatch ? "reports it" : "does not report it");
}

static void page_print(const struct adapter_test *test)
{
    static void (*const rows[])(const struct look *look, struct text *text) = {
        page_keys, page_owner, page_ttl, page_renewal, page_waiting};
    static const char *const names[] = {"keys", "owner", "ttl", "renewal", "waiting"};
    const struct look *look = &test->look;
    char memory[TEST_TEXT_BYTES * 2];
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "%s, on %d node%s", look->header.library, (int)test->nodes,
             test->nodes == 1 ? "" : "s");
    say("library", &text);
    text = text_over(memory, sizeof memory);
    page_declared(test, &text);
    say("declares", &text);
    page_commands(look);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        text = text_over(memory, sizeof memory);
        rows[i](look, &text);
        say(names[i], &text);
    }
    text = text_over(memory, sizeof memory);
    if (test->threads) {
        text_add(&text, "%s",
                 look->beside > 0   ? "one is answered while another waits"
                 : look->behind > 0 ? "one waits for another's answer"
                                    : "none waited while another was answered");
        say("threads", &text);
    }
    text = text_over(memory, sizeof memory);
    text_add(&text, "%" PRId64 " to %d node%s", look->connections.most_ns, (int)test->nodes,
             test->nodes == 1 ? "" : "s");
    say("connections", &text);
    text = text_over(memory, sizeof memory);
    bool promises = (look->seen >> DECLARES_VALIDITY & 1u) != 0;
    text_add(&text, "kept in every answer; %s",
             !promises       ? "no answer promises an end"
             : look->says_at ? "it says when a promise was computed"
                             : "a promise counts from some moment of its call (no at_ms)");
    say("protocol", &text);
    for (size_t i = 0; i < test->slip_count; i++) {
        text = text_over(memory, sizeof memory);
        text_add(&text, "%s", test->slips[i]);
        say(i == 0 ? "but" : "", &text);
    }
}

/* ---- the same for programs ------------------------------------------------------------------- */

static void json_list(struct text *text, const char *name, uint16_t words)
{
    const char *comma = "";
    text_add(text, ",\"%s\":[", name);
    for (size_t i = 0; i < HISTORY_DECLARES; i++) {
        if (((uint32_t)words >> i & 1u) != 0) {
            text_add(text, "%s\"%s\"", comma, history_declarations.words[i]);
            comma = ",";
        }
    }
    text_add(text, "]");
}

static void json_range(struct text *text, const char *name, const struct look_range *range)
{
    if (range->count > 0) {
        text_add(text, ",\"%s\":[%.3f,%.3f]", name, (double)range->least_ns / 1e6,
                 (double)range->most_ns / 1e6);
    }
}

static void json_commands(struct text *text, const struct look *look)
{
    text_add(text, ",\"commands\":{");
    for (int i = 0; i < LOOK_OPERATIONS; i++) {
        text_add(text, "%s\"%s\":[", i > 0 ? "," : "", operation_names[i]);
        for (size_t j = 0; j < look->shape_count[i]; j++) {
            const struct look_shape *shape = &look->shapes[i][j];
            text_add(text, "%s{\"words\":", j > 0 ? "," : "");
            text_add_json(text, shape->words);
            text_add(text, ",\"inside\":");
            text_add_json(text, shape->inside);
            text_add(text, ",\"times\":%zu,\"nodes\":%d}", shape->count,
                     __builtin_popcountll(shape->nodes));
        }
        text_add(text, "]");
    }
    text_add(text, "},\"keys\":[");
    for (size_t i = 0; i < look->key_count; i++) {
        text_add(text, "%s{\"name\":", i > 0 ? "," : "");
        text_add_json(text, look->keys[i]);
        text_add(text, ",\"lock\":%s}", look->key_is_lock[i] ? "true" : "false");
    }
    text_add(text, "]");
}

static void json_print(const struct adapter_test *test)
{
    static char memory[64 << 10];
    const struct look *look = &test->look;
    struct text text = text_over(memory, sizeof memory);
    text_add(&text, "{\"schema\":1,\"type\":\"adapter-test\",\"library\":");
    text_add_json(&text, look->header.library);
    text_add(&text, ",\"nodes\":%d,\"declared\":%s", (int)test->nodes,
             look->header.declared ? "true" : "false");
    json_list(&text, "declares", look->header.declares);
    json_list(&text, "seen", look->seen);
    json_commands(&text, look);
    text_add(&text, ",\"ttl_asked_ms\":%.3f", (double)look->header.ttl_ns / 1e6);
    json_range(&text, "ttl_set_ms", &look->ttl_set);
    json_range(&text, "ttl_extended_ms", &look->ttl_extended);
    json_range(&text, "renewed_every_ms", &look->renewals);
    json_range(&text, "retried_every_ms", &look->attempts);
    text_add(&text,
             ",\"attempts\":%zu,\"waits\":%s,\"answered_after_ms\":%.3f,\"connections\":%" PRId64
             ",\"but\":[",
             look->attempt_count, look->waited ? "true" : "false", (double)look->answer_ns / 1e6,
             look->connections.most_ns);
    for (size_t i = 0; i < test->slip_count; i++) {
        text_add(&text, "%s", i > 0 ? "," : "");
        text_add_json(&text, test->slips[i]);
    }
    text_add(&text, "]}\n");
    ASSERT(!text.cut);
    printf("%s", text.data);
}

int command_adapter_test(int argc, char **argv)
{
    static struct adapter_test test;
    struct arena arena = arena_empty(TEST_ARENA_BYTES);
    char memory[WHY_BYTES];
    struct text why = text_over(memory, sizeof memory);
    test.out = results_default();
    command_parse(&adapter_test_argp, argc, argv, &test);
    struct result result = test_run(&test, &arena, &why);
    arena_release(&arena);
    if (result_failed(result)) {
        return command_fail(result, &why);
    }
    test_hold_together(&test);
    if (test.json) {
        json_print(&test);
    } else {
        page_print(&test);
    }
    return EXIT_MET;
}
