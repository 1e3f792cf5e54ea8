/* test_storm.c: whatever a history says, every verdict has its evidence, and every story is told.
 */
#include "base/random.h"
#include "checker/report/page.h"
#include "tests/checker/story.h"

enum { PROCESSES = 4, NODES = 5, RESOURCES = 2, STORMS = 4000, PAGES_EVERY = 10, EVENTS = 120 };
enum { VALUES = 6, CALM_EVERY = 4 /* no fault strikes: what one excuses must be told as well */ };

static struct story storm;

static void fill_values(struct random_stream *stream, struct history_event *event)
{
    uint64_t word = random_word(stream);
    event->flags = (uint8_t)(word & 15);
    uint8_t value = (uint8_t)(1 + random_below(stream, VALUES));
    uint8_t owner = (uint8_t)(1 + random_below(stream, VALUES));
    event->value.bytes[0] = (event->flags & HISTORY_HAS_VALUE) != 0 ? value : 0;
    event->owner.bytes[0] = (event->flags & HISTORY_HAS_OWNER) != 0 ? owner : 0;
    event->fence = 1 + (int64_t)random_below(stream, 5);
    event->until_ns = event->time_ns + (int64_t)random_below(stream, 2000) - 500;
    event->version = (int64_t)random_below(stream, 6);
    event->basis = (int64_t)random_below(stream, 6);
    event->cause = (uint8_t)random_below(stream, HISTORY_CAUSES);
    if (event->kind == HISTORY_NODE && (word >> 32 & 3) > 0) { /* a command of a client's */
        event->flags |= HISTORY_HAS_SENT | HISTORY_HAS_REPLIED;
        event->sent_ns = event->time_ns - (int64_t)(word >> 40 & 63);
        event->replied_ns = event->time_ns + (int64_t)(word >> 48 & 63);
    }
}

/* Mostly operations and keys; what an f needs to be read from a file is there. */
static struct history_event random_event(struct random_stream *stream, uint8_t open[PROCESSES],
                                         int64_t time_ns)
{
    struct history_event event = {.time_ns = time_ns, .process = HISTORY_NOBODY};
    event.node = HISTORY_NO_NODE;
    event.fault = HISTORY_NO_FAULT;
    event.f = (uint8_t)random_below(stream, HISTORY_FS);
    event.kind = (uint8_t)history_f_kind(event.f);
    event.resource = (uint32_t)random_below(stream, RESOURCES);
    fill_values(stream, &event);
    bool anybody = event.kind != HISTORY_NODE && event.kind != HISTORY_FAULT;
    event.process = (int32_t)random_below(stream, PROCESSES + (anybody ? 0 : 1));
    event.process = event.process == PROCESSES ? HISTORY_NOBODY : event.process;
    if (event.kind == HISTORY_OP) {
        uint8_t *mine = &open[event.process];
        event.f = *mine == 0 ? event.f : (uint8_t)(*mine - 1);
        event.type = *mine == 0 ? HISTORY_INVOKE : (uint8_t)(1 + random_below(stream, 3));
        *mine = *mine == 0 ? (uint8_t)(event.f + 1) : 0;
    } else if (event.kind == HISTORY_NODE) {
        event.node = (int32_t)random_below(stream, NODES);
    } else if (event.kind == HISTORY_FAULT) {
        event.node = (int32_t)random_below(stream, NODES + 1) - 1;
        event.fault = (int32_t)random_below(stream, 3);
        event.fault_kind = (uint8_t)random_below(stream, FAULT_KINDS);
    }
    return event;
}

static void make_storm(uint64_t seed)
{
    struct random_stream stream = random_stream("storm", seed);
    bool counted = random_below(&stream, 4) > 0;
    storm.header = (struct history_header){
        .format = HISTORY_FORMAT,
        .node_count = counted ? NODES : 0,
        .store_count = counted && seed % 8 == 0 ? 1 : 0,
        .client_count = counted ? PROCESSES - 1 : 0,
        .resource_count = counted ? RESOURCES : 0,
        .fault_count = counted ? 3 : 0,
        .ttl_ns = (int64_t)random_below(&stream, 4) * 200,
        .bound_ns = (int64_t)random_below(&stream, 3) * 100,
        .promises_validity = random_below(&stream, 2) == 0,
        .value_check = random_below(&stream, 2) == 0,
        .tries = 2, /* and no extension at all: so much it says of how it goes about it */
        .retry_delay_ns = 100,
        .renew_every_ns = seed % 2 == 0 ? 100 : 0,
        .allowance_ns = 20,
        .resend_ns = 10,
        .world = "sim",
        .set_decides = true,
    };
    uint8_t open[PROCESSES] = {0};
    int64_t time_ns = 0;
    storm.count = 0;
    for (size_t i = 0; i < EVENTS; i++) {
        time_ns += (int64_t)random_below(&stream, 60);
        struct history_event event = random_event(&stream, open, time_ns);
        if (event.kind != HISTORY_FAULT || seed % CALM_EVERY > 0) {
            event.index = storm.count;
            storm.events[storm.count++] = event;
        }
    }
}

static void assert_sound(const struct check_result *result, const char *check, uint64_t seed)
{
    cr_assert_leq(result->evidence_count, CHECK_EVIDENCE_MAX);
    for (uint8_t i = 0; i < result->evidence_count; i++) {
        cr_assert_lt(result->evidence[i], (uint64_t)EVENTS, "%s, seed %lu", check, seed);
        cr_assert(i == 0 || result->evidence[i - 1] < result->evidence[i], "%s, seed %lu", check,
                  seed);
    }
    bool failed = result->verdict == VERDICT_FAIL;
    cr_assert_eq(failed, result->violations > 0, "%s, seed %lu", check, seed);
    cr_assert_eq(failed, result->evidence_count > 0, "%s, seed %lu", check, seed);
    cr_assert_eq(failed, result->grade != GRADE_NONE, "%s, seed %lu", check, seed);
    cr_assert(result->verdict != VERDICT_PASS || result->judged > 0, "%s, seed %lu", check, seed);
    bool named = result->blame == BLAME_ASSUMPTION || result->blame == BLAME_DEPLOYMENT;
    cr_assert_eq(named, result->assumption != ASSUMPTION_NONE, "%s, seed %lu", check, seed);
}

static void assert_drawn(const struct explain_history *history,
                         const struct check_result *const *results, uint64_t seed)
{
    static struct stories stories;
    stories_tell(history, results, &stories);
    struct page page = {
        .history = history, .results = results, .result_count = check_count(), .stories = &stories};
    struct sheet sheet = sheet_empty(REPORT_BYTES_MAX);
    page_print(&page, &sheet);
    cr_assert_not(sheet.cut, "seed %lu", seed);
    sheet_release(&sheet);
}

Test(storm, every_verdict_has_its_evidence_and_every_story_is_told)
{
    uint64_t fails[32] = {0};
    for (uint64_t seed = 1; seed <= STORMS; seed++) {
        make_storm(seed);
        size_t bytes = judge_bytes(&storm.header, JUDGE_ALL);
        struct judge *judge = judge_init(memory_resize(NULL, bytes), &storm.header, JUDGE_ALL);
        for (size_t i = 0; i < storm.count; i++) {
            judge_event(judge, &storm.events[i]);
            judge_assert_valid(judge);
        }
        judge_finish(judge);
        judge_assert_valid(judge);
        struct explain_history history = {
            .header = &storm.header, .events = storm.events, .count = storm.count};
        const struct check_result *results[32];
        for (size_t i = 0; i < check_count(); i++) {
            results[i] = judge_result(judge, i);
            assert_sound(results[i], check_at(i)->name, seed);
            fails[i] += results[i]->verdict == VERDICT_FAIL ? 1 : 0;
        }
        if (seed % PAGES_EVERY == 0) {
            assert_drawn(&history, results, seed);
        }
        memory_release(judge);
    }
    for (size_t i = 0; i < check_count(); i++) {
        bool can_fail = strcmp(check_at(i)->name, "exercised") != 0;
        cr_assert_eq(can_fail, fails[i] > 0, "%s failed %lu times", check_at(i)->name, fails[i]);
    }
}
